//! The erase block from alignment scans.
//!
//! Every hypothesis (unit, phase, sub-unit) predicts for each line which share of its places lies on
//! a boundary; a robust fit gives how well that explains the lines, and Bayes' rule which hypothesis
//! to believe. "Nothing to see" is a hypothesis too, in two forms: all lines alike, or a trend.

use super::explain::{Explained, Fitter, Look, explain, glances};
use super::fit::FAR;
use super::hypotheses::{Hypothesis, NOTHING, Suspicion, hypotheses};
use super::places::Grid;
use super::profile::{Profile, Profiles, profiles};
use super::robust::ln_sum;
use super::sentences;
use crate::geometry::{EraseBlock, Source, Verdict, capacity};
use crate::measure::flashbench_log::AlignScan;
use crate::topology::Reported;
use crate::units::{Bytes, GIB};

/// What else is known.
pub(super) struct Known<'a> {
    pub capacity: Option<Bytes>,
    pub reported: &'a Reported,
    /// Unit sizes of open-AU tests of which every second line is slow: half of the erase block.
    pub too_small: &'a [Bytes],
}

/// Told from here on.
const LIKELY: f64 = 0.9;
const CONFIRMED: f64 = 0.99;
/// Odds of the unit against nothing, within one scan, for that scan to confirm it.
const CONFIRMING_ODDS: f64 = 20.0;

/// Joint probability from which on two readings with the same boundaries are told together, the
/// share of the upper level that the lower one must not exceed, and the most that is then claimed.
const BOTH_READINGS: f64 = 0.95;
const CLEARLY_LOWER: f64 = 0.85;
const NOT_CONFIRMED: f64 = 0.98;

/// Hypotheses this far behind (in natural logarithms) on all scans together are no rivals on one.
const RIVAL: f64 = 12.0;

/// A unit from this size on needs that many lines of a single scan at or above it, below
/// [`FAR`].
const LARGE: Bytes = Bytes::mib(16);
const PLATEAU_LINES: usize = 3;

/// Lines below this show pages, not erase blocks; on devices below a gigabyte half of it.
const SHELF: Bytes = Bytes::kib(64);
/// Fewer lines tell nothing.
const FEWEST_LINES: usize = 5;

/// Infer the erase block.
pub(super) fn infer(scans: &[&AlignScan], known: &Known<'_>) -> EraseBlock {
    if scans.is_empty() {
        return EraseBlock {
            evidence: std::iter::once("the log has no alignment scan (flashbench -a)".to_owned())
                .chain(sentences::units_too_small(known.too_small))
                .collect(),
            ..EraseBlock::default()
        };
    }
    let Profiles {
        mut profiles,
        scenarios,
    } = profiles(scans, known.capacity);
    let small = known.capacity.is_some_and(|capacity| capacity.get() < GIB);
    let shelf = if small { Bytes(SHELF.get() / 2) } else { SHELF };
    for profile in &mut profiles {
        profile.points.retain(|point| point.align >= shelf);
        for scan in &mut profile.scans {
            scan.retain(|point| point.align >= shelf);
        }
    }
    profiles.retain(|profile| profile.points.len() >= FEWEST_LINES);
    let top = profiles
        .iter()
        .flat_map(|profile| profile.points.iter().map(|p| p.align))
        .max();
    let Some(top) = top else {
        return EraseBlock {
            verdict: Verdict::NotVisible,
            evidence: vec![format!(
                "the alignment scan has fewer than {FEWEST_LINES} usable lines from {shelf} up"
            )],
            ..EraseBlock::default()
        };
    };
    // A unit needs two lines at or above it.
    let below = top;
    let suspected = suspected_factor(&profiles);
    let hypotheses = hypotheses(
        known.capacity,
        below,
        suspected,
        known.reported,
        known.too_small,
    );
    Inference::new(&profiles, &scenarios, &hypotheses).report(known)
}

