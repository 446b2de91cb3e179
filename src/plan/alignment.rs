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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Cutoff, EraseBlock, OpenAu};
    use crate::topology::{Origin, PreferredEraseSize, Transport};
    use crate::units::LogicalBlock;

    fn facts(capacity: u64) -> Facts {
        Facts::bare(
            "test",
            Transport::Usb,
            Some(Bytes(capacity)),
            LogicalBlock::B512,
        )
    }

    fn measured(erase_block: Bytes, phase: Bytes) -> Geometry {
        Geometry {
            erase_block: EraseBlock {
                verdict: Verdict::Confirmed,
                bytes: Some(erase_block),
                phase_bytes: Some(phase),
                ..EraseBlock::default()
            },
            ..Geometry::default()
        }
    }

    fn not_visible() -> Geometry {
        Geometry {
            erase_block: EraseBlock {
                verdict: Verdict::NotVisible,
                ..EraseBlock::default()
            },
            ..Geometry::default()
        }
    }

    fn ssr(capacity: u64, au: Bytes) -> Facts {
        let mut facts = facts(capacity);
        facts.reported.ssr_au_size = Some(au);
        facts
    }

    /// Grain and unit in KiB, phase in KiB.
    fn kib(choice: &AlignmentChoice) -> (u64, u64, u64) {
        (
            choice.alignment.grain().get() / 1024,
            choice.unit.get() / 1024,
            choice.alignment.phase().get() / 1024,
        )
    }

    #[test]
    fn starts_keep_the_megabyte_grid_and_ends_the_erase_block() {
        for (erase_block, grain) in [
            (512, 1024),
            (1024, 1024),
            (1536, 3072),
            (2048, 2048),
            (3072, 3072),
            (6144, 6144),
            (12288, 12288),
            (24576, 24576),
            (4608, 9216),
        ] {
            let geometry = measured(Bytes::kib(erase_block), Bytes::ZERO);
            let choice = alignment(&geometry, &facts(31_914_983_424));
            assert_eq!(kib(&choice), (grain, erase_block, 0), "{}", choice.reason);
            assert!(!choice.fallback);
        }
    }

    #[test]
    fn a_phase_on_a_megabyte_is_kept_and_said() {
        let geometry = measured(Bytes::mib(12), Bytes::mib(4));
        let choice = alignment(&geometry, &facts(31_914_983_424));
        assert_eq!(kib(&choice), (12288, 12288, 4096));
        assert!(choice.reason.contains("stay multiples of 1 MiB"));
        // Boundaries at 0.5, 2, 3.5 MiB …: 2 MiB is the first on the megabyte grid.
        let geometry = measured(Bytes::kib(1536), Bytes::kib(512));
        let choice = alignment(&geometry, &facts(31_914_983_424));
        assert_eq!(kib(&choice), (3072, 1536, 2048));
        let geometry = measured(Bytes::mib(4), Bytes::kib(512));
        let choice = alignment(&geometry, &facts(31_914_983_424));
        assert_eq!(kib(&choice), (4096, 4096, 512));
        assert!(choice.reason.contains("not multiples of 1 MiB"));
    }

    #[test]
    fn a_phase_off_the_physical_block_is_refused_with_the_reason() {
        let mut facts = facts(31_914_983_424);
        facts.physical_block = Some(Bytes(4096));
        let refused = alignment_of(Bytes::mib(4), Bytes(512), &facts);
        assert!(matches!(refused, Err(PlanError::PhaseOffBlock { .. })));
        let choice = alignment(&measured(Bytes::mib(4), Bytes(512)), &facts);
        assert!(choice.fallback);
        assert!(
            choice.reason.contains("phase of 512 B is no multiple"),
            "{}",
            choice.reason
        );
    }

    #[test]
    fn a_declared_multiple_is_honoured_and_named() {
        let geometry = measured(Bytes::mib(2), Bytes::ZERO);
        let choice = alignment(&geometry, &ssr(256_000_000_000, Bytes::mib(4)));
        assert_eq!(kib(&choice), (4096, 4096, 0));
        assert!(
            choice.reason.contains("declares 4 MiB"),
            "{}",
            choice.reason
        );
        // The larger measured size already is a multiple.
        let geometry = measured(Bytes::mib(8), Bytes::ZERO);
        let choice = alignment(&geometry, &ssr(256_000_000_000, Bytes::mib(4)));
        assert_eq!(kib(&choice), (8192, 8192, 0));
    }

    #[test]
    fn two_readings_that_disagree_meet_on_their_common_multiple() {
        let geometry = measured(Bytes::mib(8), Bytes::ZERO);
        let choice = alignment(&geometry, &ssr(31_914_983_424, Bytes::mib(12)));
        assert_eq!(kib(&choice), (24576, 24576, 0));
        assert!(choice.reason.contains("both readings"), "{}", choice.reason);
        // 9 MiB and 64 MiB meet at 576 MiB: absurd, the measurement wins.
        let geometry = measured(Bytes::mib(9), Bytes::ZERO);
        let choice = alignment(&geometry, &ssr(31_914_983_424, Bytes::mib(64)));
        assert_eq!(kib(&choice), (9216, 9216, 0));
        assert!(choice.reason.contains("no sensible common grid"));
    }

    #[test]
    fn the_kernels_guess_is_not_the_cards_word() {
        let mut facts = facts(256_000_000_000);
        let preferred = |origin| {
            Some(PreferredEraseSize {
                bytes: Bytes::mib(4),
                origin,
            })
        };
        facts.reported.preferred_erase_size = preferred(Origin::CardOrKernelDefault);
        assert_eq!(kib(&alignment(&not_visible(), &facts)), (49152, 49152, 0));
        facts.reported.preferred_erase_size = preferred(Origin::Card);
        assert_eq!(kib(&alignment(&not_visible(), &facts)), (12288, 12288, 0));
    }

    #[test]
    fn an_optimal_io_size_is_honoured_unless_it_is_a_bridges_nonsense() {
        let geometry = measured(Bytes::mib(4), Bytes::ZERO);
        let mut facts = facts(31_914_983_424);
        facts.reported.optimal_io_size = Some(Bytes::kib(3072));
        assert_eq!(kib(&alignment(&geometry, &facts)), (12288, 4096, 0));
        facts.reported.optimal_io_size = Some(Bytes(33_553_920));
        assert_eq!(kib(&alignment(&geometry, &facts)), (4096, 4096, 0));
        facts.reported.optimal_io_size = Some(Bytes::mib(256));
        let choice = alignment(&geometry, &facts);
        assert_eq!(kib(&choice), (4096, 4096, 0));
        assert!(choice.reason.contains("not followed"));
    }

    #[test]
    fn an_untold_erase_block_falls_back_by_capacity() {
        for (capacity, grain) in [
            (1_999_999_999, 4),
            (2_000_000_000, 12),
            (15_999_999_999, 12),
            (16_000_000_000, 48),
            (16_012_804_096, 48),
        ] {
            for geometry in [Geometry::default(), not_visible()] {
                let choice = alignment(&geometry, &facts(capacity));
                assert_eq!(choice.alignment.grain(), Bytes::mib(grain), "{capacity}");
                assert!(choice.fallback && choice.erase_block.is_none());
            }
        }
        let mut unknown = facts(1);
        unknown.capacity = None;
        let choice = alignment(&Geometry::default(), &unknown);
        assert_eq!(choice.alignment.grain(), Bytes::mib(48));
    }

    #[test]
    fn a_declared_size_alone_gains_a_factor_of_three() {
        for (au, grain) in [(4, 12), (8, 24), (16, 48), (12, 12), (24, 24), (64, 192)] {
            let choice = alignment(&not_visible(), &ssr(128_000_000_000, Bytes::mib(au)));
            assert_eq!(choice.alignment.grain(), Bytes::mib(grain));
        }
        // 12 MiB would leave no room on a card of 16 MiB.
        let choice = alignment(&not_visible(), &ssr(16 << 20, Bytes::kib(16)));
        assert_eq!(choice.alignment.grain(), Bytes::mib(4));
    }

    #[test]
    fn an_ssd_needs_one_megabyte_or_what_it_declares() {
        let mut geometry = not_visible();
        geometry.open_au.linear = OpenAu {
            verdict: Verdict::Likely,
            at_least: Some(130),
            cutoff: Some(Cutoff::None),
            ..OpenAu::default()
        };
        let choice = alignment(&geometry, &facts(80_026_361_856));
        assert_eq!(kib(&choice), (1024, 1024, 0));
        assert!(choice.reason.contains("130"), "{}", choice.reason);
        let choice = alignment(&geometry, &ssr(80_026_361_856, Bytes::mib(8)));
        assert_eq!(kib(&choice), (8192, 8192, 0));
        geometry.erase_block.verdict = Verdict::NotTested;
        assert_eq!(kib(&alignment(&geometry, &facts(80_026_361_856))).0, 49152);
    }

    #[test]
    fn align_takes_any_multiple_of_the_physical_block() {
        let choice = alignment(&not_visible(), &facts(31_914_983_424));
        let physical = Bytes(512);
        let grid = alignment_override(&choice, Bytes::kib(192), None, physical).unwrap();
        assert_eq!(kib(&grid), (192, 192, 0));
        let grid = alignment_override(&choice, Bytes::mib(6), Some(Bytes::mib(14)), physical);
        assert_eq!(kib(&grid.unwrap()), (6144, 6144, 2048));
        let refused = alignment_override(&choice, Bytes(1000), None, physical);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "the alignment of 1000 B is no multiple of the physical block of 512 B: choose one that is, such as 1 KiB"
        );
        assert!(alignment_override(&choice, Bytes(0), None, physical).is_err());
        assert!(alignment_override(&choice, Bytes::mib(4), Some(Bytes(5)), physical).is_err());
    }

    #[test]
    fn absurd_sizes_are_refused_and_never_overflow() {
        let facts = facts(31_914_983_424);
        assert!(alignment_of(Bytes(0), Bytes(0), &facts).is_err());
        assert!(alignment_of(Bytes(u64::MAX), Bytes(0), &facts).is_err());
        let odd = alignment_of(Bytes(500_000), Bytes(0), &facts).unwrap();
        assert!(odd.unit.is_multiple_of(Bytes(512)) && odd.unit.is_multiple_of(Bytes(500_000)));
        assert!(alignment(&measured(Bytes(u64::MAX), Bytes(0)), &facts).fallback);
    }
}
