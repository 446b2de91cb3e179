//! What is wrong with what is there: does every partition and every data area lie on the grid, and
//! do the table and its copies agree with each other and with the device?
//!
//! Pure: [`Contents`] and a grid in, findings out.
//!
//! | file | question |
//! |---|---|
//! | `place` | where is this on the grid, and which good places are near? |
//! | `item` | does this partition lie on the grid, and what of it has to? |
//! | `undecided` | could this start be one that a file system will be made for? |
//! | `cost` | what does it cost when it does not? |
//! | `copies` | do the copies of a GPT agree? |
//! | `first_sector` | what is sector 0, and what shows under it? |
//! | `partitions` | do the partitions fit the device, the table and each other? |
//! | `leftovers` | what else would other systems recognise? |
//! | `sd_layout` | is it the layout that SD cards come with? |

mod copies;
mod cost;
mod first_sector;
mod item;
mod leftovers;
mod partitions;
mod place;
mod sd_layout;
mod undecided;

pub use cost::Cost;
pub use item::{Decides, Item};
pub use place::Place;

use super::read::Contents;
use crate::device::sysfs::AlignmentOffset;
use crate::plan::AlignmentChoice;
use crate::units::{Alignment, Bytes};

/// What the contents are judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The grid. Whole units of it count, not the wider steps that new partitions would be given.
    pub choice: AlignmentChoice,
    /// The page, when it is known.
    pub page: Option<Bytes>,
    /// A plain file has no sectors of its own: a table with other ones is no fault of it.
    pub is_image: bool,
    /// What the device says of the place of its first block.
    pub alignment_offset: Option<AlignmentOffset>,
}

impl Measure {
    /// The erase-block grid.
    pub fn grid(&self) -> Alignment {
        self.choice.ends()
    }
}

/// Everything that was found out.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The partitions, or the file system that fills the device.
    pub items: Vec<Item>,
    /// What is inconsistent, and what is only worth knowing.
    pub findings: Vec<Finding>,
}

/// Something about the table or the device as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A fixed word for programs.
    pub code: &'static str,
    /// Whether it is a fault.
    pub weight: Weight,
    /// A sentence for people: what is the matter, and what to do about it.
    pub text: String,
}

/// Whether a finding is a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Weight {
    /// Something contradicts something else.
    Inconsistent,
    /// Worth knowing.
    Note,
}

impl Finding {
    fn inconsistent(code: &'static str, text: impl Into<String>) -> Finding {
        Finding {
            code,
            weight: Weight::Inconsistent,
            text: text.into(),
        }
    }

    fn note(code: &'static str, text: impl Into<String>) -> Finding {
        Finding {
            code,
            weight: Weight::Note,
            text: text.into(),
        }
    }
}

impl Checked {
    /// Whether everything lies on the grid and nothing is inconsistent.
    pub fn is_good(&self) -> bool {
        self.is_on_grid() && self.is_consistent()
    }

    /// Whether everything that has to lies on the grid.
    pub fn is_on_grid(&self) -> bool {
        self.items.iter().all(Item::is_good)
    }

    /// Whether nothing contradicts anything.
    pub fn is_consistent(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.weight == Weight::Note)
    }
}

/// Judge what was found on a device.
pub fn check(contents: &Contents, measure: &Measure) -> Checked {
    let mut findings = Vec::new();
    copies::findings(contents, measure, &mut findings);
    first_sector::findings(contents, &mut findings);
    partitions::findings(contents, &mut findings);
    leftovers::findings(contents, &mut findings);
    findings.extend(sd_layout::recognise(contents));
    match measure.alignment_offset {
        None | Some(AlignmentOffset::Zero) => {}
        Some(AlignmentOffset::Misaligned) => findings.push(Finding::note(
            "alignment_offset",
            "the device itself says that it is misaligned (alignment_offset is -1)",
        )),
        Some(AlignmentOffset::Shifted(bytes)) => findings.push(Finding::note(
            "alignment_offset",
            format!("the device itself says that its blocks begin {bytes} in (alignment_offset)"),
        )),
    }
    if leftovers::is_installer(contents) {
        // Such images are hybrids on purpose: their tables describe the same sectors twice.
        for finding in &mut findings {
            finding.weight = Weight::Note;
        }
    }
    findings.sort_by_key(|finding| finding.weight);
    Checked {
        items: item::items(contents, measure),
        findings,
    }
}
