//! The three sizes that are easily mixed up, each with its own name, and whose word they are.

use crate::geometry::{Page, Verdict};
use crate::output::report::Report;
use crate::topology::{Origin, Reported};
use crate::units::Bytes;

/// A name and its value.
pub(in crate::output) type Row = (&'static str, String);

/// Smallest efficient write, erase block, what the device says, and alignment to use, which comes
/// last.
pub(in crate::output) fn rows(report: &Report) -> Vec<Row> {
    let mut rows = vec![
        ("smallest efficient write", smallest_write(report)),
        ("erase block", erase_block(report)),
    ];
    if let Some(said) = reported(&report.device.reported) {
        rows.push(("the device says", said));
    }
    rows.push(("alignment to use", alignment(report)));
    rows
}

/// What a page is to the reader. `None` when it was not tested.
pub(in crate::output) fn about_pages(page: &Page) -> Option<&'static str> {
    if page.verdict == Verdict::NotTested || page.evidence.is_empty() {
        return None;
    }
    Some(if page.verdict.is_told() {
        "Flash is written in pages. A write that fills one only in part costs as much as a whole page, or more."
    } else {
        "Flash is written in pages. On some sticks nothing shows how large they are, and then no size is wrong."
    })
}

/// What card and kernel say, and whose word it is. `None` when they say nothing of use.
fn reported(reported: &Reported) -> Option<String> {
    /// A smaller discard granularity is about pages or the file system below, not about flash.
    const SMALLEST_DISCARD: Bytes = Bytes::kib(64);
    let preferred = reported.preferred_erase_size;
    let discard = reported
        .discard_granularity
        .filter(|size| *size >= SMALLEST_DISCARD && Some(*size) != preferred.map(|it| it.bytes));
    let said: Vec<String> = [
        reported
            .ssr_au_size
            .map(|size| format!("allocation unit {size} (SD status)")),
        preferred.map(|size| {
            let whose = match size.origin {
                Origin::Card => "the card's own word",
                Origin::CardOrKernelDefault => "declared, or the kernel's default",
            };
            format!("preferred erase size {} ({whose})", size.bytes)
        }),
        reported
            .optimal_io_size
            .map(|size| format!("optimal I/O size {size}")),
        discard.map(|size| format!("discard granularity {size}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!said.is_empty()).then(|| said.join(", "))
}

fn smallest_write(report: &Report) -> String {
    let page = &report.geometry.page;
    match (page.bytes.filter(|_| page.verdict.is_told()), page.verdict) {
        (Some(bytes), verdict) => {
            let sub = page
                .sub_page_bytes
                .map(|sub| format!(", with a step at {sub}"))
                .unwrap_or_default();
            format!("{bytes} ({verdict}){sub}")
        }
        (None, Verdict::NotTested) => "not tested: only writes show it".to_owned(),
        (None, _) => "could not be told".to_owned(),
    }
}

fn erase_block(report: &Report) -> String {
    let found = &report.geometry.erase_block;
    let mut value = match (
        found.bytes.filter(|_| found.verdict.is_told()),
        found.verdict,
    ) {
        (Some(bytes), verdict) => format!("{bytes} ({verdict})"),
        (None, Verdict::NotTested) => "not tested".to_owned(),
        (None, _) => "could not be told".to_owned(),
    };
    if let Some(phase) = found.phase_bytes.filter(|phase| *phase != Bytes::ZERO) {
        value += &format!(", boundaries from {phase} on");
    }
    if let Some(sub) = found.sub_unit_bytes {
        value += &format!(", with sub-units of {sub}");
    }
    // Where nothing is told, the best guess is none: it would be taken for an answer.
    if let Some(second) = found.runner_up_bytes.filter(|_| found.verdict.is_told()) {
        value += &format!("; the next best guess is {second}");
    }
    value
}

fn alignment(report: &Report) -> String {
    let grid = report.alignment.alignment;
    let block = report.device.logical_block.bytes();
    let sectors = |size: Bytes| size.get() / block.get();
    let mut value = format!(
        "{} = {} sectors of {} bytes",
        mib(grid.grain()),
        sectors(grid.grain()),
        block.get()
    );
    if grid.phase() != Bytes::ZERO {
        value += &format!(
            ", beginning at {} = sector {}",
            mib(grid.phase()),
            sectors(grid.phase())
        );
    }
    value
}

/// In MiB where that is exact to three decimals.
fn mib(size: Bytes) -> String {
    let thousandths = u128::from(size.get()) * 1000;
    let unit = u128::from(Bytes::mib(1).get());
    if thousandths.is_multiple_of(unit) {
        let thousandths = thousandths / unit;
        let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
        format!("{} MiB", text.trim_end_matches('0').trim_end_matches('.'))
    } else {
        size.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::PreferredEraseSize;

    #[test]
    fn what_the_device_says_is_shown_with_whose_word_it_is() {
        let preferred = |origin| PreferredEraseSize {
            bytes: Bytes::mib(4),
            origin,
        };
        let all = Reported {
            preferred_erase_size: Some(preferred(Origin::CardOrKernelDefault)),
            ssr_au_size: Some(Bytes::mib(16)),
            optimal_io_size: Some(Bytes::mib(1)),
            optimal_io_quirk: None,
            discard_granularity: Some(Bytes::mib(8)),
        };
        assert_eq!(
            reported(&all).unwrap(),
            "allocation unit 16 MiB (SD status), preferred erase size 4 MiB (declared, or the kernel's \
             default), optimal I/O size 1 MiB, discard granularity 8 MiB"
        );
        // One fact is said once, and a page is no erase block.
        for discard in [Bytes::mib(4), Bytes(512)] {
            let card = Reported {
                preferred_erase_size: Some(preferred(Origin::Card)),
                discard_granularity: Some(discard),
                ..Reported::default()
            };
            assert_eq!(
                reported(&card).unwrap(),
                "preferred erase size 4 MiB (the card's own word)"
            );
        }
        assert_eq!(reported(&Reported::default()), None);
    }

    #[test]
    fn the_alignment_is_in_mebibytes() {
        assert_eq!(mib(Bytes::mib(48)), "48 MiB");
        assert_eq!(mib(Bytes::kib(1536)), "1.5 MiB");
        assert_eq!(mib(Bytes::kib(512)), "0.5 MiB");
        assert_eq!(mib(Bytes::gib(2)), "2048 MiB");
        assert_eq!(mib(Bytes(512)), "512 B");
    }
}
