//! The matchmaker: takes leads in, starts their rate tables, and shows them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::prelude::*;
use actix_rt::{Arbiter, ArbiterHandle};
use chrono::Utc;
use futures_util::future::join_all;
use metrics::counter;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout_at};
use uuid::Uuid;

use super::admission::{Admission, LivePlace};
use super::configuration::Configuration;
use super::engine::Engine;
use super::idempotency::{Held, IdempotencyKey, Known, UnderWay};
use super::messages::{AwaitTable, GetRateTable, Leave, Snapshot, Until};
use super::rate_table_actor::{Acknowledgement, First, RateTableActor, Start};
use super::refused::Refused;
use super::seating::Seating;
use super::showing::{self, rate_table};
use super::submission::{Growth, Submission};
use crate::rate_table::asks::Asks;
use crate::rate_table::machine::Beginning;
use crate::rate_table::record::TableHead;
use crate::rate_table::table::Table;
use crate::rate_table::treatment;
use crate::records::identity::identity_of;
use crate::records::writing::{IdentityLookBack, LeadCommit};
use crate::records::{Unavailable, consents, contacts, reading, writing};
use offerd_base::ids;
use offerd_base::load_shedder::Permit;
use offerd_base::telemetry::metrics::{CONSENTS_CUT, EXPERIMENT_LEADS, SUBMITS_REFUSED};
use offerd_base::telemetry::traces::{LeadTrace, TraceContext};
use offerd_model::{ProductType, Viewer};
use offerd_partners::Fit;
use offerd_store::entities::LeadRecord;
use offerd_store::{Commit, CommitError, Health, Tree, codec};

/// Takes leads in, and shows rate tables. Cheap to clone.
#[derive(Clone)]
pub struct Matchmaker {
    engine: Arc<Engine>,
    arbiters: Arc<[ArbiterHandle]>,
    next_arbiter: Arc<AtomicUsize>,
    admission: Admission,
    under_way: UnderWay,
}

/// A lead that is about to be written with a rate table.
struct Arrival<'r> {
    record: LeadRecord,
    /// What is written beside the table.
    lead: LeadCommit,
    /// The uuid that was made for the table.
    table: Uuid,
    idempotency_key: Option<&'r IdempotencyKey>,
    /// The client's key, from whoever else sends it.
    held: Option<Held>,
    trace: LeadTrace,
    permit: Permit,
}

/// A table whose actor has been started.
struct Begun {
    actor: Addr<RateTableActor>,
    /// Its lead, but for what was sent.
    record: LeadRecord,
    table: Uuid,
    deadline: Instant,
    submit_wait: Duration,
    /// Told once lead and table are on the disk.
    acknowledgement: Acknowledgement,
    permit: Permit,
}

/// What became of a table that a crash has left pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resumed {
    /// It is being built.
    GoesOn,
    /// Its lead is erased, so that it is not pending any more.
    Erased,
}

impl Matchmaker {
    /// A matchmaker whose actors run on the thread that took their lead in, where that runs actors; else on `arbiters`, at least one, in
    /// turn.
    pub fn new(engine: Engine, arbiters: Vec<ArbiterHandle>) -> Self {
        assert!(!arbiters.is_empty(), "actors need an arbiter to run on");
        Self {
            admission: Admission::default(),
            engine: Arc::new(engine),
            arbiters: arbiters.into(),
            next_arbiter: Arc::default(),
            under_way: UnderWay::default(),
        }
    }

