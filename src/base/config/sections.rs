//! The sections of the settings. Each key is declared once, with meaning, type, bounds and reload.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use chrono_tz::Tz;
use ipnet::IpNet;
use serde::Deserialize;

use super::colour::Colour;
use super::values::{
    CENTURY, CheckedValue, DAY, HOUR, MILLISECOND, MINUTE, OneOrMany, SECOND, ZERO, address, any_span,
    colour_if_any, colour_on, file, given, networks, networks_or_addresses, origins, origins_or_any, path,
    url,
};
use super::web_address;
use crate::declaration::{count, span, unless};
use crate::table;
use crate::telemetry::logging::{self, LogFormat};

table! {
    /// `[api]`
    #[derive(Debug, Clone)]
    pub struct ApiSettings {
        /// Address of the listener.
        listen: SocketAddr = address,
        /// Base URL for clients; `None` for the listener's own address.
        base_url: Option<String> = url,
        /// Vendor segments of the v1 `Accept` type; none for any.
        vendor: Vec<String> = vendor => reloadable,
        /// Names of companies whose requests are read leniently.
        lenient_companies: Vec<String> = names,
        /// CORS origins that may call.
        cors_origins: Vec<String> = origins_or_any(CORS_ORIGINS) => reloadable,
        /// Open connections per listener.
        max_connections: usize = count(1, 1_000_000),
        /// Longest request head.
        max_head_bytes: usize = count(8_192, 1_048_576),
        /// Longest request body.
        max_body_bytes: usize = count(1_024, 1_048_576),
        /// Longest time for a request head, from its first byte.
        header_timeout: Duration = span(MILLISECOND, HOUR),
        /// Longest silence before a request.
        idle_timeout: Duration = span(MILLISECOND, HOUR),
        /// Longest time for a request body.
        request_timeout: Duration = span(MILLISECOND, HOUR),
        /// Longest time that a response may stay unread.
        write_timeout: Duration = span(MILLISECOND, HOUR),
        /// Whether a sandbox serves a page for trying a lead.
        demo: bool,
        /// Certificate of the listener; `None` for plain HTTP.
        tls: Option<TlsSettings> = tls,
    }

    /// `[offer_pages]`
    #[derive(Debug, Clone)]
    pub struct OfferPageSettings {
        /// How long an offer page stays open after its rate table was made.
        open_for: Duration = span(MINUTE, 31 * DAY),
        /// Origins whose pages may frame it.
        frame_ancestors: Vec<String> = origins(FRAME_ANCESTORS),
        /// The colour of buttons and links on a light background.
        colour: Colour = colour_on(Colour::LIGHT_GROUND),
        /// The colour of buttons and links on a dark background.
        dark_colour: Colour = colour_on(Colour::DARK_GROUND),
        /// Overrides by company name.
        companies: BTreeMap<String, BrandSettings>,
    }

    /// The look of a company's pages, where it differs.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct BrandSettings {
        /// The name in the page header; `None` for that of the company.
        name: Option<String> = given => optional,
        /// The colour of buttons and links on a light background.
        colour: Option<Colour> = colour_if_any(Colour::LIGHT_GROUND) => optional,
        /// The colour of buttons and links on a dark background.
        dark_colour: Option<Colour> = colour_if_any(Colour::DARK_GROUND) => optional,
    }

    /// `[integrations]`
    #[derive(Debug, Clone)]
    pub struct IntegrationsSettings {
        /// Address of the listener.
        listen: SocketAddr = address,
        /// Base URL for partners' callbacks; `None` for the listener's own address.
        base_url: Option<String> = url,
        /// Certificate of the listener; `None` for plain HTTP.
        tls: Option<TlsSettings> = tls,
    }

    /// `[admin]`
    #[derive(Debug, Clone)]
    pub struct ListenerSettings {
        /// Address of the listener.
        listen: SocketAddr = address,
        /// Certificate of the listener; `None` for plain HTTP.
        tls: Option<TlsSettings> = tls,
    }

    /// `[console]`
    #[derive(Debug, Clone)]
    pub struct ConsoleSettings {
        /// Which visitors must sign in.
        sign_in: SignInPolicy,
        /// File with a password for signing in, if any.
        password_file: Option<PathBuf> = file,
        /// Longest lifetime of a session.
        session_life: Duration = span(MINUTE, 30 * DAY),
        /// Longest idle time of a session.
        session_idle: Duration = span(MINUTE, 30 * DAY),
        /// Failed sign-ins per name and minute.
        sign_ins_failed_per_name: usize = count(1, 10_000),
        /// Failed sign-ins per minute in total.
        sign_ins_failed: usize = count(1, 10_000),
        /// Rate tables examined by one search.
        tables_looked_at: usize = count(100, 1_000_000) => reloadable,
        /// Of those, the tables whose answers are read.
        tables_read: usize = count(20, 1_000_000) => reloadable,
        /// How long metric samples are kept for charts.
        history_kept: Duration = span(HOUR, 31 * DAY),
        /// The authenticating proxy, if any.
        proxy: Option<ProxySettings> = proxy,
    }

    /// `console.proxy`
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ProxySettings {
        /// The header with the user's name, in lowercase.
        header: String = lower_case,
        /// The networks it comes from.
        from: Vec<IpNet> = networks_or_addresses,
        /// The role of users unknown here, one of [`ROLES`]; `None` refuses them.
        role: Option<String> = given,
    }

    /// `[audit]`
    #[derive(Debug, Clone, Copy)]
    pub struct AuditSettings {
        /// How long audit records are kept.
        keep: Duration = span(DAY, CENTURY),
    }

    /// `tls` of a listener: two PEM files.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct TlsSettings {
        /// The certificate chain.
        certificate: PathBuf = any_path,
        /// The private key.
        key: PathBuf = any_path,
    }

    /// `[limits]`
    #[derive(Debug, Clone)]
    pub struct LimitSettings {
        /// Requests of one company per second; 0 for no limit.
        requests_per_second_per_company: u32 = count(0, 1_000_000),
        /// Burst of one company.
        burst_per_company: u32 = count(1, 1_000_000),
        /// Requests of one address per second; 0 for no limit.
        requests_per_second_per_address: u32 = count(0, 1_000_000),
        /// Burst of one address.
        burst_per_address: u32 = count(1, 1_000_000),
        /// Clicks on one offer per second; 0 for no limit.
        clicks_per_second_per_offer: u32 = count(0, 1_000_000),
        /// Burst of clicks on one offer.
        burst_clicks_per_offer: u32 = count(1, 1_000_000),
        /// Clicks stored per offer.
        clicks_kept_per_offer: u64 = count(1, 1000) => reloadable,
        /// How many times what is usual a reported payout or amount may be, or how small a part; 0 for any.
        report_factor: u32 = count(0, 1_000_000) => reloadable,
        /// Displays stored per offer, as reported by its images.
        displays_kept_per_offer: u64 = count(1, 1000) => reloadable,
        /// Consent statements stored per lead, besides the latest.
        consents_kept_per_lead: usize = count(1, 1000) => reloadable,
        /// Longest stored lead, bytes; larger merges are refused.
        bytes_per_lead: usize = count(16_384, 16_777_216) => reloadable,
        /// Leads of a person erased in one round; more take further rounds.
        leads_erased_at_once: usize = count(1, 1_000_000) => reloadable,
        /// How long after its creation a publishable token may merge into a lead.
        publishable_merge: Duration = span(ZERO, CENTURY),
        /// How long a prefill can be read.
        prefill_lifetime: Duration = span(SECOND, HOUR),
        /// How many times a prefill can be read.
        prefill_reads: u32 = count(1, 100),
        /// Prefills of one company at a time; 0 for no limit.
        prefills_per_company: usize = count(0, 1_000_000),
        /// Open connections of one address; 0 for no limit.
        connections_per_address: usize = count(0, 1_000_000),
        /// File descriptors reserved for everything except clients' connections.
        reserved_descriptors: usize = count(64, 1_000_000),
        /// Networks exempt from rate limits.
        exempt: Vec<IpNet> = networks,
        /// Proxy networks whose `X-Forwarded-For` is trusted.
        trusted_proxies: Vec<IpNet> = proxies,
        /// Requests in flight.
        requests: usize = count(1, 10_000_000),
        /// Requests in flight of one company; 0 for no separate limit.
        requests_per_company: usize = count(0, 10_000_000),
        /// Request bodies in flight, bytes.
        body_bytes: usize = count(0, i64::MAX),
        /// Request bodies in flight of one company, bytes; 0 for no separate limit.
        body_bytes_per_company: usize = count(0, i64::MAX),
        /// Cache of rendered complete rate tables, bytes; 0 for none.
        shown_bytes: u64 = count(0, 1 << 40),
        /// Target queueing time for threads of new work; zero admits everything.
        queueing_target: Duration = span(ZERO, MINUTE),
        /// Requests with new work that may wait for admission.
        queue: usize = count(1, 1_000_000),
        /// Longest wait for admission.
        queue_wait: Duration = span(MILLISECOND, MINUTE),
    }

    /// `[matching]`
    #[derive(Debug, Clone, Copy)]
    pub struct MatchingSettings {
        /// Time from a lead's arrival to its complete rate table.
        deadline: Duration = span(Self::DEADLINE_MIN, Self::DEADLINE_MAX) => reloadable,
        /// Longest wait of a submit for partners that answer at once.
        submit_wait: Duration = span(ZERO, 5 * MINUTE) => reloadable,
        /// Time subtracted from each partner's budget.
        response_margin: Duration = span(ZERO, 5 * MINUTE) => reloadable,
        /// Least budget for which a partner is asked.
        least_budget: Duration = span(ZERO, 5 * MINUTE) => reloadable,
        /// Time reserved for second look.
        second_look_reserve: Duration = span(ZERO, 5 * MINUTE) => reloadable,
        /// Pending rate tables.
        pending_tables: usize = count(1, 1_000_000) => reloadable,
        /// Pending rate tables of one company; 0 for no separate limit.
        pending_tables_per_company: usize = count(0, 1_000_000) => reloadable,
        /// How long answers that no client can see yet are batched.
        gather_answers: Duration = span(ZERO, 5 * MINUTE) => reloadable,
        /// How long a complete table stays in memory.
        linger: Duration = span(ZERO, 5 * MINUTE) => reloadable,
        /// Seats asked per lead.
        partners_per_lead: usize = count(1, 10_000) => reloadable,
        /// Offers per seat and table.
        offers_per_partner: usize = count(1, 4_000) => reloadable,
    }

    /// `[wire]`
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct WireSettings {
        /// Largest share of HTTP partners' endpoints whose breakers may be open at once, percent.
        max_open_percent: u8 = count(0, 100) => reloadable,
        /// Breakers only count and log; none keeps a call back.
        breakers_only_log: bool => reloadable,
        /// Longest time for which an open breaker lets no call through.
        breaker_ceiling: Duration = span(SECOND, 5 * MINUTE) => reloadable,
        /// Memory for partners' answers under way, bytes.
        answer_bytes: usize = count(1_048_576, 1 << 40) => reloadable,
        /// Threads that look up host names.
        lookup_threads: usize = count(1, 256) => reloadable,
        /// How long a call waits for a look-up.
        lookup_timeout: Duration = span(MILLISECOND, MINUTE) => reloadable,
        /// How long an answer serves without another look-up.
        lookup_kept: Duration = span(ZERO, HOUR) => reloadable,
        /// How long after that it serves while look-ups fail or hang.
        lookup_stale: Duration = span(ZERO, 7 * DAY) => reloadable,
    }

    /// `[engine]`
    #[derive(Debug, Clone, Copy)]
    pub struct EngineSettings {
        /// Threads for leads; 0 for one per core.
        threads: usize = count(0, 256),
    }

    /// `[reports]`
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ReportSettings {
        /// The time zones whose days are counted, at least one. The first is the default of reports.
        zones: Vec<Tz> = zones,
        /// The client tags that are counted, by name.
        tags: Vec<String> = tags,
        /// Values counted per tag and company.
        tag_values: usize = count(1, 100_000),
        /// Cells held in memory before they are flushed.
        cells_in_memory: usize = count(1_000, 10_000_000),
        /// Longest time between flushes.
        write_every: Duration = span(SECOND, 7 * DAY),
        /// Groups per report.
        groups: usize = count(1_000, 50_000_000),
        /// Rows shown per report.
        rows: usize = count(1, 1_000_000),
        /// Concurrent reports.
        at_once: usize = count(1, 64),
    }

    /// `[analytics]`
    #[derive(Debug, Clone, Copy)]
    pub struct AnalyticsSettings {
        /// Records read per page of a feed.
        page_records_max: usize = count(1_000, 100_000_000),
    }

    /// `[store]`
    #[derive(Debug, Clone)]
    pub struct StoreSettings {
        /// The storage engine.
        engine: StoreEngine,
        /// Directory of the store. With a database, private to this daemon.
        path: PathBuf = path,
        /// The database, whether in use or not; `None` if not configured.
        postgres: Option<PostgresSettings> = database,
        /// File with the master key, if configured.
        master_key_file: Option<PathBuf> = file,
        /// File with the suppression key, if configured.
        suppression_key_file: Option<PathBuf> = file,
        /// Commits that may wait for the writer.
        queue: usize = count(1, 10_000_000),
        /// Changes that may wait for the lock of one record.
        changes_per_record: usize = count(1, 65_536),
        /// Commits per group.
        group: usize = count(1, 65_536),
        /// Cache size, bytes.
        cache_bytes: u64 = count(1_048_576, i64::MAX),
        /// Free disk space below which new leads are refused, bytes.
        reserve_bytes: u64 = count(0, 1 << 40),
        /// Longest disk write before new leads are refused.
        stall_after: Duration = span(MILLISECOND, CENTURY),
        /// Time between two scrubs of all record files; zero for none.
        scrub_interval: Duration = span(ZERO, CENTURY),
        /// Speed of scrubbing, bytes per second.
        scrub_rate: u64 = count(4096, i64::MAX),
        /// Largest size of a volume's files, bytes.
        volume_bytes: u64 = count(1_048_576, i64::MAX),
        /// How long a volume accepts new records.
        volume_age: Duration = span(SECOND, CENTURY),
        /// How long leads are kept; zero for ever.
        retention: Duration = span(ZERO, CENTURY),
        /// Largest step of the machine's clock that is followed at once.
        clock_jump: Duration = span(SECOND, DAY),
        /// How long a larger step must persist to be followed.
        clock_hold: Duration = span(ZERO, CENTURY),
        /// Largest gap between the last arrival and the clock at a start.
        clock_gap: Duration = any_span,
    }

    /// `[store.postgres]`
    #[derive(Clone, PartialEq, Eq)]
    pub struct PostgresSettings {
        /// Its URL. May contain a password.
        url: String = database_url,
        /// File with the password, if configured.
        password_file: Option<PathBuf> = file,
        /// File with a CA besides the public ones, if configured.
        ca_file: Option<PathBuf> = file,
        /// Connections in the pool.
        connections: usize = count(2, 1000),
        /// Longest time for one answer.
        answer_within: Duration = span(10 * MILLISECOND, HOUR),
        /// How long a daemon that stopped renewing its lease counts as alive.
        lease: Duration = span(SECOND, HOUR),
        /// The name of this node; `None` for the machine's name.
        node_name: Option<String> = node_name,
    }

    /// `[partners]`
    #[derive(Debug, Clone)]
    pub struct PathSettings {
        /// The directory.
        path: PathBuf = path => reloadable,
    }

    /// `[reference]`
    #[derive(Debug, Clone)]
    pub struct ReferenceSettings {
        /// File with the vehicles; `None` for the built-in sample.
        vehicles: Option<PathBuf> = file => reloadable,
        /// Names or vehicles per response.
        vehicles_per_answer: usize = count(1_000, 100_000),
    }

    /// `[approval]`
    #[derive(Debug, Clone, Copy)]
    pub struct ApprovalSettings {
        /// How long approval reports are kept.
        reports_kept: Duration = span(MILLISECOND, CENTURY) => reloadable,
        /// Approval reports per company.
        reports_per_company: usize = count(1, 100_000) => reloadable,
    }

    /// `[transcripts]`
    #[derive(Debug, Clone, Copy)]
    pub struct TranscriptSettings {
        /// How long transcripts are kept.
        kept: Duration = span(MILLISECOND, CENTURY) => reloadable,
        /// Bytes stored of the bodies of one call.
        call_bytes: usize = count(1024, 1_048_576) => reloadable,
    }

    /// `[experiments]`
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ExperimentSettings {
        /// The directory of the files.
        path: PathBuf = path => reloadable,
        /// Leads of one rule that a comparison reads.
        compared_leads: usize = count(1_000, 10_000_000) => reloadable,
        /// Variants per rule.
        variants_per_rule: usize = count(1, 1_000) => reloadable,
    }

    /// `[postbacks]`
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PostbackSettings {
        /// The directory of the files.
        path: PathBuf = path => reloadable,
        /// Concurrent calls per subscription.
        concurrency: usize = count(1, 256) => reloadable,
        /// Events per subscription taken from the feed and not acknowledged.
        outstanding: usize = count(1, 1_000_000) => reloadable,
        /// First backoff of an event.
        first_backoff: Duration = span(MILLISECOND, HOUR) => reloadable,
        /// Longest backoff of an event.
        longest_backoff: Duration = span(MILLISECOND, DAY) => reloadable,
        /// Dead letters per subscription.
        dead_letters: usize = count(0, 1_000_000) => reloadable,
        /// How long dead letters are kept.
        dead_letters_kept: Duration = span(MILLISECOND, CENTURY) => reloadable,
        /// How long the position of a subscription is kept after its file is deleted.
        vanished_kept: Duration = span(MILLISECOND, CENTURY) => reloadable,
    }

    /// `[tokens]`
    #[derive(Debug, Clone, Copy)]
    pub struct TokenSettings {
        /// Whether the first start creates tokens.
        bootstrap: bool,
    }

    /// `[shutdown]`
    #[derive(Debug, Clone, Copy)]
    pub struct ShutdownSettings {
        /// Longest time for requests in flight to finish.
        drain: Duration = span(ZERO, HOUR),
        /// How long before that the daemon reports that it is not ready.
        announce: Duration = span(ZERO, HOUR),
    }

    /// `[log]`
    #[derive(Debug, Clone)]
    pub struct LogSettings {
        /// A level or filter directives.
        filter: String = log_filter => reloadable,
        /// Whether each request has a line.
        access: bool => reloadable,
        /// Text for people or JSON for machines.
        format: LogFormat,
    }

    /// `[tracing]`
    #[derive(Debug, Clone)]
    pub struct TracingSettings {
        /// The trace collector; `None` for no traces.
        otlp_endpoint: Option<String> = url,
        /// Sampled leads, percent.
        sampled_percent: u8 = count(0, 100),
    }
}

