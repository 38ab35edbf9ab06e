//! The order of life: bind, open the store, start the actors, recover, serve, and at the end drain.
//!
//! Settings and partner files are known to be good before this begins ([`load()`]). While it serves, they are taken in anew
//! (`reload.rs`) whenever a SIGHUP or a command asks for it.

mod descriptors;
mod guard;
mod load;
mod reload;
mod retention;
mod sockets;
mod watchdog;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use actix_rt::{Arbiter, System};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tracing::{error, info, warn};
use uuid::Uuid;

pub use self::descriptors::Descriptors;
use self::guard::{CLOSING, Guard, Stage};
pub use self::load::{certificate_days, load, master_key_fault, wrong_master_key};
use self::reload::{Reloading, note_book};
pub use self::sockets::Sockets;
use crate::admin::console::secret;
use crate::admin::password::Password;
use crate::admin::{self, Health};
use crate::bootstrap::{self, SignIn};
use crate::config::Settings;
use crate::http;
use crate::http::identities::Identities;
use crate::matching::lines::Lines;
use crate::matching::{Engine, Matchmaker, funnel, recovery, texts::Texts};
use crate::partners::Book;
use crate::reload::channel as reload_requests;
use crate::run_file::RunFile;
use crate::store::tokens::Tokens;
use crate::store::{Store, StoreOptions};
use crate::telemetry;
use crate::telemetry::logging::AUDIT;
use crate::telemetry::traces::{Delivery, Traces};

/// Stack of error causes ends here: a sentence that says what to do.
type Fatal = String;

/// Runs the daemon until it is told to stop; `config` is read again when it reloads. Exit code 0 when it drained, 1 when it failed or had to cut.
pub fn run(config: Option<PathBuf>, settings: Settings, book: Book) -> ExitCode {
    // Before there is any other thread.
    let sockets = Sockets::inherit();
    let filter = telemetry::logging::init(&settings.log.filter, settings.log.format);
    let metrics = telemetry::metrics::install();
    let sockets = match sockets {
        Ok(sockets) => sockets,
        Err(message) => return fatal(message),
    };

    let runtime = match Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => Arc::new(runtime),
        Err(error) => return fatal(format!("the runtime could not be started: {error}")),
    };
    let system = System::with_tokio_rt({
        let runtime = Arc::clone(&runtime);
        move || runtime
    });
    let guard = match Guard::post(settings.shutdown.drain) {
        Ok(guard) => guard,
        Err(error) => return fatal(format!("the thread that guards the end could not be started: {error}")),
    };
    let outcome =
        system.block_on(live(config, settings, book, sockets, Telling { filter, metrics }, &runtime, &guard));
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

