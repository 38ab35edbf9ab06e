//! The daemon from start to drain.

use uuid::Uuid;

use super::bound::BoundListeners;
use super::following;
use super::guard::{DaemonStage, GuardHandle};
use super::load::{note_certificates, without_token};
use super::prelude::*;
use super::reload::{Reloading, note_book};
use super::signals::{SignalRequest, Signals};
use super::threads::LeadThreads;
use super::{DaemonTelemetry, Loaded, notify, retention, service_watchdog};
use crate::bootstrap::{self, FirstSignIn};
use offerd_admin::console::{links, secret};
use offerd_admin::password::{PasswordDigest, Passwords};
use offerd_admin::reload_report::{ReloadRequest, Requests, channel as reload_requests};
use offerd_admin::{Admin, ReadinessState, erasing};
use offerd_base::run_file::{OwnRunFile, RunFile};
use offerd_base::telemetry::logging::AUDIT;
use offerd_base::telemetry::recorder::MetricsRecorder;
use offerd_base::telemetry::traces::{SpanExportTask, Traces};
use offerd_engine::conversions::sandbox_reports;
use offerd_engine::matching::callbacks::Callbacks;
use offerd_engine::matching::complete_tables::CompleteTables;
use offerd_engine::matching::limiter::SeatStatus;
use offerd_engine::matching::suppressions::Suppressions;
use offerd_engine::matching::{Configuration, Matchmaker, cap_sharing, recovery, shown_posts};
use offerd_engine::ranking::{RankingLearner, Rankings};
use offerd_engine::records::Records;
use offerd_engine::records::projection;
use offerd_http::{ApiState, routes};
use offerd_insight::persons::index::ContactIndex;
use offerd_insight::reports::Reports;
use offerd_model::BaseUrl;
use offerd_outbound::alerts::{self, AlertBoard};
use offerd_outbound::outbox::Worker;
use offerd_outbound::postbacks::{self, PostbackKeeper};
use offerd_store::audit::{AuditEntry, AuditLog};
use offerd_store::suppression_key_file;
use offerd_store::tokens::Tokens;
use offerd_web::{CorsVendorPolicy, Drained, Listener, WrongListenerHint};

const GIVING_BACK: Duration = Duration::from_secs(5);

pub(super) struct Started {
    store: Store,
    threads: LeadThreads,
    matchmaker: Matchmaker,
    readiness: Arc<ReadinessState>,
    run_file: OwnRunFile,
    admin: Admin,
    public: Public,
    /// Background tasks, until the store closes.
    background_tasks: Vec<JoinHandle<()>>,
    workers: [Worker; 2],
    reloading: Reloading,
    reloads: Requests,
    delivery: Option<SpanExportTask>,
    reports: Reports,
}

struct Public {
    serving: [JoinHandle<std::io::Result<Drained>>; 2],
    stop: watch::Sender<bool>,
}

