//! The life cycle of the daemon: check the configuration ([`load()`]), bind and open the store (`bound`),
//! start, serve and drain (`started`). A SIGHUP or a command reloads (`reload.rs`).

mod bound;
mod descriptors;
mod following;
mod guard;
mod load;
mod prelude;
mod reload;
mod retention;
mod service_watchdog;
mod signals;
mod sockets;
mod started;
mod threads;

use std::time::Instant;

use actix_rt::System;
use tokio::runtime::Builder;

use self::bound::{BoundListeners, open};
pub use self::descriptors::Descriptors;
use self::guard::{CLOSING, GuardHandle};
pub use self::load::{
    Loaded, certificate_days, database_fault, load, master_key_fault, without_token, wrong_master_key,
};
use self::prelude::*;
use self::signals::Signals;
pub use self::sockets::Sockets;
use self::started::Started;
use offerd_base::telemetry;

/// A fatal error: one sentence with its causes and the remedy.
type Fatal = String;

/// Runs the daemon until a signal stops it. Exit code 0 if it drained, 1 if it failed or cut requests.
pub fn run(config: Option<PathBuf>, loaded: Loaded) -> ExitCode {
    serve_until_stopped(config, loaded).unwrap_or_else(|message| {
        error!("{message}");
        ExitCode::FAILURE
    })
}

fn serve_until_stopped(config: Option<PathBuf>, loaded: Loaded) -> Result<ExitCode, Fatal> {
    let settings = &loaded.settings;
    // Must run before there is any other thread.
    let sockets = Sockets::inherit();
    let filter = telemetry::logging::init(&settings.log.filter, settings.log.access, settings.log.format);
    let metrics = telemetry::recorder::install();
    let sockets = sockets?;
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = Arc::new(runtime.map_err(|error| format!("could not start the runtime: {error}"))?);
    let system = System::with_tokio_rt({
        let runtime = Arc::clone(&runtime);
        move || runtime
    });
    let guard = GuardHandle::start(settings.shutdown.announce + settings.shutdown.drain)
        .map_err(|error| format!("could not start the guard thread: {error}"))?;
    let outcome = system.block_on(live(config, loaded, sockets, (filter, metrics), &guard));
    if outcome.is_ok() {
        let ends = Instant::now() + CLOSING;
        drop(system);
        if let Some(runtime) = Arc::into_inner(runtime) {
            runtime.shutdown_timeout(CLOSING);
        }
        offerd_store::wait_closed(ends.saturating_duration_since(Instant::now()));
    }
    outcome.map_err(|message| {
        error!("{message}");
        // At once: threads may hang on the store.
        std::process::exit(1)
    })
}

/// The filter of the log, and the recorder of the metrics.
type DaemonTelemetry = (telemetry::logging::Filter, telemetry::recorder::MetricsRecorder);

async fn live(
    config: Option<PathBuf>,
    loaded: Loaded,
    sockets: Sockets,
    telling: DaemonTelemetry,
    guard: &GuardHandle,
) -> Result<ExitCode, Fatal> {
    let mut signals = Signals::listen()?;
    for (key, value, source) in loaded.settings.describe() {
        tracing::debug!(key, value, source, "setting");
    }
    let announce = loaded.settings.shutdown.announce;
    let bound = BoundListeners::to(&loaded.settings, sockets)?;
    let records = open(&loaded.settings, &loaded.book, guard).await?;
    let mut started = Started::from(config, loaded, bound, records, telling).await?;
    let lost = started.serve(&mut signals, guard).await;
    // A daemon that has lost its store reports not ready already.
    let announce = if lost.is_some() { Duration::ZERO } else { announce };
    started.drain(lost, announce, &mut signals, guard).await
}

fn notify(states: &[sd_notify::NotifyState]) {
    let _ = sd_notify::notify(states);
}
