//! The task of one subscription: it takes in what arrives, as a [projection](Projection) of the feed, and sends what is due.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use metrics::{counter, gauge};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::backoff;
use super::ledger::{Found, Ledger, Taken, tried_after};
use super::outbox::Outbox;
use super::record::{Delivery, Ended, Place, Tried, What};
use super::sender::{Sender, Sent};
use super::subscription::Subscription;
use crate::config::PostbackSettings;
use crate::records::projection::{BUSY, LOOK_AGAIN, Projection, blocking, keep};
use crate::store::{Commit, CommitError, Store};
use crate::telemetry::metrics::{POSTBACK_LAG, POSTBACKS, POSTBACKS_OUTSTANDING};
use crate::wire::Wire;

/// Between two tries to write while the store does not.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// How long new work queues.
pub(super) type Queueing = Arc<dyn Fn() -> Duration + Send + Sync>;

/// What attempts share with what takes in.
struct Shared {
    subscription: Arc<Subscription>,
    settings: PostbackSettings,
    ledger: Ledger,
    sender: Sender,
    tried: Mutex<Option<Tried>>,
    outbox: Mutex<Outbox>,
    /// That something has come into it.
    filled: Notify,
}

/// Takes in what arrives.
struct Intake(Arc<Shared>);

/// Sends what is due of one subscription.
pub(super) struct Follower {
    shared: Arc<Shared>,
    queueing: Queueing,
    attempts: FuturesUnordered<BoxFuture<'static, (Place, Settled)>>,
    /// While nothing is to be sent.
    held_until: Option<Instant>,
}

/// What became of an attempt.
enum Settled {
    /// The delivery is outstanding no more.
    Done,
    /// It is to be sent again, and until then nothing at all where the receiver says so.
    Again(Delivery, Option<Duration>),
    /// Nothing was sent, because the breaker is open, or the disk does not read.
    Held(Delivery),
}

impl Follower {
    /// Of a subscription, with what is outstanding of it.
    ///
    /// # Errors
    /// What cannot be set up.
    pub(super) async fn of(
        store: &Store,
        wire: &Wire,
        subscription: Arc<Subscription>,
        settings: &PostbackSettings,
        queueing: Queueing,
    ) -> Result<Self, String> {
        let sender = Sender::open(wire, &subscription, settings)?;
        // What was queued by a follower before this one is written, so that what is read is what is there.
        store.commit(Commit::new()).await.map_err(|error| error.to_string())?;
        let (reads, declared) = (store.clone(), Arc::clone(&subscription));
        let read = blocking(move || {
            let ledger = Ledger::of(&reads, &declared);
            let mut outbox = Outbox::default();
            for (place, delivery) in ledger.deliveries(What::Outstanding)? {
                outbox.add(place, delivery);
            }
            Ok::<_, CommitError>((ledger.tried(), ledger, outbox))
        });
        let read = read.await.map_err(|error| error.to_string())?;
        let (tried, ledger, outbox) = read.map_err(|error| error.to_string())?;
        let (tried, outbox, settings) = (Mutex::new(tried), Mutex::new(outbox), settings.clone());
        let filled = Notify::new();
        let shared = Arc::new(Shared { subscription, settings, ledger, sender, tried, outbox, filled });
        Ok(Self { shared, queueing, attempts: FuturesUnordered::new(), held_until: None })
    }

    /// Goes on for as long as the store is open.
    pub(super) async fn run(self) {
        let (intake, queueing) = (Intake(Arc::clone(&self.shared)), Arc::clone(&self.queueing));
        tokio::select! {
            () = keep(intake, move || queueing()) => {}
            () = self.send() => {}
        }
    }

    async fn send(mut self) {
        let shared = Arc::clone(&self.shared);
        loop {
            self.begin_attempts();
            let next_turn = self.next_turn();
            tokio::select! {
                Some((place, settled)) = self.attempts.next() => self.settle(place, settled),
                () = shared.filled.notified() => {}
                () = sleep_until(next_turn) => {}
            }
        }
    }

    /// Sends what is due, as much at once as may be; while new work queues, one at a time.
    fn begin_attempts(&mut self) {
        if self.held_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        self.held_until = None;
        while self.attempts.len() < self.most()
            && let Some((place, delivery)) = self.shared.next()
        {
            let shared = Arc::clone(&self.shared);
            self.attempts.push(Box::pin(async move { (place, shared.attempt(place, delivery).await) }));
        }
    }

    /// How many attempts may be under way.
    fn most(&self) -> usize {
        if (self.queueing)() > BUSY { 1 } else { self.shared.settings.concurrency }
    }

    fn settle(&mut self, place: Place, settled: Settled) {
        match settled {
            Settled::Done => self.shared.outbox.lock().done(place),
            Settled::Again(delivery, wanted) => {
                let wanted =
                    wanted.map(|wait| Instant::now() + wait.min(self.shared.settings.longest_backoff));
                self.held_until = self.held_until.max(wanted);
                self.shared.outbox.lock().again(place, delivery);
            }
            Settled::Held(delivery) => {
                self.held_until = Some(Instant::now() + self.shared.settings.first_backoff);
                self.shared.outbox.lock().again(place, delivery);
            }
        }
    }

