//! Samples of the daemon's resource use, from the operating system.

use std::fs;
use std::time::Duration;

use tokio::sync::watch;

use super::ledger::Ledger;
use super::lenders::Lenders;
use super::{disk, process};
use crate::kit::Daemon;

/// The number of samples, if the soak is long enough.
const COUNT: u32 = 300;

const EVERY_LEAST: Duration = Duration::from_millis(200);

/// The share of samples that is dropped at the start, while caches fill and pools grow.
const WARM_UP: f64 = 0.25;

/// A sample.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Leads acknowledged so far.
    pub leads: u64,
    /// Resident memory, in bytes.
    pub resident: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// The store's size on the disk, in bytes.
    pub on_disk: u64,
}

/// All samples, in order.
#[derive(Debug)]
pub struct Samples(Vec<Sample>);

impl Samples {
    /// Takes samples until the load ends.
    pub async fn take(
        daemon: &Daemon,
        ledger: &Ledger,
        lenders: &Lenders,
        lasting: Duration,
        mut ended: watch::Receiver<bool>,
    ) -> Self {
        let mut samples = Vec::new();
        while !*ended.borrow() {
            let _ = tokio::time::timeout((lasting / COUNT).max(EVERY_LEAST), ended.changed()).await;
            let descriptors = fs::read_dir(format!("/proc/{}/fd", daemon.pid())).expect("the daemon runs");
            samples.push(Sample {
                leads: ledger.count(),
                resident: process::resident(daemon.pid()),
                descriptors: descriptors.count() as u64,
                on_disk: disk::used(&daemon.store()),
            });
            lenders.forget();
        }
        Self(samples)
    }

    /// The medians of each third after the warm-up.
    pub fn thirds(&self) -> [Sample; 3] {
        let warm = &self.0[(self.0.len() as f64 * WARM_UP) as usize..];
        let third = warm.len().div_ceil(3).max(1);
        std::array::from_fn(|nth| {
            let part = &warm[(nth * third).min(warm.len() - 1)..((nth + 1) * third).min(warm.len())];
            let part = if part.is_empty() { &warm[warm.len() - 1..] } else { part };
            let median = |of: fn(&Sample) -> u64| {
                let mut values: Vec<u64> = part.iter().map(of).collect();
                values.sort_unstable();
                values[values.len() / 2]
            };
            Sample {
                leads: median(|sample| sample.leads),
                resident: median(|sample| sample.resident),
                descriptors: median(|sample| sample.descriptors),
                on_disk: median(|sample| sample.on_disk),
            }
        })
    }
}
