//! Whether an erase block that was told beforehand, of another stick of the same model, is that of the
//! device at hand. The bets of [`Confirmation`] answer it directly: nothing has to be searched.

use super::confirm::{Confirmation, Outcome};
use super::grid::Grid;
use super::signal::{self, Blank, Level, Ordinary};
use crate::geometry::EraseBlock;
use crate::geometry::stats::mad_sigma;
use crate::measure::alignment::{Batch, Inquiry, Triple};
use crate::measure::meter::Content;
use crate::measure::noise::Single;
use crate::units::Bytes;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

/// Places in a batch, as in the search.
const BATCH: usize = 16;

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
    /// The noise of one difference, in seconds.
    noise: f64,
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
        let times: Vec<f64> = singles.iter().map(|s| s.time.as_secs_f64()).collect();
        let noise = Ordinary::guess(mad_sigma(&times)).own_noise();
        let mut grid = Grid::new(capacity);
        for single in singles {
            grid.learn(single.at, single.content == Content::Blank);
        }
        FitCheck {
            told,
            confirmation: Confirmation::new(told.bytes, told.phase, told.sub_unit, noise),
            noise,
            grid,
            // Another stream than the one that orders the reads.
            rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xf175),
            blank: signal::blank_places(singles),
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
        let size = self.told.bytes;
        // Where most places are blank, it is not known that flash is read at all.
        let written = 2 * self.data >= self.used && self.used > 0;
        if self.refuted && !self.undecided && self.told.by_reads && written {
            return Fit::Contradicted(format!(
                "reads show no boundaries every {size} as they should"
            ));
        }
        Fit::NotTold(if self.used == 0 || !written {
            "it was hardly written yet, so reads show nothing of its inside".to_owned()
        } else if self.refuted && !self.told.by_reads {
            "reads do not show its boundaries; the profile comes from write tests, which may have seen more"
                .to_owned()
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
            Outcome::Refuted => self.refuted = true,
            Outcome::Undecided => self.undecided = true,
        }
        self.read_sizes.remove(0);
        self.level.start_again();
        let told = self.told;
        self.confirmation = Confirmation::new(told.bytes, told.phase, told.sub_unit, self.noise);
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
        let mut usable: Vec<Option<Triple>> = Vec::with_capacity(triples.len());
        for triple in triples {
            let blank = triple.content == Content::Blank;
            self.grid.learn(triple.site.at, blank);
            let leave_out = blank && self.blank == Blank::Unmapped;
            usable.push((!leave_out).then_some(*triple));
        }
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
        self.turn(self.confirmation.outcome());
    }

    fn standing(&self) -> String {
        format!("whether the erase block is {}", self.told.bytes)
    }
}
