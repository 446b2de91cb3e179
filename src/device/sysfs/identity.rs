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
    let device = disk.device();
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

/// What a disk shares its time with others on: its USB bus, by the kernel's name of the root hub
/// (`usb1`), or `virtual` for the disks without hardware of their own (loop devices), which share the
/// processor. `None` for a disk with wires of its own.
pub fn shared_bus(disk: &Disk) -> Option<String> {
    let components = disk.directory.iter().filter_map(|part| part.to_str());
    let mut below = components.skip_while(|part| *part != "devices").skip(1);
    let first = below.next()?;
    if first == "virtual" {
        return Some(first.to_owned());
    }
    let is_bus = |part: &&str| {
        part.strip_prefix("usb")
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    below.find(is_bus).map(str::to_owned)
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

#[cfg(test)]
mod tests {
    use super::super::fake::{Tree, UsbDisk};
    use super::super::{AuSize, CardKind};
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn a_usb_disk_is_found_by_walking_up_to_its_usb_device() {
        let tree = Tree::new();
        let mut stick = UsbDisk::new("sda", "8:0", "1-2");
        stick.lun = 1;
        stick.removable = "0";
        tree.usb_disk(&stick);
        let who = identity(&tree.get("sda"));
        assert_eq!(who.transport, Transport::Usb);
        assert_eq!(who.usb_id.as_deref(), Some("058f:6366"));
        assert_eq!(who.vendor.as_deref(), Some("Generic-"));
        assert_eq!(who.model.as_deref(), Some("SD/MMC"));
        assert_eq!(who.serial.as_deref(), Some("058F63666433"));
        assert_eq!(who.revision.as_deref(), Some("1.00"));
        assert_eq!(who.usb_speed.as_deref(), Some("480"));
        assert_eq!(who.slot.as_deref(), Some("0:1"));
        assert_eq!(who.removable, Some(false));
        assert_eq!(who.card, None);
    }

    #[test]
    fn the_controller_nearest_to_the_disk_tells_the_transport() {
        let pci = "pci0000:00/0000:00:1f.2";
        for (device, name, expected) in [
            (
                format!("{pci}/ata1/host0/target0:0:0/0:0:0:0"),
                "sda",
                Transport::Ata,
            ),
            (
                format!("{pci}/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0"),
                "sda",
                Transport::Scsi,
            ),
            (format!("{pci}/virtio1"), "vda", Transport::Virtio),
            (
                format!("{pci}/virtio1/host2/target2:0:0/2:0:0:0"),
                "sda",
                Transport::Scsi,
            ),
            (format!("{pci}/nvme/nvme0"), "nvme0n1", Transport::Nvme),
            (
                "virtual/nvme-subsystem/nvme-subsys0".into(),
                "nvme0n1",
                Transport::Nvme,
            ),
            (
                "platform/mmc/mmc_host/mmc0/mmc0:0001".into(),
                "mmcblk0",
                Transport::Mmc,
            ),
            // A reader with an MMC host of its own on a USB bus.
            (
                format!("{pci}/usb2/2-4/2-4:1.0/rtsx_usb_sdmmc.2/mmc_host/mmc0/mmc0:aaaa"),
                "mmcblk0",
                Transport::Mmc,
            ),
            (
                format!("{pci}/usb2/2-4/2-4:1.0/host9/target9:0:0/9:0:0:0"),
                "sda",
                Transport::Usb,
            ),
            ("virtual".into(), "nbd0", Transport::Unknown),
        ] {
            let tree = Tree::new();
            tree.disk(&device, name, "8:0", 2048);
            assert_eq!(identity(&tree.get(name)).transport, expected, "{device}");
        }
        let tree = Tree::new();
        tree.virtual_disk("loop3", "7:3", 2048);
        assert_eq!(identity(&tree.get("loop3")).transport, Transport::Loop);
    }

    #[test]
    fn disks_of_one_bus_are_known_by_its_root_hub() {
        let tree = Tree::new();
        for (n, (device, bus)) in [
            ("pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0/host4/target4:0:0/4:0:0:0", Some("usb1")),
            ("pci0000:00/0000:00:14.0/usb1/1-3/1-3.1/1-3.1:1.0/host5/target5:0:0/5:0:0:0", Some("usb1")),
            ("pci0000:00/0000:00:14.0/usb12/12-4/12-4:1.0/rtsx_usb_sdmmc.2/mmc_host/mmc0/mmc0:aaaa", Some("usb12")),
            ("pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0", None),
        ]
        .into_iter()
        .enumerate()
        {
            let name = format!("sd{n}");
            tree.disk(device, &name, &format!("8:{n}"), 2048);
            assert_eq!(shared_bus(&tree.get(&name)).as_deref(), bus, "{device}");
        }
        tree.virtual_disk("loop0", "7:0", 2048);
        assert_eq!(shared_bus(&tree.get("loop0")).as_deref(), Some("virtual"));
    }

    #[test]
    fn an_sd_card_shows_its_registers() {
        let tree = Tree::new();
        let ssr = format!("{:0<128}", "00000000040000009000");
        tree.mmc("mmcblk0", "179:0", "SD", 15_523_119_104)
            .attribute("mmcblk0", "device/name", "SU16G\n")
            .attribute("mmcblk0", "device/manfid", "0x000003\n")
            .attribute("mmcblk0", "device/oemid", "0x5344\n")
            .attribute("mmcblk0", "device/serial", "0x6f2a1b3c\n")
            .attribute("mmcblk0", "device/date", "06/2019\n")
            .attribute(
                "mmcblk0",
                "device/cid",
                "0353445355313647806f2a1b3c013600\n",
            )
            .attribute(
                "mmcblk0",
                "device/csd",
                "400e00325b59000073a77f800a400001\n",
            )
            .attribute("mmcblk0", "device/erase_size", "512\n")
            .attribute("mmcblk0", "device/preferred_erase_size", "4194304\n")
            .attribute("mmcblk0", "device/ssr", &ssr);
        let who = identity(&tree.get("mmcblk0"));
        assert_eq!(who.transport, Transport::Mmc);
        assert_eq!(who.vendor.as_deref(), Some("0x000003/0x5344"));
        assert_eq!(who.model.as_deref(), Some("SU16G"));
        assert_eq!(who.serial.as_deref(), Some("0x6f2a1b3c"));
        let card = who.card.unwrap();
        assert_eq!(card.kind, CardKind::Sd);
        assert_eq!(card.date.as_deref(), Some("06/2019"));
        assert_eq!(card.csd.unwrap().capacity, Some(Bytes(15_523_119_104)));
        assert_eq!(card.ssr, Some(AuSize::Undefined));
        // 512 on an SD card is a constant, not an erase block.
        assert_eq!(card.erase_group, None);
    }

    #[test]
    fn a_scsi_disk_without_usb_takes_its_serial_from_the_vital_product_data() {
        let tree = Tree::new();
        tree.disk(
            "pci0000:00/ata1/host0/target0:0:0/0:0:0:0",
            "sda",
            "8:0",
            2048,
        )
        .attribute("sda", "device/vpd_pg80", b"\0\x80\0\x0c  S3Z8NB0K  ");
        let who = identity(&tree.get("sda"));
        assert_eq!(who.serial.as_deref(), Some("S3Z8NB0K"));
    }
}
