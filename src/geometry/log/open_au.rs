//! Open allocation units from open-AU tests.
//!
//! The runs of one way of writing are grouped by the size of the units they write; the group at the
//! erase block, or at its sub-unit, gives the answer.

use super::robust::median;
use super::trial::{Trialled, trialled};
use crate::geometry::open_au::{self, LARGEST_JUDGED, Level, SMALLEST_JUDGED, Trial};
use crate::geometry::{Cutoff, EraseBlock, OpenAu, OpenAus, RandomOpenAu, Verdict};
use crate::measure::flashbench_log::OpenAuRun;
use crate::units::Bytes;

/// A group's level at the end, relative to its beginning, from which on there is no decline at all.
const NO_DECLINE: f64 = 0.8;
/// Rates that differ by less than this between the smallest and the largest number of units may come
/// from a cache that hides the units.
const FLAT: f64 = 0.9;
/// Random writes are efficient from this share of the linear rate on.
const HALF: f64 = 0.5;
/// Odds at which a trial counts as slow or fast.
const SLOW: f64 = 0.5;

/// What was found, and whether a cache may have hidden the units.
pub(super) struct Found {
    pub open_aus: OpenAus,
    pub maybe_cached: bool,
}

/// Infer the limits of both ways of writing.
pub(super) fn infer(runs: &[&OpenAuRun], erase_block: &EraseBlock) -> Found {
    let of = |random: bool| -> Vec<Trialled> {
        runs.iter()
            .filter(|run| run.random == Some(random))
            .filter_map(|run| trialled(run))
            .collect()
    };
    let (linear_runs, random_runs) = (of(false), of(true));
    let (linear, linear_flat) = count(&linear_runs, erase_block);
    let (random, random_flat) = random(&random_runs, &linear_runs, erase_block);
    Found {
        open_aus: OpenAus { linear, random },
        maybe_cached: linear_flat || random_flat,
    }
}

/// The runs of the unit that tells most: the erase block, its sub-unit, else the unit with the
/// clearest answer.
fn choose<'a>(runs: &'a [Trialled], erase_block: &EraseBlock) -> Vec<&'a Trialled> {
    let mut units: Vec<Bytes> = runs.iter().map(|run| run.unit).collect();
    units.sort_unstable();
    units.dedup();
    let told = |size: Option<Bytes>| size.filter(|_| erase_block.verdict.is_told());
    let own = told(erase_block.bytes);
    let sub = told(erase_block.sub_unit_bytes);
    let rank = |unit: Bytes| {
        let group: Vec<&Trialled> = runs.iter().filter(|run| run.unit == unit).collect();
        let answer = decide(&group);
        let ends = answer.at_most.is_some();
        let place = if Some(unit) == own {
            2
        } else if Some(unit) == sub {
            1
        } else {
            0
        };
        (ends && place > 0, place, ends, group.len())
    };
    let Some(unit) = units.into_iter().max_by_key(|unit| rank(*unit)) else {
        return Vec::new();
    };
    let mut group: Vec<&Trialled> = runs.iter().filter(|run| run.unit == unit).collect();
    group.sort_by_key(|run| run.open);
    group
}

/// The bare answer of a group.
struct Answer {
    at_least: Option<u32>,
    at_most: Option<u32>,
    cutoff: Cutoff,
    confidence: f64,
    evidence: Vec<String>,
}

