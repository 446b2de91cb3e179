//! From the state of a search to a verdict with its reasons.

use super::confirm::Confirmation;
use super::fine::Fine;
use super::grid::CELL;
use super::hypothesis::{Hypothesis, Level};
use super::posterior::{Leader, Posterior};
use super::search::{AtSize, Known};
use super::signal::{Blank, blank_share, difference};
use crate::geometry::stats::{median, trimmed_mean, trimmed_mean_error};
use crate::geometry::{EraseBlock, Source, Verdict, Warning, capacity};
use crate::measure::meter::Stop;
use crate::topology::Transport;
use crate::units::{Alignment, Bytes};
use std::time::Duration;

/// "Confirmed" needs this probability of size and phase, besides the won bets.
const CONFIRMED: f64 = 0.99;

/// "Likely" needs this nominally. The word promises 0.9; but at a step of one standard deviation
/// about one in fifty verdicts between 0.9 and 0.99 was wrong (`cargo bench --bench inference`),
/// mostly by a factor of two, because real boundaries differ more than the model knows.
const LIKELY: f64 = 0.99;

/// A sub-unit is named from this probability on.
const SUB_NAMED: f64 = 0.9;

/// Differences that a likely verdict needs at least.
const FEWEST: usize = 12;

/// Below this capacity a visible step of 64 to 256 KiB is the erase block; above, such small blocks
/// are no longer built, and a step of that size is the page of several planes and channels.
const SMALL_BLOCKS_BELOW: Bytes = Bytes::gib(2);

/// A read of a few KiB over USB cannot be answered faster: one bulk command takes at least three
/// microframes of 125 µs on USB 2 and several tens of µs on USB 3.
const FASTEST_USB_READ: Duration = Duration::from_micros(20);

/// More single reads than this share came back blank: worth a warning.
const MOSTLY_BLANK: f64 = 0.5;

/// What ended the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// The verdict is there.
    Posterior,
    /// More reads would not tell more.
    Futility,
    /// The time limit.
    TimeLimit,
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
            StoppedBy::Interrupted => "interrupted",
            StoppedBy::IoError => "io_error",
        }
    }
}

/// One bar of the chart "cost against boundary size".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartBar {
    /// Places that are multiples of this, seen from the phase, but not of twice it.
    pub boundary: Bytes,
    /// Extra time of a read across such a place, in microseconds.
    pub cost_us: f64,
    /// Places measured.
    pub places: usize,
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
    pub(super) confirming: Option<&'a Confirmation>,
    pub(super) fine: Option<&'a Fine>,
    pub(super) blank: Blank,
    pub(super) disturbed: usize,
    pub(super) left_out: usize,
    pub(super) stop: Option<&'a Stop>,
    pub(super) stopped_by: StoppedBy,
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

fn bytes(cells: u32) -> Bytes {
    Bytes(u64::from(cells) * CELL.get())
}

/// A candidate for the verdict: a read size with its best size and phase.
struct Candidate<'a> {
    at: &'a AtSize,
    leader: Leader,
    unit: Bytes,
    phase: Bytes,
}

