//! A size and phase is told: the finding, and the sentences that say why.

use super::grid::CELL;
use super::hypothesis::{Hypothesis, Level};
use super::signal::{PlacedTriple, centre, difference};
use super::verdict::{Candidate, Record, bytes, micros, rounded};
use crate::geometry::stats::median;
use crate::geometry::{EraseBlock, Source, Verdict, capacity};
use crate::units::{Alignment, Bytes};

/// A sub-unit is named from this probability on.
const SUB_NAMED: f64 = 0.9;

/// A size and phase is told.
pub(super) fn told(
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
    evidence.push(cost_sentence(candidate));
    let leaders = at.posterior.leaders();
    let runner_up = leaders.iter().find(|l| {
        l.hypothesis != Hypothesis::NOTHING
            && bytes(l.hypothesis.unit) != bytes(leader.hypothesis.unit)
    });
    evidence.push(match runner_up {
        Some(second) => format!(
            "probability of this size and phase: {:.4}; next best of all 1, 3, 5, 7 and 9 times a power of two is {} with {:.1e}",
            leader.probability,
            bytes(second.hypothesis.unit),
            second.probability
        ),
        None => format!(
            "probability of this size and phase: {:.4}; no other size is left",
            leader.probability
        ),
    });
    evidence.push(test_sentence(record));
    let sub = leader.hypothesis.sub_unit;
    let sub_unit =
        (sub != 0 && leader.sub_probability >= SUB_NAMED && *unit == bytes(leader.hypothesis.unit))
            .then(|| bytes(sub));
    evidence.extend(sub_unit.map(|sub_unit| sub_unit_sentence(candidate, sub_unit)));
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

/// The differences at the boundaries of a candidate, and at other places.
pub(super) fn costs(
    candidate: &Candidate<'_>,
    difference: impl Fn(&PlacedTriple) -> f64,
) -> (Vec<f64>, Vec<f64>) {
    let grid = Alignment::new(candidate.unit, candidate.phase);
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for placed in &candidate.at.triples {
        let is_boundary = grid.is_some_and(|g| g.contains(placed.triple.site.at));
        let list = if is_boundary { &mut on } else { &mut off };
        list.push(difference(placed));
    }
    (on, off)
}

/// What a boundary costs, and what other places do.
fn cost_sentence(candidate: &Candidate<'_>) -> String {
    let Candidate {
        at, unit, phase, ..
    } = candidate;
    let (on, off) = costs(candidate, |placed| difference(&placed.triple));
    let late = at.ordinary.late();
    let (cost, error) = centre(&on, late);
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
    format!(
        "a read of {} across a multiple of {unit}{phase_text} takes {} longer (± {}, {} places) on top of {}; at {} other places the difference is {}",
        at.read_size,
        micros(cost),
        micros(error),
        on.len(),
        micros(base),
        off.len(),
        micros(centre(&off, late).0),
    )
}

/// How the test on fresh places went.
fn test_sentence(record: &Record<'_>) -> String {
    match (record.winner, record.confirming) {
        (Some(winner), _) => format!(
            "confirmed on {} fresh triples: every second and every third boundary is one, and the places between are not of the same kind (each bet won at least {:.0} to 1)",
            winner.triples, winner.capital
        ),
        (None, _) if !record.known.may_confirm => {
            "not put to the test, because the device is in use and others may disturb the times"
                .to_owned()
        }
        (None, Some(test)) => format!(
            "the test on fresh places was not finished ({} triples)",
            test.triples()
        ),
        (None, None) => "the test on fresh places was not passed".to_owned(),
    }
}

/// What a boundary of the sub-unit costs.
fn sub_unit_sentence(candidate: &Candidate<'_>, sub_unit: Bytes) -> String {
    let is_sub = |at: Bytes| {
        let cell = u32::try_from(at.get() / CELL.get());
        at.is_multiple_of(CELL)
            && cell.is_ok_and(|c| candidate.leader.hypothesis.level(c) == Level::Sub)
    };
    let triples = candidate.at.triples.iter().map(|t| &t.triple);
    let cost: Vec<f64> = triples
        .filter(|t| is_sub(t.site.at))
        .map(difference)
        .collect();
    format!(
        "sub-units of {sub_unit} inside: crossing one costs {} ({} places)",
        micros(centre(&cost, candidate.at.ordinary.late()).0),
        cost.len()
    )
}
