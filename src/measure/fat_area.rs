//! Small writes in three patterns, in one place after another: the same to every place, so that only
//! the places differ.

use super::meter::{Stop, WriteMeter};
use crate::units::{ByteRange, Bytes};
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;
use std::time::Duration;

/// The first write of a pattern opens a unit, or closes one of the pattern before: not scored.
pub const OPENING: usize = 1;
/// Writes of each pattern that are scored: as few as the normal approximation of a rank test bears.
pub const SCORED: usize = 9;
/// A write this many times as long as usual waited for a garbage collection and is charged.
const COLLECTING: f64 = 10.0;

/// A place to be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One of the references.
    Reference(usize),
    /// One of the steps from the start of the device.
    Step(usize),
}

/// The seconds of each scored write in one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// Anywhere in the place.
    pub random: Vec<f64>,
    /// Anywhere in the place, after each a write that appends to a unit elsewhere: what a file
    /// system does with its FAT and a file.
    pub alternating: Vec<f64>,
    /// One after another.
    pub linear: Vec<f64>,
}

/// Where everything lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sites {
    /// Steps from the start of the device.
    pub steps: Vec<ByteRange>,
    /// Ranges of the same size, far from the start.
    pub references: Vec<ByteRange>,
    /// What the alternating pattern appends to.
    pub data: ByteRange,
    /// The size of every write.
    pub size: Bytes,
    /// What a garbage collection copies.
    pub unit: Bytes,
}

/// Whoever decides which place is next.
pub trait Inquiry {
    /// The next place; `None` when nothing more is wanted.
    fn next(&mut self) -> Option<Place>;

    /// The times of a place.
    fn observe(&mut self, place: Place, times: &Times);

    /// How it stands, in a few words for a progress line.
    fn standing(&self) -> String;
}

/// Test place after place until the inquiry is satisfied or a limit is met.
///
/// # Errors
/// The stop reason when measuring ended before the inquiry did. A place that was not completed is
/// dropped.
pub fn run(
    meter: &mut WriteMeter<'_>,
    inquiry: &mut dyn Inquiry,
    sites: &Sites,
    rng: &mut Xoshiro256PlusPlus,
    progress: &mut dyn FnMut(&WriteMeter<'_>, &dyn Inquiry),
) -> Result<(), Stop> {
    let mut writer = Writer {
        meter,
        rng,
        sites,
        appended: 0,
        usual: f64::INFINITY,
    };
    while let Some(place) = inquiry.next() {
        let range = match place {
            Place::Reference(n) => sites.references.get(n),
            Place::Step(n) => sites.steps.get(n),
        };
        let Some(range) = range else { break };
        let times = writer.place(*range)?;
        inquiry.observe(place, &times);
        progress(writer.meter, inquiry);
    }
    Ok(())
}

/// Write into two units in turn, so many times: a stick that counts what was written lately forgets
/// the units of an earlier test.
///
/// # Errors
/// The stop reason when a limit came first.
pub fn forget(
    meter: &mut WriteMeter<'_>,
    units: [ByteRange; 2],
    size: Bytes,
    visits: usize,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<(), Stop> {
    for visit in 0..visits {
        let range = units[visit % 2];
        let room = range.length().get() / size.get().max(1);
        let turn = u64::try_from(visit / 2).unwrap_or(0) % room.max(1);
        let at = Bytes(range.from.get() + turn * size.get());
        meter.announce(&[of(at, size)])?;
        meter.write(at, size, rng)?;
    }
    Ok(())
}

/// Wait until writes appended at `range` take no longer than usual, for ten seconds at most.
///
/// # Errors
/// The stop reason when a limit came first.
pub fn settle(
    meter: &mut WriteMeter<'_>,
    range: ByteRange,
    size: Bytes,
    usual: Duration,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<(), Stop> {
    for second in 0..SETTLE_SECONDS {
        let mut times = Vec::new();
        for n in 0..3 {
            let at = Bytes(range.from.get() + (u64::from(second) * 3 + n) * size.get());
            meter.announce(&[of(at, size)])?;
            times.push(meter.write(at, size, rng)?);
        }
        times.sort_unstable();
        if times[1].as_secs_f64() <= SETTLED * usual.as_secs_f64() {
            return Ok(());
        }
        meter.wait(Duration::from_secs(1))?;
    }
    Ok(())
}

/// What an earlier test left is worked off when a write takes no longer than this, relative to
/// before.
const SETTLED: f64 = 1.2;
/// The longest wait for it.
const SETTLE_SECONDS: u32 = 10;

struct Writer<'a, 'd> {
    meter: &'a mut WriteMeter<'d>,
    rng: &'a mut Xoshiro256PlusPlus,
    sites: &'a Sites,
    /// Writes appended to the data unit so far.
    appended: u64,
    /// The shortest median so far.
    usual: f64,
}

impl Writer<'_, '_> {
    fn place(&mut self, range: ByteRange) -> Result<Times, Stop> {
        let count = OPENING + SCORED;
        let size = self.sites.size;
        let pages = (range.length().get() / size.get().max(1)).max(1);
        let at = |page: u64| Bytes(range.from.get() + page * size.get());
        let anywhere = |rng: &mut Xoshiro256PlusPlus| -> Vec<Bytes> {
            (0..count).map(|_| at(rng.random_range(0..pages))).collect()
        };
        let random = anywhere(self.rng);
        let alternating = anywhere(self.rng);
        let first = self
            .rng
            .random_range(0..pages.saturating_sub(count as u64).max(1));
        let linear: Vec<Bytes> = (0..count as u64).map(|n| at((first + n) % pages)).collect();
        let data: Vec<Bytes> = (0..count).map(|_| self.append()).collect();
        let ranges: Vec<ByteRange> = [&random, &alternating, &linear, &data]
            .into_iter()
            .flatten()
            .map(|at| of(*at, size))
            .collect();
        self.meter.announce(&ranges)?;
        let random = self.pattern(&random, &[])?;
        let alternating = self.pattern(&alternating, &data)?;
        let linear = self.pattern(&linear, &[])?;
        Ok(Times {
            random,
            alternating,
            linear,
        })
    }

    /// Writes at these places, each followed by one at the place of the same number in `between`.
    fn pattern(&mut self, places: &[Bytes], between: &[Bytes]) -> Result<Vec<f64>, Stop> {
        let size = self.sites.size;
        let mut times = Vec::new();
        for (n, at) in places.iter().enumerate() {
            let seconds = self.write(*at, size)?;
            if n >= OPENING {
                times.push(seconds);
            }
            if let Some(at) = between.get(n) {
                self.write(*at, size)?;
            }
        }
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        self.usual = self
            .usual
            .min(sorted.get(sorted.len() / 2).copied().unwrap_or(self.usual));
        Ok(times)
    }

    fn write(&mut self, at: Bytes, size: Bytes) -> Result<f64, Stop> {
        let took: Duration = self.meter.write(at, size, self.rng)?;
        let seconds = took.as_secs_f64();
        if seconds > COLLECTING * self.usual {
            self.meter.charge(self.sites.unit);
        }
        Ok(seconds)
    }

    fn append(&mut self) -> Bytes {
        let size = self.sites.size.get();
        let pages = (self.sites.data.length().get() / size.max(1)).max(1);
        let at = self.sites.data.from.get() + self.appended % pages * size;
        self.appended += 1;
        Bytes(at)
    }
}

fn of(at: Bytes, size: Bytes) -> ByteRange {
    ByteRange {
        from: at,
        to: Bytes(at.get().saturating_add(size.get())),
    }
}
