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

/// The noise of a difference, from the comparison reads alone: `pre − post` has variance 2σ², a
/// difference 1.5σ². The boundaries themselves do not enter.
pub fn noise(triples: &[Triple]) -> f64 {
    let wings: Vec<f64> = triples
        .iter()
        .map(|t| t.pre.as_secs_f64() - t.post.as_secs_f64())
        .collect();
    let base = median(
        &triples
            .iter()
            .map(|t| t.pre.as_secs_f64())
            .collect::<Vec<_>>(),
    );
    // Half of the decile spread guards against a median deviation of zero under quantisation; a
    // thousandth of the time against times that never vary.
    let sigma = mad_sigma(&wings)
        .max(0.5 * decile_sigma(&wings))
        .max(base * 1e-3)
        .max(1e-9);
    0.75f64.sqrt() * sigma
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
        assert_eq!(noise(&quiet).to_bits(), noise(&steps).to_bits());
    }
}
