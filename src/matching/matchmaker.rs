//! The matchmaker: takes leads in, starts their rate tables, and shows them.

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
use tracing::error;
use uuid::Uuid;

use super::admission::{Admission, MostTables, Place};
use super::configuration::Configuration;
use super::engine::Engine;
use super::identity::identity_of;
use super::messages::{AwaitTable, GetRateTable, LookForChange, Polled, Settle, Snapshot, Unchanged, Until};
use super::offer_ids::table_uuid;
use super::rate_table_actor::{First, RateTableActor, Start};
use super::reading;
use super::repeat::{Held, Known, Repeat, UnderWay};
use super::seating::Seating;
use super::writing::{self, IdentityLookBack, LeadCommit};
use crate::ids;
use crate::load_shedder::Permit;
use crate::model::{CreditBands, Lead, ProductType, Viewer};
use crate::partners::{Facts, Fit};
use crate::planted::{Planted, planted};
use crate::rate_table::asks::Asks;
use crate::rate_table::machine::Beginning;
use crate::rate_table::record::TableHead;
use crate::rate_table::table::Table;
use crate::store::entities::LeadRecord;
use crate::store::{Commit, CommitError, Health, Tree};
use crate::telemetry::metrics::SUBMITS_REFUSED;
use crate::telemetry::traces::{LeadTrace, TraceContext};

/// Takes leads in, and shows rate tables. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Matchmaker {
    engine: Arc<Engine>,
    arbiters: Arc<[ArbiterHandle]>,
    next_arbiter: Arc<AtomicUsize>,
    admission: Admission,
    under_way: UnderWay,
}

/// A lead on its way in.
#[derive(Debug)]
pub struct Submission {
    /// Whose it is.
    pub company: Uuid,
    /// Made with a test token.
    pub test: bool,
    /// The company's duplicate look-back in minutes.
    pub look_back_minutes: Option<u32>,
    /// How scores become ratings.
    pub bands: CreditBands,
    /// The client's key for this submit.
    pub repeat: Option<Repeat>,
    /// The trace that the client goes on with.
    pub trace: Option<TraceContext>,
    /// Leave to take it in, given back once its commit is acknowledged.
    pub permit: Permit,
    /// What was sent.
    pub lead: Lead,
}

impl Submission {
    /// Who sends it.
    fn viewer(&self) -> Viewer {
        Viewer { company: self.company, test: self.test }
    }

    /// The lead as it will be kept.
    fn record(self, now: i64) -> LeadRecord {
        let Self { company, test, bands, lead, .. } = self;
        let uuid = lead.uuid.unwrap_or_else(ids::timed);
        LeadRecord { uuid, company, test, created_at: now, updated_at: now, bands, first_table: None, lead }
    }
}

/// What is to become of a lead that is there already.
#[derive(Debug, Clone, Copy)]
pub struct Growth<'a> {
    /// Who asks.
    pub viewer: Viewer,
    /// The lead.
    pub lead: Uuid,
    /// What is merged into it.
    pub later: &'a Lead,
    /// A lead that was made before this is left alone, as if it were not there, Unix milliseconds.
    pub made_since: Option<i64>,
}

/// A lead that is about to be written with a rate table.
struct Arrival<'r> {
    record: LeadRecord,
    /// What is written beside the table.
    lead: LeadCommit,
    /// The uuid that was made for the table.
    table: Uuid,
    repeat: Option<&'r Repeat>,
    /// The client's key, from whoever else sends it.
    held: Option<Held>,
    trace: LeadTrace,
    permit: Permit,
}

/// Times that a lead is merged again because it changed meanwhile.
const MOST_MERGES: usize = 16;

/// Why a lead was not taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It duplicates this lead.
    Duplicate(Uuid),
    /// Its key came with another body before.
    OtherBody,
    /// Its key is that of a submit under way.
    UnderWay,
    /// As many rate tables as there may be are being built.
    Full,
    /// There is hardly room on the disk.
    DiskFull,
    /// The store cannot take it, or has failed since.
    StoreFailed,
    /// The store's disk does not answer. What was given to it before that was seen may be there later.
    StoreStalled,
}