impl Started {
    /// Starts everything in order and resumes pending work; once this returns the daemon is ready.
    pub(super) async fn from(
        config: Option<PathBuf>,
        Loaded { settings, book, subscriptions, experiments, vehicles }: Loaded,
        bound: BoundListeners,
        records: Records,
        (filter, metrics): DaemonTelemetry,
    ) -> Result<Self, Fatal> {
        let BoundListeners { api, integrations, admin, tls } = bound;
        let (store, topics) = (records.store.clone(), following::topic_counters(&records.store));
        let (tokens, threads) = (Tokens::of(store.clone()), LeadThreads::start(settings.engine.threads));
        let run_file = run_file(config.as_ref(), [&api, &integrations, &admin]);
        let (traces, delivery) = traces(&settings)?;
        let mut engine = build_engine(records, (book, experiments), &settings, [&api, &integrations])?;
        engine.traces = traces;
        let matchmaker = Matchmaker::new(engine, threads.arbiters());
        let engine = resume_pending(&matchmaker).await;
        let (reports, own_file) = (open_reports(&engine, &settings)?, write_run_file(&run_file, &settings)?);
        let (reloader, reloads) = reload_requests();
        let (in_force, settings_in_force) = watch::channel(Arc::new(settings.clone()));
        let (subscriptions, subscribed) = start_subscriptions(&store, subscriptions).await?;
        let (passwords, made) = passwords(&settings)?;
        let (matching, counted) = (Arc::clone(&engine), Some(reports.clone()));
        let admin_state = offerd_admin::AdminState::new(
            store.clone(),
            settings_in_force.clone(),
            run_file.clone(),
            passwords,
            move || matching,
            move || counted,
        );
        let readiness = Arc::clone(&admin_state.readiness);
        let (board, alerts) = keep_alerts(&engine, &settings_in_force, &metrics, (&tls, &readiness))?;
        let (hint, tail) = (wrong_listener_hint(), filter.tail());
        let admin_state = admin_state.running(metrics, reloader, subscribed.clone(), board, tail, hint);
        let sign_in = made.map(|secret| FirstSignIn { secret, link: links::first_link(&admin_state) });
        let admin = offerd_admin::start(admin, admin_state);

        let policy = watch::Sender::new(offerd_http::cors_policy(&settings.api));
        let (vehicles, app) = public_app(vehicles, &matchmaker, &tokens, &settings, &run_file);
        let mut background_tasks = spawn_background(&settings, &matchmaker, &app, &reports);
        background_tasks.extend(following::follow(&engine, topics));
        background_tasks.push(tokio::spawn(following::master_key(Arc::clone(&readiness))));
        let postbacks = PostbackKeeper::start(store.clone(), subscribed, queueing(&app))?;
        let public = Public::serve([api, integrations], &threads, app, &policy);
        welcome(&settings, (&store, &tokens), &run_file, sign_in).await?;
        // The first tokens are there now.
        let (experiments, holders) = (&engine.configuration().experiments, tokens.holders());
        let remarks = without_token(&settings, &subscriptions.borrow(), experiments, &holders);
        remarks.iter().for_each(|remark| warn!("{remark}"));

        tell_ready(&readiness, &store, &run_file);
        let reloading =
            Reloading { config, settings, in_force, subscriptions, engine, policy, vehicles, tls, filter };
        Ok(Self {
            store,
            threads,
            matchmaker,
            readiness,
            run_file: own_file,
            admin,
            public,
            background_tasks,
            workers: [postbacks, alerts],
            reloading,
            reloads,
            delivery,
            reports,
        })
    }

    /// Serves, and reloads on request, until a signal stops it or the store has failed for good, in which
    /// case it returns the reason.
    pub(super) async fn serve(&mut self, signals: &mut Signals, guard: &GuardHandle) -> Option<String> {
        guard.at(DaemonStage::Serving);
        loop {
            tokio::select! {
                request = signals.next() => match request {
                    SignalRequest::Reload => {
                        info!(target: AUDIT, who = "SIGHUP", action = "reload", "reload requested");
                        note_signal(&self.store, "reload", None).await;
                        let outcome = self.reloading.reload().await.summary();
                        note_signal(&self.store, "reload.outcome", Some(outcome)).await;
                    }
                    SignalRequest::Stop => return None,
                },
                reason = self.store.until_lost() => {
                    error!(reason, "the store failed permanently: exiting; the next start continues with what is on disk");
                    return Some(reason);
                }
                // Fails if the requester has hung up.
                Some(ReloadRequest { tried, answer }) = self.reloads.recv() => drop(answer.send(match tried {
                    Some(edit) => self.reloading.try_with(edit).await,
                    None => self.reloading.reload().await,
                })),
            }
        }
    }

    /// Reports not ready for a while, answers requests in flight, releases every table, and closes the store.
    pub(super) async fn drain(
        self,
        lost: Option<String>,
        announce: Duration,
        signals: &mut Signals,
        guard: &GuardHandle,
    ) -> Result<ExitCode, Fatal> {
        drop(self.reloads);
        info!("stopping");
        guard.at(DaemonStage::Answering);
        notify(&[sd_notify::NotifyState::Stopping]);
        self.readiness.set_ready(false);
        self.store.stop_being_candidate();
        let drained = async {
            tokio::time::sleep(announce).await;
            let cut = self.public.drain().await;
            guard.at(DaemonStage::Leaving);
            self.matchmaker.stop_all().await;
            cut
        };
        let ending = tokio::select! {
            cut = drained => if cut { ExitCode::FAILURE } else { ExitCode::SUCCESS },
            () = signals.stop_again() => {
                // Ends at once; the store is consistent at any moment.
                self.run_file.remove();
                std::process::exit(1);
            }
        };

        guard.at(DaemonStage::Stopping);
        if let Some(delivery) = self.delivery {
            delivery.finish().await;
        }
        self.run_file.remove();
        self.background_tasks.iter().for_each(JoinHandle::abort);
        give_caps_back(self.matchmaker.engine()).await;
        self.workers.into_iter().for_each(Worker::stop);
        self.matchmaker.engine().statistics.failures.flush();
        self.admin.stop();
        guard.at(DaemonStage::Closing);
        if let Err(failure) = self.reports.write().await {
            warn!(%failure, "could not save the report counts; the next start recounts what is missing");
        }
        let closed = self.store.close().map_err(|error| error.to_string());
        self.threads.end();
        info!("stopped");
        match lost {
            Some(reason) => Err(format!("ended because the store failed permanently: {reason}")),
            None => closed.map(|()| ending),
        }
    }
}

