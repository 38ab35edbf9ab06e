//! The order of life: bind and open the store (`opened`), start the threads, recover, serve, and at the end drain
//! (`started`).
//!
//! Settings and partner files are known to be good before this begins ([`load()`]). While it serves, they are taken in anew
//! (`reload.rs`) whenever a SIGHUP or a command asks for it.

mod descriptors;
mod following;
mod guard;
mod load;
mod opened;
mod reload;
mod retention;
mod signals;
mod sockets;
mod started;
mod threads;
mod watchdog;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::System;
use tokio::runtime::Builder;
use tracing::error;

pub use self::descriptors::Descriptors;
use self::guard::{CLOSING, Guard};
pub use self::load::{
    Loaded, certificate_days, database_fault, load, master_key_fault, vehicles, wrong_master_key,
};
use self::opened::{Bound, open};
use self::signals::Signals;
pub use self::sockets::Sockets;
use self::started::Started;
use offerd_base::telemetry;

/// Stack of error causes ends here: a sentence that says what to do.
type Fatal = String;

/// Runs the daemon until a signal stops it; `config` is read again when it reloads. Exit code 0 when it drained, 1 when it failed
/// or had to cut.
pub fn run(config: Option<PathBuf>, loaded: Loaded) -> ExitCode {
    let settings = &loaded.settings;
    // Before there is any other thread.
    let sockets = Sockets::inherit();
    let filter = telemetry::logging::init(&settings.log.filter, settings.log.format);
    let metrics = telemetry::recorder::install();
    let sockets = match sockets {
        Ok(sockets) => sockets,
        Err(message) => return fatal(message),
    };

    // Leads have threads of their own: what is left to this one is to accept connections, and what is done aside.
    let runtime = match Builder::new_multi_thread().worker_threads(1).enable_all().build() {
        Ok(runtime) => Arc::new(runtime),
        Err(error) => return fatal(format!("the runtime could not be started: {error}")),
    };
    let system = System::with_tokio_rt({
        let runtime = Arc::clone(&runtime);
        move || runtime
    });
    let guard = match Guard::post(settings.shutdown.announce + settings.shutdown.drain) {
        Ok(guard) => guard,
        Err(error) => return fatal(format!("the thread that guards the end could not be started: {error}")),
    };
    let outcome = system.block_on(live(config, loaded, sockets, Telling { filter, metrics }, &guard));
    if outcome.is_ok() {
        // The last task to let the store go lets its indexes be closed.
        drop(system);
        if let Some(runtime) = Arc::into_inner(runtime) {
            runtime.shutdown_timeout(CLOSING);
        }
    }
    match outcome {
        Ok(Ending::Drained) => ExitCode::SUCCESS,
        Ok(Ending::Cut) => ExitCode::FAILURE,
        Err(message) => {
            error!("{message}");
            // What has failed is not taken down: a thread of it may never end.
            std::process::exit(1);
        }
    }
}

/// How the daemon reports on itself: the filter of its log, and its metrics.
struct Telling {
    filter: telemetry::logging::Filter,
    metrics: telemetry::recorder::Handle,
}

/// How a daemon ended that had started.
enum Ending {
    /// Everything in flight was answered.
    Drained,
    /// The drain deadline passed, or a second signal came.
    Cut,
}

async fn live(
    config: Option<PathBuf>,
    loaded: Loaded,
    sockets: Sockets,
    telling: Telling,
    guard: &Guard,
) -> Result<Ending, Fatal> {
    let mut signals = Signals::listen()?;
    for (key, value, source) in loaded.settings.describe() {
        tracing::debug!(key, value, source, "setting");
    }
    let announce = loaded.settings.shutdown.announce;
    let bound = Bound::to(&loaded.settings, sockets)?;
    let records = open(&loaded.settings, &loaded.book, guard).await?;
    let mut started = Started::from(config, loaded, bound, records, telling).await?;
    let lost = started.serve(&mut signals, guard).await;
    // Who has lost the store has said no before.
    let announce = if lost.is_some() { Duration::ZERO } else { announce };
    started.drain(lost, announce, &mut signals, guard).await
}

/// Without a service manager there is nobody to notify.
fn notify(states: &[sd_notify::NotifyState]) {
    let _ = sd_notify::notify(states);
}

fn fatal(message: Fatal) -> ExitCode {
    error!("{message}");
    ExitCode::FAILURE
}
