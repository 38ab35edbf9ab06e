//! The matchmaker: accepts leads, starts their rate tables and shows them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::prelude::*;
use actix_rt::{Arbiter, ArbiterHandle};
use futures_util::future::join_all;
use metrics::counter;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout_at};
use uuid::Uuid;

use super::admission::{Admission, PendingSlot};
use super::configuration::Configuration;
use super::engine::MatchingEngine;
use super::idempotency::{Answered, IdempotencyKey, IdempotencyLock, IdempotencyState, KeysInFlight};
use super::messages::{AwaitTable, GetRateTable, Leave, TableSnapshot, Until};
use super::rate_table_actor::{AckReceiver, FirstWrite, RateTableActor, TableResources};
use super::refused::LeadRefusal;
use super::seating::Seating;
use super::showing::{self, rate_table};
use super::submission::{Merge, Submission};
use crate::rate_table::machine::MachineStart;
use crate::rate_table::record::{LaterDecisions, TableHead};
use crate::rate_table::table::Table;
use crate::rate_table::treatment;
use crate::records::identity::identity_of;
use crate::records::writing::{IdentityLookBack, LeadCommit};
use crate::records::{Found, RecordUnavailable, consents, contacts, reading, writing};
use offerd_base::ids;
use offerd_base::load_shedder::Permit;
use offerd_base::telemetry::metrics::{CONSENTS_CUT, EXPERIMENT_LEADS, SUBMITS_REFUSED};
use offerd_base::telemetry::traces::{LeadTrace, TraceContext};
use offerd_model::{ProductType, Viewer};
use offerd_partners::Fit;
use offerd_store::entities::LeadRecord;
use offerd_store::{Commit, CommitError, StoreHealth, Tree, codec};

/// Accepts leads and shows rate tables. Cheap to clone.
#[derive(Clone)]
pub struct Matchmaker {
    engine: Arc<MatchingEngine>,
    arbiters: Arc<[ArbiterHandle]>,
    next_arbiter: Arc<AtomicUsize>,
    admission: Admission,
    under_way: KeysInFlight,
}

type SubmitResult<T = TableSnapshot> = Result<T, LeadRefusal>;

/// A table about to be started, for a new lead or an earlier one.
struct NewTable<'r> {
    reserved: (Arc<Configuration>, PendingSlot),
    record: LeadRecord,
    lead: LeadCommit,
    table: Uuid,
    key: Option<&'r IdempotencyKey>,
    key_lock: Option<IdempotencyLock>,
    trace: LeadTrace,
    permit: Permit,
}

struct StartedTable {
    actor: Addr<RateTableActor>,
    /// The lead's record, without the submitted data.
    record: LeadRecord,
    table: Uuid,
    deadline: Instant,
    submit_wait: Duration,
    ack_receiver: AckReceiver,
    permit: Permit,
}

impl Matchmaker {
    /// A matchmaker whose actors run on the thread that accepted the lead, or else on the engine
    /// threads (`arbiters`) in turn.
    pub fn new(engine: MatchingEngine, arbiters: Vec<ArbiterHandle>) -> Self {
        assert!(!arbiters.is_empty(), "actors need an arbiter to run on");
        Self {
            admission: Admission::default(),
            engine: Arc::new(engine),
            arbiters: arbiters.into(),
            next_arbiter: Arc::default(),
            under_way: KeysInFlight::default(),
        }
    }

