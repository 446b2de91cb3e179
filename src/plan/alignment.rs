//! Which grid partitions lie on.
//!
//! A told erase block E with phase φ gives starts at `φ + k·L` with
//! `L = lcm(E, 1 MiB, physical block, optimal I/O size)` and ends at `φ + k·E`. When no erase block
//! is told, a grid is chosen that many sizes divide: too coarse a grid costs a few megabytes, a
//! wrong one costs a read-modify-write of an erase block at every boundary.

use super::error::PlanError;
use super::medium::physical_block;
use crate::geometry::{Geometry, Verdict};
use crate::topology::Facts;
use crate::units::{Alignment, Bytes, MIB, lcm};

/// The grid that all partitioners of the last decade keep: 1 MiB.
const MEGABYTE: Bytes = Bytes(MIB);

/// The coarsest grid that wishes beyond the erase block may lead to: `lcm(64 MiB, 24 MiB)`, a
/// multiple of every power of two up to 64 MiB and three times that, which are the sizes that the
/// SD specification's allocation unit can declare.
const COARSEST: Bytes = Bytes::mib(192);

/// The grid, and why it is this one.
#[derive(Clone, Debug, PartialEq)]
pub struct AlignmentChoice {
    /// Where partitions start.
    pub alignment: Alignment,
    /// Sizes are multiples of it, so partitions end at `phase + k * unit`. It divides the grain of
    /// `alignment`, and is smaller only when the erase block is no multiple of 1 MiB or of the
    /// optimal I/O size.
    pub unit: Bytes,
    /// The erase block that the grid rests on; `None` on the fallback grid.
    pub erase_block: Option<Bytes>,
    /// One or more clauses for people.
    pub reason: String,
    /// Whether no erase block was told and the grid is a precaution.
    pub fallback: bool,
}

impl AlignmentChoice {
    /// Where partitions end.
    pub fn ends(&self) -> Alignment {
        // A unit of zero is never built; falling back on the starts keeps this total.
        Alignment::new(self.unit, self.alignment.phase()).unwrap_or(self.alignment)
    }
}

/// The grid for a geometry. Always an answer: what is not told, or cannot be used, leads to the
/// fallback, and the reason says so.
pub fn alignment(geometry: &Geometry, facts: &Facts) -> AlignmentChoice {
    let found = &geometry.erase_block;
    match found.bytes.filter(|_| found.verdict.is_told()) {
        None => fallback(geometry, facts, &format!("erase block {}", found.verdict)),
        Some(erase_block) => {
            let phase = found.phase_bytes.unwrap_or(Bytes::ZERO);
            let basis = format!("erase block of {erase_block} ({})", found.verdict);
            told(erase_block, phase, facts, &basis).unwrap_or_else(|error| {
                fallback(geometry, facts, &format!("{basis} cannot be used: {error}"))
            })
        }
    }
}

/// The grid for an erase block given by hand.
///
/// Errors: an erase block of zero, a phase that is no multiple of the physical block, or sizes
/// without a common multiple below 2^64.
pub fn alignment_of(
    erase_block: Bytes,
    phase: Bytes,
    facts: &Facts,
) -> Result<AlignmentChoice, PlanError> {
    let basis = format!("erase block of {erase_block} as given");
    told(erase_block, phase, facts, &basis)
}

/// The grid that `--align` asks for instead of `choice`; phase 0 unless one is given.
///
/// Errors: an alignment or phase that is no multiple of the physical block.
pub fn alignment_override(
    choice: &AlignmentChoice,
    align: Bytes,
    phase: Option<Bytes>,
    physical: Bytes,
) -> Result<AlignmentChoice, PlanError> {
    if align == Bytes::ZERO || !align.is_multiple_of(physical) {
        let blocks = (align.get() / physical.get()).saturating_add(1);
        return Err(PlanError::AlignOffBlock {
            align,
            physical,
            nearest: Bytes(blocks.saturating_mul(physical.get())),
        });
    }
    let phase = phase.unwrap_or(Bytes::ZERO);
    let grid = Alignment::new(align, phase)
        .filter(|grid| grid.phase().is_multiple_of(physical))
        .ok_or(PlanError::PhaseOffBlock { phase, physical })?;
    let erase_block = choice.erase_block;
    let note = match erase_block {
        Some(block) if !align.is_multiple_of(block) => {
            format!(", which is no multiple of the erase block of {block}")
        }
        _ => String::new(),
    };
    Ok(AlignmentChoice {
        alignment: grid,
        unit: align,
        erase_block,
        reason: format!("{grid} asked for{note}"),
        fallback: false,
    })
}

