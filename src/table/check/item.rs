//! One partition, or the file system that fills the device, on the grid.

use super::super::read::contents::{Contents, PartitionFound};
use super::super::read::filesystem::{DataArea, FileSystemFound, FileSystemKind};
use super::{Cost, Measure, Place, undecided};
use crate::plan::{Guid, PartitionType};
use crate::units::{Alignment, ByteRange, Bytes, MIB};

/// One partition, or the whole device.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its number in the table; `None` for a file system that fills the device.
    pub number: Option<usize>,
    /// Where it lies.
    pub range: ByteRange,
    /// Its type; `None` for the whole device.
    pub kind: Option<PartitionType>,
    /// Its name.
    pub name: String,
    /// What is in it.
    pub content: Option<&'static str>,
    /// Its file system, when its insides are understood.
    pub filesystem: Option<FileSystemFound>,
    /// Its start.
    pub start: Place,
    /// Where its data begin, and what begins there, when that is not its start.
    pub data: Option<(Place, &'static str)>,
    /// Whether its end lies on the grid too, so that it shares no erase block with what follows.
    pub end_on_grid: bool,
    /// What of it has to lie on the grid.
    pub decides: Decides,
    /// The nearest start before the present one with which it would lie on the grid.
    pub good_start_before: Option<Bytes>,
    /// The nearest behind it.
    pub good_start_behind: Option<Bytes>,
    /// What it costs.
    pub cost: Cost,
}

/// What of an item has to lie on the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decides {
    /// Its start.
    Start,
    /// Its data area.
    DataArea,
    /// Its start, and that is all that can be brought onto the grid, for this reason.
    StartOnly(&'static str),
    /// What will be made in it, for this reason.
    Later(&'static str),
    /// Nothing, for this reason.
    Nothing(&'static str),
}

impl Item {
    /// The place that decides; `None` when none does.
    pub fn deciding(&self) -> Option<Place> {
        match (self.decides, self.data) {
            (Decides::Nothing(_) | Decides::Later(_), _) => None,
            (Decides::DataArea, Some((place, _))) => Some(place),
            _ => Some(self.start),
        }
    }

    /// Whether what has to lie on the grid does.
    pub fn is_good(&self) -> bool {
        self.deciding().is_none_or(Place::is_on_grid)
    }
}

/// All of them: the partitions, or without a table the file system of the whole device.
pub(super) fn items(contents: &Contents, measure: &Measure) -> Vec<Item> {
    if contents.table.is_some() {
        return contents
            .partitions
            .iter()
            .map(|partition| of_partition(partition, contents.capacity, measure))
            .collect();
    }
    let whole = ByteRange {
        from: Bytes::ZERO,
        to: contents.capacity,
    };
    contents
        .filesystem
        .map(|found| {
            let content = Some(found.kind.name());
            Blank {
                number: None,
                range: whole,
                kind: None,
                name: "",
                content,
                filesystem: Some(found),
                harmless: None,
                later: None,
            }
            .judge(contents.capacity, measure)
        })
        .into_iter()
        .collect()
}

fn of_partition(partition: &PartitionFound, capacity: Bytes, measure: &Measure) -> Item {
    Blank {
        number: Some(partition.number),
        range: partition.range,
        kind: Some(partition.kind),
        name: &partition.name,
        content: partition.content,
        filesystem: partition.filesystem,
        harmless: harmless(partition),
        later: undecided::why(partition, measure.grid()),
    }
    .judge(capacity, measure)
}

/// Partitions whose place does not matter: they are written once, or never.
fn harmless(partition: &PartitionFound) -> Option<&'static str> {
    /// GUIDs of the loader partitions of GRUB (GRUB manual, "BIOS installation") and of SiFive
    /// boards (U-Boot, doc/board/sifive), and of the space that Microsoft reserves.
    const WRITTEN_ONCE: [(u128, &str); 4] = [
        (
            0x2168_6148_6449_6E6F_744E_6565_6445_4649,
            "a boot loader, written once",
        ),
        (
            0x5B19_3300_FC78_40CD_8002_E86C_4558_0B47,
            "a boot loader, written once",
        ),
        (
            0x2E54_B353_1271_4842_806F_E436_D6AF_6985,
            "a boot loader, written once",
        ),
        (
            0xE3C9_E316_0B5C_4DB8_817D_F92D_F002_15AE,
            "reserved space, never written",
        ),
    ];
    if partition.is_container {
        return Some("only contains other partitions");
    }
    let PartitionType::Gpt(kind) = partition.kind else {
        return None;
    };
    WRITTEN_ONCE
        .iter()
        .find(|(guid, _)| Guid::from_u128(*guid) == kind)
        .map(|(_, why)| *why)
}

/// What is known before it is held against the grid.
struct Blank<'a> {
    number: Option<usize>,
    range: ByteRange,
    kind: Option<PartitionType>,
    name: &'a str,
    content: Option<&'static str>,
    filesystem: Option<FileSystemFound>,
    harmless: Option<&'static str>,
    later: Option<&'static str>,
}

