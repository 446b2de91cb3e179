//! The independent confirmation: bets on fresh places that the winner is right, without any model
//! of the noise.
//!
//! Under "no boundary here" the three times of a triple are exchangeable, so the middle one is the
//! largest with probability one third. Under "a boundary like those of the winner" a difference and
//! those of two boundaries are exchangeable, so it is the lowest with probability one third. Both
//! are bet against with [`SuccessBet`]; a capital of 100 is an error of at most 1 %, however often
//! one looks.

use super::alike::Alike;
use super::between::{Divisor, is_first};
use super::grid::{CELL, Grid};
use super::kinds::{FEWEST_TEETH, Kinds, OFF_GRID_TIMES};
use super::signal::{self, Ordinary};
use super::suspect::{Class, Suspects};
use crate::geometry::stats::{SuccessBet, median};
use crate::measure::alignment::{Site, Triple};
use crate::units::{Alignment, Bytes, gcd};
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

/// ln 100: each test is wrong at most once in a hundred.
pub(super) const ENOUGH: f64 = 4.605_170_185_988_091;

/// A class of places that has not won after this many looks, and is not ahead, will not.
pub(super) const PATIENCE: usize = 40;

/// More triples than this are not spent on one winner. At a step of one sigma a class needs about
/// 46 looks, and there are six classes at most.
const MOST_TRIPLES: usize = 480;

/// How the confirmation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// More triples are needed.
    Open,
    /// Every bet is won.
    Confirmed,
    /// The boundaries of this size divided by the number are of the same kind.
    Divided(u64),
    /// A bet is lost: this size is wrong.
    Refuted,
    /// The boundaries are of several kinds: this size is at best a sub-unit.
    Unlike,
    /// Every bet is won, but boundaries of a second kind cannot be ruled out within reason.
    Unproven,
    /// It could not be decided within reason.
    Undecided,
}

/// Odd multiples of these show pages of three or five times a power of two (three-bit cells have
/// pages of 48 and 96 KiB): such pages have boundaries on the search grid only there, and would
/// pass for sub-units of something larger.
const ALIASES: [Bytes; 2] = [Bytes::kib(1536), Bytes::kib(2560)];

/// Looks at places where pages of odd sizes would show.
const ALIAS_LOOKS: u32 = 14;

#[derive(Clone, Copy)]
enum Role {
    Tooth { number: u64 },
    Between { divisor: usize },
    Alias,
}

/// The bets on one winner.
pub struct Confirmation {
    unit: Bytes,
    phase: Bytes,
    sub_unit: Option<Bytes>,
    /// Every second and every third boundary must be one: else two or three times the size fits.
    halves: [SuccessBet; 2],
    thirds: [SuccessBet; 3],
    divisors: Vec<Divisor>,
    /// Places where pages of odd sizes would show.
    alias: SuccessBet,
    aliases: Vec<Bytes>,
    /// The boundaries seen, whether they are of several kinds, and whether they are of one.
    kinds: Kinds,
    alike: Alike,
    suspects: Suspects,
    /// What is known of ordinary reads.
    ordinary: Ordinary,
    /// Whether the half of this size lies on a grid that can be read.
    half_is_testable: bool,
    roles: Vec<Role>,
    triples: usize,
    exhausted: bool,
    next_residue: u64,
}

