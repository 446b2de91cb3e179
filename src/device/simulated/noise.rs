//! Everything that blurs the times: normal noise, outliers, background work, drift, throttling.

use super::clock::nanoseconds;
use super::profile::{Noise as Keys, Throttle, Wave};
use super::rng::Rng;

/// All times are at least this share of what they would be without drift: a drift downwards
/// levels off before it reaches nothing.
const LOWEST_LEVEL: f64 = 0.1;

/// The noise of one stick. Times in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    rng: Rng,
    sigma: f64,
    outlier_rate: f64,
    outlier: f64,
    background: Option<Background>,
    drift_per_second: f64,
    wave: Option<Wave>,
    throttle: Option<Throttle>,
}

#[derive(Clone, Debug)]
struct Background {
    every: f64,
    length: f64,
    next_start: f64,
}

impl Noise {
    /// The noise of these keys; same seed, same noise.
    pub(super) fn new(keys: &Keys, seed: u64) -> Noise {
        let mut rng = Rng::new(seed);
        let background = keys.background.as_ref().map(|b| Background {
            every: nanoseconds(b.every),
            length: nanoseconds(b.length),
            next_start: nanoseconds(b.every) * rng.exponential(),
        });
        Noise {
            rng,
            sigma: nanoseconds(keys.sigma),
            outlier_rate: keys.outlier_rate,
            outlier: nanoseconds(keys.outlier),
            background,
            drift_per_second: keys.drift_per_second,
            wave: keys.wave.clone(),
            throttle: keys.throttle.clone(),
        }
    }

    /// The factor on all times at this moment.
    pub(super) fn level(&self, now: f64) -> f64 {
        let seconds = now * 1e-9;
        let mut level = 1.0 + self.drift_per_second * seconds;
        if let Some(wave) = &self.wave {
            let turns = seconds / wave.period.as_secs_f64();
            level *= 1.0 + wave.amplitude * (turns * std::f64::consts::TAU).sin();
        }
        if let Some(throttle) = &self.throttle
            && now >= nanoseconds(throttle.after)
        {
            level *= throttle.slower;
        }
        level.max(LOWEST_LEVEL)
    }

    /// What is added to a read.
    pub(super) fn on_read(&mut self) -> f64 {
        let normal = if self.sigma > 0.0 {
            self.sigma * self.rng.normal()
        } else {
            0.0
        };
        normal + self.outlier()
    }

    /// What is added to a write of this length, with a relative normal noise.
    pub(super) fn on_write(&mut self, length: f64, relative_sigma: f64) -> f64 {
        let normal = if relative_sigma > 0.0 {
            length * relative_sigma * self.rng.normal()
        } else {
            0.0
        };
        normal + self.outlier()
    }

    /// How long an access that begins now waits for background work to end.
    pub(super) fn background(&mut self, now: f64) -> f64 {
        let Some(background) = &mut self.background else {
            return 0.0;
        };
        while background.next_start + background.length <= now {
            background.next_start += background.length + background.every * self.rng.exponential();
        }
        if background.next_start <= now {
            background.next_start + background.length - now
        } else {
            0.0
        }
    }

    /// The random stream, for choices of the model that are as arbitrary as noise.
    pub(super) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    fn outlier(&mut self) -> f64 {
        if self.outlier_rate > 0.0 && self.rng.uniform() < self.outlier_rate {
            self.outlier * self.rng.exponential()
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn noise_has_the_sigma_and_the_outliers_of_the_profile() {
        let keys = Keys {
            sigma: Duration::from_micros(20),
            outlier_rate: 0.02,
            outlier: Duration::from_millis(2),
            ..Keys::default()
        };
        let mut noise = Noise::new(&keys, 1);
        let all: Vec<f64> = (0..20_000).map(|_| noise.on_read()).collect();
        let far = all.iter().filter(|x| **x > 100e3).count();
        assert!((300..420).contains(&far), "{far}");
        let near: Vec<f64> = all.into_iter().filter(|x| x.abs() < 100e3).collect();
        let sigma = (near.iter().map(|x| x * x).sum::<f64>() / near.len() as f64).sqrt();
        assert!((sigma - 20e3).abs() < 1e3, "{sigma}");
    }

    #[test]
    fn drift_wave_and_throttling_multiply() {
        let keys = Keys {
            drift_per_second: 0.01,
            wave: Some(Wave {
                amplitude: 0.5,
                period: Duration::from_secs(4),
            }),
            throttle: Some(Throttle {
                after: Duration::from_secs(10),
                slower: 2.0,
            }),
            ..Keys::default()
        };
        let noise = Noise::new(&keys, 1);
        assert!((noise.level(0.0) - 1.0).abs() < 1e-9);
        assert!((noise.level(1e9) - 1.01 * 1.5).abs() < 1e-9);
        assert!((noise.level(11e9) - 1.11 * 0.5 * 2.0).abs() < 1e-9);
        let falling = Keys {
            drift_per_second: -1.0,
            ..Keys::default()
        };
        assert!((Noise::new(&falling, 1).level(1e12) - LOWEST_LEVEL).abs() < 1e-9);
    }

    #[test]
    fn background_work_delays_whoever_comes_meanwhile() {
        let keys = Keys {
            background: Some(super::super::profile::Background {
                every: Duration::from_secs(1),
                length: Duration::from_millis(100),
            }),
            ..Keys::default()
        };
        let mut noise = Noise::new(&keys, 1);
        let mut delayed = 0;
        for i in 0..100_000 {
            let delay = noise.background(f64::from(i) * 1e6);
            assert!((0.0..=100e6).contains(&delay));
            delayed += i32::from(delay > 0.0);
        }
        // 100 s, a start every 1.1 s, 100 of the 1 ms steps inside each.
        assert!((6000..12_500).contains(&delayed), "{delayed}");
    }
}
