//! From triples to differences: which triples may be used, and how noisy a difference is.

use super::grid::Grid;
use crate::geometry::stats::{
    MEDIAN_ERROR, decile_sigma, mad_sigma, median, trimmed_mean, trimmed_mean_error,
};
use crate::measure::alignment::Triple;
use crate::measure::meter::Content;
use crate::measure::noise::Single;

/// The comparison reads of a batch may move by this share against those before: more is drift,
/// throttling or another user of the device.
const DISTURBED: f64 = 0.2;

/// Blank places count as never written only when they are faster by this many deviations, and by
/// [`BLANK_GAIN`].
const BLANK_DEVIATIONS: f64 = 3.0;

/// An array of cells takes 25 µs or more to be read (ONFI datasheets of single-level cells; others take
/// two to four times as long), which is so much of the millisecond that the slowest sticks need.
const BLANK_GAIN: f64 = 0.025;

/// Where at least this share of a device is written, blank places are not needed: three times as many
/// tries find a boundary between two written blocks.
const ENOUGH_WRITTEN: f64 = 1.0 / 3.0;

/// At least this many reads of either kind are compared.
const FEWEST_COMPARED: usize = 6;

/// Times are not thought to be steadier than this share of themselves: then the steps that are
/// compared, up to 180 times the noise, reach to nine tenths of a read.
const LEAST_NOISE: f64 = 5e-3;

/// Places that differ by so many deviations of a read are only compared with themselves.
const FAR_APART: f64 = 1e3;

/// One of two reads is late when they differ by so many deviations of their difference: by normal noise
/// one pair in ten thousand does.
const LATE: f64 = 4.0;

/// The same in the first round, where the noise still looks larger than it is.
const FIRST_LATE: f64 = 3.0;

/// How often late reads are looked for, each time with less of them in the noise: with one in five late,
/// the first estimate of the noise is nearly twice too large.
const ROUNDS: usize = 3;

/// An excess that changes by this factor changes what a difference says: it is about the step from one
/// cost to the next that the posterior compares.
const OTHER_EXCESS: f64 = 1.5;

/// A smaller share of late reads is covered by the tails of the noise.
const FEW_LATE: f64 = 0.04;

/// What blank content means on this device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blank {
    /// Blank places answer faster: they were never written (or trimmed), and no flash is read.
    Unmapped,
    /// Blank places answer like others, so they may have been written with zeros; or they may be answered
    /// nearly as slowly as flash. There are enough others.
    Doubtful,
    /// Blank places answer like others and are needed, or there are no others.
    Ordinary,
}

/// How blank places behave, judged from single reads.
pub fn blank_places(singles: &[Single]) -> Blank {
    let times = |content: Content| -> Vec<f64> {
        singles
            .iter()
            .filter(|s| s.content == content)
            .map(|s| s.time.as_secs_f64())
            .collect()
    };
    let (blank, data) = (times(Content::Blank), times(Content::Data));
    if blank.len() < FEWEST_COMPARED || data.len() < FEWEST_COMPARED {
        // Too few to compare. Between written ones a few blank places cost little when left out.
        return if data.len() >= FEWEST_COMPARED {
            Blank::Unmapped
        } else {
            Blank::Ordinary
        };
    }
    let gain = median(&data) - median(&blank);
    let error = (mad_sigma(&data).powi(2) / data.len() as f64
        + mad_sigma(&blank).powi(2) / blank.len() as f64)
        .sqrt();
    if gain > BLANK_DEVIATIONS * MEDIAN_ERROR * error && gain > BLANK_GAIN * median(&data) {
        Blank::Unmapped
    } else if data.len() as f64 >= ENOUGH_WRITTEN * singles.len() as f64 {
        Blank::Doubtful
    } else {
        Blank::Ordinary
    }
}

/// Note in the grid what is written where, and leave out what was or may never have been written.
pub fn written(triples: &[Triple], blank: Blank, grid: &mut Grid) -> Vec<Option<Triple>> {
    triples
        .iter()
        .map(|triple| {
            let is_blank = triple.content == Content::Blank;
            grid.learn(triple.site.at, is_blank);
            let leave_out = is_blank && blank != Blank::Ordinary;
            (!leave_out).then_some(*triple)
        })
        .collect()
}

