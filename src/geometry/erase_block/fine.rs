//! Steps below the search grid: 64, 128 and 256 KiB.
//!
//! On the search grid these are invisible (the comparison reads cross such boundaries too), so a
//! device on which nothing shows is asked once more, with closer comparison reads: at odd multiples
//! of each size only a boundary of that very size makes a difference.

use super::between::is_first;
use super::grid::Grid;
use crate::geometry::stats::SuccessBet;
use crate::measure::alignment::{Site, Triple};
use crate::units::{Alignment, Bytes};
use rand::rngs::Xoshiro256PlusPlus;

/// The sizes asked for.
const SIZES: [Bytes; 3] = [Bytes::kib(256), Bytes::kib(128), Bytes::kib(64)];

/// Triples for each size before it is given up.
const TRIPLES_EACH: usize = 48;

/// ln 300: three sizes share an error of 1 %.
const ENOUGH: f64 = 5.703_782_474_656_201;

/// Bets on the three sizes.
pub struct Fine {
    bets: [SuccessBet; SIZES.len()],
    differences: [Vec<f64>; SIZES.len()],
    asked: Vec<usize>,
    taken: [usize; SIZES.len()],
}

impl Default for Fine {
    fn default() -> Self {
        Fine {
            bets: [SuccessBet::new(1.0 / 3.0); SIZES.len()],
            differences: Default::default(),
            asked: Vec::new(),
            taken: [0; SIZES.len()],
        }
    }
}

impl Fine {
    /// Fresh places; none when every size is decided.
    pub fn batch(
        &mut self,
        grid: &mut Grid,
        size: usize,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Vec<Site> {
        self.asked.clear();
        let mut sites = Vec::new();
        for n in (0..SIZES.len()).cycle().take(size) {
            if self.taken[n] >= TRIPLES_EACH || self.bets[n].log_capital() >= ENOUGH {
                continue;
            }
            let odd_multiples = Alignment::new(Bytes(2 * SIZES[n].get()), SIZES[n]);
            if let Some(site) = odd_multiples.and_then(|l| grid.fresh(l, rng)) {
                grid.take(site);
                self.asked.push(n);
                self.taken[n] += 1;
                sites.push(site);
            }
        }
        sites
    }

    /// Take in the last batch; `None` for a triple that was not usable.
    pub fn observe(&mut self, triples: &[Option<Triple>], rng: &mut Xoshiro256PlusPlus) {
        for (&n, triple) in self.asked.iter().zip(triples) {
            let Some(t) = triple else { continue };
            let times = [t.on, t.pre, t.post].map(|time| -time.as_secs_f64());
            let largest = is_first(times, rng);
            self.bets[n].observe(largest);
            self.differences[n].push(super::signal::difference(t));
        }
    }

    /// The sizes at which a step was proved, with its differences.
    pub fn seen(&self) -> Vec<(Bytes, &[f64])> {
        (0..SIZES.len())
            .filter(|&n| self.bets[n].log_capital() >= ENOUGH)
            .map(|n| (SIZES[n], self.differences[n].as_slice()))
            .collect()
    }
}
