//! Which start and which `-b` for exFAT?
//!
//! mkfs.exfat (exfatprogs 1.2.0) puts the FAT on the first multiple of `-b` behind the 24 boot
//! sectors and the cluster heap on the first multiple of `-b` behind the FAT, and takes powers of
//! two only. Without `-b` it uses 1 MiB. It counts from the start of the disk when the kernel tells
//! it where the partition begins, else from the start of the partition; with a start that is a
//! multiple of `-b` both are the same, so only such starts are used.
//!
//! When the erase block is no power of two, the start is what brings the heap onto the grid.

use super::fat_fit::areas;
use super::standard;
use super::{FatAreaChoice, Fit, FitError, Format, Inside, Parameters, Site, cluster};
use crate::plan::layout::AlignedBy;
use crate::plan::types::FileSystem;
use crate::units::{ByteRange, Bytes, LogicalBlock, Sectors};
use serde::{Deserialize, Serialize};

/// Boot region and its copy, 12 sectors each (exFAT specification, section 2).
const BOOT_SECTORS: u64 = 24;

/// Bytes of an entry of the FAT.
const ENTRY: u64 = 4;

/// What mkfs.exfat takes without `-b` (read back from images that exfatprogs 1.2.0 made).
const DEFAULT_BOUNDARY: Bytes = Bytes::mib(1);

/// The values of `-b` that are tried, as powers of two: from 128 KiB, which holds the boot region of
/// 4096-byte sectors too, up to the largest boundary unit of the SD specification.
const COARSE: std::ops::RangeInclusive<u32> = 17..=26;

/// Tried when none of those leads onto the grid: where boundaries begin at an odd place.
const FINE: std::ops::RangeInclusive<u32> = 12..=16;

/// Below this hardly anything is left beside boot region and FAT.
const LEAST: Bytes = Bytes::mib(2);

/// How many boundaries are tried for the heap.
const TRIES: usize = 16;

/// The fewest clusters that make sense: bitmap, upper-case table and root directory take the first
/// of them.
const LEAST_CLUSTERS: u64 = 16;

/// The most clusters (exFAT specification 3.1.9: 2^32 - 11).
const MOST_CLUSTERS: u64 = u32::MAX as u64 - 10;

/// What mkfs.exfat makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExFat {
    /// `-b`.
    #[serde(rename = "boundary_bytes")]
    pub boundary: Bytes,
    /// `-c`.
    #[serde(rename = "cluster_bytes")]
    pub cluster: Bytes,
    /// Where the FAT begins, counted from the start of the partition.
    pub fat_offset: Sectors,
    /// Sectors of the FAT.
    #[serde(rename = "fat_sectors")]
    pub fat: Sectors,
    /// Where the cluster heap begins, counted likewise.
    pub heap_offset: Sectors,
    /// Clusters in the heap.
    pub clusters: u64,
}

/// What mkfs.exfat makes of a partition of `size` that starts on a multiple of `boundary`. `None`
/// when it does not fit.
pub fn volume(block: LogicalBlock, size: Bytes, boundary: Bytes, cluster: Bytes) -> Option<ExFat> {
    let sector = block.bytes().get();
    let (boundary_bytes, cluster_bytes) = (boundary.get(), cluster.get());
    let fat_offset = (BOOT_SECTORS * sector).next_multiple_of(boundary_bytes);
    // The length covers a heap as large as the whole partition, in whole clusters. 1.2.0 leaves out
    // the two entries that stand for no cluster; where counting them would move the heap, another
    // boundary is the better choice.
    let entries = size.get() / cluster_bytes;
    let fat = (entries * ENTRY).next_multiple_of(cluster_bytes);
    let with_all = ((entries + 2) * ENTRY).next_multiple_of(cluster_bytes);
    let heap = (fat_offset + fat).next_multiple_of(boundary_bytes);
    if heap != (fat_offset + with_all).next_multiple_of(boundary_bytes) {
        return None;
    }
    let clusters = size.get().checked_sub(heap)? / cluster_bytes;
    (LEAST_CLUSTERS..=MOST_CLUSTERS)
        .contains(&clusters)
        .then_some(ExFat {
            boundary,
            cluster,
            fat_offset: Sectors(fat_offset / sector),
            fat: Sectors(fat / sector),
            heap_offset: Sectors(heap / sector),
            clusters,
        })
}

