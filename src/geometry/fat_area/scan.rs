//! The search for special zones on a device: steps from its start against references from its
//! middle, in three patterns of small writes.

use super::SPECIAL;
use super::discoveries::{benjamini_hochberg, chance_of_difference};
use crate::geometry::stats::median;
use crate::geometry::{FatArea, Verdict, Zone, ZoneKind};
use crate::measure::fat_area::{Inquiry, Place, Times};
use crate::units::Bytes;

/// References at least.
pub const FEWEST_REFERENCES: usize = 4;
/// The search goes at least so far: known zones begin at 0 or 4 MiB.
const AT_LEAST: Bytes = Bytes::mib(12);
/// And over so many steps at least.
const FEWEST_STEPS: usize = 4;
/// It ends after so many unremarkable steps in a row.
const UNREMARKABLE: usize = 2;
/// Steps between one reference and the next: what changes in time shows in the references on both
/// sides of a step.
const STEPS_PER_REFERENCE: usize = 2;
/// Of the differences called significant at first, this share may be false; each is tested again.
const FALSE_DISCOVERIES: f64 = 0.01;
/// A second test must be at least this improbable by chance.
const AGAIN: f64 = 0.01;
/// References that differ by [`SPECIAL`] and are this improbable to be alike are not.
const UNLIKE: f64 = 0.001;
/// A step differs from the references next to it in time by at least this much, too.
const FROM_NEIGHBOURS: f64 = 1.3;

/// The patterns, by number.
const PATTERNS: [&str; 3] = ["random", "alternating", "linear"];

fn pattern(times: &Times, number: usize) -> &[f64] {
    match number {
        0 => &times.random,
        1 => &times.alternating,
        _ => &times.linear,
    }
}

/// One bar of the picture of speed along the start of the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Where the step begins.
    pub from: Bytes,
    /// Rates of random, alternating and linear writes relative to elsewhere.
    pub rates: [f64; 3],
    /// Whether it lies in a zone.
    pub special: bool,
}

/// How steps differ: for each pattern faster, slower or neither.
type Difference = [Option<ZoneKind>; 3];

/// The search.
pub struct Search {
    step: Bytes,
    steps: usize,
    references: usize,
    /// In the order of time.
    seen: Vec<(Place, Times)>,
    /// Steps that are tested again, by number.
    again: Vec<usize>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    First,
    /// This one of `again` is next.
    Again(usize),
    /// The reference after those.
    Last,
    Done,
}

impl Search {
    /// Over so many steps of this size and at most so many references.
    pub fn new(step: Bytes, steps: usize, references: usize) -> Search {
        Search {
            step,
            steps,
            references,
            seen: Vec::new(),
            again: Vec::new(),
            phase: Phase::First,
        }
    }

    fn steps_seen(&self) -> usize {
        let steps = self.first_seen();
        steps.len()
    }

    /// The first test of each step.
    fn first_seen(&self) -> Vec<usize> {
        let mut first: Vec<usize> = Vec::new();
        for (at, (place, _)) in self.seen.iter().enumerate() {
            if let Place::Step(n) = place
                && *n == first.len()
            {
                first.push(at);
            }
        }
        first
    }

    fn references_seen(&self) -> usize {
        self.seen
            .iter()
            .filter(|(place, _)| matches!(place, Place::Reference(_)))
            .count()
    }

    fn enough(&self) -> bool {
        let seen = self.steps_seen();
        let covered = self.step.get().saturating_mul(seen as u64) >= AT_LEAST.get();
        let quiet = || {
            let differences = self.differences(&self.first_seen(), FALSE_DISCOVERIES);
            differences
                .iter()
                .rev()
                .take(UNREMARKABLE)
                .all(|difference| difference.iter().all(Option::is_none))
        };
        seen >= self.steps || (seen >= FEWEST_STEPS && covered && quiet())
    }

    /// Patterns in which the references agree.
    fn steady(&self) -> [bool; 3] {
        let references: Vec<&Times> = self
            .seen
            .iter()
            .filter(|(place, _)| matches!(place, Place::Reference(_)))
            .map(|(_, times)| times)
            .collect();
        [0, 1, 2].map(|number| {
            references.iter().enumerate().all(|(i, one)| {
                references[..i].iter().all(|other| {
                    let (a, b) = (pattern(one, number), pattern(other, number));
                    let ratio = median(a) / median(b);
                    ratio.max(ratio.recip()) < SPECIAL || chance_of_difference(a, b) > UNLIKE
                })
            })
        })
    }

