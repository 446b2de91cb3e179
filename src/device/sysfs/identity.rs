//! Who a disk is, and how it is attached.

use super::{Card, Disk, text};
use crate::topology::Transport;
use std::fs;
use std::path::{Path, PathBuf};

/// Who a disk is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// How it is attached.
    pub transport: Transport,
    /// SCSI vendor, else the USB manufacturer, else the card's manufacturer and OEM ids.
    pub vendor: Option<String>,
    /// SCSI model, else the USB product, else the card's product name.
    pub model: Option<String>,
    /// USB serial, else SCSI unit serial number, else the device's own. Not always unique.
    pub serial: Option<String>,
    /// SCSI or NVMe firmware revision.
    pub revision: Option<String>,
    /// USB `vendor:product`, four hex digits each.
    pub usb_id: Option<String>,
    /// The negotiated USB speed in Mbit/s (`480`, `5000`).
    pub usb_speed: Option<String>,
    /// The place on the SCSI bus, `target:lun`: which slot of a reader.
    pub slot: Option<String>,
    /// The kernel's `removable` flag: about the medium, not about the case.
    pub removable: Option<bool>,
    /// The registers of an SD card or eMMC on the kernel's own MMC host.
    pub card: Option<Card>,
}

/// Read a disk's identity.
pub fn identity(disk: &Disk) -> Identity {
    let transport = transport(disk);
    let device = fs::canonicalize(disk.directory.join("device")).ok();
    let of_device = |attribute: &str| device.as_ref().and_then(|at| text(&at.join(attribute)));
    let usb = (transport == Transport::Usb)
        .then(|| usb_device(&disk.directory))
        .flatten();
    let of_usb = |attribute: &str| usb.as_ref().and_then(|at| text(&at.join(attribute)));
    let card = match transport {
        Transport::Mmc => device.as_deref().and_then(Card::read),
        _ => None,
    };
    let usb_id = match (of_usb("idVendor"), of_usb("idProduct")) {
        (Some(vendor), Some(product)) => Some(format!("{vendor}:{product}")),
        _ => None,
    };
    let card_vendor = card
        .as_ref()
        .and_then(|card| match (&card.manufacturer, &card.oem) {
            (Some(manufacturer), Some(oem)) => Some(format!("{manufacturer}/{oem}")),
            (one, other) => one.clone().or_else(|| other.clone()),
        });
    let vendor = match transport {
        Transport::Mmc => card_vendor,
        // A virtio disk's "vendor" is the PCI id of its transport.
        Transport::Virtio => None,
        _ => of_device("vendor").or_else(|| of_usb("manufacturer")),
    };
    let model = match &card {
        Some(card) => card.name.clone(),
        None => of_device("model").or_else(|| of_usb("product")),
    };
    let serial = of_usb("serial")
        .or_else(|| device.as_deref().and_then(unit_serial))
        .or_else(|| of_device("serial"))
        .or_else(|| disk.text_of("serial"));
    Identity {
        transport,
        vendor,
        model,
        serial,
        revision: of_device("rev").or_else(|| of_device("firmware_rev")),
        usb_id,
        usb_speed: of_usb("speed"),
        slot: device.as_deref().and_then(slot),
        removable: disk.number_of("removable").map(|flag| flag == 1),
        card,
    }
}

/// How a disk is attached, read from the path of its device: the controller nearest to the disk
/// counts, since a reader on a USB bus may have an MMC host of its own.
fn transport(disk: &Disk) -> Transport {
    if disk.name.starts_with("loop") {
        return Transport::Loop;
    }
    // The components of /sys/devices/..., from the disk upwards.
    let upwards = disk.directory.iter().rev().skip(1);
    let upwards = upwards.filter_map(|component| component.to_str());
    let mut is_scsi = false;
    for component in upwards.take_while(|component| *component != "devices") {
        let numbered = |prefix: &str| {
            component
                .strip_prefix(prefix)
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
        };
        if component == "mmc_host" {
            return Transport::Mmc;
        }
        if component == "nvme" || component == "nvme-subsystem" {
            return Transport::Nvme;
        }
        if numbered("usb") {
            return Transport::Usb;
        }
        if numbered("ata") {
            return Transport::Ata;
        }
        // SCSI is only the command set: USB and ATA disks pass through a SCSI host as well.
        is_scsi |= numbered("host");
        if numbered("virtio") && !is_scsi {
            return Transport::Virtio;
        }
    }
    if is_scsi {
        Transport::Scsi
    } else {
        Transport::Unknown
    }
}

/// The nearest directory above that is a USB device (an interface has no `idVendor`).
fn usb_device(directory: &Path) -> Option<PathBuf> {
    directory
        .ancestors()
        .find(|above| above.join("idVendor").is_file())
        .map(Path::to_owned)
}

/// The unit serial number page (SPC-4, 7.8.15): a header of four bytes, then ASCII.
fn unit_serial(device: &Path) -> Option<String> {
    let page = fs::read(device.join("vpd_pg80")).ok()?;
    let serial = String::from_utf8_lossy(page.get(4..)?).into_owned();
    let serial = serial.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!serial.is_empty()).then(|| serial.to_owned())
}

/// `target:lun` of a SCSI address `host:channel:target:lun`.
fn slot(device: &Path) -> Option<String> {
    let address = device.file_name()?.to_str()?;
    let mut parts = address.rsplitn(3, ':');
    let (lun, target, rest) = (parts.next()?, parts.next()?, parts.next()?);
    (rest.contains(':') && lun.parse::<u64>().is_ok()).then(|| format!("{target}:{lun}"))
}
