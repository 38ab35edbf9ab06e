//! Ten minutes at half load, with all that happens in a day: `cargo bench --bench soak`.
//!
//! `OFFERD_SOAK_SECONDS` sets another length. `run` documents the load and the bars. Exits with 1 when a bar
//! is missed.

#[path = "../../tests/it/kit/mod.rs"]
mod kit;
mod run;

use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let given = std::env::var("OFFERD_SOAK_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let lasting = Duration::from_secs(given.unwrap_or(600));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let report = runtime.block_on(run::soak(lasting));
    println!("{report}");
    if report.is_met() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
