//! A report for people: the verdict first, then why, then the sizes to use, what it cost, and what
//! to do next. At most 80 columns of plain ASCII, so that it reads the same over a serial line.
//!
//! Nobody reads "block size" in it: three sizes of a stick are easily mixed up, so each has its own
//! name here (smallest efficient write, erase block, alignment to use).

mod chart;
mod rates;
mod sizes;
mod speeds;
mod words;
mod writes;

use super::report::Report;
use crate::geometry::{Source, Verdict};
use crate::topology::Transport;
use std::path::Path;
use words::{Text, amount, shell_word, times};

/// The whole report. `saved_as` is the file that it was saved in, if it was.
pub fn render(report: &Report, saved_as: Option<&Path>) -> String {
    let mut text = Text::new();
    device(report, &mut text);
    verdict(report, &mut text);
    why(report, &mut text);
    chart::chart(report, &mut text);
    sizes::sizes(report, &mut text);
    sizes::page_evidence(report, &mut text);
    rates::rates(report, &mut text);
    writes::open_units(report, &mut text);
    speeds::against_open_units(report, &mut text);
    writes::fat_area(report, &mut text);
    speeds::along_the_start(report, &mut text);
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
    chart::chart(report, &mut text);
    sizes::sizes(report, &mut text);
    writes::counts(report, &mut text);
    speeds::against_open_units(report, &mut text);
    speeds::along_the_start(report, &mut text);
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
    rates::rates(report, &mut text);
    text.finish()
}

fn device(report: &Report, text: &mut Text) {
    let device = &report.device;
    let name: Vec<&str> = [&device.vendor, &device.model]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    if name.is_empty() {
        text.line(&device.path);
    } else {
        text.line(&format!("{} ({})", name.join(" "), device.path));
    }
    let mut facts = vec![match device.capacity {
        Some(capacity) => amount(capacity),
        None => "capacity not known".to_owned(),
    }];
    facts.push(match device.transport {
        Transport::Simulated => "simulated".to_owned(),
        Transport::Log => "from a log".to_owned(),
        Transport::Image => "an image file".to_owned(),
        Transport::Unknown => "attached in an unknown way".to_owned(),
        other => format!("attached by {other}"),
    });
    if let Some(id) = &device.usb_id {
        facts.push(format!("USB id {id}"));
    }
    if let Some(serial) = &device.serial {
        facts.push(format!("serial {serial}"));
    }
    text.wrapped("  ", &facts.join(", "));
}

/// The headline, and what it means for the reader.
fn verdict(report: &Report, text: &mut Text) {
    let found = &report.geometry.erase_block;
    text.gap();
    let size = found.bytes.map(|bytes| bytes.to_string());
    let (headline, meaning) = match (found.verdict, size) {
        (Verdict::Confirmed, Some(size)) => (
            format!("The erase block is {size}: confirmed."),
            match report.device.transport {
                Transport::Log => "Scans of different kinds in the log agree.",
                _ => "Two independent tests agree, the second on places not read before.",
            }
            .to_owned(),
        ),
        (Verdict::Likely, Some(size)) => (
            format!("The erase block is {size}: likely."),
            match found.source {
                Source::Measured => format!(
                    "It was measured with a probability of {:.0} %, but not confirmed by a second test.",
                    (found.confidence * 100.0).floor()
                ),
                Source::Reported => "It was not measured: the device declares it.".to_owned(),
                Source::Factored => "It was not measured: it follows from the capacity.".to_owned(),
                Source::Assumed => "It was not measured.".to_owned(),
            },
        ),
        (Verdict::NotTested, _) => (
            "The erase block was not tested.".to_owned(),
            "The alignment below is a careful choice that suits nearly all media.".to_owned(),
        ),
        _ => (
            "The erase block could not be told.".to_owned(),
            "Many sticks hide it from reads. The alignment below is a careful choice that suits nearly all media."
                .to_owned(),
        ),
    };
    text.line(&headline);
    text.wrapped("  ", &meaning);
    if let Some(phase) = found.phase_bytes.filter(|phase| phase.get() != 0) {
        text.wrapped(
            "  ",
            &format!(
                "Its boundaries do not begin at the start of the device, but {phase} behind it."
            ),
        );
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
    let cost = &report.cost;
    text.gap();
    if report.device.transport == Transport::Log {
        text.wrapped("", "Read from a log: no device was touched.");
        return;
    }
    if cost.reads == 0 && cost.writes == 0 {
        text.wrapped("", "Nothing was measured, and nothing was written.");
        return;
    }
    // The time of the user is in the JSON: on a simulated stick it tells nothing, elsewhere it is
    // the same but for the arithmetic.
    let mut line = format!(
        "Cost: {}, {} in all, {:.2} s of {}.",
        times(cost.reads, "read"),
        cost.bytes_read,
        cost.device_time.as_secs_f64(),
        match report.device.transport {
            Transport::Simulated => "simulated time",
            _ => "reading and waiting",
        }
    );
    if let Some(stop) = cost.stopped_by {
        line += match stop.word() {
            "time_limit" => " The time limit ended it.",
            "write_limit" => " The limit on written bytes ended it.",
            "interrupted" => " It was interrupted.",
            "io_error" => " A failed access ended it.",
            "futility" => " More reads would not have told more.",
            _ => "",
        };
    }
    line += &if cost.writes == 0 {
        " Nothing was written.".to_owned()
    } else {
        format!(
            " {}, {} in all, were made.",
            times(cost.writes, "write"),
            cost.bytes_written
        )
    };
    text.wrapped("", &line);
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
            let file = shell_word(&file.to_string_lossy());
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