    /// Takes a lead in: once this returns a snapshot, lead and rate table survive a crash, and the table will be
    /// complete by its deadline.
    ///
    /// With [`Until::Prompt`] it returns when the partners that answer at once have, or after `submit_wait`; with
    /// [`Until::Settled`] when all have. Dropping the future after its first poll loses nothing that was written, but
    /// may leave the table to recovery; callers run it in a task of its own.
    ///
    /// # Errors
    /// [`Refused`]; nothing is written then, unless the store fails in the middle of it.
    pub async fn submit(&self, mut submission: Submission, until: Until) -> Result<Snapshot, Refused> {
        let key = submission.idempotency_key.clone();
        let held = key.as_ref().map(|key| self.under_way.hold(key).ok_or(Refused::UnderWay)).transpose();
        // The one that is under way may be waiting for the disk.
        let is_stalled = || self.engine.records.store.is_stalled();
        let held = held.map_err(|refused| if is_stalled() { Refused::late() } else { refused })?;
        let viewer = submission.viewer();
        if let Some(answer) = self.answered_before(viewer, key.as_ref()).await {
            drop(held);
            submission.permit.pause();
            return self.settled(answer?, viewer, until).await;
        }
        let configuration = self.engine.configuration();
        let place = self.admit(submission.company, &configuration)?;
        let trace = self.engine.traces.lead(submission.trace.as_ref());
        let permit = std::mem::take(&mut submission.permit);
        let look_back_minutes = submission.look_back_minutes;
        // Its time chooses the table's volume, so it is the store's arrival time, not the machine's clock.
        let table = ids::timed_at(self.engine.records.store.arrival_ms());
        let record = LeadRecord { first_table: Some(table), ..self.record(submission, &configuration) };
        let commit = writing::new_lead(&record, self.identity(&record, look_back_minutes).as_ref());
        let lead = LeadCommit { commit, is_new: true, node: self.engine.records.store.node() };
        let drawn = record.experiments.clone();
        let arrival = Arrival { record, lead, table, idempotency_key: key.as_ref(), held, trace, permit };
        match self.build(configuration, place, arrival, until).await {
            Ok(shown) => {
                note_drawn(drawn);
                Ok(shown)
            }
            // What is in the way may be the same submit, which another process on the store has taken in meanwhile.
            Err(Refused::Duplicate(lead)) => {
                let answer = self.answered_before(viewer, key.as_ref()).await;
                self.settled(answer.unwrap_or(Err(Refused::Duplicate(lead)))?, viewer, until).await
            }
            Err(refused) => Err(refused),
        }
    }

    /// The answer to a submit that was made before with this key, if one was.
    async fn answered_before(
        &self,
        viewer: Viewer,
        key: Option<&IdempotencyKey>,
    ) -> Option<Result<Snapshot, Refused>> {
        match key?.look_up(&self.engine.records.store) {
            Known::New => None,
            Known::OtherBody => Some(Err(Refused::OtherBody)),
            Known::Done(table) => {
                let shown = rate_table(&self.engine, viewer, table).await.ok().flatten();
                Some(shown.ok_or(Refused::StoreFailed))
            }
        }
    }

    /// What was shown, once it is complete where that is waited for.
    async fn settled(&self, shown: Snapshot, viewer: Viewer, until: Until) -> Result<Snapshot, Refused> {
        if until != Until::Settled || !shown.pending {
            return Ok(shown);
        }
        let completed = showing::completed(&self.engine, viewer, shown.table).await.ok().flatten();
        completed.filter(|table| !table.pending).ok_or(Refused::StoreFailed)
    }

    /// Takes a lead in without a rate table: once this returns, it survives a crash.
    ///
    /// # Errors
    /// [`Refused`], with nothing written.
    pub async fn take_lead(&self, submission: Submission) -> Result<LeadRecord, Refused> {
        self.room()?;
        let look_back_minutes = submission.look_back_minutes;
        let record = self.record(submission, &self.engine.configuration());
        let commit = writing::lead(&record, self.identity(&record, look_back_minutes).as_ref());
        self.engine.commit(commit).await.map_err(|failure| Refused::by(&record, failure))?;
        note_drawn(record.experiments.clone());
        Ok(record)
    }

    /// Merges something into a lead; `None` when there is no such lead for who asks. Changes at once are made one after the other, and none
    /// is lost. The permit rests while others have their turn.
    ///
    /// # Errors
    /// [`Refused`], with nothing written.
    pub async fn grow_lead(
        &self,
        growth: Growth<'_>,
        permit: &mut Permit,
    ) -> Result<Option<LeadRecord>, Refused> {
        let Some((earlier, _)) = self.merged(growth)? else { return Ok(None) };
        permit.pause();
        let turn = self.engine.turn(Tree::Leads, growth.lead).await;
        permit.resume();
        let mut turn = turn.map_err(|failure| Refused::by(&earlier, failure))?;
        while turn.tries().await {
            let Some((earlier, grown)) = self.merged(growth)? else { return Ok(None) };
            let commit = contacts::grown(&self.engine.records.store, (&earlier, &grown));
            match self.engine.commit(commit).await {
                Ok(()) => {
                    counter!(CONSENTS_CUT).increment(consents::cut(&earlier, &grown) as u64);
                    return Ok(Some(grown));
                }
                Err(CommitError::Guard { .. }) => {}
                Err(CommitError::Erased) => return Ok(None),
                Err(failure) => return Err(Refused::by(&grown, failure)),
            }
        }
        Err(Refused::by(&earlier, CommitError::Crowded))
    }

