//! The task of one subscription: a [projection](Projection) of the feed that sends the due events.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use metrics::{counter, gauge};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::due_queue::DueDeliveries;
use super::ledger::{PostbackLedger, TakenDeliveries, tried_after};
use super::record::{AttemptResult, EventPosition, LastAttempts, PostbackDelivery, RecordKind};
use super::sender::{self, Sent};
use super::subscription::Subscription;
use crate::outbox::Backoff;
use offerd_base::config::PostbackSettings;
use offerd_base::telemetry::metrics::{POSTBACK_LAG, POSTBACKS, POSTBACKS_OUTSTANDING};
use offerd_engine::records::projection::{BUSY, LOOK_AGAIN, Projection, blocking, run};
use offerd_store::{Commit, CommitError, Store};
use offerd_wire::{Endpoint, Wire};

/// The interval between attempts to write while the store does not.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

pub(super) type Queueing = Arc<dyn Fn() -> Duration + Send + Sync>;

struct FollowerState {
    settings: PostbackSettings,
    ledger: PostbackLedger,
    endpoint: Endpoint,
    tried: Mutex<Option<LastAttempts>>,
    due: Mutex<DueDeliveries>,
    /// Signals new deliveries in the queue.
    filled: Notify,
}

pub(super) struct Follower {
    shared: Arc<FollowerState>,
    queueing: Queueing,
    attempts: FuturesUnordered<BoxFuture<'static, (EventPosition, AttemptEnd)>>,
    paused_until: Option<Instant>,
}

/// The end of an attempt: the delivery to send again, if any, and a pause before anything else is sent.
type AttemptEnd = (Option<PostbackDelivery>, Option<Duration>);

impl Follower {
    pub(super) async fn of(
        store: &Store,
        wire: &Wire,
        subscription: Arc<Subscription>,
        settings: &PostbackSettings,
        queueing: Queueing,
    ) -> Result<Self, String> {
        let endpoint = sender::open(wire, &subscription, settings)?;
        // Flushes the writes that the previous follower has queued, so that the reads are current.
        store.commit(Commit::new()).await.map_err(|error| error.to_string())?;
        let reads = store.clone();
        let read = blocking(move || {
            let ledger = PostbackLedger::of(&reads, &subscription);
            let mut due = DueDeliveries::default();
            for (place, delivery) in ledger.deliveries(RecordKind::Outstanding)? {
                due.add(place, delivery);
            }
            Ok::<_, CommitError>((ledger.tried(), ledger, due))
        });
        let read = read.await.map_err(|error| error.to_string())?;
        let (tried, ledger, due) = read.map_err(|error| error.to_string())?;
        let (tried, due) = (Mutex::new(tried), Mutex::new(due));
        let (settings, filled) = (settings.clone(), Notify::new());
        let shared = FollowerState { settings, ledger, endpoint, tried, due, filled };
        let attempts = FuturesUnordered::new();
        Ok(Self { shared: Arc::new(shared), queueing, attempts, paused_until: None })
    }

    pub(super) async fn run(self) {
        let (shared, queueing) = (Arc::clone(&self.shared), Arc::clone(&self.queueing));
        tokio::select! {
            () = run(Intake(shared), move || queueing()) => {}
            () = self.send() => {}
        }
    }

    async fn send(mut self) {
        let shared = Arc::clone(&self.shared);
        loop {
            self.begin_attempts();
            let next_turn = self.next_turn();
            tokio::select! {
                Some((place, end)) = self.attempts.next() => self.end_attempt(place, end),
                () = shared.filled.notified() => {}
                () = sleep_until(next_turn) => {}
            }
        }
    }

    /// Starts due attempts, up to the concurrency limit; one at a time while new work is queueing.
    fn begin_attempts(&mut self) {
        if self.paused_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        self.paused_until = None;
        while self.attempts.len() < self.most()
            && let Some((place, delivery)) = self.shared.next()
        {
            let shared = Arc::clone(&self.shared);
            self.attempts.push(Box::pin(async move { (place, shared.attempt(place, delivery).await) }));
        }
    }

    fn most(&self) -> usize {
        if (self.queueing)() > BUSY { 1 } else { self.shared.settings.concurrency }
    }

    fn end_attempt(&mut self, place: EventPosition, (again, pause): AttemptEnd) {
        let mut due = self.shared.due.lock();
        match again {
            Some(delivery) => due.again(place, delivery),
            None => due.done(place),
        }
        self.paused_until = self.paused_until.max(pause.map(|pause| Instant::now() + pause));
    }

    fn next_turn(&self) -> Instant {
        let latest = Instant::now() + LOOK_AGAIN;
        if let Some(until) = self.paused_until {
            return until.min(latest);
        }
        let due_ms = self.shared.due.lock().due_ms().filter(|_| self.attempts.len() < self.most());
        let wait_ms = due_ms.map(|due_ms| (due_ms - self.shared.ledger.store.now_ms()).max(1));
        wait_ms.map_or(latest, |ms| latest.min(Instant::now() + Duration::from_millis(ms.unsigned_abs())))
    }
}

