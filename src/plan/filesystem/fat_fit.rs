//! Which start and which options for FAT?
//!
//! In this order: the FATs in a special area with the data area behind it; a start on the grid with
//! as many reserved sectors as lead to the next boundary; a start off the grid, counted backwards
//! from a boundary, where the reserved sectors would not reach.

use super::cluster;
use super::fat::{Fat, FatWidth, Wish, reserve_up_to, shortest};
use super::standard;
use super::{FatAreaChoice, Fit, FitError, Format, Inside, MEGABYTE, Parameters, Site};
use crate::geometry::Zone;
use crate::plan::layout::AlignedBy;
use crate::plan::types::FileSystem;
use crate::units::{ByteRange, Bytes, Sectors};

/// How many boundaries are tried: reserved sectors reach 32 MiB far, so on all but tiny grids the
/// first or second is the one.
const TRIES: usize = 64;

/// Where special areas have been seen: they end within the first 16 MiB (reports on the
/// flashbench-results mailing list, 2011 to 2012). What `--fat-area use` goes by when none was measured.
const USUAL_AREA: Bytes = Bytes::mib(16);

/// Two FATs: some cameras and boot ROMs do not read a volume with one.
const FATS: u8 = 2;

/// A start with its volume.
struct Placed {
    start: Bytes,
    fat: Fat,
}

/// Fit FAT.
pub(super) fn fit(width: FatWidth, site: &Site<'_>) -> Result<Fit, FitError> {
    let clusters = clusters(width, site)?;
    if site.fat_area != FatAreaChoice::Ignore {
        match in_area(width, site, &clusters) {
            Ok(Some(fit)) => return Ok(fit),
            Ok(None) => {}
            Err(why) if site.fat_area == FatAreaChoice::Use => {
                return Err(FitError::NoArea {
                    fs: word(width),
                    why,
                });
            }
            Err(_) => {}
        }
    }
    for cluster in &clusters {
        match on_grid(width, site, *cluster) {
            OnGrid::Placed(placed) => return Ok(finish(site, placed, AlignedBy::Start)),
            // A smaller cluster keeps the start on the grid.
            OnGrid::TooFew => continue,
            OnGrid::OutOfReach => {}
        }
        if let Some(placed) = backwards(width, site, *cluster) {
            let aligned_by = if !site.starts.contains(placed.start) {
                AlignedBy::DataArea {
                    reason: format!(
                        "the reserved sectors of FAT reach 65535 sectors far, not to the next boundary of {}; so the start is counted back from it",
                        site.boundaries
                    ),
                }
            } else {
                AlignedBy::Start
            };
            return Ok(finish(site, placed, aligned_by));
        }
    }
    for cluster in &clusters {
        if let Some(placed) = backwards(width, site, *cluster) {
            let reason = "a start on the grid leaves too few clusters, so it is counted back from the boundary where the data area begins".to_owned();
            return Ok(finish(site, placed, AlignedBy::DataArea { reason }));
        }
    }
    Err(FitError::NoPlace {
        fs: word(width),
        size: site.size(),
        grid: site.boundaries,
    })
}

/// What a start on the grid leads to.
enum OnGrid {
    Placed(Placed),
    /// A volume with too few clusters for its type.
    TooFew,
    /// No number of reserved sectors reaches a boundary.
    OutOfReach,
}

fn word(width: FatWidth) -> FileSystem {
    match width {
        FatWidth::Fat12 | FatWidth::Fat16 => FileSystem::Fat16,
        FatWidth::Fat32 => FileSystem::Fat32,
    }
}

fn wish(width: FatWidth, site: &Site<'_>, start: Bytes, cluster: Bytes) -> Wish {
    Wish {
        width,
        block: site.block,
        sectors: site.sectors_from(start),
        cluster,
        fats: FATS,
        geometry: site.fat_geometry.unwrap_or_default(),
    }
}

/// The clusters to try, the best first.
fn clusters(width: FatWidth, site: &Site<'_>) -> Result<Vec<Bytes>, FitError> {
    let size = site.size();
    let sector = site.block.bytes();
    let (least, most) = width.clusters();
    let possible = |cluster: Bytes| {
        // Reserved sectors and FATs take their share, which is at most this boundary and a part in
        // a hundred; the exact count is checked with the volume itself.
        let count = size.get() / cluster.get();
        count >= least && count <= most.saturating_add(most / 4)
    };
    let all: Vec<Bytes> = std::iter::successors(Some(sector), |c| Some(Bytes(c.get() * 2)))
        .take_while(|c| *c <= cluster::LARGEST_FAT)
        .collect();
    let first = cluster::fat(size, site.stick);
    let mut fitting: Vec<Bytes> = all.iter().copied().filter(|c| possible(*c)).collect();
    // The best is the one asked for, then the nearest smaller, then the nearest larger.
    fitting.sort_by_key(|c| (*c > first, c.get().abs_diff(first.get())));
    if size.get() / cluster::LARGEST_FAT.get() > most.saturating_add(most / 4)
        || site.sectors_from(site.range.from).get() > u64::from(u32::MAX)
    {
        return Err(too_large(width, site));
    }
    if fitting.is_empty() {
        return Err(too_small(width, site));
    }
    Ok(fitting)
}