    /// Submits a lead. Once this returns a snapshot, lead and rate table survive a crash, and the table
    /// completes by its deadline. Run it in a task of its own: a dropped one may leave the table to recovery.
    ///
    /// # Errors
    /// [`LeadRefusal`]; then nothing is written, unless the store fails halfway.
    pub async fn submit(
        &self,
        mut submission: Submission,
        until: Until,
    ) -> SubmitResult<Answered<TableSnapshot>> {
        let key = submission.idempotency_key.clone();
        let key_lock = self.lock_key(key.as_ref())?;
        let viewer = Viewer { company: submission.company, test: submission.test };
        if let Some(table) = self.made_before(key.as_ref())? {
            drop(key_lock);
            submission.permit.pause();
            return self.shown_again(table, viewer, until).await;
        }
        let reserved = self.reserve_table(submission.company)?;
        let trace = self.engine.traces.lead(submission.trace.as_ref());
        let permit = std::mem::take(&mut submission.permit);
        let look_back_minutes = submission.look_back_minutes;
        // Its time chooses the table's volume, so it is the store's new_table time, not the machine's clock.
        let table = ids::timed_at(self.engine.records.store.arrival_ms());
        let record = LeadRecord { first_table: Some(table), ..self.record(submission, &reserved.0) };
        let commit = writing::new_lead(&record, self.identity(&record, look_back_minutes).as_ref());
        let lead = LeadCommit { commit, is_new: true, node: self.engine.records.store.node() };
        let drawn = record.experiments.clone();
        let new_table =
            NewTable { reserved, record, lead, table, key: key.as_ref(), key_lock, trace, permit };
        match self.build(new_table, until).await {
            Ok(shown) => {
                note_drawn(drawn);
                Ok(Answered::anew(shown))
            }
            Err(refused) => {
                let table = self.made_meanwhile(refused, key.as_ref())?;
                self.shown_again(table, viewer, until).await
            }
        }
    }

    /// What another node made, if the refused duplicate is this very request.
    fn made_meanwhile(&self, refused: LeadRefusal, key: Option<&IdempotencyKey>) -> SubmitResult<Uuid> {
        let is_duplicate = matches!(refused, LeadRefusal::Duplicate(_));
        let made = if is_duplicate { self.made_before(key)? } else { None };
        made.ok_or(refused)
    }

    /// While the disk stalls, the request that holds the key waits for it, so the refusal says that.
    fn lock_key(&self, key: Option<&IdempotencyKey>) -> SubmitResult<Option<IdempotencyLock>> {
        let Some(key) = key else { return Ok(None) };
        let is_stalled = || self.engine.records.store.is_stalled();
        let refusal = || if is_stalled() { LeadRefusal::stalled() } else { LeadRefusal::UnderWay };
        self.under_way.lock(key).map(Some).ok_or_else(refusal)
    }

    fn made_before(&self, key: Option<&IdempotencyKey>) -> SubmitResult<Option<Uuid>> {
        match key.and_then(|key| key.look_up(&self.engine.records.store)) {
            Some(IdempotencyState::OtherContent) => Err(LeadRefusal::OtherContent),
            Some(IdempotencyState::Done(made)) => Ok(Some(made)),
            None => Ok(None),
        }
    }

    async fn shown_again(
        &self,
        table: Uuid,
        viewer: Viewer,
        until: Until,
    ) -> SubmitResult<Answered<TableSnapshot>> {
        let shown = rate_table(&self.engine, viewer, table).await.ok().flatten();
        let shown = shown.ok_or(LeadRefusal::StoreFailed)?;
        self.when_complete(shown, viewer, until).await.map(Answered::again)
    }

    /// The snapshot; the completed one where the caller waits for that.
    async fn when_complete(&self, shown: TableSnapshot, viewer: Viewer, until: Until) -> SubmitResult {
        let completed = showing::completed(&self.engine, viewer, shown.table);
        let found = match until {
            _ if !shown.pending => return Ok(shown),
            Until::Prompt | Until::After(_) => return Ok(shown),
            Until::Complete => completed.await.map(|found| found.filter(|table| !table.pending)),
            Until::Within(longest) => match tokio::time::timeout(longest, completed).await {
                Ok(found) => found,
                Err(_) => rate_table(&self.engine, viewer, shown.table).await,
            },
        };
        found.ok().flatten().ok_or(LeadRefusal::StoreFailed)
    }

