//! What the tests that run the real mkfs tools share: the matrix of sticks, and a partition that is
//! only as large as its own image.

// Each test program uses its part of this.
#![allow(dead_code, clippy::unwrap_used)]

use flashfit::plan::filesystem::command::command;
use flashfit::plan::intent::{Intent, PartitionIntent, PartitionSize};
use flashfit::plan::layout::{Layout, Partition};
use flashfit::plan::{FileSystem, Medium, PlanError, alignment_of, layout};
use flashfit::topology::{Facts, Transport};
use flashfit::units::{Bytes, LogicalBlock, MIB};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Erase blocks in KiB: powers of two, and three times that.
pub const ERASE_BLOCKS: [u64; 12] = [
    1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 65536,
];

/// Round capacities as sticks are sold, and the exact ones of real sticks and cards.
pub const CAPACITIES: [u64; 19] = [
    1_000_000_000,
    4_000_000_000,
    8_000_000_000,
    32_000_000_000,
    128_000_000_000,
    31_914_983_424,
    3_904_897_024,
    3_965_190_144,
    3_963_617_280,
    7_902_068_736,
    3_980_394_496,
    3_985_637_376,
    3_951_034_368,
    8_035_237_888,
    7_990_149_120,
    8_001_683_456,
    8_068_792_320,
    505_413_632,
    8_019_509_248,
];

/// A stick.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub capacity: u64,
    pub erase_block: u64,
    pub phase: u64,
    pub block: LogicalBlock,
}

/// All sticks with this logical block, or a fixed sample of `sample`. Phases of 0 and 4 MiB, where 4
/// MiB lies inside an erase block.
pub fn cases(block: LogicalBlock, sample: usize) -> Vec<Case> {
    let mut all = Vec::new();
    for capacity in CAPACITIES {
        for erase_block in ERASE_BLOCKS {
            for phase in [0, 4 * MIB] {
                let erase_block = erase_block * 1024;
                if phase < erase_block {
                    all.push(Case {
                        capacity,
                        erase_block,
                        phase,
                        block,
                    });
                }
            }
        }
    }
    if super::common::full() {
        return all;
    }
    // A stride that has no common factor with the number of grids visits all of them.
    let step = (all.len() / sample).max(1);
    let step = (step..)
        .find(|step| (1..*step).all(|n| n == 1 || step % n != 0))
        .unwrap();
    all.into_iter().step_by(step).collect()
}

impl Case {
    pub fn facts(&self) -> Facts {
        Facts::bare(
            "test",
            Transport::Usb,
            Some(Bytes(self.capacity)),
            self.block,
        )
    }

    /// The layout of one partition over the whole stick.
    pub fn plan(&self, fs: FileSystem) -> Result<Layout, PlanError> {
        self.plan_of(PartitionIntent::new(PartitionSize::Rest, fs))
    }

    pub fn plan_of(&self, partition: PartitionIntent) -> Result<Layout, PlanError> {
        let facts = self.facts();
        let medium = Medium::from_facts(&facts).unwrap();
        let choice = alignment_of(Bytes(self.erase_block), Bytes(self.phase), &facts).unwrap();
        let intent = Intent {
            partitions: vec![partition],
            ..Intent::default()
        };
        layout(&medium, &choice, &intent, *b"sixteen bytes...")
    }

    /// Whether a byte of the disk lies on a boundary.
    pub fn is_boundary(&self, byte: u64) -> bool {
        byte % self.erase_block == self.phase % self.erase_block
    }
}

/// A sparse image of one partition, under a loop device where the logical block is 4096; both vanish
/// with the value.
pub struct Volume {
    pub path: PathBuf,
    looped: bool,
    _folder: tempfile::TempDir,
}

impl Volume {
    pub fn new(size: u64, block: LogicalBlock) -> Volume {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("partition.img");
        File::create(&image).unwrap().set_len(size).unwrap();
        if block == LogicalBlock::B512 {
            return Volume {
                path: image,
                looped: false,
                _folder: folder,
            };
        }
        let made = Command::new(super::common::tool("losetup").unwrap())
            .args(["--find", "--show", "--sector-size", "4096"])
            .arg(&image)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let path = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
        Volume {
            path,
            looped: true,
            _folder: folder,
        }
    }

    /// Make the file system of a partition here, with the very command of the plan.
    pub fn make(&self, layout: &Layout, partition: &Partition) -> String {
        let format = partition.format.as_ref().unwrap();
        let node = self.path.to_str().unwrap();
        let command = command(format, partition, layout.logical_block, node);
        let line = command.line();
        let output = run(command.tool.program, &command.arguments);
        assert!(output.status.success(), "{line}: {output:?}");
        line
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        if self.looped {
            let _ = Command::new(super::common::tool("losetup").unwrap())
                .arg("--detach")
                .arg(&self.path)
                .status();
        }
    }
}

/// The image of partition 1, with its file system.
pub fn made(layout: &Layout) -> (Volume, String) {
    let partition = &layout.partitions[0];
    let range = layout.byte_range(partition);
    let volume = Volume::new(range.length().get(), layout.logical_block);
    let line = volume.make(layout, partition);
    (volume, line)
}

/// Run a tool.
pub fn run(tool: &str, arguments: &[String]) -> Output {
    let path = super::common::tool(tool).unwrap_or_else(|| panic!("no {tool}"));
    Command::new(path)
        .args(arguments)
        .env("LC_ALL", "C")
        .output()
        .unwrap()
}

/// What a reader says of an image.
pub fn told(tool: &str, options: &[&str], image: &Path) -> String {
    let mut words: Vec<String> = options.iter().map(|word| (*word).to_owned()).collect();
    words.push(image.to_str().unwrap().to_owned());
    let output = run(tool, &words);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The first number behind a word.
#[track_caller]
pub fn number_behind(text: &str, word: &str) -> u64 {
    let (_, rest) = text
        .split_once(word)
        .unwrap_or_else(|| panic!("no '{word}' in {text}"));
    let digits: String = rest
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap()
}
