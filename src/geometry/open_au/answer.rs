//! What a climb tells, in the words of the report.

use super::climb::{Climb, Ending, Level};
use super::scan::{Bar, Found};
use crate::geometry::{Cutoff, OpenAu, Verdict, Warning};
use crate::measure::meter::Stop;
use crate::units::Bytes;

/// A rate that falls to no less than this over all numbers does not depend on them.
const FLAT: f64 = 0.9;
/// From here on it falls, if only bit by bit.
const NO_DECLINE: f64 = 0.8;

/// The picture, with a bar for one unit too many.
pub(super) fn bars(climb: &Climb<'_>, ended: &Result<Ending, Stop>, size: Bytes) -> Vec<Bar> {
    let bytes = size.get() as f64 * f64::from(climb.order.requests());
    let slow = match ended {
        Ok(Ending::Hard(bracket)) => Some((bracket.at_most + 1, bracket.slow)),
        _ => None,
    };
    let level = |level: &Level| (level.open, level.seconds);
    let levels = climb.levels.iter().map(level).chain(slow);
    levels
        .map(|(open, seconds)| Bar {
            open,
            rate: bytes / seconds,
        })
        .collect()
}

/// What the reader should know besides.
pub(super) fn warn(climb: &Climb<'_>, ended: &Result<Ending, Stop>, found: &mut Found) {
    let mut add = |code: &str, text: &str| {
        if !found.warnings.iter().any(|warning| warning.code == code) {
            found.warnings.push(Warning::new(code, text));
        }
    };
    if climb.shifts > 0 {
        add(
            "rate_changed",
            "the rate of writes changed by itself while open units were tested: a fast first part of the flash was full, or the stick became hot",
        );
    }
    if matches!(ended, Ok(Ending::Open(_))) && climb.evenness() >= FLAT {
        add(
            "may_be_hidden_by_cache",
            "the rate does not depend on how many units are written in turns: either the stick has no limit, or a cache hid it",
        );
    }
}

/// The count.
pub(super) fn answer(
    climb: &Climb<'_>,
    ended: &Result<Ending, Stop>,
    unit: Option<Bytes>,
) -> OpenAu {
    let count = |n: usize| u32::try_from(n).ok();
    let size = climb.size;
    let ms = |seconds: f64| format!("{:.1} ms", seconds * 1e3);
    let at = |open: usize| climb.at(open).unwrap_or(0.0);
    let blank = OpenAu {
        unit_bytes: unit,
        ..OpenAu::default()
    };
    match ended {
        Ok(Ending::Hard(bracket)) => OpenAu {
            verdict: Verdict::Confirmed,
            limit: count(bracket.at_least).filter(|_| bracket.at_least == bracket.at_most),
            at_least: count(bracket.at_least),
            at_most: count(bracket.at_most),
            cutoff: Some(Cutoff::Hard),
            confidence: bracket.confidence,
            evidence: vec![
                format!(
                    "{} units in turn: {} for each visit of {size}; {}: {} where one is closed first",
                    bracket.at_least,
                    ms(at(bracket.at_least)),
                    bracket.at_most + 1,
                    ms(bracket.slow)
                ),
                "both were seen twice, the second time with another unit".to_owned(),
            ],
            ..blank
        },
        Ok(Ending::Soft { limit, factor }) => OpenAu {
            verdict: Verdict::Confirmed,
            limit: count(*limit),
            at_least: count(*limit),
            at_most: count(*limit),
            cutoff: Some(Cutoff::Soft),
            confidence: 0.99,
            evidence: vec![
                format!(
                    "{limit} units in turn: {} for each visit of {size}; one more makes it {factor:.2} times as long",
                    ms(at(*limit))
                ),
                "the step came back twice when units were taken away and added again".to_owned(),
            ],
            ..blank
        },
        Ok(Ending::Open(most)) => OpenAu {
            verdict: Verdict::Likely,
            at_least: count(*most),
            cutoff: Some(if climb.decline() >= NO_DECLINE {
                Cutoff::None
            } else {
                Cutoff::Gradual
            }),
            confidence: 0.95,
            evidence: vec![format!(
                "no visit of {size} to {most} units in turn waits for a collection; the rate falls to {:.0} % of the best",
                climb.decline() * 100.0
            )],
            ..blank
        },
        Ok(Ending::Unclear(n)) => OpenAu {
            verdict: Verdict::NotVisible,
            evidence: vec![format!(
                "with {n} units the stick did not do the same twice"
            )],
            ..blank
        },
        // Clean passes over so many units were seen; what more would do was not.
        Err(_) => match climb.levels.last() {
            Some(last) if last.open > 1 => OpenAu {
                verdict: Verdict::Likely,
                at_least: count(last.open),
                confidence: 0.95,
                evidence: vec![format!(
                    "{} units in turn are fast; the test ended there by its limits",
                    last.open
                )],
                ..blank
            },
            _ => blank,
        },
    }
}
