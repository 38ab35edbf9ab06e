//! The admin listener, on its own thread and runtime, so that it answers when everything else is stuck.
//!
//! - `GET /` lists the paths
//! - `GET /livez` answers while the process runs
//! - `GET /readyz` answers 200 while leads are accepted, with known problems, else 503 with the reason
//! - `GET /metrics` in the Prometheus text format
//! - `GET /console` and the paths below it are for browsers, with a sign-in
//! - The other paths of `ROUTES` are for the command line, authorised by the key of the run file, wherever
//!   the request comes from: a loopback address proves nothing, since any user of the machine has one.

pub mod alerts;
pub mod audit;
pub mod backup;
mod command;
mod consents;
pub mod console;
pub mod erasing;
pub mod experiments;
mod last_store_check;
pub mod leads;
pub mod master_key;
mod nodes;
pub mod partner_events;
pub mod partners;
pub mod password;
mod password_hash;
pub mod persons;
pub mod postbacks;
mod prelude;
mod ranking;
mod readiness;
mod reasons;
mod reload;
pub mod reload_report;
pub mod replay;
pub mod reports;
mod stopped;
pub mod store;
pub mod suppressions;
pub mod tokens;
pub mod transcripts;
pub mod users;

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, StatusCode};
use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;
use tracing::error;

pub use command::TargetExists;
pub use readiness::ReadinessState;
pub use stopped::StoppedAdmin;

use self::command::{Context, DetachedTasks, Result};
use self::console::{Console, SessionRules};
use self::last_store_check::LastStoreCheck;
use self::password::Passwords;
use self::tokens::AllTokens;
use crate::reload_report::{Reloader, channel as reload_requests};
use offerd_base::config::Settings;
use offerd_base::run_file::RunFile;
use offerd_base::telemetry::figures::MetricsSnapshot;
use offerd_base::telemetry::process;
use offerd_base::telemetry::recorder::MetricsRecorder;
use offerd_base::telemetry::tail::LogTail;
use offerd_engine::matching::MatchingEngine;
use offerd_insight::reports::Reports;
use offerd_model::InDoubt;
use offerd_outbound::alerts::AlertBoard;
use offerd_outbound::postbacks::Subscriptions;
use offerd_store::audit::AuditLog;
use offerd_store::users::Users;
use offerd_store::{Store, Topic};
use offerd_web::{
    AccessToken, AnswerMeter, Authenticate, Caller, Cors, CorsVendorPolicy, Gate, Handler, Listener,
    Principal, Reply, Route, Router, Surface, WrongListenerHint, routes, service,
};

/// State of the admin routes. `new` builds it for a store at rest; `running` adds the parts of a daemon.
pub struct AdminState {
    /// Whether leads are taken.
    pub readiness: Arc<ReadinessState>,
    metrics: MetricsRecorder,
    tokens: AllTokens,
    audit: AuditLog,
    store: Store,
    /// Created on first use: not every command on a stopped daemon's store needs it.
    engine: LazyValue<Arc<MatchingEngine>>,
    /// Created on first use; `None` when the counts cannot be read.
    reports: LazyValue<Option<Reports>>,
    reloader: Reloader,
    replays: Arc<Semaphore>,
    /// Addresses of the other listeners, and the key that authorises commands.
    run_file: RunFile,
    index: String,
    /// The current settings; follows reloads.
    settings: watch::Receiver<Arc<Settings>>,
    subscriptions: watch::Receiver<Arc<Subscriptions>>,
    alerts: AlertBoard,
    tail: LogTail,
    last_store_check: LastStoreCheck,
    /// Work that runs to its end even when its caller leaves.
    detached: DetachedTasks,
    console: Console,
    /// Whether long work pauses now and then, because leads are accepted meanwhile.
    yields_to_leads: bool,
    wrong_listener_hint: Arc<WrongListenerHint>,
}

type LazyValue<T> = LazyLock<T, Box<dyn FnOnce() -> T + Send>>;

