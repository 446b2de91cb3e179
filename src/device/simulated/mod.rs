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
pub mod profile;
mod read_model;
mod registry;
mod rng;
mod store;

pub use profile::{Profile, ProfileError, builtin_names};

use super::{AccessError, ReadDevice, check_access};
use crate::topology::Facts;
use crate::units::{ByteRange, Bytes};
use clock::Clock;
use faults::Faults;
use noise::Noise;
use read_model::ReadModel;
use registry::Medium;
use std::time::Duration;
use store::Store;

/// A stick that exists only here.
pub struct SimulatedStick {
    facts: Facts,
    capacity: Bytes,
    clock: Clock,
    noise: Noise,
    reader: ReadModel,
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
    let text = std::fs::read_to_string(name).map_err(|error| ProfileError::File {
        path: name.to_owned(),
        reason: error.to_string(),
    })?;
    Profile::parse(&text, name)
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
            faults,
            medium,
        }
    }

    /// Plug the stick in again after it was pulled or its power cut: the contents stay, and these
    /// two faults do not come back.
    pub fn replug(&mut self) {
        self.faults.replug();
    }

    /// The range of an access that keeps the rules, and how long it hangs.
    fn begin(&mut self, at: Bytes, buffer: &[u8]) -> Result<(ByteRange, f64), AccessError> {
        check_access(at, buffer, self.capacity, self.facts.logical_block)?;
        let hang = self.faults.access(at);
        if self.faults.is_over() {
            self.medium.pull();
        }
        let range = ByteRange {
            from: at,
            to: Bytes(at.get() + buffer.len() as u64),
        };
        Ok((range, hang?))
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

#[cfg(test)]
mod tests;
