//! Values that make no sense together.

use super::{Profile, ProfileError};
use crate::units::{ByteRange, Bytes};

/// A stick has at least one megabyte: below there is nothing to lay out.
const SMALLEST: Bytes = Bytes::mib(1);

/// 2^53 bytes: beyond, places are no longer exact in floating point. (8 PiB, far above any stick.)
const LARGEST: Bytes = Bytes(1 << 53);

impl Profile {
    /// Refuse what the model could not play.
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        let block = self.logical_block.bytes();
        let fail = |key: &'static str, reason: String| {
            Err(ProfileError::Value {
                origin: self.name.clone(),
                key,
                reason,
            })
        };
        if !self.capacity.is_multiple_of(block) {
            return fail(
                "capacity",
                format!(
                    "{} is no multiple of the logical block of {block}",
                    self.capacity.get()
                ),
            );
        }
        if self.capacity < SMALLEST || self.capacity > LARGEST {
            return fail(
                "capacity",
                format!("must lie between {SMALLEST} and {LARGEST}"),
            );
        }
        let crossing = &self.read.crossing;
        let write = &self.write;
        for (key, share) in [
            ("read.crossing.missed", crossing.missed),
            ("noise.outlier_rate", self.noise.outlier_rate),
            (
                "unmapped.share",
                self.unmapped.as_ref().map_or(0.0, |u| u.share),
            ),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return fail(key, format!("{share} is no share, use 0 to 1"));
            }
        }
        if !(0.0..=0.3).contains(&crossing.spread) {
            // The spread of a boundary stays within three deviations: costs stay positive.
            return fail(
                "read.crossing.spread",
                format!("{} is out of range, use 0 to 0.3", crossing.spread),
            );
        }
        if !(0.0..=0.5).contains(&write.relative_sigma) {
            return fail(
                "write.relative_sigma",
                format!("{} is out of range, use 0 to 0.5", write.relative_sigma),
            );
        }
        let sizes = [
            ("flash.erase_block", Some(self.flash.erase_block)),
            ("flash.sub_unit", self.flash.sub_unit),
            ("flash.page", self.flash.page),
            ("open_units.unit", self.open_units.unit),
            (
                "read.regions.size",
                self.read.regions.as_ref().map(|r| r.size),
            ),
            ("read.cache.unit", self.read.cache.as_ref().map(|c| c.unit)),
            ("read.cache.size", self.read.cache.as_ref().map(|c| c.size)),
            (
                "read.map_cache.region",
                self.read.map_cache.as_ref().map(|c| c.region),
            ),
            ("reported.max_request", self.reported.max_request),
            (
                "unmapped.chunk",
                self.unmapped.as_ref().and_then(|u| u.chunk),
            ),
            (
                "unmapped.map_unit",
                self.unmapped.as_ref().and_then(|u| u.map_unit),
            ),
            (
                "counterfeit.real",
                self.counterfeit.as_ref().map(|c| c.real),
            ),
        ];
        for (key, size) in sizes {
            match size {
                Some(size) if size == Bytes::ZERO || !size.is_multiple_of(Bytes(512)) => {
                    return fail(key, format!("{size} is no positive multiple of 512 B"));
                }
                _ => {}
            }
        }
        for level in &crossing.page {
            if level.size == Bytes::ZERO || !level.size.is_multiple_of(Bytes(512)) {
                return fail(
                    "read.crossing.page.size",
                    format!("{} is no positive multiple of 512 B", level.size),
                );
            }
        }
        if self.flash.phase >= self.flash.erase_block {
            return fail(
                "flash.phase",
                "must be smaller than the erase block".to_owned(),
            );
        }
        if let Some(sub) = self.flash.sub_unit
            && (!self.flash.erase_block.is_multiple_of(sub) || sub == self.flash.erase_block)
        {
            return fail(
                "flash.sub_unit",
                format!(
                    "{sub} does not divide the erase block of {}",
                    self.flash.erase_block
                ),
            );
        }
        if self.flash.sub_unit.is_none() && !crossing.sub_unit.is_zero() {
            return fail(
                "read.crossing.sub_unit",
                "costs something, but there is no flash.sub_unit".to_owned(),
            );
        }
        if let Some(real) = self.counterfeit.as_ref().map(|c| c.real)
            && (real >= self.capacity || !real.is_multiple_of(block))
        {
            return fail(
                "counterfeit.real",
                format!("{real} is no multiple of {block} below the capacity"),
            );
        }
        if let (Some(linear), Some(random)) = (self.open_units.linear, self.open_units.random)
            && random > linear
        {
            return fail(
                "open_units.random",
                format!("{random} units out of order are more than {linear} in all"),
            );
        }
        if self.open_units.linear == Some(0) {
            return fail("open_units.linear", "one unit at least is open".to_owned());
        }
        for (key, factor) in [
            ("open_units.soft_rate", self.open_units.soft_rate),
            (
                "slc_cache.slower",
                self.slc_cache.as_ref().map_or(1.0, |c| c.slower),
            ),
            (
                "noise.throttle.slower",
                self.noise.throttle.as_ref().map_or(1.0, |t| t.slower),
            ),
        ] {
            if !(factor > 0.0 && factor <= 1e6) {
                return fail(key, format!("{factor} is no factor, use more than 0"));
            }
        }
        if !(self.open_units.sag_per_unit >= 0.0 && self.open_units.sag_per_unit <= 1e3) {
            return fail("open_units.sag_per_unit", "use 0 or more".to_owned());
        }
        if let Some(wave) = &self.noise.wave
            && (wave.period.is_zero() || !(0.0..0.9).contains(&wave.amplitude))
        {
            return fail(
                "noise.wave",
                "needs a period, and an amplitude of 0 to 0.9".to_owned(),
            );
        }
        if !self.noise.drift_per_second.is_finite() {
            return fail("noise.drift_per_second", "use a number".to_owned());
        }
        if self
            .noise
            .background
            .as_ref()
            .is_some_and(|b| b.every <= b.length)
        {
            return fail(
                "noise.background.every",
                "must be longer than its length".to_owned(),
            );
        }
        for zone in &self.zones {
            let inside = zone.from < zone.to && zone.to <= self.capacity;
            if !(inside && zone.linear > 0.0 && zone.random > 0.0) {
                return fail(
                    "zones",
                    format!(
                        "{} to {}: needs a range inside the capacity and factors above 0",
                        zone.from, zone.to
                    ),
                );
            }
        }
        let outside = |ranges: &[ByteRange]| ranges.iter().any(|r| r.to > self.capacity);
        for (key, ranges) in [
            (
                "unmapped.ranges",
                self.unmapped.as_ref().map_or(&[][..], |u| &u.ranges),
            ),
            ("contents.zeros", &self.contents.zeros),
            ("faults.unreadable", &self.faults.unreadable),
            ("faults.unwritable", &self.faults.unwritable),
        ] {
            if outside(ranges) {
                return fail(key, "a range passes the end of the device".to_owned());
            }
        }
        Ok(())
    }
}
