//! How well a set of levels explains a scan: a robust fit and its marginal likelihood.
//!
//! A line shows `shelf + sum of (share of places on a boundary) * (cost of a crossing)`. Costs are
//! not negative. Errors are Student-t with four degrees of freedom: lone outliers of many standard
//! deviations occur in every fifth public log and must not move a fit. Their scale has three parts:
//! the known rounding and repetition error of a line, a common scatter that is marginalised over a
//! grid around an estimate that does not depend on the hypothesis, and a share of the value itself,
//! because places differ in what a crossing costs: repeated scans read the same places and repeat
//! the same deviations.

use super::robust::{deviation, ln_sum, median};
use crate::units::Bytes;
use std::rc::Rc;

/// Degrees of freedom of the errors.
const FREEDOM: f64 = 4.0;
/// Deviation of a line from its level, as a share of the value, with weights: within the plateaus of
/// public scans the lines repeat deviations of 0.5 to 7 %, in the middle 3 %.
const PLACE_SCATTER: [(f64, f64); 3] = [(0.01, 0.3), (0.03, 0.4), (0.07, 0.3)];
/// The same for places far apart (see [`FAR`]): -16 % to +47 % in five public logs.
const FAR_SCATTER: f64 = 0.15;
/// Lines from here on read places so far apart that the mapping table is loaded anew each time.
pub(super) const FAR: Bytes = Bytes::mib(256);
/// No scatter is taken to be smaller than this share of a read: clocks and buses have grain.
const FINEST_SCATTER: f64 = 0.002;
/// Grid of the common scatter around its estimate, as powers of two, and how far the estimate is
/// trusted (standard deviation of its logarithm).
const SCATTER_GRID: [f64; 6] = [-1.2, -0.6, 0.0, 0.6, 1.2, 1.8];
const SCATTER_TRUST: f64 = 0.5;

/// A line of a scan, or the combination of the same line of repeated scans. Microseconds or any
/// other unit; the same for all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub align: Bytes,
    /// Cost of crossing: `on - (pre + post) / 2`.
    pub value: f64,
    /// Known standard error: rounding and repetition.
    pub error: f64,
}

/// Explaining columns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub values: Rc<[f64]>,
    /// Its coefficient may be negative.
    pub signed: bool,
}

/// The best explanation with given columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    /// The logarithm of the marginal likelihood.
    pub evidence: f64,
    /// Level without any crossing.
    pub shelf: f64,
    /// Coefficients of the columns.
    pub costs: [f64; 2],
}

/// The scatter between neighbouring lines, whatever the levels are: most neighbours lie on the same
/// one.
pub(super) fn neighbour_scatter(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Around zero, not around their median: a trend is scatter too.
    let sizes: Vec<f64> = steps.iter().flat_map(|step| [*step, -*step]).collect();
    deviation(&sizes).unwrap_or(0.0) / std::f64::consts::SQRT_2
}

/// Points with what is needed to fit them again and again.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    /// The least scatter possible.
    floor: f64,
    /// The estimate that does not depend on a hypothesis.
    estimate: f64,
    /// Logarithms of the weights of the scatter grid.
    trust: [f64; SCATTER_GRID.len()],
}

impl Scale {
    /// `base` is how long a read takes.
    pub(super) fn of(points: &[Point], base: f64) -> Scale {
        let errors: Vec<f64> = points.iter().map(|point| point.error).collect();
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        let floor = (FINEST_SCATTER * base)
            .max(0.5 * median(&errors).unwrap_or(0.0))
            .max(f64::MIN_POSITIVE);
        let trust = SCATTER_GRID
            .map(|power| -0.5 * (power * std::f64::consts::LN_2 / SCATTER_TRUST).powi(2));
        let total = ln_sum(trust);
        Scale {
            floor,
            estimate: neighbour_scatter(&values).max(floor),
            trust: trust.map(|trust| trust - total),
        }
    }

    /// Fit the shelf and up to two columns, with the middle of the grid only: enough to see that a
    /// hypothesis is hopeless.
    pub(super) fn glance(&self, points: &[Point], columns: &[Column]) -> Fit {
        let [_, (middle, _), _] = PLACE_SCATTER;
        let fit = fit_with(&rows(points, columns), self.estimate, middle, columns, None);
        Fit {
            evidence: fit.evidence - penalty(points, columns),
            ..fit
        }
    }