impl OfferPageSettings {
    /// A sentence for each company with a look of its own and no token, whose pages nobody will ever see.
    /// `known` are the companies with tokens.
    pub fn without_token(&self, known: &BTreeSet<String>) -> Vec<String> {
        let strangers = self.companies.keys().filter(|company| !known.contains(*company));
        let there_are = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let sentence = |company: &String| {
            format!(
                "`offer_pages.companies` names `{company}`, which has no token, so its design is never \
                    shown; companies with tokens: {there_are}. Write the name as `offerd token list` shows \
                    it, or create a token with `offerd token create`"
            )
        };
        strangers.map(sentence).collect()
    }
}

/// The roles of users, named as in the store.
pub const ROLES: [&str; 4] = ["viewer", "analyst", "operator", "administrator"];

/// Which visitors of the console must sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInPolicy {
    /// Everyone, unless the admin listener is on loopback: then each user of the machine is an operator.
    Remote,
    /// Everyone.
    Always,
}

/// A rate limit and its burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSettings {
    /// Requests per second.
    pub per_second: NonZeroU32,
    /// Burst size.
    pub burst: NonZeroU32,
}

impl RateSettings {
    fn new(per_second: u32, burst: u32) -> Option<Self> {
        Some(Self { per_second: NonZeroU32::new(per_second)?, burst: NonZeroU32::new(burst)? })
    }
}

