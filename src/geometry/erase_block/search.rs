//! The search itself: what to ask next, and when to stop.

mod ending;

use super::confirm::Confirmation;
use super::fine::Fine;
use super::grid::{CELL, Grid};
use super::hypothesis::{self, Hypothesis};
use super::posterior::{Observation, Posterior};
use super::signal::{self, Blank, Level, Ordinary, PlacedTriple};
use super::trials::{Place, Trials};
use super::verdict::{self, Found, StoppedBy, Winner};
use super::{choose, verdict::Record};
use crate::geometry::{capacity, stats};
use crate::measure::alignment::{Batch, Inquiry, Site, Triple};
use crate::measure::meter::{Content, Stop};
use crate::measure::noise::Single;
use crate::topology::Facts;
use crate::units::{ByteRange, Bytes};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

/// Places in a batch: at least sixteen other places lie between the reads of one.
const BATCH: usize = 16;

/// Triples that belong to the noise stage: they tell the noise before anything is decided.
const PILOT: usize = 48;

/// A size and phase this probable is put to the test.
const WORTH_A_TEST: f64 = 0.99;

/// A size and phase this probable is settled. Well above the 0.99 of a confirmation, because
/// boundaries without cost break the nominal level of the posterior.
const STANDS_OUT: f64 = 1.0 - 1e-4;

/// At least this many differences before anything stands out.
const FEWEST: usize = 12;

/// "Nothing visible" is believed from this probability on, after [`FLAT_AFTER`] places.
const FLAT: f64 = 0.995;

/// See [`FLAT`].
const FLAT_AFTER: usize = 160;

/// Triples at the first read size before another is tried: enough for a step of one sigma.
const MOST_AT_FIRST_SIZE: usize = 1200;

/// Triples at each further read size.
const MOST_AT_OTHER_SIZES: usize = 400;

/// What the search has to know beforehand.
pub struct Setup<'a> {
    /// Capacity, logical block and reported values.
    pub facts: &'a Facts,
    /// The usable size.
    pub capacity: Bytes,
    /// Single reads of the noise stage.
    pub singles: &'a [Single],
    /// Read sizes to try in turn; never empty.
    pub read_sizes: Vec<Bytes>,
    /// Seed of the order of places.
    pub seed: u64,
    /// False when the device is in use: others may disturb the times, so at best "likely" is said.
    pub may_confirm: bool,
    /// Read only inside these ranges; `None` for everywhere.
    pub within: Option<&'a [ByteRange]>,
}

enum Stage {
    Pilot,
    Search,
    Confirm(Box<Confirmation>),
    Fine(Fine),
    Done,
}

/// What was learnt at one read size.
pub(super) struct AtSize {
    pub(super) read_size: Bytes,
    pub(super) posterior: Posterior,
    pub(super) triples: Vec<PlacedTriple>,
    pub(super) ordinary: Ordinary,
    /// How many differences there will be when something larger is thought of again.
    think_again_at: usize,
}

impl AtSize {
    /// What was seen at the boundaries of a size and phase: their numbers, and the extra time in seconds.
    fn boundaries(&self, (unit, phase): Place) -> impl Iterator<Item = (u64, f64)> {
        self.triples.iter().filter_map(move |placed| {
            let behind = placed.triple.site.at.checked_sub(phase)?;
            behind.is_multiple_of(unit).then(|| {
                let number = behind.get() / unit.get();
                (number, self.ordinary.difference(placed))
            })
        })
    }
}

/// The most probable size and phase.
#[derive(Clone, Copy)]
struct Leading {
    place: Place,
    sub_unit: Option<Bytes>,
    /// It is none: nothing is visible.
    nothing: bool,
    probability: f64,
    /// Differences that were taken in.
    count: usize,
}

impl Leading {
    fn stands_out(&self) -> bool {
        self.probability >= STANDS_OUT
    }
}

