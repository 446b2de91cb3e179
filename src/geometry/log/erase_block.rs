//! The erase block from alignment scans.
//!
//! Every hypothesis (unit, phase, sub-unit) predicts for each line which share of its places lies on
//! a boundary; a robust fit gives how well that explains the lines, and Bayes' rule which hypothesis
//! to believe. "Nothing to see" is a hypothesis too, in two forms: all lines alike, or a trend.

use super::fit::{self, Column, Fit, Point, Scale};
use super::hypotheses::{Hypothesis, NOTHING, Suspicion, hypotheses};
use super::places::{Grid, Places};
use super::profile::{Profile, Profiles, profiles};
use super::robust::ln_sum;
use crate::geometry::{EraseBlock, Source, Verdict, capacity};
use crate::measure::flashbench_log::AlignScan;
use crate::topology::Reported;
use crate::units::{Bytes, GIB};
use std::collections::HashMap;
use std::rc::Rc;

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

/// Hypotheses this far behind at a glance are not looked at closely: a close look moves the evidence
/// by a few units at most.
const HOPELESS: f64 = 12.0;

/// Lines below this show pages, not erase blocks; on devices below a gigabyte half of it.
const SHELF: Bytes = Bytes::kib(64);
/// Fewer lines tell nothing.
const FEWEST_LINES: usize = 5;

/// What a crossing of the unit costs, relative to a read: 5 to 70 % in public scans, mostly about a
/// quarter. Logarithmic.
const USUAL_COST: f64 = 0.25;
const COST_SPREAD: f64 = 0.9;
/// How far the costs of two scans may be apart. Logarithmic; four scans of one public stick with block
/// sizes from 1 KiB to 1 MiB spread by 0.18.
const SAME_COST_SPREAD: f64 = 0.15;
/// What a line of sub-unit boundaries shows, relative to one of unit boundaries: 0.60 and 0.77 on
/// public two-level cards. Nearly equal lines are one level whose places differ.
const USUAL_SUB_LEVEL: f64 = 0.65;
const SUB_LEVEL_SPREAD: f64 = 0.12;

