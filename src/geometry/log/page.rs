//! The page from the lower end of an alignment scan, or from write times where there is none.
//!
//! Reads that cross a page boundary take longer than their neighbours, so going down the lines, the
//! cost falls when alignments get smaller than a page. The deepest fall is the page; a further one
//! below is the sub-page.

use super::profile::repetition_error;
use super::robust::{deviation, median, standard_deviation};
use crate::geometry::page::step::{LEAST_FALL, Line, Step, step};
use crate::geometry::page::{self, ENOUGH, WriteTime};
use crate::geometry::{EraseBlock, Page, Verdict};
use crate::measure::flashbench_log::{AlignScan, OpenAuRun};
use crate::units::Bytes;

/// A scan that goes down to here would show any page.
const DEEP_ENOUGH: Bytes = Bytes::kib(4);
/// The shelf between page and erase block is measured between these.
const SHELF_FROM: Bytes = Bytes::kib(64);
const SHELF_TO: Bytes = Bytes::mib(1);
/// Shelves of more lines than this can do without one of them.
const FEWEST_SHELF_LINES: usize = 3;
/// A fall has to exceed the scatter by this, and the mean of the lines above it that of the lines below
/// it by as many of its own standard errors.
const LEAST_SIGMAS: f64 = 3.0;
const LEAST_CONTRAST: f64 = 5.0;
/// With a scatter above this share of a read the scan tells nothing about pages.
const UNREADABLE: f64 = 0.03;

/// Infer the page.
pub(super) fn infer(scans: &[&AlignScan], runs: &[&OpenAuRun], erase_block: &EraseBlock) -> Page {
    match from_reads(scans, erase_block) {
        Reading::Step(page) => page,
        Reading::NoStep(evidence) => Page {
            verdict: Verdict::NotVisible,
            evidence: vec![evidence],
            ..Page::default()
        },
        Reading::Unreadable(evidence) => {
            let mut page = from_writes(runs);
            if let Some(evidence) = evidence {
                page.evidence.insert(0, evidence);
                if page.verdict == Verdict::NotTested {
                    page.verdict = Verdict::NotVisible;
                }
            }
            page
        }
    }
}

enum Reading {
    Step(Page),
    /// A clean scan of all page sizes without a step: then writes cannot tell a page either.
    NoStep(String),
    Unreadable(Option<String>),
}

fn power_part(align: Bytes) -> Bytes {
    Bytes(1 << align.get().trailing_zeros().min(63))
}

fn odd_part(align: Bytes) -> u64 {
    align.get() / power_part(align).get()
}

/// The lines of one odd factor.
fn lines(scans: &[&AlignScan], odd: u64) -> Vec<Line> {
    let family = || {
        scans
            .iter()
            .flat_map(|scan| &scan.lines)
            .filter(|line| odd_part(line.align) == odd)
    };
    let mut aligns: Vec<Bytes> = family().map(|line| line.align).collect();
    aligns.sort_unstable_by(|a, b| b.cmp(a));
    aligns.dedup();
    aligns
        .into_iter()
        .filter_map(|align| {
            let costs: Vec<f64> = family()
                .filter(|line| line.align == align)
                .map(|line| line.difference.nanos / 1e3)
                .collect();
            Some(Line {
                align: power_part(align),
                cost: median(&costs)?,
            })
        })
        .collect()
}