/// Steers a scan for the erase block.
pub struct Search {
    setup: Known,
    prior: Vec<(Hypothesis, f64)>,
    grid: Grid,
    rng: Xoshiro256PlusPlus,
    stage: Stage,
    sizes: Vec<AtSize>,
    blank: Blank,
    level: Level,
    winner: Option<Winner>,
    trials: Trials,
    /// A size that turned out to be a page's.
    page: Option<Bytes>,
    /// Triples asked for in the noise stage.
    pilot: usize,
    /// Triples asked for at the current read size.
    asked: usize,
    left_out: usize,
    stopped_by: StoppedBy,
}

/// The part of the setup that is needed to the end.
pub(super) struct Known {
    pub(super) facts: Facts,
    pub(super) capacity: Bytes,
    pub(super) singles: Vec<Single>,
    pub(super) read_sizes: Vec<Bytes>,
    pub(super) may_confirm: bool,
}

impl Search {
    /// Before the first triple.
    pub fn new(setup: Setup<'_>) -> Search {
        let weight = |size: Bytes| {
            capacity::capacity_weight(size, setup.capacity)
                * capacity::reported_weight(size, &setup.facts.reported)
        };
        let mut grid = Grid::new(setup.capacity);
        if let Some(ranges) = setup.within {
            grid.stay_within(ranges);
        }
        for single in setup.singles {
            grid.learn(single.at, single.content == Content::Blank);
        }
        Search {
            prior: hypothesis::all(setup.capacity, weight),
            grid,
            // Another stream than the one that orders the reads.
            rng: Xoshiro256PlusPlus::seed_from_u64(setup.seed ^ 0x5eac_4000),
            stage: Stage::Pilot,
            sizes: Vec::new(),
            blank: signal::blank_places(setup.singles),
            level: Level::default(),
            winner: None,
            trials: Trials::default(),
            page: None,
            pilot: 0,
            asked: 0,
            left_out: 0,
            stopped_by: StoppedBy::Posterior,
            setup: Known {
                facts: setup.facts.clone(),
                capacity: setup.capacity,
                singles: setup.singles.to_vec(),
                read_sizes: setup.read_sizes,
                may_confirm: setup.may_confirm,
            },
        }
    }

    /// Triples that belong to the noise stage.
    pub fn pilot_triples(&self) -> u64 {
        self.pilot as u64
    }

    /// The verdict, whether the search ended by itself or was stopped.
    pub fn finish(self, stop: Option<&Stop>) -> Found {
        let fine = match &self.stage {
            Stage::Fine(fine) => Some(fine),
            _ => None,
        };
        verdict::conclude(Record {
            known: &self.setup,
            sizes: &self.sizes,
            winner: self.winner.as_ref(),
            refuted: self.trials.lost(),
            page: self.page,
            confirming: match &self.stage {
                Stage::Confirm(confirmation) => Some(confirmation),
                _ => None,
            },
            fine,
            blank: self.blank,
            disturbed: self.level.disturbed,
            left_out: self.left_out,
            stop,
            stopped_by: self.stopped_by,
        })
    }

    fn read_size(&self) -> Bytes {
        self.setup.read_sizes[self
            .sizes
            .len()
            .saturating_sub(1)
            .min(self.setup.read_sizes.len() - 1)]
    }

    /// What the posterior favours.
    fn leading(&self) -> Option<Leading> {
        let now = self.sizes.last()?;
        let leader = now.posterior.leaders().into_iter().next()?;
        let in_bytes = |cells: u32| Bytes(u64::from(cells) * CELL.get());
        let Hypothesis {
            unit,
            phase,
            sub_unit,
            ..
        } = leader.hypothesis;
        Some(Leading {
            place: (in_bytes(unit), in_bytes(phase)),
            sub_unit: (sub_unit != 0).then(|| in_bytes(sub_unit)),
            nothing: leader.hypothesis == Hypothesis::NOTHING,
            probability: leader.probability,
            count: now.posterior.count(),
        })
    }

