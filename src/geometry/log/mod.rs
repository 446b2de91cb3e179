//! Geometry from flashbench logs: runs in, geometry out.
//!
//! All runs are of one device, whatever files they come from. What a log does not contain is "not
//! tested"; what it contains but does not show is "not visible", with the reason.

mod erase_block;
mod explain;
mod fat_area;
mod fit;
mod hypotheses;
mod open_au;
mod page;
mod places;
mod profile;
mod robust;
mod sentences;
mod throughput;
mod trial;

use crate::geometry::Geometry;
use crate::measure::flashbench_log::{AlignScan, FindFatRun, OpenAuRun, Run};
use crate::topology::Reported;
use crate::units::Bytes;

/// More runs than these are left out, to keep the time bounded. The largest public log has 10 scans,
/// 60 open-AU runs and 3 find-fat runs.
const MOST_SCANS: usize = 40;
const MOST_OPEN_AU_RUNS: usize = 500;
const MOST_FIND_FAT_RUNS: usize = 50;
/// Two ladders from 2^63 down to a byte have fewer lines.
const MOST_LINES: usize = 128;

/// Something that a reader of the result should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// A short name that programs can test for.
    pub code: &'static str,
    /// One sentence.
    pub text: String,
}

/// What a log says.
#[derive(Clone, Debug, PartialEq)]
pub struct Inference {
    /// The geometry.
    pub geometry: Geometry,
    /// Warnings.
    pub notes: Vec<Note>,
}

/// Infer the geometry of the device that all runs are of. `capacity` is its size if known; `reported`
/// what card or kernel say, empty for a log alone.
pub fn infer(runs: &[Run], capacity: Option<Bytes>, reported: &Reported) -> Inference {
    let mut scans: Vec<&AlignScan> = Vec::new();
    let mut open_au_runs: Vec<&OpenAuRun> = Vec::new();
    let mut find_fat_runs: Vec<&FindFatRun> = Vec::new();
    let mut left_out = 0;
    for run in runs {
        match run {
            Run::Align(scan) if scans.len() < MOST_SCANS && scan.lines.len() <= MOST_LINES => {
                scans.push(scan);
            }
            Run::OpenAu(run)
                if open_au_runs.len() < MOST_OPEN_AU_RUNS && run.lines.len() <= MOST_LINES =>
            {
                open_au_runs.push(run);
            }
            Run::FindFat(run)
                if find_fat_runs.len() < MOST_FIND_FAT_RUNS && run.lines.len() <= MOST_LINES =>
            {
                find_fat_runs.push(run);
            }
            _ => left_out += 1,
        }
    }
    let too_small = trial::units_too_small(&open_au_runs);
    let known = erase_block::Known {
        capacity,
        reported,
        too_small: &too_small,
    };
    let erase_block = erase_block::infer(&scans, &known);
    let found = open_au::infer(&open_au_runs, &erase_block);
    let geometry = Geometry {
        page: page::infer(&scans, &open_au_runs, &erase_block),
        open_au: found.open_aus,
        fat_area: fat_area::infer(&find_fat_runs),
        throughput: throughput::infer(&open_au_runs),
        erase_block,
    };
    let mut notes = Vec::new();
    if left_out > 0 {
        notes.push(Note {
            code: "runs_left_out",
            text: format!(
                "{left_out} runs beyond the first {} were left out",
                runs.len() - left_out
            ),
        });
    }
    if found.maybe_cached {
        notes.push(Note {
            code: "may_be_hidden_by_cache",
            text: "the write rate does not depend on the number of open units at all: a cache may hide the limit"
                .to_owned(),
        });
    }
    let partition = scans
        .iter()
        .filter_map(|scan| scan.request.device.as_deref())
        .find(|device| is_partition(device));
    if let Some(partition) = partition {
        notes.push(Note {
            code: "scan_of_partition",
            text: format!(
                "the scan is of partition {partition}: its boundaries count from the start of the partition"
            ),
        });
    }
    Inference { geometry, notes }
}

/// What to say when a log mentions capacities but none was given; they may be another device's.
pub fn capacity_note(mentioned: &[Bytes]) -> Option<Note> {
    let first = mentioned.first()?;
    Some(Note {
        code: "capacity_not_given",
        text: format!(
            "the log mentions {0} bytes: if that is the device's capacity, --capacity {0}B makes the scan clearer",
            first.get()
        ),
    })
}

/// `/dev/sdb7`, `/dev/mmcblk0p1`, `/dev/nvme0n1p2`.
fn is_partition(device: &str) -> bool {
    let name = device.rsplit('/').next().unwrap_or_default();
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == name.len() {
        return false;
    }
    let disk = stem.trim_end_matches('p');
    let numbered = disk.len() < stem.len() && disk.ends_with(|c: char| c.is_ascii_digit());
    numbered || ["sd", "hd", "vd"].iter().any(|kind| name.starts_with(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::flashbench_log::parse;

    #[test]
    fn partitions_are_told_from_disks() {
        for device in ["/dev/sdb7", "/dev/mmcblk0p1", "/dev/nvme0n1p2"] {
            assert!(is_partition(device), "{device}");
        }
        for device in [
            "/dev/sdb",
            "/dev/mmcblk0",
            "/dev/nvme0n1",
            "/dev/loop0",
            "",
            "/dev/disk/by-id/x",
        ] {
            assert!(!is_partition(device), "{device}");
        }
    }

    #[test]
    fn what_a_log_does_not_contain_is_not_tested() {
        let log = parse(b"flashbench -O /dev/sdb\n4MiB 5M/s\n2MiB 5M/s\n1MiB 5M/s\n").unwrap();
        let geometry = infer(&log.runs, None, &Reported::default()).geometry;
        assert_eq!(
            geometry.erase_block.verdict,
            crate::geometry::Verdict::NotTested
        );
        assert_eq!(
            geometry.fat_area.verdict,
            crate::geometry::Verdict::NotTested
        );
        assert_eq!(geometry.throughput.write.len(), 3);
    }

    #[test]
    fn a_mentioned_capacity_is_only_mentioned() {
        let text = b"Disk /dev/sdc: 31.9 GB, 31914983424 bytes\nalign 4096 pre 1ms on 1ms post 1ms diff 1ns\n";
        let log = parse(text).unwrap();
        assert_eq!(log.capacities, [Bytes(31_914_983_424)]);
        assert!(
            capacity_note(&log.capacities)
                .unwrap()
                .text
                .contains("31914983424B")
        );
        assert_eq!(capacity_note(&[]), None);
    }
}
