//! How long rate tables were waited for, and how long they would have been if one seat had another timeout.

use fastrand::Rng;

use offerd_engine::matching::ask_statistics::survival::Survival;

/// Tables sampled per seat; more would not be more precise.
const KEPT: usize = 2000;

/// One table, and one seat's part in it. All times in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    /// When the last of the other seats had its outcome, since the lead's arrival.
    pub(super) others: u64,
    pub(super) after: u64,
    /// How long its ask took, or was watched.
    pub(super) elapsed: u64,
    /// Whether the ask ended before its timeout.
    pub(super) ended: bool,
}

/// A uniform sample of a seat's tables (algorithm R, Vitter 1985); deterministic for the same tables.
#[derive(Debug)]
pub(super) struct Waits {
    sample: Vec<Wait>,
    counted: usize,
    draws: Rng,
}

impl Default for Waits {
    fn default() -> Self {
        Self { sample: Vec::new(), counted: 0, draws: Rng::with_seed(1) }
    }
}

impl Waits {
    pub(super) fn count(&mut self, wait: Wait) {
        self.counted += 1;
        if self.sample.len() < KEPT {
            return self.sample.push(wait);
        }
        let place = self.draws.usize(..self.counted);
        if let Some(kept) = self.sample.get_mut(place) {
            *kept = wait;
        }
    }

    /// The time in milliseconds within which a share of the tables is complete with this timeout.
    pub(super) fn within(&self, share: f64, timeout: u64, survival: &Survival) -> Option<u64> {
        let longest = self.sample.iter().map(|wait| wait.others.max(wait.after + timeout)).max()?;
        let wanted = share * self.sample.len() as f64 - 1e-9;
        let complete = |within: u64| -> f64 {
            self.sample.iter().map(|wait| wait.complete(within, timeout, survival)).sum()
        };
        let (mut low, mut high) = (0, longest);
        while low < high {
            let middle = low.midpoint(high);
            if complete(middle) >= wanted {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(low)
    }
}

impl Wait {
    fn complete(&self, within: u64, timeout: u64, survival: &Survival) -> f64 {
        if within < self.others || within < self.after {
            return 0.0;
        }
        let waited = within - self.after;
        match self.ended {
            _ if waited >= timeout => 1.0,
            true => f64::from(u8::from(self.elapsed <= waited)),
            false if waited <= self.elapsed => 0.0,
            false => {
                let before = survival.pending(micros(self.elapsed));
                if before > 0.0 { 1.0 - survival.pending(micros(waited)) / before } else { 0.0 }
            }
        }
    }
}

pub(super) fn micros(millis: u64) -> u32 {
    u32::try_from(millis.saturating_mul(1000)).unwrap_or(u32::MAX)
}
