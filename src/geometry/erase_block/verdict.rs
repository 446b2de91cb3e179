//! From the state of a search to a verdict with its reasons.

use super::chart::{ChartBar, chart};
use super::confirm::Confirmation;
use super::fine::Fine;
use super::grid::CELL;
use super::hypothesis::Hypothesis;
use super::posterior::{Leader, Posterior};
use super::search::{AtSize, Known};
use super::signal::{self, Blank};
use super::told::{self, told};
use super::untold::untold;
use crate::geometry::stats::median;
use crate::geometry::{EraseBlock, Verdict, Warning};
use crate::measure::meter::Stop;
use crate::topology::Transport;
use crate::units::Bytes;
use std::time::Duration;

/// "Confirmed" needs this probability of size and phase, besides the won bets.
const CONFIRMED: f64 = 0.99;

/// "Likely" needs this nominally. The word promises 0.9; but at a step of one standard deviation
/// about one in fifty verdicts between 0.9 and 0.99 was wrong (`cargo bench --bench inference`),
/// mostly by a factor of two, because real boundaries differ more than the model knows.
const LIKELY: f64 = 0.99;

/// Boundaries that were not tested have to cost more than other places by so many errors of the two
/// means: chance does that once in a thousand times.
const SEEN: f64 = 3.0;

/// Differences that a likely verdict needs at least.
const FEWEST: usize = 12;

/// A read of a few KiB over USB cannot be answered faster: one bulk command takes at least three
/// microframes of 125 µs on USB 2 and several tens of µs on USB 3.
const FASTEST_USB_READ: Duration = Duration::from_micros(20);

/// What ended the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// The verdict is there.
    Posterior,
    /// More reads would not tell more.
    Futility,
    /// The time limit.
    TimeLimit,
    /// The limit on written or programmed bytes.
    WriteLimit,
    /// Interrupted from outside.
    Interrupted,
    /// An access failed.
    IoError,
}

impl StoppedBy {
    /// The word of the report.
    pub fn word(self) -> &'static str {
        match self {
            StoppedBy::Posterior => "posterior",
            StoppedBy::Futility => "futility",
            StoppedBy::TimeLimit => "time_limit",
            StoppedBy::WriteLimit => "write_limit",
            StoppedBy::Interrupted => "interrupted",
            StoppedBy::IoError => "io_error",
        }
    }
}

impl From<&Stop> for StoppedBy {
    fn from(stop: &Stop) -> StoppedBy {
        match stop {
            Stop::TimeLimit => StoppedBy::TimeLimit,
            Stop::WriteLimit => StoppedBy::WriteLimit,
            Stop::Interrupted => StoppedBy::Interrupted,
            Stop::Hung { .. } | Stop::Failed(_) => StoppedBy::IoError,
        }
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The finding.
    pub erase_block: EraseBlock,
    /// Cost against boundary size, largest boundary first.
    pub chart: Vec<ChartBar>,
    /// What else the reader should know.
    pub warnings: Vec<Warning>,
    /// What ended the search.
    pub stopped_by: StoppedBy,
}

/// A size and phase whose bets are won.
pub(super) struct Winner {
    pub(super) size_index: usize,
    pub(super) unit: Bytes,
    pub(super) phase: Bytes,
    pub(super) triples: usize,
    pub(super) capital: f64,
}

/// Everything a verdict is drawn from.
pub(super) struct Record<'a> {
    pub(super) known: &'a Known,
    pub(super) sizes: &'a [AtSize],
    pub(super) winner: Option<&'a Winner>,
    pub(super) refuted: usize,
    pub(super) page: Option<Bytes>,
    pub(super) confirming: Option<&'a Confirmation>,
    pub(super) fine: Option<&'a Fine>,
    pub(super) blank: Blank,
    pub(super) disturbed: usize,
    pub(super) left_out: usize,
    pub(super) stop: Option<&'a Stop>,
    pub(super) stopped_by: StoppedBy,
}

/// Whether so small a size can be the erase block of a device of this capacity. Up to 1 GiB blocks of
/// 64 to 256 KiB were built (the 1 GB cards of the FlashCardSurvey are the last with 128 KiB); on
/// anything larger a step of that size is a page of several planes and channels.
pub(super) fn may_be_erase_block(unit: Bytes, capacity: Bytes) -> bool {
    unit >= CELL || capacity < Bytes::gib(1)
}

/// Whether "nothing visible" leads.
pub(super) fn is_flat(posterior: &Posterior) -> bool {
    posterior
        .leaders()
        .first()
        .is_none_or(|l| l.hypothesis == Hypothesis::NOTHING)
}

/// A few words for a progress line.
pub(super) fn standing(size: Option<&AtSize>, winner: Option<&Winner>) -> String {
    if let Some(winner) = winner {
        return format!("{} confirmed", winner.unit);
    }
    match size.and_then(|s| s.posterior.leaders().first().copied()) {
        Some(l) if l.probability >= 0.5 && l.hypothesis != Hypothesis::NOTHING => {
            format!(
                "{} at {:.0} %",
                bytes(l.hypothesis.unit),
                100.0 * l.probability
            )
        }
        Some(l) if l.probability >= 0.5 => "no boundary so far".to_owned(),
        _ => "open".to_owned(),
    }
}

/// The size of so many cells.
pub(super) fn bytes(cells: u32) -> Bytes {
    Bytes(u64::from(cells) * CELL.get())
}

/// A candidate for the verdict: a read size with its best size and phase.
pub(super) struct Candidate<'a> {
    pub(super) at: &'a AtSize,
    pub(super) leader: Leader,
    pub(super) unit: Bytes,
    pub(super) phase: Bytes,
}

