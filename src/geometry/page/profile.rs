//! The page from timed reads: what a read costs that crosses a place divisible by exactly 2^k.
//!
//! [`Profile`] steers a scan of places that are odd multiples of 512 B up to 256 KiB, each compared with
//! two places near by that lie inside every page. Costs need not grow with k: some sticks show only
//! boundaries inside their pages.

use super::step::{LEAST_FALL, Line, Step, step};
use crate::geometry::erase_block::signal::{self, Ordinary, PlacedTriple};
use crate::geometry::evidence::won_together;
use crate::geometry::stats::{SuccessBet, median, trimmed_mean, trimmed_mean_error};
use crate::geometry::{EraseBlock, Page, Verdict};
use crate::measure::alignment::{Batch, Inquiry, Site, Triple};
use crate::measure::meter::Content;
use crate::units::{Alignment, Bytes, LogicalBlock};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use std::collections::HashSet;

/// Places of each level in a round; undecided levels get as many again. At a step of two deviations 14
/// decide.
const PLACES: usize = 24;

/// Rounds for all levels where a fall shows that is not sure yet. They make 96 places, whose error is half
/// that of the first 24: a page that costs no more than one deviation of a read reaches [`LEAST_CONTRAST`].
const MOST_ROUNDS: usize = 4;

/// The highest level: three above the largest page show what boundaries inside an erase block cost.
const HIGHEST: Bytes = Bytes::kib(256);

/// On small devices erase blocks of 64 KiB were built: levels above this might be theirs.
const HIGHEST_ON_SMALL: Bytes = Bytes::kib(32);

/// See [`HIGHEST_ON_SMALL`].
const SMALL: Bytes = Bytes::gib(1);

/// Levels from here on are above every page that is looked for.
const SHELF: Bytes = Bytes::kib(64);

/// Comparison reads lie this far away, so that they share neither page nor a cached stretch.
const WING_FROM: Bytes = Bytes::kib(64);
/// See [`WING_FROM`].
const WING_TO: Bytes = Bytes::kib(256);

/// The share of levels that may be called visible by luck.
const FALSE_DISCOVERIES: f64 = 0.05;

/// A fall exceeds its standard error by so many times.
const LEAST_CONTRAST: f64 = 5.0;

/// From so many times on a fall is worth another round: half the error makes a fall of 2.5 errors one of
/// [`LEAST_CONTRAST`], and the first estimate may be half an error too low.
const WORTH_A_ROUND: f64 = 2.0;

/// A level whose bet stands below 1 to 10 after the first round will not win.
const HOPELESS: f64 = -std::f64::consts::LN_10;

/// Places in a batch: the reads of one lie that far apart.
const BATCH: usize = 16;

/// So many times more places are asked for where many come back blank.
const PATIENCE: usize = 3;

/// The first megabytes are often built differently.
const SPECIAL_START: Bytes = Bytes::mib(16);

struct Level {
    size: Bytes,
    bet: SuccessBet,
    triples: Vec<PlacedTriple>,
}

/// Steers the scan for the page.
pub struct Profile {
    levels: Vec<Level>,
    read_size: Bytes,
    capacity: Bytes,
    /// Where erase blocks and their sub-units begin, if that is known.
    boundaries: Vec<Alignment>,
    leave_out_blank: bool,
    rng: Xoshiro256PlusPlus,
    used: HashSet<u64>,
    rounds: usize,
    asked: usize,
    blank: usize,
}

/// The size of a read of this scan: half a read lies on either side of the place.
pub fn read_size(block: LogicalBlock) -> Bytes {
    Bytes(2 * block.bytes().get())
}

