//! One kind of traffic to a remote system, with its concurrency limit, breaker and retries.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use metrics::{Counter, Gauge, counter, gauge};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::breaker::{Breaker, BreakerChange, BreakerRules, BreakerState};
use super::call::{Call, CallReply, CallResult};
use super::error::{CallError, FailedAttempt};
use super::late::{LateListener, LateWatch};
use super::pool::{Pool, PreparedCall};
use super::retry::{RetryBudget, RetryRules};
use super::window::CallTally;
use offerd_base::telemetry::metrics::{WIRE_BREAKER_STATE, WIRE_ERRORS, WIRE_IN_FLIGHT, WIRE_RETRIES};

/// Limits of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointRules {
    /// Maximum concurrent calls; further ones are refused at once.
    pub concurrency: usize,
    /// When the breaker opens; `None` for an endpoint without one, which refuses no call for earlier failures.
    pub breaker: Option<BreakerRules>,
    /// When calls are retried.
    pub retry: RetryRules,
    /// How long a sample of calls waits for an answer after its deadline; zero disables this.
    pub late_patience: Duration,
}

impl Default for EndpointRules {
    fn default() -> Self {
        Self {
            concurrency: 64,
            breaker: Some(BreakerRules::default()),
            retry: RetryRules::default(),
            late_patience: Duration::ZERO,
        }
    }
}

/// A snapshot of an endpoint for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointState {
    /// State of its breaker.
    pub breaker: BreakerState,
    /// Since when its breaker has not been closed.
    pub ejected_since: Option<Instant>,
    /// How long an open breaker still lets no call through; `None` unless it is open.
    pub asks_again_in: Option<Duration>,
    /// Why the last failed call failed, in our words, with nothing of what was sent or answered.
    pub last_failure: Option<Arc<str>>,
    /// Whether the breaker only counts and refuses nothing.
    pub only_logged: bool,
    /// Number of calls in flight.
    pub in_flight: usize,
    /// Number of calls in the breaker's window.
    pub calls: u32,
    /// Number of those that failed.
    pub failed: u32,
}

/// One kind of traffic to a remote system. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint(Arc<EndpointInner>);

struct EndpointInner {
    pool: Pool,
    name: String,
    concurrency: usize,
    places: Arc<Semaphore>,
    late: LateWatch,
    attempts: u8,
    breaker: Option<EndpointBreaker>,
    last_failure: Mutex<Option<Arc<str>>>,
    retries: Mutex<RetryBudget>,
    figures: EndpointMetrics,
}

struct EndpointBreaker {
    breaker: Mutex<Breaker>,
    /// Of the endpoint's own rules.
    open_ceiling: Duration,
}