    /// Decide what the search turns to.
    fn decide(&mut self) {
        let Some(leading) = self.leading() else {
            return;
        };
        if self.trials.is_unproven(leading.place) {
            self.stage = Stage::Done;
        } else if !self.begin_test(leading) {
            self.stop_or_go_on(leading);
        }
    }

    /// Put what leads to the test, or go on with one that it has won, if it is time to.
    fn begin_test(&mut self, leading: Leading) -> bool {
        let Leading {
            place, sub_unit, ..
        } = leading;
        let Some(now) = self.sizes.last() else {
            return false;
        };
        if leading.stands_out()
            && let Some(mut won) = self.trials.take(place)
        {
            won.know_boundaries(now.boundaries(place));
            self.conclude_confirmation(won);
            return true;
        }
        // A favourite that lost a bet is not tested again: more places may bring up another.
        let begins = !leading.nothing
            && leading.probability >= WORTH_A_TEST
            && leading.count >= FEWEST
            && self.setup.may_confirm
            && !self.trials.is_lost(place)
            && !self.trials.is_won(place)
            && self.trials.begin();
        if begins {
            let mut confirmation = Confirmation::new(place.0, place.1, sub_unit, now.ordinary);
            confirmation.know_boundaries(now.boundaries(place));
            self.stage = Stage::Confirm(Box::new(confirmation));
        }
        begins
    }

    /// Whether what leads is settled without a test, or more reads of this size are of no use.
    fn stop_or_go_on(&mut self, leading: Leading) {
        let Leading {
            nothing,
            probability,
            count,
            ..
        } = leading;
        let Some(now) = self.sizes.last() else { return };
        let lost = self.trials.is_lost(leading.place);
        let settled = leading.stands_out() && !nothing && !lost && count >= FEWEST;
        let flat = nothing && probability >= FLAT && count >= FLAT_AFTER;
        let most = if self.sizes.len() == 1 {
            MOST_AT_FIRST_SIZE
        } else {
            MOST_AT_OTHER_SIZES
        };
        // Blank places count too: a stick that was hardly written must come to an end.
        let spent = self.asked >= 2 * most || now.triples.len() >= most;
        let sure_of_lost = lost && probability >= WORTH_A_TEST && count >= now.think_again_at;
        if (settled || sure_of_lost) && self.think_again(leading.place, leading.sub_unit) {
            // What is new decides where to look next.
        } else if settled {
            self.stage = Stage::Done;
        } else if flat || spent {
            self.stopped_by = StoppedBy::Futility;
            self.next_size();
        }
    }

    fn next_size(&mut self) {
        if self.sizes.len() < self.setup.read_sizes.len() {
            let read_size = self.setup.read_sizes[self.sizes.len()];
            self.start_size(read_size);
        } else if self.sizes.iter().all(|s| verdict::is_flat(&s.posterior)) {
            self.stage = Stage::Fine(Fine::default());
        } else {
            self.stage = Stage::Done;
        }
    }

    fn start_size(&mut self, read_size: Bytes) {
        self.asked = 0;
        self.trials.forget_won();
        self.level.start_again();
        // Until the first batch is in, the scatter of single reads stands in for the noise.
        let times: Vec<f64> = self
            .setup
            .singles
            .iter()
            .map(|s| s.time.as_secs_f64())
            .collect();
        let guess = Ordinary::guess(stats::mad_sigma(&times));
        self.sizes.push(AtSize {
            read_size,
            posterior: Posterior::new(&self.prior, guess.noise()),
            triples: Vec::new(),
            ordinary: guess,
            think_again_at: 0,
        });
    }