/// Reserves grants of capped seats and resumes pending work, before any new lead.
async fn resume_pending(matchmaker: &Matchmaker) -> Arc<MatchingEngine> {
    let engine = Arc::clone(matchmaker.engine());
    note_book(&engine.book());
    if let Err(failure) = cap_sharing::share_out(&engine, &engine.book()).await {
        warn!(%failure, "this node has no share of the partners' caps yet and does not ask those with caps until it has; will retry");
    }
    recovery::recover(matchmaker).await;
    engine
}

impl Public {
    fn serve(
        listeners: [Listener; 2],
        threads: &LeadThreads,
        app: Arc<ApiState>,
        policy: &watch::Sender<Arc<CorsVendorPolicy>>,
    ) -> Self {
        let spread = threads.for_connections();
        let [api, integrations] = listeners.map(|listener| listener.on(spread.clone()));
        let (stop, stopping) = watch::channel(false);
        let public = [(api, routes::API), (integrations, routes::INTEGRATIONS)];
        let serving = public.map(|(listener, routes)| {
            let mut stopping = stopping.clone();
            // A dropped sender means stop, too.
            let stopped = async move { drop(stopping.wait_for(|stop| *stop).await) };
            let (app, policy) = (Arc::clone(&app), policy.subscribe());
            tokio::spawn(offerd_http::serve(listener, routes, app, policy, stopped))
        });
        Self { serving, stop }
    }

    async fn drain(self) -> bool {
        self.stop.send_replace(true);
        let [api, integrations] = self.serving;
        let ended = [api.await, integrations.await];
        ended.into_iter().any(|ended| !matches!(ended, Ok(Ok(drained)) if drained.cut == 0))
    }
}

fn public_app(
    vehicles: Vehicles,
    matchmaker: &Matchmaker,
    tokens: &Tokens,
    settings: &Settings,
    run_file: &RunFile,
) -> (watch::Sender<Arc<Vehicles>>, Arc<ApiState>) {
    let (vehicles, vehicles_in_force) = watch::channel(Arc::new(vehicles));
    let url = &run_file.integrations;
    let app = ApiState::new(
        matchmaker.clone(),
        tokens.clone(),
        settings,
        url,
        vehicles_in_force,
        wrong_listener_hint(),
    );
    (vehicles, Arc::new(app))
}

fn wrong_listener_hint() -> Arc<WrongListenerHint> {
    let public = |routes: &[routes::ApiRoute]| routes.iter().map(|route| route.path).collect();
    let listeners = [
        ("api", public(routes::API)),
        ("integrations", public(routes::INTEGRATIONS)),
        ("admin", offerd_admin::paths().map(|(_, path)| path).collect()),
    ];
    Arc::new(WrongListenerHint::new(listeners))
}

fn open_reports(engine: &MatchingEngine, settings: &Settings) -> Result<Reports, Fatal> {
    Reports::of(engine.records.clone(), settings.reports.clone()).map_err(|error| error.to_string())
}

fn spawn_background(
    settings: &Settings,
    maker: &Matchmaker,
    app: &ApiState,
    reports: &Reports,
) -> Vec<JoinHandle<()>> {
    let engine = || Arc::clone(maker.engine());
    let store = || engine().records.store.clone();
    let (matchmaker, prefills) = (maker.clone(), Arc::clone(&app.prefills));
    let (failures_of, unfinished_in) = (engine(), store());
    let rankings = engine().rankings.clone();
    let learning =
        rankings.map(|rankings| tokio::spawn(projection::run(RankingLearner::new(rankings), queueing(app))));
    let mut background_tasks = vec![
        tokio::spawn(async move { failures_of.statistics.failures.run().await }),
        tokio::spawn(shown_posts::run(engine())),
        tokio::spawn(sandbox_reports::run(engine())),
        tokio::spawn(cap_sharing::run(engine())),
        tokio::spawn(cap_sharing::follow_budgets(engine())),
        tokio::spawn(following::unlock_suppressions(engine())),
        tokio::spawn(async move { recovery::recover_continuously(&matchmaker).await }),
        tokio::spawn(retention::retain(engine(), settings.store.clone(), settings.audit)),
        tokio::spawn(async move { prefills.sweep().await }),
        spawn_blocking(move || tell_unfinished(&unfinished_in)),
        tokio::spawn(projection::run(ContactIndex(store()), queueing(app))),
        tokio::spawn(projection::run(reports.clone(), queueing(app))),
    ];
    background_tasks.extend(learning);
    background_tasks
}