impl LimitSettings {
    /// The rate limit of a company; `None` for no limit.
    pub fn per_company(&self) -> Option<RateSettings> {
        RateSettings::new(self.requests_per_second_per_company, self.burst_per_company)
    }

    /// The rate limit of an address; `None` for no limit.
    pub fn per_address(&self) -> Option<RateSettings> {
        RateSettings::new(self.requests_per_second_per_address, self.burst_per_address)
    }

    /// The rate limit of clicks on an offer; `None` for no limit.
    pub fn clicks_per_offer(&self) -> Option<RateSettings> {
        RateSettings::new(self.clicks_per_second_per_offer, self.burst_clicks_per_offer)
    }
}

impl MatchingSettings {
    /// The shortest deadline that may be configured.
    pub const DEADLINE_MIN: Duration = Duration::from_millis(10);
    /// The longest deadline that may be configured.
    pub const DEADLINE_MAX: Duration = Duration::from_secs(300);

    /// Kept back from each partner's budget: `response_margin`, at most a tenth of the deadline.
    pub fn margin(&self) -> Duration {
        self.response_margin.min(self.deadline / 10)
    }

    /// The shortest deadline under which partners are asked with these other rules, in whole milliseconds.
    pub fn least_deadline(&self) -> Duration {
        let least = (self.response_margin + self.least_budget).min(self.least_budget * 10 / 9);
        Duration::from_millis(least.as_micros().div_ceil(1000) as u64)
    }
}