impl Profile {
    /// Before the first read. `erase_block` as far as it is told; `leave_out_blank` when blank places
    /// are known to be never written.
    pub fn new(
        capacity: Bytes,
        block: LogicalBlock,
        erase_block: &EraseBlock,
        leave_out_blank: bool,
        seed: u64,
    ) -> Profile {
        let read_size = read_size(block);
        let highest = if capacity < SMALL {
            HIGHEST_ON_SMALL
        } else {
            HIGHEST
        };
        let phase = erase_block.phase_bytes.unwrap_or(Bytes::ZERO);
        let levels = std::iter::successors(Some(highest), |size| Some(Bytes(size.get() / 2)))
            .take_while(|size| *size >= read_size)
            .map(|size| Level {
                size,
                bet: SuccessBet::new(1.0 / 3.0),
                triples: Vec::new(),
            })
            .collect();
        Profile {
            levels,
            read_size,
            capacity,
            boundaries: [erase_block.bytes, erase_block.sub_unit_bytes]
                .into_iter()
                .flatten()
                .filter_map(|unit| Alignment::new(unit, phase))
                .collect(),
            leave_out_blank,
            // Another stream than those of the search and of the order of reads.
            rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x9a6e_0001),
            used: HashSet::new(),
            rounds: 1,
            asked: 0,
            blank: 0,
        }
    }

    /// The level that is furthest behind, with how many places it was given.
    fn behind(&self, given: &[usize]) -> Option<usize> {
        let enough = (self.levels.len() as f64 / FALSE_DISCOVERIES).ln();
        (0..self.levels.len())
            .filter(|&n| {
                let (count, capital) = (given[n], self.levels[n].bet.log_capital());
                let undecided = capital > HOPELESS && capital < enough;
                count < self.rounds * PLACES || (undecided && count < 2 * PLACES)
            })
            .min_by_key(|&n| given[n])
    }

    /// A fresh odd multiple of `level`, and its two neighbours.
    fn site(&mut self, level: Bytes) -> Option<Site> {
        const TRIES: usize = 64;
        let from = SPECIAL_START
            .min(Bytes(self.capacity.get() / 16))
            .max(WING_TO);
        let to = self
            .capacity
            .checked_sub(Bytes(WING_TO.get() + self.read_size.get()))?;
        let (first, last) = (from.get() / level.get() / 2 + 1, to.get() / level.get() / 2);
        if first >= last {
            return None;
        }
        for _ in 0..TRIES {
            let at = Bytes((2 * self.rng.random_range(first..last) + 1) * level.get());
            // Half a read beside the grid of reads: inside every page that is larger than a read.
            let wing = self.rng.random_range(WING_FROM.get()..WING_TO.get());
            let wing =
                wing / self.read_size.get() * self.read_size.get() + self.read_size.get() / 2;
            let is_boundary = self.boundaries.iter().any(|grid| grid.contains(at));
            if !is_boundary && self.used.insert(at.get()) {
                return Some(Site {
                    at,
                    wing: Bytes(wing),
                });
            }
        }
        None
    }

    fn level_of(&self, at: Bytes) -> Option<usize> {
        let size = 1u64 << at.get().trailing_zeros().min(63);
        self.levels
            .iter()
            .position(|level| level.size.get() == size)
    }

    /// What the scan says of the page. At most "likely": reads show where pages end inside the flash,
    /// whether writes below that size are slow only writes tell.
    pub fn finish(self) -> Page {
        let count = self.count();
        if count == 0 {
            let blank = self.blank > 0;
            return Page {
                verdict: if blank {
                    Verdict::NotVisible
                } else {
                    Verdict::NotTested
                },
                evidence: blank
                    .then(|| "places that were never written show no pages".to_owned())
                    .into_iter()
                    .collect(),
                ..Page::default()
            };
        }
        let visible = self.visible();
        let (found, error) = self.sure(&visible);
        let Some(found) = found else {
            let seen: Vec<String> = self
                .levels
                .iter()
                .zip(&visible)
                .filter(|(_, visible)| **visible)
                .map(|(level, _)| level.size.to_string())
                .collect();
            let shown = if seen.is_empty() {
                "no level from 256 KiB down shows a cost".to_owned()
            } else {
                format!("costs show at {}, which makes no page", seen.join(", "))
            };
            return Page {
                verdict: Verdict::NotVisible,
                evidence: vec![format!("{shown} ({count} places inside erase blocks read)")],
                ..Page::default()
            };
        };
        let contrast = found.fall / error.max(f64::MIN_POSITIVE);
        Page {
            verdict: Verdict::Likely,
            bytes: Some(found.page),
            sub_page_bytes: found.sub_page,
            // A tenth in doubt at the least contrast.
            confidence: ((1.0 - 0.1 * (LEAST_CONTRAST / contrast).powi(2)) * 1e4).floor() / 1e4,
            evidence: vec![
                found.evidence(),
                format!(
                    "{count} places inside erase blocks read; {} levels show a cost, of which at most 5 % by luck",
                    visible.iter().filter(|visible| **visible).count()
                ),
            ],
        }
    }

    /// Which levels show a cost that is no luck.
    fn visible(&self) -> Vec<bool> {
        let capitals: Vec<f64> = self.levels.iter().map(|l| l.bet.log_capital()).collect();
        won_together(&capitals, FALSE_DISCOVERIES)
    }

    /// The page's fall if it is sure, and the standard error of a fall, in microseconds.
    fn sure(&self, visible: &[bool]) -> (Option<Step>, f64) {
        let (found, error) = self.fall(LEAST_CONTRAST);
        let found = found.filter(|step| {
            let top = if step.bump {
                Bytes(step.page.get() / 2)
            } else {
                step.page
            };
            let won = |size| {
                self.levels
                    .iter()
                    .zip(visible)
                    .any(|(level, visible)| level.size == size && *visible)
            };
            step.fall >= LEAST_CONTRAST * error && won(top)
        });
        (found, error)
    }

    /// Whether a fall shows, but is not sure.
    fn is_unsure(&self) -> bool {
        self.fall(WORTH_A_ROUND).0.is_some() && self.sure(&self.visible()).0.is_none()
    }

    /// Places that were read.
    fn count(&self) -> usize {
        self.levels.iter().map(|level| level.triples.len()).sum()
    }

    /// The page's fall, if there is one of so many errors, and the standard error of a fall, in
    /// microseconds.
    fn fall(&self, contrast: f64) -> (Option<Step>, f64) {
        let all: Vec<PlacedTriple> = self
            .levels
            .iter()
            .flat_map(|l| &l.triples)
            .copied()
            .collect();
        let ordinary = Ordinary::of(&all);
        let levels: Vec<(Bytes, Vec<f64>)> = self
            .levels
            .iter()
            .filter(|level| level.triples.len() >= PLACES / 2)
            .map(|level| {
                let differences = level.triples.iter().map(|t| ordinary.difference(t));
                (level.size, differences.collect())
            })
            .collect();
        let lines: Vec<Line> = levels
            .iter()
            .map(|(size, differences)| Line {
                align: *size,
                cost: trimmed_mean(differences) * 1e6,
            })
            .collect();
        let errors: Vec<f64> = levels
            .iter()
            .map(|(_, differences)| trimmed_mean_error(differences))
            .filter(|error| error.is_finite())
            .collect();
        let error = 2f64.sqrt() * median(&errors) * 1e6;
        let shelf: Vec<f64> = lines
            .iter()
            .filter(|line| line.align >= SHELF)
            .map(|line| line.cost)
            .collect();
        let level = match lines.first() {
            Some(first) if shelf.is_empty() => first.cost,
            _ => median(&shelf),
        };
        let reads: Vec<f64> = all.iter().map(|placed| placed.batch_level).collect();
        let least = (contrast * error).max(LEAST_FALL * median(&reads) * 1e6);
        (step(&lines, level, least), error)
    }
}

