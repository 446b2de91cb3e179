//! The erase block from alignment scans.
//!
//! Every hypothesis (unit, phase, sub-unit) predicts for each line which share of its places lies on
//! a boundary; a robust fit gives how well that explains the lines, and Bayes' rule which hypothesis
//! to believe. "Nothing to see" is a hypothesis too, in two forms: all lines alike, or a trend.

use super::fit::{self, Column, Fit, Point};
use super::hypotheses::{Hypothesis, NOTHING, hypotheses};
use super::places::{Grid, Places};
use super::profile::{Profile, profiles};
use super::robust::ln_sum;
use crate::geometry::{EraseBlock, Source, Verdict, capacity};
use crate::measure::flashbench_log::AlignScan;
use crate::topology::Reported;
use crate::units::{Bytes, GIB};
use std::collections::HashMap;

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

/// Lines below this show pages, not erase blocks; on devices below a gigabyte half of it.
const SHELF: Bytes = Bytes::kib(64);
/// Fewer lines tell nothing.
const FEWEST_LINES: usize = 5;

/// What a crossing of the unit costs, relative to a read: 5 to 70 % in public scans, mostly about a
/// quarter. Logarithmic.
const USUAL_COST: f64 = 0.25;
const COST_SPREAD: f64 = 0.9;
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
    let mut profiles = profiles(scans, known.capacity);
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
    Inference::new(&profiles, &hypotheses).report(known)
}

fn too_small_evidence(too_small: &[Bytes]) -> impl Iterator<Item = String> {
    too_small.iter().map(|unit| {
        format!(
            "in open-AU tests with units of {unit} every second line is slow, as if {unit} were half of the erase block"
        )
    })
}

/// The odd factor that whoever chose the block size looked for, when no scan has lines of powers of
/// two.
fn suspected_factor(profiles: &[Profile]) -> Option<u64> {
    let has_powers = profiles
        .iter()
        .flat_map(|profile| &profile.points)
        .any(|point| point.align.get().is_power_of_two());
    if has_powers {
        return None;
    }
    profiles.first().and_then(|profile| {
        profile
            .points
            .iter()
            .map(|point| point.align.get() >> point.align.get().trailing_zeros())
            .min()
    })
}

/// The posterior of everything considered.
struct Inference<'a> {
    profiles: &'a [Profile],
    hypotheses: &'a [Hypothesis],
    /// Logarithm of the posterior weight of each hypothesis, not normalised.
    weights: Vec<f64>,
    /// The same for "nothing to see".
    nothing: f64,
}