    /// How each of these tests of steps differs from the references.
    fn differences(&self, tests: &[usize], q: f64) -> Vec<Difference> {
        let steady = self.steady();
        let mut probabilities = Vec::new();
        let mut kinds = Vec::new();
        for at in tests {
            for (number, steady) in steady.iter().enumerate() {
                let (kind, probability) = self.against(*at, number);
                probabilities.push(probability);
                kinds.push(kind.filter(|_| *steady));
            }
        }
        let significant = benjamini_hochberg(&probabilities, q);
        let all: Vec<Option<ZoneKind>> = kinds
            .into_iter()
            .zip(significant)
            .map(|(kind, significant)| kind.filter(|_| significant))
            .collect();
        all.chunks_exact(3)
            .map(|chunk| [chunk[0], chunk[1], chunk[2]])
            .collect()
    }

    /// One test of a step in one pattern: which way it differs by enough from all references and
    /// from those next to it in time, and how improbable that is by chance.
    fn against(&self, at: usize, number: usize) -> (Option<ZoneKind>, f64) {
        let times = pattern(&self.seen[at].1, number);
        let is_reference = |test: &&(Place, Times)| matches!(test.0, Place::Reference(_));
        let all: Vec<f64> = self
            .seen
            .iter()
            .filter(is_reference)
            .flat_map(|(_, times)| pattern(times, number).iter().copied())
            .collect();
        let before = self.seen[..at].iter().rfind(is_reference);
        let after = self.seen[at..].iter().find(is_reference);
        let own = median(times);
        let kind = |ratio: f64, least: f64| {
            if ratio >= least {
                Some(ZoneKind::Slower)
            } else if ratio <= least.recip() {
                Some(ZoneKind::Faster)
            } else {
                None
            }
        };
        let which = kind(own / median(&all), SPECIAL);
        let near = [before, after]
            .into_iter()
            .flatten()
            .all(|(_, other)| kind(own / median(pattern(other, number)), FROM_NEIGHBOURS) == which);
        (which.filter(|_| near), chance_of_difference(times, &all))
    }

    /// The answer, from what was seen so far. `whole` tells that nothing ended the search early.
    pub fn finish(&self, whole: bool) -> FatArea {
        if self.references_seen() < FEWEST_REFERENCES || self.steps_seen() < FEWEST_STEPS {
            return FatArea::default();
        }
        let steady = self.steady();
        if !steady.contains(&true) {
            return FatArea {
                verdict: Verdict::NotVisible,
                evidence: vec![
                    "places in the middle of the device differ as much as the first megabytes may"
                        .to_owned(),
                ],
                ..FatArea::default()
            };
        }
        let (differences, contradicted) = self.confirmed();
        let zones = zones(&differences, self.step);
        let seen = self.steps_seen();
        let to_the_end = differences
            .last()
            .is_some_and(|last| last.iter().any(Option::is_some));
        let confirmed =
            !zones.is_empty() && whole && contradicted == 0 && !to_the_end && steady == [true; 3];
        let mut evidence = vec![format!(
            "{seen} steps of {} from the start against {} places in the middle, in three patterns of small writes",
            self.step,
            self.references_seen()
        )];
        evidence.extend(zones.iter().map(|zone| self.sentence(zone)));
        if contradicted > 0 {
            evidence.push(format!(
                "{contradicted} further steps differed once, and not again"
            ));
        }
        for (number, name) in PATTERNS.iter().enumerate() {
            if !steady[number] {
                evidence.push(format!(
                    "{name} writes differ in the middle of the device as well: not used"
                ));
            }
        }
        if !whole {
            evidence.push("the test ended early, by its limits".to_owned());
        }
        FatArea {
            verdict: if confirmed {
                Verdict::Confirmed
            } else if whole || !zones.is_empty() {
                Verdict::Likely
            } else {
                Verdict::NotVisible
            },
            confidence: if confirmed { 0.999 } else { 0.95 },
            zones,
            evidence,
        }
    }