    /// Merges something into a lead and builds a new rate table for it, like [`submit`](Self::submit); `None` when there is
    /// no such lead for who asks.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn submit_again(
        &self,
        growth: Growth<'_>,
        trace: Option<&TraceContext>,
        mut permit: Permit,
        until: Until,
    ) -> Result<Option<Snapshot>, Refused> {
        let configuration = self.engine.configuration();
        let place = self.admit(growth.viewer.company, &configuration)?;
        let trace = self.engine.traces.lead(trace);
        let Some(grown) = self.grow_lead(growth, &mut permit).await? else { return Ok(None) };
        let lead =
            LeadCommit { commit: Commit::new(), is_new: false, node: self.engine.records.store.node() };
        // Its time chooses the table's volume, so it is the store's arrival time, not the machine's clock.
        let table = ids::timed_at(self.engine.records.store.arrival_ms());
        let arrival =
            Arrival { record: grown, lead, table, idempotency_key: None, held: None, trace, permit };
        match self.build(configuration, place, arrival, until).await {
            Err(Refused::Erased(_)) => Ok(None),
            shown => shown.map(Some),
        }
    }

    /// A lead, and what it becomes.
    fn merged(&self, growth: Growth<'_>) -> Result<Option<(LeadRecord, LeadRecord)>, Refused> {
        let Growth { viewer, lead, later, newer_values, made_since } = growth;
        let found = reading::lead(&self.engine.records.store, lead).map_err(|_| Refused::StoreFailed)?;
        let seen = found.filter(|record| viewer.sees(record.company, record.test));
        let Some(earlier) = seen else { return Ok(None) };
        if made_since.is_some_and(|since| earlier.created_at < since) {
            counter!(SUBMITS_REFUSED, "reason" => "merge_too_late").increment(1);
            return Ok(None);
        }
        let updated_at = self.engine.limiter.now();
        let grown = LeadRecord {
            lead: earlier.lead.merged(later),
            // Whoever asks next need not know what another has asked for.
            newer_values,
            updated_at,
            ..earlier.clone()
        };
        let configuration = self.engine.configuration();
        let rules = &configuration.rules;
        let grown = consents::kept(&earlier, grown, rules.consents_kept_per_lead);
        let bytes = |record| codec::encode_json(record).len();
        if bytes(&grown) > rules.bytes_per_lead.max(bytes(&earlier)) {
            return Err(Refused::TooLarge(rules.bytes_per_lead).counted("lead_too_large"));
        }
        Ok(Some((earlier, grown)))
    }

    /// Refuses what is new while the disk does not answer, or is nearly full.
    fn room(&self) -> Result<(), Refused> {
        let store = &self.engine.records.store;
        if store.is_stalled() {
            return Err(Refused::late());
        }
        match store.health() {
            Health::Short(_) => Err(Refused::DiskFull.counted("disk_full")),
            _ => Ok(()),
        }
    }

    fn admit(&self, company: Uuid, configuration: &Configuration) -> Result<LivePlace, Refused> {
        self.room()?;
        self.admission.admit(company, configuration.rules.matching)
    }

    /// Writes a table of a lead with the lead's own commit, builds it, and keeps it as it is shown if it is complete.
    async fn build(
        &self,
        configuration: Arc<Configuration>,
        place: LivePlace,
        arrival: Arrival<'_>,
        until: Until,
    ) -> Result<Snapshot, Refused> {
        let since = self.engine.kept.moment();
        let shown = self.begin(configuration, place, arrival, until).shown(&self.engine, until).await?;
        self.engine.kept.keep(since, &shown);
        Ok(shown)
    }

    /// Seats those who fit a lead, and starts the actor of its table, which writes both.
    fn begin(
        &self,
        configuration: Arc<Configuration>,
        place: LivePlace,
        arrival: Arrival<'_>,
        until: Until,
    ) -> Begun {
        let Arrival { mut record, mut lead, table, idempotency_key, held, mut trace, permit } = arrival;
        let begun = Instant::now();
        let seating = Seating::of(&self.engine, &configuration, &record);
        let rules = &configuration.rules;
        let longest = treatment::deadline(&seating.treatments).unwrap_or(rules.matching.deadline);
        let submit_wait = rules.matching.submit_wait;
        let named = treatment::ranking(&seating.treatments);
        let ranked_by = self.engine.ranked_by(record.company, record.test, named);
        let head = head(&record, &seating, longest, table);
        trace.note("offerd.rate_table", head.uuid.to_string());
        trace.note("offerd.test", head.test);
        if let Some(key) = idempotency_key {
            lead.commit = key.remember(&self.engine.records.store, lead.commit, head.uuid);
        }

        // From here on the table has its time, whatever the store takes.
        let deadline = begun + longest;
        let (acknowledged, acknowledgement) = oneshot::channel();
        let seats: Vec<_> = seating.plan.fits.iter().map(|fit| Arc::clone(&fit.seat.known_as)).collect();
        let begun_table = (Table::new(Arc::new(head), seats), Asks::default(), None);
        let start = Start {
            configuration,
            lead_created_at: record.created_at,
            bands: record.bands,
            ranked_by,
            lead: Arc::new(std::mem::take(&mut record.lead)),
            fits: seating.plan.fits.into_iter().map(Some).collect(),
            calls: HashMap::new(),
            first: Some(First { lead, until, acknowledged }),
            begun: Some(begun),
            deadline,
            held,
            place: Some(place),
            trace,
        };
        let actor = self.start(Arbiter::try_current(), begun_table, start);
        Begun { actor, record, table, deadline, submit_wait, acknowledgement, permit }
    }

    /// Builds a table that a crash has left pending, under its original deadline.
    ///
    /// # Errors
    /// [`Unavailable`] when the store has lost a part of it.
    pub(super) async fn resume(&self, table: Uuid) -> Result<Resumed, Unavailable> {
        let Some(stored) = reading::table(&self.engine.records, table)? else {
            return self.drop_erased(table).await;
        };
        let head = Arc::clone(stored.head());
        // Without its lead nobody can be asked any more, but the table still completes.
        let record = reading::lead(&self.engine.records.store, head.lead).ok().flatten();

        let configuration = self.engine.configuration();
        let facts = record.as_ref().map(|record| reading::facts(record, Utc::now()));
        let mut fitting = facts.map_or_else(Vec::new, |facts| configuration.book.fitting(&facts));
        let seats = stored.seats().iter();
        let fits = seats.map(|seat| {
            let same = |fit: &Fit| fit.seat.is_of(&seat.key, seat.product_type);
            fitting.iter().position(same).map(|position| fitting.swap_remove(position))
        });
        // A clock that stepped back gives nobody more time than the table had when it was new.
        let left = u64::try_from(head.deadline - self.engine.limiter.now()).unwrap_or(0);
        let left = Duration::from_millis(left).min(head.longest());
        let store = &self.engine.records.store;
        let named = treatment::ranking(&head.treatments);
        let start = Start {
            lead_created_at: record.as_ref().map_or(head.created_at, |record| record.created_at),
            bands: record.as_ref().map(|record| record.bands).unwrap_or_default(),
            lead: Arc::new(record.map(|record| record.lead).unwrap_or_default()),
            fits: fits.collect(),
            ranked_by: self.engine.ranked_by(head.company, head.test, named),
            calls: reading::calls(store, table)?,
            first: None,
            held: None,
            begun: None,
            deadline: Instant::now() + left,
            // A table that was taken in stays in, even where more are recovered than are admitted.
            place: self.admission.readmit(head.company, configuration.rules.matching),
            // What was begun before the crash has no end; the rest is a trace of its own.
            trace: self.engine.traces.lead(None),
            configuration,
        };
        let (asks, sequence) = (reading::asks(store, table)?, reading::next_answer(store, table));
        self.start(None, (stored, asks, Some(sequence)), start);
        Ok(Resumed::GoesOn)
    }

    /// A table was being started while its lead was erased.
    async fn drop_erased(&self, table: Uuid) -> Result<Resumed, Unavailable> {
        if !reading::was_erased(&self.engine.records.store, table)? {
            return Err(Unavailable);
        }
        let commit = Commit::new().remove(Tree::OpenTables, table.as_bytes());
        self.engine.records.store.commit(commit).await.map_err(|_| Unavailable)?;
        Ok(Resumed::Erased)
    }

    /// Lets every actor leave; what is pending is recovered at the next start.
    pub async fn drain(&self) {
        self.admission.close();
        // An actor that is gone has nothing to leave.
        join_all(self.engine.live.all().iter().map(|actor| actor.send(Leave))).await;
        self.engine.transcripts.written().await;
    }

    /// A lead as it will be kept, with the variants that it draws.
    fn record(&self, submission: Submission, configuration: &Configuration) -> LeadRecord {
        let record = submission.record(self.engine.limiter.now());
        let tags = record.lead.client_tags.as_ref();
        let experiments =
            configuration.experiments.draw(record.uuid, record.company, tags, record.created_at);
        LeadRecord { experiments, ..record }
    }

    /// What the tables share.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Whom a lead is about, where the company looks back for it.
    fn identity(&self, record: &LeadRecord, look_back_minutes: Option<u32>) -> Option<IdentityLookBack> {
        let look_back_ms = i64::from(look_back_minutes.filter(|minutes| *minutes > 0)?) * 60_000;
        let identity = identity_of(&self.engine.records.store, record)?;
        Some(IdentityLookBack { identity, look_back_ms })
    }

    /// Starts a table's actor here, or on the next arbiter: with who was asked later than at first, and the position of its next answer
    /// record where it is not to be written first.
    fn start(
        &self,
        here: Option<ArbiterHandle>,
        (table, asks, sequence): (Table, Asks, Option<u16>),
        start: Start,
    ) -> Addr<RateTableActor> {
        let answers_at_once = |fit: &Option<Fit>| fit.as_ref().is_none_or(|fit| fit.seat.answers_at_once());
        let at_once = start.fits.iter().map(answers_at_once).collect();
        let beginning = Beginning { table, at_once, asks, sequence };
        let next = || self.next_arbiter.fetch_add(1, Ordering::Relaxed) % self.arbiters.len();
        let arbiter = here.unwrap_or_else(|| self.arbiters[next()].clone());
        let engine = Arc::clone(&self.engine);
        RateTableActor::start_in_arbiter(&arbiter, move |_| RateTableActor::new(engine, start, beginning))
    }
}

