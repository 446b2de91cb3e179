//! The page from timed writes: a knee in the time by size, then the test that decides: writes of one
//! size on its multiples against writes half of it behind.
//!
//! A write of a page that straddles two of them costs two; one of twice the page, shifted by a page,
//! costs no more. So the page is the largest size at which the shift costs something, whatever else
//! bends the curve of times (a command cost, a path for small writes, a cache).

use super::{ENOUGH, WriteKnee, WriteTime, write_knee};
use crate::geometry::evidence::chance_of_larger;
use crate::geometry::stats::{median, trimmed_mean, trimmed_mean_error};
use crate::geometry::{Page, Verdict, throughput};
use crate::measure::page::Shifts;
use crate::measure::throughput::Timed;
use crate::units::Bytes;
use std::time::Duration;

/// Shifted writes take longer by this factor at least: less is what a stick makes of any detour.
const LEAST_RATIO: f64 = 1.15;

/// Chance of a larger rank sum at one look; three looks together stay below 1 %.
const LUCK: f64 = 0.003;

/// The ratio counts as the same when so many standard errors above it lies still below
/// [`LEAST_RATIO`].
const SURE: f64 = 2.5;

/// Looks at one size before it stays unclear.
pub const LOOKS: usize = 3;

/// Writes on either side that a look adds.
pub const WRITES_PER_LOOK: usize = 12;

/// "Confirmed" needs odds of 100 to 1 from the curve: twice ln 100 in BIC (Schwarz: the odds are
/// exp of half the difference).
const CONFIRMING: f64 = 9.21;

/// Pages are looked for up to here.
const LARGEST: Bytes = Bytes::kib(64);

/// Where neither the curve nor reads give a hint: one below the largest page, at which pages of twice
/// the size still show, because every second shifted write straddles one of them.
const FIRST_GUESS: Bytes = Bytes::kib(32);

/// What the shift did at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shift {
    /// It costs something: the page is at least this size.
    Slower,
    /// It costs nothing: the page is smaller.
    Same,
    /// It could not be told.
    Unclear,
}

struct Tested {
    size: Bytes,
    shift: Shift,
    ratio: f64,
    writes: usize,
}

/// Steers the write part.
pub struct Study {
    curve: Vec<WriteTime>,
    knee: Option<WriteKnee>,
    read: Page,
    tested: Vec<Tested>,
    smallest: Bytes,
    largest: Bytes,
}

impl Study {
    /// From the ladder of write times and what reads showed. `block` is the logical block, `largest`
    /// the longest request.
    pub fn new(timed: &[Timed], read: &Page, block: Bytes, largest: Bytes) -> Study {
        let curve = throughput::times(timed);
        let below: Vec<WriteTime> = curve
            .iter()
            .copied()
            .filter(|point| point.size <= Bytes(2 * LARGEST.get()))
            .collect();
        Study {
            knee: write_knee(&below),
            curve,
            read: read.clone(),
            tested: Vec::new(),
            smallest: Bytes(2 * block.get()),
            largest: largest.min(Bytes(2 * LARGEST.get())),
        }
    }

    /// The times by size.
    pub fn curve(&self) -> &[WriteTime] {
        &self.curve
    }

    /// The next size to be tested; `None` when the page is bracketed, or cannot be.
    pub fn next(&self) -> Option<Bytes> {
        let fits = |size: &Bytes| *size >= self.smallest && *size <= self.largest;
        let untested = |size: &Bytes| self.tested.iter().all(|t| t.size != *size);
        let above = |size: Bytes| Some(Bytes(2 * size.get()));
        let next = match (
            self.largest_with(Shift::Slower),
            self.largest_with(Shift::Unclear),
            self.smallest_same(),
        ) {
            (None, None, None) => Some(self.first_guess()),
            (Some(size), _, _) => above(size),
            // Below a page some shifted writes straddle two, others none.
            (None, Some(size), _) => above(size),
            (None, None, Some(size)) => Some(Bytes(size.get() / 2)),
        };
        next.filter(fits).filter(untested)
    }

    fn first_guess(&self) -> Bytes {
        let knee = self.knee.filter(|knee| knee.advantage > ENOUGH);
        knee.map(|knee| knee.page)
            .or(self.read.bytes)
            // A knee at 96 KiB is one between two powers.
            .map_or(FIRST_GUESS, |size| Bytes(size.get().next_power_of_two()))
            .min(LARGEST)
    }

    fn largest_with(&self, shift: Shift) -> Option<Bytes> {
        let sizes = self.tested.iter().filter(|t| t.shift == shift);
        sizes.map(|t| t.size).max()
    }

    fn smallest_same(&self) -> Option<Bytes> {
        let sizes = self.tested.iter().filter(|t| t.shift == Shift::Same);
        sizes.map(|t| t.size).min()
    }