impl ReportSettings {
    /// The default time zone of reports.
    pub fn usual_zone(&self) -> Tz {
        self.zones.first().copied().unwrap_or(Tz::UTC)
    }

    /// The time zone of this name, if its days are counted.
    pub fn zone(&self, name: &str) -> Option<Tz> {
        self.zones.iter().copied().find(|zone| zone.name() == name)
    }
}

impl StoreSettings {
    /// The database in use; `None` if records are in files.
    pub fn database(&self) -> Option<&PostgresSettings> {
        self.postgres.as_ref().filter(|_| self.engine == StoreEngine::Postgres)
    }

    /// The setting that locates the records, with its value, for messages; without a password.
    pub fn location(&self) -> String {
        match self.database() {
            Some(database) => format!("`store.postgres.url` ({})", web_address::shown_whole(&database.url)),
            None => {
                let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
                format!("`store.path` ({})", path.display())
            }
        }
    }
}

/// `store.engine`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreEngine {
    /// Files on this machine, in `store.path`.
    Embedded,
    /// A database with PostgreSQL's protocol.
    Postgres,
}

/// Prints nothing: the URL may contain a password.
impl fmt::Debug for PostgresSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PostgresSettings").finish_non_exhaustive()
    }
}

/// The message for an invalid `api.cors_origins`.
const CORS_ORIGINS: &str = "must be `*` or origins such as `https://shop.example`";

