//! A layout as a picture: the whole medium as a bar, and its start enlarged, with the boundaries of
//! the grid. ASCII only, so that it reads the same on a plain console and over a serial line.

use super::layout_text::{mib, number};
use crate::plan::filesystem::Inside;
use crate::plan::layout::{GapKind, Layout, Partition};
use crate::quote::ascii;
use crate::units::{Bytes, Lba};
use std::fmt::Write;

/// How many characters the picture is wide.
const PICTURE: usize = 64;

/// The enlarged start shows no more units of the grid than these; a unit needs some columns.
const MOST_UNITS: u64 = 8;

/// The bar, the places of the grid, and the enlarged start. With a final line break.
pub fn render(layout: &Layout) -> String {
    let mut text = bar(layout);
    text += &places(layout);
    text += &enlarged(layout);
    text
}

/// The picture with what it shows in words, for those who read nothing else. No line is longer than
/// 79 characters.
pub fn summary(layout: &Layout) -> String {
    let grid = &layout.alignment;
    // Writing to a String cannot fail, hence the ignored results in this file.
    let mut text = format!(
        "{} table on a medium of {}, grid of {}\n\n",
        layout.table,
        mib(layout.capacity_bytes()),
        grid.alignment
    );
    text += &bar(layout);
    text += &enlarged(layout);
    text.push('\n');
    for (index, partition) in layout.partitions.iter().enumerate() {
        let range = layout.byte_range(partition);
        let _ = writeln!(
            text,
            "  {}  {:<6} starts at {}, is {} large{}{}",
            index + 1,
            partition.filesystem.word(),
            mib(range.from),
            mib(range.length()),
            units(layout, range.length()),
            match &partition.label {
                Some(label) => format!(", '{}'", ascii(label)),
                None => String::new(),
            }
        );
        if let Some(place) = data(layout, partition).filter(|place| *place != range.from) {
            let _ = writeln!(
                text,
                "             its data begin at {}, on the grid",
                mib(place)
            );
        }
    }
    for warning in &layout.warnings {
        let _ = writeln!(text, "  warning: {}", ascii(&warning.text));
    }
    text
}

/// How many units of the grid a length is, where it is a whole number of them.
fn units(layout: &Layout, length: Bytes) -> String {
    let unit = layout.alignment.unit;
    if unit == Bytes::ZERO || !length.is_multiple_of(unit) {
        return String::new();
    }
    let what = match layout.alignment.erase_block {
        Some(block) if block == unit => "erase blocks",
        _ => "units",
    };
    format!(" ({} {what} of {unit})", length.get() / unit.get())
}

/// The medium as a bar: digits are partitions, `#` the table, `x` a keep-out range, `.` free.
/// Widths are in proportion, but the table and every partition get at least one character.
fn bar(layout: &Layout) -> String {
    let mut pieces: Vec<(Lba, u64, char, bool)> = Vec::new();
    for gap in &layout.gaps {
        let size = gap.to.get().saturating_sub(gap.from.get());
        pieces.push((gap.from, size, sign_of_gap(gap.kind), gap.from == Lba(0)));
    }
    for (index, partition) in layout.partitions.iter().enumerate() {
        let size = partition.sectors.get();
        pieces.push((partition.first, size, sign(index + 1), true));
    }
    pieces.sort_unstable_by_key(|piece| piece.0);
    let total = u128::from(layout.capacity.get()).max(1);
    let mut widths: Vec<usize> = pieces
        .iter()
        .map(|(_, size, _, always)| {
            let share = u128::from(*size) * PICTURE as u128 / total;
            usize::try_from(share)
                .unwrap_or(PICTURE)
                .max(usize::from(*always))
        })
        .collect();
    // What rounding took or gave is settled with the widest piece.
    let sum: usize = widths.iter().sum();
    if let Some(widest) = widths.iter_mut().max() {
        *widest = (*widest + PICTURE).saturating_sub(sum).max(1);
    }
    let bar: String = pieces
        .iter()
        .zip(widths)
        .flat_map(|((_, _, sign, _), width)| std::iter::repeat_n(*sign, width))
        .collect();
    format!(
        "[{bar}]\n # table   1-9 partitions   x keep-out   / not to be used   . free   - tail\n"
    )
}

const fn sign_of_gap(kind: GapKind) -> char {
    match kind {
        GapKind::Table => '#',
        GapKind::KeepOut => 'x',
        GapKind::Tail => '-',
        GapKind::Rounding | GapKind::Unused => '.',
        GapKind::Reserved | GapKind::BeyondMaxSize => '/',
    }
}

