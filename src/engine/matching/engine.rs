//! The shared state of all rate tables: records, current configuration, actors.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use parking_lot::RwLock;
use tracing::error;
use uuid::Uuid;

use super::ask_statistics::AskStatistics;
use super::callbacks::Callbacks;
use super::complete_tables::CompleteTables;
use super::configuration::Configuration;
use super::limiter::{self, Limiter, LimiterRound, SeatStatus, State};
use super::messages::TableSnapshot;
use super::rendering::render;
use super::shown_posts::ShownTables;
use super::suppressions::{Digests, SuppressionReason, Suppressions};
use super::table_actors::TableActors;
use super::transcripts::Transcripts;
use super::work_queue::WorkQueue;
use crate::ranking::Rankings;
use crate::rate_table::reason::Denied;
use crate::rate_table::seating::Verdict;
use crate::rate_table::table::Table;
use crate::records::Records;
use crate::records::loan_reports::LoanReports;
use offerd_base::config::MatchingSettings;
use offerd_base::partner_health::{Health, Judgement};
use offerd_base::telemetry::traces::Traces;
use offerd_model::{BaseUrl, ProductType};
use offerd_partners::ranking::Scorer;
use offerd_partners::{Book, Fingerprint, Seat};
use offerd_store::{Clock, Commit, CommitError, RecordLock, Tree};

/// Shared by the matchmaker and every rate-table actor.
pub struct MatchingEngine {
    /// The records of leads and rate tables.
    pub records: Records,
    configuration: RwLock<Arc<Configuration>>,
    clock: Clock,
    /// Limits and counts of asks.
    pub limiter: Limiter,
    /// The suppression lists of partners.
    pub suppressions: Suppressions,
    /// Recent results of asks.
    pub statistics: AskStatistics,
    /// The base of click and page addresses.
    pub base_url: BaseUrl,
    /// Traces of leads, if there is a trace collector.
    pub traces: Traces,
    /// The tables with an actor.
    pub actors: TableActors,
    /// Complete tables, as shown.
    pub complete: CompleteTables,
    /// Reports of approval probability.
    pub loan_reports: LoanReports,
    /// Asks that wait for a callback.
    pub callbacks: Callbacks,
    /// Messages exchanged with partners, where kept.
    pub transcripts: Transcripts,
    /// The rankings of offers, if set up.
    pub rankings: Option<Rankings>,
    /// Shown tables whose leads may have to be posted.
    pub shown: ShownTables,
    /// Complete tables of test leads that request reports.
    pub to_report: WorkQueue<Uuid>,
}

impl MatchingEngine {
    /// An engine without tables, rankings, traces or a cache, whose partners call back at its own
    /// address. Restores the recent counts of asks. Outside tests, `clock` is the store's.
    pub fn new(
        clock: Clock,
        records: Records,
        configuration: Configuration,
        base_url: BaseUrl,
        suppressions: Suppressions,
    ) -> Self {
        let book = &configuration.book;
        let statistics = AskStatistics::recalled(&records, book, limiter::now(&clock));
        statistics.begin(book);
        let (traces, actors, shown, to_report) = Default::default();
        Self {
            limiter: Limiter::of(&records, book, clock.clone()),
            clock,
            configuration: RwLock::new(Arc::new(configuration)),
            suppressions,
            statistics,
            callbacks: Callbacks::at(&base_url),
            base_url,
            traces,
            actors,
            complete: CompleteTables::with_capacity(0),
            loan_reports: LoanReports::of(records.store.clone()),
            transcripts: Transcripts::of(records.store.clone()),
            rankings: None,
            shown,
            to_report,
            records,
        }
    }