impl Confirmation {
    /// Start betting on boundaries at `phase + k · unit` against all multiples and fractions.
    pub fn new(
        unit: Bytes,
        phase: Bytes,
        sub_unit: Option<Bytes>,
        ordinary: Ordinary,
    ) -> Confirmation {
        let finest = Bytes::kib(64);
        let divisors = [2, 3, 5, 7]
            .into_iter()
            .filter(|part| {
                unit.get().is_multiple_of(*part) && Bytes(unit.get() / part).is_multiple_of(finest)
            })
            .map(Divisor::new)
            .collect();
        Confirmation {
            unit,
            phase,
            sub_unit,
            halves: [SuccessBet::new(1.0 / 3.0); 2],
            thirds: [SuccessBet::new(1.0 / 3.0); 3],
            half_is_testable: Bytes(unit.get() / 2).is_multiple_of(finest),
            divisors,
            alias: SuccessBet::new(1.0 / 3.0),
            // Not where the size itself, or its sub-unit, has boundaries.
            aliases: ALIASES
                .into_iter()
                .filter(|&a| {
                    let told = |size: Bytes| size <= a || gcd(size.get(), a.get()) == size.get();
                    a < unit && !sub_unit.is_some_and(told)
                })
                .collect(),
            kinds: Kinds::default(),
            alike: Alike::default(),
            suspects: Suspects::new(unit),
            ordinary,
            roles: Vec::new(),
            triples: 0,
            exhausted: false,
            next_residue: 0,
        }
    }

    /// The boundaries that are known by now, by number and difference, those of this test included: whether
    /// all are of one kind is judged by all of them. The bets are won on fresh ones alone.
    pub fn know_boundaries(&mut self, boundaries: impl Iterator<Item = (u64, f64)>) {
        self.alike = Alike::of(boundaries.collect());
        self.look_for_suspects();
    }

    /// Only when every bet is won is it worth the reads to ask for a second kind.
    fn look_for_suspects(&mut self) {
        if self.is_won() {
            self.suspects.look(self.alike.seen(), self.ordinary.late());
        }
    }

    /// The size under test and its first boundary.
    pub fn place(&self) -> (Bytes, Bytes) {
        (self.unit, self.phase)
    }

    /// The sub-unit that is thought to lie inside.
    pub fn sub_unit(&self) -> Option<Bytes> {
        self.sub_unit
    }

    /// The class of boundaries that costs more than the others, or seems to, if one does.
    pub fn costlier_class(&self) -> Option<Class> {
        let seen = self.alike.seen();
        self.suspects
            .found()
            .or_else(|| self.kinds.costliest())
            .or_else(|| self.suspects.costliest(seen, self.ordinary.late()))
    }

    /// More is known of ordinary reads now.
    pub fn know(&mut self, ordinary: Ordinary) {
        self.ordinary = ordinary;
    }

    /// What is known of ordinary reads.
    pub fn ordinary(&self) -> Ordinary {
        self.ordinary
    }

    /// Triples used.
    pub fn triples(&self) -> usize {
        self.triples
    }

    /// What a boundary costs: the median, in seconds.
    fn tooth(&self) -> f64 {
        median(self.kinds.differences())
    }

    /// Boundaries seen.
    pub fn boundaries(&self) -> usize {
        self.kinds.differences().len()
    }

    /// The smallest capital of all bets.
    pub fn smallest_capital(&self) -> f64 {
        self.bets()
            .map(SuccessBet::log_capital)
            .fold(f64::INFINITY, f64::min)
            .exp()
    }

    fn bets(&self) -> impl Iterator<Item = &SuccessBet> {
        self.halves
            .iter()
            .chain(&self.thirds)
            .chain(self.divisors.iter().map(|d| &d.lower))
    }