impl AdminState {
    /// The admin routes of a store. `engine` and `reports` are called on first use.
    pub fn new(
        store: Store,
        settings: watch::Receiver<Arc<Settings>>,
        run_file: RunFile,
        passwords: Passwords,
        engine: impl FnOnce() -> Arc<MatchingEngine> + Send + 'static,
        reports: impl FnOnce() -> Option<Reports> + Send + 'static,
    ) -> Self {
        let in_force = Arc::clone(&settings.borrow());
        Self {
            readiness: Arc::new(ReadinessState::new(
                store.clone(),
                settings.clone(),
                settings_file(&run_file),
            )),
            metrics: MetricsRecorder::default(),
            tokens: AllTokens::of(store.clone()),
            audit: AuditLog::of(store.clone()),
            engine: LazyLock::new(Box::new(engine)),
            reports: LazyLock::new(Box::new(reports)),
            // Requests to this reloader are never received: the next command reads the files anew.
            reloader: reload_requests().0,
            replays: Arc::new(Semaphore::new(1)),
            index: index_page(&run_file),
            run_file,
            settings,
            subscriptions: watch::channel(Arc::new(Subscriptions::none(&in_force.postbacks))).1,
            alerts: AlertBoard::of(&store),
            tail: LogTail::default(),
            last_store_check: LastStoreCheck::default(),
            detached: DetachedTasks::default(),
            console: Console::new(SessionRules::of(&in_force, passwords)),
            yields_to_leads: false,
            wrong_listener_hint: Arc::default(),
            store,
        }
    }

    /// Adds the parts of a running daemon.
    pub fn running(
        self,
        metrics: MetricsRecorder,
        reloader: Reloader,
        subscriptions: watch::Receiver<Arc<Subscriptions>>,
        alerts: AlertBoard,
        tail: LogTail,
        wrong_listener_hint: Arc<WrongListenerHint>,
    ) -> Self {
        Self {
            metrics,
            reloader,
            subscriptions,
            alerts,
            tail,
            wrong_listener_hint,
            yields_to_leads: true,
            ..self
        }
    }

    /// This daemon's name in documents for third parties: its version and public address.
    fn named(&self) -> String {
        let address = self.settings().api.base_url.clone().unwrap_or_else(|| self.run_file.api.clone());
        match address.is_empty() {
            true => format!("offerd {}, on a store at rest", env!("CARGO_PKG_VERSION")),
            false => format!("offerd {} at {address}", env!("CARGO_PKG_VERSION")),
        }
    }

    pub(crate) fn ready(&self) -> Result<(), String> {
        self.readiness.ready(&self.engine)
    }

    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.borrow())
    }

    fn subscriptions(&self) -> Arc<Subscriptions> {
        Arc::clone(&self.subscriptions.borrow())
    }

    fn measured(&self) -> MetricsSnapshot {
        self.engine.measure();
        self.readiness.measure(&self.engine);
        offerd_insight::nodes::measure(&self.store);
        self.metrics.snapshot()
    }
}