    /// Add usable triples to the posterior of the current read size.
    fn learn(&mut self, triples: &[Triple]) {
        let Some(now) = self.sizes.last_mut() else {
            return;
        };
        let fresh = now.triples.len();
        now.triples.extend(signal::place(triples));
        let ordinary = Ordinary::of(&now.triples);
        let moved = (ordinary.noise() / now.ordinary.noise() - 1.0).abs();
        // A recount of everything is dear: not for changes within the error of the estimate, which
        // is about 1/√n.
        let tolerance = (0.8 / (now.triples.len() as f64).sqrt()).max(0.06);
        if moved > tolerance || !ordinary.late().is_near(&now.ordinary.late()) {
            now.ordinary = ordinary;
            now.posterior.restart(
                ordinary.noise(),
                ordinary.late(),
                &observations(&now.triples, ordinary),
            );
        } else {
            now.posterior
                .observe(&observations(&now.triples[fresh..], now.ordinary));
        }
    }
}

/// The differences at places of the search grid.
fn observations(triples: &[PlacedTriple], ordinary: Ordinary) -> Vec<Observation> {
    triples
        .iter()
        .filter(|t| t.triple.site.at.is_multiple_of(CELL))
        .filter_map(|t| {
            let cell = u32::try_from(t.triple.site.at.get() / CELL.get()).ok()?;
            Some(Observation {
                cell,
                difference: ordinary.difference(t),
            })
        })
        .collect()
}

impl Inquiry for Search {
    fn standing(&self) -> String {
        verdict::standing(self.sizes.last(), self.winner.as_ref())
    }

    fn next(&mut self) -> Option<Batch> {
        if self.sizes.is_empty() {
            let read_size = self.read_size();
            self.start_size(read_size);
        }
        loop {
            let sites: Vec<Site> = match &mut self.stage {
                Stage::Done => return None,
                Stage::Pilot => {
                    if self.asked >= PILOT {
                        self.stage = Stage::Search;
                        continue;
                    }
                    let posterior = &self.sizes.last()?.posterior;
                    choose::batch(posterior, &mut self.grid, BATCH, &mut self.rng)
                }
                Stage::Search => {
                    self.decide();
                    if !matches!(self.stage, Stage::Search) {
                        continue;
                    }
                    let posterior = &self.sizes.last()?.posterior;
                    choose::batch(posterior, &mut self.grid, BATCH, &mut self.rng)
                }
                Stage::Confirm(confirmation) => {
                    confirmation.batch(&mut self.grid, BATCH, &mut self.rng)
                }
                Stage::Fine(fine) => {
                    let sites = fine.batch(&mut self.grid, BATCH, &mut self.rng);
                    if sites.is_empty() {
                        // Stays in this stage: the verdict looks at its bets.
                        return None;
                    }
                    sites
                }
            };
            if sites.is_empty() {
                // The grid is used up: a small device, or one that was hardly written.
                if !matches!(self.stage, Stage::Confirm(_)) {
                    self.stopped_by = StoppedBy::Futility;
                }
                let flat = self.sizes.iter().all(|s| verdict::is_flat(&s.posterior));
                let below = flat && !matches!(self.stage, Stage::Confirm(_));
                self.stage = if below {
                    Stage::Fine(Fine::default())
                } else {
                    Stage::Done
                };
                continue;
            }
            self.asked += sites.len();
            if matches!(self.stage, Stage::Pilot) {
                self.pilot += sites.len();
            }
            return Some(Batch {
                sites,
                read_size: self.read_size(),
            });
        }
    }

    fn observe(&mut self, triples: &[Triple]) {
        let mut usable = signal::written(triples, self.blank, &mut self.grid);
        self.left_out += usable.iter().filter(|triple| triple.is_none()).count();
        let mut kept: Vec<Triple> = usable.iter().flatten().copied().collect();
        if !self.level.accepts(&kept) {
            kept.clear();
            usable.fill(None);
        }
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Confirm(mut confirmation) => {
                confirmation.observe(&usable, &mut self.rng);
                self.learn(&kept);
                if let Some(now) = self.sizes.last() {
                    confirmation.know(now.ordinary);
                }
                self.conclude_confirmation(confirmation);
            }
            Stage::Fine(mut fine) => {
                fine.observe(&usable, &mut self.rng);
                self.stage = Stage::Fine(fine);
            }
            stage => {
                self.stage = stage;
                self.learn(&kept);
            }
        }
    }
}