/// Infer the erase block.
pub(super) fn infer(scans: &[&AlignScan], known: &Known<'_>) -> EraseBlock {
    if scans.is_empty() {
        return EraseBlock {
            evidence: std::iter::once("the log has no alignment scan (flashbench -a)".to_owned())
                .chain(too_small_evidence(known.too_small))
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

fn too_small_evidence(too_small: &[Bytes]) -> impl Iterator<Item = String> {
    too_small.iter().map(|unit| {
        format!(
            "in open-AU tests with units of {unit} every second line is slow, as if {unit} were half of the erase block"
        )
    })
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

/// A crossing costs the same whatever ladder or block size finds it: this is what tells a unit of
/// 3 * 2^k, of which a scan of powers of two shows only a share, from a unit of 2^k.
fn same_cost(logarithms: &[f64]) -> f64 {
    let mean = logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64;
    logarithms
        .iter()
        .map(|cost| -0.5 * ((cost - mean) / SAME_COST_SPREAD).powi(2))
        .filter(|penalty| penalty.is_finite())
        .sum()
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
        let explained: Vec<Explained> = hypotheses
            .iter()
            .map(|hypothesis| explain(&mut fitters, profiles, scenarios, hypothesis))
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
        if probability < LIKELY {
            return EraseBlock {
                verdict: Verdict::NotVisible,
                bytes: None,
                confidence: probability,
                source: Source::Assumed,
                runner_up_bytes: Some(best.size),
                evidence: self.why_not(best, probability, runner_up, nothing),
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
        let mut evidence = self.levels(hypothesis, explained);
        evidence.push(format!(
            "{confirming} of {} scans show {} by themselves",
            self.profiles.iter().map(|p| p.scans.len()).sum::<usize>(),
            best.size
        ));
        match runner_up {
            Some((other, _)) if halves => evidence.push(format!(
                "whether boundaries at odd multiples of {} cost less or all alike is not certain; {} is aligned either way",
                best.size.min(other.size),
                best.size.max(other.size)
            )),
            Some((other, other_probability)) => {
                evidence.push(self.alternative(best, other, other_probability));
            }
            None => {}
        }
        if let Some(bytes) = known.capacity {
            evidence.push(capacity::capacity_evidence(best.size, bytes));
        }
        evidence.extend(capacity::reported_evidence(best.size, known.reported));
        evidence.extend(too_small_evidence(known.too_small));
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
        let apart = explained.fits.iter().all(|fit| {
            let [own, sub] = fit.costs;
            let lower = fit.shelf.max(0.0) + sub;
            lower <= CLEARLY_LOWER * (lower + own)
        });
        // Never enough to confirm.
        (hypothesis.sub_unit == Some(part.size) && apart).then_some((p + q).min(NOT_CONFIRMED))
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
                    let explained = explain(&mut fitters, single, self.scenarios, hypothesis);
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

    /// What the lines show, in numbers.
    fn levels(&self, hypothesis: &Hypothesis, explained: &Explained) -> Vec<String> {
        self.profiles
            .iter()
            .zip(&explained.fits)
            .map(|(profile, fit)| {
                let places = profile.places[explained.scenario];
                let unit = hypothesis.grid.size;
                let own = fit.costs[0] + fit.costs[1];
                let mut text = format!(
                    "reads of {} across a multiple of {unit} take {:.0} µs longer than their neighbours, across smaller alignments {:.0} µs ({} lines of {}, read {:.0} µs)",
                    places.blocksize,
                    fit.shelf + own,
                    fit.shelf,
                    profile.points.len(),
                    plural(profile.scans.len(), "scan"),
                    profile.base
                );
                if let Some(sub) = hypothesis.sub_unit {
                    text.push_str(&format!(
                        "; across other multiples of {sub} {:.0} µs",
                        fit.shelf + fit.costs[1]
                    ));
                }
                if places.capacity.is_some() {
                    let hit = places.share(profile.points[0].align, hypothesis.grid);
                    if (hit - 1.0).abs() > 1e-6 {
                        text.push_str(&format!(
                            "; only {:.0} of {} places of a line lie on a boundary",
                            hit * f64::from(places.count),
                            places.count
                        ));
                    }
                }
                text
            })
            .collect()
    }

    fn alternative(&self, best: Grid, other: Grid, probability: f64) -> String {
        let only_powers = self.profiles.iter().all(|profile| profile.odd == Some(1));
        let odd = other.size.get() >> other.size.get().trailing_zeros();
        let percent = 100.0 * probability;
        if only_powers && odd.is_multiple_of(3) && other.size.is_multiple_of(best.size) {
            format!(
                "next best is {} ({percent:.1} %), which lines of powers of two hardly tell from {}; a scan with --blocksize=3072 would",
                other.size, best.size
            )
        } else {
            format!("next best is {} ({percent:.1} %)", other.size)
        }
    }

    fn why_not(
        &self,
        best: Grid,
        probability: f64,
        runner_up: Option<(Grid, f64)>,
        nothing: f64,
    ) -> Vec<String> {
        let mut reasons: Vec<String> = self
            .profiles
            .iter()
            .map(|profile| shape(profile, nothing < 0.5))
            .collect();
        let percent = |probability: f64| format!("{:.0} %", 100.0 * probability);
        let other = runner_up.map_or(String::new(), |(grid, probability)| {
            format!(", {} {}", grid.size, percent(probability))
        });
        reasons.push(format!(
            "too little to tell a size: {} {}{other}, no boundary visible {}",
            best.size,
            percent(probability),
            percent(nothing)
        ));
        reasons
    }
}

/// Why a profile does not tell a size, in numbers.
fn shape(profile: &Profile, has_step: bool) -> String {
    let values: Vec<f64> = profile.points.iter().map(|point| point.value).collect();
    let scatter = fit::neighbour_scatter(&values);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let (large, small) = values.split_at(values.len() / 2);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let (large, small) = (mean(large), mean(small));
    let base = profile.base;
    let (top, bottom) = match (profile.points.first(), profile.points.last()) {
        (Some(first), Some(last)) => (first.align, last.align),
        _ => (Bytes::ZERO, Bytes::ZERO),
    };
    if scatter > 0.3 * (high - low) && scatter > 0.05 * base {
        format!(
            "neighbouring lines scatter by {scatter:.0} µs, as much as any step between them (read {base:.0} µs): repeat the scan with --count=100"
        )
    } else if large < small - 2.0 * scatter {
        format!(
            "the lines are out of order: reads across large alignments cost {large:.0} µs, across small ones {small:.0} µs"
        )
    } else if has_step {
        format!(
            "the lines fall from {high:.0} µs to {low:.0} µs between {top} and {bottom}, but more than one size explains that (scatter {scatter:.0} µs)"
        )
    } else {
        format!(
            "from {top} down to {bottom} the lines lie between {low:.0} and {high:.0} µs without a clear step (scatter {scatter:.0} µs, read {base:.0} µs)"
        )
    }
}

fn plural(count: usize, name: &str) -> String {
    if count == 1 {
        format!("one {name}")
    } else {
        format!("{count} {name}s")
    }
}

/// How a hypothesis explains all profiles.
struct Explained {
    /// Logarithm of the posterior weight, not normalised.
    weight: f64,
    /// The likeliest scenario, and the fit of each profile in it.
    scenario: usize,
    fits: Vec<Fit>,
}

fn explain(
    fitters: &mut [Fitter<'_>],
    profiles: &[Profile],
    scenarios: &[f64],
    hypothesis: &Hypothesis,
) -> Explained {
    let mut weights = Vec::with_capacity(scenarios.len());
    let mut best = Explained {
        weight: f64::NEG_INFINITY,
        scenario: 0,
        fits: Vec::new(),
    };
    for (scenario, probability) in scenarios.iter().enumerate() {
        let fits: Vec<Fit> = fitters
            .iter_mut()
            .zip(profiles)
            .map(|(fitter, profile)| fitter.explain(profile.places[scenario], hypothesis))
            .collect();
        let costs: Vec<f64> = fits
            .iter()
            .map(|fit| fit.costs.iter().sum::<f64>().ln())
            .collect();
        let usual = fits
            .iter()
            .zip(profiles)
            .map(|(fit, profile)| cost_prior(fit, profile.base, hypothesis))
            .sum::<f64>()
            / profiles.len().max(1) as f64;
        let weight = probability.ln()
            + fits.iter().map(|fit| fit.evidence).sum::<f64>()
            + usual
            + same_cost(&costs);
        weights.push(weight);
        if weight > best.weight || best.fits.is_empty() {
            best = Explained {
                weight,
                scenario,
                fits,
            };
        }
    }
    Explained {
        weight: hypothesis.prior + ln_sum(weights),
        ..best
    }
}

/// How usual the costs are, as the logarithm of a prior.
fn cost_prior(fit: &Fit, base: f64, hypothesis: &Hypothesis) -> f64 {
    let [unit, sub] = fit.costs;
    let cost = (unit + sub) / base;
    if unit <= 0.0 || cost <= 0.0 {
        // No cost at all is the hypothesis "nothing", which has its own weight.
        return f64::NEG_INFINITY;
    }
    let mut prior = -0.5 * ((cost / USUAL_COST).ln() / COST_SPREAD).powi(2);
    if hypothesis.sub_unit.is_some() {
        let sub_level = fit.shelf.max(0.0) + sub;
        let share = sub_level / (sub_level + unit);
        prior += -0.5 * ((share - USUAL_SUB_LEVEL) / SUB_LEVEL_SPREAD).powi(2);
    }
    prior
}

/// Fits of one set of lines; hypotheses that predict the same lines share a fit.
struct Fitter<'a> {
    points: &'a [Point],
    scale: Scale,
    columns: HashMap<(Places, Grid), Rc<[f64]>>,
    fits: HashMap<Vec<u64>, Fit>,
    /// The best evidence at a glance.
    best_glance: f64,
}

impl<'a> Fitter<'a> {
    fn of(profile: &'a Profile) -> Fitter<'a> {
        Fitter::new(&profile.points, profile.base)
    }

    fn new(points: &'a [Point], base: f64) -> Fitter<'a> {
        Fitter {
            points,
            scale: Scale::of(points, base),
            columns: HashMap::new(),
            fits: HashMap::new(),
            best_glance: f64::NEG_INFINITY,
        }
    }

    /// Evidence for "nothing to see": all lines alike, or rising or falling evenly.
    fn nothing(&mut self) -> f64 {
        let trend = Column {
            values: self
                .points
                .iter()
                .map(|point| (point.align.get() as f64).log2() - 20.0)
                .collect(),
            signed: true,
        };
        let alike = self.fit(&[]).evidence;
        let trend = self.fit(&[trend]).evidence;
        ln_sum([alike + 0.7f64.ln(), trend + 0.3f64.ln()])
    }

    fn fit(&mut self, columns: &[Column]) -> Fit {
        let key: Vec<u64> = columns
            .iter()
            .flat_map(|column| column.values.iter().map(|value| value.to_bits()))
            .collect();
        if let Some(known) = self.fits.get(&key) {
            return *known;
        }
        let glance = self.scale.glance(self.points, columns);
        self.best_glance = self.best_glance.max(glance.evidence);
        let fit = if glance.evidence < self.best_glance - HOPELESS {
            glance
        } else {
            self.scale.fit(self.points, columns)
        };
        self.fits.insert(key, fit);
        fit
    }

    fn column(&mut self, places: Places, grid: Grid) -> Column {
        let points = self.points;
        let values = self
            .columns
            .entry((places, grid))
            .or_insert_with(|| points.iter().map(|p| places.share(p.align, grid)).collect());
        Column {
            values: Rc::clone(values),
            signed: false,
        }
    }

    fn explain(&mut self, places: Places, hypothesis: &Hypothesis) -> Fit {
        let mut columns = vec![self.column(places, hypothesis.grid)];
        if let Some(size) = hypothesis.sub_unit {
            let phase = Bytes(hypothesis.grid.phase.get() % size.get().max(1));
            columns.push(self.column(places, Grid { size, phase }));
        }
        self.fit(&columns)
    }
}