const ROUTES: &[AdminRoute] = routes! {
    GET "/" None All [index] "Lists the paths of this listener.";
    GET "/livez" None All [live] "Answers while the process runs.";
    GET "/readyz" None All [ready] "Answers 200 while leads are taken.";
    GET "/metrics" None All [show_metrics] "Every metric, for Prometheus.";
    GET "/tokens" Confidential All [tokens::list] "Lists tokens.";
    POST "/tokens" Confidential All [tokens::create] "Makes a token.";
    POST "/partnerEvents" Confidential All [partner_events::import] "Imports partner reports.";
    GET "/partnerEvents/flagged" Confidential All [partner_events::flagged]
        "Lists partner reports that book nothing where a payout was to be expected, or look wrong.";
    POST "/partnerEvents/judgement" Confidential All [partner_events::judge]
        "Confirms or reverses a partner report.";
    GET "/leads/{uuid}/explanation" Confidential All [leads::explain]
        "Explains the offers of a lead.";
    GET "/rateTables/{uuid}/transcript" Confidential All [transcripts::redacted]
        "Shows requests to partners and their answers, with personal data masked.";
    POST "/rateTables/{uuid}/transcript" Confidential All [transcripts::reveal]
        "Shows them unmasked, and records the reason.";
    GET "/users" Confidential All [users::list] "Lists the users of the console.";
    POST "/users" Confidential All [users::create] "Adds a user.";
    POST "/users/{name}" Confidential All [users::update] "Changes role, password or standing of a user.";
    DELETE "/users/{name}" Confidential All [users::delete] "Removes a user.";
    POST "/users/{name}/invitation" Confidential All [users::invite] "Makes a link for a user.";
    GET "/audit" Confidential All [audit::list] "Lists the records of the audit.";
    GET "/audit/verdict" Confidential All [audit::verdict] "Walks the chain of the audit.";
    GET "/partners" Confidential All [partners::list] "Lists partners with their state and counts.";
    GET "/partners/timing" Confidential All [partners::timing] "Reports the response times of partners.";
    POST "/partners/pause" Confidential All [partners::pause] "Pauses a partner.";
    POST "/partners/resume" Confidential All [partners::resume] "Ends a pause.";
    POST "/partners/probe" Confidential All [partners::probe] "Lets the next calls through an open breaker.";
    GET "/suppressions" Confidential All [suppressions::list] "Lists suppression lists.";
    POST "/suppressions" Confidential All [suppressions::add] "Adds to a suppression list.";
    POST "/suppressions/naming" Confidential All [suppressions::naming]
        "Lists the suppression lists that name a lead.";
    POST "/suppressions/confirm" Confidential All [suppressions::confirm]
        "Confirms the suppression lists after a salvage or restore.";
    DELETE "/suppressions/{name}" Confidential All [suppressions::remove] "Removes a suppression list.";
    GET "/experiments" Confidential All [experiments::list] "Lists experiments with their state.";
    GET "/experiments/{rule}" Confidential All [experiments::compare]
        "Compares the variants of an experiment.";
    GET "/alerts" Confidential All [alerts::list] "Lists firing alerts and the receivers.";
    POST "/alerts/test" Confidential All [alerts::test] "Sends a test alert to the receivers.";
    GET "/postbacks" Confidential All [postbacks::list] "Lists subscriptions of postbacks with their state.";
    GET "/postbacks/{name}/dead" Confidential All [postbacks::dead] "Lists dead letters.";
    POST "/postbacks/{name}/retry" Confidential All [postbacks::retry] "Sends dead letters again.";
    POST "/postbacks/{name}/test" Confidential All [postbacks::test] "Sends a test event.";
    GET "/leads/{uuid}" Confidential All [leads::export] "Exports everything held on a person.";
    DELETE "/leads/{uuid}" Confidential All [leads::erase] "Erases a person.";
    POST "/persons/find" Confidential All [persons::find] "Finds the leads of a person.";
    POST "/persons/export" Confidential All [persons::export] "Exports everything held on a person.";
    POST "/persons/erase" Confidential All [erasing::erase] "Erases all leads of a person.";
    POST "/persons/suppress" Confidential All [persons::suppress] "Opts a person out.";
    POST "/persons/unsuppress" Confidential All [persons::unsuppress] "Ends an opt-out.";
    GET "/consents" Confidential All [consents::list] "Lists consents.";
    GET "/masterKey" Confidential All [master_key::sealed_with] "Names the master key of the store.";
    POST "/masterKey" Confidential All [master_key::rotate] "Seals the keys with another master key.";
    POST "/reload" Confidential All [reload::reload] "Reloads settings and partner files.";
    POST "/replay" Confidential All [replay::replay] "Replays stored leads against other partner files.";
    GET "/nodes" Confidential All [nodes::list] "Lists the nodes that share the store.";
    GET "/ranking" Confidential All [ranking::ranking] "Reports the conversion learnt from clicks.";
    GET "/report" Confidential All [reports::report] "Reports what happened to leads.";
    POST "/report/reconciliation" Confidential All [reports::reconcile]
        "Holds a partner's statement against what is booked.";
    POST "/report/rebuild" Confidential All [reports::rebuild] "Recounts reports from the stored records.";
    POST "/store/check" Confidential All [store::check] "Reads every record.";
    GET "/backup" Confidential All [backup::backup] "Backs the store up as one sealed file.";
    DELETE "/tokens/{id}" Confidential All [tokens::revoke] "Revokes a token.";
};

/// Every path with its method, including the console's.
pub fn paths() -> impl Iterator<Item = (Method, &'static str)> {
    all_routes().map(|route| (route.method.clone(), route.path))
}

fn all_routes() -> impl Iterator<Item = &'static AdminRoute> {
    ROUTES.iter().chain(console::ROUTES.iter().map(|row| &row.route))
}

type AdminRoute = Route<Handler<AdminState>>;

fn surface(app: Arc<AdminState>) -> Surface<AdminState> {
    let nobody = CorsVendorPolicy { cors: Cors::new(&[]), vendors: Vec::new() };
    Surface {
        meter: AnswerMeter::of("admin"),
        wrong_listener_hint: Arc::clone(&app.wrong_listener_hint),
        app,
        router: Router::new(&all_routes().cloned().collect::<Vec<_>>()),
        gate: Arc::new(Gate::open()),
        failure_page: |_, _, _, _| None,
        policy: watch::channel(Arc::new(nobody)).1,
    }
}

/// How long shutdown waits for reads in progress, such as an export.
const LAST_READS: Duration = Duration::from_secs(2);

