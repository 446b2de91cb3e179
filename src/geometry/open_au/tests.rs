use super::scan::{Setup, scan};
use super::unit::Pair;
use crate::geometry::{Cutoff, Verdict};
use crate::measure::meter::Stop;
use crate::measure::open_au::{Order, Sweep, Sweeper};
use crate::units::Bytes;
use std::time::Duration;

/// A stick of a few lines: the least recently written of its open lanes is closed. Nothing of it is
/// shared with the simulator.
struct Toy {
    limit: usize,
    open: Vec<usize>,
    collection: f64,
    /// Visits beyond the limit take so many times as long, instead of a collection.
    soft: Option<f64>,
    visits: usize,
    /// From this visit on everything takes so many times as long.
    slower: Option<(usize, f64)>,
    /// These lanes are one unit.
    twins: Option<(usize, usize)>,
    /// More visits are refused.
    most: usize,
}

fn toy(limit: usize) -> Toy {
    Toy {
        limit,
        open: Vec::new(),
        collection: 0.3,
        soft: None,
        visits: 0,
        slower: None,
        twins: None,
        most: usize::MAX,
    }
}

impl Toy {
    fn visit(&mut self, lane: usize, size: Bytes) -> f64 {
        self.visits += 1;
        let lane = match self.twins {
            Some((first, second)) if lane == second => first,
            _ => lane,
        };
        let mut time = 0.001 + size.get() as f64 * 5e-8;
        time *= 1.0 + 0.04 * ((self.visits * 7 % 11) as f64 / 11.0);
        let known = self.open.iter().position(|open| *open == lane);
        if let Some(factor) = self.soft {
            // The last few visits count.
            self.open.push(lane);
            let old = self.open.len().saturating_sub(4 * self.limit);
            self.open.drain(..old);
            if self.in_use() > self.limit {
                time *= factor;
            }
        } else {
            if let Some(known) = known {
                self.open.remove(known);
            } else if self.open.len() >= self.limit {
                self.open.remove(0);
                time += self.collection;
            }
            self.open.push(lane);
        }
        match self.slower {
            Some((from, factor)) if self.visits >= from => time * factor,
            _ => time,
        }
    }

    /// For a soft limit `open` is the history of visits.
    fn in_use(&self) -> usize {
        let mut lanes = self.open.clone();
        lanes.sort_unstable();
        lanes.dedup();
        lanes.len()
    }
}

impl Sweeper for Toy {
    fn narrow(&mut self, _window: Bytes) {}

    fn sweep(&mut self, sweep: &Sweep) -> Result<Vec<f64>, Stop> {
        let mut times = Vec::new();
        let mut row = 0;
        for lane in &sweep.lanes {
            if self.visits >= self.most {
                return Err(Stop::WriteLimit);
            }
            let requests = match sweep.order {
                Order::Linear => 1,
                Order::Random => 2,
            };
            let time: f64 = (0..requests).map(|_| self.visit(*lane, sweep.size)).sum();
            times.push(time);
            row = if time > sweep.slow_above { row + 1 } else { 0 };
            if sweep.give_up.is_some_and(|most| row >= most) {
                break;
            }
        }
        Ok(times)
    }

    fn flush(&mut self) -> Result<f64, Stop> {
        Ok(0.0005)
    }

    fn flush_visits(&mut self, _: f64) {
        panic!("this stick has no cache");
    }

    fn wait(&mut self, _: Duration) -> Result<(), Stop> {
        Ok(())
    }

    fn report(&mut self, _: &str) {}
}

fn setup() -> Setup {
    Setup {
        most: 20,
        spares: (20..26).collect(),
        pairs: vec![
            Pair {
                first: 26,
                second: 27,
                whole: Bytes::mib(8),
                part: Bytes::mib(4),
            },
            Pair {
                first: 28,
                second: 29,
                whole: Bytes::mib(4),
                part: Bytes::mib(2),
            },
        ],
        size: Bytes::kib(16),
        largest: Bytes::kib(512),
        unit: Some(Bytes::mib(8)),
    }
}

