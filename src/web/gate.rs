//! Who gets past: how often one client may ask, how much may be under way at once, and what becomes of new work when there is
//! more of it than the process can do. Everything is decided before the body is read, so turning away costs little.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Method};
use ipnet::IpNet;
use metrics::{Counter, counter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;
use warp::reply::Response;

use super::allowance::{Allowances, Rate, Standing};
use super::caller::Principal;
use super::client_address::{Peer, client_address, household, is_in};
use super::failure::Failure;
use offerd_base::load_shedder::{LoadShedder, Permit, Shed, ShedderRules};
use offerd_base::shares::{Share, Shares};
use offerd_base::telemetry::metrics::HTTP_REQUESTS_REFUSED;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Seconds after which who was turned away for load may come again.
const RETRY_AFTER_LOAD_S: u32 = 1;

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
    /// How much new work is let in; `None` sets no limit.
    pub new_work: Option<ShedderRules>,
}

/// One gate, for all the listeners of a daemon that share its limits.
pub struct Gate {
    rules: GateRules,
    companies: Option<Allowances<Account>>,
    addresses: Option<Allowances<IpAddr>>,
    requests: Arc<Semaphore>,
    shares: Shares,
    bodies: Bodies,
    shedder: Option<LoadShedder>,
    /// What is said to new work that there is no room for in line, and how often that was.
    overloaded: hyper::Response<Bytes>,
    refused_full: Counter,
}

/// Whose token it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Account {
    Company(Uuid),
    Partner(Arc<str>),
}

/// The memory for the bodies of requests under way: so much for all, and of it so much for each company.
///
/// Counts the bytes that bodies may take. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Bodies {
    all: Arc<Semaphore>,
    shares: Shares,
    /// Of one company; 0 sets no limit of its own.
    of_one: usize,
}

/// A part of the memory, held until it is dropped.
pub(super) type Room = (OwnedSemaphorePermit, Option<Share>);

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
}

impl Gate {
    /// A gate by its rules. `disk_wait` tells how long a commit may have waited for the disk just now, which is no queueing;
    /// `None` while the disk does not answer.
    pub fn new(rules: GateRules, disk_wait: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Self {
        Self {
            companies: rules.per_company.map(|rate| Allowances::new("company", rate)),
            addresses: rules.per_address.map(|rate| Allowances::new("address", rate)),
            requests: places(rules.requests),
            shares: Shares::default(),
            bodies: Bodies::new(rules.body_bytes, rules.body_bytes_per_company),
            shedder: rules.new_work.map(|rules| LoadShedder::new(rules, disk_wait)),
            overloaded: Failure::overloaded(RETRY_AFTER_LOAD_S).into_stock(),
            refused_full: counter!(HTTP_REQUESTS_REFUSED, "reason" => word(Shed::Full)),
            rules,
        }
    }

    /// A gate that stands open, as that of the admin listener: whoever gets there must be answered above all under load.
    pub fn open() -> Self {
        Self::new(GateRules::default(), || None)
    }

    /// How long new work queues just now, for who has less urgent things to do.
    pub fn queueing(&self) -> Duration {
        self.shedder.as_ref().map_or(Duration::ZERO, LoadShedder::queueing)
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

    /// What turns away new work just now, because the queue for it is full. What only reads is let past: a client that polls
    /// has its lead in.
    pub(super) fn full_line(&self, method: &Method) -> Option<&LoadShedder> {
        self.shedder.as_ref().filter(|shedder| !reads(method) && shedder.is_full())
    }

    /// What is said to new work that there is no room for in line; counted.
    pub(super) fn refuse_full(&self) -> Response {
        self.refused_full.increment(1);
        self.overloaded.clone().map(Into::into)
    }

    /// Lets new work of a company in, perhaps after it has waited for that, and what only reads at once.
    ///
    /// # Errors
    /// 503.
    pub(super) async fn permit(&self, method: &Method, company: Option<Uuid>) -> Result<Permit, Failure> {
        match &self.shedder {
            Some(shedder) if !reads(method) => {
                let permit = shedder.permit(company.unwrap_or_default()).await;
                permit.map_err(|shed| turned_away(word(shed)))
            }
            _ => Ok(Permit::default()),
        }
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

impl Bodies {
    /// So many bytes for all, and for each company; 0 sets no limit.
    pub(super) fn new(of_all: usize, of_one: usize) -> Self {
        Self { all: places(of_all), shares: Shares::default(), of_one }
    }

    /// Room for a body that will be `bytes` long at most, of a company if one sends it.
    ///
    /// # Errors
    /// 429 when the company's part is taken, 503 when all is.
    pub(super) fn room(&self, company: Option<Uuid>, bytes: usize) -> Result<Room, Failure> {
        let share = company.map(|company| self.shares.take(company, bytes, self.of_one));
        let of_company =
            share.map(|share| share.ok_or_else(|| asks_too_much("company_body_bytes"))).transpose()?;
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let of_all = Arc::clone(&self.all).try_acquire_many_owned(bytes);
        Ok((of_all.map_err(|_| turned_away("body_bytes"))?, of_company))
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
        standing.allowed(reason)
    }
}

fn reads(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

/// The reason in metrics.
fn word(shed: Shed) -> &'static str {
    match shed {
        Shed::Full => "queue",
        Shed::Waited => "queue_wait",
        Shed::Displaced => "queue_share",
    }
}

/// So many places; 0 sets no limit.
fn places(most: usize) -> Arc<Semaphore> {
    let most = if most == 0 { usize::MAX } else { most };
    Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))
}

/// 429, counted: one caller has as much under way as it may.
fn asks_too_much(reason: &'static str) -> Failure {
    Failure::too_many_requests(RETRY_AFTER_LOAD_S).counted(reason)
}

/// 503, counted: all callers together have.
fn turned_away(reason: &'static str) -> Failure {
    Failure::overloaded(RETRY_AFTER_LOAD_S).counted(reason)
}
