//! How well a hypothesis explains the scans of a device: its posterior weight.

use super::fit::{Column, Fit, Point, Scale};
use super::hypotheses::Hypothesis;
use super::places::{Grid, Places};
use super::profile::Profile;
use super::robust::ln_sum;
use crate::units::Bytes;
use std::collections::HashMap;
use std::rc::Rc;

/// Hypotheses this far behind at a glance, on all profiles together, are not looked at closely: a
/// close look moves the evidence by a few units at most on each.
const HOPELESS: f64 = 12.0;
const HOPELESS_PER_PROFILE: f64 = 4.0;

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

/// Without boundaries lines are alike, follow an even trend, or are alike up to some distance and
/// follow a trend beyond, where the mapping of distant places has to be loaded.
const ALIKE: f64 = 0.6;
const EVEN_TREND: f64 = 0.25;
const BENT_TREND: f64 = 0.15;
const BENDS: [Bytes; 3] = [Bytes::mib(16), Bytes::mib(32), Bytes::mib(64)];

/// How a hypothesis explains all profiles.
pub(super) struct Explained {
    /// Logarithm of the posterior weight, not normalised.
    pub weight: f64,
    /// The likeliest scenario, and the fit of each profile in it.
    pub scenario: usize,
    pub fits: Vec<Fit>,
}

/// How thoroughly a hypothesis is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// With the middle of the grid of scatters only.
    Glance,
    /// With all of it.
    Close,
}

/// Glance at all hypotheses, and say which of them deserve a close look.
pub(super) fn glances(
    fitters: &mut [Fitter<'_>],
    profiles: &[Profile],
    scenarios: &[f64],
    hypotheses: &[Hypothesis],
) -> Vec<Look> {
    let evidence: Vec<f64> = hypotheses
        .iter()
        .map(|hypothesis| {
            (0..scenarios.len())
                .map(|scenario| {
                    fitters
                        .iter_mut()
                        .zip(profiles)
                        .map(|(fitter, profile)| {
                            fitter
                                .explain(profile.places[scenario], hypothesis, Look::Glance)
                                .evidence
                        })
                        .sum()
                })
                .fold(f64::NEG_INFINITY, f64::max)
        })
        .collect();
    let best = evidence.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let behind = HOPELESS + HOPELESS_PER_PROFILE * profiles.len().saturating_sub(1) as f64;
    evidence
        .into_iter()
        .map(|evidence| {
            if evidence < best - behind {
                Look::Glance
            } else {
                Look::Close
            }
        })
        .collect()
}

/// Fit all profiles in every scenario.
pub(super) fn explain(
    fitters: &mut [Fitter<'_>],
    profiles: &[Profile],
    scenarios: &[f64],
    hypothesis: &Hypothesis,
    look: Look,
) -> Explained {
    // Lines of powers of two show about a third of what crossing a unit of three costs. How usual the
    // cost is must not choose between a unit and its triple: what such lines show is judged.
    let odd = hypothesis.grid.size.get() >> hypothesis.grid.size.get().trailing_zeros().min(63);
    let share_seen = if profiles.iter().all(|profile| profile.odd == Some(1)) {
        odd.max(1) as f64
    } else {
        1.0
    };
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
            .map(|(fitter, profile)| fitter.explain(profile.places[scenario], hypothesis, look))
            .collect();
        let costs: Vec<f64> = fits
            .iter()
            .map(|fit| fit.costs.iter().sum::<f64>().ln())
            .collect();
        let usual = fits
            .iter()
            .zip(profiles)
            .map(|(fit, profile)| cost_prior(fit, profile.base * share_seen, hypothesis))
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
pub(super) struct Fitter<'a> {
    points: &'a [Point],
    scale: Scale,
    columns: HashMap<(Places, Grid), Rc<[f64]>>,
    glances: HashMap<Vec<u64>, Fit>,
    fits: HashMap<Vec<u64>, Fit>,
}

impl<'a> Fitter<'a> {
    pub(super) fn of(profile: &'a Profile) -> Fitter<'a> {
        Fitter::new(&profile.points, profile.base)
    }

    pub(super) fn new(points: &'a [Point], base: f64) -> Fitter<'a> {
        Fitter {
            points,
            scale: Scale::of(points, base),
            columns: HashMap::new(),
            glances: HashMap::new(),
            fits: HashMap::new(),
        }
    }

    /// Evidence for "nothing to see": all lines alike, or rising or falling evenly, everywhere or from
    /// some large distance on.
    pub(super) fn nothing(&mut self) -> f64 {
        let points = self.points;
        let magnitude = |align: Bytes| (align.get() as f64).log2();
        let mut trend = |from: Option<Bytes>| {
            let column = Column {
                values: points
                    .iter()
                    .map(|point| match from {
                        Some(from) => (magnitude(point.align) - magnitude(from)).max(0.0),
                        None => magnitude(point.align) - 20.0,
                    })
                    .collect(),
                signed: true,
            };
            self.fit(&[column]).evidence
        };
        let share = (BENT_TREND / BENDS.len() as f64).ln();
        let mut all: Vec<f64> = BENDS
            .iter()
            .map(|bend| trend(Some(*bend)) + share)
            .collect();
        all.push(trend(None) + EVEN_TREND.ln());
        all.push(self.fit(&[]).evidence + ALIKE.ln());
        ln_sum(all)
    }

    fn glance(&mut self, columns: &[Column]) -> Fit {
        let (points, scale) = (self.points, &self.scale);
        *self
            .glances
            .entry(key(columns))
            .or_insert_with(|| scale.glance(points, columns))
    }

    fn fit(&mut self, columns: &[Column]) -> Fit {
        let (points, scale) = (self.points, &self.scale);
        *self
            .fits
            .entry(key(columns))
            .or_insert_with(|| scale.fit(points, columns))
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

    fn explain(&mut self, places: Places, hypothesis: &Hypothesis, look: Look) -> Fit {
        let columns = self.columns(places, hypothesis);
        match look {
            Look::Glance => self.glance(&columns),
            Look::Close => self.fit(&columns),
        }
    }

    fn columns(&mut self, places: Places, hypothesis: &Hypothesis) -> Vec<Column> {
        let mut columns = vec![self.column(places, hypothesis.grid)];
        if let Some(size) = hypothesis.sub_unit {
            let phase = Bytes(hypothesis.grid.phase.get() % size.get().max(1));
            columns.push(self.column(places, Grid { size, phase }));
        }
        columns
    }
}

/// Columns with the same values are the same explanation.
fn key(columns: &[Column]) -> Vec<u64> {
    columns
        .iter()
        .flat_map(|column| column.values.iter().map(|value| value.to_bits()))
        .collect()
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
