//! Whether two descriptions are of one device.

use crate::topology::{Facts, Transport};
use crate::units::{Bytes, LogicalBlock};
use std::fmt;

/// What identifies a device across sessions. The path is not part of it: names move when sticks are
/// plugged in again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name it had, for people only.
    pub path: String,
    /// Its size.
    pub capacity: Option<Bytes>,
    /// Its logical block.
    pub logical_block: LogicalBlock,
    /// How it was attached; a card may be attached in several ways.
    pub transport: Transport,
    /// Vendor string.
    pub vendor: Option<String>,
    /// Model string.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// USB `vendor:product`.
    pub usb_id: Option<String>,
}

impl Identity {
    /// From the facts of a device.
    pub fn of(facts: &Facts) -> Identity {
        Identity {
            path: facts.path.clone(),
            capacity: facts.capacity,
            logical_block: facts.logical_block,
            transport: facts.transport,
            vendor: facts.vendor.clone(),
            model: facts.model.clone(),
            serial: facts.serial.clone(),
            usb_id: facts.usb_id.clone(),
        }
    }

    /// The first thing that shows that `self` (told by a file) and `now` (at hand) are two devices.
    /// What the file does not know shows nothing; what the file knows, the device has to know too.
    pub fn difference(&self, now: &Identity) -> Option<Difference> {
        let sizes = (self.capacity, now.capacity);
        if let (Some(then), Some(now)) = sizes
            && then != now
        {
            return Some(Difference::new(
                "size",
                format!("{} bytes", then.get()),
                format!("{} bytes", now.get()),
            ));
        }
        if self.logical_block != now.logical_block {
            let bytes = |block: LogicalBlock| format!("{} bytes", block.bytes().get());
            return Some(Difference::new(
                "logical block",
                bytes(self.logical_block),
                bytes(now.logical_block),
            ));
        }
        [
            ("serial number", &self.serial, &now.serial),
            ("model", &self.model, &now.model),
            ("vendor", &self.vendor, &now.vendor),
            ("USB id", &self.usb_id, &now.usb_id),
        ]
        .into_iter()
        .find_map(|(field, then, now)| {
            let then = then.as_ref().filter(|then| Some(*then) != now.as_ref())?;
            let now = now.clone().unwrap_or_else(|| "none".to_owned());
            Some(Difference::new(field, then.clone(), now))
        })
    }
}

/// What shows that two devices are two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which property.
    pub field: &'static str,
    /// What the file says.
    pub then: String,
    /// What the device says.
    pub now: String,
}

impl Difference {
    fn new(field: &'static str, then: String, now: String) -> Difference {
        Difference { field, then, now }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} there, {} here", self.field, self.then, self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stick() -> Identity {
        let facts = Facts::bare("a", Transport::Usb, Some(Bytes::gib(8)), LogicalBlock::B512);
        Identity {
            serial: Some("4C53".to_owned()),
            model: Some("Fit".to_owned()),
            ..Identity::of(&facts)
        }
    }

    #[test]
    fn another_path_is_the_same_device_and_another_serial_is_not() {
        let then = stick();
        let mut now = Identity {
            path: "b".to_owned(),
            ..stick()
        };
        assert_eq!(then.difference(&now), None);
        now.serial = Some("4C54".to_owned());
        assert_eq!(
            then.difference(&now).unwrap().to_string(),
            "serial number 4C53 there, 4C54 here"
        );
        now.serial = None;
        assert_eq!(
            then.difference(&now).unwrap().to_string(),
            "serial number 4C53 there, none here"
        );
        assert_eq!(now.difference(&then), None);
        now.serial = Some("4C53".to_owned());
        now.model = Some("Other".to_owned());
        assert_eq!(then.difference(&now).unwrap().field, "model");
        now.logical_block = LogicalBlock::B4096;
        assert_eq!(then.difference(&now).unwrap().field, "logical block");
        now.capacity = Some(Bytes(1));
        assert_eq!(then.difference(&now).unwrap().field, "size");
        now = Identity {
            capacity: None,
            ..stick()
        };
        assert_eq!(then.difference(&now), None);
    }
}
