//! Who gets past: how often one client may ask, how much may be under way at once, and whether new work is turned away since
//! the process is late. Everything is decided before the body is read, so turning away costs little.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Method};
use ipnet::IpNet;
use metrics::{Counter, counter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;
use warp::reply::Response;

use super::allowance::{Allowances, Rate, Standing};
use super::bodies::Bodies;
use super::caller::Principal;
use super::client_address::{client_address, household, is_in};
use super::failure::Failure;
use super::peer::Peer;
use super::pulse::Pulse;
use super::stock_answer::StockAnswer;
use crate::shares::{Share, Shares};
use crate::telemetry::metrics::HTTP_REQUESTS_REFUSED;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Seconds after which who was turned away for load may come again.
const RETRY_AFTER_LOAD_S: u32 = 1;

/// The reason to turn new work away while the process is late.
const LATE: &str = "late";

/// Requests that bring new work and are let in however late the process is. So few make no queue, and it does not starve
/// when it is late for another's sake.
const NEVER_SHED: usize = 32;

/// What a gate lets past; `limits.*` in the settings.
#[derive(Debug, Clone, Default)]
pub struct GateRules {
    /// Of one company, over all its tokens, or of one partner institution.
    pub per_company: Option<Rate>,
    /// Of one address.
    pub per_address: Option<Rate>,
    /// Networks that no rate holds for.
    pub exempt: Vec<IpNet>,
    /// Networks of proxies that tell whom they forward for.
    pub trusted_proxies: Vec<IpNet>,
    /// Requests under way; 0 sets no limit.
    pub requests: usize,
    /// Those of one company; 0 sets no limit.
    pub requests_per_company: usize,
    /// Bytes of bodies under way; 0 sets no limit.
    pub body_bytes: usize,
    /// Those of one company; 0 sets no limit.
    pub body_bytes_per_company: usize,
    /// How late tasks may run, or what is heeded may be, before new work is turned away; zero sets no limit.
    pub shed_delay: Duration,
}

/// One gate, for all the listeners of a daemon that share its limits.
pub struct Gate {
    rules: GateRules,
    companies: Option<Allowances<Account>>,
    addresses: Option<Allowances<IpAddr>>,
    requests: Arc<Semaphore>,
    shares: Shares,
    /// Requests under way that bring new work.
    working: Arc<AtomicUsize>,
    bodies: Bodies,
    pulse: Arc<Pulse>,
    /// What is said to new work while the process is late, and how often that was.
    late: StockAnswer,
    refused_late: Counter,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Gate").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// Whose token it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Account {
    Company(Uuid),
    Partner(Arc<str>),
}

/// One request at the gate, and what it holds until it is answered.
#[derive(Debug, Default)]
pub(super) struct Visit {
    /// `None` when no rate holds for it.
    limited_address: Option<IpAddr>,
    limited: bool,
    standings: Vec<Standing>,
    passage: Passage,
}

/// What a request holds while it is under way.
#[derive(Debug, Default)]
pub(super) struct Passage {
    _request: Option<OwnedSemaphorePermit>,
    _share: Option<Share>,
    _work: Option<Work>,
}

/// One of the requests that bring new work.
#[derive(Debug)]
struct Work(Arc<AtomicUsize>);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gate {
    /// A gate by its rules. `pulse` tells how late the process is.
    pub fn new(rules: GateRules, pulse: Arc<Pulse>) -> Self {
        Self {
            companies: rules.per_company.map(|rate| Allowances::new("company", rate)),
            addresses: rules.per_address.map(|rate| Allowances::new("address", rate)),
            requests: places(rules.requests),
            shares: Shares::default(),
            working: Arc::default(),
            bodies: Bodies::new(rules.body_bytes, rules.body_bytes_per_company),
            pulse,
            late: Failure::overloaded(RETRY_AFTER_LOAD_S).into(),
            refused_late: refused(LATE),
            rules,
        }
    }

    /// A gate that stands open, as that of the admin listener: whoever gets there must be answered above all under load.
    pub fn open() -> Self {
        Self::new(GateRules::default(), Pulse::new())
    }

    /// A beat of the pulse, to be spawned on each thread and runtime that may be late.
    pub fn beat(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        self.pulse.beat()
    }

    /// Has new work be turned away also when this is late.
    pub fn heed(&self, signal: impl Fn() -> Duration + Send + Sync + 'static) {
        self.pulse.heed(signal);
    }

    /// How late the process is.
    pub fn lateness(&self) -> Duration {
        self.pulse.delay()
    }

    /// A request arrives.
    pub(super) fn visit(&self, peer: Option<Peer>, headers: &HeaderMap) -> Visit {
        if self.companies.is_none() && self.addresses.is_none() {
            return Visit::default();
        }
        let address = client_address(peer, headers, &self.rules.trusted_proxies);
        let limited = !address.is_some_and(|address| is_in(&self.rules.exempt, address));
        Visit { limited_address: address.filter(|_| limited), limited, ..Visit::default() }
    }

    /// Counts a request for its address, and takes a place among those under way.
    ///
    /// # Errors
    /// 429 or 503.
    pub(super) fn let_in(&self, visit: &mut Visit) -> Result<(), Failure> {
        if let (Some(addresses), Some(address)) = (&self.addresses, visit.limited_address) {
            visit.count(addresses.take(&household(address)), "address_rate")?;
        }
        let place = Arc::clone(&self.requests).try_acquire_owned();
        visit.passage._request = Some(place.map_err(|_| turned_away("requests"))?);
        Ok(())
    }

    /// Whether new work is turned away just now, because the process is late.
    pub(super) fn sheds(&self, method: &Method) -> bool {
        !reads(method) && self.is_late_with(self.working.load(Ordering::Relaxed))
    }

    /// Turns new work away while the process is late, or takes a place for it. What only reads goes on: a client that polls has
    /// its lead in.
    ///
    /// # Errors
    /// 503.
    pub(super) fn shed(&self, visit: &mut Visit, method: &Method) -> Result<(), Failure> {
        if reads(method) {
            return Ok(());
        }
        let others = self.working.fetch_add(1, Ordering::Relaxed);
        visit.passage._work = Some(Work(Arc::clone(&self.working)));
        if self.is_late_with(others) { Err(turned_away(LATE)) } else { Ok(()) }
    }

    /// What is said to new work that is turned away for lateness; counted.
    pub(super) fn refuse_late(&self) -> Response {
        self.refused_late.increment(1);
        self.late.give()
    }

    /// Whether the process is late, and with so many at work is not left to itself.
    fn is_late_with(&self, at_work: usize) -> bool {
        let most = self.rules.shed_delay;
        !most.is_zero() && at_work >= NEVER_SHED && self.lateness() > most
    }

    /// Counts a request for its company, and for what the company has under way.
    ///
    /// # Errors
    /// 429.
    pub(super) fn let_company_in(
        &self,
        visit: &mut Visit,
        principal: Option<&Principal>,
    ) -> Result<(), Failure> {
        let account = match principal {
            Some(Principal::Company(caller)) => Account::Company(caller.company),
            Some(Principal::Partner(partner)) => Account::Partner(Arc::clone(partner)),
            None => return Ok(()),
        };
        if let Some(companies) = self.companies.as_ref().filter(|_| visit.limited) {
            visit.count(companies.take(&account), "company_rate")?;
        }
        let Account::Company(company) = account else { return Ok(()) };
        let share = self.shares.take(company, 1, self.rules.requests_per_company);
        visit.passage._share = Some(share.ok_or_else(|| asks_too_much("company_requests"))?);
        Ok(())
    }

    /// The memory for bodies.
    pub(super) fn bodies(&self) -> Bodies {
        self.bodies.clone()
    }
}

impl Visit {
    /// What is to be held until the answer is out.
    pub(super) fn passage(&mut self) -> Passage {
        std::mem::take(&mut self.passage)
    }

    /// Tells the client how its allowances stand, if it has any.
    pub(super) fn mark(&self, headers: &mut HeaderMap) {
        if self.standings.is_empty() {
            return;
        }
        let list = |item: fn(&Standing) -> String| {
            let items: Vec<String> = self.standings.iter().map(item).collect();
            HeaderValue::try_from(items.join(", ")).expect("names and numbers are visible ASCII")
        };
        headers.insert(RATE_LIMIT_POLICY, list(Standing::policy));
        headers.insert(RATE_LIMIT, list(Standing::state));
    }

    fn count(&mut self, standing: Standing, reason: &'static str) -> Result<(), Failure> {
        self.standings.push(standing);
        let Some(wait_s) = standing.retry_after_s else { return Ok(()) };
        refused(reason).increment(1);
        Err(Failure::too_many_requests(wait_s))
    }
}

fn reads(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

/// So many places; 0 sets no limit.
pub(super) fn places(most: usize) -> Arc<Semaphore> {
    let most = if most == 0 { usize::MAX } else { most };
    Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))
}

/// 429, counted: one caller has as much under way as it may.
pub(super) fn asks_too_much(reason: &'static str) -> Failure {
    refused(reason).increment(1);
    Failure::too_many_requests(RETRY_AFTER_LOAD_S)
}

/// 503, counted: all callers together have.
pub(super) fn turned_away(reason: &'static str) -> Failure {
    refused(reason).increment(1);
    Failure::overloaded(RETRY_AFTER_LOAD_S)
}

/// Requests that were refused for a reason.
fn refused(reason: &'static str) -> Counter {
    counter!(HTTP_REQUESTS_REFUSED, "reason" => reason)
}