/// Whether mkfs.exfat makes exactly this volume in a partition of this size.
pub(super) fn is_volume(made: &ExFat, block: LogicalBlock, size: Bytes) -> bool {
    let power = |size: Bytes, least: Bytes, most: Bytes| {
        size.get().is_power_of_two() && size >= least && size <= most
    };
    power(made.boundary, block.bytes(), Bytes::gib(1))
        && power(made.cluster, block.bytes(), Bytes::mib(32))
        && volume(block, size, made.boundary, made.cluster) == Some(*made)
}

/// A start with its volume.
#[derive(Clone, Copy)]
struct Placed {
    start: Bytes,
    heap: Bytes,
    made: ExFat,
}

/// Fit exFAT.
pub(super) fn fit(site: &Site<'_>) -> Result<Fit, FitError> {
    let cluster = cluster::exfat(site.size(), site.erase_block, site.stick);
    if site.size() < LEAST {
        return Err(FitError::TooSmall {
            fs: FileSystem::ExFat,
            size: site.size(),
            least: LEAST,
            way_out: "use fat16, or make the partition larger",
        });
    }
    let areas = areas(site);
    if let Some((placed, area)) = areas
        .iter()
        .find_map(|area| Some((in_area(site, cluster, *area)?, *area)))
    {
        let note = format!(
            "FAT area: the FAT lies inside {}-{}, where the stick takes small writes",
            area.from, area.to
        );
        let why = format!(
            "the FAT lies in the special area {}-{} and the cluster heap begins on the boundary behind it",
            area.from, area.to
        );
        return Ok(finish(site, placed, why).note(note));
    }
    if site.fat_area == FatAreaChoice::Use {
        return Err(FitError::NoArea {
            fs: FileSystem::ExFat,
            why: "there is no room for it in front of a boundary".to_owned(),
        });
    }
    if let Some(placed) = factory(site, cluster).or_else(|| on_grid(site, cluster)) {
        return Ok(finish(site, placed, String::new()));
    }
    let placed = [COARSE, FINE]
        .into_iter()
        .find_map(|powers| shifted(site, powers, cluster))
        .ok_or(FitError::NoPlace {
            fs: FileSystem::ExFat,
            size: site.size(),
            grid: site.boundaries,
        })?;
    let why = format!(
        "mkfs.exfat takes powers of two only, so the start is chosen to bring the cluster heap onto the grid of {}",
        site.boundaries
    );
    Ok(finish(site, placed, why))
}

fn boundaries(
    site: &Site<'_>,
    powers: std::ops::RangeInclusive<u32>,
) -> impl Iterator<Item = Bytes> + use<> {
    let page = site.stick.page;
    powers
        .map(|power| Bytes(1 << power))
        // The FAT shall begin on a page.
        .filter(move |b| page.is_none_or(|page| page > *b || b.is_multiple_of(page)))
}

fn at(site: &Site<'_>, start: Bytes, boundary: Bytes, cluster: Bytes) -> Option<Placed> {
    if start < site.floor || !start.is_multiple_of(boundary) {
        return None;
    }
    let size = site.range.to.checked_sub(start)?;
    let made = volume(site.block, size, boundary, cluster)?;
    let heap = start.checked_add(made.heap_offset.to_bytes(site.block)?)?;
    site.boundaries
        .contains(heap)
        .then_some(Placed { start, heap, made })
}

/// The factory layout of an SD card where it fits the grid: FAT at half a boundary unit.
fn factory(site: &Site<'_>, cluster: Bytes) -> Option<Placed> {
    let row = standard::row_for(FileSystem::ExFat, site).filter(|row| standard::fits(row, site))?;
    at(site, row.unit, Bytes(row.unit.get() / 2), cluster)
}