/// Share of single reads that came back blank.
pub fn blank_share(singles: &[Single]) -> f64 {
    let blank = singles
        .iter()
        .filter(|s| s.content == Content::Blank)
        .count();
    blank as f64 / singles.len().max(1) as f64
}

/// `on − (pre + post)/2` in seconds.
pub fn difference(triple: &Triple) -> f64 {
    triple.on.as_secs_f64() - (triple.pre.as_secs_f64() + triple.post.as_secs_f64()) / 2.0
}

/// What the comparison reads of many triples say of ordinary places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ordinary {
    /// Standard deviation of one read.
    sigma: f64,
    /// Standard deviation of the true level from place to place within one batch.
    between: f64,
    late: Late,
}

/// Reads that take far longer than their neighbours, for no reason that lies in their place: they met
/// a garbage collection, a retry of the bus, or another user of the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Late {
    /// Their share of all reads.
    pub share: f64,
    /// How much longer, in seconds: the median.
    pub excess: f64,
    /// By how much the share may be larger: one error of its estimate, on top of what was too little to
    /// be told.
    pub doubt: f64,
}

impl Late {
    /// From pairs of comparison reads: one of them is late where they differ by more than `apart_by`.
    /// Where both are, it is the place. With only a few of them none are told: what the
    /// tails of the noise hold covers those.
    fn of(triples: &[PlacedTriple], apart_by: f64) -> Late {
        let excess: Vec<f64> = triples
            .iter()
            .map(apart)
            .filter(|apart| *apart > apart_by)
            .collect();
        // One of two is late with probability 2s(1 − s).
        let pairs = triples.len().max(1) as f64;
        let one_of_two = excess.len() as f64 / pairs;
        let twice = (1.0 - 2.0 * one_of_two).max(0.0).sqrt();
        let share = (1.0 - twice) / 2.0;
        // The error of a count, passed on to the share.
        let error = (one_of_two * (1.0 - one_of_two) / pairs).sqrt() / (2.0 * twice.max(0.1));
        if share < FEW_LATE {
            return Late {
                doubt: share + error,
                ..Late::default()
            };
        }
        Late {
            share,
            excess: median(&excess),
            doubt: error,
        }
    }

    /// Whether sums made with `self` need not be made again with `other`.
    pub fn is_near(&self, other: &Late) -> bool {
        let ratio = (other.excess / self.excess.max(f64::MIN_POSITIVE))
            .max(self.excess / other.excess.max(f64::MIN_POSITIVE));
        let none = self.share == 0.0 && other.share == 0.0;
        none || ((self.share - other.share).abs() < FEW_LATE && ratio < OTHER_EXCESS)
    }
}

impl Ordinary {
    /// From the comparison reads alone: the boundaries themselves do not enter. Where many reads are
    /// late, pairs with one of them are left out and the rest looked at again.
    pub fn of(triples: &[PlacedTriple]) -> Ordinary {
        let mut ordinary = Ordinary::of_all(triples);
        for round in 0..ROUNDS {
            let deviations = if round == 0 { FIRST_LATE } else { LATE };
            let apart_by = deviations * 2f64.sqrt() * ordinary.sigma;
            let late = Late::of(triples, apart_by);
            if late.share == 0.0 {
                if round == 0 {
                    ordinary.late = late;
                }
                break;
            }
            let timely: Vec<PlacedTriple> = triples
                .iter()
                .filter(|t| apart(t) <= apart_by)
                .copied()
                .collect();
            ordinary = Ordinary {
                late,
                ..Ordinary::of_all(&timely)
            };
        }
        ordinary
    }