    /// The differences of each step that a second test showed again, and how many it did not.
    fn confirmed(&self) -> (Vec<Difference>, usize) {
        let first = self.first_seen();
        let mut differences = self.differences(&first, FALSE_DISCOVERIES);
        let mut contradicted = 0;
        for (n, difference) in differences.iter_mut().enumerate() {
            let again = self
                .seen
                .iter()
                .enumerate()
                .rfind(|(at, (place, _))| *place == Place::Step(n) && *at != first[n])
                .map(|(at, _)| at);
            let had = difference.iter().any(Option::is_some);
            for (number, kind) in difference.iter_mut().enumerate() {
                let repeated = again.is_some_and(|at| {
                    let (second, probability) = self.against(at, number);
                    second == *kind && probability <= AGAIN
                });
                *kind = kind.filter(|_| repeated);
            }
            contradicted += usize::from(had && difference.iter().all(Option::is_none));
        }
        (differences, contradicted)
    }

    fn sentence(&self, zone: &Zone) -> String {
        let inside = |bar: &&Bar| zone.from_bytes <= bar.from && bar.from < zone.to_bytes;
        let bars = self.bars();
        let words: Vec<String> = PATTERNS
            .iter()
            .enumerate()
            .map(|(number, name)| {
                let rates: Vec<f64> = bars
                    .iter()
                    .filter(inside)
                    .map(|bar| bar.rates[number])
                    .collect();
                format!("{name} {:.2}", median(&rates))
            })
            .collect();
        format!(
            "{} to {}: rates relative to the middle of the device: {}",
            zone.from_bytes,
            zone.to_bytes,
            words.join(", ")
        )
    }

    /// The picture: rates of each step relative to the references.
    pub fn bars(&self) -> Vec<Bar> {
        let (differences, _) = self.confirmed();
        let reference = [0, 1, 2].map(|number| {
            let all: Vec<f64> = self
                .seen
                .iter()
                .filter(|(place, _)| matches!(place, Place::Reference(_)))
                .flat_map(|(_, times)| pattern(times, number).iter().copied())
                .collect();
            median(&all)
        });
        self.first_seen()
            .iter()
            .enumerate()
            .map(|(n, at)| Bar {
                from: Bytes(self.step.get().saturating_mul(n as u64)),
                rates: [0, 1, 2]
                    .map(|number| reference[number] / median(pattern(&self.seen[*at].1, number))),
                special: differences[n].iter().any(Option::is_some),
            })
            .collect()
    }
}

impl Inquiry for Search {
    fn next(&mut self) -> Option<Place> {
        let references = self.references_seen();
        let another = Place::Reference(references % self.references.max(1));
        loop {
            match self.phase {
                Phase::First => {
                    let due = 2 + self.steps_seen() / STEPS_PER_REFERENCE;
                    if references < due.min(2) || references < due {
                        return Some(another);
                    }
                    if !self.enough() {
                        return Some(Place::Step(self.steps_seen()));
                    }
                    if references < FEWEST_REFERENCES
                        || matches!(self.seen.last(), Some((Place::Step(_), _)))
                    {
                        return Some(another);
                    }
                    self.again = self
                        .differences(&self.first_seen(), FALSE_DISCOVERIES)
                        .iter()
                        .enumerate()
                        .filter(|(_, difference)| difference.iter().any(Option::is_some))
                        .map(|(n, _)| n)
                        .collect();
                    self.phase = Phase::Again(0);
                }
                Phase::Again(n) => match self.again.get(n) {
                    Some(step) => {
                        self.phase = Phase::Again(n + 1);
                        return Some(Place::Step(*step));
                    }
                    None if n > 0 => {
                        self.phase = Phase::Last;
                    }
                    None => self.phase = Phase::Done,
                },
                Phase::Last => {
                    self.phase = Phase::Done;
                    return Some(another);
                }
                Phase::Done => return None,
            }
        }
    }

    fn observe(&mut self, place: Place, times: &Times) {
        self.seen.push((place, times.clone()));
    }

    fn standing(&self) -> String {
        format!(
            "{} tested",
            Bytes(self.step.get().saturating_mul(self.steps_seen() as u64))
        )
    }
}

