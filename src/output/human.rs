//! A report for people: the verdict first, then why, then the sizes to use, what it cost, and what
//! to do next. At most 80 columns of plain ASCII, so that it reads the same over a serial line.
//!
//! Nobody reads "block size" in it: three sizes of a stick are easily mixed up, so each has its own
//! name here (smallest efficient write, erase block, alignment to use).

mod bars;
mod sizes;
mod start;
mod words;
mod writes;

use super::report::Report;
use super::telling;
use crate::quote::shell_word;
use crate::topology::Transport;
use std::path::Path;
use words::Text;

/// The whole report. `saved_as` is the file that it was saved in, if it was.
pub fn render(report: &Report, saved_as: Option<&Path>) -> String {
    let mut text = Text::new();
    device(report, &mut text);
    verdict(report, &mut text);
    why(report, &mut text);
    bars::draw(telling::bars::boundaries(report), &mut text);
    sizes::sizes(report, &mut text);
    sizes::page_evidence(report, &mut text);
    bars::draw(telling::bars::rates(report), &mut text);
    writes::open_units(report, &mut text);
    bars::draw(telling::bars::open_units(report), &mut text);
    writes::fat_area(report, &mut text);
    start::along_the_start(report, &mut text);
    warnings(report, &mut text);
    cost(report, &mut text);
    next(report, saved_as, &mut text);
    text.finish()
}

/// The verdict, the sizes, the warnings and the cost: what stands in front of a layout.
pub fn summary(report: &Report) -> String {
    let mut text = Text::new();
    device(report, &mut text);
    verdict(report, &mut text);
    sizes::sizes(report, &mut text);
    warnings(report, &mut text);
    cost(report, &mut text);
    text.finish()
}

/// What was found, in plain words and pictures, without the evidence.
pub fn findings(report: &Report) -> String {
    let mut text = Text::new();
    device(report, &mut text);
    verdict(report, &mut text);
    bars::draw(telling::bars::boundaries(report), &mut text);
    sizes::sizes(report, &mut text);
    writes::counts(report, &mut text);
    bars::draw(telling::bars::open_units(report), &mut text);
    start::along_the_start(report, &mut text);
    warnings(report, &mut text);
    cost(report, &mut text);
    text.finish()
}

/// The evidence alone.
pub fn reasons(report: &Report) -> String {
    let mut text = Text::new();
    why(report, &mut text);
    sizes::page_evidence(report, &mut text);
    writes::open_units(report, &mut text);
    writes::fat_area(report, &mut text);
    bars::draw(telling::bars::rates(report), &mut text);
    text.finish()
}

fn device(report: &Report, text: &mut Text) {
    let device = &report.device;
    match telling::name(device) {
        None => text.line(&device.path),
        Some(name) => text.line(&format!("{name} ({})", device.path)),
    }
    let mut facts = telling::facts(device);
    if let Some(serial) = &device.serial {
        facts.push(format!("serial {serial}"));
    }
    text.wrapped("  ", &facts.join(", "));
}

/// The headline, and what it means for the reader.
fn verdict(report: &Report, text: &mut Text) {
    let verdict = telling::verdict(report);
    text.gap();
    text.line(&verdict.headline);
    for paragraph in &verdict.meaning {
        text.wrapped("  ", paragraph);
    }
}

fn why(report: &Report, text: &mut Text) {
    let evidence = &report.geometry.erase_block.evidence;
    if evidence.is_empty() {
        return;
    }
    text.heading("Why");
    text.items(evidence);
}

fn warnings(report: &Report, text: &mut Text) {
    if report.warnings.is_empty() {
        return;
    }
    text.heading("Please note");
    let sentences: Vec<String> = report.warnings.iter().map(|w| w.text.clone()).collect();
    text.items(&sentences);
}

fn cost(report: &Report, text: &mut Text) {
    text.gap();
    text.wrapped("", &telling::cost(report));
}

fn next(report: &Report, saved_as: Option<&Path>, text: &mut Text) {
    text.heading("Next");
    let device = shell_word(&report.device.path);
    let is_log = report.device.transport == Transport::Log;
    let sudo = match report.device.transport {
        Transport::Simulated => "",
        _ => "sudo ",
    };
    if !is_log && report.warnings.iter().any(|w| w.code == "mostly_blank") {
        text.command(
            &format!("{sudo}flashfit scan {device} --write-tests destroy"),
            "write places first, then read them; destroys the contents",
        );
    }
    match saved_as {
        Some(file) if report.device.capacity.is_some() => {
            let file = shell_word(file);
            text.command(
                &format!("flashfit plan --report {file}"),
                "lay out partitions to fit",
            );
        }
        _ if is_log => {
            text.wrapped(
                "  ",
                "Add --capacity SIZE --report stick.json to this command, then lay out partitions with: flashfit plan --report stick.json",
            );
        }
        _ if report.device.transport == Transport::Simulated => {
            text.command(
                &format!("flashfit plan {device}"),
                "lay out partitions to fit",
            );
        }
        _ => text.command(
            &format!("sudo flashfit plan {device}"),
            "lay out partitions to fit",
        ),
    }
}

#[cfg(test)]
mod tests;