/// The message for an invalid `offer_pages.frame_ancestors`.
const FRAME_ANCESTORS: &str = "must be origins such as `https://shop.example` or `https://*.shop.example`";

/// Most time zones: each takes as much space as the first.
const ZONES_MAX: usize = 4;

/// Most counted tags: each one makes a pair with every other dimension.
const TAGS_MAX: usize = 8;

const DIMENSIONS: [&str; 11] = [
    "day",
    "week",
    "month",
    "company",
    "product",
    "subType",
    "partner",
    "rating",
    "state",
    "experiment",
    "offer",
];

/// Headers in which proxies name users, of those without `x-`.
const USER_HEADERS: [&str; 4] =
    ["remote-user", "remote-email", "tailscale-user-login", "cf-access-authenticated-user-email"];

/// Headers with `x-` that name no user: browsers, libraries and proxies set them on their own.
const OF_NO_USER: [&str; 15] = [
    "x-client-ip",
    "x-correlation-id",
    "x-csrf-token",
    "x-forwarded-by",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-proto",
    "x-forwarded-scheme",
    "x-forwarded-server",
    "x-original-uri",
    "x-real-ip",
    "x-request-id",
    "x-requested-with",
];

const NODE_NAME_CHARS: usize = 100;

fn vendor(names: OneOrMany) -> CheckedValue<Vec<String>> {
    let vendor = Vec::from(names);
    let is_segment = |name: &String| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
    };
    if vendor.iter().all(is_segment) {
        return Ok(vendor);
    }
    Err(vec!["must be names of letters, digits, `-` and `_`".to_owned()])
}

