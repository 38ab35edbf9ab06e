//! One kind of traffic to a far system, with its concurrency limit, breaker and retries.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::breaker::{Breaker, BreakerChange, BreakerRules, BreakerState};
use super::call::{Call, CallReply};
use super::error::{CallError, FailedAttempt};
use super::figures::EndpointMetrics;
use super::late::{LateReplyCallback, LateWatch};
use super::pool::{Pool, PreparedCall};
use super::retry::{RetryBudget, RetryRules};
use super::window::CallTally;

/// Limits of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointRules {
    /// Maximum concurrent calls; further ones are refused at once.
    pub concurrency: usize,
    /// When the breaker opens.
    pub breaker: BreakerRules,
    /// When calls are retried.
    pub retry: RetryRules,
    /// How long a sample of calls waits for an answer after its deadline; zero disables this.
    pub late_patience: Duration,
}

impl Default for EndpointRules {
    fn default() -> Self {
        Self {
            concurrency: 64,
            breaker: BreakerRules::default(),
            retry: RetryRules::default(),
            late_patience: Duration::ZERO,
        }
    }
}

/// A snapshot of an endpoint for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointState {
    /// State of its breaker.
    pub breaker: BreakerState,
    /// Since when its breaker has not been closed.
    pub ejected_since: Option<Instant>,
    /// Whether the breaker only counts and refuses nothing.
    pub simulated: bool,
    /// Number of calls in flight.
    pub in_flight: usize,
    /// Number of calls in the breaker's window.
    pub calls: u32,
    /// Number of those that failed.
    pub failed: u32,
}

/// One kind of traffic to a far system. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint(Arc<EndpointInner>);

struct EndpointInner {
    pool: Pool,
    name: String,
    concurrency: usize,
    places: Arc<Semaphore>,
    late: LateWatch,
    attempts: u8,
    breaker: Mutex<Breaker>,
    retries: Mutex<RetryBudget>,
    figures: EndpointMetrics,
}

impl Endpoint {
    pub(super) fn new(pool: Pool, name: &str, rules: EndpointRules) -> Self {
        pool.panel().join();
        let concurrency = rules.concurrency.min(Semaphore::MAX_PERMITS);
        let late = LateWatch::new(pool.name(), name, rules.late_patience, concurrency);
        Self(Arc::new(EndpointInner {
            figures: EndpointMetrics::new(pool.name(), name),
            pool,
            name: name.to_owned(),
            concurrency,
            places: Arc::new(Semaphore::new(concurrency)),
            late,
            attempts: rules.retry.attempts.max(1),
            breaker: Mutex::new(Breaker::new(rules.breaker)),
            retries: Mutex::new(RetryBudget::new(rules.retry)),
        }))
    }

    /// Sends a call and reads the whole reply, until `deadline`. Report a verdict on it by [`Self::judged`].
    pub async fn call(&self, call: Call, deadline: Instant) -> Result<CallReply, CallError> {
        self.call_heard(call, deadline, || None).await
    }

    /// Like [`call`](Self::call). `ear` receives the outcome of a sampled late answer.
    pub async fn call_heard(
        &self,
        call: Call,
        deadline: Instant,
        ear: impl FnOnce() -> Option<LateReplyCallback>,
    ) -> Result<CallReply, CallError> {
        self.0.call(call, deadline, ear).await.inspect_err(|error| self.0.figures.error(*error))
    }

    /// Connects as a call would and disconnects ([`Pool::reach`]), without effect on breaker and limits.
    pub async fn reach(&self, url: &str) -> Result<(), CallError> {
        self.0.pool.reach(url).await
    }

    /// Reports whether a reply made sense. Server errors and garbage are failures; a decline is not.
    pub fn judged(&self, ok: bool) {
        self.0.judge(ok);
    }

    /// A snapshot for display.
    pub fn state(&self) -> EndpointState {
        let breaker = self.0.breaker.lock();
        let CallTally { calls, failed } = breaker.tally(Instant::now());
        let simulated = self.0.pool.panel().simulates();
        let in_flight = self.0.concurrency - self.0.places.available_permits();
        let (breaker, ejected_since) = (breaker.state(), breaker.ejected_since);
        EndpointState { breaker, ejected_since, simulated, in_flight, calls, failed }
    }
}