fn too_large(width: FatWidth, site: &Site<'_>) -> FitError {
    let (_, most) = width.clusters();
    let sectors = Bytes((u64::from(u32::MAX) + 1).saturating_mul(site.block.bytes().get()));
    let most = sectors.min(Bytes(most.saturating_mul(cluster::LARGEST_FAT.get())));
    FitError::TooLarge {
        fs: word(width),
        size: site.size(),
        most: Bytes(most.get() / MEGABYTE.get() * MEGABYTE.get()),
        way_out: match width {
            FatWidth::Fat12 | FatWidth::Fat16 => {
                "use fat32 or exfat, or give the partition a smaller size with --partition"
            }
            FatWidth::Fat32 => "use exfat, or give the partition a smaller size with --partition",
        },
    }
}

fn too_small(width: FatWidth, site: &Site<'_>) -> FitError {
    let (least, _) = width.clusters();
    let sector = site.block.bytes().get();
    // The clusters, two FATs, and a boundary in front.
    let fats = least * width.bits() / 4;
    let least = least * sector + fats + width.least_reserved() * sector;
    FitError::TooSmall {
        fs: word(width),
        size: site.size(),
        least: Bytes(least.next_multiple_of(MEGABYTE.get())),
        way_out: match width {
            FatWidth::Fat12 | FatWidth::Fat16 => "make the partition larger",
            FatWidth::Fat32 => "use fat16, or make the partition larger",
        },
    }
}

/// A start on the grid, and the first boundary behind its FATs that the reserved sectors reach.
fn on_grid(width: FatWidth, site: &Site<'_>, cluster: Bytes) -> OnGrid {
    let start = match standard::start(word(width), site) {
        Some(start) => start,
        None => site.range.from,
    };
    let wish = wish(width, site, start, cluster);
    let reached = || -> Option<Fat> {
        let nearest = shortest(&wish)?.data().to_bytes(site.block)?;
        site.boundaries_from(start.checked_add(nearest)?)
            .take(TRIES)
            .take_while(|place| *place < site.range.to)
            .find_map(|place| {
                let data = Bytes(place.get() - start.get()).to_sectors(site.block)?;
                reserve_up_to(&wish, data)
            })
    };
    match reached() {
        Some(fat) if fat.is_sound() => OnGrid::Placed(Placed { start, fat }),
        Some(_) => OnGrid::TooFew,
        None => OnGrid::OutOfReach,
    }
}

/// A start off the grid, so that the data area lies on the first boundary that leaves room for the
/// FATs in front of it. On whole megabytes where the room allows.
fn backwards(width: FatWidth, site: &Site<'_>, cluster: Bytes) -> Option<Placed> {
    let lead = shortest(&wish(width, site, site.range.from, cluster))?.data();
    let lead = lead.to_bytes(site.block)?;
    site.boundaries_from(site.floor.checked_add(lead)?)
        .take(TRIES)
        .take_while(|place| *place < site.range.to)
        .find_map(|data| {
            let room = ByteRange {
                from: site.floor,
                to: data,
            };
            let tight = counted_back(width, site, cluster, room)?;
            let rounded = Bytes(tight.start.get() / MEGABYTE.get() * MEGABYTE.get());
            at(width, site, cluster, rounded, room).or(Some(tight))
        })
}

/// FATs and reserved sectors so that they end at `room.to`, with as few reserved sectors as
/// possible.
fn counted_back(
    width: FatWidth,
    site: &Site<'_>,
    cluster: Bytes,
    room: ByteRange,
) -> Option<Placed> {
    let mut start = room.to;
    // An earlier start makes the volume larger and can lengthen the FAT, which the next round
    // takes into account.
    for _ in 0..8 {
        let lead = shortest(&wish(width, site, start, cluster))?.data();
        let next = room.to.checked_sub(lead.to_bytes(site.block)?)?;
        if next == start {
            return at(width, site, cluster, start, room);
        }
        start = next;
    }
    None
}

