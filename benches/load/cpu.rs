//! CPU time of processes, and waiting until they need none.

use std::fs;
use std::time::Duration;

/// The share of a core that quiet processes take at most, and how long that is looked at: longer than a daemon rests before it
/// looks whether there is more to count.
const QUIET: f64 = 0.05;
const QUIET_LOOK: Duration = Duration::from_millis(1_200);
/// How often that is looked at.
const QUIET_LOOKS: u32 = 50;

/// Length of the ticks in which Linux tells of CPU time; the same on every machine.
const TICK: Duration = Duration::from_millis(10);

/// User and system time so far, of all threads.
pub fn used(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
    // The name of the program is in brackets and may hold anything; behind it the state is field 3.
    let (_, fields) = stat.rsplit_once(") ").expect("a name in brackets");
    let ticks = fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u32>().expect("a number"));
    TICK * ticks.sum::<u32>()
}

/// Waits until processes have nothing to do: after many leads a daemon counts them for a while, and what is measured next would
/// share the cores with that.
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
