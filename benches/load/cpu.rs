//! CPU time of processes, and waiting until they are idle.

use std::fs;
use std::time::Duration;

/// The CPU share below which processes count as idle, and the time over which it is measured: longer than the
/// daemon's pause between counting batches.
const QUIET: f64 = 0.05;
const QUIET_LOOK: Duration = Duration::from_millis(1_200);
/// The most measurements.
const QUIET_LOOKS: u32 = 50;

/// The clock tick of Linux's CPU times; the same on every machine.
const TICK: Duration = Duration::from_millis(10);

/// User and system time so far, of all threads.
pub fn used(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
    // The program's name is in brackets and may hold anything; after it, the state is field 3.
    let (_, fields) = stat.rsplit_once(") ").expect("a name in brackets");
    let ticks = fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u32>().expect("a number"));
    TICK * ticks.sum::<u32>()
}

/// Waits until processes are idle: after many leads a daemon counts them for a while, which would share the
/// cores with the next measurement.
pub async fn quiet(pids: &[u32]) {
    let used_by_all = || pids.iter().map(|pid| used(*pid)).sum::<Duration>();
    let mut before = used_by_all();
    for _ in 0..QUIET_LOOKS {
        tokio::time::sleep(QUIET_LOOK).await;
        let now = used_by_all();
        if now - before < QUIET_LOOK.mul_f64(QUIET) {
            return;
        }
        before = now;
    }
    println!(
        "the server is still busy after {:?}; what follows shares its cores with that",
        QUIET_LOOK * QUIET_LOOKS
    );
}
