//! Whether an erase block that was told beforehand, of another stick of the same model, is that of the
//! device at hand. The bets of [`Confirmation`] answer it directly: nothing has to be searched.

use super::confirm::{Confirmation, Outcome};
use super::grid::Grid;
use super::kinds::{FEWEST_TEETH, OFF_GRID_TIMES};
use super::signal::{self, Blank, Level, Ordinary};
use crate::geometry::EraseBlock;
use crate::geometry::stats::{mad_sigma, median};
use crate::measure::alignment::{Batch, Inquiry, Triple};
use crate::measure::meter::Content;
use crate::measure::noise::Single;
use crate::units::Bytes;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

/// Places in a batch, as in the search.
const BATCH: usize = 16;

/// Boundaries that are looked at where the device has so many. The search knows from its posterior that
/// the boundaries are of one kind; here, as for sizes off the search grid, only comparing them tells a
/// sub-unit from the erase block.
const BOUNDARIES: usize = OFF_GRID_TIMES * FEWEST_TEETH;

/// Boundaries that do not show contradict a profile only where the noise of a difference is at most this
/// share of a read. A boundary that costs a fifth of a read then stands 1.3 deviations above
/// the noise, which the 40 looks after which a bet is called hopeless would show.
const STEADY: f64 = 0.15;

/// What was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The erase block.
    pub bytes: Bytes,
    /// Its first boundary.
    pub phase: Bytes,
    /// The smaller unit inside it.
    pub sub_unit: Option<Bytes>,
    /// Reads alone told it, so reads show it on every stick of this kind that was written.
    pub by_reads: bool,
}

impl Told {
    /// From the erase block of a report; `None` when it tells none.
    pub fn of(found: &EraseBlock, by_reads: bool) -> Option<Told> {
        Some(Told {
            bytes: found.bytes.filter(|_| found.verdict.is_told())?,
            phase: found.phase_bytes.unwrap_or(Bytes::ZERO),
            sub_unit: found.sub_unit_bytes,
            by_reads,
        })
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Its boundaries are there, and no others that matter.
    Fits,
    /// The device is built differently: how that shows.
    Contradicted(String),
    /// Reads do not tell: why.
    NotTold(String),
}

/// Steers the reads of the check.
pub struct FitCheck {
    told: Told,
    confirmation: Confirmation,
    ordinary: Ordinary,
    /// Whether a boundary would stand out of the noise.
    steady: bool,
    grid: Grid,
    rng: Xoshiro256PlusPlus,
    blank: Blank,
    level: Level,
    /// Read sizes that are still to be tried, the present one first.
    read_sizes: Vec<Bytes>,
    refuted: bool,
    undecided: bool,
    decided: Option<Fit>,
    /// Triples used: of data, and in all.
    data: usize,
    used: usize,
}

impl FitCheck {
    /// Before the first triple. `read_sizes` are tried in turn: some controllers show their boundaries
    /// only at certain sizes.
    pub fn new(
        told: Told,
        capacity: Bytes,
        singles: &[Single],
        read_sizes: &[Bytes],
        seed: u64,
    ) -> FitCheck {
        let blank = signal::blank_places(singles);
        // Places that were never written answer faster, and are not looked at.
        let times: Vec<f64> = singles
            .iter()
            .filter(|s| blank == Blank::Ordinary || s.content == Content::Data)
            .map(|s| s.time.as_secs_f64())
            .collect();
        let ordinary = Ordinary::of_unlike_places(mad_sigma(&times));
        let mut grid = Grid::new(capacity);
        for single in singles {
            grid.learn(single.at, single.content == Content::Blank);
        }
        FitCheck {
            told,
            confirmation: Confirmation::new(told.bytes, told.phase, told.sub_unit, ordinary),
            ordinary,
            steady: ordinary.noise() <= STEADY * median(&times),
            grid,
            // Another stream than the one that orders the reads.
            rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xf175),
            blank,
            level: Level::default(),
            read_sizes: read_sizes.to_vec(),
            refuted: false,
            undecided: false,
            decided: None,
            data: 0,
            used: 0,
        }
    }

    /// The answer, whether the check ended by itself or was stopped.
    pub fn finish(self) -> Fit {
        if let Some(decided) = self.decided {
            return decided;
        }
        if self.confirmation.outcome() == Outcome::Confirmed {
            return Fit::Fits;
        }
        let size = self.told.bytes;
        // Where most places are blank, it is not known that flash is read at all.
        let written = 2 * self.data >= self.used && self.used > 0;
        if self.refuted && !self.undecided && self.told.by_reads && written && self.steady {
            return Fit::Contradicted(format!(
                "reads show no boundaries every {size} as they should"
            ));
        }
        Fit::NotTold(if self.used == 0 || !written {
            "it was hardly written yet, so reads show nothing of its inside".to_owned()
        } else if self.refuted && !self.told.by_reads {
            "reads do not show its boundaries; the profile comes from write tests, which may have seen more"
                .to_owned()
        } else if self.refuted && !self.steady {
            "its reads scatter too much to show the boundaries".to_owned()
        } else {
            format!(
                "{} places were too few to tell boundaries every {size} from noise",
                self.used
            )
        })
    }

    /// Go on with the next read size, or end.
    fn turn(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Open => return,
            Outcome::Confirmed => {
                self.decided = Some(Fit::Fits);
                return;
            }
            Outcome::Divided(part) => {
                let smaller = Bytes(self.told.bytes.get() / part);
                self.decided = Some(Fit::Contradicted(format!(
                    "reads show boundaries every {smaller}, not every {}",
                    self.told.bytes
                )));
                return;
            }
            Outcome::Refuted | Outcome::Unlike => self.refuted = true,
            Outcome::Unproven | Outcome::Undecided => self.undecided = true,
        }
        self.read_sizes.remove(0);
        self.level.start_again();
        let told = self.told;
        self.confirmation = Confirmation::new(told.bytes, told.phase, told.sub_unit, self.ordinary);
    }
}