/// The grid on a told erase block.
fn told(
    erase_block: Bytes,
    phase: Bytes,
    facts: &Facts,
    basis: &str,
) -> Result<AlignmentChoice, PlanError> {
    let physical = physical_block(facts);
    if erase_block == Bytes::ZERO {
        return Err(PlanError::ZeroEraseBlock);
    }
    let phase = Bytes(phase.get() % erase_block.get());
    if !phase.is_multiple_of(physical) {
        return Err(PlanError::PhaseOffBlock { phase, physical });
    }
    let mut reason = basis.to_owned();
    let mut unit = common(erase_block, physical)?;
    if unit != erase_block {
        reason += &format!("; sizes are multiples of {unit}, whole physical blocks of {physical}");
    }
    if let Some(declared) = declared(facts) {
        let (both, clause) = reconcile(erase_block, unit, declared, facts);
        unit = both;
        reason += &clause;
    }

    let mut grain = unit;
    match wish(grain, MEGABYTE, facts) {
        Some(wider) if wider != grain => {
            reason += &format!("; starts on {wider} to keep the 1 MiB grid");
            grain = wider;
        }
        Some(_) => {}
        None => reason += "; the 1 MiB grid is given up, it has no sensible multiple of this size",
    }
    if let Some(optimal) = optimal_io(facts) {
        match wish(grain, optimal, facts) {
            Some(wider) if wider != grain => {
                reason += &format!("; starts on {wider} to honour the optimal I/O size {optimal}");
                grain = wider;
            }
            Some(_) => {}
            None => reason += &format!("; the optimal I/O size {optimal} is not followed"),
        }
    }
    let phase = on_megabytes(phase, unit, grain);
    if phase != Bytes::ZERO {
        reason += &if phase.is_multiple_of(MEGABYTE) {
            format!("; boundaries begin at {phase}, so starts stay multiples of 1 MiB")
        } else {
            format!("; boundaries begin at {phase}, so starts are not multiples of 1 MiB")
        };
    }
    Ok(AlignmentChoice {
        alignment: grid(grain, phase),
        unit,
        erase_block: Some(erase_block),
        reason,
        fallback: false,
    })
}

/// What timing and the card's own word give together: a multiple honours both; of two readings
/// that contradict each other the common multiple satisfies either, if it is not absurdly large.
fn reconcile(erase_block: Bytes, unit: Bytes, declared: Bytes, facts: &Facts) -> (Bytes, String) {
    if unit.is_multiple_of(declared) {
        let clause = format!("; a multiple of the {declared} that the card declares");
        return (
            unit,
            if unit == declared {
                String::new()
            } else {
                clause
            },
        );
    }
    match wish(unit, declared, facts) {
        Some(both) if declared.is_multiple_of(erase_block) => (
            both,
            format!("; the card declares {declared}, a multiple of it, so {both} honours both"),
        ),
        Some(both) => (
            both,
            format!("; the card declares {declared} instead, so {both} satisfies both readings"),
        ),
        None => (
            unit,
            format!("; the card declares {declared}, which has no sensible common grid with it"),
        ),
    }
}

/// The grid when no erase block is told. `because` says why there is none.
fn fallback(geometry: &Geometry, facts: &Facts, because: &str) -> AlignmentChoice {
    let (grain, why) = fallback_grain(geometry, facts);
    let physical = physical_block(facts);
    // Every grain is a multiple of a declared size or of 1 MiB, so this only ever matters for a
    // declared size that the device cannot address.
    let grain = lcm(grain, physical).unwrap_or(MEGABYTE);
    AlignmentChoice {
        alignment: grid(grain, Bytes::ZERO),
        unit: grain,
        erase_block: None,
        reason: format!("{because}; {why}"),
        fallback: true,
    }
}