    /// Fresh places: two boundaries for each place between, for as long as the bet in question is
    /// open.
    pub fn batch(
        &mut self,
        grid: &mut Grid,
        size: usize,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Vec<Site> {
        self.roles.clear();
        let mut sites = Vec::new();
        let tooth = self.tooth();
        let open: Vec<usize> = (0..self.divisors.len())
            .filter(|&n| !self.divisors[n].is_won(tooth))
            .collect();
        while sites.len() < size {
            let before = sites.len();
            for _ in 0..2 {
                self.add_tooth(grid, rng, &mut sites);
            }
            self.add_suspect(grid, rng, &mut sites);
            for &divisor in &open {
                self.add_between(divisor, grid, rng, &mut sites);
            }
            if self.alias.steps() < ALIAS_LOOKS {
                self.add_alias(grid, rng, &mut sites);
            }
            if sites.len() == before {
                break;
            }
        }
        self.exhausted = sites.is_empty();
        sites
    }

    fn add_tooth(&mut self, grid: &mut Grid, rng: &mut Xoshiro256PlusPlus, sites: &mut Vec<Site>) {
        // Residues modulo 144 in turn serve halves, thirds, quarters, eighths, ninths and sixteenths
        // alike; the step, which has no factor in common with that, keeps neighbours apart.
        const RESIDUES: u64 = 144;
        const STEP: u64 = 37;
        for _ in 0..RESIDUES {
            let residue = self.next_residue;
            self.next_residue = (residue + STEP) % RESIDUES;
            let Some(lattice) = self.lattice(RESIDUES, residue, 1) else {
                continue;
            };
            if let Some(site) = grid.fresh(lattice, rng) {
                self.take_tooth(site, grid, sites);
                return;
            }
        }
    }

    fn take_tooth(&mut self, site: Site, grid: &mut Grid, sites: &mut Vec<Site>) {
        grid.take(site);
        let number = (site.at.get() - self.phase.get()) / self.unit.get();
        self.roles.push(Role::Tooth { number });
        sites.push(site);
    }

    /// Two boundaries of the class in question, when there is one.
    fn add_suspect(
        &mut self,
        grid: &mut Grid,
        rng: &mut Xoshiro256PlusPlus,
        sites: &mut Vec<Site>,
    ) {
        let Some(wanted) = self.suspects.wanted() else {
            return;
        };
        for _ in 0..2 {
            let lattice = self.lattice(wanted.period, wanted.class, 1);
            if let Some(site) = lattice.and_then(|lattice| grid.fresh(lattice, rng)) {
                self.take_tooth(site, grid, sites);
            }
        }
    }

    fn add_between(
        &mut self,
        divisor: usize,
        grid: &mut Grid,
        rng: &mut Xoshiro256PlusPlus,
        sites: &mut Vec<Site>,
    ) {
        let part = self.divisors[divisor].part;
        let piece = rng.random_range(1..part);
        let Some(site) = self
            .lattice(1, piece, part)
            .and_then(|l| grid.fresh(l, rng))
        else {
            return;
        };
        grid.take(site);
        self.roles.push(Role::Between { divisor });
        sites.push(site);
    }

    fn add_alias(&mut self, grid: &mut Grid, rng: &mut Xoshiro256PlusPlus, sites: &mut Vec<Site>) {
        if self.aliases.is_empty() {
            return;
        }
        let size = self.aliases[rng.random_range(0..self.aliases.len())];
        let odd = Alignment::new(Bytes(2 * size.get()), size);
        let own = Alignment::new(self.unit, self.phase);
        let site = odd.and_then(|l| grid.fresh(l, rng));
        let Some(site) = site.filter(|s| !own.is_some_and(|g| g.contains(s.at))) else {
            return;
        };
        grid.take(site);
        self.roles.push(Role::Alias);
        sites.push(site);
    }

    /// The lattice `phase + unit · shift / part + k · unit · multiple`.
    fn lattice(&self, multiple: u64, shift: u64, part: u64) -> Option<Alignment> {
        let grain = self.unit.get().checked_mul(multiple)?;
        Alignment::new(
            Bytes(grain),
            Bytes(self.phase.get() + self.unit.get() / part * shift),
        )
    }

    /// Take in the triples of the last [`Confirmation::batch`]; `None` for one that was not usable.
    pub fn observe(&mut self, triples: &[Option<Triple>], rng: &mut Xoshiro256PlusPlus) {
        let roles = std::mem::take(&mut self.roles);
        let (roles, usable): (Vec<Role>, Vec<Triple>) = roles
            .into_iter()
            .zip(triples)
            .filter_map(|(role, triple)| Some((role, (*triple)?)))
            .unzip();
        for (role, placed) in roles.iter().zip(signal::place(&usable)) {
            let triple = placed.triple;
            self.triples += 1;
            let (pre, on, post) = (
                triple.pre.as_secs_f64(),
                triple.on.as_secs_f64(),
                triple.post.as_secs_f64(),
            );
            let difference = self.ordinary.difference(&placed);
            let largest = is_first([-on, -pre, -post], rng);
            match *role {
                Role::Tooth { number } => {
                    self.halves[usize::from(number % 2 == 1)].observe(largest);
                    let third = usize::try_from(number % 3).unwrap_or(0);
                    self.thirds[third].observe(largest);
                    self.kinds.push(number, difference);
                    self.alike.push(number, difference);
                    self.suspects.push(number, difference);
                }
                Role::Alias => self.alias.observe(largest),
                Role::Between { divisor } => self.divisors[divisor].push(largest, difference),
            }
        }
        self.kinds.compare(rng);
        for divisor in &mut self.divisors {
            divisor.compare(self.kinds.differences(), rng);
        }
        // Last, so that nothing is won after this.
        self.look_for_suspects();
    }

    /// Fresh boundaries that must be seen before anything is confirmed. The posterior has no hypothesis
    /// for a size off the search grid, so none for it as the sub-unit of something larger either:
    /// there the bets on boundaries of one kind stand alone, and need [`OFF_GRID_TIMES`] as many looks.
    fn fewest_teeth(&self) -> usize {
        if self.unit.is_multiple_of(CELL) {
            FEWEST_TEETH
        } else {
            OFF_GRID_TIMES * FEWEST_TEETH
        }
    }

    /// As many looks as say what `looks` of them do where no read is late: a triple with a late read says
    /// next to nothing.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn with_late_reads(&self, looks: usize) -> usize {
        (looks as f64 / (1.0 - self.ordinary.late().share).powi(3)) as usize
    }

