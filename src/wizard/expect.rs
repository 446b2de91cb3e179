//! What the user said beforehand of the device that may be written.

use super::Target;
use crate::units::{Bytes, Size};

/// What a device must be like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectations {
    /// Serial numbers or by-id names: it must have one of them, when any are given.
    pub names: Vec<String>,
    /// Its size, when given.
    pub size: Option<ExpectedSize>,
}

/// A size, exact or within ten percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedSize {
    /// Exactly this.
    Exactly(Size),
    /// Within a tenth of it.
    About(Size),
}

impl Expectations {
    /// Whether anything is expected at all.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.size.is_none()
    }

    /// Whether the device is like that.
    ///
    /// # Errors
    /// What it is not, in a sentence.
    pub fn check(&self, target: &Target) -> Result<(), String> {
        if !self.names.is_empty() {
            self.check_name(target)?;
        }
        match self.size {
            None => Ok(()),
            Some(size) => check_size(size, target),
        }
    }

    fn check_name(&self, target: &Target) -> Result<(), String> {
        let is_named = |name: &String| {
            let by_id = |link: &String| {
                link == name || link.rsplit('/').next().is_some_and(|last| last == name)
            };
            target.serial.as_ref() == Some(name) || target.by_id.iter().any(by_id)
        };
        if !self.names.iter().any(is_named) {
            let serial = match &target.serial {
                Some(serial) => format!("its serial number is '{serial}'"),
                None => "it tells no serial number".to_owned(),
            };
            return Err(format!(
                "{} is none of the expected devices ({}): {serial}",
                target.name,
                self.names.join(", ")
            ));
        }
        if target.twins.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{} has an expected name, but so has {}: unplug the others",
            target.name,
            target.twins.join(", ")
        ))
    }
}

fn check_size(expected: ExpectedSize, target: &Target) -> Result<(), String> {
    let bytes = |size: Size| {
        size.in_bytes(target.logical_block)
            .unwrap_or(Bytes(u64::MAX))
    };
    let (fits, words) = match expected {
        ExpectedSize::Exactly(size) => (
            bytes(size) == target.capacity,
            format!("{} bytes", bytes(size).get()),
        ),
        ExpectedSize::About(size) => {
            let (wanted, found) = (u128::from(bytes(size).get()), target.capacity.get());
            let difference = wanted.abs_diff(found.into());
            (
                difference * 10 <= wanted,
                format!("{wanted} bytes give or take a tenth"),
            )
        }
    };
    if fits {
        return Ok(());
    }
    Err(format!(
        "{} has {} bytes, and {words} were expected{}",
        target.name,
        target.capacity.get(),
        if is_near(expected, target) {
            "; with ~ before the size a tenth more or less is allowed"
        } else {
            ""
        }
    ))
}

/// Whether it would do if it had been asked less strictly: few sticks have the bytes on their label.
fn is_near(expected: ExpectedSize, target: &Target) -> bool {
    match expected {
        ExpectedSize::Exactly(size) => check_size(ExpectedSize::About(size), target).is_ok(),
        ExpectedSize::About(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::target::stick;
    use super::*;

    fn names(names: &[&str]) -> Expectations {
        Expectations {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            size: None,
        }
    }

    fn size(text: &str) -> Expectations {
        Expectations {
            names: Vec::new(),
            size: Some(expected(text)),
        }
    }

    fn expected(text: &str) -> ExpectedSize {
        match text.strip_prefix('~') {
            Some(about) => ExpectedSize::About(about.parse().unwrap()),
            None => ExpectedSize::Exactly(text.parse().unwrap()),
        }
    }

    #[test]
    fn one_of_the_names_is_enough_and_a_part_of_one_is_not() {
        for good in [
            &["4C53"][..],
            &["other", "4C53"],
            &["usb-Fit_4C53-0:0"],
            &["/dev/disk/by-id/usb-Fit_4C53-0:0"],
        ] {
            assert_eq!(names(good).check(&stick()), Ok(()), "{good:?}");
        }
        for bad in [&["4C5"][..], &["4c53"], &[""], &["/dev/sdb"], &["usb-Fit"]] {
            let error = names(bad).check(&stick()).unwrap_err();
            assert!(error.contains("its serial number is '4C53'"), "{error}");
        }
        let nameless = Target {
            serial: None,
            by_id: Vec::new(),
            ..stick()
        };
        let error = names(&["4C53"]).check(&nameless).unwrap_err();
        assert!(error.contains("tells no serial number"), "{error}");
    }

    #[test]
    fn a_name_that_two_devices_have_is_none() {
        let twin = Target {
            twins: vec!["sdc".to_owned()],
            ..stick()
        };
        let error = names(&["4C53"]).check(&twin).unwrap_err();
        assert!(error.contains("so has sdc"), "{error}");
        assert_eq!(size("~32GB").check(&twin), Ok(()));
    }

    #[test]
    fn a_size_is_exact_or_within_a_tenth() {
        for good in [
            "31914983424B",
            "62333952s",
            "~32GB",
            "~30GiB",
            "~35GB",
            "~29.1GB",
        ] {
            assert_eq!(size(good).check(&stick()), Ok(()), "{good}");
        }
        for bad in ["32GB", "31914983425B", "~64GB", "~29GB", "~36GB", "~0B"] {
            let error = size(bad).check(&stick()).unwrap_err();
            assert!(error.contains("31914983424 bytes"), "{bad}: {error}");
            let is_near = ["32GB", "31914983425B"].contains(&bad);
            assert_eq!(error.contains("with ~ before"), is_near, "{bad}: {error}");
        }
    }

    #[test]
    fn both_kinds_must_hold() {
        let both = |size: &str| Expectations {
            size: Some(expected(size)),
            ..names(&["4C53"])
        };
        assert_eq!(both("~32GB").check(&stick()), Ok(()));
        assert!(both("~64GB").check(&stick()).is_err());
        assert!(Expectations::default().is_empty());
        assert!(!both("~64GB").is_empty());
    }
}
