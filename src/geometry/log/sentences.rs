//! What is said of the erase block: one sentence each, with numbers.

use super::explain::Explained;
use super::fit;
use super::hypotheses::Hypothesis;
use super::places::Grid;
use super::profile::Profile;
use crate::units::Bytes;

/// What the lines show, in numbers.
pub(super) fn levels(
    profiles: &[Profile],
    hypothesis: &Hypothesis,
    explained: &Explained,
) -> Vec<String> {
    profiles
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

/// The size that comes next.
pub(super) fn alternative(
    profiles: &[Profile],
    best: Grid,
    other: Grid,
    probability: f64,
) -> String {
    let only_powers = profiles.iter().all(|profile| profile.odd == Some(1));
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

/// The two best readings have the same boundaries.
pub(super) fn nested(a: Grid, b: Grid) -> String {
    format!(
        "whether boundaries at odd multiples of {} cost less or all alike is not certain; {} is aligned either way",
        a.size.min(b.size),
        a.size.max(b.size)
    )
}

/// What open-AU tests with units that are too small say.
pub(super) fn units_too_small(too_small: &[Bytes]) -> impl Iterator<Item = String> {
    too_small.iter().map(|unit| {
        format!(
            "in open-AU tests with units of {unit} every second line is slow, as if {unit} were half of the erase block"
        )
    })
}

/// Why no size is told: the shape of the lines, and how probability is spread over `grids`, the
/// likeliest first.
pub(super) fn why_not(profiles: &[Profile], grids: &[(Grid, f64)], nothing: f64) -> Vec<String> {
    let mut reasons: Vec<String> = profiles
        .iter()
        .map(|profile| shape(profile, nothing < 0.5))
        .collect();
    let sizes: Vec<String> = grids
        .iter()
        .take(2)
        .map(|(grid, probability)| format!("{} {:.0} %", grid.size, 100.0 * probability))
        .collect();
    reasons.push(format!(
        "too little to tell a size: {}, no boundary visible {:.0} %",
        sizes.join(", "),
        100.0 * nothing
    ));
    reasons
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
