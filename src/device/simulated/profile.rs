//! What a simulated stick is made of: the profile file.
//!
//! A profile is TOML; `fixtures/README.md` documents every key with unit and default. Unknown keys
//! are errors. Sizes and times are texts with a unit ("8MiB", "860us"), shares are numbers from 0
//! to 1.

mod builtin;
mod check;
mod expected;
mod text;

pub use builtin::builtin_names;
pub use expected::{
    Expected, ExpectedEraseBlock, ExpectedOpenAu, ExpectedOpenAus, ExpectedPage, ExpectedVerdict,
    ExpectedZone,
};

use crate::topology::{Facts, Origin, PreferredEraseSize, Reported, Transport};
use crate::units::{ByteRange, Bytes, LogicalBlock};
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

/// Table `[read]`: a read of s bytes takes `base + per_kib * s/1024 + crossing + extras`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// Cost of any read.
    #[serde(deserialize_with = "text::time")]
    pub base: Duration,
    /// Cost of each KiB.
    #[serde(default, deserialize_with = "text::time")]
    pub per_kib: Duration,
    /// Cost of every further piece of a read that is longer than `reported.max_request`.
    #[serde(default, deserialize_with = "text::time")]
    pub split_cost: Duration,
    /// What is added to the base at the end of the device, falling linearly to nothing at its start.
    #[serde(default, deserialize_with = "text::time")]
    pub trend: Duration,
    /// A base that differs from region to region.
    pub regions: Option<Regions>,
    /// The first access after a pause.
    pub after_idle: Option<AfterIdle>,
    /// Costs of crossing boundaries.
    #[serde(default)]
    pub crossing: Crossing,
    /// The device's own cache of recently read pages.
    pub cache: Option<ReadCache>,
    /// The device's cache of its mapping table.
    pub map_cache: Option<MapCache>,
}

/// Table `[read.regions]`: every region of this size has its own offset of the base.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regions {
    /// The size of a region.
    #[serde(deserialize_with = "text::size")]
    pub size: Bytes,
    /// The standard deviation between regions.
    #[serde(deserialize_with = "text::time")]
    pub spread: Duration,
}

/// Table `[read.after_idle]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterIdle {
    /// A pause at least this long...
    #[serde(deserialize_with = "text::time")]
    pub idle: Duration,
    /// ...makes the next access take this much longer.
    #[serde(deserialize_with = "text::time")]
    pub cost: Duration,
}

/// Table `[read.crossing]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Crossing {
    /// How the levels that one read crosses add up.
    pub combine: Combine,
    /// Cost of crossing an erase-block boundary.
    #[serde(deserialize_with = "text::time")]
    pub erase_block: Duration,
    /// Cost of crossing a sub-unit boundary that is no erase-block boundary.
    #[serde(deserialize_with = "text::time")]
    pub sub_unit: Duration,
    /// Share of the erase-block and sub-unit boundaries that cost nothing.
    pub missed: f64,
    /// Relative standard deviation of the cost from boundary to boundary.
    pub spread: f64,
    /// Levels inside the erase block.
    pub page: Vec<PageLevel>,
}

/// How the levels that one read crosses add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Combine {
    /// The costliest counts.
    #[default]
    Max,
    /// All count, each level once.
    Sum,
}

/// Table `[[read.crossing.page]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageLevel {
    /// The distance of the boundaries.
    #[serde(deserialize_with = "text::size")]
    pub size: Bytes,
    /// The cost of crossing one or more of them.
    #[serde(deserialize_with = "text::time")]
    pub cost: Duration,
    /// Which multiples.
    #[serde(default)]
    pub at: Multiples,
}

/// Which multiples of a size are boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Multiples {
    /// All.
    #[default]
    All,
    /// Only the odd ones: a 16 KiB boundary is then none of the 8 KiB ones.
    Odd,
}

/// Table `[read.cache]`: a read whose pages were all read recently is fast.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadCache {
    /// The unit in which it remembers.
    #[serde(deserialize_with = "text::size")]
    pub unit: Bytes,
    /// Its size.
    #[serde(deserialize_with = "text::size")]
    pub size: Bytes,
    /// The base of a hit, instead of `read.base`.
    #[serde(deserialize_with = "text::time")]
    pub hit: Duration,
    /// How much behind a read it fetches in advance.
    #[serde(default, deserialize_with = "text::size")]
    pub read_ahead: Bytes,
}

