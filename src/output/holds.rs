//! What is on a device now, in a few words: what somebody recognises it by before giving it away.

use crate::quote::ascii;
use crate::table::read::{Contents, SignatureKind};

/// More partitions than these are only counted.
const NAMED: usize = 3;

/// On one line: `MBR table, 1 partition: FAT32 14.9 GiB`.
pub fn holds(contents: &Contents) -> String {
    let Some(table) = contents.table else {
        return without_table(contents);
    };
    let count = contents.partitions.len();
    let plural = if count == 1 { "" } else { "s" };
    let named: Vec<String> = contents
        .partitions
        .iter()
        .filter(|partition| !partition.is_container)
        .take(NAMED)
        .map(|partition| {
            let mut words = partition.content.unwrap_or("unknown").to_owned();
            words += &format!(" {}", rounded(partition.range.length().get()));
            if !partition.name.is_empty() {
                words += &format!(" '{}'", ascii(&partition.name));
            }
            words
        })
        .collect();
    let more = if count > NAMED { ", ..." } else { "" };
    let list = if named.is_empty() {
        String::new()
    } else {
        format!(": {}{more}", named.join(", "))
    };
    format!("{} table, {count} partition{plural}{list}", table.kind)
}

fn without_table(contents: &Contents) -> String {
    if let Some(filesystem) = contents.filesystem {
        return format!("no table, {} over the whole device", filesystem.kind.name());
    }
    let mark = contents
        .signatures
        .iter()
        .find(|signature| signature.kind != SignatureKind::PartitionTable);
    match mark {
        Some(signature) => format!(
            "no table, but {} ({})",
            signature.name,
            signature.kind.words()
        ),
        None => "nothing that is recognised".to_owned(),
    }
}

/// As people say it: three digits or so.
fn rounded(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::TableKind;
    use crate::table::read::contents::{PartitionFound, SectorZero, TableFound};
    use crate::units::{ByteRange, Bytes, LogicalBlock};

    fn bare() -> Contents {
        Contents {
            capacity: Bytes::gib(8),
            logical_block: LogicalBlock::B512,
            table: None,
            sector_zero: SectorZero::Nothing,
            gpts: Vec::new(),
            filesystem: None,
            partitions: Vec::new(),
            broken_chain: false,
            signatures: Vec::new(),
        }
    }

    #[test]
    fn a_table_is_told_with_what_is_in_its_partitions() {
        let partition = |number, name: &str| PartitionFound {
            number,
            range: ByteRange {
                from: Bytes::mib(1),
                to: Bytes::gib(2),
            },
            kind: crate::plan::PartitionType::Mbr(0x0c),
            name: name.to_owned(),
            uuid: None,
            is_container: false,
            chs_agrees: true,
            filesystem: None,
            content: Some("FAT32"),
            hidden_sectors: None,
        };
        let mut found = Contents {
            table: Some(TableFound {
                kind: TableKind::Mbr,
                disk_id: None,
                sector: LogicalBlock::B512,
            }),
            partitions: vec![partition(1, "")],
            ..bare()
        };
        assert_eq!(holds(&found), "MBR table, 1 partition: FAT32 1.9 GiB");
        found.partitions = (1..=5).map(|n| partition(n, "PHOTOS\u{1b}")).collect();
        let text = holds(&found);
        assert!(text.starts_with("MBR table, 5 partitions: FAT32 1.9 GiB 'PHOTOS\\u{1b}', "));
        assert!(text.ends_with(", ..."), "{text}");
    }

    #[test]
    fn an_empty_device_is_told_so() {
        assert_eq!(holds(&bare()), "nothing that is recognised");
    }
}