/// The volume from `start` with its data area at `room.to`, if it keeps inside the room.
fn at(
    width: FatWidth,
    site: &Site<'_>,
    cluster: Bytes,
    start: Bytes,
    room: ByteRange,
) -> Option<Placed> {
    if start < room.from {
        return None;
    }
    let data: Sectors = room.to.checked_sub(start)?.to_sectors(site.block)?;
    reserve_up_to(&wish(width, site, start, cluster), data)
        .filter(Fat::is_sound)
        .map(|fat| Placed { start, fat })
}

/// FATs inside a special area, data behind it. `Ok(None)` when no area concerns this partition.
fn in_area(width: FatWidth, site: &Site<'_>, clusters: &[Bytes]) -> Result<Option<Fit>, String> {
    let force = site.fat_area == FatAreaChoice::Use;
    let zones = areas(site);
    if zones.is_empty() {
        if force {
            return Err("this partition does not begin in one".to_owned());
        }
        return Ok(None);
    }
    // Larger clusters make shorter FATs: worth it, to have them where the stick expects them.
    let mut candidates: Vec<Bytes> = clusters.iter().take(1).copied().collect();
    candidates.extend(
        clusters
            .iter()
            .copied()
            .filter(|c| Some(c) > clusters.first()),
    );
    for zone in &zones {
        for cluster in &candidates {
            if let Some(placed) = in_zone(width, site, *cluster, *zone) {
                let reason = format!(
                    "the FATs lie in the special area {}-{} and the data area begins on the boundary behind it; only boot and reserved sectors lie in front of them",
                    zone.from, zone.to
                );
                let note = format!(
                    "FAT area: both FATs lie inside {}-{}, where the stick takes small writes",
                    zone.from, zone.to
                );
                let on_grid = site.starts.contains(placed.start);
                let aligned_by = if on_grid {
                    AlignedBy::Start
                } else {
                    AlignedBy::DataArea { reason }
                };
                return Ok(Some(finish(site, placed, aligned_by).note(note)));
            }
        }
    }
    Err(format!(
        "two FATs for {} do not fit in front of its end",
        site.size()
    ))
}

/// The special areas that this partition could begin in.
pub(super) fn areas(site: &Site<'_>) -> Vec<ByteRange> {
    let range = |zone: Zone| ByteRange {
        from: zone.from_bytes,
        to: zone.to_bytes,
    };
    let mut areas: Vec<ByteRange> = match site.fat_area {
        FatAreaChoice::Ignore => Vec::new(),
        FatAreaChoice::Auto => site.stick.good_zones().map(range).collect(),
        FatAreaChoice::Use if site.stick.zones.is_empty() => site
            .boundaries_from(site.floor)
            .take_while(|place| *place <= USUAL_AREA)
            .map(|to| ByteRange {
                from: Bytes::ZERO,
                to,
            })
            .collect(),
        FatAreaChoice::Use => site.stick.zones.iter().copied().map(range).collect(),
    };
    areas.retain(|area| area.to > site.floor && area.from < site.range.from.max(area.to));
    areas
}

fn in_zone(width: FatWidth, site: &Site<'_>, cluster: Bytes, zone: ByteRange) -> Option<Placed> {
    let data = site.boundaries.up(zone.to)?;
    if data >= site.range.to {
        return None;
    }
    let from = zone.from.max(site.floor);
    let room = ByteRange { from, to: data };
    let inside = |placed: &Placed| {
        let lead = placed.fat.data().get() - placed.fat.root.get();
        let end = Sectors(lead)
            .to_bytes(site.block)
            .map(|lead| lead.get() + placed.start.get());
        end.is_some_and(|end| end <= zone.to.get())
    };
    // Where the area itself begins is a place that the stick knows; else counted back from its end.
    let starts = (zone.from >= site.floor).then_some(zone.from);
    starts
        .and_then(|start| at(width, site, cluster, start, room))
        .filter(inside)
        .or_else(|| counted_back(width, site, cluster, room).filter(inside))
}

fn finish(site: &Site<'_>, placed: Placed, aligned_by: AlignedBy) -> Fit {
    let data = placed
        .fat
        .data()
        .to_bytes(site.block)
        .unwrap_or(Bytes::ZERO);
    let mut fit = Fit {
        start: placed.start,
        aligned_by,
        format: Some(Format {
            parameters: Parameters::Fat(placed.fat),
            inside: Inside::OnGrid(data),
            mount: String::new(),
        }),
        notes: Vec::new(),
        alternative: None,
    };
    if placed.fat.width == FatWidth::Fat16 && placed.fat.cluster > Bytes::kib(32) {
        fit.notes.push(
            "FAT16 beyond 2 GiB takes clusters of 64 KiB, which cameras and older systems do not read: fat32 is safer"
                .to_owned(),
        );
    }
    fit
}