impl Begun {
    /// Waits until the disk has taken lead and table, then until the table has come as far as is wanted.
    async fn shown(self, engine: &Engine, until: Until) -> Result<Snapshot, Refused> {
        let Self { actor, record, table, deadline, submit_wait, acknowledgement, permit } = self;
        let shown = match timeout_at(deadline, acknowledgement).await {
            // The table goes on when the disk has taken it.
            Err(_) => return Err(Refused::late()),
            Ok(Err(_)) => return Err(Refused::StoreFailed),
            Ok(Ok(Err(failure))) => return Err(Refused::by(&record, failure)),
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
            // What is missing of the table waits for the disk.
            () = too_late => return Err(Refused::late()),
        };
        if let Some(snapshot) = shown {
            return Ok(snapshot);
        }
        // An actor that has left meanwhile has written what it had; the lead is taken in either way. Who waits for the
        // complete table is not told a pending one.
        let viewer = Viewer { company: record.company, test: record.test };
        let stored = rate_table(engine, viewer, table).await.ok().flatten();
        stored.filter(|table| until != Until::Settled || !table.pending).ok_or(Refused::StoreFailed)
    }
}

/// Counts the variants of a lead that was taken in.
fn note_drawn(variants: BTreeMap<String, String>) {
    for (rule, variant) in variants {
        counter!(EXPERIMENT_LEADS, "rule" => rule, "variant" => variant).increment(1);
    }
}

