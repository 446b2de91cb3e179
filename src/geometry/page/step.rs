//! The page from the cost of reads across places of falling divisibility: where the cost falls, a page
//! ends.

use crate::units::Bytes;

/// Pages are looked for up to here; larger steps are erase blocks.
const LARGEST: Bytes = Bytes::kib(64);
/// Smaller falls, relative to a read, are no pages: cards without a page step show up to 1.9 %, the
/// smallest page seen 4.6 %.
pub const LEAST_FALL: f64 = 0.03;
/// The topmost fall that is at least this share of the deepest one is the page; a deeper one below it
/// only if what lies above is much less.
const TOPMOST: f64 = 0.6;
/// The next two lines below the page stay down by at least this share of the fall: one line that dips is
/// noise.
const STAYS_DOWN: f64 = 0.5;
/// A line this far below its lower neighbour ends an isolated bump.
const BUMP: f64 = 0.4;
/// A second fall of this share of the first is a sub-page.
const SECOND_FALL: f64 = 0.2;

/// The power-of-two part of an alignment, and what the scans show there, in microseconds. A page of
/// `2^k` bytes has boundaries at all places of an alignment whose power-of-two part is `2^k` or more,
/// whatever its odd factor.
pub struct Line {
    /// The divisibility.
    pub align: Bytes,
    /// Microseconds beyond an ordinary read.
    pub cost: f64,
}

/// A fall that is the page's.
pub struct Step {
    /// The page.
    pub page: Bytes,
    /// A further step below it.
    pub sub_page: Option<Bytes>,
    /// How deep the cost falls, in microseconds; of a bump, how far it stands out.
    pub fall: f64,
    upper: f64,
    lower: f64,
    /// The costly places lie inside the page, and its own boundaries cost nothing.
    pub bump: bool,
}

impl Step {
    /// One sentence.
    pub fn evidence(&self) -> String {
        let (page, upper, lower) = (self.page, self.upper, self.lower);
        if self.bump {
            format!(
                "reads across odd multiples of {} take {upper:.0} µs longer, across those of {page} and more only {lower:.0} µs: boundaries inside pages of {page}",
                Bytes(page.get() / 2)
            )
        } else {
            format!(
                "reads across odd multiples of {page} take {upper:.0} µs longer than their neighbours, across those of {} only {lower:.0} µs",
                Bytes(page.get() / 2)
            )
        }
    }
}

/// The fall between neighbouring lines at page sizes that is the page's; lines by falling alignment,
/// `level` the cost at larger ones, `least` the least fall that is no noise.
pub fn step(lines: &[Line], level: f64, least: f64) -> Option<Step> {
    let falls: Vec<(usize, f64)> = lines
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| pair[1].align < LARGEST)
        .map(|(i, pair)| (i, pair[0].cost - pair[1].cost))
        .collect();
    let deepest = falls
        .iter()
        .map(|(_, fall)| *fall)
        .fold(f64::NEG_INFINITY, f64::max);
    if deepest < least {
        return None;
    }
    let (at, fall) = falls
        .iter()
        .copied()
        .find(|(_, fall)| *fall >= TOPMOST * deepest)?;
    // Where a line is missing the page may be either side of it.
    if lines[at].align.get() != 2 * lines[at + 1].align.get() {
        return None;
    }
    // The lines from here up to the shelf: a gap between them and the shelf makes it a bump.
    let mut top = at;
    while top > 0 && lines[top - 1].align <= LARGEST && lines[top - 1].cost > BUMP * lines[at].cost
    {
        top -= 1;
    }
    let isolated = top > 0 && level < BUMP * lines[at].cost && lines[top].align < LARGEST;
    if isolated {
        let page = Bytes(2 * lines[top].align.get());
        // Of two falls of nearly the same depth noise decides which is the topmost that counts.
        let is_high = |line: &&Line| line.cost > BUMP * lines[at].cost;
        let below = lines[at + 1..].iter().take_while(is_high).count();
        return (lines[top - 1].align == page).then(|| Step {
            page,
            sub_page: Some(lines[at + below].align),
            fall: lines[top].cost - level,
            upper: lines[top].cost,
            lower: level,
            bump: true,
        });
    }
    let bound = lines[at].cost - STAYS_DOWN * fall;
    if lines[at + 1..].iter().take(2).any(|line| line.cost > bound) {
        return None;
    }
    let further = falls
        .iter()
        .filter(|(i, depth)| *i > at && *depth >= least.max(SECOND_FALL * fall))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(i, _)| lines[*i].align);
    Some(Step {
        page: lines[at].align,
        sub_page: further,
        fall,
        upper: lines[at].cost,
        lower: lines[at + 1].cost,
        bump: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs at 256 KiB and every half of it, down to 1 KiB.
    fn told(costs: [f64; 9]) -> Option<(Bytes, Option<Bytes>, f64)> {
        let lines: Vec<Line> = costs
            .iter()
            .enumerate()
            .map(|(n, &cost)| Line {
                align: Bytes(Bytes::kib(256).get() >> n),
                cost,
            })
            .collect();
        step(&lines, 0.0, 30.0).map(|step| (step.page, step.sub_page, step.fall))
    }

    #[test]
    fn a_bump_is_the_same_wherever_noise_puts_its_deepest_fall() {
        for (upper, lower) in [(130.0, 100.0), (130.0, 84.0), (150.0, 75.0), (110.0, 120.0)] {
            let found = told([0.0, 0.0, 0.0, 0.0, 0.0, upper, lower, 0.0, 0.0]);
            let page = (Bytes::kib(16), Some(Bytes::kib(4)), upper);
            assert_eq!(found, Some(page), "{upper}, {lower}");
        }
    }

    #[test]
    fn a_step_down_is_a_page_and_a_flat_line_none() {
        let found = told([60.0, 60.0, 60.0, 60.0, 60.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(found, Some((Bytes::kib(16), None, 60.0)));
        assert_eq!(told([0.0; 9]), None);
    }
}
