//! The public interface: its paths ([`routes`]) and their handlers, by edition.
//!
//! [`current`] has the handlers; [`v1`] translates requests and answers of the older edition. [`openapi`]
//! describes the interface, and [`offerd_web`] serves it.

pub mod click_rates;
pub mod current;
pub mod openapi;
mod prelude;
pub mod record_ids;
pub mod routes;
pub mod tls_identities;
pub mod v1;

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use tokio::sync::watch;
use uuid::Uuid;

use self::click_rates::ClickRates;
use self::current::clicks::is_opened_by_a_person;
use self::current::docs::{Addresses, Docs};
use self::current::offer_pages;
use self::current::offer_pages::brand::OfferPages;
use self::record_ids::RecordIds;
use offerd_base::config::{ApiSettings, LimitSettings, RateSettings, Settings};
use offerd_base::load_shedder::ShedderRules;
use offerd_engine::matching::{MatchingEngine, Matchmaker};
use offerd_insight::analytics::Feeds;
use offerd_insight::prefills::{PrefillRules, Prefills};
use offerd_insight::reference::{Universities, Vehicles};
use offerd_model::{InDoubt, TokenKind};
use offerd_store::partner_keys::{PartnerKeyRecord, PartnerKeys};
use offerd_store::tokens::Tokens;
use offerd_web::{
    AccessToken, AnswerMeter, Authenticate, Caller, ConnectionRules, Connections, Cors, CorsVendorPolicy,
    Drained, Failure, Gate, GateRules, Limits, Listener, Principal, QuerySigningKey, Rate, Reply, Router,
    Surface, TlsIdentity, WrongListenerHint, service,
};

/// Version of the form in which records are shown. Increase it with every change of that form.
const SHOWN_AS: u32 = 2;

/// State of the handlers.
pub struct ApiState {
    /// Accepts leads and shows rate tables.
    pub matchmaker: Matchmaker,
    /// The analytics feeds of companies.
    pub feeds: Feeds,
    /// Companies and tokens.
    pub tokens: Tokens,
    /// Keys of partners, for their reports.
    pub partner_keys: PartnerKeys,
    /// Lead data kept for a later submit.
    pub prefills: Arc<Prefills>,
    /// Names of universities.
    pub universities: Universities,
    /// Vehicle list; a reload replaces it.
    pub vehicles: watch::Receiver<Arc<Vehicles>>,
    /// The settings at the start.
    pub settings: Settings,
    /// Fingerprint of everything besides the records that answers depend on.
    pub fingerprint: Box<str>,
    /// State of the offer pages.
    pub offer_pages: OfferPages,
    /// Rate limits of clicks.
    pub click_rates: ClickRates,
    /// Ids for the records of UI events.
    pub record_ids: RecordIds,
    /// The OpenAPI document, and the page that shows it.
    pub docs: Docs,
    /// Admission control of both listeners.
    pub gate: Arc<Gate>,
    /// Which listener serves which path.
    pub wrong_listener_hint: Arc<WrongListenerHint>,
}

impl ApiState {
    /// An application from the settings; `integrations` is the address of the other listener.
    pub fn new(
        matchmaker: Matchmaker,
        tokens: Tokens,
        settings: &Settings,
        integrations: &str,
        vehicles: watch::Receiver<Arc<Vehicles>>,
        wrong_listener_hint: Arc<WrongListenerHint>,
    ) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let made_with = format!("{version} {SHOWN_AS} {}", &*matchmaker.engine().base_url);
        let engine = matchmaker.engine();
        let (api, integrations) = (engine.base_url.to_string(), integrations.to_owned());
        let docs = Docs::new(Addresses { api, integrations }, openapi::json);
        let records_max = settings.analytics.page_records_max;
        let feeds = Feeds::new(engine.records.store.clone(), engine.base_url.clone(), records_max)
            .with_days_of(settings.reports.usual_zone());
        let partner_keys = PartnerKeys::of(engine.records.store.clone());
        let store = engine.records.store.clone();
        let prefills = Arc::new(Prefills::of(store.clone(), prefill_rules(settings)));
        let disk_wait = move || (!store.is_stalled()).then(|| store.disk_wait());
        Self {
            matchmaker,
            partner_keys,
            feeds,
            tokens,
            prefills,
            universities: Universities::load(),
            vehicles,
            settings: settings.clone(),
            fingerprint: format!("{:08x}", crc32fast::hash(made_with.as_bytes())).into(),
            offer_pages: OfferPages::new(&settings.offer_pages),
            click_rates: ClickRates::new(&settings.limits),
            record_ids: RecordIds::default(),
            docs,
            gate: Arc::new(Gate::new(gate_rules(&settings.limits), disk_wait)),
            wrong_listener_hint,
        }
    }

    /// 503: a record cannot be read, or the whole store.
    pub(crate) fn unread(&self, retry_after_s: u32) -> Failure {
        match self.engine().records.store.is_out_of_reach() {
            true => Failure::out_of_reach(retry_after_s),
            false => Failure::unreadable(retry_after_s),
        }
    }

    /// The engine behind the matchmaker.
    pub fn engine(&self) -> &Arc<MatchingEngine> {
        self.matchmaker.engine()
    }

    /// Earliest creation time of a lead that the caller may merge into, Unix milliseconds, if limited.
    pub fn mergeable_since(&self, caller: &Caller) -> Option<i64> {
        let window = i64::try_from(self.settings.limits.publishable_merge.as_millis()).unwrap_or(i64::MAX);
        match caller.kind {
            TokenKind::Confidential => None,
            TokenKind::Publishable => Some(self.engine().now_ms().saturating_sub(window)),
        }
    }
}