    /// What the writes of one size say so far.
    pub fn judge(shifts: &Shifts) -> (Shift, f64) {
        let seconds =
            |times: &[Duration]| -> Vec<f64> { times.iter().map(Duration::as_secs_f64).collect() };
        let (aligned, shifted) = (seconds(&shifts.aligned), seconds(&shifts.shifted));
        let base = trimmed_mean(&aligned);
        if aligned.len().min(shifted.len()) < 9 || base <= 0.0 {
            return (Shift::Unclear, 1.0);
        }
        let ratio = trimmed_mean(&shifted) / base;
        let middle = median(&shifted) / median(&aligned).max(f64::MIN_POSITIVE);
        let error =
            ratio * trimmed_mean_error(&aligned).hypot(trimmed_mean_error(&shifted) / ratio) / base;
        let luck = chance_of_larger(&shifted, &aligned);
        let shift = if ratio >= LEAST_RATIO && middle >= LEAST_RATIO && luck < LUCK {
            Shift::Slower
        } else if ratio + SURE * error < LEAST_RATIO {
            Shift::Same
        } else {
            Shift::Unclear
        };
        (shift, ratio)
    }

    /// The final word on one size.
    pub fn observe(&mut self, size: Bytes, shifts: &Shifts) {
        let (shift, ratio) = Study::judge(shifts);
        self.tested.push(Tested {
            size,
            shift,
            ratio,
            writes: shifts.aligned.len().min(shifts.shifted.len()),
        });
    }

    /// The page, from reads and writes together.
    pub fn finish(self) -> Page {
        if self.curve.is_empty() {
            return self.read;
        }
        let mut evidence = vec![self.knee_sentence()];
        evidence.extend(self.tested.iter().map(shift_sentence));
        let page = self.bracketed();
        let knee = self
            .knee
            .filter(|knee| knee.advantage > ENOUGH && Some(knee.page) == page);
        let reads_agree = page.is_some() && self.read.bytes == page;
        // Where the size above is too long for one request, the curve has to say that much.
        let closed = self.smallest_same().is_some();
        let unclear = self.tested.iter().any(|t| t.shift == Shift::Unclear);
        if page.is_none()
            && unclear
            && self.read.verdict.is_told()
            && self.smallest_same() != self.read.bytes
        {
            // Writes that scatter too much take nothing away from what reads show.
            let mut read = self.read;
            read.evidence.append(&mut evidence);
            return read;
        }
        let Some(page) = page.filter(|_| closed || knee.is_some()) else {
            evidence.extend(self.read.evidence.iter().cloned());
            return Page {
                verdict: Verdict::NotVisible,
                evidence,
                ..Page::default()
            };
        };
        let confirmed =
            closed && (reads_agree || knee.is_some_and(|knee| knee.advantage >= CONFIRMING));
        let sub_page = [self.read.bytes, self.read.sub_page_bytes]
            .into_iter()
            .flatten()
            .filter(|step| *step < page)
            .max();
        evidence.extend(self.read.evidence.iter().cloned());
        Page {
            verdict: if confirmed {
                Verdict::Confirmed
            } else {
                Verdict::Likely
            },
            bytes: Some(page),
            sub_page_bytes: sub_page,
            // Two brackets of at most 1 % luck each; a second kind of evidence of 1 % besides.
            confidence: if confirmed { 0.9998 } else { 0.98 },
            evidence,
        }
    }

    /// The largest size at which the shift costs something, when nothing contradicts.
    fn bracketed(&self) -> Option<Bytes> {
        let page = self.largest_with(Shift::Slower)?;
        let above = Bytes(2 * page.get());
        let closed = self.smallest_same() == Some(above) || above > self.largest;
        closed.then_some(page)
    }

    fn knee_sentence(&self) -> String {
        match self.knee {
            Some(knee) if knee.advantage > ENOUGH => format!(
                "write times are flat below {} and grow above (BIC difference to a straight line {:.1}, {ENOUGH} needed)",
                knee.page, knee.advantage
            ),
            _ => "write times grow with the size along a straight line: no knee".to_owned(),
        }
    }
}