/// Table `[read.map_cache]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapCache {
    /// The range that one entry describes.
    #[serde(deserialize_with = "text::size")]
    pub region: Bytes,
    /// How many regions it remembers, least recently used out first.
    pub entries: u32,
    /// The cost of fetching one.
    #[serde(deserialize_with = "text::time")]
    pub miss: Duration,
}

/// Table `[write]`: a write of s bytes takes `base + per_kib * max(s, page)/1024`, and
/// `partial_page` more when it does not fill whole pages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Write {
    /// Cost of any write.
    #[serde(deserialize_with = "text::time")]
    pub base: Duration,
    /// Cost of each KiB.
    #[serde(deserialize_with = "text::time")]
    pub per_kib: Duration,
    /// Cost of reading, modifying and writing back a page that is written in part.
    #[serde(deserialize_with = "text::time")]
    pub partial_page: Duration,
    /// Normal noise on writes, relative to the time.
    pub relative_sigma: f64,
    /// Cost of a flush.
    #[serde(deserialize_with = "text::time")]
    pub flush: Duration,
    /// Writes up to this size use a log of their own: they open no unit and never collect.
    #[serde(deserialize_with = "text::optional_size")]
    pub small_path: Option<Bytes>,
}

impl Default for Write {
    /// A plain 20 MB/s stick.
    fn default() -> Self {
        Write {
            base: Duration::from_millis(1),
            per_kib: Duration::from_micros(45),
            partial_page: Duration::ZERO,
            relative_sigma: 0.03,
            flush: Duration::from_micros(500),
            small_path: None,
        }
    }
}

/// Table `[open_units]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenUnits {
    /// What is counted; default the sub-unit, else the erase block.
    #[serde(deserialize_with = "text::optional_size")]
    pub unit: Option<Bytes>,
    /// How many units stay open; absent is unlimited.
    pub linear: Option<u32>,
    /// How many of them may be written out of order; absent is as many as `linear`.
    pub random: Option<u32>,
    /// Which unit is closed.
    pub policy: Policy,
    /// What happens beyond the limit.
    pub cutoff: CutoffKeys,
    /// The cost of closing a unit that is not full, or that was filled out of order.
    #[serde(deserialize_with = "text::time")]
    pub collect: Duration,
    /// The cost of opening a unit.
    #[serde(deserialize_with = "text::time")]
    pub open: Duration,
    /// Soft cut-off: the rate beyond the limit relative to the rate before, at all sizes.
    pub soft_rate: f64,
    /// Units that may be open before the rate sags.
    pub sag_free: u32,
    /// Relative extra time for each open unit beyond `sag_free`.
    pub sag_per_unit: f64,
    /// Out-of-order writes shorter than this...
    #[serde(deserialize_with = "text::optional_size")]
    pub random_below: Option<Bytes>,
    /// ...cost this much more each; default `collect`.
    #[serde(deserialize_with = "text::optional_time")]
    pub random_below_cost: Option<Duration>,
}

impl Default for OpenUnits {
    /// No limit and no cost.
    fn default() -> Self {
        OpenUnits {
            unit: None,
            linear: None,
            random: None,
            policy: Policy::Lru,
            cutoff: CutoffKeys::Hard,
            collect: Duration::ZERO,
            open: Duration::ZERO,
            soft_rate: 0.5,
            sag_free: 0,
            sag_per_unit: 0.0,
            random_below: None,
            random_below_cost: None,
        }
    }
}

/// Which open unit is closed when there are too many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The one that was not written for the longest time.
    #[default]
    Lru,
    /// The one that was opened first.
    Fifo,
    /// Any.
    Random,
}

/// What happens when more units are written than stay open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CutoffKeys {
    /// One unit is closed first, at the cost of a collection.
    #[default]
    Hard,
    /// All writes become slower by one factor.
    Soft,
}

