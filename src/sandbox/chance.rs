//! Random latency and failures of requests, drawn from a seed.

use offerd_base::worded;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const QUICK: f64 = 0.9;

const QUICK_REACH: f64 = 0.25;

/// The range of response times. Nine of ten are drawn from its first quarter, as in systems under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    shortest: Duration,
    longest: Duration,
}

/// Parses `200ms..1500ms`, or one duration.
impl FromStr for Latency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (shortest, longest) = text.split_once("..").unwrap_or((text, text));
        let read = |text| humantime::parse_duration(text).map_err(|error| error.to_string());
        let latency = Self { shortest: read(shortest)?, longest: read(longest)? };
        if latency.shortest > latency.longest {
            return Err("the shorter time comes first".to_owned());
        }
        Ok(latency)
    }
}

/// Failure rates, as shares of all requests.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Rates {
    /// Share of requests answered with status 500
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub errors: f64,
    /// Share of requests answered with garbage
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub garbage: f64,
    /// Share of requests answered at one byte per second
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub drip: f64,
    /// Share of requests whose connection is closed without an answer
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub reset: f64,
}

impl Rates {
    /// Whether they are valid shares with a sum of at most 1.
    pub fn are_possible(&self) -> bool {
        let all = [self.errors, self.garbage, self.drip, self.reset];
        all.iter().all(|rate| *rate >= 0.0) && all.iter().sum::<f64>() <= 1.0
    }
}

worded! {
    /// Outcome of a request.
    pub enum Fate;

    fn word;

    /// An ordinary answer.
    Answered "answered";
    /// Status 500.
    Error "error";
    /// An unreadable body.
    Garbage "garbage";
    /// One byte a second.
    Drip "drip";
    /// No answer, the connection ends.
    Reset "reset";
}

/// Draws outcomes; the same seed gives the same sequence.
#[derive(Debug)]
pub struct Chance {
    random: Mutex<fastrand::Rng>,
    latency: Latency,
    rates: Rates,
}

impl Chance {
    /// Starts from a seed.
    pub fn new(seed: u64, latency: Latency, rates: Rates) -> Self {
        Self { random: Mutex::new(fastrand::Rng::with_seed(seed)), latency, rates }
    }

    /// The outcome of the next request, and its latency.
    pub fn draw(&self) -> (Fate, Duration) {
        let (fate, quick, place) = {
            let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
            (random.f64(), random.f64(), random.f64())
        };
        let Latency { shortest, longest } = self.latency;
        let at = if quick < QUICK { place * QUICK_REACH } else { QUICK_REACH + place * (1.0 - QUICK_REACH) };
        (self.fate(fate), shortest + (longest - shortest).mul_f64(at))
    }

    fn fate(&self, mut drawn: f64) -> Fate {
        let Rates { errors, garbage, drip, reset } = self.rates;
        let all = [(errors, Fate::Error), (garbage, Fate::Garbage), (drip, Fate::Drip), (reset, Fate::Reset)];
        for (rate, fate) in all {
            if drawn < rate {
                return fate;
            }
            drawn -= rate;
        }
        Fate::Answered
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Chance, Fate, Latency, Rates};

    #[test]
    fn a_seed_draws_the_same_again_within_its_bounds_and_near_its_rates() {
        let latency: Latency = "200ms..1500ms".parse().unwrap_or_else(|fault| panic!("{fault}"));
        let rates = Rates { errors: 0.2, garbage: 0.1, drip: 0.0, reset: 0.1 };
        let draws = |seed| {
            let chance = Chance::new(seed, latency, rates);
            (0..1000).map(|_| chance.draw()).collect::<Vec<_>>()
        };
        let drawn = draws(7);
        assert_eq!(drawn, draws(7));
        assert_ne!(drawn, draws(8));
        let bounds = Duration::from_millis(200)..=Duration::from_millis(1500);
        assert!(drawn.iter().all(|(_, after)| bounds.contains(after)));
        let count = |wanted| drawn.iter().filter(|(fate, _)| *fate == wanted).count();
        assert_eq!(count(Fate::Drip), 0);
        assert!((150..250).contains(&count(Fate::Error)), "{}", count(Fate::Error));
        assert!((60..140).contains(&count(Fate::Reset)), "{}", count(Fate::Reset));
    }

    #[test]
    fn a_latency_is_a_span_or_one_duration() {
        assert_eq!("5ms".parse::<Latency>(), "5ms..5ms".parse());
        assert!("2s..1s".parse::<Latency>().is_err() && "soon".parse::<Latency>().is_err());
    }
}