    /// When there may be something to do, attempts that end and what comes in aside.
    fn next_turn(&self) -> Instant {
        let latest = Instant::now() + LOOK_AGAIN;
        if let Some(until) = self.held_until {
            return until.min(latest);
        }
        let due_ms = self.shared.outbox.lock().due_ms().filter(|_| self.attempts.len() < self.most());
        let wait_ms = due_ms.map(|due_ms| (due_ms - self.shared.ledger.store.now_ms()).max(1));
        wait_ms.map_or(latest, |ms| latest.min(Instant::now() + Duration::from_millis(ms.unsigned_abs())))
    }
}

impl Projection for Intake {
    const TROUBLE: &'static str = "what arrives is not taken in for a postback yet; it is tried again";

    async fn fold(&mut self) -> Result<bool, CommitError> {
        let more = self.0.take_in().await;
        self.0.measure();
        more
    }
}

impl Shared {
    fn next(&self) -> Option<(Place, Delivery)> {
        self.outbox.lock().next(self.ledger.store.now_ms())
    }

    /// Takes in what has arrived, if there is room; whether there may be more.
    async fn take_in(self: &Arc<Self>) -> Result<bool, CommitError> {
        let room = self.settings.outstanding.saturating_sub(self.outbox.lock().len());
        if room == 0 {
            return Ok(false);
        }
        let shared = Arc::clone(self);
        let Some(until_us) = blocking(move || shared.ledger.news()).await?? else { return Ok(false) };
        self.ledger.store.commit(Commit::new()).await?;
        let shared = Arc::clone(self);
        let taken = blocking(move || shared.ledger.take(&shared.subscription, until_us, room)).await??;
        let Some(Taken { commit, deliveries, more }) = taken else { return Ok(false) };
        self.ledger.store.commit(commit).await?;
        deliveries.into_iter().for_each(|(place, delivery)| self.outbox.lock().add(place, delivery));
        self.filled.notify_one();
        Ok(more)
    }

    fn measure(&self) {
        let outbox = self.outbox.lock();
        let now_ms = self.ledger.store.now_ms();
        let lag_ms = outbox.oldest_ms().map_or(0, |oldest_ms| (now_ms - oldest_ms).max(0));
        let name = &self.subscription.name;
        gauge!(POSTBACK_LAG, "subscription" => name.clone()).set(lag_ms as f64 / 1000.0);
        gauge!(POSTBACKS_OUTSTANDING, "subscription" => name.clone()).set(outbox.len() as f64);
    }

    /// Sends one delivery, and writes down how that ended.
    async fn attempt(self: Arc<Self>, place: Place, delivery: Delivery) -> Settled {
        let shared = Arc::clone(&self);
        let found = blocking(move || shared.ledger.find(&shared.subscription, place)).await;
        let call = match &found {
            Ok(Ok(Found::Event(message, tags))) => self.subscription.call(message, tags.as_ref()),
            Ok(Ok(Found::Gone)) => None,
            // It may be there once the disk reads again.
            Ok(Err(_)) | Err(_) => return Settled::Held(delivery),
        };
        let Some(call) = call else {
            self.written(|| self.ledger.settled(place, None)).await;
            self.count("gone");
            return Settled::Done;
        };
        let sent = self.sender.send(call, || self.ledger.store.now_ms()).await;
        let age_ms = u128::from((sent.ended.at_ms - delivery.taken_ms).max(0).unsigned_abs());
        let is_last = age_ms >= self.subscription.give_up_after.as_millis();
        if sent.held_back && !is_last {
            return Settled::Held(delivery);
        }
        self.end(place, delivery, sent, is_last).await
    }

    async fn end(&self, place: Place, delivery: Delivery, sent: Sent, is_last: bool) -> Settled {
        let Sent { ended, retry_after, .. } = sent;
        let tried = self.note(ended.clone());
        if ended.is_good() {
            self.written(|| self.ledger.settled(place, Some(&tried))).await;
            self.count("ok");
            return Settled::Done;
        }
        let attempts = delivery.attempts + 1;
        let (first, longest) = (self.settings.first_backoff, self.settings.longest_backoff);
        let wait = backoff::wait(first, longest, attempts, retry_after, fastrand::f64());
        let wait_ms = if is_last { 0 } else { i64::try_from(wait.as_millis()).unwrap_or(i64::MAX) };
        let next_ms = ended.at_ms.saturating_add(wait_ms);
        let later = Delivery { attempts, next_ms, last: Some(ended), ..delivery };
        if is_last {
            self.written(|| self.ledger.given_up(place, &later, Some(&tried))).await;
            self.count("dead");
            return Settled::Done;
        }
        self.written(|| self.ledger.failed(place, &later, Some(&tried))).await;
        self.count("failed");
        Settled::Again(later, retry_after)
    }

    fn note(&self, ended: Ended) -> Tried {
        let mut tried = self.tried.lock();
        let after = tried_after(tried.as_ref(), ended);
        tried.insert(after).clone()
    }

    /// Writes until it is written, or the store is closed: what is not written is sent again after a restart.
    async fn written(&self, commit: impl Fn() -> Commit) {
        while let Err(error) = self.ledger.store.commit(commit()).await {
            if error == CommitError::Closed {
                return;
            }
            sleep(WRITE_AGAIN).await;
        }
    }

    fn count(&self, result: &'static str) {
        counter!(POSTBACKS, "subscription" => self.subscription.name.clone(), "result" => result)
            .increment(1);
    }
}
