//! What a simulated stick is made of: the profile file.
//!
//! A profile is TOML; `fixtures/README.md` documents every key with unit and default. Unknown keys
//! are errors. Sizes and times are texts with a unit ("8MiB", "860us"), shares are numbers from 0
//! to 1.

mod builtin;
mod check;
mod error;
mod expected;
mod faults;
mod noise;
mod places;
mod reading;
mod text;
mod writing;

pub use builtin::builtin_names;
pub use error::ProfileError;
pub use expected::{
    Expected, ExpectedEraseBlock, ExpectedOpenAu, ExpectedOpenAus, ExpectedPage, ExpectedVerdict,
    ExpectedZone, ExpectedZoneKind,
};
pub use faults::{Faults, Hang, PowerCut};
pub use noise::{Background, Noise, Throttle, Wave};
pub use places::{Beyond, Constant, ContentsKeys, Counterfeit, Fill, Unmapped};
pub use reading::{
    AfterIdle, Combine, Crossing, MapCache, Multiples, PageLevel, Read, ReadCache, Regions,
};
pub use writing::{CutoffKeys, OpenUnits, Policy, SlcCache, Write, WriteCache, ZoneKeys};

use crate::topology::{Facts, Origin, PreferredEraseSize, Reported, Transport};
use crate::units::{Bytes, LogicalBlock};
use serde::Deserialize;
use std::time::Duration;

/// A simulated stick: identity, inside, times and faults.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The built-in name or the path of the file: what `Facts::path` shows behind `sim:`.
    #[serde(skip)]
    pub name: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
    /// The size that the stick claims, exact to the byte.
    #[serde(deserialize_with = "text::size")]
    pub capacity: Bytes,
    /// 512 or 4096.
    #[serde(default = "block_512")]
    pub logical_block: LogicalBlock,
    /// Which specimen of the model: decides which boundaries are missed, which chunks are unmapped
    /// and what the never-written places contain. The serial number counts too.
    #[serde(default)]
    pub individual: u64,
    /// What the stick says of itself.
    #[serde(default)]
    pub identity: IdentityKeys,
    /// What card and kernel report.
    #[serde(default)]
    pub reported: ReportedKeys,
    /// The structure.
    pub flash: Flash,
    /// Reading.
    pub read: Read,
    /// Writing.
    #[serde(default)]
    pub write: Write,
    /// Open allocation units.
    #[serde(default)]
    pub open_units: OpenUnits,
    /// Special zones.
    #[serde(default)]
    pub zones: Vec<ZoneKeys>,
    /// A faster first part of every burst of writes.
    pub slc_cache: Option<SlcCache>,
    /// A volatile cache in front of the flash.
    pub write_cache: Option<WriteCache>,
    /// Everything that blurs the times.
    #[serde(default)]
    pub noise: Noise,
    /// Places without flash behind them.
    pub unmapped: Option<Unmapped>,
    /// What mapped places contain before they are written.
    #[serde(default)]
    pub contents: ContentsKeys,
    /// A stick that claims more than it has.
    pub counterfeit: Option<Counterfeit>,
    /// Things that go wrong.
    #[serde(default)]
    pub faults: Faults,
    /// What a scan should find. For tests only: nothing of the inference reads it.
    #[serde(default)]
    pub expected: Expected,
}

const fn block_512() -> LogicalBlock {
    LogicalBlock::B512
}

/// Table `[identity]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IdentityKeys {
    /// Vendor string.
    pub vendor: Option<String>,
    /// Model string.
    pub model: Option<String>,
    /// Serial number; `sim:NAME#SERIAL` replaces it.
    pub serial: Option<String>,
    /// USB `vendor:product`, four hex digits each.
    pub usb_id: Option<String>,
    /// The kernel's `removable` flag.
    pub removable: bool,
}

impl Default for IdentityKeys {
    fn default() -> Self {
        IdentityKeys {
            vendor: None,
            model: None,
            serial: None,
            usb_id: None,
            removable: true,
        }
    }
}

/// Table `[reported]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReportedKeys {
    /// sysfs `preferred_erase_size`.
    #[serde(deserialize_with = "text::optional_size")]
    pub preferred_erase_size: Option<Bytes>,
    /// Whether the preferred erase size is the card's own word rather than perhaps the kernel's.
    pub declared_by_card: bool,
    /// SD status AU_SIZE.
    #[serde(deserialize_with = "text::optional_size")]
    pub ssr_au_size: Option<Bytes>,
    /// `queue/optimal_io_size`.
    #[serde(deserialize_with = "text::optional_size")]
    pub optimal_io_size: Option<Bytes>,
    /// `queue/discard_granularity`.
    #[serde(deserialize_with = "text::optional_size")]
    pub discard_granularity: Option<Bytes>,
    /// `queue/physical_block_size`.
    #[serde(deserialize_with = "text::optional_size")]
    pub physical_block: Option<Bytes>,
    /// The largest request in one piece (`queue/max_sectors_kb`); longer ones pay
    /// [`Read::split_cost`].
    #[serde(deserialize_with = "text::optional_size")]
    pub max_request: Option<Bytes>,
}