/// The first places of the grid in MiB, with what begins there.
fn places(layout: &Layout) -> String {
    let grid = layout.alignment.alignment;
    let places: Vec<String> = (0..6u64)
        .filter_map(|k| {
            grid.grain()
                .get()
                .checked_mul(k)?
                .checked_add(grid.phase().get())
        })
        .map(Bytes)
        .take_while(|place| *place < layout.capacity_bytes())
        .map(|place| {
            let starts = layout
                .partitions
                .iter()
                .position(|p| layout.byte_range(p).from == place);
            match starts {
                Some(index) => format!("{}=p{}", number(place), index + 1),
                None => number(place),
            }
        })
        .collect();
    format!(" grid in MiB: {} ...\n", places.join(" | "))
}

/// Where the data of the file system begin, when that is known and planned to lie on the grid.
fn data(layout: &Layout, partition: &Partition) -> Option<Bytes> {
    let format = partition.format.as_ref()?;
    let Inside::OnGrid(offset) = format.inside else {
        return None;
    };
    layout.byte_range(partition).from.checked_add(offset)
}

/// The start of the medium, one column a fraction of a unit of the grid, up to where the data of the
/// first partition have begun. Nothing when that is too far away to be seen.
fn enlarged(layout: &Layout) -> String {
    let Some(scale) = Scale::of(layout) else {
        return String::new();
    };
    let mut ruler = vec![b' '; PICTURE + 1];
    let mut labels = String::new();
    for unit in 0..=scale.units {
        let Some(column) = scale.boundary(layout, unit) else {
            continue;
        };
        if let Some(mark) = ruler.get_mut(column) {
            *mark = b'|';
        }
        let label = scale.place(layout, unit).map_or(String::new(), number);
        // A label that would touch the one before is left out.
        if labels.is_empty() || labels.len() < column {
            labels = format!("{labels:<column$}{label}");
        }
    }
    let row: String = (0..PICTURE)
        .map(|column| content(layout, scale.at(column), scale.at(column + 1)))
        .collect();
    let ruler = String::from_utf8_lossy(&ruler).into_owned();
    let mut text = format!(
        "\n the start, enlarged; | is a boundary of the grid of {}\n",
        layout.alignment.alignment
    );
    let _ = writeln!(text, " {}", ruler.trim_end());
    let _ = writeln!(text, " {row}");
    let _ = writeln!(text, " {labels} MiB");
    let has_head = row.contains('f');
    if has_head {
        let _ = writeln!(
            text,
            " f what the file system keeps in front of its data, such as a FAT"
        );
    }
    text
}

/// How the start is enlarged.
struct Scale {
    /// One unit of the grid.
    unit: u64,
    /// How many of them are shown.
    units: u64,
}

impl Scale {
    fn of(layout: &Layout) -> Option<Scale> {
        let unit = layout.alignment.alignment.grain().get();
        let first = layout.partitions.first()?;
        let start = layout.byte_range(first).from;
        let begins = data(layout, first).unwrap_or(start).max(start);
        // The unit that the data begin in, and one more.
        let wanted = (begins.get() / unit).checked_add(2)?;
        let units = wanted.max(4);
        let shown = u128::from(unit) * u128::from(units);
        (units <= MOST_UNITS && shown <= u128::from(layout.capacity_bytes().get()))
            .then_some(Scale { unit, units })
    }

    /// The byte at which a column begins.
    fn at(&self, column: usize) -> Bytes {
        let place =
            u128::from(self.unit) * u128::from(self.units) * column as u128 / PICTURE as u128;
        Bytes(u64::try_from(place).unwrap_or(u64::MAX))
    }

    /// The place of a boundary.
    fn place(&self, layout: &Layout, unit: u64) -> Option<Bytes> {
        let phase = layout.alignment.alignment.phase();
        Bytes(self.unit.checked_mul(unit)?).checked_add(phase)
    }

    /// The column in which a boundary lies, when it is shown.
    fn boundary(&self, layout: &Layout, unit: u64) -> Option<usize> {
        let place = u128::from(self.place(layout, unit)?.get());
        let column = place * PICTURE as u128 / (u128::from(self.unit) * u128::from(self.units));
        usize::try_from(column).ok().filter(|it| *it <= PICTURE)
    }
}