/// What the daemon tells of itself by.
struct Telling {
    filter: telemetry::logging::Filter,
    metrics: telemetry::metrics::Handle,
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
    settings: Settings,
    book: Book,
    mut sockets: Sockets,
    Telling { filter, metrics }: Telling,
    runtime: &Arc<Runtime>,
    guard: &Guard,
) -> Result<Ending, Fatal> {
    let mut signals = Signals::listen()?;
    for (key, value, source) in settings.describe() {
        tracing::debug!(key, value, source, "setting");
    }

    let shown = Identities::read(&settings).map_err(|faults| {
        let faults = faults.iter().map(|(key, fault)| format!("`{key}`: {fault}"));
        faults.collect::<Vec<_>>().join("; ")
    })?;
    for (listener, address, setting) in sockets.against(&settings) {
        info!(listener, %address, %setting, "the service manager's socket goes before the address in the settings");
    }
    let shares = Descriptors::take().shared(settings.limits.reserved_descriptors);
    let public = http::connections(&settings.limits, shares.public);
    let operators = http::connections(&settings.limits, shares.admin);
    let mut bind = |listener, address, identity: &Option<_>, connections| {
        http::bind(listener, address, sockets.take(listener), identity.as_ref(), &settings, connections)
    };
    let api = bind("api", settings.api.listen, &shown.api, &public)?;
    let integrations = bind("integrations", settings.integrations.listen, &shown.integrations, &public)?;
    let admin_listener = bind("admin", settings.admin.listen, &shown.admin, &operators)?;
    let base_url = settings.api.base_url.clone().unwrap_or_else(|| api.url());

    let store = open_store(&settings)?;
    guard.heed(store.lost());
    let tokens = Tokens::of(store.clone());
    let texts = Texts::new(store.clone());
    texts.keep(&book).await.map_err(|error| format!("the book's texts could not be stored: {error}"))?;
    info!(partners = book.partners().len(), offers = book.offers(), "partners loaded");
    if book.seats().is_empty() {
        warn!(path = %settings.partners.path.display(), "there are no partner files, so no lead will have an offer");
    }

    let arbiters: Vec<Arbiter> = (0..actor_threads(&settings))
        .map(|_| {
            let runtime = Arc::clone(runtime);
            Arbiter::with_tokio_rt(move || runtime)
        })
        .collect();
    let lines = Lines::new(settings.wire).opened(&book).map_err(|faults| faults.join("; "))?;
    let (traces, delivery) = traces(&settings)?;
    let engine = Engine::new(store.clone(), texts, book, lines, (&settings).into(), base_url);
    let engine = engine.traced(traces).keeping(settings.limits.shown_bytes);
    let matchmaker = Matchmaker::new(engine, arbiters.iter().map(Arbiter::handle).collect());
    recovery::recover(&matchmaker).await;
    let recovering = matchmaker.clone();
    let recovering = tokio::spawn(async move { recovery::recover_when_mended(&recovering).await });

    let run_file = RunFile {
        api: api.url(),
        integrations: integrations.url(),
        admin: admin_listener.url(),
        admin_key: format!("{}_{}", Uuid::new_v4(), Uuid::new_v4()),
        settings_files: Some(config.iter().map(|file| absolute(file)).collect()),
        locked: true,
    };
    let written = run_file
        .write(&settings.store.path)
        .map_err(|error| format!("the run file could not be written: {error}"))?;

    let health = Arc::new(Health::new(store.clone()));
    let (reloader, mut reloads) = reload_requests();
    let engine = Arc::clone(matchmaker.engine());
    note_book(&engine.book());
    let (in_force, settings_in_force) = watch::channel(Arc::new(settings.clone()));
    let password = Password::find(settings.console.password_file.as_deref())?;
    let (secret, shown_secret) = console_secret(&settings, password.is_some())?;
    let admin_app = admin::App::new(admin::Parts {
        health: Arc::clone(&health),
        metrics,
        engine: Arc::clone(&engine),
        reloader,
        run_file: run_file.clone(),
        settings: settings_in_force,
        tail: filter.tail(),
        secret,
        password,
    });
    let sign_in =
        shown_secret.map(|secret| SignIn { secret, link: admin_app.console_link("the first start") });
    let admin = admin::start(admin_listener, admin_app);

    let retaining = tokio::spawn(retention::retain(Arc::clone(&engine), settings.store.clone()));

    let (stop, stopping) = watch::channel(false);
    let reception = http::Reception::new(&settings.api);
    let app = Arc::new(http::App::new(matchmaker.clone(), tokens.clone(), &settings, &run_file.integrations));
    let gate = Arc::clone(&app.gate);
    tokio::spawn(funnel::keep(Arc::clone(&engine), move || gate.queueing()));
    let api = tokio::spawn(http::serve_api(api, Arc::clone(&app), &reception, stopped(stopping.clone())));
    let integrations =
        tokio::spawn(http::serve_integrations(integrations, app, &reception, stopped(stopping)));

    if settings.tokens.bootstrap && tokens.companies().is_empty() {
        let told = bootstrap::welcome(&tokens, &run_file, sign_in.as_ref()).await;
        told.map_err(|error| format!("no first tokens: {error}"))?;
    } else if let Some(sign_in) = &sign_in {
        bootstrap::show_secret(&run_file, sign_in);
    }
    health.set_ready(true);
    notify(&[sd_notify::NotifyState::Ready]);
    if let Some(within) = sd_notify::watchdog_enabled() {
        tokio::spawn(watchdog::watch(store.clone(), within, || notify(&[sd_notify::NotifyState::Watchdog])));
    }
    info!(api = run_file.api, integrations = run_file.integrations, admin = run_file.admin, "ready");

    guard.at(Stage::Serving);
    let mut reloading = Reloading { config, settings, in_force, engine, reception, shown, filter };
    let lost = loop {
        tokio::select! {
            told = signals.next() => match told {
                Told::Reload => {
                    info!(target: AUDIT, who = "SIGHUP", action = "reload", "reload asked for");
                    drop(reloading.reload().await);
                }
                Told::Stop => break None,
            },
            reason = store.until_lost() => {
                error!(reason, "the store has failed for good: the process ends, and another start goes on with what is on the disk");
                break Some(reason);
            }
            // Who has hung up is not told.
            answer = reloads.next() => drop(answer.send(reloading.reload().await)),
        }
    };
    drop(reloads);

    info!("stopping");
    guard.at(Stage::Answering);
    notify(&[sd_notify::NotifyState::Stopping]);
    health.set_ready(false);
    stop.send_replace(true);
    let drained = async {
        let cut = [api.await, integrations.await]
            .into_iter()
            .any(|ended| !matches!(ended, Ok(Ok(drained)) if drained.cut == 0));
        guard.at(Stage::Leaving);
        matchmaker.drain().await;
        cut
    };
    let ending = tokio::select! {
        cut = drained => if cut { Ending::Cut } else { Ending::Drained },
        () = signals.stop_again() => {
            // At once means at once; the store is whole at any moment.
            written.remove();
            std::process::exit(1);
        }
    };

    guard.at(Stage::Stopping);
    if let Some(delivery) = delivery {
        delivery.finish().await;
    }
    written.remove();
    retaining.abort();
    recovering.abort();
    admin.stop();
    guard.at(Stage::Closing);
    let closed = store.close().map_err(|error| error.to_string());
    for arbiter in arbiters {
        arbiter.stop();
        // What its actors hold of the store goes with its thread.
        let _ = arbiter.join();
    }
    info!("stopped");
    match lost {
        Some(reason) => Err(format!("ended because the store had failed for good: {reason}")),
        None => closed.map(|()| ending),
    }
}