    /// `pre − post` has twice the variance of a read; the mean of the two varies between places by half
    /// of it plus what the places differ.
    fn of_all(triples: &[PlacedTriple]) -> Ordinary {
        let time = |t: &PlacedTriple| (t.triple.pre.as_secs_f64(), t.triple.post.as_secs_f64());
        let wings: Vec<f64> = triples.iter().map(|t| time(t).0 - time(t).1).collect();
        let base = median(&triples.iter().map(|t| time(t).0).collect::<Vec<_>>());
        let floor = (base * LEAST_NOISE).max(1e-9);
        let sigma = spread_of(&wings, floor) / 2f64.sqrt();
        let means: Vec<f64> = triples
            .iter()
            .map(|t| (time(t).0 + time(t).1) / 2.0 - t.batch_level)
            .collect();
        let spread = spread_of(&means, floor);
        let between = (spread * spread - sigma * sigma / 2.0).max(0.0).sqrt();
        Ordinary {
            sigma,
            between,
            late: Late::default(),
        }
    }

    /// Before any triple: reads scatter by `sigma`, places do not.
    pub fn guess(sigma: f64) -> Ordinary {
        Ordinary {
            sigma: sigma.max(1e-6),
            between: 0.0,
            late: Late::default(),
        }
    }

    /// Reads scatter by `sigma`, and places may differ by anything.
    pub fn of_unlike_places(sigma: f64) -> Ordinary {
        Ordinary {
            between: FAR_APART * sigma,
            ..Ordinary::guess(sigma)
        }
    }

    /// How far the level of a place is read off its own comparison reads, as against the level of
    /// its whole batch: all of it where places differ much, nothing where they do not.
    fn own_share(&self) -> f64 {
        let places = self.between * self.between;
        places / (places + self.sigma * self.sigma / 2.0)
    }

    /// The extra time of a triple's middle read. The level it is compared with is shrunk from its
    /// own two comparison reads towards the median of the batch (empirical Bayes: Efron and Morris,
    /// JASA 70, 1975): where places do not differ, the two reads only add their noise.
    pub fn difference(&self, placed: &PlacedTriple) -> f64 {
        let (on, level) = (placed.triple.on.as_secs_f64(), placed.batch_level);
        let share = self.own_share();
        on - share * self.own_level(placed) - (1.0 - share) * level
    }

    /// The level of a place by its own two comparison reads: their mean; where one of them is late, the
    /// one that is nearer to the batch.
    fn own_level(&self, placed: &PlacedTriple) -> f64 {
        let [pre, post] = [placed.triple.pre, placed.triple.post].map(|time| time.as_secs_f64());
        let off = |time: f64| (time - placed.batch_level).abs();
        if self.late.share == 0.0 || apart(placed) <= LATE * 2f64.sqrt() * self.sigma {
            f64::midpoint(pre, post)
        } else if off(pre) < off(post) {
            pre
        } else {
            post
        }
    }

    /// Reads that are late for no reason in their place.
    pub fn late(&self) -> Late {
        self.late
    }

    /// The standard deviation of [`Ordinary::difference`] at an ordinary place.
    pub fn noise(&self) -> f64 {
        let half = self.sigma * self.sigma / 2.0;
        let places = self.between * self.between;
        (self.sigma * self.sigma + places * half / (places + half)).sqrt()
    }
}

/// By how much the two comparison reads of a triple differ.
fn apart(placed: &PlacedTriple) -> f64 {
    (placed.triple.pre.as_secs_f64() - placed.triple.post.as_secs_f64()).abs()
}

/// Standard deviation from the median deviation. Where that vanishes, because more than half of
/// quantised times are equal, half of the decile spread stands in; it must not where there is a
/// median deviation, or one read in ten that meets a garbage collection would count as noise.
fn spread_of(values: &[f64], floor: f64) -> f64 {
    let spread = mad_sigma(values);
    if spread > floor {
        spread
    } else {
        (0.5 * decile_sigma(values)).max(floor)
    }
}

/// A triple with the median of the comparison reads of its batch.
#[derive(Clone, Copy, Debug)]
pub struct PlacedTriple {
    /// The triple.
    pub triple: Triple,
    /// In seconds.
    pub batch_level: f64,
}