/// Draw the verdict.
pub(super) fn conclude(record: Record<'_>) -> Found {
    let stopped_by = record.stop.map_or(record.stopped_by, StoppedBy::from);
    let mut warnings = warnings(&record);
    let candidate = candidate(&record);
    let mut evidence = Vec::new();
    let (erase_block, chart) = match &candidate {
        Some(candidate) if !implausibly_fast(&record) => {
            let verdict = if record.winner.is_some()
                && record.known.may_confirm
                && candidate.leader.probability >= CONFIRMED
                && !matches!(record.stop, Some(Stop::Hung { .. } | Stop::Failed(_)))
            {
                Verdict::Confirmed
            } else {
                Verdict::Likely
            };
            let found = told(&record, candidate, verdict, &mut evidence);
            (found, chart(candidate.at, candidate.unit, candidate.phase))
        }
        _ => untold(&record, &mut evidence, &mut warnings),
    };
    Found {
        erase_block: EraseBlock {
            evidence,
            ..erase_block
        },
        chart,
        warnings,
        stopped_by,
    }
}

/// The best size and phase, if any is probable enough to be told.
fn candidate<'a>(record: &Record<'a>) -> Option<Candidate<'a>> {
    if let Some(winner) = record.winner {
        let at = &record.sizes[winner.size_index];
        // A size below the search grid lives in the posterior as its visible multiple.
        let leader = leader_of(&at.posterior, winner.unit, winner.phase)?;
        if leader.probability >= LIKELY {
            return Some(Candidate {
                at,
                leader,
                unit: winner.unit,
                phase: winner.phase,
            });
        }
    }
    // Once a favourite lost a bet, the model is known to miss something: then only a size that
    // passed the test is told.
    if record.page.is_some() || record.refuted > 0 {
        return None;
    }
    record
        .sizes
        .iter()
        .filter(|at| at.posterior.count() >= FEWEST)
        .filter_map(|at| Some((at, *at.posterior.leaders().first()?)))
        .filter(|(_, l)| l.hypothesis != Hypothesis::NOTHING && l.probability >= LIKELY)
        .max_by(|a, b| a.1.probability.total_cmp(&b.1.probability))
        .map(|(at, leader)| Candidate {
            at,
            leader,
            unit: bytes(leader.hypothesis.unit),
            phase: bytes(leader.hypothesis.phase),
        })
        .filter(is_seen)
}

/// Whether the boundaries of a candidate do cost more than other places. Where the noise is like nothing
/// that the model knows, a few odd reads can make one probable whose boundaries cost nothing.
fn is_seen(candidate: &Candidate<'_>) -> bool {
    let ordinary = candidate.at.ordinary;
    let (on, off) = told::costs(candidate, |placed| ordinary.difference(placed));
    let [on, off] = [on, off].map(|costs| signal::centre(&costs, ordinary.late()));
    on.0 - off.0 > SEEN * on.1.hypot(off.1)
}

/// The most probable entry that is this size and phase. A size below the search grid lives in the
/// posterior as its visible multiple.
pub(super) fn leader_of(posterior: &Posterior, unit: Bytes, phase: Bytes) -> Option<Leader> {
    let whole = |l: &Leader| match unit.is_multiple_of(CELL) {
        true => bytes(l.hypothesis.unit) == unit && bytes(l.hypothesis.phase) == phase,
        false => {
            bytes(l.hypothesis.unit).is_multiple_of(unit)
                && bytes(l.hypothesis.phase).get() % unit.get() == phase.get()
        }
    };
    posterior
        .leaders()
        .into_iter()
        .filter(|l| l.hypothesis != Hypothesis::NOTHING)
        .find(whole)
}

/// Whether a cache was measured.
pub(super) fn implausibly_fast(record: &Record<'_>) -> bool {
    let times: Vec<f64> = record
        .known
        .singles
        .iter()
        .map(|s| s.time.as_secs_f64())
        .collect();
    record.known.facts.transport == Transport::Usb
        && !times.is_empty()
        && median(&times) < FASTEST_USB_READ.as_secs_f64()
}

/// Four decimals are all that the models are good for.
pub(super) fn rounded(probability: f64) -> f64 {
    (probability * 1e4).floor() / 1e4
}

fn warnings(record: &Record<'_>) -> Vec<Warning> {
    let mut list = Vec::new();
    if !record.known.may_confirm {
        list.push(Warning::new(
            "in_use",
            "the device is in use: others may disturb the times, so nothing is called confirmed",
        ));
    }
    if implausibly_fast(record) {
        list.push(Warning::new(
            "implausibly_fast",
            "reads over USB are answered in less than 20 µs: a cache was measured, the scan tells nothing",
        ));
    }
    if record.disturbed > 0 {
        list.push(Warning::new(
            "unsteady",
            format!("the speed of ordinary reads jumped by more than a fifth {} times; those reads were set aside", record.disturbed),
        ));
    }
    match record.stop {
        Some(Stop::Failed(error)) => list.push(Warning::new(
            "io_error",
            format!("the scan ended early: {error}"),
        )),
        Some(Stop::Hung { at, took }) => list.push(Warning::new(
            "hung",
            format!(
                "the scan ended early: one access at byte {} took {} s",
                at.get(),
                took.as_secs()
            ),
        )),
        _ => {}
    }
    list
}

/// A time in microseconds, with about four digits.
pub(super) fn micros(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e6)
        .trim_end_matches('0')
        .trim_end_matches('.')
        .chars()
        .take(if seconds.abs() < 1e-4 { 5 } else { 4 })
        .collect::<String>()
        .trim_end_matches('.')
        .to_owned()
        + " µs"
}
