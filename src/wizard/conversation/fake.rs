//! A stick that the tests of the conversation talk about: 16 GB, erase blocks of 8 MiB.

use crate::geometry::{EraseBlock, Geometry, Source, Verdict};
use crate::output::devices::Device;
use crate::output::report::{Cost, Report};
use crate::plan::intent::Intent;
use crate::plan::{self, FileSystem, Layout, Medium};
use crate::topology::{Facts, Transport};
use crate::units::{Bytes, LogicalBlock};
use crate::wizard::{Candidate, Looked, Nature};

const SIZE: Bytes = Bytes(16_012_804_096);

pub fn candidate(path: &str) -> Candidate {
    Candidate {
        device: Device {
            path: path.to_owned(),
            by_id: vec!["/dev/disk/by-id/usb-Corsair_Voyager-0:0".to_owned()],
            by_path: Vec::new(),
            capacity: SIZE,
            transport: Transport::Usb,
            vendor: Some("Corsair".to_owned()),
            model: Some("Voyager".to_owned()),
            serial: Some("4C53".to_owned()),
            usb_id: None,
            removable: Some(true),
            in_use: Vec::new(),
            notes: Vec::new(),
            refusal: None,
        },
        holds: "MBR table, 1 partition: FAT32".to_owned(),
    }
}

pub fn looked(path: &str) -> Looked {
    Looked {
        candidate: candidate(path),
        nature: Nature::Disk,
        obstacle: None,
        caution: None,
        write_limit: Bytes::gib(1),
        wear: 0.54,
    }
}

pub fn report(path: &str) -> Report {
    let facts = Facts::bare(path, Transport::Usb, Some(SIZE), LogicalBlock::B512);
    let geometry = Geometry {
        erase_block: EraseBlock {
            verdict: Verdict::Confirmed,
            bytes: Some(Bytes::mib(8)),
            phase_bytes: Some(Bytes::ZERO),
            confidence: 1.0,
            source: Source::Measured,
            evidence: vec!["boundaries cost 250 us every 8 MiB".to_owned()],
            ..EraseBlock::default()
        },
        ..Geometry::default()
    };
    Report::new(facts, geometry, Cost::default())
}

/// The layout for an intent, as the program makes it.
pub fn arranged(intent: &Intent) -> Layout {
    let report = report("/dev/sdb");
    let medium = Medium::from_facts(&report.device)
        .unwrap()
        .with_geometry(&report.geometry, &report.device);
    plan::layout(&medium, &report.alignment, intent, [7; 16]).unwrap()
}

/// The layout for a purpose, or with a file system.
pub fn layout(purpose: Option<&str>, filesystem: Option<FileSystem>) -> Layout {
    let mut intent = match filesystem {
        Some(filesystem) => Intent::whole_device(filesystem, None),
        None => Intent::default(),
    };
    intent.purpose = purpose.map(|word| word.parse().unwrap());
    arranged(&intent)
}