/// Warns about erasures that an earlier daemon did not finish.
fn tell_unfinished(store: &Store) {
    match erasing::unfinished(store) {
        Ok(erasures) => erasures.iter().for_each(|erasure| warn!("{erasure}")),
        Err(failure) => error!(%failure, "could not look for unfinished erasures"),
    }
}

fn queueing(app: &ApiState) -> impl Fn() -> Duration + Send + Sync + use<> {
    let gate = Arc::clone(&app.gate);
    move || gate.queueing()
}

/// Returns unused cap reservations, once no more leads come.
async fn give_caps_back(engine: &MatchingEngine) {
    if tokio::time::timeout(GIVING_BACK, cap_sharing::give_back(engine)).await.is_err() {
        warn!(
            "could not return this node's share of the caps in time; other nodes count it from the rate tables"
        );
    }
}

/// Puts the subscriptions in force: new ones push events that arrive from now on.
async fn start_subscriptions(
    store: &Store,
    subscriptions: Subscriptions,
) -> Result<(watch::Sender<Arc<Subscriptions>>, watch::Receiver<Arc<Subscriptions>>), Fatal> {
    let begun = postbacks::begin(store, &subscriptions).await;
    begun.map_err(|failure| format!("could not store the start position of postbacks: {failure}"))?;
    Ok(watch::channel(Arc::new(subscriptions)))
}

fn keep_alerts(
    engine: &Arc<MatchingEngine>,
    settings: &watch::Receiver<Arc<Settings>>,
    metrics: &MetricsRecorder,
    (tls, readiness): (&TlsIdentities, &Arc<ReadinessState>),
) -> Result<(AlertBoard, Worker), Fatal> {
    note_certificates(tls);
    let (measured, readiness, metrics) = (Arc::clone(engine), Arc::clone(readiness), metrics.clone());
    let measure = move || {
        measured.measure();
        readiness.measure(&measured);
        metrics.snapshot()
    };
    let store = engine.records.store.clone();
    let board = AlertBoard::of(&store);
    let judging = Arc::clone(engine);
    let cause = move |partner: &str, product_type: &str| {
        let mut statuses = judging.statuses().into_iter();
        let is_it = |it: &SeatStatus| it.partner == partner && it.product_type.as_str() == product_type;
        let SeatStatus { health, breaker, .. } = statuses.find(is_it)?;
        let causes: Vec<String> = health.cause.into_iter().chain(breaker).collect();
        (!causes.is_empty()).then(|| causes.join("; breaker "))
    };
    let running = alerts::AlertKeeper::start(store, board.clone(), settings.clone(), measure, cause)?;
    Ok((board, running))
}

/// Creates first tokens for a new store.
async fn welcome(
    settings: &Settings,
    (store, tokens): (&Store, &Tokens),
    run_file: &RunFile,
    sign_in: Option<FirstSignIn>,
) -> Result<(), Fatal> {
    let is_bare = settings.tokens.bootstrap && tokens.companies().is_empty();
    if is_bare && store.is_base_damaged() {
        // Its companies may be lost, so it is no new store.
        error!("created no first tokens, since the store is damaged; create one with `offerd token create`");
    }
    if is_bare && !store.is_base_damaged() {
        let is_first_start = !tokens.has_any_company();
        match bootstrap::welcome(tokens, run_file, sign_in.as_ref()).await {
            Ok(true) => {}
            Ok(false) => {
                info!("another node has created and shown the first tokens");
                sign_in.iter().for_each(|sign_in| bootstrap::show_secret(run_file, sign_in));
            }
            Err(error) if is_first_start => return Err(format!("no first tokens: {error}")),
            // The records of companies are damaged; the rest of the daemon continues.
            Err(error) => {
                error!(%error, "created no first tokens; create one with `offerd token create`");
                sign_in.iter().for_each(|sign_in| bootstrap::show_secret(run_file, sign_in));
            }
        }
    } else if let Some(sign_in) = &sign_in {
        bootstrap::show_secret(run_file, sign_in);
    }
    Ok(())
}

