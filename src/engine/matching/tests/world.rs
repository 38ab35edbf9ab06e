//! A matchmaker under test, on a paused clock. The tests of other crates include this file too.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::{Arbiter, System};
use proptest::prelude::*;
use serde_json::Value;
use uuid::Uuid;

use crate::partner_files::{PartnerFile, partner};
use offerd_base::config::{ApprovalSettings, MatchingSettings, TranscriptSettings, WireSettings};
use offerd_engine::experiments::ExperimentRules as Experiments;
use offerd_engine::matching::configuration::{Configuration, MatchingRules};
use offerd_engine::matching::engine::MatchingEngine;
use offerd_engine::matching::matchmaker::Matchmaker;
use offerd_engine::matching::messages::{TableSnapshot, Until};
use offerd_engine::matching::partner_clients::PartnerClients;
use offerd_engine::matching::refused::LeadRefusal;
use offerd_engine::matching::showing::rate_table;
use offerd_engine::matching::submission::Submission;
use offerd_engine::matching::suppressions::Suppressions;
use offerd_engine::records::Records;
use offerd_model::{BaseUrl, CreditBands, Lead, Viewer};
use offerd_partners::Book;
use offerd_store::{Clock, SpaceFault, Store, StoreOptions, SyncFault};

pub(crate) const LEAD: &str = r#"{
    "productTypes": ["loan", "other"],
    "loanInformation": {"loanAmount": 10000},
    "creditInformation": {"providedCreditRating": "good"}
}"#;

pub(crate) const COMPANY: Uuid = Uuid::from_u128(7);

/// A matchmaker with its own store, whose commits take no thread and so no time.
pub(crate) struct World {
    pub(crate) matchmaker: Matchmaker,
    pub(crate) directory: tempfile::TempDir,
    pub(crate) disk: SyncFault,
    pub(crate) space: SpaceFault,
    pub(crate) clock: Clock,
}

pub(crate) fn rules() -> MatchingRules {
    MatchingRules {
        matching: MatchingSettings {
            deadline: Duration::from_secs(15),
            response_margin: Duration::from_millis(100),
            least_budget: Duration::from_millis(50),
            second_look_reserve: Duration::from_secs(5),
            submit_wait: Duration::from_millis(50),
            pending_tables_per_company: 0,
            gather_answers: Duration::from_millis(100),
            linger: Duration::from_secs(5),
            pending_tables: 100,
            partners_per_lead: 100,
            offers_per_partner: 40,
        },
        clicks_kept_per_offer: 10,
        report_factor: 5,
        displays_kept_per_offer: 10,
        consents_kept_per_lead: 10,
        bytes_per_lead: 1 << 20,
        loan_reports: ApprovalSettings { reports_kept: Duration::from_secs(60), reports_per_company: 10 },
        transcripts: TranscriptSettings { kept: Duration::from_secs(3600), call_bytes: 4096 },
    }
}

pub(crate) fn book(partners: &[PartnerFile]) -> Book {
    let file =
        |(nth, partner): (usize, &PartnerFile)| (PathBuf::from(format!("p{nth}.toml")), partner.text());
    Book::from_texts(partners.iter().enumerate().map(file)).expect("the partners of a test are good")
}

pub(crate) async fn matchmaker(
    store: Store,
    partners: &[PartnerFile],
    rules: MatchingRules,
    clock: &Clock,
) -> Matchmaker {
    let records = Records::of(store);
    let book = book(partners);
    records.templates.store(&book).await.unwrap();
    let base_url = BaseUrl::from("http://offers.example".to_owned());
    let clients = PartnerClients::new(WireSettings::default());
    let suppressions = Suppressions::of(&records.store, PathBuf::new());
    let (experiments, ids) = (Experiments::default(), &records.templates.ids);
    let configuration = Configuration::new(Arc::new(book), clients, rules, experiments, ids);
    let engine = MatchingEngine::new(clock.clone(), records, configuration, base_url, suppressions);
    Matchmaker::new(engine, vec![Arbiter::current()])
}

impl World {
    pub(crate) async fn of(partners: &[PartnerFile]) -> Self {
        Self::with_rules(partners, rules()).await
    }

    pub(crate) async fn with_rules(partners: &[PartnerFile], rules: MatchingRules) -> Self {
        Self::with_clock(partners, rules, Clock::system()).await
    }

