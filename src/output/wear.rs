//! How much write tests may wear a device, in words.

/// "0.54 times", "128 times": how often it would be written full. Two digits are all that the estimate
/// is good for.
pub fn times_full(wear: f64) -> String {
    match wear {
        wear if wear < 0.01 => "less than 0.01 times".to_owned(),
        wear if wear < 10.0 => format!("{wear:.2} times"),
        wear => format!("{wear:.0} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::times_full;

    #[test]
    fn no_more_digits_are_told_than_are_known() {
        for (wear, words) in [
            (0.0, "less than 0.01 times"),
            (0.536, "0.54 times"),
            (128.0, "128 times"),
        ] {
            assert_eq!(times_full(wear), words);
        }
    }
}
