//! What is there, and what is on it now? Nothing is timed, and nothing is written.

use crate::cli::{WRITE_LIMIT, WizardArgs};
use crate::error::Error;
use crate::output::devices::Device;
use crate::output::holds;
use crate::run::source::{self, Opened, SIMULATED};
use crate::run::{list, target, write_tests};
use crate::table::read::contents;
use crate::topology::{Facts, Transport};
use crate::units::LogicalBlock;
use crate::wizard::{Candidate, Looked, Nature};
use std::path::Path;

/// The devices that can be picked, and the others with their reasons; all, or those of these names.
pub fn find(args: &WizardArgs, names: &[String]) -> (Vec<Candidate>, Vec<Device>) {
    if !names.is_empty() {
        return find_named(args, names);
    }
    let (candidates, others): (Vec<Device>, Vec<Device>) =
        list::listed().into_iter().partition(Device::is_candidate);
    let candidates = candidates
        .into_iter()
        .map(|device| Candidate {
            holds: holds_of(&device.path, args.seed),
            device,
        })
        .collect();
    (candidates, others)
}

fn find_named(args: &WizardArgs, names: &[String]) -> (Vec<Candidate>, Vec<Device>) {
    let (mut candidates, mut others) = (Vec::new(), Vec::new());
    for name in names {
        match look(args, name) {
            Ok(looked) => candidates.push(looked.candidate),
            Err(error) => others.push(Device {
                path: name.clone(),
                refusal: Some(error.to_string()),
                ..of_facts(name, &unknown(name), Vec::new())
            }),
        }
    }
    (candidates, others)
}

/// A device that cannot be opened.
fn unknown(name: &str) -> Facts {
    Facts::bare(name, Transport::Unknown, None, LogicalBlock::B512)
}

/// What is on a device, as far as it can be read; nothing where it cannot.
fn holds_of(name: &str, seed: u64) -> String {
    match source::open(name, seed, "wizard") {
        Ok(mut opened) => what_is_on(&mut opened),
        Err(_) => String::new(),
    }
}

fn what_is_on(opened: &mut Opened) -> String {
    match contents(opened.device()) {
        Ok(contents) => holds::holds(&contents),
        Err(error) => format!("it cannot be read: {error}"),
    }
}

/// Look at one device.
///
/// # Errors
/// Everything that cannot even be read.
pub fn look(args: &WizardArgs, name: &str) -> Result<Looked, Error> {
    let mut opened = source::open(name, args.seed, "wizard")?;
    let facts = opened.device().facts().clone();
    let uses = opened.uses().iter().map(ToString::to_string).collect();
    let nature = if name.starts_with(SIMULATED) {
        Nature::Simulated
    } else if Path::new(name).is_file() {
        Nature::Image
    } else {
        Nature::Disk
    };
    let limit = args.write_limit.unwrap_or(WRITE_LIMIT);
    let write_limit = limit.in_bytes(facts.logical_block).ok_or_else(|| {
        Error::usage("--write-limit is beyond 2^64 bytes").hint("check the number of sectors")
    })?;
    let obstacle = target::check(name, args.sector_size, "wizard").err();
    Ok(Looked {
        candidate: Candidate {
            holds: what_is_on(&mut opened),
            device: of_facts(name, &facts, uses),
        },
        nature,
        obstacle: obstacle.map(|error| error.to_string()),
        caution: target::caution(&facts),
        write_limit,
        wear: write_tests::wear(write_limit, facts.capacity.unwrap_or_default()),
    })
}

/// A device that was opened, as it is listed.
fn of_facts(name: &str, facts: &Facts, in_use: Vec<String>) -> Device {
    Device {
        path: name.to_owned(),
        by_id: Vec::new(),
        by_path: Vec::new(),
        capacity: facts.capacity.unwrap_or_default(),
        transport: facts.transport,
        vendor: facts.vendor.clone(),
        model: facts.model.clone(),
        serial: facts.serial.clone(),
        usb_id: facts.usb_id.clone(),
        removable: facts.removable,
        in_use,
        notes: Vec::new(),
        refusal: None,
    }
}