fn from_reads(scans: &[&AlignScan], erase_block: &EraseBlock) -> Reading {
    let reaches = |scan: &AlignScan, odd: u64| {
        scan.lines
            .iter()
            .any(|line| odd_part(line.align) == odd && power_part(line.align) <= DEEP_ENOUGH)
    };
    // Powers of two first, then whatever ladder reaches the page sizes.
    let odd = scans
        .iter()
        .flat_map(|scan| scan.lines.iter().map(|line| odd_part(line.align)))
        .filter(|odd| scans.iter().any(|scan| reaches(scan, *odd)))
        .min();
    let Some(odd) = odd else {
        return Reading::Unreadable(None);
    };
    let deep: Vec<&AlignScan> = scans
        .iter()
        .copied()
        .filter(|scan| reaches(scan, odd))
        .collect();
    let combined = lines(&deep, odd);
    // Where no unit is told the likeliest one still says where the shelf may end.
    let shelf_end = erase_block
        .bytes
        .or(erase_block.runner_up_bytes.filter(|unit| *unit <= SHELF_TO))
        .map_or(SHELF_TO, |unit| Bytes(unit.get() / 2).min(SHELF_TO))
        .max(SHELF_FROM);
    let shelf: Vec<f64> = combined
        .iter()
        .filter(|line| line.align >= SHELF_FROM && line.align <= shelf_end)
        .map(|line| line.cost)
        .collect();
    let reads: Vec<f64> = deep
        .iter()
        .flat_map(|scan| &scan.lines)
        .filter_map(|line| Some(f64::midpoint(line.pre?.nanos, line.post?.nanos) / 1e3))
        .collect();
    let (Some(level), Some(base)) = (median(&shelf), median(&reads)) else {
        return Reading::Unreadable(Some(
            "the scan has no lines above the page sizes".to_owned(),
        ));
    };
    let repetition = repetition_error(&deep) / (deep.len() as f64).sqrt();
    // Five lines make a weak median deviation: their standard deviation has a say too, without the
    // line furthest off, which a stall or a wrapped place may have raised.
    let mut usual = shelf.clone();
    if usual.len() > FEWEST_SHELF_LINES {
        usual.sort_by(|a, b| (a - level).abs().total_cmp(&(b - level).abs()));
        usual.pop();
    }
    let scatter = deviation(&shelf)
        .unwrap_or(0.0)
        .max(0.8 * standard_deviation(&usual))
        .max(repetition)
        .max(0.002 * base);
    if scatter > UNREADABLE * base {
        return Reading::Unreadable(Some(format!(
            "the lines of the scan scatter by {scatter:.0} µs, too much to show a page (read {base:.0} µs)"
        )));
    }
    let least = (LEAST_SIGMAS * scatter).max(LEAST_FALL * base);
    let contrast = |lines: &[Line], found: &Step| {
        let (above, below): (Vec<&Line>, Vec<&Line>) = lines
            .iter()
            .filter(|line| line.align <= shelf_end)
            .partition(|line| line.align >= found.page);
        let mean = |lines: &[&Line]| {
            lines.iter().map(|line| line.cost).sum::<f64>() / lines.len().max(1) as f64
        };
        let error =
            scatter * (1.0 / above.len().max(1) as f64 + 1.0 / below.len().max(1) as f64).sqrt();
        // In a bump the lines below are the high ones.
        if found.bump {
            found.fall / scatter
        } else {
            (mean(&above) - mean(&below)) / error
        }
    };
    let combined = if deep.len() < 2 {
        without_spikes(combined, least)
    } else {
        combined
    };
    let contrast = |found: &Step| contrast(&combined, found);
    let found = step(&combined, level, least)
        .map(|found| (contrast(&found), found))
        .filter(|(contrast, _)| *contrast >= LEAST_CONTRAST);
    let Some((contrast, found)) = found else {
        return Reading::NoStep(format!(
            "from {SHELF_FROM} down to {} no line falls by {least:.0} µs (read {base:.0} µs)",
            combined.last().map_or(SHELF_FROM, |line| line.align)
        ));
    };
    let agreeing = deep
        .iter()
        .filter(|scan| {
            step(&lines(&[scan], odd), level, least).is_some_and(|own| own.page == found.page)
        })
        .count();
    // A tenth in doubt at the least contrast, and a tenth of that with each further scan that agrees.
    let repeated = i32::try_from(agreeing).unwrap_or(1).max(1) - 1;
    let confidence = 1.0 - 0.1 * (LEAST_CONTRAST / contrast).powi(2) * 0.1f64.powi(repeated);
    Reading::Step(Page {
        verdict: if agreeing >= 2 && confidence >= 0.99 {
            Verdict::Confirmed
        } else {
            Verdict::Likely
        },
        bytes: Some(found.page),
        sub_page_bytes: found.sub_page,
        confidence,
        evidence: vec![
            found.evidence(),
            format!(
                "{agreeing} of {} scans show the same step (scatter {scatter:.0} µs)",
                deep.len()
            ),
        ],
    })
}