#[test]
fn every_limit_is_exact_where_the_oldest_is_closed() {
    for limit in 1..=18 {
        let (found, stop) = scan(&mut toy(limit), &setup());
        assert_eq!(stop, None);
        for au in [&found.open_aus.linear, &found.open_aus.random.count] {
            assert_eq!(au.limit, u32::try_from(limit).ok(), "{au:?}");
            assert_eq!(au.cutoff, Some(Cutoff::Hard));
        }
        let [linear, random] = [&found.open_aus.linear, &found.open_aus.random.count];
        assert_eq!(linear.verdict, Verdict::Confirmed);
        // A count of units that nobody knows is not confirmed.
        let expected = match random.unit_bytes {
            Some(_) => Verdict::Confirmed,
            None => Verdict::Likely,
        };
        assert_eq!(random.verdict, expected);
    }
}

#[test]
fn parts_that_are_one_unit_count_once_and_others_twice() {
    let mut one = toy(5);
    one.twins = Some((26, 27));
    assert_eq!(
        scan(&mut one, &setup()).0.open_aus.linear.unit_bytes,
        Some(Bytes::mib(8))
    );
    let mut two = toy(5);
    two.twins = Some((28, 29));
    assert_eq!(
        scan(&mut two, &setup()).0.open_aus.linear.unit_bytes,
        Some(Bytes::mib(4))
    );
    // Smaller than the smallest part: not told.
    assert_eq!(
        scan(&mut toy(5), &setup()).0.open_aus.linear.unit_bytes,
        None
    );
}

#[test]
fn a_step_at_all_sizes_is_soft_and_a_short_wait_is_not() {
    let mut soft = toy(6);
    soft.soft = Some(1.9);
    let linear = scan(&mut soft, &setup()).0.open_aus.linear;
    assert_eq!((linear.limit, linear.cutoff), (Some(6), Some(Cutoff::Soft)));
    let mut short = toy(6);
    short.collection = 0.003;
    let linear = scan(&mut short, &setup()).0.open_aus.linear;
    assert_eq!((linear.limit, linear.cutoff), (Some(6), Some(Cutoff::Hard)));
}

#[test]
fn a_stick_that_becomes_slow_by_itself_has_no_limit() {
    for factor in [2.0, 5.0, 40.0] {
        for from in [60, 110, 160] {
            let mut heated = toy(1000);
            heated.slower = Some((from, factor));
            let (found, _) = scan(&mut heated, &setup());
            let linear = found.open_aus.linear;
            assert_eq!(
                (linear.limit, linear.at_most),
                (None, None),
                "{factor} {from}"
            );
        }
    }
}

#[test]
fn what_is_known_when_a_limit_comes_is_a_lower_bound() {
    let mut cut = toy(12);
    cut.most = 130;
    let (found, stop) = scan(&mut cut, &setup());
    assert_eq!(stop, Some(Stop::WriteLimit));
    let linear = found.open_aus.linear;
    assert!(linear.at_least > Some(2) && linear.at_least <= Some(12));
    assert_eq!((linear.verdict, linear.at_most), (Verdict::Likely, None));
    let mut nothing = toy(12);
    nothing.most = 5;
    let (found, _) = scan(&mut nothing, &setup());
    assert_eq!(found.open_aus.linear.verdict, Verdict::NotTested);
}

#[test]
fn a_flat_rate_may_be_hidden_by_a_cache_and_is_said_to() {
    let (found, _) = scan(&mut toy(1000), &setup());
    let linear = &found.open_aus.linear;
    assert_eq!(
        (linear.at_least, linear.cutoff),
        (Some(20), Some(Cutoff::None))
    );
    assert_eq!(linear.verdict, Verdict::Likely);
    assert_eq!(found.warnings[0].code, "may_be_hidden_by_cache");
}