impl<'a> Inference<'a> {
    fn new(profiles: &'a [Profile], hypotheses: &'a [Hypothesis]) -> Inference<'a> {
        let mut weights: Vec<f64> = hypotheses.iter().map(|h| h.prior).collect();
        let mut nothing = NOTHING.ln();
        for profile in profiles {
            let mut fitter = Fitter::new(&profile.points, profile.base);
            nothing += fitter.nothing();
            for (weight, hypothesis) in weights.iter_mut().zip(hypotheses) {
                *weight += fitter.evidence(profile, hypothesis, 1.0 / profiles.len() as f64);
            }
        }
        Inference {
            profiles,
            hypotheses,
            weights,
            nothing,
        }
    }

    fn report(&self, known: &Known<'_>) -> EraseBlock {
        let total = ln_sum(self.weights.iter().copied().chain([self.nothing]));
        let mut grids: Vec<(Grid, f64)> = Vec::new();
        for (hypothesis, weight) in self.hypotheses.iter().zip(&self.weights) {
            let probability = (weight - total).exp();
            match grids.iter_mut().find(|(grid, _)| *grid == hypothesis.grid) {
                Some((_, sum)) => *sum += probability,
                None => grids.push((hypothesis.grid, probability)),
            }
        }
        grids.sort_by(|a, b| b.1.total_cmp(&a.1));
        let nothing = (self.nothing - total).exp();
        if std::env::var("DBG").is_ok() {
            let mut v: Vec<_> = self.hypotheses.iter().zip(&self.weights).collect();
            v.sort_by(|a, b| b.1.total_cmp(a.1));
            for (h, w) in v.iter().take(8) {
                let p = &self.profiles[0];
                let mut f = Fitter::new(&p.points, p.base);
                let (_, fit) = f.best(p, h);
                eprintln!(
                    "{} ph {} sub {:?} post {:.4} prior {:.2} ev {:.2} costp {:.2} shelf {:.0} costs {:.0?}",
                    h.grid.size,
                    h.grid.phase,
                    h.sub_unit.map(|b| b.to_string()),
                    (*w - total).exp(),
                    h.prior,
                    fit.evidence,
                    f.cost_prior(&fit, h),
                    fit.shelf,
                    fit.costs
                );
            }
            eprintln!(
                "nothing {:.4} pts {:?}",
                nothing,
                self.profiles[0]
                    .points
                    .iter()
                    .map(|p| (
                        p.align.to_string(),
                        p.value.round(),
                        (p.error * 10.0).round() / 10.0
                    ))
                    .collect::<Vec<_>>()
            );
        }
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
                confidence: nothing.max(0.0),
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
        let (hypothesis, _) = self
            .hypotheses
            .iter()
            .zip(&self.weights)
            .filter(|(hypothesis, _)| hypothesis.grid == best)
            .max_by(|a, b| a.1.total_cmp(b.1))
            .unwrap_or((&self.hypotheses[0], &0.0));
        let mut evidence = self.levels(hypothesis);
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
        let (hypothesis, _) = self
            .hypotheses
            .iter()
            .zip(&self.weights)
            .filter(|(hypothesis, _)| hypothesis.grid == *unit)
            .max_by(|x, y| x.1.total_cmp(y.1))?;
        let apart = self.profiles.iter().all(|profile| {
            let (_, fit) = Fitter::new(&profile.points, profile.base).best(profile, hypothesis);
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
            .weights
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        let rivals: Vec<&Hypothesis> = self
            .hypotheses
            .iter()
            .zip(&self.weights)
            .filter(|(_, weight)| **weight > top - RIVAL)
            .map(|(hypothesis, _)| hypothesis)
            .collect();
        for profile in self.profiles {
            for scan in &profile.scans {
                if scan.len() < FEWEST_LINES {
                    continue;
                }
                let mut fitter = Fitter::new(scan, profile.base);
                let nothing = fitter.nothing();
                let single = Profile {
                    points: scan.clone(),
                    ..profile.clone()
                };
                let mut ours = f64::NEG_INFINITY;
                let mut best = f64::NEG_INFINITY;
                for hypothesis in &rivals {
                    let evidence = fitter.evidence(&single, hypothesis, 1.0);
                    best = best.max(evidence + hypothesis.prior);
                    if hypothesis.grid == grid {
                        ours = ours.max(evidence + hypothesis.prior);
                    }
                }
                let odds = CONFIRMING_ODDS.ln();
                if ours > nothing + NOTHING.ln() + odds && ours > best - odds {
                    count += 1;
                }
            }
        }
        count
    }

    /// What the lines show, in numbers.
    fn levels(&self, hypothesis: &Hypothesis) -> Vec<String> {
        self.profiles
            .iter()
            .map(|profile| {
                let mut fitter = Fitter::new(&profile.points, profile.base);
                let (places, fit) = fitter.best(profile, hypothesis);
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
        if only_powers && odd % 3 == 0 && other.size.is_multiple_of(best.size) {
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
        let mut reasons = Vec::new();
        for profile in self.profiles {
            let scatter = fit::neighbour_scatter(&profile.points);
            let values: Vec<f64> = profile.points.iter().map(|point| point.value).collect();
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let half = values.len() / 2;
            let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
            let step = mean(&values[..half]) - mean(&values[half..]);
            reasons.push(if scatter > 0.3 * (high - low) && scatter > 0.05 * profile.base {
                format!(
                    "neighbouring lines scatter by {scatter:.0} µs, as much as any step between them (read {:.0} µs): repeat the scan with --count=100",
                    profile.base
                )
            } else if step < -2.0 * scatter {
                format!(
                    "the lines are out of order: reads across large alignments cost less ({:.0} µs) than across small ones ({:.0} µs)",
                    mean(&values[..half]),
                    mean(&values[half..])
                )
            } else {
                format!(
                    "from {} down to {} the lines lie between {low:.0} and {high:.0} µs without a clear step (scatter {scatter:.0} µs, read {:.0} µs)",
                    profile.points[0].align,
                    profile.points[profile.points.len() - 1].align,
                    profile.base
                )
            });
        }
        reasons.push(format!(
            "best guess {} with {:.0} %, no boundary visible {:.0} %{}",
            best.size,
            100.0 * probability,
            100.0 * nothing,
            runner_up.map_or(String::new(), |(grid, p)| format!(
                ", {} {:.0} %",
                grid.size,
                100.0 * p
            ))
        ));
        reasons
    }
}

fn plural(count: usize, name: &str) -> String {
    if count == 1 {
        format!("one {name}")
    } else {
        format!("{count} {name}s")
    }
}

/// Fits of one set of lines; hypotheses that predict the same lines share a fit.
struct Fitter<'a> {
    points: &'a [Point],
    base: f64,
    fits: HashMap<Vec<u64>, Fit>,
}

impl<'a> Fitter<'a> {
    fn new(points: &'a [Point], base: f64) -> Fitter<'a> {
        Fitter {
            points,
            base,
            fits: HashMap::new(),
        }
    }

    /// Evidence for "nothing to see": all lines alike, or rising or falling evenly.
    fn nothing(&self) -> f64 {
        let alike = fit::fit(self.points, self.base, &[]).evidence;
        let trend = Column {
            values: self
                .points
                .iter()
                .map(|point| (point.align.get() as f64).log2() - 20.0)
                .collect(),
            signed: true,
        };
        let trend = fit::fit(self.points, self.base, &[trend]).evidence;
        ln_sum([alike + 0.7f64.ln(), trend + 0.3f64.ln()])
    }

    fn fit(&mut self, columns: &[Column]) -> Fit {
        let key: Vec<u64> = columns
            .iter()
            .flat_map(|column| column.values.iter().map(|value| value.to_bits()))
            .collect();
        let (points, base) = (self.points, self.base);
        *self
            .fits
            .entry(key)
            .or_insert_with(|| fit::fit(points, base, columns))
    }

    fn fit_at(&mut self, places: Places, hypothesis: &Hypothesis) -> Fit {
        let column = |grid: Grid| Column {
            values: self
                .points
                .iter()
                .map(|point| places.share(point.align, grid))
                .collect(),
            signed: false,
        };
        let mut columns = vec![column(hypothesis.grid)];
        if let Some(size) = hypothesis.sub_unit {
            columns.push(column(Grid {
                size,
                phase: Bytes(hypothesis.grid.phase.get() % size.get().max(1)),
            }));
        }
        self.fit(&columns)
    }

    /// The variant of the places that fits best.
    fn best(&mut self, profile: &Profile, hypothesis: &Hypothesis) -> (Places, Fit) {
        let mut best: Option<(Places, Fit)> = None;
        for (_, places) in &profile.places {
            let fit = self.fit_at(*places, hypothesis);
            if best.is_none_or(|(_, known)| fit.evidence > known.evidence) {
                best = Some((*places, fit));
            }
        }
        // A profile always has a variant of its places.
        best.unwrap_or((
            Places {
                spacing: Bytes(1),
                count: 1,
                capacity: None,
                blocksize: Bytes(1),
            },
            fit::fit(self.points, self.base, &[]),
        ))
    }

    /// Evidence for a hypothesis; `cost_weight` shares the prior of the costs between the profiles
    /// of one device.
    fn evidence(&mut self, profile: &Profile, hypothesis: &Hypothesis, cost_weight: f64) -> f64 {
        ln_sum(profile.places.iter().map(|(weight, places)| {
            let fit = self.fit_at(*places, hypothesis);
            weight.ln() + fit.evidence + cost_weight * self.cost_prior(&fit, hypothesis)
        }))
    }

    fn cost_prior(&self, fit: &Fit, hypothesis: &Hypothesis) -> f64 {
        let [unit, sub] = fit.costs;
        let cost = (unit + sub) / self.base;
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
}
