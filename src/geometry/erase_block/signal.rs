//! From triples to differences: which triples may be used, and how noisy a difference is.

use crate::geometry::stats::{decile_sigma, mad_sigma, median};
use crate::measure::alignment::Triple;
use crate::measure::meter::Content;
use crate::measure::noise::Single;

/// The comparison reads of a batch may move by this share against those before: more is drift,
/// throttling or another user of the device.
const DISTURBED: f64 = 0.2;

/// Blank places count as never written only when they are faster by this many deviations and by a
/// twentieth of the time.
const BLANK_DEVIATIONS: f64 = 3.0;

/// At least this many reads of either kind are compared.
const FEWEST_COMPARED: usize = 6;

/// Times are not thought to be steadier than this share of themselves: then the steps that are
/// compared, up to 180 times the noise, reach to nine tenths of a read.
const LEAST_NOISE: f64 = 5e-3;

/// What blank content means on this device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blank {
    /// Blank places answer faster: they were never written (or trimmed), and no flash is read.
    Unmapped,
    /// Blank places answer like others: written with zeros. Or there is nothing to compare with.
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
    if gain > BLANK_DEVIATIONS * 1.2533 * error && gain > 0.05 * median(&data) {
        Blank::Unmapped
    } else {
        Blank::Ordinary
    }
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
}

impl Ordinary {
    /// From the comparison reads alone: the boundaries themselves do not enter. `pre − post` has
    /// twice the variance of a read; the mean of the two varies between places by half of it plus
    /// what the places differ.
    pub fn of(triples: &[PlacedTriple]) -> Ordinary {
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
        Ordinary { sigma, between }
    }

    /// Before any triple: reads scatter by `sigma`, places do not.
    pub fn guess(sigma: f64) -> Ordinary {
        Ordinary {
            sigma: sigma.max(1e-6),
            between: 0.0,
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
        let own = difference(&placed.triple);
        let common = placed.triple.on.as_secs_f64() - placed.batch_level;
        let share = self.own_share();
        share * own + (1.0 - share) * common
    }

    /// The standard deviation of the plain [`difference`] of a triple: 1.5 times the variance of a
    /// read.
    pub fn own_noise(&self) -> f64 {
        1.5f64.sqrt() * self.sigma
    }

    /// The standard deviation of [`Ordinary::difference`] at an ordinary place.
    pub fn noise(&self) -> f64 {
        let half = self.sigma * self.sigma / 2.0;
        let places = self.between * self.between;
        (self.sigma * self.sigma + places * half / (places + half)).sqrt()
    }
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
        let zeros: Vec<Single> = (0..200)
            .map(|n| {
                single(
                    800 + n % 20,
                    if n < 100 {
                        Content::Data
                    } else {
                        Content::Blank
                    },
                )
            })
            .collect();
        assert_eq!(blank_places(&zeros), Blank::Ordinary);
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