fn shift_sentence(tested: &Tested) -> String {
    let (size, half) = (tested.size, Bytes(tested.size.get() / 2));
    let what = match tested.shift {
        Shift::Slower => "so they straddle pages",
        Shift::Same => "so pages are smaller",
        Shift::Unclear => "which decides nothing",
    };
    format!(
        "writes of {size} that lie {half} off their grid take {:.2} times as long ({} of each), {what}",
        tested.ratio, tested.writes
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifts(aligned: f64, shifted: f64) -> Shifts {
        let times = |mean: f64| -> Vec<Duration> {
            (0..12)
                .map(|n| Duration::from_secs_f64(mean * (1.0 + 0.01 * f64::from(n % 5))))
                .collect()
        };
        Shifts {
            aligned: times(aligned),
            shifted: times(shifted),
        }
    }

    /// A stick with this page, where a straddling write costs twice.
    fn stick(page: Bytes, size: Bytes) -> Shifts {
        shifts(2e-3, if size <= page { 3e-3 } else { 2e-3 })
    }

    fn ladder(page: u64) -> Vec<Timed> {
        [1, 2, 4, 8, 16, 32, 64, 128]
            .into_iter()
            .flat_map(|kib| {
                let micros = 500 + 40 * kib.max(page) + if kib < page { 300 } else { 0 };
                (0..10).map(move |n| Timed {
                    size: Bytes::kib(kib),
                    time: Duration::from_micros(micros + n),
                })
            })
            .collect()
    }

    fn study(knee: u64, page: Bytes, read: &Page) -> Page {
        let mut study = Study::new(&ladder(knee), read, Bytes(512), Bytes::kib(512));
        while let Some(size) = study.next() {
            study.observe(size, &stick(page, size));
        }
        study.finish()
    }

    #[test]
    fn the_page_is_the_largest_size_at_which_a_shift_costs() {
        for (knee, page) in [(16, 16), (16, 4), (8, 32), (32, 64)] {
            let found = study(knee, Bytes::kib(page), &Page::default());
            assert_eq!(found.bytes, Some(Bytes::kib(page)), "{found:#?}");
            let expected = if knee == page {
                Verdict::Confirmed
            } else {
                Verdict::Likely
            };
            assert_eq!(found.verdict, expected);
        }
    }

    #[test]
    fn without_a_cost_of_shifts_a_knee_is_no_page() {
        let found = study(16, Bytes(512), &Page::default());
        assert_eq!((found.verdict, found.bytes), (Verdict::NotVisible, None));
    }

    #[test]
    fn a_read_step_that_writes_do_not_know_is_no_page() {
        let read = Page {
            verdict: Verdict::Likely,
            bytes: Some(Bytes::kib(8)),
            ..Page::default()
        };
        let flat = study(0, Bytes(512), &read);
        assert_eq!((flat.verdict, flat.bytes), (Verdict::NotVisible, None));
        let larger = study(0, Bytes::kib(16), &read);
        assert_eq!(
            (larger.bytes, larger.sub_page_bytes),
            (Some(Bytes::kib(16)), Some(Bytes::kib(8)))
        );
        let same = study(0, Bytes::kib(8), &read);
        assert_eq!(same.verdict, Verdict::Confirmed, "{same:#?}");
    }

    #[test]
    fn without_a_hint_all_sizes_below_a_first_guess_are_tried() {
        let found = study(0, Bytes::kib(4), &Page::default());
        assert_eq!(found.bytes, Some(Bytes::kib(4)), "{found:#?}");
        assert_eq!(found.verdict, Verdict::Likely);
        let none = study(0, Bytes(512), &Page::default());
        assert_eq!((none.verdict, none.bytes), (Verdict::NotVisible, None));
        assert!(none.evidence[0].contains("no knee"));
    }

    #[test]
    fn a_page_too_long_for_twice_its_size_in_one_request_needs_a_knee() {
        for (knee, told) in [(64, true), (0, false)] {
            let largest = Bytes::kib(120);
            let mut timed = ladder(knee);
            timed.retain(|t| t.size <= largest);
            timed.extend((0..9).map(|n| Timed {
                size: Bytes::kib(96),
                time: Duration::from_micros(500 + 40 * 96 + n),
            }));
            let mut study = Study::new(&timed, &Page::default(), Bytes(512), largest);
            while let Some(size) = study.next() {
                study.observe(size, &stick(Bytes::kib(64), size));
            }
            let found = study.finish();
            assert_eq!(found.bytes.is_some(), told, "{found:#?}");
            assert_eq!(found.verdict == Verdict::Likely, told);
        }
    }

    #[test]
    fn an_unclear_size_is_passed_by_upwards_only() {
        let unclear = shifts(2e-3, 2.26e-3);
        assert_eq!(Study::judge(&unclear).0, Shift::Unclear);
        for (page, told) in [(64, true), (32, false)] {
            let mut study = Study::new(&ladder(0), &Page::default(), Bytes(512), Bytes::kib(128));
            while let Some(size) = study.next() {
                match size == Bytes::kib(32) {
                    true => study.observe(size, &unclear),
                    false => study.observe(size, &stick(Bytes::kib(page), size)),
                }
            }
            let found = study.finish();
            assert_eq!(found.bytes, told.then_some(Bytes::kib(page)), "{found:#?}");
        }
    }

    #[test]
    fn a_handful_of_stalls_does_not_make_a_shift_costly() {
        let mut stalled = shifts(2e-3, 2e-3);
        for n in [1, 7] {
            stalled.shifted[n] = Duration::from_millis(300);
        }
        assert_eq!(Study::judge(&stalled).0, Shift::Same);
    }
}