impl Inquiry for Profile {
    fn standing(&self) -> String {
        format!("{} places", self.count())
    }

    fn next(&mut self) -> Option<Batch> {
        let mut given: Vec<usize> = self.levels.iter().map(|l| l.triples.len()).collect();
        if self.behind(&given).is_none() && self.rounds < MOST_ROUNDS && self.is_unsure() {
            self.rounds += 1;
        }
        if self.asked >= self.rounds * PATIENCE * PLACES * self.levels.len() {
            return None;
        }
        let mut sites = Vec::new();
        while sites.len() < BATCH
            && let Some(n) = self.behind(&given)
        {
            match self.site(self.levels[n].size) {
                Some(site) => sites.push(site),
                // No more fresh places of this level: count it as served.
                None if given[n] >= MOST_ROUNDS * PLACES => break,
                None => given[n] = MOST_ROUNDS * PLACES,
            }
            given[n] += 1;
        }
        self.asked += sites.len();
        (!sites.is_empty()).then_some(Batch {
            sites,
            read_size: self.read_size,
        })
    }

    fn observe(&mut self, triples: &[Triple]) {
        let usable: Vec<Triple> = triples
            .iter()
            .filter(|triple| triple.content != Content::Blank || !self.leave_out_blank)
            .copied()
            .collect();
        self.blank += triples.len() - usable.len();
        for placed in signal::place(&usable) {
            let triple = placed.triple;
            let Some(n) = self.level_of(triple.site.at) else {
                continue;
            };
            let [pre, on, post] =
                [triple.pre, triple.on, triple.post].map(|time| time.as_secs_f64());
            // Ties are broken by lot, so that the odds stay one in three.
            let mut beats = |other: f64| on > other || (on == other && self.rng.random::<bool>());
            let largest = beats(pre) && beats(post);
            self.levels[n].bet.observe(largest);
            self.levels[n].triples.push(placed);
        }
    }
}
