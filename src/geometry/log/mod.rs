//! Geometry from flashbench logs: runs in, geometry out.
//!
//! All runs are of one device, whatever files they come from. What a log does not contain is "not
//! tested"; what it contains but does not show is "not visible", with the reason.

mod erase_block;
mod fat_area;
mod fit;
mod hypotheses;
mod open_au;
mod page;
mod places;
mod profile;
mod robust;
mod throughput;

use crate::geometry::Geometry;
use crate::measure::flashbench_log::{AlignScan, FindFatRun, OpenAuRun, Run};
use crate::topology::Reported;
use crate::units::Bytes;

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
    for run in runs {
        match run {
            Run::Align(scan) => scans.push(scan),
            Run::OpenAu(run) => open_au_runs.push(run),
            Run::FindFat(run) => find_fat_runs.push(run),
        }
    }
    let too_small = open_au::units_too_small(&open_au_runs);
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
    if found.maybe_cached {
        notes.push(Note {
            code: "may_be_hidden_by_cache",
            text: "the write rate does not depend on the number of open units at all: a cache may hide the limit"
                .to_owned(),
        });
    }
    Inference { geometry, notes }
}
