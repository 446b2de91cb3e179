//! How long a write takes, before noise.
//!
//! `base + per_kib * p/1024` with p = the bytes of all pages it touches, plus `partial_page` for
//! each page that it fills only in part, times what zone, open units and caches make of it, plus
//! the collections it causes.

use super::clock::nanoseconds;
use super::open_units::OpenUnits;
use super::profile::{Profile, WriteCache as WriteCacheKeys};
use super::rng::Rng;
use crate::units::Bytes;

/// What the flash went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wear {
    /// Bytes that the host wrote.
    pub host_bytes: Bytes,
    /// Bytes that were programmed: whole pages, and whole units for every collection.
    pub physical_bytes: Bytes,
    /// Erased units: one for each that is opened, one for each that is collected.
    pub erases: u64,
    /// Units that were copied together.
    pub collections: u64,
}

/// The write side of the flash model. Places in bytes, times in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct WriteModel {
    base: f64,
    per_kib: f64,
    page: u64,
    partial_page: f64,
    flush: f64,
    small_path: u64,
    units: OpenUnits,
    zones: Vec<Zone>,
    slc: Option<SlcCache>,
    cache: Option<WriteCache>,
    last_write_ended: f64,
    wear: Wear,
}

#[derive(Clone, Debug)]
struct Zone {
    from: u64,
    to: u64,
    linear: f64,
    random: f64,
    page_mapped: bool,
    next: u64,
}

#[derive(Clone, Debug)]
struct SlcCache {
    size: f64,
    slower: f64,
    freed_per_nanosecond: f64,
    used: f64,
}

#[derive(Clone, Debug)]
struct WriteCache {
    depth: f64,
    base: f64,
    per_kib: f64,
    outstanding: f64,
}

impl WriteModel {
    /// The write side of a profile.
    pub(super) fn new(profile: &Profile) -> WriteModel {
        let write = &profile.write;
        WriteModel {
            base: nanoseconds(write.base),
            per_kib: nanoseconds(write.per_kib),
            // Without a page every logical block can be written by itself.
            page: profile
                .flash
                .page
                .unwrap_or(profile.logical_block.bytes())
                .get(),
            partial_page: nanoseconds(write.partial_page),
            flush: nanoseconds(write.flush),
            small_path: write.small_path.map_or(0, Bytes::get),
            units: OpenUnits::new(profile),
            zones: profile
                .zones
                .iter()
                .map(|keys| Zone {
                    from: keys.from.get(),
                    to: keys.to.get(),
                    linear: keys.linear,
                    random: keys.random,
                    page_mapped: keys.page_mapped,
                    next: keys.from.get(),
                })
                .collect(),
            slc: profile.slc_cache.as_ref().map(|keys| SlcCache {
                size: keys.size.get() as f64,
                slower: keys.slower,
                freed_per_nanosecond: keys.freed_per_second.get() as f64 * 1e-9,
                used: 0.0,
            }),
            cache: profile.write_cache.as_ref().map(WriteCache::new),
            last_write_ended: 0.0,
            wear: Wear::default(),
        }
    }

    /// What the flash went through so far.
    pub(super) fn wear(&self) -> Wear {
        self.wear
    }

    /// The time of a write of `[from, to)` that begins at `now`, seen by the host.
    pub(super) fn time(&mut self, from: u64, to: u64, now: f64, rng: &mut Rng) -> f64 {
        let rest = (now - self.last_write_ended).max(0.0);
        let length = (to - from) as f64;
        self.wear.host_bytes.0 += to - from;
        let mut work = 0.0;
        let mut piece = from;
        while piece < to {
            let end = self.units.end_of_unit(piece).min(to);
            // The command is paid once, with the first piece.
            let command = if piece == from { self.base } else { 0.0 };
            work += self.piece(piece, end, to - from, command, rng);
            piece = end;
        }
        if let Some(slc) = &mut self.slc {
            work *= slc.take(length, rest);
        }
        match &mut self.cache {
            None => work,
            Some(cache) => cache.acknowledge(work, length / 1024.0, rest),
        }
    }

    /// The time of a flush that begins at `now`.
    pub(super) fn flush(&mut self, now: f64) -> f64 {
        let rest = (now - self.last_write_ended).max(0.0);
        self.flush + self.cache.as_mut().map_or(0.0, |cache| cache.drain(rest))
    }

    /// The write or flush has ended.
    pub(super) fn ended(&mut self, now: f64) {
        self.last_write_ended = now;
    }

    /// The work for the part of a write of `whole` bytes that lies inside one unit.
    fn piece(&mut self, from: u64, to: u64, whole: u64, command: f64, rng: &mut Rng) -> f64 {
        let first_page = from / self.page * self.page;
        let last_page = to.div_ceil(self.page) * self.page;
        self.wear.physical_bytes.0 += last_page - first_page;
        let partial = if last_page - first_page == self.page {
            u8::from(to - from < self.page)
        } else {
            u8::from(from > first_page) + u8::from(to < last_page)
        };
        let transfer = command
            + self.per_kib * (last_page - first_page) as f64 / 1024.0
            + self.partial_page * f64::from(partial);
        let zone = self
            .zones
            .iter_mut()
            .find(|z| z.from <= from && from < z.to);
        if let Some(zone) = zone
            && zone.page_mapped
        {
            let in_order = zone.next == from;
            zone.next = to;
            return transfer * if in_order { zone.linear } else { zone.random };
        }
        if whole <= self.small_path {
            return transfer;
        }
        let visit = self.units.visit(from, to, rng);
        self.wear.collections += visit.collections;
        self.wear.erases += visit.collections + visit.opened;
        self.wear.physical_bytes.0 += visit.collections * self.units.unit_size();
        let zone = self.zones.iter().find(|z| z.from <= from && from < z.to);
        let zone_factor = zone.map_or(1.0, |zone| match visit.in_order {
            true => zone.linear,
            false => zone.random,
        });
        transfer * visit.factor * zone_factor + visit.cost
    }
}

impl SlcCache {
    /// The factor on a write of `length` bytes after `rest` nanoseconds without writes.
    fn take(&mut self, length: f64, rest: f64) -> f64 {
        self.used = (self.used - rest * self.freed_per_nanosecond).max(0.0);
        if self.used + length > self.size {
            self.slower
        } else {
            self.used += length;
            1.0
        }
    }
}

impl WriteCache {
    fn new(keys: &WriteCacheKeys) -> WriteCache {
        WriteCache {
            depth: nanoseconds(keys.depth),
            base: nanoseconds(keys.base),
            per_kib: nanoseconds(keys.per_kib),
            outstanding: 0.0,
        }
    }

    /// The time until a write that means `work` is acknowledged.
    fn acknowledge(&mut self, work: f64, kib: f64, rest: f64) -> f64 {
        let before = (self.outstanding - rest).max(0.0);
        let quick = self.base + self.per_kib * kib;
        let total = quick + (before + work - quick - self.depth).max(0.0);
        self.outstanding = (before + work - total).max(0.0);
        total
    }

    /// The time until all work is done.
    fn drain(&mut self, rest: f64) -> f64 {
        let left = (self.outstanding - rest).max(0.0);
        self.outstanding = 0.0;
        left
    }
}