/// The running admin listener.
pub struct Admin {
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

/// Serves the admin listener on its own thread.
pub fn start(listener: Listener, app: AdminState) -> Admin {
    let (stop, mut stopping) = watch::channel(false);
    let app = Arc::new(app);
    let surface = surface(Arc::clone(&app));
    let serve = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let served = runtime.and_then(|runtime| {
            runtime.spawn(console::history::watch(Arc::clone(&app)));
            runtime.spawn(follow_users(Arc::clone(&app)));
            runtime.spawn(nodes::tell(Arc::clone(&app)));
            let stopped = Arc::clone(&app);
            let served = runtime.block_on(listener.serve(service(surface), async move {
                // A dropped sender also means stop.
                let _ = stopping.wait_for(|stop| *stop).await;
                stopped.console.stop.send_replace(true);
            }));
            runtime.block_on(app.detached.ended());
            runtime.shutdown_timeout(LAST_READS);
            served
        });
        if let Err(error) = served {
            error!(%error, "the admin listener ended");
        }
    };
    Admin { stop, thread: std::thread::spawn(serve) }
}

async fn follow_users(app: Arc<AdminState>) {
    let seen = app.store.changes_of(Topic::Users);
    if !app.store.is_shared() {
        return;
    }
    let read_users = async || {
        let app = Arc::clone(&app);
        let read = move || app.console.take_in_users(&Users::of(app.store.clone()));
        match spawn_blocking(read).await {
            Ok(read) => read.map_err(|failure| failure.to_string()),
            Err(panic) => Err(panic.to_string()),
        }
    };
    app.store.follow(Topic::Users, seen, read_users).await;
}

impl Admin {
    /// Stops the server and joins its thread.
    pub fn stop(self) {
        self.stop.send_replace(true);
        if self.thread.join().is_err() {
            error!("the admin listener's thread panicked");
        }
    }
}

impl Authenticate for AdminState {
    /// Compares the key by digest, so that the timing reveals nothing of it.
    fn principal(&self, token: &AccessToken) -> Result<Option<Principal>, InDoubt> {
        use sha2::{Digest, Sha256};
        let same = Sha256::digest(token.as_str()) == Sha256::digest(&self.run_file.admin_key);
        let operator = || Caller {
            company: uuid::Uuid::nil(),
            company_name: "operator".into(),
            kind: offerd_model::TokenKind::Confidential,
            test: false,
            lenient: false,
            duplicate_look_back_minutes: None,
        };
        Ok(same.then(|| Principal::Company(operator())))
    }
}

fn settings_file(run_file: &RunFile) -> Option<PathBuf> {
    run_file.settings_files.as_ref()?.first().cloned()
}

fn index_page(run_file: &RunFile) -> String {
    let RunFile { api, integrations, .. } = run_file;
    let longest = ROUTES.iter().map(|route| route.path.len()).max().unwrap_or_default() + 2;
    let rows = ROUTES
        .iter()
        .map(|route| format!("{:<7}{:<longest$}{}\n", route.method.as_str(), route.path, route.about));
    format!(
        "offerd {}\n\napi            {api}\nintegrations   {integrations}\nconsole        {}/console\n\n{}",
        env!("CARGO_PKG_VERSION"),
        run_file.admin,
        rows.collect::<String>()
    )
}

async fn index(context: Context) -> Result<Reply> {
    Ok(Reply::bytes("text/plain; charset=utf-8", context.app.index.clone()))
}

async fn live(_: Context) -> Result<Reply> {
    Ok(Reply::bytes("text/plain; charset=utf-8", "live\n"))
}

async fn ready(context: Context) -> Result<Reply> {
    match context.app.ready() {
        Ok(()) => {
            let readiness = &context.app.readiness;
            let remarks =
                [readiness.clock_remark(), readiness.key_fault(), context.app.engine.suppressions.remark()];
            let remarks: String = remarks.into_iter().flatten().map(|remark| remark + "\n").collect();
            let degraded = context.app.readiness.degraded();
            let told = degraded.map_or("ready\n".to_owned(), |why| format!("ready, degraded: {why}\n"));
            Ok(Reply::bytes("text/plain; charset=utf-8", told + &remarks))
        }
        Err(reason) => {
            let reply = Reply::bytes("text/plain; charset=utf-8", format!("{reason}\n"));
            Ok(reply.status(StatusCode::SERVICE_UNAVAILABLE))
        }
    }
}

async fn show_metrics(context: Context) -> Result<Reply> {
    process::measure();
    let text = context.app.measured().text();
    let version = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(Reply::bytes("text/plain", text).header(CONTENT_TYPE, version))
}
