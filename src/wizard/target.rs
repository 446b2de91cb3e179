//! The device that a question is about.

use crate::units::{Bytes, LogicalBlock, Size};

/// A device as a person has to recognise it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The name that was typed.
    pub name: String,
    /// Its other names: the node behind a link, the kernel's name.
    pub other_names: Vec<String>,
    /// Its names in `/dev/disk/by-id`.
    pub by_id: Vec<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Its size.
    pub capacity: Bytes,
    /// The unit that `s` in a size counts in.
    pub logical_block: LogicalBlock,
    /// Other devices at hand that report the same identity, so that neither serial number nor by-id
    /// name tells it from them.
    pub twins: Vec<String>,
}

impl Target {
    /// Whether this text names it, by any of its names or by its exact size.
    pub fn is_named_by(&self, text: &str) -> bool {
        let text = text.trim();
        if text.is_empty() {
            return false;
        }
        let names = self.other_names.iter().chain([&self.name]);
        names.into_iter().any(|name| name == text) || self.is_size(text)
    }

    /// Whether this text is its exact size, with a unit or as a number of bytes.
    fn is_size(&self, text: &str) -> bool {
        let size: Option<Size> = text.parse().ok();
        let bytes = size.and_then(|size| size.in_bytes(self.logical_block));
        bytes == Some(self.capacity) || text.parse() == Ok(self.capacity.get())
    }
}

#[cfg(test)]
pub(super) fn stick() -> Target {
    Target {
        name: "/dev/disk/by-id/usb-Fit_4C53-0:0".to_owned(),
        other_names: vec!["/dev/sdb".to_owned(), "sdb".to_owned()],
        by_id: vec!["/dev/disk/by-id/usb-Fit_4C53-0:0".to_owned()],
        serial: Some("4C53".to_owned()),
        capacity: Bytes(31_914_983_424),
        logical_block: LogicalBlock::B512,
        twins: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_its_names_and_by_its_exact_size() {
        for text in [
            "/dev/disk/by-id/usb-Fit_4C53-0:0",
            "/dev/sdb",
            " sdb\n",
            "31914983424",
            "31914983424B",
            "62333952s",
            "30436.5MiB",
        ] {
            assert!(stick().is_named_by(text), "{text}");
        }
        for text in [
            "",
            " ",
            "y",
            "yes",
            "sda",
            "/dev/sdb1",
            "32GB",
            "31914983425",
            "4C53",
        ] {
            assert!(!stick().is_named_by(text), "{text}");
        }
    }
}
