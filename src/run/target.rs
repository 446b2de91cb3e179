//! What may be written behind the name that was typed: a simulated stick, a whole disk that nobody
//! else uses, or an image file.

use super::source::{self, SIMULATED};
use crate::device::block::{self, ExclusiveDevice};
use crate::device::image::{self, WritableImage};
use crate::device::simulated::{self, SimulatedStick};
use crate::device::sysfs::{self, Disk, Roots};
use crate::device::{Device, OpenError, ReadDevice, SMALLEST_DEVICE};
use crate::error::{Error, ExitCode};
use crate::topology::{Facts, Transport};
use crate::units::LogicalBlock;
use crate::wizard;
use std::path::Path;

/// A device that is open for writing. Nobody else can use it until this is dropped.
pub enum Target {
    /// A whole disk, claimed and locked.
    Block(Box<ExclusiveDevice>),
    /// A plain file, locked.
    Image(Box<WritableImage>),
    /// A stick that exists only here.
    Simulated(Box<SimulatedStick>),
}

/// A device that is open for reading, where writing is only played through.
pub enum Looked {
    /// A whole disk.
    Block(Box<block::BlockDevice>),
    /// A plain file.
    Image(Box<image::ImageFile>),
    /// A stick that exists only here.
    Simulated(Box<SimulatedStick>),
}

/// Whether this may be written, as far as that shows without opening it. Asked before anything that
/// takes long.
///
/// # Errors
/// Why it may not.
pub fn check(name: &str, block: Option<LogicalBlock>, command: &str) -> Result<(), Error> {
    if name.is_empty() {
        return Err(Error::usage("the name of the device is empty").hint("run: flashfit list"));
    }
    if Path::new(name).is_file() {
        return image::check_writable(Path::new(name)).map_err(|error| of_open(&error, command));
    }
    if block.is_some() {
        return Err(
            Error::usage("--sector-size is for image files, a device tells its own")
                .hint("leave it out"),
        );
    }
    if name.starts_with(SIMULATED) {
        return Ok(());
    }
    block::check_writable(Path::new(name)).map_err(|error| of_open(&error, command))
}

/// Open for writing. `seed` decides the noise of a simulated stick, `block` the sectors of an image.
///
/// # Errors
/// Everything that must not be written, each with its own sentence and exit code.
pub fn open(
    name: &str,
    seed: u64,
    block: Option<LogicalBlock>,
    command: &str,
) -> Result<Target, Error> {
    check(name, block, command)?;
    let explain = |error: OpenError| of_open(&error, command);
    if let Some(spec) = name.strip_prefix(SIMULATED) {
        return simulated(name, spec, seed).map(Target::Simulated);
    }
    let path = Path::new(name);
    if path.is_file() {
        let image = image::open_writable(path, block.unwrap_or(LogicalBlock::B512));
        return Ok(Target::Image(Box::new(image.map_err(explain)?)));
    }
    let device = block::open_exclusive(path).map_err(explain)?;
    Ok(Target::Block(Box::new(device)))
}

/// Open for reading only, for a dry run.
///
/// # Errors
/// Everything that cannot be read.
pub fn look(
    name: &str,
    seed: u64,
    block: Option<LogicalBlock>,
    command: &str,
) -> Result<Looked, Error> {
    let explain = |error: OpenError| of_open(&error, command);
    if let Some(spec) = name.strip_prefix(SIMULATED) {
        return simulated(name, spec, seed).map(Looked::Simulated);
    }
    let path = Path::new(name);
    if path.is_file() {
        let image = image::open(path, block.unwrap_or(LogicalBlock::B512));
        return Ok(Looked::Image(Box::new(image.map_err(explain)?)));
    }
    let device = block::open(path).map_err(explain)?;
    Ok(Looked::Block(Box::new(device)))
}

fn simulated(name: &str, spec: &str, seed: u64) -> Result<Box<SimulatedStick>, Error> {
    let stick = simulated::open(spec, seed).map_err(|error| source::of_profile(&error))?;
    if stick.capacity() < SMALLEST_DEVICE {
        return Err(source::of_open(&OpenError::TooSmall {
            path: name.to_owned(),
            size: stick.capacity(),
        }));
    }
    Ok(Box::new(stick))
}