impl Blank<'_> {
    fn judge(self, capacity: Bytes, measure: &Measure) -> Item {
        let grid = measure.grid();
        let start = Place::on(grid, self.range.from);
        let scattered = self.filesystem.filter(|found| {
            found.kind == FileSystemKind::Btrfs
                && !undecided::BTRFS_PERIOD.is_multiple_of(grid.grain())
        });
        let data = self.filesystem.and_then(|found| match found.data {
            // One chunk on the grid says nothing of the next.
            DataArea::At { .. } if scattered.is_some() => None,
            DataArea::At { offset, what } => {
                let at = self.range.from.checked_add(offset)?;
                Some((Place::on(grid, at), what))
            }
            DataArea::FromStart => None,
        });
        let decides = match (self.harmless, self.later, data) {
            (Some(why), _, _) => Decides::Nothing(why),
            (None, Some(why), _) => Decides::Later(why),
            (None, None, Some(_)) => Decides::DataArea,
            (None, None, None) if scattered.is_some() => {
                Decides::StartOnly("its chunks lie 8 MiB apart and cannot all be on this grid")
            }
            (None, None, None) => Decides::Start,
        };
        let deciding = match decides {
            Decides::Nothing(_) | Decides::Later(_) => None,
            Decides::DataArea => data.map(|(place, _)| place),
            Decides::Start | Decides::StartOnly(_) => Some(start),
        };
        let off = deciding.filter(|place| !place.is_on_grid());
        let shifted = |place: Place| shifts(grid, place, self.range.from, capacity);
        let (before, behind) = match (off, self.number) {
            (Some(place), Some(_)) => shifted(place),
            // The file system of a whole device begins at 0 and nowhere else.
            _ => (None, None),
        };
        Item {
            number: self.number,
            range: self.range,
            kind: self.kind,
            name: self.name.to_owned(),
            content: self.content,
            filesystem: self.filesystem,
            start,
            data,
            end_on_grid: Place::on(grid, self.range.to).is_on_grid(),
            decides,
            good_start_before: before,
            good_start_behind: behind,
            cost: off.map_or(Cost::None, |place| Cost::of(place, measure.page)),
        }
    }
}

/// The starts before and behind `start` with which `place` moves onto a boundary. Nothing starts
/// before 1 MiB, where tables and boot loaders lie, nor behind the end.
fn shifts(
    grid: Alignment,
    place: Place,
    start: Bytes,
    capacity: Bytes,
) -> (Option<Bytes>, Option<Bytes>) {
    let before = start
        .checked_sub(place.past)
        .filter(|start| *start >= Bytes(MIB));
    let missing = grid.grain().saturating_sub(place.past);
    let behind = start
        .checked_add(missing)
        .and_then(|first| {
            // A start in front of 1 MiB moves on in whole steps.
            let short = Bytes(MIB).saturating_sub(first);
            let steps = short.get().div_ceil(grid.grain().get());
            first.checked_add(Bytes(steps.checked_mul(grid.grain().get())?))
        })
        .filter(|start| *start < capacity);
    (before, behind)
}