/// Steps in a row that differ in one way.
fn zones(differences: &[Difference], step: Bytes) -> Vec<Zone> {
    let kind = |difference: &Difference| {
        let has = |kind: ZoneKind| difference.contains(&Some(kind));
        match (has(ZoneKind::Faster), has(ZoneKind::Slower)) {
            (false, false) => None,
            (true, false) => Some(ZoneKind::Faster),
            (false, true) => Some(ZoneKind::Slower),
            (true, true) => Some(ZoneKind::Different),
        }
    };
    let place = |n: usize| Bytes(step.get().saturating_mul(n as u64));
    let mut zones: Vec<Zone> = Vec::new();
    for (n, difference) in differences.iter().enumerate() {
        let Some(kind) = kind(difference) else {
            continue;
        };
        match zones.last_mut() {
            Some(last) if last.to_bytes == place(n) && last.kind == kind => {
                last.to_bytes = place(n + 1);
            }
            _ => zones.push(Zone {
                from_bytes: place(n),
                to_bytes: place(n + 1),
                kind,
            }),
        }
    }
    zones
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of a place with this factor on each pattern, with a little noise.
    fn times(factors: [f64; 3], salt: usize) -> Times {
        let sample = |factor: f64, number: usize| -> Vec<f64> {
            (0..9)
                .map(|n| {
                    let noise = ((n * 37 + salt * 101 + number * 53) % 97) as f64 / 97.0;
                    factor * 0.002 * (1.0 + 0.1 * noise)
                })
                .collect()
        };
        Times {
            random: sample(factors[0], 0),
            alternating: sample(factors[1], 1),
            linear: sample(factors[2], 2),
        }
    }

    /// Search with these factors, by place and number of the test.
    fn search(step: Bytes, factors: impl Fn(Place, usize) -> [f64; 3]) -> (FatArea, usize) {
        let mut search = Search::new(step, 20, 6);
        let mut tests = 0;
        while let Some(place) = search.next() {
            search.observe(place, &times(factors(place, tests), tests));
            tests += 1;
            assert!(tests < 100);
        }
        (search.finish(true), tests)
    }

    #[test]
    fn a_slower_zone_behind_ordinary_steps_is_found_and_tested_twice() {
        let (area, tests) = search(Bytes::mib(2), |place, _| match place {
            Place::Step(2..=5) => [1.0, 1.0, 2.4],
            _ => [1.0; 3],
        });
        assert_eq!(area.verdict, Verdict::Confirmed);
        assert_eq!(
            area.zones,
            [Zone {
                from_bytes: Bytes::mib(4),
                to_bytes: Bytes::mib(12),
                kind: ZoneKind::Slower
            }]
        );
        // 8 steps, 4 of them again, and the references.
        assert!((18..=19).contains(&tests), "{tests}");
    }

    #[test]
    fn nothing_special_is_an_answer_and_costs_six_steps() {
        let (area, tests) = search(Bytes::mib(2), |_, _| [1.0; 3]);
        assert_eq!((area.verdict, area.zones.len()), (Verdict::Likely, 0));
        assert!(tests <= 12, "{tests}");
    }

    #[test]
    fn what_differs_only_once_is_no_zone() {
        let (area, _) = search(Bytes::mib(2), |place, test| match place {
            Place::Step(1) if test < 10 => [3.0; 3],
            _ => [1.0; 3],
        });
        assert_eq!((area.verdict, area.zones.len()), (Verdict::Likely, 0));
    }

    #[test]
    fn a_change_in_time_is_no_zone() {
        // Everything becomes three times slower after the sixth test.
        let (area, _) = search(
            Bytes::mib(2),
            |_, test| if test < 6 { [1.0; 3] } else { [3.0; 3] },
        );
        assert_eq!((area.verdict, area.zones.len()), (Verdict::NotVisible, 0));
    }

    #[test]
    fn faster_for_one_pattern_and_slower_for_another_is_different() {
        let (area, _) = search(Bytes::mib(4), |place, _| match place {
            Place::Step(0) => [0.5, 0.5, 2.0],
            _ => [1.0; 3],
        });
        assert_eq!(area.zones[0].kind, ZoneKind::Different);
        assert_eq!(area.zones[0].to_bytes, Bytes::mib(4));
    }
}