/// As for reading, but the way out of a missing permission is the command that was typed.
fn of_open(error: &OpenError, command: &str) -> Error {
    match error {
        OpenError::Permission { path, group } => {
            let owner = match group {
                Some(group) => format!(" (it belongs to the group {group})"),
                None => String::new(),
            };
            Error::new(
                ExitCode::Failed,
                format!("no permission to write to {path}{owner}"),
            )
            .hint(format!(
                "run the same command with sudo: sudo flashfit {command} ..."
            ))
        }
        error => source::of_open(error),
    }
}

impl Target {
    /// Look once more before the first write, when somebody was asked in between: whether the name of
    /// an image still leads to the file that is open. A disk is claimed, and needs no second look.
    ///
    /// # Errors
    /// It was replaced, resized, or attached to a loop device.
    pub fn is_still(&self, name: &str) -> Result<(), Error> {
        let Target::Image(image) = self else {
            return Ok(());
        };
        match image.is_still(Path::new(name)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::refused(format!(
                "{name}: the file was replaced or resized since it was opened, nothing was written"
            ))
            .hint("run the same command again")),
            Err(error) => Err(source::of_open(&error)),
        }
    }

    /// The device.
    pub fn device(&mut self) -> &mut dyn Device {
        match self {
            Target::Block(device) => device.as_mut(),
            Target::Image(image) => image.as_mut(),
            Target::Simulated(stick) => stick.as_mut(),
        }
    }

    /// The device, for reading.
    pub fn reader(&mut self) -> &mut dyn ReadDevice {
        match self {
            Target::Block(device) => device.as_mut(),
            Target::Image(image) => image.as_mut(),
            Target::Simulated(stick) => stick.as_mut(),
        }
    }

    /// What it says of itself.
    pub fn facts(&self) -> &Facts {
        match self {
            Target::Block(device) => device.facts(),
            Target::Image(image) => image.facts(),
            Target::Simulated(stick) => stick.facts(),
        }
    }

    /// The disk, when it is one.
    pub fn disk(&self) -> Option<&ExclusiveDevice> {
        match self {
            Target::Block(device) => Some(device),
            Target::Image(_) | Target::Simulated(_) => None,
        }
    }

    /// How a person recognises it.
    pub fn for_people(&self, name: &str) -> wizard::Target {
        let disk = self.disk().map(|device| device.as_read_only().disk());
        describe(name, self.facts(), disk)
    }
}

impl Looked {
    /// The device.
    pub fn reader(&mut self) -> &mut dyn ReadDevice {
        match self {
            Looked::Block(device) => device.as_mut(),
            Looked::Image(image) => image.as_mut(),
            Looked::Simulated(stick) => stick.as_mut(),
        }
    }

    /// How a person recognises it.
    pub fn for_people(&self, name: &str) -> wizard::Target {
        match self {
            Looked::Block(device) => describe(name, device.facts(), Some(device.disk())),
            Looked::Image(image) => describe(name, image.facts(), None),
            Looked::Simulated(stick) => describe(name, stick.facts(), None),
        }
    }

    /// The disk, when it is one.
    pub fn disk(&self) -> Option<&Disk> {
        match self {
            Looked::Block(device) => Some(device.disk()),
            Looked::Image(_) | Looked::Simulated(_) => None,
        }
    }
}

/// All names of a device, and which others share them.
fn describe(name: &str, facts: &Facts, disk: Option<&Disk>) -> wizard::Target {
    let mut target = wizard::Target {
        name: name.to_owned(),
        other_names: Vec::new(),
        by_id: Vec::new(),
        serial: facts.serial.clone(),
        capacity: facts.capacity.unwrap_or_default(),
        logical_block: facts.logical_block,
        twins: Vec::new(),
    };
    if let Some(disk) = disk {
        let roots = Roots::system();
        let node = disk.node(&roots).to_string_lossy().into_owned();
        target.other_names = vec![node, disk.name().to_owned()];
        target.by_id = sysfs::by_id_names(&roots, disk);
        let twins = sysfs::twins(&roots, disk);
        target.twins = twins.iter().map(|twin| twin.name().to_owned()).collect();
    } else if let Some(last) = Path::new(name).file_name() {
        target.other_names = vec![last.to_string_lossy().into_owned()];
    }
    target
}

/// A sentence about a disk that is rarely meant.
pub fn caution(facts: &Facts) -> Option<String> {
    let inside = matches!(
        facts.transport,
        Transport::Ata | Transport::Nvme | Transport::Scsi | Transport::Virtio | Transport::Unknown
    );
    (inside && facts.removable != Some(true)).then(|| {
        format!(
            "{} is a built-in disk ({}), not a stick or a card: be sure that it is meant",
            facts.path, facts.transport
        )
    })
}