/// What became of a table that a crash has left pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resumed {
    /// It is being built.
    GoesOn,
    /// Its lead is erased, so that it is not pending any more.
    Erased,
}

/// A rate table exists but cannot be shown now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable;

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
        let repeat = submission.repeat.clone();
        let held = repeat.as_ref().map(|repeat| self.under_way.hold(repeat)).transpose();
        // The one that is under way may be waiting for the disk.
        let held = held.map_err(|refused| self.stalled().err().unwrap_or(refused))?;
        match repeat.as_ref().map_or(Known::New, |repeat| repeat.look_up(&self.engine.store)) {
            Known::New => {}
            Known::OtherBody => return Err(Refused::OtherBody),
            Known::Done(table) => {
                let shown = self.rate_table(submission.viewer(), table).await.ok().flatten();
                return shown.ok_or(Refused::StoreFailed);
            }
        }
        let configuration = self.engine.configuration();
        let place = self.admit(submission.company, &configuration)?;
        let trace = self.engine.traces.lead(submission.trace.as_ref());
        let permit = std::mem::take(&mut submission.permit);
        let look_back_minutes = submission.look_back_minutes;
        let table = table_uuid(self.engine.store.arrival_ms());
        let record = LeadRecord { first_table: Some(table), ..submission.record(self.engine.limiter.now()) };
        let commit = writing::new_lead(&record, self.identity(&record, look_back_minutes).as_ref());
        let lead = LeadCommit { commit, is_new: true };
        let arrival = Arrival { record, lead, table, repeat: repeat.as_ref(), held, trace, permit };
        self.build_and_keep(configuration, place, arrival, until).await
    }

    /// Takes a lead in without a rate table: once this returns, it survives a crash.
    ///
    /// # Errors
    /// [`Refused`], with nothing written.
    pub async fn take_lead(&self, submission: Submission) -> Result<LeadRecord, Refused> {
        self.room()?;
        let look_back_minutes = submission.look_back_minutes;
        let record = submission.record(self.engine.limiter.now());
        let commit = writing::lead(&record, self.identity(&record, look_back_minutes).as_ref());
        self.engine.commit(commit).await.map_err(|failure| refusal(&record, failure))?;
        Ok(record)
    }

    /// Merges something into a lead; `None` when there is no such lead for who asks. Of changes at once none is lost.
    ///
    /// # Errors
    /// [`Refused`], with nothing written.
    pub async fn grow_lead(&self, growth: Growth<'_>) -> Result<Option<LeadRecord>, Refused> {
        for _ in 0..MOST_MERGES {
            let Some((earlier, grown)) = self.merged(growth)? else { return Ok(None) };
            match self.engine.commit(writing::grown_lead(&earlier, &grown)).await {
                Ok(()) => return Ok(Some(grown)),
                Err(CommitError::Guard { .. }) => {}
                Err(failure) => return Err(refusal(&grown, failure)),
            }
        }
        Err(Refused::Full)
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
        permit: Permit,
        until: Until,
    ) -> Result<Option<Snapshot>, Refused> {
        let configuration = self.engine.configuration();
        let place = self.admit(growth.viewer.company, &configuration)?;
        let trace = self.engine.traces.lead(trace);
        let Some(grown) = self.grow_lead(growth).await? else { return Ok(None) };
        let lead = LeadCommit { commit: Commit::new(), is_new: false };
        let table = table_uuid(self.engine.store.arrival_ms());
        let arrival = Arrival { record: grown, lead, table, repeat: None, held: None, trace, permit };
        self.build_and_keep(configuration, place, arrival, until).await.map(Some)
    }

    /// A lead, and what it becomes.
    fn merged(&self, growth: Growth<'_>) -> Result<Option<(LeadRecord, LeadRecord)>, Refused> {
        let Growth { viewer, lead, later, made_since } = growth;
        let found = reading::lead(&self.engine.store, lead).map_err(|_| Refused::StoreFailed)?;
        let seen = found.filter(|record| viewer.sees(record.company, record.test));
        let Some(earlier) = seen else { return Ok(None) };
        if made_since.is_some_and(|since| earlier.created_at < since) {
            counter!(SUBMITS_REFUSED, "reason" => "merge_too_late").increment(1);
            return Ok(None);
        }
        let updated_at = self.engine.limiter.now();
        let grown = LeadRecord { lead: earlier.lead.merged(later), updated_at, ..earlier.clone() };
        Ok(Some((earlier, grown)))
    }

    /// Refuses what is new while the disk does not answer.
    fn stalled(&self) -> Result<(), Refused> {
        if !self.engine.store.is_stalled() {
            return Ok(());
        }
        counter!(SUBMITS_REFUSED, "reason" => "store_stalled").increment(1);
        Err(Refused::StoreStalled)
    }

    /// Refuses what is new while the disk does not answer, or is nearly full.
    fn room(&self) -> Result<(), Refused> {
        self.stalled()?;
        if !matches!(self.engine.store.health(), Health::Short(_)) {
            return Ok(());
        }
        counter!(SUBMITS_REFUSED, "reason" => "disk_full").increment(1);
        Err(Refused::DiskFull)
    }

    fn admit(&self, company: Uuid, configuration: &Configuration) -> Result<Place, Refused> {
        self.room()?;
        let most = MostTables::of(&configuration.rules);
        self.admission.admit(company, most).ok_or(Refused::Full)
    }

    /// Builds a table, and keeps it as it is shown if it is complete.
    async fn build_and_keep(
        &self,
        configuration: Arc<Configuration>,
        place: Place,
        arrival: Arrival<'_>,
        until: Until,
    ) -> Result<Snapshot, Refused> {
        let since = self.engine.kept.moment();
        let shown = self.build(configuration, place, arrival, until).await?;
        self.engine.kept.keep(since, &shown);
        Ok(shown)
    }

    /// Writes a table of a lead with the lead's own commit, and builds it.
    async fn build(
        &self,
        configuration: Arc<Configuration>,
        place: Place,
        arrival: Arrival<'_>,
        until: Until,
    ) -> Result<Snapshot, Refused> {
        let Arrival { mut record, mut lead, table, repeat, held, mut trace, permit } = arrival;
        let begun = Instant::now();
        let seating = Seating::of(&self.engine, &configuration, &record);
        let rules = &configuration.rules;
        let (longest, submit_wait) = (rules.time.deadline, rules.submit_wait);
        let head = head(&record, &seating, longest, table);
        trace.note("offerd.rate_table", head.uuid.to_string());
        trace.note("offerd.test", head.test);
        if let Some(repeat) = repeat {
            lead.commit = repeat.remember(&self.engine.store, lead.commit, head.uuid);
        }

        // From here on the table has its time, whatever the store takes.
        let deadline = begun + longest;
        let (viewer, uuid) = (Viewer { company: record.company, test: record.test }, head.uuid);
        let (acknowledged, acknowledgement) = oneshot::channel();
        let seats: Vec<_> = seating.fits.iter().map(|fit| Arc::clone(&fit.seat.known_as)).collect();
        let beginning = Beginning {
            table: Table::new(Arc::new(head), seats),
            at_once: seating.fits.iter().map(|fit| fit.seat.answers_at_once()).collect(),
            asks: Asks::default(),
            sequence: None,
        };
        let actor = self.start(
            Arbiter::try_current(),
            beginning,
            Start {
                configuration,
                lead_created_at: record.created_at,
                bands: record.bands,
                lead: Arc::new(std::mem::take(&mut record.lead)),
                fits: seating.fits.into_iter().map(Some).collect(),
                first: Some(First { lead, until, acknowledged }),
                begun: Some(begun),
                deadline,
                held,
                place: Some(place),
                trace,
            },
        );
        let shown = match timeout_at(deadline, acknowledgement).await {
            // The table goes on when the disk has taken it.
            Err(_) => return Err(late()),
            Ok(Err(_)) => return Err(Refused::StoreFailed),
            Ok(Ok(Err(failure))) => return Err(refusal(&record, failure)),
            Ok(Ok(Ok(shown))) => shown,
        };
        permit.acknowledged();
        if let Some(shown) = shown {
            return Ok(shown);
        }
        let too_late = async {
            sleep_until(deadline).await;
            self.engine.store.until_stalled().await;
        };
        let shown = tokio::select! {
            biased;
            shown = await_table(&actor, until, submit_wait) => shown,
            // What is missing of the table waits for the disk.
            () = too_late => return Err(late()),
        };
        if let Some(snapshot) = shown {
            return Ok(snapshot);
        }
        // An actor that has left meanwhile has written what it had; the lead is taken in either way. Who waits for the
        // complete table is not told a pending one.
        let stored = self.rate_table(viewer, uuid).await.ok().flatten();
        stored.filter(|table| until != Until::Settled || !table.pending).ok_or(Refused::StoreFailed)
    }

    /// A rate table as it is now; `None` when the viewer has no such table.
    ///
    /// # Errors
    /// [`Unavailable`] when the store cannot be read.
    pub async fn rate_table(&self, viewer: Viewer, table: Uuid) -> Result<Option<Snapshot>, Unavailable> {
        if let Some(kept) = self.engine.kept.get(viewer, table) {
            return Ok(Some(kept));
        }
        let since = self.engine.kept.moment();
        match self.engine.live.get(table, viewer) {
            Some(None) => return Ok(None),
            Some(Some(actor)) => {
                // A table that has just left is complete, or left to recovery; either way the store has it.
                if let Ok(Some(snapshot)) = actor.send(GetRateTable).await {
                    // Unless it has forgotten it, of which the actor need not know.
                    if !snapshot.pending && self.complete_at(viewer, table, &[snapshot.version]).is_some() {
                        self.engine.kept.keep(since, &snapshot);
                    }
                    return Ok(Some(snapshot));
                }
            }
            None => {}
        }
        let Some(stored) = reading::table(&self.engine, table)? else { return Ok(None) };
        let head = stored.head();
        if !viewer.sees(head.company, head.test) && !planted(Planted::ForeignRecords) {
            return Ok(None);
        }
        let shown = self.engine.snapshot(&stored).ok_or(Unavailable)?;
        self.engine.kept.keep(since, &shown);
        Ok(Some(shown))
    }

    /// A rate table for a client that holds these versions of it. While it is the one that the client holds, which is told
    /// without an answer being read or the table being put together, the client waits, at most `longest`.
    ///
    /// # Errors
    /// [`Unavailable`] when the store cannot be read.
    pub async fn poll(
        &self,
        viewer: Viewer,
        table: Uuid,
        held: &[u32],
        longest: Duration,
    ) -> Result<Option<Polled>, Unavailable> {
        if held.is_empty() {
            return Ok(self.rate_table(viewer, table).await?.map(Polled::Shown));
        }
        if let Some(kept) = self.engine.kept.get(viewer, table) {
            let complete = Unchanged { version: kept.version, pending: false, deadline: kept.deadline };
            let is_held = held.contains(&kept.version);
            return Ok(Some(if is_held { Polled::Unchanged(complete) } else { Polled::Shown(kept) }));
        }
        let unchanged = match self.engine.live.get(table, viewer) {
            Some(Some(actor)) => unchanged(&actor, held, longest).await,
            _ => self.complete_at(viewer, table, held),
        };
        match unchanged {
            Some(unchanged) => Ok(Some(Polled::Unchanged(unchanged))),
            None => Ok(self.rate_table(viewer, table).await?.map(Polled::Shown)),
        }
    }

    /// Whether a rate table of the viewer's is complete for who holds these versions of it: an answer of every seat. Told by
    /// the head alone, without reading an answer; `None` also when that cannot be read, or the lead is erased.
    fn complete_at(&self, viewer: Viewer, table: Uuid, held: &[u32]) -> Option<Unchanged> {
        let head = reading::head(&self.engine.store, table).ok().flatten()?;
        let version = u32::try_from(head.seats.len()).ok().filter(|version| held.contains(version))?;
        let is_there =
            viewer.sees(head.company, head.test) && self.engine.store.is_erased(head.lead) == Ok(false);
        is_there.then_some(Unchanged { version, pending: false, deadline: head.deadline })
    }

    /// Builds a table that a crash has left pending, under its original deadline.
    ///
    /// # Errors
    /// [`Unavailable`] when the store has lost a part of it.
    pub(super) async fn resume(&self, table: Uuid) -> Result<Resumed, Unavailable> {
        let Some(stored) = reading::table(&self.engine, table)? else { return self.drop_erased(table).await };
        let head = Arc::clone(stored.head());
        // Without its lead nobody can be asked any more, but the table still completes.
        let record = reading::lead(&self.engine.store, head.lead).ok().flatten();
        let lead = record.as_ref().map(|record| record.lead.clone());

        let configuration = self.engine.configuration();
        let today = Utc::now().date_naive();
        let bands = record.as_ref().map(|record| record.bands).unwrap_or_default();
        let mut fitting = lead
            .as_ref()
            .map_or_else(Vec::new, |lead| configuration.book.fitting(&Facts::new(lead, today, bands)));
        let seats = stored.seats().iter();
        let fits = seats.map(|seat| {
            let same =
                |fit: &Fit| fit.seat.identity.key == seat.key && fit.seat.product_type == seat.product_type;
            fitting.iter().position(same).map(|position| fitting.swap_remove(position))
        });
        // A clock that stepped back gives nobody more time than a new lead has.
        let left = u64::try_from(head.deadline - self.engine.limiter.now()).unwrap_or(0);
        let left = Duration::from_millis(left).min(configuration.rules.time.deadline);
        let fits: Vec<Option<Fit>> = fits.collect();
        let beginning = Beginning {
            table: stored,
            at_once: fits
                .iter()
                .map(|fit| fit.as_ref().is_none_or(|fit| fit.seat.answers_at_once()))
                .collect(),
            asks: reading::asks(&self.engine.store, table)?,
            sequence: Some(reading::next_answer(&self.engine.store, table)),
        };
        self.start(
            None,
            beginning,
            Start {
                lead_created_at: record.map_or(head.created_at, |record| record.created_at),
                fits,
                lead: Arc::new(lead.unwrap_or_default()),
                bands,
                first: None,
                held: None,
                begun: None,
                deadline: Instant::now() + left,
                // A table that was taken in stays in, even where more are recovered than are admitted.
                place: self.admission.readmit(head.company, MostTables::of(&configuration.rules)),
                // What was begun before the crash has no end; the rest is a trace of its own.
                trace: self.engine.traces.lead(None),
                configuration,
            },
        );
        Ok(Resumed::GoesOn)
    }

    /// A table was being started while its lead was erased.
    async fn drop_erased(&self, table: Uuid) -> Result<Resumed, Unavailable> {
        if !reading::was_erased(&self.engine.store, table)? {
            return Err(Unavailable);
        }
        let commit = Commit::new().remove(Tree::OpenTables, table.as_bytes());
        self.engine.store.commit(commit).await.map_err(|_| Unavailable)?;
        Ok(Resumed::Erased)
    }

    /// Lets every actor leave; what is pending is recovered at the next start.
    pub async fn drain(&self) {
        self.admission.close();
        // An actor that is gone has nothing to leave.
        join_all(self.engine.live.all().iter().map(|actor| actor.send(Settle))).await;
    }

    /// What the tables share.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Whom a lead is about, where the company looks back for it.
    fn identity(&self, record: &LeadRecord, look_back_minutes: Option<u32>) -> Option<IdentityLookBack> {
        let look_back_ms = i64::from(look_back_minutes.filter(|minutes| *minutes > 0)?) * 60_000;
        let identity = identity_of(&self.engine.store, record)?;
        Some(IdentityLookBack { identity, look_back_ms })
    }

    /// Starts a table's actor here, or on the next arbiter.
    fn start(&self, here: Option<ArbiterHandle>, beginning: Beginning, start: Start) -> Addr<RateTableActor> {
        let next = || self.next_arbiter.fetch_add(1, Ordering::Relaxed) % self.arbiters.len();
        let arbiter = here.unwrap_or_else(|| self.arbiters[next()].clone());
        let engine = Arc::clone(&self.engine);
        RateTableActor::start_in_arbiter(&arbiter, move |_| RateTableActor::new(engine, start, beginning))
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
        seats: seating.fits.iter().map(|fit| fit.seat.text.fingerprint).collect(),
        book: seating.book,
        kept_out: seating.kept_out.clone(),
    }
}