impl Endpoint {
    pub(super) fn new(pool: Pool, name: &str, rules: EndpointRules) -> Self {
        let breaker = rules.breaker.map(|rules| {
            pool.group().join();
            EndpointBreaker { breaker: Mutex::new(Breaker::new(rules)), open_ceiling: rules.open_ceiling }
        });
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
            breaker,
            last_failure: Mutex::default(),
            retries: Mutex::new(RetryBudget::new(rules.retry)),
        }))
    }

    /// Sends a call and reads the whole reply, until `deadline`. Report a verdict on it by [`Self::report`].
    pub async fn call(&self, call: Call, deadline: Instant) -> CallResult {
        self.call_heard(call, deadline, || None).await
    }

    /// Like [`call`](Self::call). `late` receives the outcome of a sampled late answer.
    pub async fn call_heard(&self, call: Call, deadline: Instant, late: impl LateListener) -> CallResult {
        self.0.call(call, deadline, late).await.inspect_err(|error| self.0.figures.error(*error))
    }

    /// Connects as a call would and disconnects ([`Pool::reach`]), without effect on breaker and limits.
    pub async fn reach(&self, url: &str) -> Result<(), CallError> {
        self.0.pool.reach(url).await
    }

    /// Reports whether a reply made sense, or its fault in our words. Server errors and garbage are faults; a
    /// decline is not.
    pub fn report(&self, verdict: Result<(), String>) {
        self.0.judge(verdict.err());
    }

    /// Lets the next calls through the breaker at once, as probes. Returns whether it was not closed.
    pub fn probe(&self) -> bool {
        self.0.breaker().is_some_and(|mut breaker| breaker.probe(Instant::now()))
    }

    /// A snapshot for display.
    pub fn state(&self) -> EndpointState {
        let (breaker, now) = (self.0.breaker(), Instant::now());
        let breaker = breaker.as_deref();
        let CallTally { calls, failed } = breaker.map(|breaker| breaker.tally(now)).unwrap_or_default();
        let open_until = breaker.and_then(Breaker::open_until);
        EndpointState {
            breaker: breaker.map_or(BreakerState::Closed, Breaker::state),
            ejected_since: breaker.and_then(|breaker| breaker.ejected_since),
            asks_again_in: open_until.map(|until| until.saturating_duration_since(now)),
            last_failure: self.0.last_failure.lock().clone(),
            only_logged: self.0.pool.group().rules().breakers_only_log,
            in_flight: self.0.concurrency - self.0.places.available_permits(),
            calls,
            failed,
        }
    }
}

impl EndpointState {
    /// The state of the breaker in words, with its [detail](Self::detail).
    pub fn description(&self) -> String {
        let state = self.breaker.word();
        self.detail().map_or_else(|| state.to_owned(), |detail| format!("{state}, {detail}"))
    }

    /// When a breaker asks again, and the last failure; `None` while it is closed.
    pub fn detail(&self) -> Option<String> {
        let does = match (self.breaker, self.asks_again_in.unwrap_or_default()) {
            (BreakerState::Closed, _) => return None,
            (BreakerState::HalfOpen, _) => "lets a few calls through".to_owned(),
            (BreakerState::Open, _) if self.only_logged => "only counts".to_owned(),
            (BreakerState::Open, Duration::ZERO) => "asks again with the next call".to_owned(),
            (BreakerState::Open, time) => format!("asks again in {} s", time.as_millis().div_ceil(1000)),
        };
        Some(match &self.last_failure {
            Some(last) => format!("{does}; last: {last}"),
            None => does,
        })
    }
}

impl EndpointInner {
    async fn call(&self, call: Call, deadline: Instant, late: impl LateListener) -> CallResult {
        if Instant::now() >= deadline {
            return Err(CallError::NoTime);
        }
        let prepared = self.pool.prepare(call)?;
        let _place = self.places.try_acquire().map_err(|_| CallError::Busy)?;
        let under_way = self.admit(deadline)?;
        let result = self.send(&prepared, deadline, late).await;
        under_way.end(&result);
        result
    }