/// What is written of a table before anybody is asked.
fn head(record: &LeadRecord, seating: &Seating, deadline: Duration, uuid: Uuid) -> TableHead {
    let created_at = seating.round.at;
    let deadline = created_at + deadline.as_millis() as i64;
    TableHead {
        uuid,
        lead: record.uuid,
        company: record.company,
        test: record.test,
        loan_amount: record.lead.loan_information.as_ref().and_then(|loan| loan.loan_amount),
        wants_loans: record.lead.asks_for(ProductType::Loan),
        created_at,
        deadline,
        seats: seating.plan.fits.iter().map(|fit| fit.seat.text.fingerprint).collect(),
        book: seating.book,
        kept_out: seating.kept_out(),
        treatments: seating.treatments.clone(),
    }
}

/// Waits until a table has come so far, or for `submit_wait` where that is not to the end; `None` when its actor has left.
async fn await_table(actor: &Addr<RateTableActor>, until: Until, submit_wait: Duration) -> Option<Snapshot> {
    let come = actor.send(AwaitTable(until));
    if until == Until::Settled {
        return come.await.ok().flatten();
    }
    match tokio::time::timeout(submit_wait, come).await {
        Ok(shown) => shown.ok().flatten(),
        Err(_) => actor.send(GetRateTable).await.ok().flatten(),
    }
}