    pub(crate) async fn with_clock(partners: &[PartnerFile], rules: MatchingRules, clock: Clock) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut options = StoreOptions::new(directory.path().join("store"));
        options.mend_interval = Duration::ZERO;
        let (disk, space) = (options.sync_fault.clone(), options.space_fault.clone());
        let store = Store::open_inline_with(&options).unwrap();
        Self { matchmaker: matchmaker(store, partners, rules, &clock).await, directory, disk, space, clock }
    }

    /// Reloads with another book and other rules; unchanged clients are reused.
    pub(crate) async fn configure(&self, partners: &[PartnerFile], rules: MatchingRules) {
        let engine = self.matchmaker.engine();
        let book = Arc::new(book(partners));
        engine.records.templates.store(&book).await.unwrap();
        let clients = engine.configuration().clients.opened(&book).unwrap();
        let (experiments, ids) = (Experiments::default(), &engine.records.templates.ids);
        engine.configure(Configuration::new(book, clients, rules, experiments, ids));
    }

    pub(crate) async fn submit(&self, until: Until) -> TableSnapshot {
        self.try_submit(until).await.unwrap()
    }

    pub(crate) async fn try_submit(&self, until: Until) -> Result<TableSnapshot, LeadRefusal> {
        self.try_submit_lead(LEAD, until).await
    }

    pub(crate) async fn try_submit_lead(
        &self,
        lead: &str,
        until: Until,
    ) -> Result<TableSnapshot, LeadRefusal> {
        let lead = Lead::read(lead.as_bytes()).unwrap();
        let bands = CreditBands::Current;
        let submission = Submission {
            company: COMPANY,
            test: false,
            look_back_minutes: None,
            bands,
            newer_values: false,
            idempotency_key: None,
            trace: None,
            permit: offerd_base::load_shedder::Permit::default(),
            lead,
        };
        self.matchmaker.submit(submission, until).await.map(|answered| answered.answer)
    }

    pub(crate) async fn poll(&self, table: Uuid) -> TableSnapshot {
        rate_table(self.matchmaker.engine(), Viewer::of_all(COMPANY), table)
            .await
            .unwrap()
            .expect("the table is there")
    }

    /// Simulates a crash: the actors and their memory are gone, the records remain.
    pub(crate) async fn crash(self, partners: &[PartnerFile]) -> Self {
        let Self { matchmaker: gone, directory, clock, .. } = self;
        gone.stop_all().await;
        drop(gone);
        // The actors release the store when they have stopped.
        while let Err(locked) = Store::open_inline(directory.path().join("store")) {
            assert!(matches!(locked, offerd_store::StoreError::Locked { .. }), "{locked}");
            tokio::task::yield_now().await;
        }
        let mut options = StoreOptions::new(directory.path().join("store"));
        options.mend_interval = Duration::ZERO;
        let (disk, space) = (options.sync_fault.clone(), options.space_fault.clone());
        let store = Store::open_inline_with(&options).unwrap();
        Self { matchmaker: matchmaker(store, partners, rules(), &clock).await, directory, disk, space, clock }
    }
}

pub(crate) fn json(snapshot: &TableSnapshot) -> Value {
    serde_json::from_slice(&snapshot.json).unwrap()
}

pub(crate) fn uuid(snapshot: &TableSnapshot) -> Uuid {
    json(snapshot)["uuid"].as_str().unwrap().parse().unwrap()
}

pub(crate) fn loan_offers(snapshot: &TableSnapshot) -> usize {
    json(snapshot)["loanOffers"].as_array().unwrap().len()
}

pub(crate) fn pending(snapshot: &TableSnapshot) -> Vec<String> {
    let table = json(snapshot);
    let responses = table["pendingResponses"].as_array().unwrap().iter();
    responses.map(|response| response["partner"]["name"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn simulate(delay: &str) -> String {
    format!(r#"simulate = {{ delay = "{delay}" }}"#)
}

pub(crate) fn failing(kind: &str) -> String {
    format!(r#"simulate = {{ delay = "10ms", failure_rate = 1.0, failure = "{kind}" }}"#)
}

/// Runs a test on an actix system whose clock only advances when all tasks are idle.
pub(crate) fn paused<T>(test: impl Future<Output = T>) -> T {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    System::with_tokio_rt(runtime).block_on(test)
}

/// A partner with any behaviour.
pub(crate) fn any_partner(nth: usize) -> impl Strategy<Value = PartnerFile> {
    let behaviour = prop_oneof![
        3 => Just(String::new()),
        3 => (1..20_000_u32).prop_map(|delay| simulate(&format!("{delay}ms"))),
        1 => prop::sample::select(vec!["error", "panic", "silence"]).prop_map(failing),
    ];
    (behaviour, any::<bool>()).prop_map(move |(behaviour, second_look)| {
        let named = partner(&format!("partner-{nth}"));
        if second_look { named.second_look(1.0 + nth as f64, &behaviour) } else { named.loan(&behaviour) }
    })
}