    /// The breaker, if there is one, under the current rules of the group.
    fn breaker(&self) -> Option<MutexGuard<'_, Breaker>> {
        let EndpointBreaker { breaker, open_ceiling } = self.breaker.as_ref()?;
        let mut breaker = breaker.lock();
        let open_ceiling = (*open_ceiling).min(self.pool.group().rules().open_ceiling);
        breaker.set_open_ceiling(Instant::now(), open_ceiling);
        Some(breaker)
    }

    fn admit(&self, deadline: Instant) -> Result<AdmittedCall<'_>, CallError> {
        if !self.breaker_admits() && !self.pool.group().rules().breakers_only_log {
            return Err(CallError::BreakerOpen);
        }
        self.figures.in_flight.increment(1.0);
        Ok(AdmittedCall { endpoint: self, deadline, ended: false })
    }

    fn breaker_admits(&self) -> bool {
        let Some(mut breaker) = self.breaker() else { return true };
        let before = breaker.state();
        let admitted = breaker.admits(Instant::now());
        if breaker.state() != before {
            self.figures.breaker(breaker.state());
        }
        admitted
    }

    async fn send(&self, prepared: &PreparedCall, deadline: Instant, late: impl LateListener) -> CallResult {
        self.retries.lock().call();
        let begun = Instant::now();
        let mut late = Some(late);
        let mut too_late = |reply: BoxFuture<'static, CallResult>| {
            if let Some(late) = late.take() {
                self.late.watch(begun, &self.places, late, reply);
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

    fn judge(&self, fault: Option<String>) {
        let now = Instant::now();
        let ok = fault.is_none();
        if let Some(fault) = fault {
            *self.last_failure.lock() = Some(fault.into());
        }
        let Some(mut breaker) = self.breaker() else { return };
        let Some(turn) = breaker.judge(now, ok, || self.pool.group().try_eject()) else { return };
        let CallTally { calls, failed } = breaker.tally(now);
        self.figures.breaker(breaker.state());
        drop(breaker);
        let (pool, endpoint, last) = (self.pool.name(), &*self.name, self.last_failure.lock().clone());
        let last = last.as_deref();
        let only_logged = self.pool.group().rules().breakers_only_log;
        match turn {
            BreakerChange::Opened(open_for) => {
                let open_for = open_for.as_secs_f64();
                tracing::warn!(pool, endpoint, only_logged, open_for, calls, failed, last, "breaker opened");
            }
            BreakerChange::NotEjected => {
                let held = "breaker stays closed: `wire.max_open_percent` breakers are open";
                tracing::warn!(pool, endpoint, calls, failed, last, "{held}");
            }
            BreakerChange::Closed => {
                self.pool.group().restore();
                tracing::info!(pool, endpoint, only_logged, "breaker closed");
            }
        }
    }

    /// Lets the breaker forget a call that says nothing about the remote system.
    fn forget(&self) {
        if let Some(mut breaker) = self.breaker() {
            breaker.forget();
        }
    }
}

impl Drop for EndpointInner {
    fn drop(&mut self) {
        let Some(of) = &self.breaker else { return };
        let is_ejected = of.breaker.lock().ejected_since.is_some();
        self.pool.group().leave(is_ejected);
        if is_ejected {
            self.figures.breaker(BreakerState::Closed);
        }
    }
}

/// An admitted call. However it ends, even if dropped, it reports to the breaker.
struct AdmittedCall<'a> {
    endpoint: &'a EndpointInner,
    deadline: Instant,
    ended: bool,
}

impl AdmittedCall<'_> {
    fn end(mut self, result: &CallResult) {
        self.ended = true;
        match result {
            Ok(_) => {}
            Err(error) if error.blames_remote_system() => self.endpoint.judge(Some(error.to_string())),
            Err(_) => self.endpoint.forget(),
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
            self.endpoint.judge(Some("time ran out before the answer was complete".to_owned()));
        } else {
            self.endpoint.forget();
        }
    }
}

/// The metrics of an endpoint.
struct EndpointMetrics {
    labels: [(&'static str, String); 2],
    in_flight: Gauge,
    retried: Counter,
    breaker_state: Gauge,
}

impl EndpointMetrics {
    fn new(pool: &str, endpoint: &str) -> Self {
        let labels = [("pool", pool.to_owned()), ("endpoint", endpoint.to_owned())];
        let (in_flight, breaker_state) =
            (gauge!(WIRE_IN_FLIGHT, &labels), gauge!(WIRE_BREAKER_STATE, &labels));
        Self { in_flight, breaker_state, retried: counter!(WIRE_RETRIES, &labels), labels }
    }

    fn breaker(&self, state: BreakerState) {
        self.breaker_state.set(f64::from(state as u8));
    }

    fn error(&self, error: CallError) {
        let [(_, pool), (_, endpoint)] = self.labels.clone();
        counter!(WIRE_ERRORS, "pool" => pool, "endpoint" => endpoint, "cause" => error.label()).increment(1);
    }
}