/// Table `[[zones]]`: a range that is written in another way.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneKeys {
    /// The first byte inside.
    #[serde(deserialize_with = "text::size")]
    pub from: Bytes,
    /// The first byte outside.
    #[serde(deserialize_with = "text::size")]
    pub to: Bytes,
    /// Time of in-order writes relative to elsewhere.
    #[serde(default = "one")]
    pub linear: f64,
    /// Time of out-of-order writes relative to elsewhere.
    #[serde(default = "one")]
    pub random: f64,
    /// Writes here open no unit and never collect: mapped by page.
    #[serde(default)]
    pub page_mapped: bool,
}

const fn one() -> f64 {
    1.0
}

/// Table `[slc_cache]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlcCache {
    /// How much is written at full speed.
    #[serde(deserialize_with = "text::size")]
    pub size: Bytes,
    /// Time of writes once it is full, relative to before.
    pub slower: f64,
    /// How much is freed in each second without writes.
    #[serde(default, deserialize_with = "text::size")]
    pub freed_per_second: Bytes,
}

/// Table `[write_cache]`: writes are acknowledged early while the work behind them is no longer
/// than `depth`; a flush waits for all of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteCache {
    /// The work that may be outstanding.
    #[serde(deserialize_with = "text::time")]
    pub depth: Duration,
    /// The time to acknowledge a write.
    #[serde(deserialize_with = "text::time")]
    pub base: Duration,
    /// The same for each KiB.
    #[serde(default, deserialize_with = "text::time")]
    pub per_kib: Duration,
}

/// Table `[noise]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Standard deviation of normal noise on every read.
    #[serde(deserialize_with = "text::time")]
    pub sigma: Duration,
    /// Share of the accesses that take much longer.
    pub outlier_rate: f64,
    /// By how much, on average (exponentially distributed).
    #[serde(deserialize_with = "text::time")]
    pub outlier: Duration,
    /// Background work of the device.
    pub background: Option<Background>,
    /// Relative change of all times per second.
    pub drift_per_second: f64,
    /// A slow wave on all times.
    pub wave: Option<Wave>,
    /// A lasting change of all times.
    pub throttle: Option<Throttle>,
    /// Completions fall on multiples of this on the device's clock (USB 2.0: 125 us).
    #[serde(deserialize_with = "text::time")]
    pub quantum: Duration,
}

/// Table `[noise.background]`: garbage collection that starts by itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// The mean time between two starts (exponentially distributed).
    #[serde(deserialize_with = "text::time")]
    pub every: Duration,
    /// How long it takes; an access waits for the end.
    #[serde(deserialize_with = "text::time")]
    pub length: Duration,
}

/// Table `[noise.wave]`: times are multiplied by `1 + amplitude * sin(2π t / period)`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wave {
    /// Relative.
    pub amplitude: f64,
    /// On the device's clock.
    #[serde(deserialize_with = "text::time")]
    pub period: Duration,
}

/// Table `[noise.throttle]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    /// When, on the device's clock.
    #[serde(deserialize_with = "text::time")]
    pub after: Duration,
    /// All times are multiplied by this from then on.
    pub slower: f64,
}

/// Table `[unmapped]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unmapped {
    /// Unmapped ranges.
    #[serde(default, deserialize_with = "text::ranges")]
    pub ranges: Vec<ByteRange>,
    /// Share of the chunks that are unmapped besides.
    #[serde(default)]
    pub share: f64,
    /// The size of a chunk; default the erase block.
    #[serde(default, deserialize_with = "text::optional_size")]
    pub chunk: Option<Bytes>,
    /// Cost of a read of an unmapped place, instead of `read.base`.
    #[serde(deserialize_with = "text::time")]
    pub base: Duration,
    /// Cost of each KiB, instead of `read.per_kib`.
    #[serde(default, deserialize_with = "text::optional_time")]
    pub per_kib: Option<Duration>,
    /// What it returns.
    #[serde(default)]
    pub content: Constant,
    /// What one write maps; default 4 KiB.
    #[serde(default, deserialize_with = "text::optional_size")]
    pub map_unit: Option<Bytes>,
}

/// A constant content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Constant {
    /// 00.
    #[default]
    Zeros,
    /// FF: erased flash.
    Ones,
}

impl Constant {
    /// The byte.
    pub(super) const fn byte(self) -> u8 {
        match self {
            Constant::Zeros => 0,
            Constant::Ones => 0xff,
        }
    }
}

