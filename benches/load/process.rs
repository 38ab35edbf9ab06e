//! What the system tells of a process, of a directory, and of itself.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// The share of a core that quiet processes take at most, and how long that is looked at.
const QUIET: f64 = 0.05;
const QUIET_LOOK: Duration = Duration::from_millis(500);
/// How often that is looked at.
const QUIET_LOOKS: u32 = 120;

/// Length of the ticks in which Linux tells of CPU time; the same on every machine.
const TICK: Duration = Duration::from_millis(10);

/// User and system time so far, of all threads.
pub fn cpu(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
    // The name of the program is in brackets and may hold anything; behind it the state is field 3.
    let (_, fields) = stat.rsplit_once(") ").expect("a name in brackets");
    let ticks = fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u32>().expect("a number"));
    TICK * ticks.sum::<u32>()
}

/// Waits until processes have nothing to do: after many leads a daemon counts them for a while, and what is measured next would
/// share the cores with that.
pub async fn quiet(pids: &[u32]) {
    let cpu_of_all = || pids.iter().map(|pid| cpu(*pid)).sum::<Duration>();
    let mut before = cpu_of_all();
    for _ in 0..QUIET_LOOKS {
        tokio::time::sleep(QUIET_LOOK).await;
        let now = cpu_of_all();
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

/// Memory that is resident, bytes.
pub fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// What the files of a directory take of the disk, bytes.
pub fn on_disk(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let of_entry = |entry: fs::DirEntry| {
        let Ok(metadata) = entry.metadata() else { return 0 };
        if metadata.is_dir() { on_disk(&entry.path()) } else { metadata.blocks() * 512 }
    };
    entries.filter_map(Result::ok).map(of_entry).sum()
}

/// Load average of the last minute.
pub fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}
