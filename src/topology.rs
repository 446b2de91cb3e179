//! What a device says of itself: identity, sizes, and the values that the kernel or the card
//! reports. Facts only; what they are worth is judged by `geometry`.

use crate::units::{Bytes, LogicalBlock};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How the device is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// USB mass storage, card readers included.
    Usb,
    /// The kernel's MMC host: SD card or eMMC.
    Mmc,
    /// SCSI other than USB and ATA.
    Scsi,
    /// ATA and SATA.
    Ata,
    /// NVM Express.
    Nvme,
    /// A virtual machine's disk.
    Virtio,
    /// A loop device.
    Loop,
    /// A plain file.
    Image,
    /// A simulated stick with a virtual clock.
    Simulated,
    /// A flashbench log: no device at all.
    Log,
    /// None of these.
    #[default]
    Unknown,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Transport::Usb => "usb",
            Transport::Mmc => "mmc",
            Transport::Scsi => "scsi",
            Transport::Ata => "ata",
            Transport::Nvme => "nvme",
            Transport::Virtio => "virtio",
            Transport::Loop => "loop",
            Transport::Image => "image",
            Transport::Simulated => "simulated",
            Transport::Log => "log",
            Transport::Unknown => "unknown",
        })
    }
}

/// Everything known of a device without timing it. `None` is "unknown".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The path it was opened by, or the name of the log or simulated stick.
    pub path: String,
    /// Its size; `None` for a log whose capacity was not given.
    pub capacity: Option<Bytes>,
    /// Where it really ends, when write tests found it to be smaller than it claims.
    #[serde(default)]
    pub real_capacity: Option<Bytes>,
    /// The unit that the kernel addresses.
    pub logical_block: LogicalBlock,
    /// The unit that the device claims to write without reading first.
    pub physical_block: Option<Bytes>,
    /// How it is attached.
    pub transport: Transport,
    /// Vendor string, trimmed.
    pub vendor: Option<String>,
    /// Model string, trimmed.
    pub model: Option<String>,
    /// Serial number. Not always unique on cheap sticks.
    pub serial: Option<String>,
    /// USB `vendor:product` of the stick or of the reader, four hex digits each.
    pub usb_id: Option<String>,
    /// The kernel's `removable` flag: about the medium, not about the case.
    pub removable: Option<bool>,
    /// The kernel's sequence number of this attachment (`BLKGETDISKSEQ`): changes on every re-plug.
    pub diskseq: Option<u64>,
    /// The largest request that the kernel passes on in one piece (`queue/max_sectors_kb`).
    pub max_request: Option<Bytes>,
    /// Values reported by card or kernel.
    pub reported: Reported,
}

impl Facts {
    /// The size that can be used: what it claims, unless that was refuted.
    pub fn usable_capacity(&self) -> Option<Bytes> {
        match (self.capacity, self.real_capacity) {
            (Some(claimed), Some(real)) => Some(claimed.min(real)),
            (claimed, real) => claimed.or(real),
        }
    }

    /// The facts of a thing of which only name, size and block are known.
    pub fn bare(
        path: impl Into<String>,
        transport: Transport,
        capacity: Option<Bytes>,
        logical_block: LogicalBlock,
    ) -> Facts {
        Facts {
            path: path.into(),
            capacity,
            real_capacity: None,
            logical_block,
            physical_block: None,
            transport,
            vendor: None,
            model: None,
            serial: None,
            usb_id: None,
            removable: None,
            diskseq: None,
            max_request: None,
            reported: Reported::default(),
        }
    }
}

/// Sizes that the card or the kernel reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// sysfs `device/preferred_erase_size` of an SD card or eMMC, and whose word it is.
    pub preferred_erase_size: Option<PreferredEraseSize>,
    /// AU_SIZE of the SD status register (sysfs `device/ssr`); `None` when undefined (code 0).
    pub ssr_au_size: Option<Bytes>,
    /// `queue/optimal_io_size` when it is trustworthy (see [`Reported::optimal_io_quirk`]).
    pub optimal_io_size: Option<Bytes>,
    /// An `optimal_io_size` that was not adopted: some USB bridges report 65535 sectors
    /// (33553920), which is no multiple of 4096 and leads partitioners to odd starts.
    pub optimal_io_quirk: Option<Bytes>,
    /// `queue/discard_granularity`; on SD and eMMC the same fact as `preferred_erase_size`.
    pub discard_granularity: Option<Bytes>,
}

/// `preferred_erase_size` with its origin: the kernel fills in a value by capacity
/// (`mmc_init_erase` in drivers/mmc/core/core.c) when the card declares nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreferredEraseSize {
    /// The value.
    pub bytes: Bytes,
    /// Whose word it is.
    pub origin: Origin,
}

/// Whose word a reported value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The card declares it (SD status AU_SIZE, eMMC high-capacity erase group).
    Card,
    /// It equals the kernel's capacity rule and nothing shows that the card said it.
    CardOrKernelDefault,
}

impl Reported {
    /// The value that the card itself declares, not the kernel's default: the SD status AU size,
    /// else a preferred erase size that is the card's own word.
    pub fn declared(&self) -> Option<Bytes> {
        self.ssr_au_size.or(match self.preferred_erase_size {
            Some(PreferredEraseSize {
                bytes,
                origin: Origin::Card,
            }) => Some(bytes),
            _ => None,
        })
    }
}