    /// Accepts a lead without a rate table. Once this returns, the lead survives a crash.
    ///
    /// # Errors
    /// [`LeadRefusal`], with nothing written.
    pub async fn take_lead(&self, submission: Submission) -> SubmitResult<Answered<LeadRecord>> {
        let key = submission.idempotency_key.clone();
        let _key_lock = self.lock_key(key.as_ref())?;
        let store = &self.engine.records.store;
        let again = |lead| match reading::lead(store, lead) {
            Ok(Some(record)) => Ok(Answered::again(record)),
            Ok(None) => Err(LeadRefusal::Erased(lead)),
            Err(_) => Err(LeadRefusal::StoreFailed),
        };
        if let Some(lead) = self.made_before(key.as_ref())? {
            return again(lead);
        }
        self.check_writable()?;
        let look_back_minutes = submission.look_back_minutes;
        let record = self.record(submission, &self.engine.configuration());
        let commit = writing::lead(&record, self.identity(&record, look_back_minutes).as_ref());
        let commit = match &key {
            Some(key) => key.remember(store, commit, record.uuid),
            None => commit,
        };
        if let Err(failure) = self.engine.commit(commit).await {
            return again(self.made_meanwhile(LeadRefusal::of_commit(failure, &record), key.as_ref())?);
        }
        note_drawn(record.experiments.clone());
        Ok(Answered::anew(record))
    }

    /// Merges attributes into a lead; `None` when the viewer has no such lead. Concurrent merges are
    /// serialised, so none is lost. The permit is paused while it waits for its turn.
    ///
    /// # Errors
    /// [`LeadRefusal`], with nothing written.
    pub async fn merge_lead(
        &self,
        merge: Merge<'_>,
        permit: &mut Permit,
    ) -> SubmitResult<Option<LeadRecord>> {
        let Some((earlier, _)) = self.merged(merge)? else { return Ok(None) };
        permit.pause();
        let lock = self.engine.lock_record(Tree::Leads, merge.lead).await;
        permit.resume();
        let mut lock = lock.map_err(|failure| LeadRefusal::of_commit(failure, &earlier))?;
        while lock.should_try().await {
            let Some((earlier, merged)) = self.merged(merge)? else { return Ok(None) };
            let commit = contacts::merged(&self.engine.records.store, (&earlier, &merged));
            match self.engine.commit(commit).await {
                Ok(()) => {
                    counter!(CONSENTS_CUT).increment(consents::cut(&earlier, &merged) as u64);
                    return Ok(Some(merged));
                }
                Err(CommitError::Guard { .. }) => {}
                Err(CommitError::Erased) => return Ok(None),
                Err(failure) => return Err(LeadRefusal::of_commit(failure, &merged)),
            }
        }
        Err(LeadRefusal::of_commit(CommitError::Crowded, &earlier))
    }

    /// Merges attributes into a lead and builds a new rate table; `None` when the viewer has no such lead.
    pub async fn submit_again(
        &self,
        merge: Merge<'_>,
        key: Option<&IdempotencyKey>,
        trace: Option<&TraceContext>,
        mut permit: Permit,
        until: Until,
    ) -> SubmitResult<Option<Answered<TableSnapshot>>> {
        let key_lock = self.lock_key(key)?;
        let viewer = merge.viewer;
        if let Some(table) = self.made_before(key)? {
            drop(key_lock);
            permit.pause();
            return self.shown_again(table, viewer, until).await.map(Some);
        }
        let reserved = self.reserve_table(merge.viewer.company)?;
        let trace = self.engine.traces.lead(trace);
        let Some(record) = self.merge_lead(merge, &mut permit).await? else { return Ok(None) };
        let lead =
            LeadCommit { commit: Commit::new(), is_new: false, node: self.engine.records.store.node() };
        let table = ids::timed_at(self.engine.records.store.arrival_ms());
        let new_table = NewTable { reserved, record, lead, table, key, key_lock, trace, permit };
        match self.build(new_table, until).await {
            Ok(shown) => Ok(Some(Answered::anew(shown))),
            Err(LeadRefusal::Erased(_)) => Ok(None),
            Err(refused) => {
                let table = self.made_meanwhile(refused, key)?;
                self.shown_again(table, viewer, until).await.map(Some)
            }
        }
    }

