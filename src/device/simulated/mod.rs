//! A simulated stick: the flash model behind a virtual clock.
//!
//! It answers as a [`ReadDevice`] and [`Device`]; every time comes from the profile and the
//! seed, none from the machine. The same profile, seed and sequence of accesses give the same
//! times. Nothing to the right of `device` may look inside: an inference sees times and bytes only.
//!
//! [`Device`]: super::Device

mod clock;
mod faults;
mod lru;
mod noise;
mod open_units;
pub mod profile;
mod read_model;
mod registry;
mod rng;
mod store;
mod write_model;

pub use profile::{Profile, ProfileError, builtin_names};
pub use write_model::Wear;

use super::{AccessError, Device, ReadDevice, check_access};
use crate::topology::Facts;
use crate::units::{ByteRange, Bytes};
use clock::Clock;
use faults::Faults;
use noise::Noise;
use read_model::ReadModel;
use registry::Medium;
use std::io::{self, Read};
use std::time::Duration;
use store::Store;
use write_model::WriteModel;

/// A stick that exists only here.
pub struct SimulatedStick {
    facts: Facts,
    capacity: Bytes,
    clock: Clock,
    noise: Noise,
    reader: ReadModel,
    writer: WriteModel,
    relative_sigma: f64,
    faults: Faults,
    medium: Medium,
}

/// Open what stands behind `sim:`: `NAME`, `NAME#SERIAL`, or the path of a profile (with a `/` or
/// ending in `.toml`), also with `#SERIAL`. `seed` decides the noise.
///
/// What is written lives as long as the process: opening the same name and serial number again
/// finds it. After the stick was pulled or its power cut, the next opening finds it working.
pub fn open(spec: &str, seed: u64) -> Result<SimulatedStick, ProfileError> {
    let (name, serial) = match spec.rsplit_once('#') {
        Some((name, serial)) => (name, Some(serial)),
        None => (spec, None),
    };
    let mut profile = load(name)?;
    if let Some(serial) = serial {
        profile = profile.with_serial(serial);
    }
    let medium = registry::medium(&profile);
    let mut stick = SimulatedStick::on(medium, &profile, seed);
    stick.facts.path = format!("sim:{spec}");
    Ok(stick)
}

/// No profile comes near this: the built-in ones have a few KiB.
const LONGEST_PROFILE: Bytes = Bytes::mib(1);

fn load(name: &str) -> Result<Profile, ProfileError> {
    if let Some(profile) = Profile::builtin(name) {
        return Ok(profile);
    }
    if !name.contains('/') && !name.ends_with(".toml") {
        return Err(ProfileError::Unknown {
            name: name.to_owned(),
            names: builtin_names().join(", "),
        });
    }
    let text = read(name).map_err(|error| ProfileError::File {
        path: name.to_owned(),
        reason: error.to_string(),
    })?;
    Profile::parse(&text, name)
}

/// The text of a profile. Looked at before it is opened: /dev/zero never ends, and a pipe waits.
fn read(name: &str) -> io::Result<String> {
    let too_long = || io::Error::other(format!("it is longer than {LONGEST_PROFILE}"));
    let found = std::fs::metadata(name)?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if found.len() > LONGEST_PROFILE.get() {
        return Err(too_long());
    }
    // Files of the kernel tell no size.
    let mut text = String::new();
    let most = LONGEST_PROFILE.get() + 1;
    std::fs::File::open(name)?
        .take(most)
        .read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_PROFILE.get() {
        return Err(too_long());
    }
    Ok(text)
}

impl SimulatedStick {
    /// A new stick whose contents are its own. `seed` decides the noise.
    pub fn new(profile: &Profile, seed: u64) -> SimulatedStick {
        SimulatedStick::on(Medium::new(Store::new(profile)), profile, seed)
    }