/// Draw the verdict.
pub(super) fn conclude(record: Record<'_>) -> Found {
    let stopped_by = match record.stop {
        None => record.stopped_by,
        Some(Stop::TimeLimit) => StoppedBy::TimeLimit,
        Some(Stop::Interrupted) => StoppedBy::Interrupted,
        Some(Stop::Failed(_)) => StoppedBy::IoError,
    };
    let mut warnings = warnings(&record);
    let candidate = candidate(&record);
    let mut evidence = Vec::new();
    let (erase_block, chart) = match &candidate {
        Some(candidate) if !implausibly_fast(&record) => {
            let verdict = if record.winner.is_some()
                && record.known.may_confirm
                && candidate.leader.probability >= CONFIRMED
                && !matches!(record.stop, Some(Stop::Failed(_)))
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

fn micros(seconds: f64) -> String {
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

/// A size and phase is told.
fn told(
    record: &Record<'_>,
    candidate: &Candidate<'_>,
    verdict: Verdict,
    evidence: &mut Vec<String>,
) -> EraseBlock {
    let Candidate {
        at,
        leader,
        unit,
        phase,
    } = candidate;
    let grid = Alignment::new(*unit, *phase);
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for placed in &at.triples {
        let is_boundary = grid.is_some_and(|g| g.contains(placed.triple.site.at));
        let list = if is_boundary { &mut on } else { &mut off };
        list.push(difference(&placed.triple));
    }
    let base = median(
        &at.triples
            .iter()
            .map(|t| t.triple.pre.as_secs_f64())
            .collect::<Vec<_>>(),
    );
    let phase_text = if *phase == Bytes::ZERO {
        String::new()
    } else {
        format!(" from {phase} on")
    };
    evidence.push(format!(
        "a read of {} across a multiple of {unit}{phase_text} takes {} longer (± {}, {} places) on top of {}; at {} other places the difference is {}",
        at.read_size,
        micros(trimmed_mean(&on)),
        micros(trimmed_mean_error(&on)),
        on.len(),
        micros(base),
        off.len(),
        micros(trimmed_mean(&off)),
    ));
    let leaders = at.posterior.leaders();
    let runner_up = leaders.iter().find(|l| {
        l.hypothesis != Hypothesis::NOTHING
            && bytes(l.hypothesis.unit) != bytes(leader.hypothesis.unit)
    });
    evidence.push(match runner_up {
        Some(second) => format!(
            "probability of this size and phase among {} tried: {:.4}; next best is {} with {:.1e}",
            "all of 1, 3, 5, 7 and 9 times a power of two",
            leader.probability,
            bytes(second.hypothesis.unit),
            second.probability
        ),
        None => format!(
            "probability of this size and phase: {:.4}; no other size is left",
            leader.probability
        ),
    });
    match record.winner {
        Some(winner) => evidence.push(format!(
            "confirmed on {} fresh triples: every second and every third boundary is one, and the places between are not of the same kind (each bet won at least {:.0} to 1)",
            winner.triples, winner.capital
        )),
        None if !record.known.may_confirm => {
            evidence.push("not put to the test, because the device is in use and others may disturb the times".to_owned());
        }
        None => match record.confirming {
            Some(c) => evidence.push(format!("the test on fresh places was not finished ({} triples)", c.triples())),
            None => evidence.push("the test on fresh places was not passed".to_owned()),
        },
    }
    let sub = leader.hypothesis.sub_unit;
    let sub_unit =
        (sub != 0 && leader.sub_probability >= SUB_NAMED && *unit == bytes(leader.hypothesis.unit))
            .then(|| bytes(sub));
    if let Some(sub_unit) = sub_unit {
        let cost: Vec<f64> = at
            .triples
            .iter()
            .map(|t| &t.triple)
            .filter(|t| {
                u32::try_from(t.site.at.get() / CELL.get())
                    .is_ok_and(|c| leader.hypothesis.level(c) == Level::Sub)
                    && t.site.at.is_multiple_of(CELL)
            })
            .map(difference)
            .collect();
        evidence.push(format!(
            "sub-units of {sub_unit} inside: crossing one costs {} ({} places)",
            micros(trimmed_mean(&cost)),
            cost.len()
        ));
    }
    evidence.push(capacity::capacity_evidence(*unit, record.known.capacity));
    evidence.extend(capacity::reported_evidence(
        *unit,
        &record.known.facts.reported,
    ));
    EraseBlock {
        verdict,
        bytes: Some(*unit),
        phase_bytes: Some(*phase),
        sub_unit_bytes: sub_unit,
        confidence: rounded(leader.probability),
        source: Source::Measured,
        runner_up_bytes: runner_up.map(|l| bytes(l.hypothesis.unit)),
        evidence: Vec::new(),
    }
}

/// Nothing can be told of the search grid: look below it, then say why.
fn untold(
    record: &Record<'_>,
    evidence: &mut Vec<String>,
    warnings: &mut Vec<Warning>,
) -> (EraseBlock, Vec<ChartBar>) {
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
    let seen = record.fine.map(Fine::seen).unwrap_or_default();
    if let Some((size, differences)) = seen.first() {
        let cost = micros(trimmed_mean(differences));
        if record.known.capacity < SMALL_BLOCKS_BELOW {
            evidence.push(format!(
                "a read across an odd multiple of {size} takes {cost} longer ({} places, odds of chance below 1 in 300); nothing larger shows",
                differences.len()
            ));
            let found = EraseBlock {
                verdict: Verdict::Likely,
                bytes: Some(*size),
                phase_bytes: Some(Bytes::ZERO),
                confidence: 0.95,
                source: Source::Measured,
                ..EraseBlock::default()
            };
            return (found, Vec::new());
        }
        evidence.push(format!(
            "a step of {cost} at multiples of {size} is seen, but on a device of this size that is the page of several planes, not the erase block"
        ));
    }
    for at in record.sizes {
        let leaders = at.posterior.leaders();
        let Some(leader) = leaders.first() else {
            continue;
        };
        let noise = micros(at.posterior.scale());
        evidence.push(if leader.hypothesis == Hypothesis::NOTHING {
            format!(
                "no step among {} places with reads of {} (noise of one difference {noise}, probability of none {:.3})",
                at.posterior.count(),
                at.read_size,
                leader.probability
            )
        } else {
            format!(
                "{} places with reads of {} do not decide (noise of one difference {noise}; best guess {} with {:.2})",
                at.posterior.count(),
                at.read_size,
                bytes(leader.hypothesis.unit),
                leader.probability
            )
        });
    }
    say_blank(record, evidence);
    if blank_share(&record.known.singles) > MOSTLY_BLANK {
        warnings.push(Warning::new(
            "mostly_blank",
            "most places came back blank: a stick that was never written shows no boundaries when it is only read",
        ));
    }
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
        .filter(|l| l.hypothesis != Hypothesis::NOTHING)
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

fn say_blank(record: &Record<'_>, evidence: &mut Vec<String>) {
    let share = blank_share(&record.known.singles);
    if share >= 0.995 {
        evidence.push("every place read came back blank: this device may never have been written, and then it has no boundaries to show".to_owned());
    } else if record.blank == Blank::Unmapped && share > 0.02 {
        evidence.push(format!(
            "{:.0} % of the places came back blank and were left out",
            100.0 * share
        ));
    }
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
    if let Some(Stop::Failed(error)) = record.stop {
        list.push(Warning::new(
            "io_error",
            format!("the scan ended early: {error}"),
        ));
    }
    list
}

fn implausibly_fast(record: &Record<'_>) -> bool {
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

/// Cost by exact divisibility, seen from the phase: from 8 times the unit down to its 32nd part.
fn chart(at: &AtSize, unit: Bytes, phase: Bytes) -> Vec<ChartBar> {
    let mut bars = Vec::new();
    let mut boundary = unit.get().saturating_mul(8);
    for _ in 0..9 {
        let costs: Vec<f64> = at
            .triples
            .iter()
            .map(|t| &t.triple)
            .filter(|t| {
                let place = t.site.at.get().wrapping_sub(phase.get());
                place % boundary == 0 && (place / boundary) % 2 == 1
            })
            .map(difference)
            .collect();
        if costs.len() >= 3 {
            bars.push(ChartBar {
                boundary: Bytes(boundary),
                cost_us: trimmed_mean(&costs) * 1e6,
                places: costs.len(),
            });
        }
        if boundary % 2 == 1 || boundary <= CELL.get() {
            break;
        }
        boundary /= 2;
    }
    bars
}

/// Four decimals are all that the models are good for.
fn rounded(probability: f64) -> f64 {
    (probability * 1e4).floor() / 1e4
}
