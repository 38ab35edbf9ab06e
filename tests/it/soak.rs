//! The soak of `cargo bench --bench soak`, for a few seconds, so that it works when it is wanted.

use std::time::Duration;

#[path = "../../benches/soak/run/mod.rs"]
mod run;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_seconds_of_everything_leave_nothing_unexplained() {
    let report = run::soak(Duration::from_secs(4)).await;
    println!("{report}");
    assert!(report.is_met(), "{report}");
}
