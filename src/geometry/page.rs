//! The page from write times: the size below which a write takes no less time.
//!
//! In one open allocation unit a write of `s` bytes takes `a + b * max(s, P)`, plus a constant below
//! `P` when the rest of the page has to be read first. A mere command cost (`a + b * s`) bends the
//! curve of rates just as well, so a page is told only when it explains the times better than the
//! straight line does.

pub mod profile;
pub mod step;
pub mod study;

use crate::units::Bytes;

/// A size and the time that one write of it takes, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WriteTime {
    /// The request size.
    pub size: Bytes,
    /// Seconds for one write, a robust mean.
    pub seconds: f64,
}

/// What a curve of write times says about the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WriteKnee {
    /// The page that explains the times best.
    pub page: Bytes,
    /// By how much it beats the straight line (BIC); [`ENOUGH`] and more is a decision.
    pub advantage: f64,
    /// The constant that writes below the page pay in addition, in seconds.
    pub penalty: f64,
}

/// The advantage in BIC from which a page is told. "Strong" evidence begins at 6 (Kass and Raftery,
/// JASA 90, 1995). On public curves the Kingston DT101 G2 reaches 16, Intel's X25, of which its
/// tester could not tell a page, 1.
pub const ENOUGH: f64 = 6.0;

/// Points needed for three parameters and a choice.
const FEWEST_POINTS: usize = 5;
/// A page is visible only when at least this many sizes lie below it.
const FEWEST_BELOW: usize = 2;
/// Printed rates have three digits; no curve is known better than this.
const RELATIVE_ERROR_FLOOR: f64 = 0.005;

/// The best page of a curve, whether or not it is convincing. `None`: too few sizes.
pub fn write_knee(curve: &[WriteTime]) -> Option<WriteKnee> {
    if curve.len() < FEWEST_POINTS || curve.iter().any(|point| point.seconds <= 0.0) {
        return None;
    }
    let sizes: Vec<f64> = curve.iter().map(|point| point.size.get() as f64).collect();
    let line = bic(curve, &sizes, None)?;
    let mut best: Option<WriteKnee> = None;
    for point in curve {
        let below = curve.iter().filter(|other| other.size < point.size).count();
        if below < FEWEST_BELOW || below + FEWEST_BELOW > curve.len() {
            continue;
        }
        let page = point.size.get() as f64;
        let clipped: Vec<f64> = sizes.iter().map(|size| size.max(page)).collect();
        let is_below: Vec<f64> = sizes
            .iter()
            .map(|s| f64::from(u8::from(*s < page)))
            .collect();
        for step in [None, Some(is_below.as_slice())] {
            let Some(fit) = bic(curve, &clipped, step) else {
                continue;
            };
            let advantage = line.bic - fit.bic;
            if best.is_none_or(|best| advantage > best.advantage) {
                best = Some(WriteKnee {
                    page: point.size,
                    advantage,
                    penalty: fit.step,
                });
            }
        }
    }
    best
}

struct Fit {
    bic: f64,
    step: f64,
}

/// Least squares of relative errors: `a + b * x (+ c * step)` with all three not negative.
fn bic(curve: &[WriteTime], x: &[f64], step: Option<&[f64]>) -> Option<Fit> {
    let n = curve.len() as f64;
    let mut best: Option<Fit> = None;
    // With so few columns the constraint is kept by trying every subset of them.
    for subset in 1u8..8 {
        let [a, b, c] = [1, 2, 4].map(|bit| subset & bit != 0);
        if c && step.is_none() {
            continue;
        }
        let rows: Vec<[f64; 3]> = curve
            .iter()
            .enumerate()
            .map(|(i, point)| {
                let on =
                    |wanted: bool, value: f64| if wanted { value / point.seconds } else { 0.0 };
                [
                    on(a, 1.0),
                    on(b, x[i]),
                    on(c, step.map_or(0.0, |step| step[i])),
                ]
            })
            .collect();
        let Some(beta) = solve(&rows) else { continue };
        if beta.iter().any(|value| *value < 0.0) {
            continue;
        }
        let residual: f64 = rows
            .iter()
            .map(|row| {
                let fitted: f64 = row.iter().zip(&beta).map(|(x, b)| x * b).sum();
                (1.0 - fitted).powi(2)
            })
            .sum();
        let variance = (residual / n).max(RELATIVE_ERROR_FLOOR.powi(2));
        // The page itself is a parameter too.
        let parameters = 2.0
            + if step.is_some() { 1.0 } else { 0.0 }
            + f64::from(u8::from(
                x.iter().zip(curve).any(|(x, p)| *x > p.size.get() as f64),
            ));
        let bic = n * variance.ln() + parameters * n.ln();
        if best.as_ref().is_none_or(|best| bic < best.bic) {
            best = Some(Fit { bic, step: beta[2] });
        }
    }
    best
}

/// Least squares with unit targets, columns of zeros left out.
fn solve(rows: &[[f64; 3]]) -> Option<[f64; 3]> {
    let mut matrix = [[0.0; 4]; 3];
    let mut scale = [0.0f64; 3];
    for row in rows {
        for (i, value) in row.iter().enumerate() {
            scale[i] = scale[i].max(value.abs());
        }
    }
    for row in rows {
        for i in 0..3 {
            let left = if scale[i] > 0.0 {
                row[i] / scale[i]
            } else {
                0.0
            };
            for j in 0..3 {
                let right = if scale[j] > 0.0 {
                    row[j] / scale[j]
                } else {
                    0.0
                };
                matrix[i][j] += left * right;
            }
            matrix[i][3] += left;
        }
    }
    for (i, row) in matrix.iter_mut().enumerate() {
        if scale[i] == 0.0 {
            row[i] = 1.0;
        }
    }
    for i in 0..3 {
        let pivot = (i..3).max_by(|a, b| matrix[*a][i].abs().total_cmp(&matrix[*b][i].abs()))?;
        matrix.swap(i, pivot);
        if matrix[i][i].abs() < 1e-12 {
            return None;
        }
        for k in 0..3 {
            if k != i {
                let ratio = matrix[k][i] / matrix[i][i];
                let pivot = matrix[i];
                for (value, own) in matrix[k].iter_mut().zip(pivot).skip(i) {
                    *value -= ratio * own;
                }
            }
        }
    }
    let mut beta = [0.0; 3];
    for i in 0..3 {
        if scale[i] > 0.0 {
            beta[i] = matrix[i][3] / matrix[i][i] / scale[i];
        }
    }
    Some(beta)
}

