//! What of a stick matters to a file system.

use crate::geometry::{Geometry, OpenAu, Verdict, Zone, ZoneKind};
use crate::topology::{Facts, Transport};
use crate::units::Bytes;

/// What of a stick matters to a file system, beside the grid. Everything unknown by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stick {
    /// The page, when it is told.
    pub page: Option<Bytes>,
    /// The smallest write that reaches 70 % of the sequential rate.
    pub efficient: Option<Bytes>,
    /// The special zones near the start, in order.
    pub zones: Vec<Zone>,
    /// Whether zones were looked for and could be told, so that none means none.
    pub zones_told: bool,
    /// How many allocation units may be open when each is written in order.
    pub linear: Open,
    /// What `linear` counts, when that was told: it need not be the erase block.
    pub linear_unit: Option<Bytes>,
    /// The same for writes in any order.
    pub random: Open,
    /// The smallest size at which random writes are efficient, when smaller ones never are.
    pub random_efficient: Option<Bytes>,
    /// Whether boundaries were looked for and none was seen, and no limit of open units either: it
    /// behaves like an SSD.
    pub like_ssd: bool,
    /// Whether the medium is an SD card in the kernel's own card slot, which cameras may read.
    pub card: bool,
    /// Whether anything was measured.
    pub measured: bool,
}

/// How many allocation units may be open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Open {
    /// Not told.
    #[default]
    Unknown,
    /// At least and at most.
    Between(u32, u32),
    /// At least: no limit was met up to here.
    AtLeast(u32),
}

impl Open {
    /// The number to plan with: the largest that is known to be fast.
    pub fn safe(self) -> Option<u32> {
        match self {
            Open::Unknown => None,
            Open::Between(least, _) | Open::AtLeast(least) => Some(least),
        }
    }

    fn of(count: &OpenAu) -> Open {
        if !count.verdict.is_told() {
            return Open::Unknown;
        }
        match (count.limit, count.at_least, count.at_most) {
            (Some(limit), _, _) => Open::Between(limit, limit),
            (None, least, Some(most)) => Open::Between(least.unwrap_or(0).min(most), most),
            (None, Some(least), None) => Open::AtLeast(least),
            (None, None, None) => Open::Unknown,
        }
    }
}

impl Stick {
    /// From what was measured and what the device says of itself.
    pub fn of(geometry: &Geometry, facts: &Facts) -> Stick {
        let linear = Open::of(&geometry.open_au.linear);
        let told = |verdict: Verdict| verdict.is_told();
        let mut zones = if told(geometry.fat_area.verdict) {
            geometry.fat_area.zones.clone()
        } else {
            Vec::new()
        };
        zones.retain(|zone| zone.from_bytes < zone.to_bytes);
        zones.sort_by_key(|zone| zone.from_bytes);
        Stick {
            page: geometry
                .page
                .bytes
                .filter(|size| told(geometry.page.verdict) && *size != Bytes::ZERO),
            efficient: geometry
                .throughput
                .efficient_bytes
                .filter(|size| *size != Bytes::ZERO),
            zones,
            zones_told: told(geometry.fat_area.verdict),
            linear,
            linear_unit: geometry.open_au.linear.unit_bytes,
            random: Open::of(&geometry.open_au.random.count),
            random_efficient: geometry.open_au.random.smallest_efficient_write_bytes,
            like_ssd: geometry.erase_block.verdict == Verdict::NotVisible
                && matches!(linear, Open::AtLeast(_)),
            card: facts.transport == Transport::Mmc,
            measured: true,
        }
    }

    /// The zones that suit small writes: faster, or different (a zone built for a FAT is slower for
    /// large writes and faster for small ones).
    pub fn good_zones(&self) -> impl Iterator<Item = Zone> + '_ {
        self.zones
            .iter()
            .copied()
            .filter(|zone| zone.kind != ZoneKind::Slower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::FatArea;
    use crate::units::LogicalBlock;

    #[test]
    fn what_is_not_told_is_unknown() {
        let facts = Facts::bare("x", Transport::Mmc, None, LogicalBlock::B512);
        let mut geometry = Geometry::default();
        geometry.page.bytes = Some(Bytes::kib(16));
        geometry.open_au.linear.limit = Some(5);
        let zone = Zone {
            from_bytes: Bytes::ZERO,
            to_bytes: Bytes::mib(4),
            kind: ZoneKind::Slower,
        };
        geometry.fat_area = FatArea {
            verdict: Verdict::NotVisible,
            zones: vec![zone],
            ..FatArea::default()
        };
        let stick = Stick::of(&geometry, &facts);
        assert_eq!((stick.page, stick.linear), (None, Open::Unknown));
        assert!(stick.zones.is_empty() && stick.card);
        geometry.page.verdict = Verdict::Likely;
        geometry.open_au.linear.verdict = Verdict::Confirmed;
        geometry.fat_area.verdict = Verdict::Confirmed;
        let stick = Stick::of(&geometry, &facts);
        assert_eq!(stick.page, Some(Bytes::kib(16)));
        assert_eq!(stick.linear.safe(), Some(5));
        assert_eq!((stick.zones.len(), stick.good_zones().count()), (1, 0));
    }
}