    /// Whether every bet is won, which confirms the boundaries, but not that none is of another kind.
    fn is_won(&self) -> bool {
        let tooth = self.tooth();
        self.kinds.differences().len() >= self.fewest_teeth()
            && self.alike.seen().len() >= self.suspects.fewest()
            && self.bets().all(|bet| bet.log_capital() >= ENOUGH)
            && self.divisors.iter().all(|divisor| divisor.is_won(tooth))
    }

    /// How it stands.
    pub fn outcome(&self) -> Outcome {
        let tooth = self.tooth();
        if let Some(divisor) = self.divisors.iter().find(|d| d.is_boundary(tooth)) {
            return Outcome::Divided(divisor.part);
        }
        let patience = self.with_late_reads(PATIENCE);
        let looks = |bet: &SuccessBet| bet.steps() as usize;
        let hopeless = |bet: &SuccessBet| looks(bet) >= patience && bet.log_capital() < 0.0;
        let mut classes = self.halves.iter().chain(&self.thirds);
        if self.alias.log_capital() >= ENOUGH || classes.any(hopeless) {
            return Outcome::Refuted;
        }
        let (noise, late) = (self.ordinary.noise(), self.ordinary.late());
        if self.suspects.found().is_some() || self.kinds.are_unlike(noise, late) {
            return Outcome::Unlike;
        }
        // Near the noise a place between is hard to tell from a boundary: no proof of anything.
        if self.divisors.iter().any(|d| hopeless(&d.lower)) {
            return Outcome::Undecided;
        }
        if self.is_won() && self.suspects.are_cleared() && self.alike.is_shown(self.ordinary.late())
        {
            // What cannot be tested is not confirmed.
            return if self.half_is_testable {
                Outcome::Confirmed
            } else {
                Outcome::Undecided
            };
        }
        if self.exhausted
            || self.triples >= self.with_late_reads(MOST_TRIPLES)
            || self.suspects.is_doubtful()
        {
            let between = self
                .divisors
                .iter()
                .any(|d| d.may_be_boundary() && !d.is_won(tooth));
            return if between || (self.is_won() && self.alike.seems_wrong(self.ordinary.late())) {
                Outcome::Refuted
            } else if self.is_won() {
                Outcome::Unproven
            } else {
                Outcome::Undecided
            };
        }
        Outcome::Open
    }
}