    fn on(medium: Medium, profile: &Profile, seed: u64) -> SimulatedStick {
        let mut faults = Faults::new(&profile.faults);
        if medium.was_pulled() {
            faults.replug();
        }
        SimulatedStick {
            facts: profile.facts(),
            capacity: profile.capacity,
            clock: Clock::new(profile.noise.quantum),
            noise: Noise::new(&profile.noise, seed),
            reader: ReadModel::new(profile),
            writer: WriteModel::new(profile),
            relative_sigma: profile.write.relative_sigma,
            faults,
            medium,
        }
    }

    /// Plug the stick in again after it was pulled or its power cut: the contents stay, and these
    /// two faults do not come back.
    pub fn replug(&mut self) {
        self.faults.replug();
    }

    /// Whether it was pulled or its power cut since it was opened, whether or not the host noticed.
    pub fn was_cut_off(&self) -> bool {
        self.faults.is_over()
    }

    /// What the flash went through since this stick was opened.
    pub fn wear(&self) -> Wear {
        self.writer.wear()
    }

    /// The range of an access that keeps the rules, and how long it hangs.
    fn begin(&mut self, at: Bytes, buffer: &[u8]) -> Result<(ByteRange, f64), AccessError> {
        check_access(at, buffer, self.capacity, self.facts.logical_block)?;
        let hang = self.faults.access(at);
        self.note_end();
        let range = ByteRange {
            from: at,
            to: Bytes(at.get() + buffer.len() as u64),
        };
        Ok((range, hang?))
    }

    /// Tell the medium when the stick was pulled or its power cut.
    fn note_end(&self) {
        if self.faults.is_over() {
            self.medium.pull();
        }
    }
}

impl ReadDevice for SimulatedStick {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn read(&mut self, at: Bytes, into: &mut [u8]) -> Result<Duration, AccessError> {
        let (range, hang) = self.begin(at, into)?;
        self.faults.check_read(range)?;
        let now = self.clock.now_ns();
        let store = self.medium.store();
        let plain = self.reader.time(
            range.from.get(),
            range.to.get(),
            self.clock.idle_ns(),
            &store,
        );
        store.read(at.get(), into);
        drop(store);
        let busy = self.noise.background(now);
        let noisy = plain * self.noise.level(now) + self.noise.on_read();
        // However lucky, no read is more than ten times faster than the model says.
        Ok(self.clock.pass(noisy.max(plain * 0.1) + busy + hang))
    }

    fn wait(&mut self, time: Duration) {
        self.clock.wait(time);
    }

    fn clock(&self) -> Duration {
        self.clock.now()
    }
}

impl Device for SimulatedStick {
    fn write(&mut self, at: Bytes, data: &[u8]) -> Result<Duration, AccessError> {
        let (range, hang) = self.begin(at, data)?;
        self.faults.check_write(range)?;
        let block = self.facts.logical_block.bytes().get();
        let surviving = self.faults.surviving_blocks(data.len() as u64 / block) * block;
        // At most the length of `data`, so it fits.
        let surviving = usize::try_from(surviving).unwrap_or(data.len());
        self.medium.store().write(at.get(), &data[..surviving]);
        self.note_end();
        self.reader.forget(range.from.get(), range.to.get());
        if surviving < data.len() && self.faults.is_gone() {
            return Err(AccessError::Gone { at: at.get() });
        }
        let now = self.clock.now_ns();
        let work = self
            .writer
            .time(range.from.get(), range.to.get(), now, self.noise.rng());
        let plain = work + self.reader.wake_up(self.clock.idle_ns());
        let busy = self.noise.background(now);
        let noisy = plain * self.noise.level(now) + self.noise.on_write(plain, self.relative_sigma);
        let time = self.clock.pass(noisy.max(plain * 0.1) + busy + hang);
        self.writer.ended(self.clock.now_ns());
        Ok(time)
    }

    fn flush(&mut self) -> Result<Duration, AccessError> {
        let hang = self.faults.access(Bytes::ZERO);
        self.note_end();
        let hang = hang?;
        let now = self.clock.now_ns();
        let plain = self.writer.flush(now);
        let time = self.clock.pass(plain * self.noise.level(now) + hang);
        self.writer.ended(self.clock.now_ns());
        Ok(time)
    }
}

#[cfg(test)]
mod tests;
