//! Random numbers for the simulated stick: repeatable on every machine, from a seed.
//!
//! Two kinds. [`Rng`] is a stream (xoshiro256++ by Blackman and Vigna, public domain,
//! <https://prng.di.unimi.it/>): noise, one draw after another. [`place`] is a function of a place:
//! properties of the device that must not depend on when or how often a place is visited.

/// One step of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection that scrambles well.
pub(crate) const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A seed from a text (FNV-1a, then scrambled).
pub(crate) fn seed_of(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mix(hash)
}

/// A number in [0, 1) that belongs to place `x` of the device `seed`, for one `purpose`.
pub(crate) const fn place(seed: u64, purpose: u64, x: u64) -> f64 {
    unit(mix(mix(seed ^ mix(purpose)) ^ x))
}

/// A number with mean 0 and variance 1 that belongs to a place: the sum of three uniform numbers,
/// so it never passes 3 (a boundary may cost more than another, but not absurdly more).
pub(crate) fn place_spread(seed: u64, purpose: u64, x: u64) -> f64 {
    let sum: f64 = (0..3)
        .map(|i| place(seed, purpose.wrapping_add(i << 32), x))
        .sum();
    (sum - 1.5) * 2.0
}

/// The upper 53 bits as a number in [0, 1).
const fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    state: [u64; 4],
    spare: Option<f64>,
}

impl Rng {
    /// The stream of this seed.
    pub(crate) fn new(seed: u64) -> Rng {
        let mut x = seed;
        let state = std::array::from_fn(|_| {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(x)
        });
        Rng { state, spare: None }
    }

    /// 64 random bits.
    pub(crate) fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let t = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= t;
        *d = d.rotate_left(45);
        result
    }

    /// Uniform in [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        unit(self.next_u64())
    }

    /// Uniform in 0..n; 0 for n = 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let product = u128::from(self.next_u64()) * n as u128;
        usize::try_from(product >> 64).unwrap_or(0)
    }

    /// Normal with mean 0 and variance 1 (Marsaglia's polar method).
    pub(crate) fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                let factor = (-2.0 * s.ln() / s).sqrt();
                self.spare = Some(v * factor);
                return u * factor;
            }
        }
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_the_published_generator() {
        // Reference: the C code of the authors with the state 1, 2, 3, 4.
        let mut rng = Rng {
            state: [1, 2, 3, 4],
            spare: None,
        };
        let first: Vec<u64> = (0..4).map(|_| rng.next_u64()).collect();
        assert_eq!(
            first,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386
            ]
        );
    }

    #[test]
    fn normal_and_exponential_have_the_promised_moments() {
        let mut rng = Rng::new(1);
        let n = 100_000;
        let normal: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let mean = normal.iter().sum::<f64>() / f64::from(n);
        let variance = normal.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(
            mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03,
            "{mean} {variance}"
        );
        let mean = (0..n).map(|_| rng.exponential()).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
    }

    #[test]
    fn a_place_keeps_its_number_and_purposes_differ() {
        assert_eq!(place(1, 2, 3).to_bits(), place(1, 2, 3).to_bits());
        assert_ne!(place(1, 2, 3).to_bits(), place(1, 3, 3).to_bits());
        let share = (0..10_000).filter(|&x| place(7, 1, x) < 0.1).count();
        assert!((900..1100).contains(&share), "{share}");
        let square: f64 = (0..10_000).map(|x| place_spread(7, 1, x).powi(2)).sum();
        assert!((square / 10_000.0 - 1.0).abs() < 0.05, "{square}");
    }
}