/// Give every triple of a batch the batch's level.
pub fn place(batch: &[Triple]) -> Vec<PlacedTriple> {
    let wings: Vec<f64> = batch
        .iter()
        .flat_map(|t| [t.pre.as_secs_f64(), t.post.as_secs_f64()])
        .collect();
    let batch_level = median(&wings);
    batch
        .iter()
        .map(|&triple| PlacedTriple {
            triple,
            batch_level,
        })
        .collect()
}

/// The centre of some differences with its error: their mean without the outer fifths; where reads are
/// late at times, which is more than is cut off there, their median.
pub fn centre(differences: &[f64], late: Late) -> (f64, f64) {
    if late.share > 0.0 {
        let error = MEDIAN_ERROR * mad_sigma(differences) / (differences.len() as f64).sqrt();
        (median(differences), error)
    } else {
        (trimmed_mean(differences), trimmed_mean_error(differences))
    }
}

/// Watches the level of the comparison reads from batch to batch.
#[derive(Default)]
pub struct Level {
    settled: Option<f64>,
    moved: Option<f64>,
    /// Batches set aside.
    pub disturbed: usize,
}

impl Level {
    /// Another read size has another level; what was set aside stays counted.
    pub fn start_again(&mut self) {
        *self = Level {
            disturbed: self.disturbed,
            ..Level::default()
        };
    }