/// A start on the grid of starts; of several boundaries the one with the earliest heap, and of
/// those the largest, which keeps the FAT apart.
fn on_grid(site: &Site<'_>, cluster: Bytes) -> Option<Placed> {
    boundaries(site, COARSE)
        .filter_map(|boundary| at(site, site.range.from, boundary, cluster))
        .min_by_key(|placed| (placed.heap, std::cmp::Reverse(placed.made.boundary)))
}

/// A start anywhere behind the floor, chosen by the heap.
fn shifted(
    site: &Site<'_>,
    powers: std::ops::RangeInclusive<u32>,
    cluster: Bytes,
) -> Option<Placed> {
    boundaries(site, powers)
        .filter_map(|boundary| first_heap(site, boundary, cluster))
        .min_by_key(|placed| (placed.heap, std::cmp::Reverse(placed.made.boundary)))
}

/// The first start behind the floor that brings the heap onto the grid.
fn first_heap(site: &Site<'_>, boundary: Bytes, cluster: Bytes) -> Option<Placed> {
    let lead = volume(site.block, site.size(), boundary, cluster)?;
    let lead = lead.heap_offset.to_bytes(site.block)?;
    // The grid repeats against powers of two only after many places, but a start that far away
    // wastes more than it saves.
    site.boundaries_from(site.floor.checked_add(lead)?)
        .take(TRIES)
        .take_while(|heap| *heap < site.range.to)
        .find_map(|heap| with_heap_at(site, heap, boundary, cluster))
}

/// The start that brings the heap to this place.
fn with_heap_at(site: &Site<'_>, heap: Bytes, boundary: Bytes, cluster: Bytes) -> Option<Placed> {
    let mut start = heap;
    // An earlier start makes the volume larger and can lengthen the FAT, which the next round
    // takes into account.
    for _ in 0..8 {
        let size = site.range.to.checked_sub(start)?;
        let lead = volume(site.block, size, boundary, cluster)?.heap_offset;
        let next = heap.checked_sub(lead.to_bytes(site.block)?)?;
        if next == start {
            return at(site, start, boundary, cluster);
        }
        start = next;
    }
    None
}

/// FAT inside the area, heap on the first boundary behind it.
fn in_area(site: &Site<'_>, cluster: Bytes, area: ByteRange) -> Option<Placed> {
    let heap = site.boundaries.up(area.to)?;
    boundaries(site, COARSE)
        .filter_map(|boundary| with_heap_at(site, heap, boundary, cluster))
        .filter(|placed| {
            let from = placed.made.fat_offset.to_bytes(site.block);
            let length = placed.made.fat.to_bytes(site.block);
            let (Some(from), Some(length)) = (from, length) else {
                return false;
            };
            let fat = placed.start.get() + from.get();
            fat >= area.from.get() && fat + length.get() <= area.to.get()
        })
        .max_by_key(|placed| placed.made.boundary)
}

fn finish(site: &Site<'_>, placed: Placed, why: String) -> Fit {
    let offset = Bytes(placed.heap.get() - placed.start.get());
    Fit {
        start: placed.start,
        aligned_by: if site.starts.contains(placed.start) {
            AlignedBy::Start
        } else {
            AlignedBy::DataArea { reason: why }
        },
        format: Some(Format {
            parameters: Parameters::ExFat(placed.made),
            inside: Inside::OnGrid(offset),
            mount: String::new(),
        }),
        // What mkfs.exfat does anyway needs no explanation.
        notes: (placed.made.boundary != DEFAULT_BOUNDARY)
            .then(|| {
                format!(
                    "mkfs.exfat -b {}: without it the boundary is {DEFAULT_BOUNDARY}, whatever the erase block",
                    placed.made.boundary
                )
            })
            .into_iter()
            .collect(),
        alternative: None,
    }
}
