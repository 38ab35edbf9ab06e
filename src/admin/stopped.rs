//! The routes for the command line over the store of a stopped daemon, in the process of the command and without a listener: what
//! a command asks when no daemon runs, by the same requests and with the same answers.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use hyper::{Request, Response};
use tokio::sync::{Semaphore, watch};
use uuid::Uuid;

use super::chronicle::Chronicle;
use super::command::GoingOn;
use super::console::{Console, SessionRules};
use super::key_ring::KeyRing;
use super::password_hash::PasswordHashes;
use super::{App, Health, surface};
use crate::alerts::Board;
use crate::config::Settings;
use crate::experiments::Rules as Experiments;
use crate::matching::partner_clients::PartnerClients;
use crate::matching::suppressions::Suppressions;
use crate::matching::{Engine, Rules};
use crate::model::BaseUrl;
use crate::partners::Book;
use crate::postbacks::Subscriptions;
use crate::ranking::Rankings;
use crate::records::Records;
use crate::reload;
use crate::reports::Reports;
use crate::run_file::RunFile;
use crate::store::Store;
use crate::store::audit::AuditLog;
use crate::store::left_alone;
use crate::telemetry::recorder::Handle;
use crate::telemetry::tail::Tail;
use crate::web::{AnswerBody, InProcess};

/// Answers the commands of this process.
pub struct StoppedAdmin {
    app: InProcess<App>,
    key: String,
}

impl StoppedAdmin {
    /// Over a store that this process has opened. Partners are those of the book; nobody is asked for offers.
    pub fn new(store: Store, book: Book, settings: &Settings) -> Self {
        let key = format!("{}_{}", Uuid::new_v4(), Uuid::new_v4());
        let app = Arc::new(app(store, book, settings.clone(), key.clone()));
        Self { app: InProcess::new(surface(app)), key }
    }

    /// What proves to the handlers that it is this process that asks.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Answers one request.
    pub async fn call(&self, request: Request<Bytes>) -> Response<AnswerBody> {
        self.app.call(request).await
    }
}

fn app(store: Store, book: Book, settings: Settings, admin_key: String) -> App {
    let nowhere = String::new();
    let run_file = RunFile {
        api: nowhere.clone(),
        integrations: nowhere.clone(),
        admin: nowhere,
        admin_key,
        settings_files: None,
    };
    let base_url = BaseUrl::from(settings.api.base_url.clone().unwrap_or_default());
    let key_file = left_alone::key_file(settings.store.suppression_key_file.as_deref(), &settings.store.path);
    let (clients, rules) = (PartnerClients::new(settings.wire), Rules::from(&settings));
    // What is wrong with the files is told by the commands that ask for them, and keeps no other from its work.
    let none = |_| Subscriptions::none(&settings.postbacks);
    let subscriptions = Subscriptions::load(&settings.postbacks).unwrap_or_else(none);
    let experiments = Experiments::load(&settings, Some(&book)).unwrap_or_default();
    let alerts = Board::of(&store);
    let of_reports = store.clone();
    let rules_of_reports = settings.reports.clone();
    let rules_of_rankings = settings.ranking.clone();
    let (of_engine, sessions) = (store.clone(), SessionRules::of(&settings, None, None));
    App {
        health: Arc::new(Health::new(store.clone())),
        metrics: Handle::default(),
        key_ring: KeyRing::of(store.clone()),
        password_hashes: PasswordHashes::default(),
        audit: AuditLog::of(store.clone()),
        engine: LazyLock::new(Box::new(move || {
            let records = Records::of(of_engine);
            let rankings = Rankings::of(records.clone(), rules_of_rankings);
            let rankings =
                rankings.inspect_err(|error| tracing::error!(%error, "what was learnt is not known")).ok();
            let suppressions = Suppressions::of(&records.store, key_file);
            let engine = Engine::new(records, book, clients, rules, base_url, suppressions);
            let engine = engine.experimenting(experiments);
            Arc::new(match rankings {
                Some(rankings) => engine.ranking(rankings),
                None => engine,
            })
        })),
        reports: LazyLock::new(Box::new(move || {
            let reports = Reports::of(Records::of(of_reports), rules_of_reports);
            reports.inspect_err(|error| tracing::error!(%error, "no reports can be made")).ok()
        })),
        store,
        // Nobody takes in what has changed: whatever comes next reads the files anew.
        reloader: reload::channel().0,
        replays: Arc::new(Semaphore::new(1)),
        run_file,
        index: String::new(),
        subscriptions: watch::channel(Arc::new(subscriptions)).1,
        settings: watch::channel(Arc::new(settings)).1,
        alerts,
        tail: Tail::default(),
        chronicle: Chronicle::default(),
        going_on: GoingOn::default(),
        console: Console::new(sessions),
        rests: false,
        elsewhere: Arc::default(),
    }
}