    /// Fit the shelf and up to two columns.
    pub(super) fn fit(&self, points: &[Point], columns: &[Column]) -> Fit {
        let mut best: Option<Fit> = None;
        // Neighbours on the grid have nearly the same coefficients: each starts from the last one.
        let mut last = None;
        let rows = rows(points, columns);
        let mut weighted = Vec::with_capacity(SCATTER_GRID.len() * PLACE_SCATTER.len());
        for (power, trust) in SCATTER_GRID.iter().zip(&self.trust) {
            let scatter = (self.estimate * power.exp2()).max(self.floor);
            for (place_scatter, weight) in PLACE_SCATTER {
                let start = last.map(|fit: Fit| [fit.shelf, fit.costs[0], fit.costs[1]]);
                let candidate = fit_with(&rows, scatter, place_scatter, columns, start);
                last = Some(candidate);
                let evidence = candidate.evidence + trust + weight.ln();
                weighted.push(evidence);
                if best.is_none_or(|best| evidence > best.evidence) {
                    best = Some(Fit {
                        evidence,
                        ..candidate
                    });
                }
            }
        }
        let best = best.unwrap_or(Fit {
            evidence: 0.0,
            shelf: 0.0,
            costs: [0.0; 2],
        });
        Fit {
            evidence: ln_sum(weighted) - penalty(points, columns),
            ..best
        }
    }
}

/// Every coefficient costs half the logarithm of the number of lines (Schwarz).
fn penalty(points: &[Point], columns: &[Column]) -> f64 {
    0.5 * columns.len() as f64 * (points.len().max(1) as f64).ln()
}

/// A line as the fit sees it.
struct Row {
    /// One for the shelf, then the columns, zero where there is none.
    explains: [f64; 3],
    value: f64,
    /// Square of the known error.
    error: f64,
    far: bool,
}

impl Row {
    fn level(&self, beta: &[f64; 3]) -> f64 {
        let [shelf, first, second] = self.explains;
        shelf * beta[0] + first * beta[1] + second * beta[2]
    }

    /// Variance at this level, and the square of the distance from it in units of that.
    fn away(&self, beta: &[f64; 3], scatter: f64, place_scatter: f64) -> (f64, f64) {
        let level = self.level(beta);
        let share = if self.far { FAR_SCATTER } else { place_scatter };
        let variance = self.error + scatter * scatter + (share * level) * (share * level);
        let distance = self.value - level;
        (variance, distance * distance / variance)
    }
}

fn rows(points: &[Point], columns: &[Column]) -> Vec<Row> {
    points
        .iter()
        .enumerate()
        .map(|(i, point)| {
            let mut explains = [1.0, 0.0, 0.0];
            for (column, slot) in columns.iter().zip(&mut explains[1..]) {
                *slot = column.values[i];
            }
            Row {
                explains,
                value: point.value,
                error: point.error.powi(2),
                far: point.align >= FAR,
            }
        })
        .collect()
}

/// The best coefficients by reweighted least squares, from `start` or from equal weights on.
fn fit_with(
    rows: &[Row],
    scatter: f64,
    place_scatter: f64,
    columns: &[Column],
    start: Option<[f64; 3]>,
) -> Fit {
    const ROUNDS: usize = 12;
    /// Coefficients that move by less than this share of the scatter have settled.
    const SETTLED: f64 = 0.01;
    let mut beta = start;
    for _ in 0..ROUNDS {
        let next = least_squares(rows, columns, |row| match &beta {
            None => 1.0,
            Some(beta) => {
                let (variance, away) = row.away(beta, scatter, place_scatter);
                (FREEDOM + 1.0) / (FREEDOM + away) / variance
            }
        });
        let settled = beta.is_some_and(|before| {
            next.iter()
                .zip(before)
                .all(|(new, old)| (new - old).abs() < SETTLED * scatter)
        });
        beta = Some(next);
        if settled {
            break;
        }
    }
    let beta = beta.unwrap_or_default();
    let evidence = rows
        .iter()
        .map(|row| {
            let (variance, away) = row.away(&beta, scatter, place_scatter);
            -0.5 * variance.ln() - 0.5 * (FREEDOM + 1.0) * (1.0 + away / FREEDOM).ln()
        })
        .sum();
    Fit {
        evidence,
        shelf: beta[0],
        costs: [beta[1], beta[2]],
    }
}

