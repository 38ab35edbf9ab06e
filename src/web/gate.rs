//! Admission before the body is read: rate limits, limits of concurrent requests, and load shedding.

use std::net::IpAddr;

use ipnet::IpNet;
use metrics::{Counter, counter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use warp::reply::Response;

use super::allowance::{AllowanceStatus, Allowances, Rate};
use super::caller::Principal;
use super::client_address::{client_address, household, is_in};
use super::prelude::*;
use offerd_base::load_shedder::{LoadShedder, Permit, Shed, ShedderRules};
use offerd_base::shares::{CompanyShare, CompanyShares};
use offerd_base::telemetry::metrics::HTTP_REQUESTS_REFUSED;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

const RETRY_AFTER_LOAD_S: u32 = 1;

/// The limits of a gate; `limits.*` in the settings.
#[derive(Debug, Clone, Default)]
pub struct GateRules {
    /// The rate of one company, over all its tokens, or of one partner institution.
    pub per_company: Option<Rate>,
    /// The rate of one address.
    pub per_address: Option<Rate>,
    /// Networks that are exempt from the rates.
    pub exempt: Vec<IpNet>,
    /// Networks of proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Concurrent requests; 0 means no limit.
    pub requests: usize,
    /// Concurrent requests of one company; 0 means no limit.
    pub requests_per_company: usize,
    /// Bytes of request bodies in memory; 0 means no limit.
    pub body_bytes: usize,
    /// Bytes of request bodies of one company; 0 means no limit.
    pub body_bytes_per_company: usize,
    /// Load shedding of new work; `None` means no limit.
    pub new_work: Option<ShedderRules>,
}

/// One gate, shared by all listeners of a daemon that share its limits.
pub struct Gate {
    rules: GateRules,
    companies: Option<Allowances<Account>>,
    addresses: Option<Allowances<IpAddr>>,
    requests: Arc<Semaphore>,
    shares: CompanyShares,
    pub(super) bodies: Bodies,
    shedder: Option<LoadShedder>,
    overloaded: hyper::Response<Bytes>,
    refused_full: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Account {
    Company(Uuid),
    Partner(Arc<str>),
}

#[derive(Debug, Clone)]
pub(super) struct Bodies {
    all: Arc<Semaphore>,
    shares: CompanyShares,
    of_one: usize,
}

pub(super) type BodyMemory = (OwnedSemaphorePermit, Option<CompanyShare>);

#[derive(Debug, Default)]
pub(super) struct RequestAdmission {
    limited_address: Option<IpAddr>,
    limited: bool,
    statuses: Vec<AllowanceStatus>,
    pub(super) permits: HeldPermits,
    pub(super) caller: Option<Arc<str>>,
}

#[derive(Debug, Default)]
pub(super) struct HeldPermits {
    _request: Option<OwnedSemaphorePermit>,
    _share: Option<CompanyShare>,
}

impl Gate {
    /// `disk_wait` is how long a commit may have waited for the disk, which is not queueing.
    pub fn new(rules: GateRules, disk_wait: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Self {
        Self {
            companies: rules.per_company.map(|rate| Allowances::new("company", rate)),
            addresses: rules.per_address.map(|rate| Allowances::new("address", rate)),
            requests: places(rules.requests),
            shares: CompanyShares::default(),
            bodies: Bodies::new(rules.body_bytes, rules.body_bytes_per_company),
            shedder: rules.new_work.map(|rules| LoadShedder::new(rules, disk_wait)),
            overloaded: Failure::overloaded(RETRY_AFTER_LOAD_S).into_stock(),
            refused_full: counter!(HTTP_REQUESTS_REFUSED, "reason" => word(Shed::Full)),
            rules,
        }
    }

    /// A gate without limits, for the admin listener.
    pub fn open() -> Self {
        Self::new(GateRules::default(), || None)
    }

    /// How long new work currently queues, so that less urgent work can yield.
    pub fn queueing(&self) -> Duration {
        self.shedder.as_ref().map_or(Duration::ZERO, LoadShedder::queueing)
    }

    /// The address of the client, past trusted proxies.
    pub(super) fn address(&self, peer: Option<Peer>, headers: &HeaderMap) -> Option<IpAddr> {
        client_address(peer, headers, &self.rules.trusted_proxies)
    }

    pub(super) fn admission(&self, peer: Option<Peer>, headers: &HeaderMap) -> RequestAdmission {
        if self.companies.is_none() && self.addresses.is_none() {
            return RequestAdmission::default();
        }
        let address = self.address(peer, headers);
        let limited = !address.is_some_and(|address| is_in(&self.rules.exempt, address));
        RequestAdmission {
            limited_address: address.filter(|_| limited),
            limited,
            ..RequestAdmission::default()
        }
    }

    pub(super) fn admit_address(&self, admission: &mut RequestAdmission) -> Result<(), Failure> {
        if let (Some(addresses), Some(address)) = (&self.addresses, admission.limited_address) {
            admission.count(addresses.take(&household(address)), "address_rate")?;
        }
        let place = Arc::clone(&self.requests).try_acquire_owned();
        admission.permits._request = Some(place.map_err(|_| turned_away("requests"))?);
        Ok(())
    }

    /// The load shedder, if its queue is full and the request is new work.
    pub(super) fn shedder_if_full(&self, method: &Method) -> Option<&LoadShedder> {
        self.shedder.as_ref().filter(|shedder| !reads(method) && shedder.is_full())
    }

    pub(super) fn refuse_full(&self) -> Response {
        self.refused_full.increment(1);
        self.overloaded.clone().map(Into::into)
    }

    /// Admits new work of a company, or 503. Requests that only read are admitted at once.
    pub(super) async fn permit(&self, method: &Method, company: Option<Uuid>) -> Result<Permit, Failure> {
        match &self.shedder {
            Some(shedder) if !reads(method) => {
                shedder.permit(company.unwrap_or_default()).await.map_err(|shed| turned_away(word(shed)))
            }
            _ => Ok(Permit::default()),
        }
    }

    /// Counts a request against its company's rate and its concurrent requests; 429.
    pub(super) fn admit_caller(
        &self,
        admission: &mut RequestAdmission,
        who: Option<&Principal>,
    ) -> Result<(), Failure> {
        let account = match who {
            Some(Principal::Company(caller)) => {
                admission.caller = Some(Arc::clone(&caller.company_name));
                Account::Company(caller.company)
            }
            Some(Principal::Partner(partner)) => {
                admission.caller = Some(Arc::clone(partner));
                Account::Partner(Arc::clone(partner))
            }
            None => return Ok(()),
        };
        if let Some(companies) = self.companies.as_ref().filter(|_| admission.limited) {
            admission.count(companies.take(&account), "company_rate")?;
        }
        let Account::Company(company) = account else { return Ok(()) };
        let share = self.shares.take(company, 1, self.rules.requests_per_company);
        admission.permits._share = Some(share.ok_or_else(|| asks_too_much("company_requests"))?);
        Ok(())
    }
}

impl Bodies {
    pub(super) fn new(of_all: usize, of_one: usize) -> Self {
        Self { all: places(of_all), shares: CompanyShares::default(), of_one }
    }

    /// Reserves `bytes` for a body: 429 when the company's budget is used up, 503 when the whole is.
    pub(super) fn room(&self, company: Option<Uuid>, bytes: usize) -> Result<BodyMemory, Failure> {
        let share = company.map(|company| self.shares.take(company, bytes, self.of_one));
        let of_company = share.map(|it| it.ok_or_else(|| asks_too_much("company_body_bytes"))).transpose()?;
        let of_all = Arc::clone(&self.all).try_acquire_many_owned(u32::try_from(bytes).unwrap_or(u32::MAX));
        Ok((of_all.map_err(|_| turned_away("body_bytes"))?, of_company))
    }
}

impl RequestAdmission {
    pub(super) fn mark(&self, headers: &mut HeaderMap) {
        if self.statuses.is_empty() {
            return;
        }
        let list = |item: fn(&AllowanceStatus) -> String| {
            let items: Vec<String> = self.statuses.iter().map(item).collect();
            HeaderValue::try_from(items.join(", ")).expect("names and numbers are visible ASCII")
        };
        headers.insert(RATE_LIMIT_POLICY, list(AllowanceStatus::policy));
        headers.insert(RATE_LIMIT, list(AllowanceStatus::state));
    }

    fn count(&mut self, status: AllowanceStatus, reason: &'static str) -> Result<(), Failure> {
        self.statuses.push(status);
        status.allowed(reason)
    }
}

fn reads(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

fn word(shed: Shed) -> &'static str {
    match shed {
        Shed::Full => "queue",
        Shed::Waited => "queue_wait",
        Shed::Displaced => "queue_share",
    }
}

fn places(most: usize) -> Arc<Semaphore> {
    let most = if most == 0 { usize::MAX } else { most };
    Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))
}

/// 429, counted: one caller is at its limit.
fn asks_too_much(reason: &'static str) -> Failure {
    Failure::too_many_requests(RETRY_AFTER_LOAD_S).counted(reason)
}

/// 503, counted: the service is at its limit.
fn turned_away(reason: &'static str) -> Failure {
    Failure::overloaded(RETRY_AFTER_LOAD_S).counted(reason)
}
