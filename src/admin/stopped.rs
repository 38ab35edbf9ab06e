//! The admin routes over a stopped daemon's store, in the process of the command, without a listener.

use bytes::Bytes;
use hyper::{Request, Response};
use tokio::sync::watch;

use super::password::Passwords;
use super::prelude::*;
use super::surface;
use offerd_base::config::Settings;
use offerd_base::run_file::RunFile;
use offerd_engine::experiments::ExperimentRules as Experiments;
use offerd_engine::matching::partner_clients::PartnerClients;
use offerd_engine::matching::suppressions::Suppressions;
use offerd_engine::matching::{Configuration, MatchingRules};
use offerd_engine::ranking::Rankings;
use offerd_engine::records::Records;
use offerd_insight::reports::Reports;
use offerd_model::BaseUrl;
use offerd_outbound::postbacks::Subscriptions;
use offerd_partners::Book;
use offerd_store::suppression_key_file;
use offerd_web::{AnswerBody, InProcess};

/// Answers the commands of this process.
pub struct StoppedAdmin {
    app: InProcess<AdminState>,
    /// The key that authorises this process to the handlers.
    pub key: String,
}

impl StoppedAdmin {
    /// Handlers over a store that this process has opened, with the partners of a book; no partner is called.
    pub fn new(store: Store, book: Book, settings: &Settings) -> Self {
        let key = format!("{}_{}", Uuid::new_v4(), Uuid::new_v4());
        Self { app: InProcess::new(surface(Arc::new(app(store, book, settings.clone(), key.clone())))), key }
    }

    /// Answers a request.
    pub async fn call(&self, request: Request<Bytes>) -> Response<AnswerBody> {
        self.app.call(request).await
    }
}

fn app(store: Store, book: Book, settings: Settings, admin_key: String) -> AdminState {
    let run_file = RunFile { admin_key, ..RunFile::default() };
    let base_url = BaseUrl::from(settings.api.base_url.clone().unwrap_or_default());
    let key_file = suppression_key_file(settings.store.suppression_key_file.as_deref(), &settings.store.path);
    let (clients, rules) = (PartnerClients::new(settings.wire), MatchingRules::from(&settings));
    // Faults of these files are reported by the commands that need them, and do not stop others.
    let subscriptions = Subscriptions::load(&settings.postbacks, None).ok();
    let experiments = Experiments::load(&settings, Some(&book), None).unwrap_or_default();
    let (records, counted) = (store.clone(), store.clone());
    let (rankings, reports) = (settings.ranking.clone(), settings.reports.clone());
    let engine = move || {
        let records = Records::of(records);
        let rankings = Rankings::of(records.clone(), rankings);
        let rankings = rankings.inspect_err(|error| error!(%error, "the ranking data is unavailable")).ok();
        let suppressions = Suppressions::of(&records.store, key_file);
        let config = Configuration::new(Arc::new(book), clients, rules, experiments, &records.templates.ids);
        let mut engine = MatchingEngine::new(records.store.clock(), records, config, base_url, suppressions);
        engine.rankings = rankings;
        Arc::new(engine)
    };
    let reports = move || {
        let reports = Reports::of(Records::of(counted), reports);
        reports.inspect_err(|error| error!(%error, "no reports can be made")).ok()
    };
    let settings = watch::channel(Arc::new(settings)).1;
    let app = AdminState::new(store, settings, run_file, Passwords::default(), engine, reports);
    match subscriptions {
        Some(subscriptions) => AdminState { subscriptions: watch::channel(Arc::new(subscriptions)).1, ..app },
        None => app,
    }
}
