//! Matched triples: three reads of the same size around a place, of which only the middle one can
//! cross a boundary that starts there.

use super::meter::{Content, Meter, Stop};
use crate::device::ReadDevice;
use crate::units::Bytes;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use std::time::Duration;

/// A place to be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The possible boundary.
    pub at: Bytes,
    /// The distance of the two comparison reads on either side.
    pub wing: Bytes,
}

/// A site with its three times. Each read straddles its place by half of the read size on either
/// side: all three cross a page boundary there, only the middle one possibly more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triple {
    /// Where.
    pub site: Site,
    /// The size of each read.
    pub read_size: Bytes,
    /// Time of the read at `site.at - site.wing`.
    pub pre: Duration,
    /// Time of the read at `site.at`.
    pub on: Duration,
    /// Time of the read at `site.at + site.wing`.
    pub post: Duration,
    /// `Blank` when one of the three came back blank.
    pub content: Content,
}

/// Whoever decides what is read next.
pub trait Inquiry {
    /// The next places, all fresh, and the read size for them; `None` when nothing more is wanted.
    fn next(&mut self) -> Option<Batch>;

    /// The times of a whole batch, in the order asked.
    fn observe(&mut self, triples: &[Triple]);

    /// How it stands, in a few words for a progress line.
    fn standing(&self) -> String;
}

/// Places to be read together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Where.
    pub sites: Vec<Site>,
    /// The size of each read.
    pub read_size: Bytes,
}

/// Read batch after batch until the inquiry is satisfied or a limit is met. `progress` is called
/// between batches, never between the reads of one.
///
/// # Errors
/// The stop reason when measuring ended before the inquiry did. A batch that was not completed is
/// dropped.
pub fn run<D: ReadDevice + ?Sized>(
    meter: &mut Meter<'_, D>,
    inquiry: &mut dyn Inquiry,
    rng: &mut Xoshiro256PlusPlus,
    progress: &mut dyn FnMut(&Meter<'_, D>, &dyn Inquiry),
) -> Result<(), Stop> {
    while let Some(batch) = inquiry.next() {
        let triples = read_batch(meter, &batch, rng)?;
        inquiry.observe(&triples);
        progress(meter, inquiry);
    }
    Ok(())
}

/// All reads of a batch in three passes. Every pass visits the sites in the same random order, and
/// the role that a site plays in a pass is random: the reads of one site lie a whole pass apart (a
/// device's read cache and mapping cache have moved on), and whatever the first visit costs is
/// paid by each role equally often.
pub(super) fn read_batch<D: ReadDevice + ?Sized>(
    meter: &mut Meter<'_, D>,
    batch: &Batch,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<Vec<Triple>, Stop> {
    let mut order: Vec<usize> = (0..batch.sites.len()).collect();
    order.shuffle(rng);
    // For each pass, the role that each site plays in it.
    let mut roles: [Vec<usize>; 3] = Default::default();
    for _ in &batch.sites {
        for (pass, role) in roles.iter_mut().zip(random_roles(rng)) {
            pass.push(role);
        }
    }
    let mut times = vec![[Duration::ZERO; 3]; batch.sites.len()];
    let mut blank = vec![false; batch.sites.len()];
    let half = batch.read_size.get() / 2;
    for roles in &roles {
        for &n in &order {
            let site = batch.sites[n];
            let role = roles[n];
            let middle = match role {
                0 => site.at.get() - site.wing.get(),
                1 => site.at.get(),
                _ => site.at.get() + site.wing.get(),
            };
            let (time, content) = meter.read(Bytes(middle - half), batch.read_size, rng)?;
            times[n][role] = time;
            blank[n] |= content == Content::Blank;
        }
    }
    Ok(batch
        .sites
        .iter()
        .zip(times.iter().zip(&blank))
        .map(|(&site, (&[pre, on, post], &blank))| Triple {
            site,
            read_size: batch.read_size,
            pre,
            on,
            post,
            content: if blank { Content::Blank } else { Content::Data },
        })
        .collect())
}

/// The order in which a site's three places are visited.
fn random_roles(rng: &mut impl Rng) -> [usize; 3] {
    const ORDERS: [[usize; 3]; 6] = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    ORDERS[rng.random_range(0..ORDERS.len())]
}
