//! What a page that is passed on does not tell.

use super::Serial;
use crate::topology::Facts;

/// What stands in place of what is left out.
const OMITTED: &str = "[left out]";
/// Where names hold serial numbers: udev's rule 60-persistent-storage builds them so.
const BY_ID: &str = "/dev/disk/by-id/";
/// A serial number that is shorter could as well be a part of a size or of a sentence; it is left out
/// of names of devices only.
const TELLING: usize = 6;

/// Words, and what is written instead.
#[derive(Clone, Debug, Default)]
pub(super) struct Discretion {
    replaced: Vec<(String, String)>,
}

impl Discretion {
    /// What to leave out of a page about this device.
    pub(super) fn of(device: &Facts, serial: Serial) -> Discretion {
        let mut replaced = Vec::new();
        if serial == Serial::LeftOut {
            let path = device.path.as_str();
            // `sim:NAME#SERIAL` gives a simulated stick an identity.
            let head = match path.strip_prefix("sim:").and(path.split_once('#')) {
                Some((stick, _)) => Some(format!("{stick}#")),
                None => path.starts_with(BY_ID).then(|| BY_ID.to_owned()),
            };
            if let Some(head) = head {
                replaced.push((path.to_owned(), format!("{head}{OMITTED}")));
            }
            if let Some(serial) = device.serial.as_ref().filter(|it| it.len() >= TELLING) {
                replaced.push((serial.clone(), OMITTED.to_owned()));
                // udev writes spaces so in names.
                replaced.push((serial.replace(' ', "_"), OMITTED.to_owned()));
            }
        }
        Discretion { replaced }
    }

    /// The text without them.
    pub(super) fn apply(&self, text: &str) -> String {
        self.replaced
            .iter()
            .fold(text.to_owned(), |text, (words, instead)| {
                text.replace(words.as_str(), instead)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Transport;
    use crate::units::LogicalBlock;

    fn shown(path: &str, serial: Option<&str>, text: &str) -> String {
        let mut device = Facts::bare(path, Transport::Usb, None, LogicalBlock::B512);
        device.serial = serial.map(str::to_owned);
        Discretion::of(&device, Serial::LeftOut).apply(text)
    }

    #[test]
    fn a_serial_number_is_left_out_wherever_it_stands() {
        let by_id = "/dev/disk/by-id/usb-Maker_Stick_4C530001-0:0";
        assert_eq!(
            shown(by_id, Some("4C530001"), &format!("scan {by_id}: 4C530001")),
            "scan /dev/disk/by-id/[left out]: [left out]"
        );
        // Also when the name holds another than the kernel tells.
        assert_eq!(shown(by_id, None, by_id), "/dev/disk/by-id/[left out]");
        assert_eq!(
            shown("/dev/sdb", Some("A B C D"), "A B C D, links/A_B_C_D"),
            "[left out], links/[left out]"
        );
        assert_eq!(
            shown("sim:x#7", Some("7"), "sim:x#7 of 7 MiB"),
            "sim:x#[left out] of 7 MiB"
        );
        assert_eq!(shown("/tmp/a#b", None, "/tmp/a#b"), "/tmp/a#b");
    }

    #[test]
    fn nothing_is_left_out_when_the_serial_number_is_asked_for() {
        let mut device = Facts::bare("sim:x#7", Transport::Usb, None, LogicalBlock::B512);
        device.serial = Some("4C530001".to_owned());
        let text = "sim:x#7 4C530001";
        assert_eq!(Discretion::of(&device, Serial::Told).apply(text), text);
    }
}