/// Table `[flash]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// The erase block; boundaries lie at `phase + k * erase_block`.
    #[serde(deserialize_with = "text::size")]
    pub erase_block: Bytes,
    /// The first boundary.
    #[serde(default, deserialize_with = "text::size")]
    pub phase: Bytes,
    /// The smaller unit inside; divides the erase block.
    #[serde(default, deserialize_with = "text::optional_size")]
    pub sub_unit: Option<Bytes>,
    /// The smallest efficient write.
    #[serde(default, deserialize_with = "text::optional_size")]
    pub page: Option<Bytes>,
}

impl Flash {
    /// The finer of the two structural grids: the sub-unit, else the erase block.
    pub(super) fn finest_unit(&self) -> Bytes {
        self.sub_unit.unwrap_or(self.erase_block)
    }
}

impl Profile {
    /// Parse a profile file. `origin` is its path or name, for errors and for [`Facts::path`].
    pub fn parse(text: &str, origin: &str) -> Result<Profile, ProfileError> {
        let mut profile: Profile =
            toml::from_str(text).map_err(|e| error::line_error(text, origin, &e))?;
        profile.name = origin.to_owned();
        profile.check()?;
        Ok(profile)
    }

    /// A built-in profile.
    pub fn builtin(name: &str) -> Option<Profile> {
        let text = builtin::text(name)?;
        // A test parses every one of them, so this never hides an error.
        Profile::parse(text, name).ok()
    }

    /// The same stick with noise such that the erase-block step, as far as it rises above an
    /// ordinary page boundary, is `n` standard deviations of one read.
    ///
    /// Rounding to a quantum q adds a variance of q²/12 when the phase is random. The normal noise
    /// makes up the rest; when the quantum alone is too coarse it is lowered until it makes half of
    /// the variance. Sub-unit and page costs, misses and outliers stay as they are. Without a step
    /// nothing changes.
    pub fn with_step_over_sigma(mut self, n: f64) -> Profile {
        let step = self.read.crossing.visible_step().as_secs_f64();
        if step > 0.0 && n > 0.0 {
            let target = step / n;
            let mut quantum = self.noise.quantum.as_secs_f64();
            if quantum * quantum / 12.0 > target * target / 2.0 {
                quantum = target * 6f64.sqrt();
                self.noise.quantum = Duration::from_secs_f64(quantum);
            }
            let rest = (target * target - quantum * quantum / 12.0).sqrt();
            self.noise.sigma = Duration::from_secs_f64(rest);
        }
        self
    }

    /// Another specimen of the same model: other missed boundaries, unmapped chunks and contents.
    pub fn with_individual(mut self, individual: u64) -> Profile {
        self.individual = individual;
        self
    }

    /// The same stick with another serial number.
    pub fn with_serial(mut self, serial: &str) -> Profile {
        self.identity.serial = Some(serial.to_owned());
        self
    }

    /// What the stick says of itself. The path is `sim:NAME`.
    pub fn facts(&self) -> Facts {
        let IdentityKeys {
            vendor,
            model,
            serial,
            usb_id,
            removable,
        } = self.identity.clone();
        let origin = if self.reported.declared_by_card {
            Origin::Card
        } else {
            Origin::CardOrKernelDefault
        };
        // Refused as on a real device: 65535 sectors and other sizes that are no multiple of 4096.
        let (optimal_io_size, optimal_io_quirk) = match self.reported.optimal_io_size {
            Some(size) if size.is_multiple_of(Bytes::kib(4)) => (Some(size), None),
            quirk => (None, quirk),
        };
        Facts {
            physical_block: self.reported.physical_block,
            vendor,
            model,
            serial,
            usb_id,
            removable: Some(removable),
            max_request: self.reported.max_request,
            reported: Reported {
                preferred_erase_size: self
                    .reported
                    .preferred_erase_size
                    .map(|bytes| PreferredEraseSize { bytes, origin }),
                ssr_au_size: self.reported.ssr_au_size,
                optimal_io_size,
                optimal_io_quirk,
                discard_granularity: self.reported.discard_granularity,
            },
            ..Facts::bare(
                format!("sim:{}", self.name),
                Transport::Simulated,
                Some(self.capacity),
                self.logical_block,
            )
        }
    }
}

#[cfg(test)]
mod tests;