fn names(names: OneOrMany) -> CheckedValue<Vec<String>> {
    let names = Vec::from(names);
    if names.iter().any(|name| name.trim().is_empty()) {
        return Err(vec!["must be names of companies".to_owned()]);
    }
    Ok(names)
}

fn any_path(text: String) -> CheckedValue<PathBuf> {
    Ok(text.into())
}

/// `None` if no file is named.
fn tls(files: TlsSettings) -> CheckedValue<Option<TlsSettings>> {
    let is_named = |path: &PathBuf| !path.as_os_str().is_empty();
    let is_any = [&files.certificate, &files.key].into_iter().any(is_named);
    Ok(Some(files).filter(|_| is_any))
}

fn lower_case(text: String) -> CheckedValue<String> {
    Ok(text.to_ascii_lowercase())
}

/// Whether proxies name users in this header, given in lowercase.
fn names_users(header: &str) -> bool {
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let is_own = header.len() > 2 && header.starts_with("x-") && !OF_NO_USER.contains(&header);
    header.chars().all(is_of_a_name) && (is_own || USER_HEADERS.contains(&header))
}

/// Whether a network is too wide for its addresses to prove anything.
fn is_half_the_world(network: &IpNet) -> bool {
    match network {
        IpNet::V4(network) => network.prefix_len() < 8,
        IpNet::V6(network) => network.prefix_len() < 16,
    }
}