fn fallback_grain(geometry: &Geometry, facts: &Facts) -> (Bytes, String) {
    let declared = declared(facts);
    if let Some(most) = no_limit_seen(geometry) {
        // Like an SSD: it maps small pages, boundaries do not matter.
        let reported = declared.max(optimal_io(facts));
        let grain = MEGABYTE.max(reported.unwrap_or(MEGABYTE));
        return (
            grain,
            format!(
                "no boundary and no limit of open allocation units up to {most}: like an SSD, {grain} suffices"
            ),
        );
    }
    if let Some(declared) = declared {
        // Cards are built in 2^k and in 3·2^k; 12 MiB adds the factor 3 to what the card says.
        if let Some(grain) = lcm(declared, Bytes::mib(12)).filter(|grain| fits(*grain, facts)) {
            return (
                grain,
                format!(
                    "the card declares {declared}: {grain} is a multiple of it and of 1.5, 3, 6 and 12 MiB"
                ),
            );
        }
    }
    // Decimal, as cards are sold. 48 MiB = lcm(16 MiB, 12 MiB).
    match facts.capacity {
        None => (
            Bytes::mib(48),
            "capacity unknown: 48 MiB is a multiple of 1, 2, 4, 8, 16 and of 1.5, 3, 6, 12, 24 MiB"
                .to_owned(),
        ),
        Some(Bytes(16_000_000_000..)) => (
            Bytes::mib(48),
            "from 16 GB on 48 MiB: a multiple of 1, 2, 4, 8, 16 and of 1.5, 3, 6, 12, 24 MiB"
                .to_owned(),
        ),
        Some(Bytes(2_000_000_000..)) => (
            Bytes::mib(12),
            "from 2 GB on 12 MiB: a multiple of 1, 2, 4 and of 1.5, 3, 6 MiB".to_owned(),
        ),
        Some(_) => (
            Bytes::mib(4),
            "below 2 GB 4 MiB: the largest allocation unit that such cards declare".to_owned(),
        ),
    }
}

/// The largest number of open allocation units that was tried and was fast, when no boundary was
/// seen by reads and no limit was met.
fn no_limit_seen(geometry: &Geometry) -> Option<u32> {
    let open = &geometry.open_au.linear;
    let unlimited = open.verdict.is_told() && open.limit.is_none() && open.at_most.is_none();
    (unlimited && geometry.erase_block.verdict == Verdict::NotVisible)
        .then_some(open.at_least)
        .flatten()
}

/// What the card itself declares, when it is addressable at all.
fn declared(facts: &Facts) -> Option<Bytes> {
    let block = facts.logical_block.bytes();
    facts
        .reported
        .declared()
        .filter(|size| *size != Bytes::ZERO && size.is_multiple_of(block))
}

/// The optimal I/O size when it is of use: more than one block, and of the form m·2^k with m up to
/// 9. Bridges that report 65535 sectors fail both this and the multiple of 4096 bytes.
fn optimal_io(facts: &Facts) -> Option<Bytes> {
    facts.reported.optimal_io_size.filter(|size| {
        *size != Bytes::ZERO
            && size.is_multiple_of(Bytes(4096))
            && size.is_multiple_of(physical_block(facts))
            && size.get() >> size.get().trailing_zeros() <= 9
    })
}

/// A common multiple that is still sensible on this medium.
fn wish(grain: Bytes, wanted: Bytes, facts: &Facts) -> Option<Bytes> {
    lcm(grain, wanted).filter(|both| *both == grain || (*both <= COARSEST && quarter(*both, facts)))
}

/// Whether `grain` is at most a quarter of the medium.
fn quarter(grain: Bytes, facts: &Facts) -> bool {
    facts
        .capacity
        .is_none_or(|capacity| grain.get() <= capacity.get() / 4)
}

/// Whether a partition of one grain behind a gap of one grain fits.
fn fits(grain: Bytes, facts: &Facts) -> bool {
    facts
        .capacity
        .is_none_or(|capacity| grain.get() <= capacity.get() / 2)
}

/// Of the boundaries inside one grain the first that is a multiple of 1 MiB, else the first.
fn on_megabytes(phase: Bytes, unit: Bytes, grain: Bytes) -> Bytes {
    (0..grain.get() / unit.get())
        .map(|k| Bytes(phase.get() + k * unit.get()))
        .find(|place| place.is_multiple_of(MEGABYTE))
        .unwrap_or(phase)
}

fn common(a: Bytes, b: Bytes) -> Result<Bytes, PlanError> {
    lcm(a, b).ok_or(PlanError::NoCommonGrid { a, b })
}

/// A grid of at least one byte, so that this is total.
fn grid(grain: Bytes, phase: Bytes) -> Alignment {
    match Alignment::new(grain.max(Bytes(1)), phase) {
        Some(grid) => grid,
        None => unreachable!("a grain of at least one byte is a grid"),
    }
}
