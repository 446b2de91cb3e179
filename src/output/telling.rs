//! What a report tells people, before it is laid out: the same words, rows and bars go to a terminal
//! (`human`) and to a browser (`html`).
//!
//! | file | question |
//! |---|---|
//! | this one | what device is it, what is the verdict, what did it cost? |
//! | `bars` | what is drawn? |
//! | `sizes` | which sizes are told, and whose word are they? |
//! | `writes` | what did writes show? |
//! | `numbers` | how are times, sizes and rates written? |

pub(super) mod bars;
pub(super) mod numbers;
pub(super) mod sizes;
pub(super) mod writes;

use super::report::Report;
use crate::geometry::{Source, Verdict};
use crate::topology::{Facts, Transport};
use numbers::{amount, times};

/// Vendor and model as the device tells them; `None` when it tells neither.
pub(super) fn name(device: &Facts) -> Option<String> {
    let name: Vec<&str> = [&device.vendor, &device.model]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    (!name.is_empty()).then(|| name.join(" "))
}

/// What kind of device it is, one phrase each. The serial number is not among them.
pub(super) fn facts(device: &Facts) -> Vec<String> {
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
    facts
}

/// The verdict on the erase block.
pub(super) struct Headline {
    /// One sentence.
    pub(super) headline: String,
    /// What it means for the reader, a paragraph each.
    pub(super) meaning: Vec<String>,
}

/// The headline, and what it means for the reader.
pub(super) fn verdict(report: &Report) -> Headline {
    let found = &report.geometry.erase_block;
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
    let mut meaning = vec![meaning];
    if let Some(phase) = found.phase_bytes.filter(|phase| phase.get() != 0) {
        meaning.push(format!(
            "Its boundaries do not begin at the start of the device, but {phase} behind it."
        ));
    }
    Headline { headline, meaning }
}

/// What it cost, and what ended it.
pub(super) fn cost(report: &Report) -> String {
    let cost = &report.cost;
    if report.device.transport == Transport::Log {
        return "Read from a log: no device was touched.".to_owned();
    }
    if cost.reads == 0 && cost.writes == 0 {
        return "Nothing was measured.".to_owned();
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
        " Measuring wrote nothing.".to_owned()
    } else {
        format!(
            " {}, {} in all, were made.",
            times(cost.writes, "write"),
            cost.bytes_written
        )
    };
    line
}
