//! The task of one subscription: it takes in what arrives, and sends what is due.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use metrics::{counter, gauge};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until};

use super::backoff;
use super::ledger::{Found, Ledger, Taken, tried_after};
use super::outbox::Outbox;
use super::record::{Delivery, Ended, Place, Tried, What};
use super::sender::{Sender, Sent};
use super::subscription::Subscription;
use crate::config::PostbackSettings;
use crate::store::{Commit, CommitError, Store};
use crate::telemetry::metrics::{POSTBACK_LAG, POSTBACKS, POSTBACKS_OUTSTANDING};
use crate::wire::Wire;

/// Between two looks at the feed when everything is taken in.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Between two tries to write while the store does not.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// How long new work may queue before postbacks make room for it.
const BUSY: Duration = Duration::from_millis(1);

/// How long new work queues.
pub(super) type Queueing = Arc<dyn Fn() -> Duration + Send + Sync>;

/// What attempts share.
struct Shared {
    subscription: Arc<Subscription>,
    settings: PostbackSettings,
    ledger: Ledger,
    sender: Sender,
    tried: Mutex<Option<Tried>>,
}

/// Follows the feed for one subscription.
pub(super) struct Follower {
    shared: Arc<Shared>,
    queueing: Queueing,
    outbox: Outbox,
    attempts: FuturesUnordered<BoxFuture<'static, (Place, Settled)>>,
    look_at: Instant,
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
        let read = spawn_blocking(move || {
            let ledger = Ledger::of(&reads, &declared);
            let mut outbox = Outbox::default();
            for (place, delivery) in ledger.deliveries(What::Outstanding)? {
                outbox.add(place, delivery);
            }
            Ok::<_, CommitError>((ledger.tried(), ledger, outbox))
        });
        let read = read.await.map_err(|error| error.to_string())?;
        let (tried, ledger, outbox) = read.map_err(|error| error.to_string())?;
        let tried = Mutex::new(tried);
        let shared = Shared { subscription, settings: settings.clone(), ledger, sender, tried };
        Ok(Self {
            shared: Arc::new(shared),
            queueing,
            outbox,
            attempts: FuturesUnordered::new(),
            look_at: Instant::now(),
            held_until: None,
        })
    }

    /// Goes on for as long as the store is open.
    pub(super) async fn run(mut self) {
        loop {
            if Instant::now() >= self.look_at {
                match self.look().await {
                    Ok(pause) => self.look_at = Instant::now() + pause,
                    Err(CommitError::Closed) => return,
                    // What could not be written is still in the feed.
                    Err(_) => self.look_at = Instant::now() + WRITE_AGAIN,
                }
                self.measure();
            }
            self.begin_attempts();
            let next_turn = self.next_turn();
            tokio::select! {
                Some((place, settled)) = self.attempts.next() => self.settle(place, settled),
                () = sleep_until(next_turn) => {}
            }
        }
    }

    /// Takes in what has arrived, if there is room; says when to look again.
    async fn look(&mut self) -> Result<Duration, CommitError> {
        let room = self.shared.settings.outstanding.saturating_sub(self.outbox.len());
        if room == 0 || (self.queueing)() > BUSY {
            return Ok(LOOK_AGAIN);
        }
        let shared = Arc::clone(&self.shared);
        let Some(until_us) = blocking(move || shared.ledger.news()).await?? else { return Ok(LOOK_AGAIN) };
        self.shared.ledger.store.commit(Commit::new()).await?;
        let shared = Arc::clone(&self.shared);
        let taken = blocking(move || shared.ledger.take(&shared.subscription, until_us, room)).await??;
        let Some(Taken { commit, deliveries, more }) = taken else { return Ok(LOOK_AGAIN) };
        self.shared.ledger.store.commit(commit).await?;
        deliveries.into_iter().for_each(|(place, delivery)| self.outbox.add(place, delivery));
        Ok(if more { Duration::ZERO } else { LOOK_AGAIN })
    }

    /// Sends what is due, as much at once as may be; while new work queues, one at a time.
    fn begin_attempts(&mut self) {
        if self.held_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        self.held_until = None;
        while self.attempts.len() < self.most()
            && let Some((place, delivery)) = self.outbox.next(self.shared.ledger.store.now_ms())
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
            Settled::Done => self.outbox.done(place),
            Settled::Again(delivery, wanted) => {
                let wanted =
                    wanted.map(|wait| Instant::now() + wait.min(self.shared.settings.longest_backoff));
                self.held_until = self.held_until.max(wanted);
                self.outbox.again(place, delivery);
            }
            Settled::Held(delivery) => {
                self.held_until = Some(Instant::now() + self.shared.settings.first_backoff);
                self.outbox.again(place, delivery);
            }
        }
    }

    /// When there may be something to do, attempts that end aside.
    fn next_turn(&self) -> Instant {
        if let Some(until) = self.held_until {
            return until.min(self.look_at);
        }
        if self.attempts.len() >= self.most() {
            return self.look_at;
        }
        let wait_ms = self.outbox.due_ms().map(|due_ms| due_ms - self.shared.ledger.store.now_ms());
        let wait = wait_ms.map(|wait_ms| Duration::from_millis(wait_ms.max(1).unsigned_abs()));
        self.look_at.min(Instant::now() + wait.unwrap_or(LOOK_AGAIN))
    }

    fn measure(&self) {
        let now_ms = self.shared.ledger.store.now_ms();
        let lag_ms = self.outbox.oldest_ms().map_or(0, |oldest_ms| (now_ms - oldest_ms).max(0));
        let name = &self.shared.subscription.name;
        gauge!(POSTBACK_LAG, "subscription" => name.clone()).set(lag_ms as f64 / 1000.0);
        gauge!(POSTBACKS_OUTSTANDING, "subscription" => name.clone()).set(self.outbox.len() as f64);
    }
}

impl Shared {
    /// Sends one delivery, and writes down how that ended.
    async fn attempt(self: Arc<Self>, place: Place, delivery: Delivery) -> Settled {
        let shared = Arc::clone(&self);
        let found = spawn_blocking(move || shared.ledger.find(&shared.subscription, place)).await;
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
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Reads on a thread that may block.
async fn blocking<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Result<T, CommitError> {
    spawn_blocking(read).await.map_err(|error| CommitError::Failed(error.to_string()))
}
