//! What is behind the name that was typed: a simulated stick, a block device, or an image file.

use crate::device::simulated::{self, ProfileError, SimulatedStick};
use crate::device::sysfs::{self, Roots, Use};
use crate::device::{
    OpenError, OpenErrorKind, ReadDevice, SMALLEST_DEVICE, block, image, permission_text,
};
use crate::error::{Error, ExitCode};
use crate::units::LogicalBlock;
use std::path::{Path, PathBuf};

/// An open device.
pub enum Opened {
    /// A block device, and who else uses it.
    Block(Box<block::BlockDevice>, Vec<Use>),
    /// A plain file.
    Image(Box<image::ImageFile>),
    /// A stick that exists only here.
    Simulated(Box<SimulatedStick>),
}

/// In front of the name of a simulated stick.
pub(super) const SIMULATED: &str = "sim:";

/// Open a device for reading only. `seed` decides the noise of a simulated stick; `command` is what to
/// run again where the right to open it is missing.
///
/// # Errors
/// Everything that cannot be scanned, each with its own sentence and exit code.
pub fn open(name: &str, seed: u64, command: &str) -> Result<Opened, Error> {
    if name.is_empty() {
        return Err(Error::usage("the name of the device is empty").hint("run: flashfit list"));
    }
    if let Some(spec) = name.strip_prefix(SIMULATED) {
        let stick = simulated::open(spec, seed).map_err(|error| of_profile(&error))?;
        if stick.capacity() < SMALLEST_DEVICE {
            return Err(of_open(&OpenError::TooSmall {
                path: name.to_owned(),
                size: stick.capacity(),
            }));
        }
        return Ok(Opened::Simulated(Box::new(stick)));
    }
    let explain = |error: OpenError| match &error {
        OpenError::Permission { path, group } => {
            Error::failed(permission_text(path, group.as_deref(), command))
        }
        _ => of_open(&error),
    };
    let path = Path::new(name);
    // Looked at, not opened: some nodes (the replay-protected area of an eMMC) must not be.
    if path.is_file() {
        // A file does not tell its logical block; 512 is what nearly all media have.
        let image = image::open(path, LogicalBlock::B512).map_err(explain)?;
        return Ok(Opened::Image(Box::new(image)));
    }
    let device = block::open(path).map_err(explain)?;
    let uses = sysfs::in_use(&Roots::system(), device.disk());
    Ok(Opened::Block(Box::new(device), uses))
}

/// The files that opening this name reads, whether they exist or not.
pub fn files_of(name: &str) -> Vec<PathBuf> {
    let Some(spec) = name.strip_prefix(SIMULATED) else {
        return vec![PathBuf::from(name)];
    };
    // A serial number may follow the path of a profile.
    let path = spec.rsplit_once('#').map_or(spec, |(path, _)| path);
    vec![PathBuf::from(spec), PathBuf::from(path)]
}

impl Opened {
    /// The device, for reading.
    pub fn device(&mut self) -> &mut dyn ReadDevice {
        match self {
            Opened::Block(device, _) => device.as_mut(),
            Opened::Image(image) => image.as_mut(),
            Opened::Simulated(stick) => stick.as_mut(),
        }
    }

    /// Who else uses it.
    pub fn uses(&self) -> &[Use] {
        match self {
            Opened::Block(_, uses) => uses,
            Opened::Image(_) | Opened::Simulated(_) => &[],
        }
    }

    /// Whether another medium is in there than the one that was opened.
    pub fn was_exchanged(&self) -> bool {
        match self {
            Opened::Block(device, _) => {
                let before = device.facts().diskseq;
                // A disk that is gone has no number; its reads tell.
                before.is_some()
                    && device
                        .disk_sequence_now()
                        .is_some_and(|now| Some(now) != before)
            }
            Opened::Image(_) | Opened::Simulated(_) => false,
        }
    }

    /// Whether its times are those of flash, real or simulated.
    pub fn is_flash(&self) -> bool {
        !matches!(self, Opened::Image(_))
    }

    /// Whether it keeps its own clock, so that a scan of minutes is over at once.
    pub fn is_simulated(&self) -> bool {
        matches!(self, Opened::Simulated(_))
    }
}

/// The exit code of a device that cannot be opened.
pub(super) fn of_open(error: &OpenError) -> Error {
    let code = match error.kind() {
        OpenErrorKind::Failed => ExitCode::Failed,
        OpenErrorKind::Refused => ExitCode::Refused,
        OpenErrorKind::Io => ExitCode::Io,
    };
    Error::new(code, error.to_string())
}

/// A profile that cannot be used; the text says what to change in it.
pub(super) fn of_profile(error: &ProfileError) -> Error {
    let failed = Error::failed(error.to_string());
    match error {
        ProfileError::Unknown { .. } => failed,
        ProfileError::File { .. } => failed.hint("name a profile, such as sim:./my.toml"),
        ProfileError::Line { .. } | ProfileError::Value { .. } => {
            failed.hint("correct the profile; fixtures/README.md explains every key")
        }
    }
}