    fn merged(&self, merge: Merge<'_>) -> Result<Option<(LeadRecord, LeadRecord)>, LeadRefusal> {
        let Merge { viewer, lead, attributes, newer_values, made_since } = merge;
        let found = reading::lead(&self.engine.records.store, lead).map_err(|_| LeadRefusal::StoreFailed)?;
        let seen = found.filter(|record| viewer.sees(record.company, record.test));
        let Some(earlier) = seen else { return Ok(None) };
        if made_since.is_some_and(|since| earlier.created_at < since) {
            counter!(SUBMITS_REFUSED, "reason" => "merge_too_late").increment(1);
            return Ok(None);
        }
        let updated_at = self.engine.now_ms();
        let merged = LeadRecord {
            lead: earlier.lead.merged(attributes),
            // The flag belongs to one request, not to the lead's next one.
            newer_values,
            updated_at,
            ..earlier.clone()
        };
        let configuration = self.engine.configuration();
        let rules = &configuration.rules;
        let merged = contacts::kept(&earlier, consents::kept(&earlier, merged, rules.consents_kept_per_lead));
        let bytes = |record| codec::encode_json(record).len();
        if bytes(&merged) > rules.bytes_per_lead.max(bytes(&earlier)) {
            return Err(LeadRefusal::TooLarge(rules.bytes_per_lead).counted("lead_too_large"));
        }
        Ok(Some((earlier, merged)))
    }

    fn check_writable(&self) -> Result<(), LeadRefusal> {
        let store = &self.engine.records.store;
        if store.is_stalled() {
            return Err(LeadRefusal::stalled());
        }
        let is_short = matches!(store.health(), StoreHealth::Short(_));
        if is_short { Err(LeadRefusal::DiskFull.counted("disk_full")) } else { Ok(()) }
    }

    fn reserve_table(&self, company: Uuid) -> Result<(Arc<Configuration>, PendingSlot), LeadRefusal> {
        let configuration = self.engine.configuration();
        self.check_writable()?;
        let slot = self.admission.admit(company, configuration.rules.matching)?;
        Ok((configuration, slot))
    }

    /// Writes a table with its lead's commit, builds it, and caches it if it is complete.
    async fn build(&self, new_table: NewTable<'_>, until: Until) -> SubmitResult {
        let since = self.engine.complete.generation();
        let shown = self.begin(new_table, until).await_shown(&self.engine, until).await?;
        self.engine.complete.insert(since, &shown);
        Ok(shown)
    }

    /// Seats the partners for a lead and starts its table's actor, which writes both.
    fn begin(&self, new_table: NewTable<'_>, until: Until) -> StartedTable {
        let NewTable { reserved, mut record, mut lead, table, key, key_lock, mut trace, permit } = new_table;
        let (configuration, slot) = reserved;
        let begun = Instant::now();
        let seating = Seating::of(&self.engine, &configuration, &record);
        let rules = &configuration.rules;
        let time_limit = treatment::time_limit(&seating.treatments).unwrap_or(rules.matching.deadline);
        let submit_wait = rules.matching.submit_wait;
        let named = treatment::ranking(&seating.treatments);
        let ranked_by = self.engine.ranked_by(record.company, record.test, named);
        let head = head(&record, &seating, time_limit, table);
        trace.note("offerd.rate_table", head.uuid.to_string());
        trace.note("offerd.test", head.test);
        if let Some(key) = key {
            lead.commit = key.remember(&self.engine.records.store, lead.commit, head.uuid);
        }

        // The table's time runs from here, however long the store takes.
        let deadline = begun + time_limit;
        let (ack_sender, ack_receiver) = oneshot::channel();
        let seats: Vec<_> = seating.plan.fits.iter().map(|fit| Arc::clone(&fit.seat.recorded)).collect();
        let begun_table = (Table::new(Arc::new(head), seats), LaterDecisions::default(), None);
        let resources = TableResources {
            configuration,
            lead_created_at: record.created_at,
            bands: record.bands,
            ranked_by,
            lead: Arc::new(std::mem::take(&mut record.lead)),
            earlier_digests: std::mem::take(&mut record.earlier_digests),
            fits: seating.plan.fits.into_iter().map(Some).collect(),
            calls: HashMap::new(),
            first: Some(FirstWrite { lead, until, ack_sender }),
            begun: Some(begun),
            deadline,
            key_lock,
            slot: Some(slot),
            trace,
        };
        let actor = self.start(Arbiter::try_current(), begun_table, resources);
        StartedTable { actor, record, table, deadline, submit_wait, ack_receiver, permit }
    }