struct Intake(Arc<FollowerState>);

impl Projection for Intake {
    const TROUBLE: &'static str = "cannot process new events for a postback yet; will retry";

    async fn fold(&mut self) -> Result<bool, CommitError> {
        let more = self.0.take_in().await;
        self.0.measure();
        more
    }
}

impl FollowerState {
    fn next(&self) -> Option<(EventPosition, PostbackDelivery)> {
        self.due.lock().next(self.ledger.store.now_ms())
    }

    /// Takes in arrived events if there is room; returns whether there may be more.
    async fn take_in(self: &Arc<Self>) -> Result<bool, CommitError> {
        let room = self.settings.outstanding.saturating_sub(self.due.lock().len());
        if room == 0 {
            return Ok(false);
        }
        let shared = Arc::clone(self);
        let Some(until_us) = blocking(move || shared.ledger.news()).await?? else { return Ok(false) };
        // A barrier: once it is acknowledged, all events up to `until_us` are readable.
        self.ledger.store.commit(Commit::new()).await?;
        let shared = Arc::clone(self);
        let taken = blocking(move || shared.ledger.take(until_us, room)).await??;
        let Some(TakenDeliveries { commit, deliveries, more }) = taken else { return Ok(false) };
        self.ledger.store.commit(commit).await?;
        deliveries.into_iter().for_each(|(place, delivery)| self.due.lock().add(place, delivery));
        self.filled.notify_one();
        Ok(more)
    }

    fn measure(&self) {
        let due = self.due.lock();
        let now_ms = self.ledger.store.now_ms();
        let lag_ms = due.oldest_ms().map_or(0, |oldest_ms| (now_ms - oldest_ms).max(0));
        let name = &self.ledger.subscription.name;
        gauge!(POSTBACK_LAG, "subscription" => name.clone()).set(lag_ms as f64 / 1000.0);
        gauge!(POSTBACKS_OUTSTANDING, "subscription" => name.clone()).set(due.len() as f64);
    }

    async fn attempt(self: Arc<Self>, place: EventPosition, delivery: PostbackDelivery) -> AttemptEnd {
        let shared = Arc::clone(&self);
        let found = blocking(move || shared.ledger.find(place)).await;
        let subscription = &self.ledger.subscription;
        let retry = |delivery| (Some(delivery), Some(self.settings.first_backoff));
        // The event may exist; retry once the disk can be read again.
        let Ok(Ok(found)) = found else { return retry(delivery) };
        let call = found.and_then(|(message, tags)| subscription.call(&message, tags.as_ref()));
        let Some(call) = call else {
            self.write("gone", || self.ledger.record_attempt(place, None, None)).await;
            return (None, None);
        };
        let now_ms = || self.ledger.store.now_ms();
        let sent = sender::send(&self.endpoint, call, subscription.timeout, now_ms).await;
        let age_ms = u128::from((sent.ended.at_ms - delivery.taken_ms).max(0).unsigned_abs());
        let is_last = age_ms >= subscription.give_up_after.as_millis();
        if sent.is_unsent && !is_last {
            return retry(delivery);
        }
        self.end(place, delivery, sent, is_last).await
    }

    async fn end(&self, at: EventPosition, delivery: PostbackDelivery, sent: Sent, last: bool) -> AttemptEnd {
        let Sent { ended, retry_after, .. } = sent;
        let tried = Some(self.note(ended.clone()));
        if ended.is_good() {
            self.write("ok", || self.ledger.record_attempt(at, None, tried.as_ref())).await;
            return (None, None);
        }
        let attempts = delivery.attempts + 1;
        let backoff = Backoff(self.settings.first_backoff, self.settings.longest_backoff);
        let next_ms = if last { ended.at_ms } else { backoff.next_ms(ended.at_ms, attempts, retry_after) };
        let later = PostbackDelivery { attempts, next_ms, last: Some(ended), ..delivery };
        let (what, result) = match last {
            true => (RecordKind::Dead, "dead"),
            false => (RecordKind::Outstanding, "failed"),
        };
        self.write(result, || self.ledger.record_attempt(at, Some((what, &later)), tried.as_ref())).await;
        let pause = retry_after.map(|wait| wait.min(self.settings.longest_backoff));
        if last { (None, None) } else { (Some(later), pause) }
    }

    fn note(&self, ended: AttemptResult) -> LastAttempts {
        let mut tried = self.tried.lock();
        let after = tried_after(tried.as_ref(), ended);
        tried.insert(after).clone()
    }

    /// Retries a write until it succeeds or the store is closed. Counts the result.
    async fn write(&self, result: &'static str, commit: impl Fn() -> Commit) {
        while let Err(error) = self.ledger.store.commit(commit()).await
            && error != CommitError::Closed
        {
            sleep(WRITE_AGAIN).await;
        }
        let name = self.ledger.subscription.name.clone();
        counter!(POSTBACKS, "subscription" => name, "result" => result).increment(1);
    }
}