/// A line of a single scan that is higher than both neighbours, while the one below is as high as the
/// one above, is a stall: the mean of the neighbours stands in. A page that ends there would leave
/// the lines below low, and a bump has two lines or is repeated.
fn without_spikes(mut lines: Vec<Line>, least: f64) -> Vec<Line> {
    /// The neighbours differ by less than this share of the spike's height.
    const ALIKE: f64 = 0.3;
    for i in 1..lines.len().saturating_sub(1) {
        let (above, own, below) = (lines[i - 1].cost, lines[i].cost, lines[i + 1].cost);
        let height = own - above.max(below);
        if lines[i].align <= SHELF_TO && height >= least && (above - below).abs() <= ALIKE * height
        {
            lines[i].cost = f64::midpoint(above, below);
        }
    }
    lines
}

/// Sizes of interest for the page in write times.
const LARGEST_WRITE: Bytes = Bytes::kib(128);

fn from_writes(runs: &[&OpenAuRun]) -> Page {
    // With one or two units open and in order nothing else bends the curve. A fragment without a
    // command line is taken for such a run.
    let usable: Vec<&&OpenAuRun> = runs
        .iter()
        .filter(|run| run.random != Some(true) && run.nr.is_none_or(|nr| nr <= 2))
        .collect();
    let fewest = usable.iter().filter_map(|run| run.nr).min();
    let mut best: Option<(page::WriteKnee, usize)> = None;
    let mut tested = 0;
    let mut agreeing = 0;
    for run in usable
        .iter()
        .filter(|run| run.nr.is_none() || run.nr == fewest)
    {
        let Some(knee) = page::write_knee(&curve(run, LARGEST_WRITE)) else {
            continue;
        };
        tested += 1;
        match best {
            Some((known, _)) if known.page == knee.page => agreeing += 1,
            Some((known, _)) if known.advantage >= knee.advantage => {}
            _ => {
                best = Some((knee, tested));
                agreeing = 1;
            }
        }
    }
    let Some((knee, _)) = best else {
        return Page {
            evidence: vec!["neither reads nor writes at page sizes in the log".to_owned()],
            ..Page::default()
        };
    };
    // Schwarz: the odds are exp(half the difference).
    let confidence = 1.0 / (1.0 + (-0.5 * knee.advantage).exp());
    let told = knee.advantage > ENOUGH && agreeing * 2 > tested;
    let evidence = format!(
        "write times {} a page of {} rather than a straight line (BIC difference {:.1}, {} needed)",
        if told { "show" } else { "do not show" },
        knee.page,
        knee.advantage,
        ENOUGH
    );
    Page {
        verdict: if told {
            Verdict::Likely
        } else {
            Verdict::NotVisible
        },
        bytes: told.then_some(knee.page),
        sub_page_bytes: None,
        confidence: if told { confidence } else { 0.0 },
        evidence: vec![evidence],
    }
}

/// The time of one write at each size up to `largest`.
pub(super) fn curve(run: &OpenAuRun, largest: Bytes) -> Vec<WriteTime> {
    run.lines
        .iter()
        .filter(|line| line.size <= largest && line.bytes_per_second > 0.0)
        .map(|line| WriteTime {
            size: line.size,
            seconds: line.size.get() as f64 / line.bytes_per_second,
        })
        .collect()
}