    /// Resumes a pending table; `false` when its lead is erased, so that it is no longer pending.
    pub(super) async fn resume(&self, table: Uuid) -> Found<bool> {
        let Some(stored) = reading::table(&self.engine.records, table)? else {
            return self.drop_erased(table).await;
        };
        let head = Arc::clone(stored.head());
        // Without its lead no partner can be asked, but the table still completes.
        let mut record = reading::lead(&self.engine.records.store, head.lead).ok().flatten();

        let configuration = self.engine.configuration();
        let facts = record.as_ref().map(|record| reading::facts(record, self.engine.now()));
        let mut fitting = facts.map_or_else(Vec::new, |facts| configuration.book.fitting(&facts));
        let fits = stored.seats().iter().map(|seat| {
            let same = |fit: &Fit| fit.seat.is_of(&seat.key, seat.product_type);
            fitting.iter().position(same).map(|position| fitting.swap_remove(position))
        });
        // A clock that stepped back gives no table more time than it had when it was new.
        let left = u64::try_from(head.deadline - self.engine.now_ms()).unwrap_or(0);
        let left = Duration::from_millis(left).min(head.time_limit());
        let store = &self.engine.records.store;
        let named = treatment::ranking(&head.treatments);
        let resources = TableResources {
            lead_created_at: record.as_ref().map_or(head.created_at, |record| record.created_at),
            bands: record.as_ref().map(|record| record.bands).unwrap_or_default(),
            earlier_digests: record
                .as_mut()
                .map(|record| std::mem::take(&mut record.earlier_digests))
                .unwrap_or_default(),
            lead: Arc::new(record.map(|record| record.lead).unwrap_or_default()),
            fits: fits.collect(),
            ranked_by: self.engine.ranked_by(head.company, head.test, named),
            calls: reading::calls(store, table)?,
            first: None,
            key_lock: None,
            begun: None,
            deadline: Instant::now() + left,
            // An accepted table stays accepted, even if recovery exceeds the limit for new ones.
            slot: self.admission.readmit(head.company, configuration.rules.matching),
            // Spans that began before the crash never end; the resumed part is a trace of its own.
            trace: self.engine.traces.lead(None),
            configuration,
        };
        let (decisions, sequence) =
            (reading::later_decisions(store, table)?, reading::next_answer(store, table));
        self.start(None, (stored, decisions, Some(sequence)), resources);
        Ok(true)
    }

    async fn drop_erased(&self, table: Uuid) -> Found<bool> {
        if !reading::was_erased(&self.engine.records.store, table)? {
            return Err(RecordUnavailable);
        }
        let commit = Commit::new().remove(Tree::OpenTables, table.as_bytes());
        self.engine.records.store.commit(commit).await.map_err(|_| RecordUnavailable)?;
        Ok(false)
    }

    /// Stops every actor; pending tables are recovered at the next start.
    pub async fn stop_all(&self) {
        self.admission.close();
        // An actor that has stopped needs no message.
        join_all(self.engine.actors.all().iter().map(|actor| actor.send(Leave))).await;
        self.engine.transcripts.finish_writes().await;
    }

    fn record(&self, submission: Submission, configuration: &Configuration) -> LeadRecord {
        let record = submission.record(self.engine.now_ms());
        let tags = record.lead.client_tags.as_ref();
        let drawn = configuration.experiments.draw(record.uuid, record.company, tags, record.created_at);
        let engine = &self.engine;
        let defaults = || engine.defaults_digest(&configuration.rules.matching, record.company, record.test);
        let defaults = (!drawn.is_empty()).then(defaults);
        LeadRecord { experiments: drawn, defaults, ..record }
    }

    /// The shared state of all tables.
    pub fn engine(&self) -> &Arc<MatchingEngine> {
        &self.engine
    }