    /// Whether a batch may be used. One that moved is set aside; when the next one agrees with it,
    /// that is the new level.
    pub fn accepts(&mut self, batch: &[Triple]) -> bool {
        let wings: Vec<f64> = batch
            .iter()
            .flat_map(|t| [t.pre.as_secs_f64(), t.post.as_secs_f64()])
            .collect();
        if wings.is_empty() {
            return true;
        }
        let now = median(&wings);
        let near = |level: f64| (now / level - 1.0).abs() <= DISTURBED;
        match (self.settled, self.moved) {
            (None, _) => self.settled = Some(now),
            (Some(level), _) if near(level) => {
                // Slow drift is followed.
                self.settled = Some(0.75 * level + 0.25 * now);
                self.moved = None;
            }
            (Some(_), Some(level)) if near(level) => {
                self.settled = Some(now);
                self.moved = None;
            }
            _ => {
                self.moved = Some(now);
                self.disturbed += 1;
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::alignment::Site;
    use crate::units::Bytes;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};
    use std::time::Duration;

    fn single(micros: u64, content: Content) -> Single {
        Single {
            at: Bytes::ZERO,
            time: Duration::from_micros(micros),
            content,
        }
    }

    fn batch(level: u64) -> Vec<Triple> {
        (0..16)
            .map(|n| Triple {
                site: Site {
                    at: Bytes::mib(16 + n),
                    wing: Bytes::kib(256),
                },
                read_size: Bytes(4096),
                pre: Duration::from_micros(level + n),
                on: Duration::from_micros(level + 2 * n),
                post: Duration::from_micros(level - n),
                content: Content::Data,
            })
            .collect()
    }

    #[test]
    fn fast_blank_places_are_unmapped_and_slow_ones_are_zeros() {
        let mut singles: Vec<Single> = (0..100)
            .map(|n| single(800 + n % 20, Content::Data))
            .collect();
        singles.extend((0..100).map(|n| single(300 + n % 20, Content::Blank)));
        assert_eq!(blank_places(&singles), Blank::Unmapped);
        assert!((blank_share(&singles) - 0.5).abs() < 1e-12);
        let zeros = |data: u64| -> Vec<Single> {
            let content = |n| match n < data {
                true => Content::Data,
                false => Content::Blank,
            };
            (0..200).map(|n| single(800 + n % 20, content(n))).collect()
        };
        assert_eq!(blank_places(&zeros(100)), Blank::Doubtful);
        assert_eq!(blank_places(&zeros(20)), Blank::Ordinary);
        let all_blank: Vec<Single> = (0..100)
            .map(|n| single(300 + n % 20, Content::Blank))
            .collect();
        assert_eq!(blank_places(&all_blank), Blank::Ordinary);
    }

    #[test]
    fn a_jump_is_set_aside_until_it_stays() {
        let mut level = Level::default();
        assert!(level.accepts(&batch(1000)));
        assert!(level.accepts(&batch(1050)));
        assert!(!level.accepts(&batch(1500)), "a jump");
        assert!(level.accepts(&batch(1020)), "back again");
        assert!(!level.accepts(&batch(1500)));
        assert!(level.accepts(&batch(1510)), "the new level");
        assert_eq!(level.disturbed, 2);
    }

    #[test]
    fn the_noise_does_not_see_the_boundaries() {
        let quiet = batch(1000);
        let mut steps = quiet.clone();
        for triple in &mut steps {
            triple.on += Duration::from_micros(500);
        }
        assert_eq!(Ordinary::of(&place(&quiet)), Ordinary::of(&place(&steps)));
    }

    #[test]
    fn late_reads_are_told_apart_from_the_noise() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut time = || {
            let late = if rng.random_range(0..5) == 0 {
                300.0
            } else {
                0.0
            };
            let normal = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            Duration::from_secs_f64((1000.0 + 10.0 * normal + late) * 1e-6)
        };
        let mut batches = Vec::new();
        for _ in 0..20 {
            let mut late = batch(1000);
            for triple in &mut late {
                (triple.pre, triple.on, triple.post) = (time(), time(), time());
            }
            batches.extend(place(&late));
        }
        let ordinary = Ordinary::of(&batches);
        let Late {
            share,
            excess,
            doubt,
        } = ordinary.late();
        assert!((share - 0.2).abs() < 0.05, "{ordinary:?}");
        // 320 pairs, of which 102 ± 8 have one late read.
        assert!((doubt - 0.022).abs() < 0.004, "{ordinary:?}");
        assert!((excess - 300e-6).abs() < 15e-6, "{ordinary:?}");
        assert!((ordinary.noise() - 10e-6).abs() < 2e-6, "{ordinary:?}");
        // What was read beside a place counts as its level unless it was late.
        let mut late = batch(1000);
        for triple in &mut late {
            (triple.pre, triple.on) = (Duration::from_micros(1010), Duration::from_micros(1010));
            triple.post = Duration::from_micros(1310);
        }
        let of_its_own = Ordinary {
            between: 1.0,
            ..ordinary
        };
        for mut placed in place(&late) {
            placed.batch_level = 1e-3;
            assert!(of_its_own.difference(&placed).abs() < 1e-9);
            let unaware = Ordinary::of_unlike_places(10e-6);
            assert!((unaware.difference(&placed) + 150e-6).abs() < 1e-6);
        }
    }

    #[test]
    fn slow_places_are_not_late_reads() {
        let mut batches = Vec::new();
        for _ in 0..8 {
            let mut slow = batch(1000);
            for triple in slow.iter_mut().step_by(4) {
                for time in [&mut triple.pre, &mut triple.on, &mut triple.post] {
                    *time += Duration::from_micros(300);
                }
            }
            batches.extend(place(&slow));
        }
        assert_eq!(Ordinary::of(&batches).late().share, 0.0);
    }

    #[test]
    fn where_places_differ_a_triple_is_compared_with_its_own_reads() {
        let mut batches = Vec::new();
        for n in 0..8u64 {
            let mut far = batch(1000);
            for (m, triple) in far.iter_mut().enumerate() {
                // Places differ by up to 300 µs, reads of one place by a few.
                let level = Duration::from_micros(20 * (m as u64 * 7 + n) % 300);
                triple.pre += level;
                triple.on += level;
                triple.post += level;
            }
            batches.extend(place(&far));
        }
        let ordinary = Ordinary::of(&batches);
        assert!(ordinary.own_share() > 0.9, "{ordinary:?}");
        let same: Vec<PlacedTriple> = (0..8).flat_map(|_| place(&batch(1000))).collect();
        assert!(Ordinary::of(&same).own_share() < 0.5);
    }
}
