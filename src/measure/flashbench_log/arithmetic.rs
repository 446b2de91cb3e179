//! The shell arithmetic of `--erasesize=$[4 * 1024 * 1024]`.

/// How deep parentheses and signs may nest; commands in logs have one level.
const DEPTH: u32 = 16;

/// The value of `+ - * /` and parentheses over integers. `None` for anything else: a variable, an
/// overflow, a division by zero, a negative result.
pub(super) fn evaluate(text: &str) -> Option<u64> {
    let mut rest = text.as_bytes();
    let value = sum(&mut rest, DEPTH)?;
    skip_blanks(&mut rest);
    if !rest.is_empty() {
        return None;
    }
    u64::try_from(value).ok()
}

fn skip_blanks(rest: &mut &[u8]) {
    while let [b' ' | b'\n', tail @ ..] = rest {
        *rest = tail;
    }
}

fn take(rest: &mut &[u8], wanted: u8) -> bool {
    skip_blanks(rest);
    match rest {
        [first, tail @ ..] if *first == wanted => {
            *rest = tail;
            true
        }
        _ => false,
    }
}

fn sum(rest: &mut &[u8], depth: u32) -> Option<i128> {
    let mut value = product(rest, depth)?;
    loop {
        if take(rest, b'+') {
            value = value.checked_add(product(rest, depth)?)?;
        } else if take(rest, b'-') {
            value = value.checked_sub(product(rest, depth)?)?;
        } else {
            return Some(value);
        }
    }
}

fn product(rest: &mut &[u8], depth: u32) -> Option<i128> {
    let mut value = factor(rest, depth)?;
    loop {
        if take(rest, b'*') {
            value = value.checked_mul(factor(rest, depth)?)?;
        } else if take(rest, b'/') {
            value = value.checked_div(factor(rest, depth)?)?;
        } else {
            return Some(value);
        }
    }
}

fn factor(rest: &mut &[u8], depth: u32) -> Option<i128> {
    let depth = depth.checked_sub(1)?;
    if take(rest, b'(') {
        let value = sum(rest, depth)?;
        return take(rest, b')').then_some(value);
    }
    if take(rest, b'-') {
        return factor(rest, depth)?.checked_neg();
    }
    skip_blanks(rest);
    let mut value: Option<i128> = None;
    while let [digit @ b'0'..=b'9', tail @ ..] = rest {
        value = Some(
            value
                .unwrap_or(0)
                .checked_mul(10)?
                .checked_add(i128::from(digit - b'0'))?,
        );
        *rest = tail;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_type_them_are_computed() {
        for (text, value) in [
            ("8 * 512 * 1024", 4 << 20),
            ("6*1024*1024", 6 << 20),
            ("(4+4)*1024 - 2 * 24", 8192 - 48),
            ("10240*1024/5", 2 << 20),
            (" 7 ", 7),
            ("-(-4)", 4),
        ] {
            assert_eq!(evaluate(text), Some(value), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_computed_is_unknown() {
        let deep = "(".repeat(1000);
        let huge = "9".repeat(60);
        for text in [
            "",
            "$i * 1024",
            "4 *",
            "4/0",
            "1-2",
            "4 4",
            "(4",
            &deep,
            &huge,
        ] {
            assert_eq!(evaluate(text), None, "{text}");
        }
        assert_eq!(
            evaluate("9223372036854775807*9223372036854775807*2*2*2"),
            None
        );
    }
}