/// Weighted least squares under the sign conditions, by trying every subset of the columns.
fn least_squares(rows: &[Row], columns: &[Column], weight: impl Fn(&Row) -> f64) -> [f64; 3] {
    // Sums of products of the columns and the values; the last row and column are the values'.
    let mut sums = [[0.0f64; 4]; 4];
    for row in rows {
        let weight = weight(row);
        let [shelf, first, second] = row.explains;
        let all = [shelf, first, second, row.value];
        for a in 0..4 {
            let weighted = weight * all[a];
            for b in a..4 {
                sums[a][b] += weighted * all[b];
            }
        }
    }
    let mut best = [0.0; 3];
    let mut least = f64::INFINITY;
    for subset in 0u8..1 << columns.len().min(2) {
        let Some(beta) = solve(&sums, [true, subset & 1 != 0, subset & 2 != 0]) else {
            continue;
        };
        let allowed = columns
            .iter()
            .zip(&beta[1..])
            .all(|(column, cost)| column.signed || *cost >= 0.0);
        // The residual of a least-squares solution, less what all have in common.
        let residual = -beta
            .iter()
            .enumerate()
            .map(|(a, cost)| cost * sums[a][3])
            .sum::<f64>();
        if allowed && residual < least {
            least = residual;
            best = beta;
        }
    }
    best
}

/// Solve the normal equations of the used columns. `None` when two of them coincide.
fn solve(sums: &[[f64; 4]; 4], used: [bool; 3]) -> Option<[f64; 3]> {
    let mut m = [[0.0f64; 4]; 3];
    for a in 0..3 {
        m[a][a] = 1.0;
        if used[a] {
            for b in 0..3 {
                if used[b] {
                    m[a][b] = sums[a.min(b)][a.max(b)];
                }
            }
            m[a][3] = sums[a][3];
        }
    }
    // Elimination without pivoting: the matrix is positive definite unless columns coincide.
    let scale = sums[0][0].abs().max(f64::MIN_POSITIVE);
    for a in 0..3 {
        let diagonal = m[a][a];
        if used[a] && diagonal.abs() < 1e-9 * scale {
            return None;
        }
        for b in 0..3 {
            if a != b {
                let ratio = m[b][a] / diagonal;
                let pivot = m[a];
                for (value, own) in m[b].iter_mut().zip(pivot).skip(a) {
                    *value -= ratio * own;
                }
            }
        }
    }
    Some([0, 1, 2].map(|a| m[a][3] / m[a][a]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(points: &[Point], base: f64, columns: &[Column]) -> Fit {
        Scale::of(points, base).fit(points, columns)
    }

    fn points(values: &[f64]) -> Vec<Point> {
        values
            .iter()
            .enumerate()
            .map(|(i, value)| Point {
                align: Bytes(1 << (16 + i)),
                value: *value,
                error: 0.1,
            })
            .collect()
    }

    fn step(n: usize, from: usize) -> Column {
        Column {
            values: (0..n).map(|i| f64::from(u8::from(i >= from))).collect(),
            signed: false,
        }
    }

    #[test]
    fn a_step_is_found_despite_an_outlier() {
        let points = points(&[60.0, 62.0, 59.0, 400.0, 61.0, 300.0, 305.0, 298.0, 302.0]);
        let with = fit(&points, 1000.0, &[step(9, 5)]);
        let without = fit(&points, 1000.0, &[]);
        assert!(
            with.evidence > without.evidence + 5.0,
            "{with:?} {without:?}"
        );
        assert!((with.shelf - 61.0).abs() < 5.0 && (with.costs[0] - 240.0).abs() < 12.0);
    }

    #[test]
    fn a_falling_step_costs_nothing_and_explains_nothing() {
        let points = points(&[140.0, 138.0, 141.0, 139.0, 124.0, 125.0, 123.0, 124.0]);
        let with = fit(&points, 400.0, &[step(8, 4)]);
        let without = fit(&points, 400.0, &[]);
        assert_eq!(with.costs[0], 0.0);
        assert!(with.evidence < without.evidence);
    }

    #[test]
    fn columns_that_coincide_do_not_break_the_fit() {
        let points = points(&[1.0, 1.0, 5.0, 5.0]);
        let fit = fit(&points, 10.0, &[step(4, 2), step(4, 2)]);
        assert!(fit.evidence.is_finite() && fit.shelf.is_finite());
    }

    #[test]
    fn equal_values_and_empty_scans_are_no_trouble() {
        assert!(fit(&points(&[0.0; 5]), 0.0, &[]).evidence.is_finite());
        assert!(fit(&[], 1.0, &[]).evidence.is_finite());
    }
}