/// The share of the asymptotic rate that counts as efficient.
const EFFICIENT: f64 = 0.7;

/// The smallest size from which on every size reaches 70 % of the best rate. What cluster sizes
/// should be at least.
pub fn efficient_size(curve: &[WriteTime]) -> Option<Bytes> {
    let rate = |point: &WriteTime| point.size.get() as f64 / point.seconds;
    let best = curve.iter().map(rate).fold(0.0, f64::max);
    if best <= 0.0 || !best.is_finite() {
        return None;
    }
    let mut sorted: Vec<&WriteTime> = curve.iter().collect();
    sorted.sort_by_key(|point| std::cmp::Reverse(point.size));
    // The largest sizes carry the clean-up of what was written before and may be slow.
    let start = sorted
        .iter()
        .position(|point| rate(point) >= EFFICIENT * best)?;
    sorted[start..]
        .iter()
        .take_while(|point| rate(point) >= EFFICIENT * best)
        .last()
        .map(|point| point.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(rates: &[(u64, f64)]) -> Vec<WriteTime> {
        rates
            .iter()
            .map(|(kib, rate)| WriteTime {
                size: Bytes::kib(*kib),
                seconds: (kib * 1024) as f64 / rate,
            })
            .collect()
    }

    /// Kingston DT101 G2 (public list thread): its tester read 16 KiB.
    const KINGSTON: [(u64, f64); 6] = [
        (64, 15.1e6),
        (32, 10.8e6),
        (16, 6.58e6),
        (8, 2.82e6),
        (4, 1.44e6),
        (2, 0.744e6),
    ];

    #[test]
    fn the_minimum_of_the_write_time_is_the_page() {
        let knee = write_knee(&curve(&KINGSTON)).unwrap();
        assert_eq!(knee.page, Bytes::kib(16));
        assert!(knee.advantage > ENOUGH, "{knee:?}");
        assert!(knee.penalty > 0.2e-3 && knee.penalty < 0.5e-3, "{knee:?}");
    }

    #[test]
    fn a_fixed_command_cost_is_no_page() {
        // Intel X25 (public list thread), one unit open.
        let x25 = curve(&[
            (160, 60.0e6),
            (80, 54.5e6),
            (40, 36.5e6),
            (20, 19.6e6),
            (10, 9.92e6),
            (5, 5.28e6),
        ]);
        assert!(write_knee(&x25).unwrap().advantage < ENOUGH);
        let line: Vec<WriteTime> = (0..8)
            .map(|k| WriteTime {
                size: Bytes(1024 << k),
                seconds: 1e-3 + f64::from(1024 << k) * 1e-7,
            })
            .collect();
        assert!(write_knee(&line).unwrap().advantage < 0.0);
    }

    #[test]
    fn public_curves_give_the_decisions_that_their_testers_made() {
        // Rates of open-AU runs on the public list, from the largest size down.
        let halves = |largest: u64, rates: &[f64]| -> Vec<WriteTime> {
            let sizes = (0..).map(|n| largest >> n);
            curve(&sizes.zip(rates.iter().copied()).collect::<Vec<_>>())
        };
        // Kingston: a page of 16 KiB with a difference of 16.5.
        let kingston = write_knee(&curve(&KINGSTON)).unwrap();
        assert!((kingston.advantage - 16.5).abs() < 1.0, "{kingston:?}");
        // SanDisk 32 GB, in order: a straight line.
        let linear = halves(
            6144,
            &[
                17.4e6, 17.5e6, 17.4e6, 17.8e6, 17.8e6, 19.1e6, 19.4e6, 18.5e6, 15.9e6, 12.3e6,
                8.21e6,
            ],
        );
        assert!(write_knee(&linear).unwrap().advantage < ENOUGH);
        // The same card, at random: 25 ms whatever the size, up to 256 KiB.
        let random = halves(
            4096,
            &[
                19.2e6, 19.4e6, 19.1e6, 18.8e6, 12.2e6, 5.03e6, 2.53e6, 1.26e6, 601e3,
            ],
        );
        let knee = write_knee(&random).unwrap();
        assert_eq!(knee.page, Bytes::kib(256), "{knee:?}");
        assert!(knee.advantage > ENOUGH, "{knee:?}");
    }

    #[test]
    fn too_few_sizes_tell_nothing() {
        assert_eq!(write_knee(&curve(&KINGSTON[..4])), None);
        assert_eq!(write_knee(&[]), None);
        assert_eq!(efficient_size(&[]), None);
    }

    #[test]
    fn the_efficient_size_ignores_a_slow_first_line() {
        let rates = [
            (4096, 3.0e6),
            (2048, 8.4e6),
            (64, 8.0e6),
            (32, 6.0e6),
            (16, 3.0e6),
        ];
        assert_eq!(efficient_size(&curve(&rates)), Some(Bytes::kib(32)));
    }
}
