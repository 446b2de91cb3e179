//! Nothing is told: the sentences that say why.

use super::chart::{ChartBar, chart};
use super::fine::Fine;
use super::hypothesis::Hypothesis;
use super::search::AtSize;
use super::signal::{Blank, blank_share};
use super::verdict::{Record, bytes, implausibly_fast, may_be_erase_block, micros, rounded};
use crate::geometry::stats::trimmed_mean;
use crate::geometry::{EraseBlock, Source, Verdict, Warning};
use crate::units::Bytes;

/// What is left of certainty when a small step is taken for the erase block: that it is no page is
/// a judgement from the capacity, not a measurement.
const SMALL_BLOCK_CONFIDENCE: f64 = 0.95;

/// More single reads than this share came back blank: worth a warning.
const MOSTLY_BLANK: f64 = 0.5;

/// From this share on there are too few other places to compare blank ones with.
const ALL_BLANK: f64 = 0.97;

/// A best guess below this probability is not worth naming.
const WORTH_NAMING: f64 = 0.1;

/// Nothing can be told of the search grid: look below it, then say why.
pub(super) fn untold(
    record: &Record<'_>,
    evidence: &mut Vec<String>,
    warnings: &mut Vec<Warning>,
) -> (EraseBlock, Vec<ChartBar>) {
    warnings.extend(never_written(record));
    let triples: usize = record.sizes.iter().map(|s| s.triples.len()).sum();
    if triples == 0 {
        evidence.push("no place was compared with its neighbours".to_owned());
        let tested = record.left_out > 0;
        if tested {
            say_blank(record, evidence);
        }
        let verdict = if tested {
            Verdict::NotVisible
        } else {
            Verdict::NotTested
        };
        return (
            EraseBlock {
                verdict,
                ..EraseBlock::default()
            },
            Vec::new(),
        );
    }
    if implausibly_fast(record) {
        evidence.push("the reads are answered faster than the bus allows: a cache was measured, not the flash".to_owned());
        return (
            EraseBlock {
                verdict: Verdict::NotVisible,
                ..EraseBlock::default()
            },
            Vec::new(),
        );
    }
    let below = below_the_grid(record, evidence);
    if let Some(found) = below {
        return (found, Vec::new());
    }
    evidence.extend(record.sizes.iter().filter_map(search_sentence));
    say_blank(record, evidence);
    let none = record
        .sizes
        .iter()
        .filter_map(|s| {
            s.posterior
                .leaders()
                .into_iter()
                .find(|l| l.hypothesis == Hypothesis::NOTHING)
        })
        .map(|l| l.probability)
        .fold(f64::INFINITY, f64::min);
    let runner_up = record
        .sizes
        .iter()
        .flat_map(|s| s.posterior.leaders())
        .filter(|l| l.hypothesis != Hypothesis::NOTHING && l.probability >= WORTH_NAMING)
        .max_by(|a, b| a.probability.total_cmp(&b.probability));
    let found = EraseBlock {
        verdict: Verdict::NotVisible,
        confidence: if none.is_finite() { rounded(none) } else { 0.0 },
        runner_up_bytes: runner_up.map(|l| bytes(l.hypothesis.unit)),
        ..EraseBlock::default()
    };
    let chart = record
        .sizes
        .first()
        .map(|at| chart(at, Bytes::mib(8), Bytes::ZERO))
        .unwrap_or_default();
    (found, chart)
}

/// Reads alone cannot tell a stick that was never written: what to do instead.
fn never_written(record: &Record<'_>) -> Option<Warning> {
    let share = blank_share(&record.known.singles);
    // Blank places that answer as slowly as others were written, with zeros.
    let unwritten = record.blank == Blank::Unmapped || share >= ALL_BLANK;
    (share > MOSTLY_BLANK && unwritten).then(|| {
        Warning::new(
            "mostly_blank",
            format!(
                "{:.0} % of the places came back blank, as on a stick that was never written; such places show no boundaries when they are only read. To have them written first: flashfit scan {} --write-tests destroy (or preserve, to keep what is on it)",
                100.0 * share,
                record.known.facts.path
            ),
        )
    })
}

/// A step below the search grid: the erase block of a small device, a page of a larger one.
fn below_the_grid(record: &Record<'_>, evidence: &mut Vec<String>) -> Option<EraseBlock> {
    if let Some(page) = record.page {
        evidence.push(format!(
            "boundaries are seen at multiples of {page}, but on a device of this size that is a page of several planes, not the erase block; larger steps cannot be told beside it"
        ));
    }
    let seen = record.fine.map(Fine::seen).unwrap_or_default();
    let (size, differences) = seen.first()?;
    let cost = micros(trimmed_mean(differences));
    if !may_be_erase_block(*size, record.known.capacity) {
        evidence.push(format!(
            "a step of {cost} at multiples of {size} is seen, but on a device of this size that is the page of several planes, not the erase block"
        ));
        return None;
    }
    evidence.push(format!(
        "a read across an odd multiple of {size} takes {cost} longer ({} places, odds of chance below 1 in 300); nothing larger shows",
        differences.len()
    ));
    Some(EraseBlock {
        verdict: Verdict::Likely,
        bytes: Some(*size),
        phase_bytes: Some(Bytes::ZERO),
        confidence: SMALL_BLOCK_CONFIDENCE,
        source: Source::Measured,
        ..EraseBlock::default()
    })
}

/// What the search at one read size came to.
fn search_sentence(at: &AtSize) -> Option<String> {
    let leaders = at.posterior.leaders();
    let leader = leaders.first()?;
    let noise = micros(at.posterior.scale());
    let (count, size, probability) = (at.posterior.count(), at.read_size, leader.probability);
    Some(if leader.hypothesis == Hypothesis::NOTHING {
        format!(
            "no step among {count} places with reads of {size} (noise of one difference {noise}, probability of none {probability:.3})"
        )
    } else {
        format!(
            "{count} places with reads of {size} do not decide (noise of one difference {noise}; best guess {} with {probability:.2})",
            bytes(leader.hypothesis.unit)
        )
    })
}

fn say_blank(record: &Record<'_>, evidence: &mut Vec<String>) {
    let share = blank_share(&record.known.singles);
    if share >= 0.995 {
        evidence.push("every place read came back blank: this device may never have been written, and then it has no boundaries to show".to_owned());
    } else if record.blank != Blank::Ordinary && share > 0.02 {
        evidence.push(format!(
            "{:.0} % of the places came back blank and were left out",
            100.0 * share
        ));
    }
}