/// The secret that the console takes, and itself where it has just been made: by the first start of a sandbox that has no
/// password. Elsewhere standard output is a log that is kept, and `offerd console` prints a link.
fn console_secret(settings: &Settings, password: bool) -> Result<(Option<Password>, Option<String>), Fatal> {
    let store = &settings.store.path;
    let known = secret::find(store);
    if known.is_some() || password || !settings.tokens.bootstrap || !settings.console_asks_to_sign_in() {
        return Ok((known, None));
    }
    let made =
        secret::make(store).map_err(|error| format!("the console's secret could not be written: {error}"))?;
    Ok((Some(Password::of_secret(&made.secret)), Some(made.secret)))
}

/// A path as it is named to those who work in another directory.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn open_store(settings: &Settings) -> Result<Store, Fatal> {
    let opened = Store::open(StoreOptions::from(&settings.store));
    opened.map_err(|error| {
        let path = absolute(&settings.store.path);
        format!(
            "`store.path` ({}) cannot be opened: {error}; `offerd doctor` looks at what is wrong",
            path.display()
        )
    })
}

/// Traces to the collector in the settings, and what sends them there.
fn traces(settings: &Settings) -> Result<(Traces, Option<Delivery>), Fatal> {
    let Some(endpoint) = &settings.tracing.otlp_endpoint else { return Ok(Default::default()) };
    let (traces, delivery) = Traces::to(endpoint, settings.tracing.sampled_percent)
        .map_err(|error| format!("`tracing.otlp_endpoint` ({endpoint}): {error}"))?;
    Ok((traces, Some(delivery)))
}

fn actor_threads(settings: &Settings) -> usize {
    match settings.matching.actor_threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

async fn stopped(mut stopping: watch::Receiver<bool>) {
    // A sender that is gone means the same.
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// Without a service manager there is nobody to notify.
fn notify(states: &[sd_notify::NotifyState]) {
    let _ = sd_notify::notify(states);
}

fn fatal(message: Fatal) -> ExitCode {
    error!("{message}");
    ExitCode::FAILURE
}

/// The signals that a daemon listens to.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

/// What a signal says.
#[derive(PartialEq, Eq)]
enum Told {
    Stop,
    Reload,
}

impl Signals {
    fn listen() -> Result<Self, Fatal> {
        let listen = |kind| signal(kind).map_err(|error| format!("signals cannot be received: {error}"));
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.terminate.recv() => Told::Stop,
            _ = self.interrupt.recv() => Told::Stop,
            _ = self.hang_up.recv() => Told::Reload,
        }
    }

    async fn stop_again(&mut self) {
        while self.next().await != Told::Stop {}
    }
}
