//! Metrics of the process itself, under the names that all Prometheus clients give them.

use std::fs;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use metrics::gauge;
use rustix::time::{ClockId, clock_gettime};

use super::metrics::{
    BUILD_INFO, PROCESS_CPU_SECONDS, PROCESS_OPEN_FILES, PROCESS_RESIDENT_BYTES, PROCESS_STARTED_AT,
};

/// When recording began, which is one of the first things that the process does.
static STARTED: LazyLock<SystemTime> = LazyLock::new(SystemTime::now);

/// Sets the metrics that never change.
pub(super) fn begin() {
    gauge!(BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    let started = STARTED.duration_since(UNIX_EPOCH).unwrap_or_default();
    gauge!(PROCESS_STARTED_AT).set(started.as_secs_f64());
}

/// Measures the process. Where `/proc` cannot be read, its metrics stay as they are.
pub fn measure() {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    // Exported as a counter, by its kind; the recorder's own counters hold whole numbers.
    gauge!(PROCESS_CPU_SECONDS).set(used.tv_sec as f64 + used.tv_nsec as f64 / 1e9);
    if let Some(kib) = fs::read_to_string("/proc/self/status").ok().and_then(|status| resident_kib(&status)) {
        gauge!(PROCESS_RESIDENT_BYTES).set(kib * 1024.0);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        gauge!(PROCESS_OPEN_FILES).set(files.count() as f64);
    }
}

fn resident_kib(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::figures::MetricsSnapshot;
    use super::super::recorder::install;
    use super::*;

    #[test]
    fn the_process_is_measured() {
        let handle = install();
        measure();
        let text = handle.snapshot().text();
        let figures = MetricsSnapshot::parse(&text);
        for name in [PROCESS_CPU_SECONDS, PROCESS_RESIDENT_BYTES, PROCESS_OPEN_FILES, PROCESS_STARTED_AT] {
            assert!(figures.gauge(name).is_some_and(|value| value > 0.0), "{name}: {text}");
        }
        assert!(text.contains("# TYPE process_cpu_seconds_total counter"), "{text}");
        assert!(text.contains("offerd_build_info{version=\""), "{text}");
        assert_eq!(resident_kib("VmSize: 9 kB\nVmRSS:\t   128 kB\n"), Some(128.0));
    }
}
