//! Reloading: swaps the partner files and the reloadable settings as one, after everything that can fail.

use std::fmt::Display;

use sd_notify::NotifyState;

use super::load::{Loaded, load_with, note_certificates, placed, without_token};
use super::notify;
use super::prelude::*;
use offerd_admin::reload_report::{BookFigures, ReloadOutcome, Report};
use offerd_base::config::SettingChange;
use offerd_base::declaration::FileEdit;
use offerd_base::telemetry::logging::Filter;
use offerd_base::telemetry::metrics::{BOOK_FINGERPRINT, RELOAD_REFUSED, RELOADED_AT, RELOADS};
use offerd_engine::matching::{Configuration, cap_sharing};
use offerd_http::tls_identities::Renewals;
use offerd_outbound::postbacks;
use offerd_partners::diff::BookDiff;
use offerd_store::tokens::Tokens;
use offerd_web::CorsVendorPolicy;

/// The configuration of a running daemon, with the handles through which a reload swaps it.
pub struct Reloading {
    /// The settings file, if there is one.
    pub config: Option<PathBuf>,
    /// The settings in force.
    pub settings: Settings,
    /// The same settings, for code that shows them.
    pub in_force: watch::Sender<Arc<Settings>>,
    /// The event subscriptions for postbacks.
    pub subscriptions: watch::Sender<Arc<Subscriptions>>,
    /// Matches leads with a book and rules.
    pub engine: Arc<MatchingEngine>,
    /// The vendor and CORS policy of the public listeners.
    pub policy: watch::Sender<Arc<CorsVendorPolicy>>,
    /// The reference list of cars.
    pub vehicles: watch::Sender<Arc<Vehicles>>,
    /// The TLS identities of the listeners.
    pub tls: TlsIdentities,
    /// The filter of the log.
    pub filter: Filter,
}

/// Everything that a reload has read and checked.
struct ReloadRead {
    settings: Settings,
    book: Book,
    subscriptions: Subscriptions,
    experiments: Experiments,
    vehicles: Vehicles,
    clients: PartnerClients,
    renewals: Renewals,
    report: Report,
}

impl Reloading {
    /// Reads everything again and swaps it. Reports to the service manager, the log and the metrics.
    pub async fn reload(&mut self) -> ReloadOutcome {
        let began = [Some(NotifyState::Reloading), NotifyState::monotonic_usec_now().ok()];
        notify(&began.into_iter().flatten().collect::<Vec<_>>());
        let reloaded = self.swap().await.map(|report| ReloadOutcome::Reloaded(Box::new(report)));
        let outcome = reloaded.unwrap_or_else(|refusal| refusal);
        tell(&outcome);
        counter!(RELOADS, "result" => outcome.word()).increment(1);
        match outcome {
            // Noted before the alerts were judged again.
            ReloadOutcome::Reloaded(_) => {}
            ReloadOutcome::Refused { .. } | ReloadOutcome::Failed { .. } => gauge!(RELOAD_REFUSED).set(1.0),
        }
        notify(&[NotifyState::Ready]);
        outcome
    }

    /// The outcome that a reload with a changed file would have. Changes nothing.
    pub async fn try_with(&self, edit: FileEdit) -> ReloadOutcome {
        let read = self.read(Some(edit)).await;
        read.map_or_else(|refusal| refusal, |read| ReloadOutcome::Reloaded(Box::new(read.report)))
    }

    /// Reads and checks everything, with a changed file, if any.
    async fn read(&self, edit: Option<FileEdit>) -> Result<ReloadRead, ReloadOutcome> {
        let refused = |faults| ReloadOutcome::Refused { faults };
        let config = self.config.clone();
        let load = move || load_with(config.as_deref(), edit.as_ref());
        let read = off_thread("could not finish reading the files", load);
        let Loaded { settings: later, book, subscriptions, experiments, vehicles } =
            read.await?.map_err(refused)?;
        let (settings, settings_diff) = self.settings.reloaded(&later).map_err(refused)?;
        let tls = self.tls.clone();
        let read = off_thread("could not finish reading the certificates", move || tls.read_again());
        let renewals = read.await?.map_err(|found| refused(placed(&self.settings, found)))?;
        let old = self.engine.configuration();
        if let Some(fault) = empties(&old.book, &book, &later) {
            return Err(refused(vec![fault]));
        }
        let clients = old.clients.opened(&book).map_err(refused)?;
        let holders = Tokens::of(self.engine.records.store.clone()).holders();
        let report = Report {
            book: BookFigures::from(&book),
            partners: BookDiff::between(&old.book, &book),
            subscriptions: self.subscriptions.borrow().diff(&subscriptions),
            experiments: old.experiments.diff(&experiments),
            settings: settings_diff,
            remarks: [
                book.without_seats().map(str::to_owned).into_iter().collect(),
                book.remarks.iter().map(ToString::to_string).collect(),
                without_token(&later, &subscriptions, &experiments, &holders),
                self.engine.missing_lists(&book),
            ]
            .concat(),
        };
        Ok(ReloadRead { settings, book, subscriptions, experiments, vehicles, clients, renewals, report })
    }