impl Authenticate for ApiState {
    fn principal(&self, token: &AccessToken) -> Result<Option<Principal>, InDoubt> {
        let of_a_company = self.tokens.find(token.as_str());
        let Ok(Some((token, company))) = of_a_company else {
            return match self.partner_keys.find(token.as_str())? {
                Some(key) => Ok(Some(Principal::Partner(key.partner.into()))),
                None => of_a_company.map(|_| None),
            };
        };
        Ok(Some(Principal::Company(Caller {
            company: company.uuid,
            lenient: self.settings.api.lenient_companies.contains(&company.name),
            company_name: company.name.into(),
            kind: token.kind,
            test: token.test,
            duplicate_look_back_minutes: company.duplicate_look_back_minutes,
        })))
    }

    fn signing_key(&self, id: Uuid) -> Result<Option<QuerySigningKey>, InDoubt> {
        let key = self.partner_keys.signing_key(id)?;
        let signing = |key: PartnerKeyRecord| {
            Some(QuerySigningKey { partner: key.partner.into(), secret: key.secret? })
        };
        Ok(key.and_then(signing))
    }
}

fn prefill_rules(settings: &Settings) -> PrefillRules {
    PrefillRules {
        lifetime: settings.limits.prefill_lifetime,
        reads: settings.limits.prefill_reads,
        per_company: settings.limits.prefills_per_company,
        longest_write: settings.matching.deadline,
    }
}

fn rate(RateSettings { per_second, burst }: RateSettings) -> Rate {
    Rate { burst, refill: Duration::from_secs(1) * u32::from(burst) / u32::from(per_second) }
}

fn gate_rules(limits: &LimitSettings) -> GateRules {
    GateRules {
        per_company: limits.per_company().map(rate),
        per_address: limits.per_address().map(rate),
        exempt: limits.exempt.clone(),
        trusted_proxies: limits.trusted_proxies.clone(),
        requests: limits.requests,
        requests_per_company: limits.requests_per_company,
        body_bytes: limits.body_bytes,
        body_bytes_per_company: limits.body_bytes_per_company,
        new_work: (!limits.queueing_target.is_zero()).then_some(ShedderRules {
            queueing_target: limits.queueing_target,
            most: limits.requests,
            queue: limits.queue,
            queue_wait: limits.queue_wait,
        }),
    }
}

/// Shared limits of open connections for several listeners, at most `total` in all.
pub fn connections(limits: &LimitSettings, total: usize) -> Arc<Connections> {
    Connections::new(ConnectionRules {
        per_address: limits.connections_per_address,
        trusted_proxies: limits.trusted_proxies.clone(),
        total,
    })
}

/// Binds a listener from the settings, with TLS if it has an identity, or takes over a `given` socket. Its
/// connections count towards `connections`. The error names the listener and the address.
pub fn bind(
    name: &'static str,
    address: SocketAddr,
    given: Option<TcpListener>,
    identity: Option<&TlsIdentity>,
    settings: &Settings,
    connections: &Arc<Connections>,
) -> Result<Listener, String> {
    let limits = Limits {
        connections: settings.api.max_connections,
        header_timeout: settings.api.header_timeout,
        idle_timeout: settings.api.idle_timeout,
        write_timeout: settings.api.write_timeout,
        head_bytes: settings.api.max_head_bytes,
        drain: settings.shutdown.drain,
    };
    let listener = match given {
        Some(socket) => Listener::from_std(name, socket, limits)
            .map_err(|error| format!("the socket given for `{name}` cannot be used: {error}"))?,
        None => Listener::bind(name, address, limits).map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => format!(
                "`{name}.listen` {address} is in use by another program, perhaps another offerd; stop that, or set another address"
            ),
            _ => format!("`{name}.listen` {address} cannot be bound: {error}"),
        })?,
    };
    Ok(listener.with_identity(identity.cloned()).among(Arc::clone(connections)))
}

/// The CORS and vendor policy of the public listeners, from the settings.
pub fn cors_policy(settings: &ApiSettings) -> Arc<CorsVendorPolicy> {
    Arc::new(CorsVendorPolicy { cors: Cors::new(&settings.cors_origins), vendors: settings.vendor.clone() })
}

fn failure_page(app: &ApiState, route: &str, headers: &HeaderMap, failure: &Failure) -> Option<Reply> {
    match route {
        "/click/{id}" if is_opened_by_a_person(headers) => offer_pages::failure_page(app, failure, false),
        "/offers/{page}" => offer_pages::failure_page(app, failure, false),
        "/offers/{page}/embed" => offer_pages::failure_page(app, failure, true),
        _ => None,
    }
}

/// Serves the routes of a listener until `stopped`.
pub fn serve(
    listener: Listener,
    routes: &'static [routes::ApiRoute],
    app: Arc<ApiState>,
    policy: watch::Receiver<Arc<CorsVendorPolicy>>,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> impl Future<Output = io::Result<Drained>> + Send + 'static {
    let routes: Vec<_> = routes.iter().map(|row| row.route.clone()).collect();
    let surface = Surface {
        meter: AnswerMeter::of(listener.name),
        gate: Arc::clone(&app.gate),
        wrong_listener_hint: Arc::clone(&app.wrong_listener_hint),
        app,
        router: Router::new(&routes).without_head(routes::WITHOUT_HEAD).with_mistaken(routes::MISTAKEN),
        failure_page,
        policy,
    };
    listener.serve(service(surface), stopped)
}