/// Records a reload by signal in the audit, if possible: permission to send signals implies more.
async fn note_signal(store: &Store, action: &'static str, object: Option<String>) {
    let entry = AuditEntry { object, ..AuditEntry::of_machine("SIGHUP".to_owned(), "signal", action) };
    if let Err(failure) = AuditLog::of(store.clone()).commit(Commit::new(), entry).await {
        error!(%failure, "could not record a reload in the audit");
    }
}

/// Reports that the daemon is ready, and from here on feeds the service manager's watchdog, if enabled.
fn tell_ready(readiness: &ReadinessState, store: &Store, run_file: &RunFile) {
    readiness.set_ready(true);
    notify(&[sd_notify::NotifyState::Ready]);
    if let Some(within) = sd_notify::watchdog_enabled() {
        tokio::spawn(service_watchdog::watch(store.clone(), within, || {
            notify(&[sd_notify::NotifyState::Watchdog])
        }));
    }
    info!(api = run_file.api, integrations = run_file.integrations, admin = run_file.admin, "ready");
}

fn run_file(config: Option<&PathBuf>, [api, integrations, admin]: [&Listener; 3]) -> RunFile {
    // Absolute, for commands that run in another directory.
    let settings_file = config.map(|file| std::path::absolute(file).unwrap_or_else(|_| file.clone()));
    RunFile {
        api: api.url(),
        integrations: integrations.url(),
        admin: admin.url(),
        admin_key: format!("{}_{}", Uuid::new_v4(), Uuid::new_v4()),
        settings_files: Some(settings_file.into_iter().collect()),
    }
}

fn write_run_file(run_file: &RunFile, settings: &Settings) -> Result<OwnRunFile, Fatal> {
    run_file.write(&settings.store.path).map_err(|error| format!("could not write the run file: {error}"))
}

/// Builds the engine from these settings, with a client for every partner of the book. It uses the addresses
/// of the client and partner listeners, unless the settings name public base URLs.
fn build_engine(
    records: Records,
    (book, experiments): (Book, Experiments),
    settings: &Settings,
    [api, integrations]: [&Listener; 2],
) -> Result<MatchingEngine, Fatal> {
    let base_url = BaseUrl::from(settings.api.base_url.clone().unwrap_or_else(|| api.url()));
    let called_back_at = settings.integrations.base_url.clone().unwrap_or_else(|| integrations.url());
    let told = |faults: Vec<Fault>| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let clients = PartnerClients::new(settings.wire).opened(&book).map_err(told)?;
    let key_file = suppression_key_file(settings.store.suppression_key_file.as_deref(), &settings.store.path);
    let rankings = Rankings::of(records.clone(), settings.ranking.clone()).map_err(|why| why.to_string())?;
    let suppressions = Suppressions::of(&records.store, key_file);
    let ids = &records.templates.ids;
    let config = Configuration::new(Arc::new(book), clients, settings.into(), experiments, ids);
    let mut engine = MatchingEngine::new(records.store.clock(), records, config, base_url, suppressions);
    engine.missing_lists(&engine.book()).iter().for_each(|remark| warn!("{remark}"));
    engine.rankings = Some(rankings);
    engine.callbacks = Callbacks::at(&called_back_at);
    engine.complete = CompleteTables::with_capacity(settings.limits.shown_bytes);
    Ok(engine)
}

fn traces(settings: &Settings) -> Result<(Traces, Option<SpanExportTask>), Fatal> {
    let Some(endpoint) = &settings.tracing.otlp_endpoint else { return Ok(Default::default()) };
    let (traces, delivery) = Traces::to(endpoint, settings.tracing.sampled_percent)
        .map_err(|error| format!("`tracing.otlp_endpoint` ({endpoint}): {error}"))?;
    Ok((traces, Some(delivery)))
}

/// The console's passwords, and the secret itself if it was just made: by the first start of a sandbox that
/// has no password. Elsewhere standard output is a log that is kept, and `offerd console` prints a link.
fn passwords(settings: &Settings) -> Result<(Passwords, Option<String>), Fatal> {
    let store = &settings.store.path;
    let password = PasswordDigest::find(settings.console.password_file.as_deref())?;
    let known = secret::find(store);
    if known.is_some()
        || password.is_some()
        || !settings.tokens.bootstrap
        || !settings.console_asks_to_sign_in()
    {
        return Ok((Passwords { secret: known, password }, None));
    }
    let made = secret::make(store).map_err(|why| format!("could not write the console's secret: {why}"))?;
    Ok((Passwords { secret: Some(PasswordDigest::of_secret(&made.secret)), password }, Some(made.secret)))
}