    /// The store's time, for everything that is stored or compared.
    pub fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.clock.now_us().cast_signed()).unwrap_or_default()
    }

    /// The time of [`now`](Self::now), Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        limiter::now(&self.clock)
    }

    /// The ranking of a company's table: the `named` one, or else the one in the settings, if any.
    pub fn ranked_by(&self, company: Uuid, test: bool, named: Option<&str>) -> Option<Arc<Scorer>> {
        self.rankings.as_ref()?.ranked_by(company, test, named)
    }

    /// A digest of what a company's leads get without an experiment, and experiments can change: the default
    /// ranking, and the settings of times and asks.
    pub fn defaults_digest(&self, matching: &MatchingSettings, company: Uuid, test: bool) -> String {
        let &MatchingSettings { deadline, response_margin, least_budget, second_look_reserve, .. } = matching;
        let times = [deadline, response_margin, least_budget, second_look_reserve];
        let most = [matching.partners_per_lead, matching.offers_per_partner];
        let ranking = self.ranked_by(company, test, None).map(|scorer| Arc::clone(&scorer.ranking));
        let ranking = ranking.as_ref().map(|ranking| (&ranking.name, &ranking.weights, ranking.unrated));
        format!("{:012x}", Fingerprint::of(&format!("{times:?} {most:?} {ranking:?}")).figure())
    }

    /// Commits within the time that a lead may take, and not at all while the disk does not respond.
    ///
    /// # Errors
    /// [`CommitError::Late`] when that time has passed; the commit may still be written.
    pub async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        let longest = self.configuration().rules.matching.deadline;
        self.records.store.commit_within(longest, commit).await
    }

    /// Waits for the record lock for a read-modify-write, at most as long as a lead may take.
    ///
    /// # Errors
    /// See [`Store::lock_record`](offerd_store::Store::lock_record).
    pub async fn lock_record(&self, tree: Tree, key: impl AsRef<[u8]>) -> Result<RecordLock, CommitError> {
        let longest = self.configuration().rules.matching.deadline;
        self.records.store.lock_record(longest, tree, key).await
    }

    /// Decides which seats are asked about a lead, at most `most`, and counts them.
    pub fn judge_seats(
        &self,
        (test, uuid): (bool, Uuid),
        digests: &Digests,
        most: usize,
        seats: &[&Seat],
    ) -> (LimiterRound, Vec<Verdict>) {
        let lists = self.suppressions.now();
        let against_all = lists.against_all(digests);
        let against = |seat: &Seat| against_all.clone().or_else(|| lists.against(seat, digests));
        let left_out = seats.iter().map(|seat| match against(seat) {
            Some(SuppressionReason::Listed(_) | SuppressionReason::OptedOut) => Some(Denied::Suppressed),
            Some(
                SuppressionReason::Missing(_) | SuppressionReason::Locked(_) | SuppressionReason::Unreadable,
            ) => Some(Denied::ListMissing),
            None => (!test && !seat.is_in_share(uuid)).then_some(Denied::Share),
        });
        self.limiter.judge_seats(test, uuid, most, seats, &left_out.collect::<Vec<_>>())
    }

    /// The missing suppression lists of a book's partners, a sentence for each.
    pub fn missing_lists(&self, book: &Book) -> Vec<String> {
        let lists = self.suppressions.now();
        let missing = book.seats().iter().filter_map(|seat| {
            let name = lists.missing(seat)?;
            let key = &seat.identity.key;
            Some(format!(
                "{key} is not asked, since its suppression list `{name}` is missing: add it with \
                `offerd suppressions add {name} FILE --kind KIND`"
            ))
        });
        let mut sentences: Vec<String> = missing.collect();
        sentences.dedup();
        sentences
    }

    /// The current state of every seat, by its limits and its circuit breaker.
    pub fn statuses(&self) -> Vec<SeatStatus> {
        let Configuration { book, clients, .. } = &*self.configuration();
        let mut statuses = self.limiter.statuses(book);
        let lists = self.suppressions.now();
        for (seat, status) in book.seats().iter().zip(&mut statuses) {
            if status.state == State::Active && lists.missing(seat).is_some() {
                (status.state, status.until) = (State::ListMissing, None);
            }
            let client = clients.of(seat);
            status.undeclared_reasons =
                client.iter().flat_map(|client| client.undeclared_reasons.counted()).collect();
            let endpoint = client.map(|client| client.state());
            let last = endpoint.as_ref().and_then(|endpoint| endpoint.last_failure.clone());
            let endpoint = endpoint.filter(|endpoint| !endpoint.only_logged);
            if let (State::Active, Some(endpoint)) = (status.state, endpoint)
                && let Some(since) = endpoint.ejected_since
            {
                status.state = State::BreakerOpen;
                status.since = Some(self.now() - since.elapsed());
                status.until = endpoint.asks_again_in.map(|time| self.now() + time);
                status.breaker = Some(endpoint.description());
            }
            status.health = match status.state {
                State::PausedByFile | State::PausedByOperator | State::OutsideSchedule => {
                    Judgement { health: Health::NotAsked, cause: None }
                }
                // A seat at its cap may be asked again in the next minute.
                _ => self.statistics.judgement(&seat.identity.key, seat.product_type),
            };
            // An open breaker has it already.
            if status.breaker.is_none() {
                status.health.add_last_failure(last.as_deref());
            }
        }
        statuses
    }

    /// Exports the use of every limit and the health of every seat as metrics.
    pub fn measure(&self) {
        let statuses = self.statuses();
        statuses.iter().for_each(SeatStatus::measure);
        let health: HashMap<(&str, ProductType), Health> = statuses
            .iter()
            .map(|status| ((status.partner.as_str(), status.product_type), status.health.health))
            .collect();
        self.statistics.measure_health(|partner, product_type| health.get(&(partner, product_type)).copied());
    }

    /// The current configuration. A holder keeps this version across reloads.
    pub fn configuration(&self) -> Arc<Configuration> {
        Arc::clone(&self.configuration.read())
    }

    /// The current book.
    pub fn book(&self) -> Arc<Book> {
        Arc::clone(&self.configuration().book)
    }

    /// Replaces the whole configuration for new leads. The book's templates must be stored already.
    pub fn configure(&self, configuration: Configuration) {
        self.statistics.begin(&configuration.book);
        self.limiter.look_back(&self.records, &configuration.book);
        *self.configuration.write() = Arc::new(configuration);
    }

    /// Shows a table to a client, and posts the lead to partners that take it when their offers are shown.
    pub fn show(&self, table: &Table) -> Option<TableSnapshot> {
        let snapshot = self.snapshot(table)?;
        if self.configuration().posts_when_shown {
            self.shown.add(table);
        }
        Some(snapshot)
    }

    /// The rendered table; `None`, with the cause logged, when the store has lost one of its templates.
    pub fn snapshot(&self, table: &Table) -> Option<TableSnapshot> {
        match render(table, &self.base_url, &self.records.templates) {
            Ok(json) => Some(TableSnapshot {
                table: table.head().uuid,
                company: table.head().company,
                test: table.head().test,
                json,
                version: table.answers(),
                pending: !table.progress().all_ended(),
                deadline: table.head().deadline,
            }),
            Err(template) => {
                error!(rate_table = %table.head().uuid, ?template, "the store has lost a template, so the table cannot be shown");
                None
            }
        }
    }
}