/// Networks of proxies. Any address in them may set the client address.
fn proxies(names: OneOrMany) -> CheckedValue<Vec<IpNet>> {
    let networks = networks(names)?;
    let wide = networks.iter().filter(|network| is_half_the_world(network));
    let wide = wide.map(|wide| {
        format!(
            "must be networks that hold only proxies, such as `10.0.0.0/24`: none wider than /8, or /16 of \
                IPv6, since other clients there could forge `X-Forwarded-For`; got `{wide}`"
        )
    });
    unless(wide.collect(), networks)
}

/// An authenticating proxy. A client that could send its header from elsewhere could impersonate anyone.
fn proxy(proxy: ProxySettings) -> CheckedValue<Option<ProxySettings>> {
    let ProxySettings { header, from, role } = &proxy;
    if header.is_empty() && from.is_empty() && role.is_none() {
        return Ok(None);
    }
    let mut faults = Vec::new();
    if !names_users(header) {
        faults.push(format!(
            "`header` must be one that only a proxy sets to name a user: one that begins with `x-`, such as \
             `x-forwarded-user`, or one of {}; got `{header}`",
            USER_HEADERS.map(|name| format!("`{name}`")).join(", ")
        ));
    }
    if from.is_empty() {
        faults.push("`from` must list the proxy's addresses".to_owned());
    }
    let wide = from.iter().filter(|network| is_half_the_world(network));
    faults.extend(wide.map(|wide| {
        format!(
            "`from` must list the proxy's addresses, such as `10.0.0.5` or `10.0.0.0/24`: no network wider \
                than /8, or /16 of IPv6, which holds many others; got `{wide}`"
        )
    }));
    if let Some(role) = role.as_ref().filter(|role| !ROLES.contains(&role.as_str())) {
        faults.push(format!("`role` must be empty, or one of {}, got `{role}`", ROLES.join(", ")));
    }
    unless(faults, Some(proxy))
}