    async fn swap(&mut self) -> Result<Report, ReloadOutcome> {
        let ReloadRead { settings, book, subscriptions, experiments, vehicles, clients, renewals, report } =
            self.read(None).await?;
        let kept = self.engine.records.templates.store(&book).await;
        kept.map_err(failed("could not store the partner templates"))?;
        let begun = postbacks::begin(&self.engine.records.store, &subscriptions).await;
        begun.map_err(failed("could not store the start position of postbacks"))?;

        let engine = Arc::clone(&self.engine);
        let counting = off_thread("could not count the asks", move || {
            engine.limiter.look_back(&engine.records, &book);
            book
        });
        let book = counting.await?;
        let shared = cap_sharing::share_out(&self.engine, &book).await;
        shared.map_err(failed("could not agree with the other nodes on this node's share of the caps"))?;

        self.apply(settings, (book, experiments), clients, renewals, (vehicles, subscriptions));
        Ok(report)
    }

    /// Swaps everything that a reload replaces. Cannot fail.
    fn apply(
        &mut self,
        settings: Settings,
        (book, experiments): (Book, Experiments),
        clients: PartnerClients,
        renewals: Renewals,
        (vehicles, subscriptions): (Vehicles, Subscriptions),
    ) {
        let rules = (&settings).into();
        clients.set_rules(settings.wire);
        let ids = &self.engine.records.templates.ids;
        self.engine.configure(Configuration::new(Arc::new(book), clients, rules, experiments, ids));
        if let Some(rankings) = &self.engine.rankings {
            rankings.change(settings.ranking.clone());
        }
        self.policy.send_replace(offerd_http::cors_policy(&settings.api));
        renewals.into_iter().for_each(|(_, renewal)| renewal.show());
        note_certificates(&self.tls);
        if let Err(cause) = self.filter.set(&settings.log.filter, settings.log.access) {
            // Fails only in a process without a log.
            warn!(cause, "the log filter is unchanged");
        }
        note_book(&self.engine.book());
        // Wakes those who judge the alerts, so the metrics are set before.
        self.in_force.send_replace(Arc::new(settings.clone()));
        self.settings = settings;
        self.vehicles.send_replace(Arc::new(vehicles));
        self.subscriptions.send_replace(Arc::new(subscriptions));
    }
}

async fn off_thread<T: Send + 'static>(
    cut: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ReloadOutcome> {
    tokio::task::spawn_blocking(work).await.map_err(|_| ReloadOutcome::Failed { cause: cut.to_owned() })
}

fn failed<E: Display>(what: &'static str) -> impl FnOnce(E) -> ReloadOutcome {
    move |failure| ReloadOutcome::Failed { cause: format!("{what}: {failure}") }
}

fn empties(old: &Book, new: &Book, settings: &Settings) -> Option<Fault> {
    let before = old.partners().len();
    (before > 0 && new.seats().is_empty()).then(|| {
        let message = format!(
            "has no partner file, and a reload never removes all {before} partners: put the files back, or restart to run without partners"
        );
        settings.fault("partners.path", message)
    })
}

/// Exports the book in force, and that it matches the files.
pub fn note_book(book: &Book) {
    gauge!(RELOAD_REFUSED).set(0.0);
    gauge!(BOOK_FINGERPRINT).set(book.fingerprint.figure() as f64);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    gauge!(RELOADED_AT).set(now.as_secs_f64());
}

/// Logs the outcome: one line, and one for each fault and each setting that waits for a restart.
fn tell(outcome: &ReloadOutcome) {
    match outcome {
        ReloadOutcome::Reloaded(report) => {
            let Report { book, partners, subscriptions, experiments, settings, remarks } = &**report;
            remarks.iter().for_each(|remark| warn!("{remark}"));
            for SettingChange { key, before, after, source } in &settings.waiting_for_restart {
                warn!(
                    key,
                    running = before,
                    set = after,
                    source,
                    "a changed setting takes effect at the next restart"
                );
            }
            info!(
                partners = book.partners,
                offers = book.offers,
                fingerprint = book.fingerprint,
                added = partners.added.len(),
                removed = partners.removed.len(),
                changed = partners.changed.len(),
                subscriptions_added = subscriptions.added.len(),
                subscriptions_removed = subscriptions.removed.len(),
                subscriptions_changed = subscriptions.changed.len(),
                experiments_added = experiments.added.len(),
                experiments_removed = experiments.removed.len(),
                experiments_changed = experiments.changed.len(),
                settings_changed = settings.changed.len(),
                waiting_for_restart = settings.waiting_for_restart.len(),
                "settings and partners reloaded"
            );
        }
        ReloadOutcome::Refused { faults } => {
            for fault in faults {
                warn!(%fault, "fault in the settings or a partner file");
            }
            error!(
                faults = faults.len(),
                "settings and partners not reloaded; still running the previous ones"
            );
        }
        ReloadOutcome::Failed { cause } => {
            error!(cause, "settings and partners not reloaded; still running the previous ones");
        }
    }
}
