//! What the stick contains: written pages, and what stands at places that nobody wrote.

use super::profile::{Beyond, Constant, Fill, Profile};
use super::rng::{mix, place, seed_of};
use crate::units::ByteRange;
use std::collections::{HashMap, HashSet};

/// The granularity of stored data.
const PAGE: usize = 4096;
const PAGE_BYTES: u64 = PAGE as u64;

/// What one write maps when the profile does not say: the usual unit of a mapping table.
const DEFAULT_MAP_UNIT: u64 = 4096;

/// The purpose number of [`place`] for unmapped chunks.
const UNMAPPED_CHUNK: u64 = 1;

/// The number that makes two specimens differ: from name, serial number and `individual`.
pub(super) fn specimen(profile: &Profile) -> u64 {
    let serial = profile.identity.serial.as_deref().unwrap_or("");
    mix(seed_of(&profile.name) ^ mix(seed_of(serial)) ^ profile.individual)
}

/// The contents of one stick.
#[derive(Clone, Debug)]
pub(super) struct Store {
    seed: u64,
    real: u64,
    beyond: Beyond,
    fill: Fill,
    zeros: Vec<ByteRange>,
    unmapped: Option<Unmapped>,
    written: HashMap<u64, Box<[u8; PAGE]>>,
}

#[derive(Clone, Debug)]
struct Unmapped {
    ranges: Vec<ByteRange>,
    share: f64,
    chunk: u64,
    content: Constant,
    map_unit: u64,
    mapped_since: HashSet<u64>,
}

impl Unmapped {
    /// Whether a place was unmapped when the stick was new.
    fn was(&self, seed: u64, x: u64) -> bool {
        let in_range = self
            .ranges
            .iter()
            .any(|r| r.from.get() <= x && x < r.to.get());
        in_range || (self.share > 0.0 && place(seed, UNMAPPED_CHUNK, x / self.chunk) < self.share)
    }
}

impl Store {
    /// A stick that nobody has written yet.
    pub(super) fn new(profile: &Profile) -> Store {
        let (real, beyond) = match &profile.counterfeit {
            Some(fake) => (fake.real.get(), fake.beyond),
            None => (profile.capacity.get(), Beyond::Wrap),
        };
        Store {
            seed: specimen(profile),
            real,
            beyond,
            fill: profile.contents.fill,
            zeros: profile.contents.zeros.clone(),
            unmapped: profile.unmapped.as_ref().map(|keys| Unmapped {
                ranges: keys.ranges.clone(),
                share: keys.share,
                chunk: keys.chunk.unwrap_or(profile.flash.erase_block).get(),
                content: keys.content,
                map_unit: keys.map_unit.map_or(DEFAULT_MAP_UNIT, |unit| unit.get()),
                mapped_since: HashSet::new(),
            }),
            written: HashMap::new(),
        }
    }

    /// How many pages of written data are kept.
    #[cfg(test)]
    pub(super) fn stored_pages(&self) -> usize {
        self.written.len()
    }

    /// Whether flash stands behind a place.
    pub(super) fn is_mapped(&self, x: u64) -> bool {
        match (&self.unmapped, self.resolve(x)) {
            (None, real) => real.is_some(),
            (Some(_), None) => false,
            (Some(unmapped), Some(x)) => {
                unmapped.mapped_since.contains(&(x / unmapped.map_unit))
                    || !unmapped.was(self.seed, x)
            }
        }
    }

    /// Whether flash stands behind any place of `[from, to)`.
    pub(super) fn any_mapped(&self, from: u64, to: u64) -> bool {
        let Some(unmapped) = &self.unmapped else {
            return self.is_mapped(from);
        };
        let step = unmapped.map_unit.min(unmapped.chunk).max(512);
        let mut x = from;
        while x < to {
            if self.is_mapped(x) {
                return true;
            }
            x = (x / step + 1) * step;
        }
        false
    }

    /// Copy out what stands at `at`.
    pub(super) fn read(&self, at: u64, into: &mut [u8]) {
        let mut done = 0;
        while done < into.len() {
            let x = at + done as u64;
            let (real, length) = self.piece(x, into.len() - done);
            let out = &mut into[done..done + length];
            match real {
                None => out.fill(0),
                Some(x) => self.read_page(x, out),
            }
            done += length;
        }
    }

    /// Remember what was written at `at`.
    pub(super) fn write(&mut self, at: u64, data: &[u8]) {
        let mut done = 0;
        while done < data.len() {
            let (real, length) = self.piece(at + done as u64, data.len() - done);
            if let Some(x) = real {
                self.write_page(x, &data[done..done + length]);
            }
            done += length;
        }
    }

    /// The real place of a claimed one, and how many bytes from there lie in the same stored page.
    fn piece(&self, x: u64, wanted: usize) -> (Option<u64>, usize) {
        match self.resolve(x) {
            None => (None, wanted),
            Some(real) => {
                let in_page = PAGE_BYTES - real % PAGE_BYTES;
                let length = in_page.min(self.real - real);
                // At most a page, so it fits.
                let length = usize::try_from(length).unwrap_or(PAGE).min(wanted);
                (Some(real), length)
            }
        }
    }

    fn resolve(&self, x: u64) -> Option<u64> {
        match self.beyond {
            _ if x < self.real => Some(x),
            Beyond::Wrap => Some(x % self.real),
            Beyond::Vanish => None,
        }
    }

    fn read_page(&self, x: u64, out: &mut [u8]) {
        let start = offset_in_page(x);
        match self.written.get(&(x / PAGE_BYTES)) {
            Some(page) => out.copy_from_slice(&page[start..start + out.len()]),
            None => self.original(x, out),
        }
    }

    fn write_page(&mut self, x: u64, data: &[u8]) {
        let index = x / PAGE_BYTES;
        let start = offset_in_page(x);
        if !self.written.contains_key(&index) {
            let mut page = Box::new([0; PAGE]);
            if data.len() < PAGE {
                for (block, out) in page.chunks_mut(512).enumerate() {
                    self.original(index * PAGE_BYTES + block as u64 * 512, out);
                }
            }
            self.written.insert(index, page);
        }
        if let Some(page) = self.written.get_mut(&index) {
            page[start..start + data.len()].copy_from_slice(data);
        }
        if let Some(unmapped) = &mut self.unmapped {
            let last = x + data.len() as u64 - 1;
            for unit in x / unmapped.map_unit..=last / unmapped.map_unit {
                unmapped.mapped_since.insert(unit);
            }
        }
    }

    /// What stands inside one page before anybody writes. `x` is a multiple of 512.
    fn original(&self, x: u64, out: &mut [u8]) {
        if let Some(unmapped) = &self.unmapped
            && unmapped.was(self.seed, x)
        {
            out.fill(unmapped.content.byte());
            return;
        }
        let zeroed = self
            .zeros
            .iter()
            .any(|r| r.from.get() <= x && x < r.to.get());
        match self.fill {
            _ if zeroed => out.fill(0),
            Fill::Zeros => out.fill(0),
            Fill::Ones => out.fill(0xff),
            Fill::Random => {
                for (word, out) in (x / 8..).zip(out.chunks_exact_mut(8)) {
                    out.copy_from_slice(&mix(self.seed ^ word).to_le_bytes());
                }
            }
        }
    }
}

fn offset_in_page(x: u64) -> usize {
    // Smaller than a page, so it fits.
    usize::try_from(x % PAGE_BYTES).unwrap_or(0)
}