/// The level of each number of open units, relative to all. Runs stop at different sizes and lose
/// lines: each line is compared with the others of its size.
fn levels(group: &[&Trialled]) -> Vec<Level> {
    /// Fewer sizes in common show no step.
    const FEWEST_SIZES: usize = 3;
    let mut sizes: Vec<Bytes> = group
        .iter()
        .flat_map(|run| {
            let largest = LARGEST_JUDGED.min(Bytes(run.unit.get() / 4));
            run.points
                .iter()
                .map(|point| point.size)
                .filter(move |size| *size <= largest)
        })
        .filter(|size| *size >= SMALLEST_JUDGED)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    // The usual rate at a size, of all runs or of those with one number of open units.
    let usual = |size: Bytes, open: Option<u32>| {
        let rates: Vec<f64> = group
            .iter()
            .filter(|run| open.is_none_or(|open| run.open == open))
            .flat_map(|run| &run.points)
            .filter(|point| point.size == size)
            .map(|point| point.bytes_per_second)
            .collect();
        median(&rates)
    };
    let ratios = |open: u32, to: Option<u32>| -> Vec<f64> {
        sizes
            .iter()
            .filter_map(|size| Some((usual(*size, Some(open))? / usual(*size, to)?).ln()))
            .collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mut opens: Vec<u32> = group.iter().map(|run| run.open).collect();
    opens.sort_unstable();
    opens.dedup();
    let mut levels: Vec<Level> = Vec::new();
    for open in opens {
        let relative = ratios(open, None);
        if relative.is_empty() {
            continue;
        }
        let error = levels.last().map_or(f64::INFINITY, |before| {
            let falls = ratios(open, Some(before.open));
            if falls.len() < FEWEST_SIZES {
                return f64::INFINITY;
            }
            let middle = mean(&falls);
            let squares: f64 = falls.iter().map(|fall| (fall - middle).powi(2)).sum();
            (squares / (falls.len() * (falls.len() - 1)) as f64).sqrt()
        });
        levels.push(Level {
            open,
            rate: mean(&relative).exp(),
            error,
        });
    }
    levels
}

fn decide(group: &[&Trialled]) -> Answer {
    let trials: Vec<Trial> = group
        .iter()
        .map(|run| Trial {
            open: run.open,
            slow: run.slow,
        })
        .collect();
    let hard = open_au::limit(&trials);
    let levels = levels(group);
    let soft = open_au::soft_step(&levels);
    // A hard cliff lowers the level too: a soft step lies before it.
    let before_cliff = |first_slow: u32| {
        hard.is_some_and(|hard| hard.at_least.is_some_and(|fast| fast >= first_slow))
    };
    if let Some(soft) = soft.filter(|soft| soft.certain && before_cliff(soft.first_slow)) {
        return Answer {
            at_least: Some(soft.last_fast),
            at_most: Some(soft.first_slow - 1),
            cutoff: Cutoff::Soft,
            confidence: soft_confidence(soft.remains),
            evidence: vec![format!(
                "from {} to {} open units the rate falls to {:.0} % and stays down, though smaller writes cost no more than before",
                soft.last_fast,
                soft.first_slow,
                100.0 * soft.remains
            )],
        };
    }
    // Where each halving of the size costs half of the rate as well, the step is the cliff.
    let slow_at = |open: u32| {
        let odds: Vec<f64> = group
            .iter()
            .filter(|run| run.open == open)
            .map(|run| run.slow)
            .collect();
        median(&odds).is_some_and(|slow| slow > SLOW)
    };
    if let Some(step) =
        soft.filter(|step| step.certain && slow_at(step.first_slow) && !slow_at(step.last_fast))
        && hard.is_some_and(|hard| hard.at_most.is_none())
    {
        return Answer {
            at_least: Some(step.last_fast),
            at_most: Some(step.first_slow - 1),
            cutoff: Cutoff::Hard,
            confidence: soft_confidence(step.remains),
            evidence: vec![format!(
                "from {} to {} open units the rate falls to {:.0} %, and smaller writes cost as much as larger ones",
                step.last_fast,
                step.first_slow,
                100.0 * step.remains
            )],
        };
    }
    // A step in doubt, and no cliff behind it: nothing is claimed beyond the step.
    if let Some(soft) = soft.filter(|_| hard.is_some_and(|hard| hard.at_most.is_none())) {
        return Answer {
            at_least: Some(soft.last_fast),
            at_most: None,
            cutoff: Cutoff::Gradual,
            confidence: hard.map_or(0.0, |hard| hard.confidence),
            evidence: vec![format!(
                "between {} and {} open units the rate falls to {:.0} %: a limit, or a decline over the numbers that were skipped",
                soft.last_fast,
                soft.first_slow,
                100.0 * soft.remains
            )],
        };
    }
    let Some(hard) = hard else {
        return Answer {
            at_least: None,
            at_most: None,
            cutoff: Cutoff::None,
            confidence: 0.0,
            evidence: Vec::new(),
        };
    };
    let mut evidence = Vec::new();
    let remains = |open: u32| {
        let same: Vec<f64> = group
            .iter()
            .filter(|run| run.open == open)
            .map(|run| run.halving.remains)
            .collect();
        median(&same)
    };
    if let Some(open) = hard.at_least
        && let Some(remains) = remains(open)
    {
        evidence.push(format!(
            "{open} open units are fast: halving the write size leaves {:.0} % of the rate",
            100.0 * remains
        ));
    }
    if let Some(most) = hard.at_most
        && let Some(remains) = remains(most + 1)
    {
        let cost = write_cost(group, most + 1).map_or(String::new(), |share| {
            format!("; a write takes {share:.1} times as long as a whole unit")
        });
        evidence.push(format!(
            "{} open units are slow: halving the write size leaves {:.0} % of the rate, one garbage collection per write{cost}",
            most + 1,
            100.0 * remains
        ));
    }
    let cutoff = if hard.at_most.is_some() {
        Cutoff::Hard
    } else {
        match (levels.first(), levels.last()) {
            (Some(first), Some(last)) if last.rate < NO_DECLINE * first.rate => {
                evidence.push(format!(
                    "the rate declines bit by bit to {:.0} % with {} open units, without a step",
                    100.0 * last.rate / first.rate,
                    last.open
                ));
                Cutoff::Gradual
            }
            _ => Cutoff::None,
        }
    };
    Answer {
        at_least: hard.at_least,
        at_most: hard.at_most,
        cutoff,
        confidence: hard.confidence,
        evidence,
    }
}

/// How long the smallest judged write takes with `open` units, relative to a whole unit.
fn write_cost(group: &[&Trialled], open: u32) -> Option<f64> {
    let full_rate = group
        .iter()
        .flat_map(|run| &run.points)
        .map(|point| point.bytes_per_second)
        .max_by(f64::total_cmp)?;
    let run = group.iter().find(|run| run.open == open)?;
    let point = run
        .points
        .iter()
        .rfind(|point| point.size >= SMALLEST_JUDGED)?;
    open_au::share_of_unit(*point, run.unit, full_rate)
}

/// How sure a soft step is: 0.9 at the threshold, more below.
fn soft_confidence(remains: f64) -> f64 {
    1.0 - 0.1 * (remains / open_au::SOFT_STEP).powi(4)
}

/// The count for one way of writing, and whether the rates do not depend on it at all.
fn count(runs: &[Trialled], erase_block: &EraseBlock) -> (OpenAu, bool) {
    let group = choose(runs, erase_block);
    let Some(first) = group.first() else {
        return (OpenAu::default(), false);
    };
    let answer = decide(&group);
    let mut evidence = answer.evidence;
    evidence.insert(
        0,
        format!(
            "{} runs with units of {}, {} to {} open",
            group.len(),
            first.unit,
            first.open,
            group.last().map_or(0, |run| run.open)
        ),
    );
    let slow = group.iter().filter(|run| run.slow > SLOW).count();
    let fast = group.len() - slow;
    // Something is open while a single unit is written: then slow writes have another reason.
    let impossible = answer.at_most == Some(0);
    if impossible {
        evidence.push(
            "a single open unit is as slow as several: the writes are slow for another reason than their number"
                .to_owned(),
        );
    }
    let known = !impossible && (answer.at_least.is_some() || answer.at_most.is_some());
    let verdict = if !known || answer.confidence < 0.9 {
        Verdict::NotVisible
    } else if answer.confidence >= 0.95
        && fast >= 2
        && (slow >= 2 || (answer.at_most.is_none() && fast >= 3))
    {
        Verdict::Confirmed
    } else {
        Verdict::Likely
    };
    let exact = answer
        .at_least
        .filter(|limit| answer.at_most == Some(*limit));
    let levels = levels(&group);
    let flat = answer.at_most.is_none()
        && levels.len() >= 2
        && levels
            .iter()
            .all(|level| level.rate >= FLAT * levels[0].rate);
    let told = verdict.is_told();
    (
        OpenAu {
            verdict,
            limit: exact.filter(|_| told),
            at_least: answer.at_least.filter(|_| told),
            at_most: answer.at_most.filter(|_| told),
            cutoff: told.then_some(answer.cutoff),
            unit_bytes: Some(first.unit),
            confidence: answer.confidence,
            evidence,
        },
        flat,
    )
}

fn random(
    runs: &[Trialled],
    linear: &[Trialled],
    erase_block: &EraseBlock,
) -> (RandomOpenAu, bool) {
    // Slow with a single unit: not a number of units is exceeded, the writes are too small.
    let single: Vec<&Trialled> = runs.iter().filter(|run| run.open == 1).collect();
    let too_small = !single.is_empty() && single.iter().all(|run| run.slow > SLOW);
    if !too_small {
        let (mut count, flat) = count(runs, erase_block);
        let small: Vec<Bytes> = single
            .iter()
            .filter(|run| small_writes_halve(run))
            .filter_map(|run| smallest_efficient(run, linear))
            .collect();
        // All of the tests with a single unit have to show it.
        let smallest = small
            .iter()
            .max()
            .copied()
            .filter(|size| small.len() == single.len() && *size <= LARGEST_SMALL);
        if let Some(size) = smallest {
            count.evidence.push(format!(
                "below {size} a single open unit loses half of the rate per halving of the size"
            ));
        }
        return (
            RandomOpenAu {
                count,
                smallest_efficient_write_bytes: smallest,
            },
            flat,
        );
    }
    let smallest = single
        .iter()
        .filter_map(|run| smallest_efficient(run, linear))
        .min();
    let evidence = match smallest {
        Some(size) => format!(
            "a single open unit already loses half of the rate per halving of the size: random writes reach half of the linear rate from {size} up"
        ),
        None => {
            "a single open unit already loses half of the rate per halving of the size".to_owned()
        }
    };
    let confidence = single.iter().map(|run| run.slow).fold(1.0, f64::min);
    (
        RandomOpenAu {
            count: OpenAu {
                verdict: if confidence >= 0.9 {
                    Verdict::Likely
                } else {
                    Verdict::NotVisible
                },
                unit_bytes: single.first().map(|run| run.unit),
                confidence,
                evidence: vec![evidence],
                ..OpenAu::default()
            },
            smallest_efficient_write_bytes: smallest.filter(|_| confidence >= 0.9),
        },
        false,
    )
}

/// Below this size, halvings in a row that leave little of the rate say that random writes are too
/// small, not that too many units are open.
const LARGEST_SMALL: Bytes = Bytes::kib(128);

fn small_writes_halve(run: &Trialled) -> bool {
    const HALVES: f64 = 0.6;
    const STEPS: usize = 3;
    let small: Vec<f64> = run
        .points
        .iter()
        .filter(|point| point.size <= LARGEST_SMALL)
        .map(|point| point.bytes_per_second)
        .collect();
    small
        .windows(STEPS + 1)
        .any(|rates| rates.windows(2).all(|pair| pair[1] <= HALVES * pair[0]))
}

/// The smallest size from which on random writes reach half of the linear rate.
fn smallest_efficient(run: &Trialled, linear: &[Trialled]) -> Option<Bytes> {
    let fewest = linear.iter().map(|run| run.open).min();
    let linear_rate = |size: Bytes| {
        let rates: Vec<f64> = linear
            .iter()
            .filter(|run| Some(run.open) == fewest && run.slow <= SLOW)
            .flat_map(|run| &run.points)
            .filter(|point| point.size.get().abs_diff(size.get()) * 2 <= size.get())
            .map(|point| point.bytes_per_second)
            .collect();
        // Without a linear run its own best rate stands in.
        median(&rates).or_else(|| {
            run.points
                .iter()
                .map(|p| p.bytes_per_second)
                .max_by(f64::total_cmp)
        })
    };
    // The first lines carry the clean-up of earlier runs.
    run.points
        .iter()
        .filter(|point| point.size.get() * 4 <= run.unit.get())
        .take_while(|point| {
            linear_rate(point.size).is_some_and(|rate| point.bytes_per_second >= HALF * rate)
        })
        .last()
        .map(|point| point.size)
}