impl Inquiry for FitCheck {
    fn next(&mut self) -> Option<Batch> {
        while self.decided.is_none() {
            let read_size = *self.read_sizes.first()?;
            let sites = self
                .confirmation
                .batch(&mut self.grid, BATCH, &mut self.rng);
            if !sites.is_empty() {
                return Some(Batch { sites, read_size });
            }
            // The device has no more fresh places.
            let outcome = match self.confirmation.outcome() {
                Outcome::Open => Outcome::Undecided,
                decided => decided,
            };
            self.turn(outcome);
        }
        None
    }

    fn observe(&mut self, triples: &[Triple]) {
        let mut usable = signal::written(triples, self.blank, &mut self.grid);
        let kept: Vec<Triple> = usable.iter().flatten().copied().collect();
        if self.level.accepts(&kept) {
            self.used += kept.len();
            self.data += kept
                .iter()
                .filter(|triple| triple.content == Content::Data)
                .count();
        } else {
            usable.fill(None);
        }
        self.confirmation.observe(&usable, &mut self.rng);
        let outcome = self.confirmation.outcome();
        if outcome == Outcome::Confirmed && self.confirmation.boundaries() < BOUNDARIES {
            return;
        }
        self.turn(outcome);
    }

    fn standing(&self) -> String {
        format!("whether the erase block is {}", self.told.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Alignment;
    use rand::RngExt;
    use std::time::Duration;

    /// A device of 8 GiB that reads in 500 us: what a boundary costs at each place.
    struct Device<'a> {
        cost: &'a dyn Fn(Bytes) -> f64,
        noise: f64,
        blank: bool,
    }

    impl Device<'_> {
        fn check(&self, told: Told, seed: u64) -> Fit {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let content = if self.blank {
                Content::Blank
            } else {
                Content::Data
            };
            let mut time = |cost: f64| {
                let normal = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
                Duration::from_secs_f64((500.0 + cost + normal * self.noise) * 1e-6)
            };
            let singles: Vec<Single> = (0..200)
                .map(|n| Single {
                    at: Bytes::mib(40 * n),
                    time: time(0.0),
                    content,
                })
                .collect();
            let sizes = [Bytes::kib(4), Bytes::kib(1), Bytes::kib(16)];
            let mut check = FitCheck::new(told, Bytes::gib(8), &singles, &sizes, seed);
            // 3600 reads fit into 2 s of such a device.
            for _ in 0..75 {
                let Some(batch) = check.next() else { break };
                let triples: Vec<Triple> = batch
                    .sites
                    .iter()
                    .map(|&site| Triple {
                        site,
                        read_size: batch.read_size,
                        pre: time(0.0),
                        on: time((self.cost)(site.at)),
                        post: time(0.0),
                        content,
                    })
                    .collect();
                check.observe(&triples);
            }
            check.finish()
        }
    }

    fn told(mib: u64, by_reads: bool) -> Told {
        Told {
            bytes: Bytes::mib(mib),
            phase: Bytes::ZERO,
            sub_unit: None,
            by_reads,
        }
    }

    /// What boundaries every so many MiB cost.
    fn every(mib: u64, cost: f64) -> impl Fn(Bytes) -> f64 {
        let grid = Alignment::new(Bytes::mib(mib), Bytes::ZERO).unwrap();
        move |at| if grid.contains(at) { cost } else { 0.0 }
    }

    #[test]
    fn the_right_erase_block_fits_and_no_other_does() {
        let cost = every(8, 200.0);
        let device = Device {
            cost: &cost,
            noise: 25.0,
            blank: false,
        };
        for seed in 0..10 {
            assert_eq!(device.check(told(8, true), seed), Fit::Fits, "{seed}");
            for other in [2, 4, 6, 12, 16, 24] {
                let fit = device.check(told(other, true), seed);
                assert!(matches!(fit, Fit::Contradicted(_)), "{other}: {fit:?}");
            }
            let shifted = Told {
                phase: Bytes::mib(4),
                ..told(8, true)
            };
            let fit = device.check(shifted, seed);
            assert!(matches!(fit, Fit::Contradicted(_)), "{fit:?}");
        }
    }

    #[test]
    fn a_sub_unit_is_not_taken_for_the_erase_block() {
        let (large, small) = (every(8, 100.0), every(4, 100.0));
        let cost = |at| large(at) + small(at);
        let device = Device {
            cost: &cost,
            noise: 25.0,
            blank: false,
        };
        for seed in 0..10 {
            let fit = device.check(told(4, true), seed);
            assert!(matches!(fit, Fit::Contradicted(_)), "{seed}: {fit:?}");
        }
    }

    #[test]
    fn what_shows_nothing_contradicts_only_where_it_should_have_shown_something() {
        let nothing = every(8, 0.0);
        let device = |noise, blank| Device {
            cost: &nothing,
            noise,
            blank,
        };
        for seed in 0..10 {
            let fit = device(25.0, false).check(told(8, true), seed);
            assert!(matches!(fit, Fit::Contradicted(_)), "{seed}: {fit:?}");
            for (device, told) in [
                // Never written.
                (device(25.0, true), told(8, true)),
                // Write tests saw it.
                (device(25.0, false), told(8, false)),
                // Too much noise.
                (device(80.0, false), told(8, true)),
            ] {
                let fit = device.check(told, seed);
                assert!(matches!(fit, Fit::NotTold(_)), "{seed}: {fit:?}");
            }
        }
    }
}