/// The odd factor that whoever chose the block size looked for, and whether other scans have lines of
/// powers of two.
fn suspected_factor(profiles: &[Profile]) -> Suspicion {
    let odd = |align: Bytes| align.get() >> align.get().trailing_zeros();
    let mut factors: Vec<u64> = profiles
        .iter()
        .flat_map(|profile| profile.points.iter().map(|point| odd(point.align)))
        .collect();
    factors.sort_unstable();
    let only = factors.first().is_some_and(|least| *least > 1);
    let factor = factors.into_iter().find(|factor| *factor > 1);
    match factor {
        Some(factor) if only => Suspicion::Only(factor),
        Some(factor) => Suspicion::Also(factor),
        None => Suspicion::None,
    }
}

/// The posterior of everything considered.
struct Inference<'a> {
    profiles: &'a [Profile],
    scenarios: &'a [f64],
    hypotheses: &'a [Hypothesis],
    /// For each hypothesis.
    explained: Vec<Explained>,
    /// Logarithm of the posterior weight of "nothing to see", not normalised.
    nothing: f64,
}

impl<'a> Inference<'a> {
    fn new(
        profiles: &'a [Profile],
        scenarios: &'a [f64],
        hypotheses: &'a [Hypothesis],
    ) -> Inference<'a> {
        let mut fitters: Vec<Fitter<'_>> = profiles.iter().map(Fitter::of).collect();
        let nothing = NOTHING.ln() + fitters.iter_mut().map(Fitter::nothing).sum::<f64>();
        let looks = glances(&mut fitters, profiles, scenarios, hypotheses);
        let explained: Vec<Explained> = hypotheses
            .iter()
            .zip(looks)
            .map(|(hypothesis, look)| explain(&mut fitters, profiles, scenarios, hypothesis, look))
            .collect();
        Inference {
            profiles,
            scenarios,
            hypotheses,
            explained,
            nothing,
        }
    }

    fn report(&self, known: &Known<'_>) -> EraseBlock {
        let total = ln_sum(
            self.explained
                .iter()
                .map(|e| e.weight)
                .chain([self.nothing]),
        );
        let mut grids: Vec<(Grid, f64)> = Vec::new();
        for (hypothesis, explained) in self.hypotheses.iter().zip(&self.explained) {
            let probability = (explained.weight - total).exp();
            match grids.iter_mut().find(|(grid, _)| *grid == hypothesis.grid) {
                Some((_, sum)) => *sum += probability,
                None => grids.push((hypothesis.grid, probability)),
            }
        }
        grids.sort_by(|a, b| b.1.total_cmp(&a.1));
        let nothing = (self.nothing - total).exp();
        let Some((best, probability)) = grids.first().copied() else {
            return EraseBlock {
                verdict: Verdict::NotVisible,
                evidence: vec!["the alignment scan covers no plausible size".to_owned()],
                ..EraseBlock::default()
            };
        };
        let runner_up = grids.get(1).copied();
        let (probability, halves) = match self.nested(&grids) {
            Some(both) if probability < LIKELY => (both, true),
            _ => (probability, false),
        };
        if probability < LIKELY || self.short_plateau(best) {
            return EraseBlock {
                verdict: Verdict::NotVisible,
                bytes: None,
                confidence: probability,
                source: Source::Assumed,
                runner_up_bytes: Some(best.size),
                evidence: sentences::why_not(self.profiles, &grids, nothing),
                ..EraseBlock::default()
            };
        }
        let confirming = self.confirming(best);
        let verdict = if probability >= CONFIRMED && confirming >= 2 {
            Verdict::Confirmed
        } else {
            Verdict::Likely
        };
        let Some((hypothesis, explained)) = self.best_of(best) else {
            return EraseBlock::default();
        };
        let mut evidence = sentences::levels(self.profiles, hypothesis, explained);
        evidence.push(format!(
            "{confirming} of {} scans show {} by themselves",
            self.profiles.iter().map(|p| p.scans.len()).sum::<usize>(),
            best.size
        ));
        match runner_up {
            Some((other, _)) if halves => evidence.push(sentences::nested(best, other)),
            Some((other, other_probability)) => {
                evidence.push(sentences::alternative(
                    self.profiles,
                    best,
                    other,
                    other_probability,
                ));
            }
            None => {}
        }
        if let Some(bytes) = known.capacity {
            evidence.push(capacity::capacity_evidence(best.size, bytes));
        }
        evidence.extend(capacity::reported_evidence(best.size, known.reported));
        evidence.extend(sentences::units_too_small(known.too_small));
        EraseBlock {
            verdict,
            bytes: Some(best.size),
            phase_bytes: Some(best.phase),
            sub_unit_bytes: hypothesis.sub_unit,
            confidence: probability,
            source: Source::Measured,
            runner_up_bytes: runner_up.map(|(grid, _)| grid.size),
            evidence,
        }
    }

    /// The likeliest hypothesis of a grid.
    fn best_of(&self, grid: Grid) -> Option<(&Hypothesis, &Explained)> {
        self.hypotheses
            .iter()
            .zip(&self.explained)
            .filter(|(hypothesis, _)| hypothesis.grid == grid)
            .max_by(|a, b| a.1.weight.total_cmp(&b.1.weight))
    }

    /// The two best readings may differ only in whether every second boundary costs more: a unit with
    /// sub-units, or the sub-unit alone. Both say where the boundaries are; their joint probability
    /// when the two levels are clearly apart.
    fn nested(&self, grids: &[(Grid, f64)]) -> Option<f64> {
        let [(a, p), (b, q), ..] = grids else {
            return None;
        };
        let (unit, part) = if a.size > b.size { (a, b) } else { (b, a) };
        if a.phase != b.phase || p + q < BOTH_READINGS {
            return None;
        }
        let (hypothesis, explained) = self.best_of(*unit)?;
        // Never enough to confirm.
        let both = (p + q).min(NOT_CONFIRMED);
        let apart = explained.fits.iter().all(|fit| {
            let [own, sub] = fit.costs;
            let lower = fit.shelf.max(0.0) + sub;
            lower <= CLEARLY_LOWER * (lower + own)
        });
        (hypothesis.sub_unit == Some(part.size) && apart).then_some(both)
    }

    /// On a single scan, too few lines at and above a large unit, and near enough, to tell a plateau
    /// from a trend.
    fn short_plateau(&self, grid: Grid) -> bool {
        let scans = self.profiles.iter().map(|p| p.scans.len()).sum::<usize>();
        let plateau = self
            .profiles
            .iter()
            .flat_map(|profile| &profile.points)
            .filter(|point| point.align >= grid.size && point.align < FAR)
            .count();
        scans < 2 && grid.size >= LARGE && plateau < PLATEAU_LINES
    }

    /// Scans that show the unit by themselves: much better than nothing, and no other much better.
    fn confirming(&self, grid: Grid) -> usize {
        let mut count = 0;
        let top = self
            .explained
            .iter()
            .map(|e| e.weight)
            .fold(f64::NEG_INFINITY, f64::max);
        let rivals: Vec<&Hypothesis> = self
            .hypotheses
            .iter()
            .zip(&self.explained)
            .filter(|(_, explained)| explained.weight > top - RIVAL)
            .map(|(hypothesis, _)| hypothesis)
            .collect();
        for profile in self.profiles {
            for scan in profile
                .scans
                .iter()
                .filter(|scan| scan.len() >= FEWEST_LINES)
            {
                let mut fitters = [Fitter::new(scan, profile.base)];
                let nothing = NOTHING.ln() + fitters[0].nothing();
                let mut ours = f64::NEG_INFINITY;
                let mut best = f64::NEG_INFINITY;
                for hypothesis in &rivals {
                    let single = std::slice::from_ref(profile);
                    let explained = explain(
                        &mut fitters,
                        single,
                        self.scenarios,
                        hypothesis,
                        Look::Close,
                    );
                    best = best.max(explained.weight);
                    if hypothesis.grid == grid {
                        ours = ours.max(explained.weight);
                    }
                }
                let odds = CONFIRMING_ODDS.ln();
                if ours > nothing + odds && ours > best - odds {
                    count += 1;
                }
            }
        }
        count
    }
}
