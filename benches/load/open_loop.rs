//! The open loop: requests at random times, whether or not the server keeps up.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::draw::draw;
use crate::generator::{Call, Connection, Start, histogram, joined, micros};

/// The warm-up at the measured rate.
const WARM_UP: Duration = Duration::from_millis(500);

/// Runs an open loop with requests at random times, `rate` per second; returns microseconds from the time at
/// which each was due, even if no connection was free then. The warm-up does not count.
pub fn open_loop(call: &Call, connections: usize, rate: f64, lasting: Duration) -> Histogram<u64> {
    let mut dues = vec![Duration::ZERO];
    while let Some(due) = dues.last().filter(|due| **due < WARM_UP + lasting) {
        dues.push(*due + Duration::from_secs_f64(-(1.0 - draw()).ln() / rate));
    }
    let mut open: Vec<Connection> = (0..connections).map(|_| Connection::open(call)).collect();
    let next = AtomicUsize::new(0);
    let start = Start::of(connections);
    std::thread::scope(|scope| {
        let threads = open.iter_mut().map(|connection| {
            scope.spawn(|| {
                let mut latencies = histogram();
                // Touches its memory in advance.
                latencies.clear();
                let begun = start.wait();
                while let Some(due) = dues.get(next.fetch_add(1, Ordering::Relaxed)) {
                    wait(begun + *due);
                    connection.exchange();
                    let latency = begun.elapsed() - *due;
                    if *due >= WARM_UP {
                        latencies.saturating_record(micros(latency));
                    }
                }
                latencies
            })
        });
        joined(threads.collect())
    })
}

fn wait(due: Instant) {
    while let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}