    /// The lead's identity, if the company looks back for duplicates.
    fn identity(&self, record: &LeadRecord, look_back_minutes: Option<u32>) -> Option<IdentityLookBack> {
        let look_back_ms = i64::from(look_back_minutes.filter(|minutes| *minutes > 0)?) * 60_000;
        let identity = identity_of(&self.engine.records.store, record)?;
        Some(IdentityLookBack { identity, look_back_ms })
    }

    fn start(
        &self,
        here: Option<ArbiterHandle>,
        (table, decisions, sequence): (Table, LaterDecisions, Option<u16>),
        resources: TableResources,
    ) -> Addr<RateTableActor> {
        let answers_at_once = |fit: &Option<Fit>| fit.as_ref().is_none_or(|fit| fit.seat.answers_at_once());
        let at_once = resources.fits.iter().map(answers_at_once).collect();
        let beginning = MachineStart { table, at_once, decisions, sequence };
        let next = || self.next_arbiter.fetch_add(1, Ordering::Relaxed) % self.arbiters.len();
        let arbiter = here.unwrap_or_else(|| self.arbiters[next()].clone());
        let engine = Arc::clone(&self.engine);
        RateTableActor::start_in_arbiter(&arbiter, move |_| RateTableActor::new(engine, resources, beginning))
    }
}

impl StartedTable {
    async fn await_shown(self, engine: &MatchingEngine, until: Until) -> SubmitResult {
        let Self { actor, record, table, deadline, submit_wait, ack_receiver, permit } = self;
        let shown = match timeout_at(deadline, ack_receiver).await {
            // The table continues once the disk has taken it.
            Err(_) => return Err(LeadRefusal::stalled()),
            Ok(Err(_)) => return Err(LeadRefusal::StoreFailed),
            Ok(Ok(Err(failure))) => return Err(LeadRefusal::of_commit(failure, &record)),
            Ok(Ok(Ok(shown))) => shown,
        };
        permit.acknowledged();
        if let Some(shown) = shown {
            return Ok(shown);
        }
        let too_late = async {
            sleep_until(deadline).await;
            engine.records.store.until_stalled().await;
        };
        let shown = tokio::select! {
            biased;
            shown = await_table(&actor, until, submit_wait) => shown,
            // The rest of the table waits for the disk.
            () = too_late => return Err(LeadRefusal::stalled()),
        };
        if let Some(snapshot) = shown {
            return Ok(snapshot);
        }
        // A stopped actor has written its answers; a caller that waits for completion gets no pending table.
        let viewer = Viewer { company: record.company, test: record.test };
        let stored = rate_table(engine, viewer, table).await.ok().flatten();
        stored.filter(|table| until != Until::Complete || !table.pending).ok_or(LeadRefusal::StoreFailed)
    }
}

fn note_drawn(variants: BTreeMap<String, String>) {
    for (rule, variant) in variants {
        counter!(EXPERIMENT_LEADS, "rule" => rule, "variant" => variant).increment(1);
    }
}

fn head(record: &LeadRecord, seating: &Seating, time_limit: Duration, uuid: Uuid) -> TableHead {
    let created_at = seating.round.at;
    TableHead {
        uuid,
        lead: record.uuid,
        company: record.company,
        test: record.test,
        loan_amount: record.lead.loan_information.as_ref().and_then(|loan| loan.loan_amount),
        wants_loans: record.lead.asks_for(ProductType::Loan),
        created_at,
        deadline: created_at + time_limit.as_millis() as i64,
        seats: seating.plan.fits.iter().map(|fit| fit.seat.recorded_text.fingerprint).collect(),
        book: seating.book,
        not_seated: seating.not_seated(),
        treatments: seating.treatments.clone(),
    }
}

async fn await_table(actor: &Addr<RateTableActor>, until: Until, prompt: Duration) -> Option<TableSnapshot> {
    let come = actor.send(AwaitTable(until));
    let longest = match until {
        Until::Complete => return come.await.ok().flatten(),
        Until::Within(longest) => longest.max(prompt),
        Until::Prompt | Until::After(_) => prompt,
    };
    match tokio::time::timeout(longest, come).await {
        Ok(shown) => shown.ok().flatten(),
        Err(_) => actor.send(GetRateTable).await.ok().flatten(),
    }
}