/// Table `[contents]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContentsKeys {
    /// What mapped places contain before they are written.
    pub fill: Fill,
    /// Ranges that contain zeros although they are mapped.
    #[serde(deserialize_with = "text::ranges")]
    pub zeros: Vec<ByteRange>,
}

/// What mapped places contain before they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// Pseudo-random bytes that depend on place and specimen.
    #[default]
    Random,
    /// 00.
    Zeros,
    /// FF.
    Ones,
}

/// Table `[counterfeit]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counterfeit {
    /// What is really there.
    #[serde(deserialize_with = "text::size")]
    pub real: Bytes,
    /// What happens beyond.
    #[serde(default)]
    pub beyond: Beyond,
}

/// What happens beyond the real size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Beyond {
    /// Addresses begin again at 0.
    #[default]
    Wrap,
    /// Writes vanish, reads return zeros.
    Vanish,
}

/// Table `[faults]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Ranges that cannot be read.
    #[serde(deserialize_with = "text::ranges")]
    pub unreadable: Vec<ByteRange>,
    /// Ranges that cannot be written.
    #[serde(deserialize_with = "text::ranges")]
    pub unwritable: Vec<ByteRange>,
    /// The stick goes away after this many accesses.
    pub vanish_after: Option<u64>,
    /// The power is cut after this many written logical blocks.
    pub power_cut_after: Option<u64>,
    /// What the host sees of the power cut.
    pub power_cut: PowerCut,
    /// One access that hangs.
    pub hang: Option<Hang>,
}

/// What the host sees of a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerCut {
    /// Nothing: later writes report success and are lost.
    #[default]
    Lost,
    /// The stick is gone.
    Gone,
}

/// Table `[faults.hang]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hang {
    /// Which access, counted from 1.
    pub at: u64,
    /// How much longer it takes.
    #[serde(deserialize_with = "text::time")]
    pub time: Duration,
}

/// Why there is no such simulated stick.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Neither a built-in name nor a path.
    #[error(
        "no simulated stick is called '{name}': use a path such as sim:./{name}.toml, or one of {names}"
    )]
    Unknown {
        /// As typed.
        name: String,
        /// All built-in names.
        names: String,
    },
    /// The file cannot be read.
    #[error("cannot read the profile {path}: {reason}")]
    File {
        /// As typed.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// No TOML, an unknown key, or a value of the wrong kind.
    #[error("profile {origin}, line {line} ({text}): {reason}")]
    Line {
        /// The file or built-in name.
        origin: String,
        /// Counted from 1.
        line: usize,
        /// The line itself, shortened.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// A value that makes no sense together with the others.
    #[error("profile {origin}: {key}: {reason}")]
    Value {
        /// The file or built-in name.
        origin: String,
        /// The key with its tables.
        key: &'static str,
        /// What is wrong.
        reason: String,
    },
}

impl Profile {
    /// Parse a profile file. `origin` is its path or name, for errors and for [`Facts::path`].
    pub fn parse(text: &str, origin: &str) -> Result<Profile, ProfileError> {
        let mut profile: Profile =
            toml::from_str(text).map_err(|e| line_error(text, origin, &e))?;
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

    /// The same stick with noise such that the erase-block step is `n` standard deviations of one
    /// read.
    ///
    /// Rounding to a quantum q adds a variance of q²/12 when the phase is random. The normal noise
    /// makes up the rest; when the quantum alone is too coarse it is lowered until it makes half of
    /// the variance. Sub-unit and page costs, misses and outliers stay as they are. Without a step
    /// nothing changes.
    pub fn with_step_over_sigma(mut self, n: f64) -> Profile {
        let step = self.read.crossing.erase_block.as_secs_f64();
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

fn line_error(text: &str, origin: &str, error: &toml::de::Error) -> ProfileError {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..start]
        .iter()
        .filter(|&&b| b == b'\n')
        .count();
    let shown: String = text
        .lines()
        .nth(line)
        .unwrap_or("")
        .trim()
        .chars()
        .take(60)
        .collect();
    ProfileError::Line {
        origin: origin.to_owned(),
        line: line + 1,
        text: shown,
        reason: error.message().replace('\n', " "),
    }
}

#[cfg(test)]
mod tests;