/// Waits for an actor, for as long as `until` has a client wait; `None` when it has left.
async fn await_table(actor: &Addr<RateTableActor>, until: Until, submit_wait: Duration) -> Option<Snapshot> {
    match until {
        Until::Settled => actor.send(AwaitTable(until)).await.ok().flatten(),
        Until::Prompt | Until::After(_) => await_for(actor, until, submit_wait).await,
    }
}

/// Whether a table is still what a client holds, after it has waited for that to change; `None` once it has changed, or its
/// actor has left.
async fn unchanged(actor: &Addr<RateTableActor>, held: &[u32], longest: Duration) -> Option<Unchanged> {
    let look = || async { actor.send(LookForChange(held.to_vec())).await.ok().flatten() };
    let unchanged = look().await?;
    if !unchanged.pending || longest.is_zero() {
        return Some(unchanged);
    }
    let change = actor.send(AwaitTable(Until::After(unchanged.version)));
    match tokio::time::timeout(longest, change).await {
        Ok(_) => None,
        Err(_) => look().await,
    }
}

/// Waits for an actor, at most so long; then shows the table as it is.
async fn await_for(actor: &Addr<RateTableActor>, until: Until, longest: Duration) -> Option<Snapshot> {
    match tokio::time::timeout(longest, actor.send(AwaitTable(until))).await {
        Ok(shown) => shown.ok().flatten(),
        Err(_) => actor.send(GetRateTable).await.ok().flatten(),
    }
}

/// The disk has not taken a lead, or all of its table, by the deadline.
fn late() -> Refused {
    counter!(SUBMITS_REFUSED, "reason" => "store_stalled").increment(1);
    Refused::StoreStalled
}

/// What a failed commit means to the client.
fn refusal(record: &LeadRecord, failure: CommitError) -> Refused {
    match failure {
        CommitError::Guard { found, .. } => {
            // What is known of an identity is eight bytes of time, then the lead; else the lead itself is in the way.
            let known = <[u8; 24]>::try_from(found).ok();
            let lead = known.and_then(|known| Uuid::from_slice(&known[8..]).ok());
            Refused::Duplicate(lead.unwrap_or(record.uuid))
        }
        CommitError::Late => late(),
        CommitError::Busy => {
            counter!(SUBMITS_REFUSED, "reason" => "store_busy").increment(1);
            Refused::Full
        }
        // A lead that was erased is not taken in again under its uuid.
        CommitError::Erased => Refused::Duplicate(record.uuid),
        failure => {
            counter!(SUBMITS_REFUSED, "reason" => "store_failed").increment(1);
            error!(lead = %record.uuid, %failure, tree = Tree::Leads.name(), "a lead could not be stored");
            Refused::StoreFailed
        }
    }
}