impl EndpointInner {
    async fn call(
        &self,
        call: Call,
        deadline: Instant,
        ear: impl FnOnce() -> Option<LateReplyCallback>,
    ) -> Result<CallReply, CallError> {
        if Instant::now() >= deadline {
            return Err(CallError::NoTime);
        }
        let prepared = self.pool.prepare(call)?;
        let _place = self.places.try_acquire().map_err(|_| CallError::Busy)?;
        let under_way = self.admit(deadline)?;
        let result = self.send(&prepared, deadline, ear).await;
        under_way.end(&result);
        result
    }

    fn admit(&self, deadline: Instant) -> Result<AdmittedCall<'_>, CallError> {
        let mut breaker = self.breaker.lock();
        let before = breaker.state();
        let admitted = breaker.admits(Instant::now());
        if breaker.state() != before {
            self.figures.breaker(breaker.state());
        }
        drop(breaker);
        if !admitted && !self.pool.panel().simulates() {
            return Err(CallError::BreakerOpen);
        }
        self.figures.in_flight.increment(1.0);
        Ok(AdmittedCall { endpoint: self, deadline, ended: false })
    }

    async fn send(
        &self,
        prepared: &PreparedCall,
        deadline: Instant,
        ear: impl FnOnce() -> Option<LateReplyCallback>,
    ) -> Result<CallReply, CallError> {
        self.retries.lock().call();
        let begun = Instant::now();
        let mut ear = Some(ear);
        let mut too_late = |reply: BoxFuture<'static, Result<CallReply, CallError>>| {
            if let Some(ear) = ear.take() {
                self.late.watch(begun, &self.places, ear, reply);
            }
        };
        let mut sent = 1;
        loop {
            match self.pool.attempt(prepared, deadline, &mut too_late).await {
                Ok(reply) => return Ok(CallReply { sent, ..reply }),
                Err(failed)
                    if sent < self.attempts && self.may_repeat(failed, prepared.idempotent, deadline) =>
                {
                    sent += 1;
                    self.figures.retried.increment(1);
                }
                Err(failed) => return Err(failed.error),
            }
        }
    }

    fn may_repeat(&self, failed: FailedAttempt, idempotent: bool, deadline: Instant) -> bool {
        let now = Instant::now();
        failed.may_repeat(idempotent) && now < deadline && self.retries.lock().withdraw(now)
    }

    fn judge(&self, ok: bool) {
        let now = Instant::now();
        let mut breaker = self.breaker.lock();
        let Some(turn) = breaker.judge(now, ok, || self.pool.panel().eject()) else { return };
        let CallTally { calls, failed } = breaker.tally(now);
        self.figures.breaker(breaker.state());
        drop(breaker);
        let (pool, endpoint, simulated) = (self.pool.name(), &*self.name, self.pool.panel().simulates());
        match turn {
            BreakerChange::Opened(open_for) => {
                let open_for = open_for.as_secs_f64();
                tracing::warn!(pool, endpoint, simulated, open_for, calls, failed, "breaker opened");
            }
            BreakerChange::Held => {
                tracing::warn!(
                    pool,
                    endpoint,
                    calls,
                    failed,
                    "breaker stays closed: the limit of ejected partners is reached"
                );
            }
            BreakerChange::Closed => {
                self.pool.panel().restore();
                tracing::info!(pool, endpoint, simulated, "breaker closed");
            }
        }
    }
}

impl Drop for EndpointInner {
    fn drop(&mut self) {
        let ejected = self.breaker.lock().ejected_since.is_some();
        self.pool.panel().leave(ejected);
    }
}

/// An admitted call. However it ends, even if dropped, it reports to the breaker.
struct AdmittedCall<'a> {
    endpoint: &'a EndpointInner,
    deadline: Instant,
    ended: bool,
}

impl AdmittedCall<'_> {
    fn end(mut self, result: &Result<CallReply, CallError>) {
        self.ended = true;
        match result {
            Ok(_) => {}
            Err(error) if error.blames_far_side() => self.endpoint.judge(false),
            Err(_) => self.endpoint.breaker.lock().forget(),
        }
    }
}

impl Drop for AdmittedCall<'_> {
    fn drop(&mut self) {
        self.endpoint.figures.in_flight.decrement(1.0);
        if self.ended {
            return;
        }
        // A caller with the same deadline may give up slightly before the call does.
        if Instant::now() >= self.deadline {
            self.endpoint.judge(false);
        } else {
            self.endpoint.breaker.lock().forget();
        }
    }
}
