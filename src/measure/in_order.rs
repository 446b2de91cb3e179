//! Writes that follow one another without a gap: nothing is ever written out of order, so no stick
//! has a reason to tidy up between them.

use super::meter::{Cost, Stop, WriteMeter};
use crate::units::{ByteRange, Bytes};
use rand::rngs::Xoshiro256PlusPlus;
use std::time::Duration;

/// Writes before anything is timed: the first one into a unit pays for opening it, and perhaps for
/// closing those of an earlier stage.
const WARM_UP: usize = 8;

/// Size of these.
const WARM_UP_SIZE: Bytes = Bytes::kib(16);

/// What is announced at a time. A preserving device saves that much before it is written over: little
/// enough that nothing is saved in vain, much enough that it seldom interrupts.
const ANNOUNCED: Bytes = Bytes::mib(2);

/// A pen that moves through a stretch of the device from its start to its end.
pub struct InOrder<'m, 'a> {
    meter: &'m mut WriteMeter<'a>,
    rng: &'m mut Xoshiro256PlusPlus,
    at: Bytes,
    end: Bytes,
    /// Writes up to here are announced.
    announced: Bytes,
    /// The time of a flush with nothing to do, when writes are acknowledged before they are done.
    deferred: Option<Duration>,
}

impl<'m, 'a> InOrder<'m, 'a> {
    /// Write a little, and find out whether the device acknowledges writes that it has not done yet.
    ///
    /// # Errors
    /// Whatever stops the writes.
    pub fn begin(
        meter: &'m mut WriteMeter<'a>,
        stretch: ByteRange,
        rng: &'m mut Xoshiro256PlusPlus,
    ) -> Result<InOrder<'m, 'a>, Stop> {
        let mut pen = InOrder {
            meter,
            rng,
            at: stretch.from,
            end: stretch.to,
            announced: stretch.from,
            deferred: None,
        };
        let mut times = Vec::new();
        for _ in 0..WARM_UP {
            times.extend(pen.write(WARM_UP_SIZE)?);
        }
        // What a second flush takes is the price of the command; what the first takes beyond it is
        // work that was put off.
        let first = pen.meter.flush()?;
        let second = pen.meter.flush()?;
        times.sort();
        let usual = times.get(times.len() / 2).copied().unwrap_or_default();
        if first.saturating_sub(second) > usual {
            pen.deferred = Some(second);
        }
        Ok(pen)
    }

    /// Where the next write goes.
    pub fn at(&self) -> Bytes {
        self.at
    }

    /// What was spent so far.
    pub fn cost(&self) -> Cost {
        self.meter.cost()
    }

    /// Whether the device acknowledges writes before they are done. Each is then timed together
    /// with the flush behind it.
    pub fn is_deferred(&self) -> bool {
        self.deferred.is_some()
    }

    /// One write; `None` when it would pass the end of the stretch.
    ///
    /// # Errors
    /// Whatever stops the writes.
    pub fn write(&mut self, size: Bytes) -> Result<Option<Duration>, Stop> {
        let Some(next) = self.at.checked_add(size).filter(|next| *next <= self.end) else {
            return Ok(None);
        };
        if next > self.announced {
            let to = Bytes(
                self.at
                    .get()
                    .saturating_add(ANNOUNCED.get())
                    .max(next.get()),
            );
            let range = ByteRange {
                from: self.announced,
                to: to.min(self.end),
            };
            self.meter.announce(&[range])?;
            self.announced = range.to;
        }
        let mut time = self.meter.write(self.at, size, self.rng)?;
        if let Some(usual) = self.deferred {
            time += self.meter.flush()?.saturating_sub(usual);
        }
        self.at = next;
        Ok(Some(time))
    }

    /// Go on to the next place that lies `offset` behind a multiple of `grain`, with writes that
    /// nobody scores. False when the stretch ends before.
    ///
    /// # Errors
    /// Whatever stops the writes.
    pub fn go_to(&mut self, grain: Bytes, offset: Bytes) -> Result<bool, Stop> {
        let largest = self.meter.largest();
        loop {
            let behind = (self.at.get() + grain.get() - offset.get() % grain.get()) % grain.get();
            if behind == 0 {
                return Ok(true);
            }
            let filler = Bytes(grain.get() - behind).min(largest);
            if self.write(filler)?.is_none() {
                return Ok(false);
            }
        }
    }
}
