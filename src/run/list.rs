//! `flashfit list`: which devices can be scanned, and why the others cannot.

use super::{print, tell};
use crate::cli::ListArgs;
use crate::device::sysfs::{self, Candidate, Roots, Verdict};
use crate::error::{Error, ExitCode};
use crate::output::devices::{self, Device};

/// Do it.
///
/// # Errors
/// Only what stdout meets: no device at all is an answer, not an error.
pub fn list(args: &ListArgs) -> Result<ExitCode, Error> {
    let devices: Vec<Device> = listed()
        .into_iter()
        .filter(|device| args.all || device.is_candidate())
        .collect();
    if args.json {
        print(devices::json(&devices).as_bytes())?;
    } else {
        print(devices::text(&devices).as_bytes())?;
        if !devices.iter().any(Device::is_candidate) {
            tell(if args.all {
                "no device that can be scanned: plug in a USB stick or a card, then run: flashfit list\n"
            } else {
                "no device that can be scanned: plug in a USB stick or a card, then run: flashfit list; \
                 what else there is shows: flashfit list --all\n"
            });
        }
    }
    Ok(ExitCode::Done)
}

/// All devices of this machine, those that can be scanned and those that cannot.
pub(super) fn listed() -> Vec<Device> {
    sysfs::list(&Roots::system())
        .into_iter()
        .map(device)
        .collect()
}

/// A candidate in the words of the output.
fn device(found: Candidate) -> Device {
    let (refusal, notes) = match &found.verdict {
        Verdict::Eligible(notes) => (None, notes.iter().map(ToString::to_string).collect()),
        Verdict::Refused(refusal) => (Some(refusal.to_string()), Vec::new()),
    };
    Device {
        path: found.path.to_string_lossy().into_owned(),
        by_id: found.by_id,
        by_path: found.by_path,
        capacity: found.capacity,
        transport: found.identity.transport,
        vendor: found.identity.vendor,
        model: found.identity.model,
        serial: found.identity.serial,
        usb_id: found.identity.usb_id,
        removable: found.identity.removable,
        in_use: found.uses.iter().map(ToString::to_string).collect(),
        notes,
        refusal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::sysfs::fake::{Tree, UsbDisk};

    #[test]
    fn what_sysfs_tells_arrives_in_the_list() {
        let tree = Tree::new();
        tree.usb_disk(&UsbDisk::new("sdb", "8:16", "1-3"))
            .partition("sdb", "sdb1", "8:17")
            .mounts(&["30 26 8:17 / /media/me/X ro - vfat /dev/sdb1 ro"])
            .virtual_disk("loop0", "7:0", 2048)
            .link("dev/disk/by-id/usb-Reader-0:0", "dev/sdb");
        let devices: Vec<Device> = sysfs::list(&Roots::under(&tree.path("")))
            .into_iter()
            .map(device)
            .collect();
        let [virtual_disk, stick] = &devices[..] else {
            panic!("{devices:?}")
        };
        assert!(!virtual_disk.is_candidate());
        assert!(stick.is_candidate());
        assert!(
            stick.path.ends_with("dev/sdb") && stick.transport == crate::topology::Transport::Usb
        );
        assert!(stick.by_id[0].ends_with("usb-Reader-0:0"), "{stick:?}");
        let text = devices::text(&devices);
        assert!(text.contains("loop device"), "{text}");
        assert!(text.contains("sdb1 mounted at /media/me/X"), "{text}");
    }
}