fn zones(names: OneOrMany) -> CheckedValue<Vec<Tz>> {
    let names = Vec::from(names);
    let (mut zones, mut faults) = (Vec::new(), Vec::new());
    for name in &names {
        match name.parse::<Tz>() {
            Ok(zone) if !zones.contains(&zone) => zones.push(zone),
            Ok(_) => faults.push(format!("names `{name}` twice")),
            Err(_) => faults.push(format!(
                "must be time zones by their IANA names such as `America/New_York`, got `{name}`"
            )),
        }
    }
    if !(1..=ZONES_MAX).contains(&names.len()) {
        faults.push(format!("must be 1 to {ZONES_MAX} time zones, got {}", names.len()));
    }
    unless(faults, zones)
}

fn tags(names: OneOrMany) -> CheckedValue<Vec<String>> {
    let names = Vec::from(names);
    let mut faults = Vec::new();
    for (nth, name) in names.iter().enumerate() {
        // The name precedes the `=` of a filter and heads a column.
        let is_unfit = name.contains('=') || name.chars().any(char::is_control);
        for (is_wrong, wanted) in [
            (DIMENSIONS.contains(&name.as_str()), "names of client tags that are not dimensions of reports"),
            (name.is_empty() || names[..nth].contains(name), "names, each once"),
            (is_unfit, "names without `=`, line feeds and other control characters"),
        ] {
            if is_wrong {
                faults.push(format!("must be {wanted}, got `{name}`"));
            }
        }
    }
    if names.len() > TAGS_MAX {
        faults.push(format!("must be {TAGS_MAX} at most, got {}", names.len()));
    }
    unless(faults, names)
}

fn database(database: PostgresSettings) -> CheckedValue<Option<PostgresSettings>> {
    Ok(Some(database).filter(|database| !database.url.is_empty()))
}

/// Checks the scheme only; the database client reports other faults.
fn database_url(url: String) -> CheckedValue<String> {
    if url.is_empty() || ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Ok(url);
    }
    Err(vec!["must begin with `postgres://` or `postgresql://`".to_owned()])
}

fn node_name(name: String) -> CheckedValue<Option<String>> {
    if name.chars().count() > NODE_NAME_CHARS || name.chars().any(char::is_control) {
        let wanted = format!("must be {NODE_NAME_CHARS} characters at most, without control characters");
        return Err(vec![wanted]);
    }
    given(name)
}

fn log_filter(filter: String) -> CheckedValue<String> {
    let wanted = "must be a level or directives such as `info,offerd=debug`";
    logging::check(&filter).map_err(|cause| vec![format!("{wanted}: {cause}")])?;
    Ok(filter)
}