/// What a column shows: whatever begins in it, else what it lies in.
fn content(layout: &Layout, from: Bytes, to: Bytes) -> char {
    if from == Bytes::ZERO {
        return '#';
    }
    let begins = layout.partitions.iter().enumerate().find(|(_, partition)| {
        let start = layout.byte_range(partition).from;
        (from..to).contains(&start)
    });
    let inside = || {
        layout.partitions.iter().enumerate().find(|(_, partition)| {
            let range = layout.byte_range(partition);
            (range.from..range.to).contains(&from)
        })
    };
    if let Some((index, partition)) = begins.or_else(inside) {
        let data = data(layout, partition).unwrap_or(Bytes::ZERO);
        return if to <= data { 'f' } else { sign(index + 1) };
    }
    let block = layout.logical_block;
    let gap = layout.gaps.iter().find(|gap| {
        let range = gap.from.to_bytes(block).zip(gap.to.to_bytes(block));
        range.is_some_and(|(first, end)| (first..end).contains(&from))
    });
    match gap.map(|gap| gap.kind) {
        // The table itself is in the first column; behind it there is only room.
        Some(GapKind::Table) | None => '.',
        Some(kind) => sign_of_gap(kind),
    }
}

/// How a partition is drawn.
fn sign(number: usize) -> char {
    u32::try_from(number)
        .ok()
        .and_then(|n| char::from_digit(n, 10))
        .unwrap_or('+')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::intent::Intent;
    use crate::plan::{FileSystem, Medium, alignment_of, layout};
    use crate::topology::{Facts, Transport};
    use crate::units::LogicalBlock;

    fn planned(erase_block: Bytes, phase: Bytes, filesystem: FileSystem) -> Layout {
        let facts = Facts::bare(
            "/dev/sdb",
            Transport::Usb,
            Some(Bytes(16_012_804_096)),
            LogicalBlock::B512,
        );
        let choice = alignment_of(erase_block, phase, &facts).unwrap();
        let medium = Medium::from_facts(&facts).unwrap();
        layout(
            &medium,
            &choice,
            &Intent::whole_device(filesystem, None),
            [1; 16],
        )
        .unwrap()
    }

    /// The columns under the boundaries, and the row below.
    fn drawn(layout: &Layout) -> (Vec<usize>, String) {
        let text = enlarged(layout);
        let lines: Vec<&str> = text.lines().collect();
        let marks = lines[2][1..]
            .char_indices()
            .filter(|(_, c)| *c == '|')
            .map(|(column, _)| column)
            .collect();
        (marks, lines[3][1..].to_owned())
    }

    #[test]
    fn a_partition_begins_under_a_boundary_of_the_grid() {
        let layout = planned(Bytes::mib(8), Bytes::ZERO, FileSystem::Ext4);
        let (marks, row) = drawn(&layout);
        assert_eq!(row.len(), PICTURE);
        let begins = row.find('1').unwrap();
        assert!(marks.contains(&begins), "{marks:?} {row}");
        assert!(row.starts_with("#."), "{row}");
    }

    #[test]
    fn with_a_phase_the_boundaries_do_not_begin_at_zero() {
        let layout = planned(Bytes::mib(12), Bytes::mib(4), FileSystem::Ext4);
        let (marks, row) = drawn(&layout);
        assert!(!marks.contains(&0), "{marks:?}");
        assert!(marks.contains(&row.find('1').unwrap()), "{marks:?} {row}");
    }

    #[test]
    fn what_a_file_system_keeps_in_front_is_drawn_and_its_data_begin_under_a_boundary() {
        let layout = planned(Bytes::mib(8), Bytes::ZERO, FileSystem::ExFat);
        let (marks, row) = drawn(&layout);
        let data = row.find('1').unwrap();
        assert!(row[..data].contains('f'), "{row}");
        assert!(marks.contains(&data), "{marks:?} {row}");
    }

    #[test]
    fn a_start_that_is_too_far_away_is_not_drawn() {
        let facts = Facts::bare(
            "/dev/sdb",
            Transport::Usb,
            Some(Bytes::gib(16)),
            LogicalBlock::B512,
        );
        let choice = alignment_of(Bytes::mib(1), Bytes::ZERO, &facts).unwrap();
        let medium = Medium::from_facts(&facts).unwrap();
        let intent = Intent {
            keep_out: vec!["1MiB-900MiB".parse().unwrap()],
            ..Intent::whole_device(FileSystem::Ext4, None)
        };
        let far = layout(&medium, &choice, &intent, [1; 16]).unwrap();
        assert_eq!(enlarged(&far), "");
        assert!(bar(&far).contains('x') || bar(&far).contains('1'));
    }

    #[test]
    fn no_line_is_wider_than_the_page() {
        for block in [1, 6, 8, 24, 48] {
            for filesystem in [FileSystem::ExFat, FileSystem::F2fs, FileSystem::Btrfs] {
                let layout = planned(Bytes::mib(block), Bytes::ZERO, filesystem);
                let text = summary(&layout);
                for line in text.lines().filter(|it| !it.contains("warning")) {
                    assert!(line.len() < 80 && line.is_ascii(), "{line}");
                }
            }
        }
    }
}
