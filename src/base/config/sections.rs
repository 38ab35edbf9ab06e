//! The sections of the settings, each key declared once: what it is for, its type and bounds, whether a reload takes it in.

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
    CENTURY, Checked, DAY, HOUR, MILLISECOND, MINUTE, OneOrMany, SECOND, ZERO, address, any_span,
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
        /// Where clients reach it; `None` for its own address.
        base_url: Option<String> = url,
        /// Vendor segments of the v1 `Accept` type; none for any.
        vendor: Vec<String> = vendor => reloadable,
        /// Origins whose pages may call.
        cors_origins: Vec<String> = origins_or_any(CORS_ORIGINS) => reloadable,
        /// Open connections per listener.
        max_connections: usize = count(1, 1_000_000),
        /// Longest request head.
        max_head_bytes: usize = count(8_192, 1_048_576),
        /// Longest request body.
        max_body_bytes: usize = count(1_024, 1_048_576),
        /// Longest time for a head, from its first byte.
        header_timeout: Duration = span(MILLISECOND, HOUR),
        /// Longest silence before a request.
        idle_timeout: Duration = span(MILLISECOND, HOUR),
        /// Longest time for a body.
        request_timeout: Duration = span(MILLISECOND, HOUR),
        /// Longest time that an answer may stay unread.
        write_timeout: Duration = span(MILLISECOND, HOUR),
        /// Whether a sandbox has a page for trying a lead.
        demo: bool,
        /// What the api listener shows who it is with; `None` for HTTP in the clear.
        tls: Option<TlsSettings> = tls,
    }

    /// `[offer_pages]`
    #[derive(Debug, Clone)]
    pub struct OfferPageSettings {
        /// How long a page opens after its rate table was made.
        open_for: Duration = span(MINUTE, 31 * DAY),
        /// Origins whose pages may show it in a frame.
        frame_ancestors: Vec<String> = origins(FRAME_ANCESTORS),
        /// The colour of buttons and links on a light ground.
        colour: Colour = colour_on(Colour::LIGHT_GROUND),
        /// The same on a dark ground.
        dark_colour: Colour = colour_on(Colour::DARK_GROUND),
        /// What companies have otherwise, by their names.
        companies: BTreeMap<String, BrandSettings>,
    }

    /// How the pages of a company look where it has that otherwise.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct BrandSettings {
        /// The name at the head; `None` for that of the company.
        name: Option<String> = given => optional,
        /// The colour of buttons and links on a light ground.
        colour: Option<Colour> = colour_if_any(Colour::LIGHT_GROUND) => optional,
        /// The same on a dark ground.
        dark_colour: Option<Colour> = colour_if_any(Colour::DARK_GROUND) => optional,
    }

    /// `[integrations]`
    #[derive(Debug, Clone)]
    pub struct IntegrationsSettings {
        /// Address of the listener.
        listen: SocketAddr = address,
        /// Where partners reach it who call back; `None` for the address that it listens on.
        base_url: Option<String> = url,
        /// What it shows who it is with; `None` for HTTP in the clear.
        tls: Option<TlsSettings> = tls,
    }

    /// `[admin]`
    #[derive(Debug, Clone)]
    pub struct ListenerSettings {
        /// Address of the listener.
        listen: SocketAddr = address,
        /// What it shows who it is with; `None` for HTTP in the clear.
        tls: Option<TlsSettings> = tls,
    }

    /// `[console]`
    #[derive(Debug, Clone)]
    pub struct ConsoleSettings {
        /// Who has to sign in.
        sign_in: SignIn,
        /// File with a password to sign in with, if one is named.
        password_file: Option<PathBuf> = file,
        /// How long a session lasts at most.
        session_life: Duration = span(MINUTE, 30 * DAY),
        /// How long one lasts in which nothing is done.
        session_idle: Duration = span(MINUTE, 30 * DAY),
        /// How many attempts to sign in with one name may fail within a minute.
        sign_ins_failed_per_name: usize = count(1, 10_000),
        /// How many may in all.
        sign_ins_failed: usize = count(1, 10_000),
        /// Rate tables that one search looks at.
        tables_looked_at: usize = count(100, 1_000_000) => reloadable,
        /// Those of them whose answers it reads.
        tables_read: usize = count(20, 1_000_000) => reloadable,
        /// How long readings of the metrics are kept for charts.
        history_kept: Duration = span(HOUR, 31 * DAY),
        /// What signs people in before they come here, if something does.
        proxy: Option<ProxySettings> = proxy,
    }

    /// `console.proxy`
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ProxySettings {
        /// The header that names the user, in small letters.
        header: String = lower_case,
        /// Where it comes from.
        from: Vec<IpNet> = networks_or_addresses,
        /// The role of who is no user here, one of [`ROLES`]; nothing where they are refused.
        role: Option<String> = given,
    }

    /// `[audit]`
    #[derive(Debug, Clone, Copy)]
    pub struct AuditSettings {
        /// How long its records are kept.
        keep: Duration = span(DAY, CENTURY),
    }

    /// `tls` of a listener: two files in PEM.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct TlsSettings {
        /// The certificate, and those above it.
        certificate: PathBuf = any_path,
        /// Its private key.
        key: PathBuf = any_path,
    }

    /// `[limits]`
    #[derive(Debug, Clone)]
    pub struct LimitSettings {
        /// Requests of one company a second; 0 for no limit.
        requests_per_second_per_company: u32 = count(0, 1_000_000),
        /// Requests that it may save up.
        burst_per_company: u32 = count(1, 1_000_000),
        /// Requests of one address a second; 0 for no limit.
        requests_per_second_per_address: u32 = count(0, 1_000_000),
        /// Requests that it may save up.
        burst_per_address: u32 = count(1, 1_000_000),
        /// Clicks on one offer a second; 0 for no limit.
        clicks_per_second_per_offer: u32 = count(0, 1_000_000),
        /// Clicks that it may save up.
        burst_clicks_per_offer: u32 = count(1, 1_000_000),
        /// Clicks on one offer that are kept.
        clicks_kept_per_offer: u64 = count(1, 1000) => reloadable,
        /// Displays of one offer that images tell of and that are kept.
        displays_kept_per_offer: u64 = count(1, 1000) => reloadable,
        /// Most statements of a lead's consents that are kept beside the latest.
        consents_kept_per_lead: usize = count(1, 1000) => reloadable,
        /// Bytes of a lead as it is stored, beyond which nothing is merged into it.
        bytes_per_lead: usize = count(16_384, 16_777_216) => reloadable,
        /// Leads of a person that are erased at once; those beyond go in further rounds.
        leads_erased_at_once: usize = count(1, 1_000_000) => reloadable,
        /// How long after a lead was made a publishable token may merge into it.
        publishable_merge: Duration = span(ZERO, CENTURY),
        /// How long a prefill can be read.
        prefill_lifetime: Duration = span(SECOND, HOUR),
        /// How often it can be read.
        prefill_reads: u32 = count(1, 100),
        /// Prefills of one company at once; 0 for no limit.
        prefills_per_company: usize = count(0, 1_000_000),
        /// Open connections of one address; 0 for no limit.
        connections_per_address: usize = count(0, 1_000_000),
        /// Open files that clients' connections leave to all else.
        reserved_descriptors: usize = count(64, 1_000_000),
        /// Networks that no rate of requests holds for.
        exempt: Vec<IpNet> = networks,
        /// Networks of proxies whose `X-Forwarded-For` is believed.
        trusted_proxies: Vec<IpNet> = proxies,
        /// Requests under way.
        requests: usize = count(1, 10_000_000),
        /// Those of one company; 0 for no limit of its own.
        requests_per_company: usize = count(0, 10_000_000),
        /// Bytes of bodies under way.
        body_bytes: usize = count(0, i64::MAX),
        /// Those of one company; 0 for no limit of its own.
        body_bytes_per_company: usize = count(0, i64::MAX),
        /// Bytes of complete rate tables that are kept as they are shown; 0 for none.
        shown_bytes: u64 = count(0, 1 << 40),
        /// How long new work in flight may queue for threads; zero lets in whatever comes.
        queueing_target: Duration = span(ZERO, MINUTE),
        /// Requests that bring new work and may wait to be let in.
        queue: usize = count(1, 1_000_000),
        /// How long they may.
        queue_wait: Duration = span(MILLISECOND, MINUTE),
    }

    /// `[matching]`
    #[derive(Debug, Clone, Copy)]
    pub struct MatchingSettings {
        /// From a lead's arrival to its complete rate table.
        deadline: Duration = span(Self::DEADLINE_MIN, Self::DEADLINE_MAX) => reloadable,
        /// Longest wait of a submit for the partners that answer at once.
        submit_wait: Duration = span(ZERO, 5 * MINUTE) => reloadable,
        /// Kept back from each budget.
        response_margin: Duration = span(ZERO, 5 * MINUTE) => reloadable,
        /// Least budget that an ask is worth.
        least_budget: Duration = span(ZERO, 5 * MINUTE) => reloadable,
        /// Kept back for second look.
        second_look_reserve: Duration = span(ZERO, 5 * MINUTE) => reloadable,
        /// Rate tables that are built at once.
        live_tables: usize = count(1, 1_000_000) => reloadable,
        /// Those of one company; 0 for no limit of its own.
        live_tables_per_company: usize = count(0, 1_000_000) => reloadable,
        /// How long answers that nobody can see yet are gathered for one write.
        gather_answers: Duration = span(ZERO, 5 * MINUTE) => reloadable,
        /// How long a complete table stays in memory.
        linger: Duration = span(ZERO, 5 * MINUTE) => reloadable,
        /// Seats asked about one lead.
        partners_per_lead: usize = count(1, 10_000) => reloadable,
        /// Offers of one seat in one table.
        offers_per_partner: usize = count(1, 4_000) => reloadable,
    }

    /// `[wire]`
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct WireSettings {
        /// Share of the endpoints of partners over HTTP that breakers may keep out at once, in percent.
        max_ejected_percent: u8 = count(0, 100) => reloadable,
        /// Breakers count and log, and keep nobody out.
        simulate_only: bool => reloadable,
    }

    /// `[engine]`
    #[derive(Debug, Clone, Copy)]
    pub struct EngineSettings {
        /// Threads that leads run on; 0 for one per core.
        threads: usize = count(0, 256),
    }

    /// `[reports]`
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ReportSettings {
        /// The time zones by whose days is counted, at least one; the first is that of a report which names none.
        zones: Vec<Tz> = zones,
        /// The client tags that are counted, by name.
        tags: Vec<String> = tags,
        /// Values of one of them that are counted each, of one company.
        tag_values: usize = count(1, 100_000),
        /// Cells that are kept in memory before they are written.
        cells_in_memory: usize = count(1_000, 10_000_000),
        /// After how long they are written in any case.
        write_every: Duration = span(SECOND, 7 * DAY),
        /// Groups of one report.
        groups: usize = count(1_000, 50_000_000),
        /// Rows of one report that are told.
        rows: usize = count(1, 1_000_000),
        /// Reports that are made at once.
        at_once: usize = count(1, 64),
    }

    /// `[analytics]`
    #[derive(Debug, Clone, Copy)]
    pub struct AnalyticsSettings {
        /// Records read for one page of a feed.
        page_records_max: usize = count(1_000, 100_000_000),
    }

    /// `[store]`
    #[derive(Debug, Clone)]
    pub struct StoreSettings {
        /// What keeps the records.
        engine: StoreEngine,
        /// Directory of the store; of this daemon alone where a database has the records.
        path: PathBuf = path,
        /// The database, whether it is in use or not; `None` where none is named.
        postgres: Option<PostgresSettings> = database,
        /// File with the master key, if one is named.
        master_key_file: Option<PathBuf> = file,
        /// File with the key of who asked to be left alone, if one is named.
        suppression_key_file: Option<PathBuf> = file,
        /// Commits that wait for the writer.
        queue: usize = count(1, 10_000_000),
        /// Changes of one record that may wait for each other.
        changes_per_record: usize = count(1, 65_536),
        /// Commits that are made durable together.
        group: usize = count(1, 65_536),
        /// Memory for the cache.
        cache_bytes: u64 = count(1_048_576, i64::MAX),
        /// How much of the disk has to be free for new leads to be taken in, in bytes.
        reserve_bytes: u64 = count(0, 1 << 40),
        /// How long the disk may take for one write before no new leads are taken in.
        stall_after: Duration = span(MILLISECOND, CENTURY),
        /// Time between two readings of all record files; zero for none.
        scrub_interval: Duration = span(ZERO, CENTURY),
        /// How fast they are read, in bytes a second.
        scrub_rate: u64 = count(4096, i64::MAX),
        /// How long the files of a volume become, in bytes.
        volume_bytes: u64 = count(1_048_576, i64::MAX),
        /// How long a volume is written to.
        volume_age: Duration = span(SECOND, CENTURY),
        /// How long leads are kept; zero for ever.
        retention: Duration = span(ZERO, CENTURY),
        /// How far the machine's clock may be stepped ahead at once.
        clock_jump: Duration = span(SECOND, DAY),
        /// How long it has to stay further ahead to be believed.
        clock_hold: Duration = span(ZERO, CENTURY),
        /// How far it may be ahead of the last arrival at a start.
        clock_gap: Duration = any_span,
    }

    /// `[store.postgres]`
    #[derive(Clone, PartialEq, Eq)]
    pub struct PostgresSettings {
        /// Its address. May hold a password.
        url: String = database_url,
        /// File with the password, if one is named.
        password_file: Option<PathBuf> = file,
        /// File with who may vouch for it beside the public CAs, if one is named.
        ca_file: Option<PathBuf> = file,
        /// Connections to it.
        connections: usize = count(2, 1000),
        /// How long one answer may take.
        answer_within: Duration = span(10 * MILLISECOND, HOUR),
        /// How long a daemon that has ended without a word counts as alive.
        lease: Duration = span(SECOND, HOUR),
        /// What this daemon is called among those that share the database; `None` for the name of its machine.
        node_name: Option<String> = node_name,
    }

    /// `[partners]`
    #[derive(Debug, Clone)]
    pub struct PathSettings {
        /// Directory.
        path: PathBuf = path => reloadable,
    }

    /// `[reference]`
    #[derive(Debug, Clone)]
    pub struct ReferenceSettings {
        /// File of the cars that are looked up; `None` for the sample that ships.
        vehicles: Option<PathBuf> = file => reloadable,
        /// Names or cars in one answer.
        vehicles_per_answer: usize = count(1_000, 100_000),
    }

    /// `[approval]`
    #[derive(Debug, Clone, Copy)]
    pub struct ApprovalSettings {
        /// How long reports are kept.
        reports_kept: Duration = span(MILLISECOND, CENTURY) => reloadable,
        /// Those of one company.
        reports_per_company: usize = count(1, 100_000) => reloadable,
    }

    /// `[transcripts]`
    #[derive(Debug, Clone, Copy)]
    pub struct TranscriptSettings {
        /// How long they are kept.
        kept: Duration = span(MILLISECOND, CENTURY) => reloadable,
        /// Bytes of the bodies of one call.
        call_bytes: usize = count(1024, 1_048_576) => reloadable,
    }

    /// `[experiments]`
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ExperimentSettings {
        /// Where the files are.
        path: PathBuf = path => reloadable,
        /// Leads of one rule that a comparison reads.
        compared_leads: usize = count(1_000, 10_000_000) => reloadable,
        /// Variants of one rule.
        variants_per_rule: usize = count(1, 1_000) => reloadable,
    }

    /// `[postbacks]`
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PostbackSettings {
        /// Where the files are.
        path: PathBuf = path => reloadable,
        /// Calls of one subscription that are under way at a time.
        concurrency: usize = count(1, 256) => reloadable,
        /// Events of one that were taken from the feed and not acknowledged.
        outstanding: usize = count(1, 1_000_000) => reloadable,
        /// How long an event waits after its first failure.
        first_backoff: Duration = span(MILLISECOND, HOUR) => reloadable,
        /// How long it waits at most.
        longest_backoff: Duration = span(MILLISECOND, DAY) => reloadable,
        /// Dead letters of one subscription.
        dead_letters: usize = count(0, 1_000_000) => reloadable,
        /// How long they are kept.
        dead_letters_kept: Duration = span(MILLISECOND, CENTURY) => reloadable,
        /// How long the place of a subscription is kept whose file is gone.
        vanished_kept: Duration = span(MILLISECOND, CENTURY) => reloadable,
    }

    /// `[tokens]`
    #[derive(Debug, Clone, Copy)]
    pub struct TokenSettings {
        /// Whether a first start makes tokens.
        bootstrap: bool,
    }

    /// `[shutdown]`
    #[derive(Debug, Clone, Copy)]
    pub struct ShutdownSettings {
        /// Longest time for requests in flight.
        drain: Duration = span(ZERO, HOUR),
        /// How long before that it says that it is not ready.
        announce: Duration = span(ZERO, HOUR),
    }

    /// `[log]`
    #[derive(Debug, Clone)]
    pub struct LogSettings {
        /// Level or directives.
        filter: String = log_filter => reloadable,
        /// For whom.
        format: LogFormat,
    }

    /// `[tracing]`
    #[derive(Debug, Clone)]
    pub struct TracingSettings {
        /// The collector of traces; `None` for no traces.
        otlp_endpoint: Option<String> = url,
        /// Of a hundred leads, how many are traced.
        sampled_percent: u8 = count(0, 100),
    }
}

impl OfferPageSettings {
    /// A sentence for each company that has pages of its own looks and no token, so that nobody will ever see them. `known` are the
    /// companies with tokens.
    pub fn without_token(&self, known: &BTreeSet<String>) -> Vec<String> {
        let strangers = self.companies.keys().filter(|company| !known.contains(*company));
        let there_are = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let sentence = |company: &String| {
            format!(
                "`offer_pages.companies` names `{company}`, which has no token, so its looks are never shown; companies with tokens \
                 are: {there_are}. Write the name as `offerd token list` has it, or make a token with `offerd token create`"
            )
        };
        strangers.map(sentence).collect()
    }
}

/// The roles of users, as the store knows them.
pub const ROLES: [&str; 4] = ["viewer", "analyst", "operator", "administrator"];

/// Who has to sign in to the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignIn {
    /// Everybody, unless the admin listener is on loopback: there each user of the machine is an operator.
    Remote,
    /// Everybody.
    Always,
}

/// A rate, and what may be saved up for a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSettings {
    /// Requests a second.
    pub per_second: NonZeroU32,
    /// Requests at once.
    pub burst: NonZeroU32,
}

impl RateSettings {
    fn new(per_second: u32, burst: u32) -> Option<Self> {
        Some(Self { per_second: NonZeroU32::new(per_second)?, burst: NonZeroU32::new(burst)? })
    }
}

impl LimitSettings {
    /// How often one company may ask; `None` for no limit.
    pub fn per_company(&self) -> Option<RateSettings> {
        RateSettings::new(self.requests_per_second_per_company, self.burst_per_company)
    }

    /// How often one address may ask; `None` for no limit.
    pub fn per_address(&self) -> Option<RateSettings> {
        RateSettings::new(self.requests_per_second_per_address, self.burst_per_address)
    }

    /// How often one offer may be clicked; `None` for no limit.
    pub fn clicks_per_offer(&self) -> Option<RateSettings> {
        RateSettings::new(self.clicks_per_second_per_offer, self.burst_clicks_per_offer)
    }
}

impl MatchingSettings {
    /// The shortest deadline that may be set.
    pub const DEADLINE_MIN: Duration = Duration::from_millis(10);
    /// The longest.
    pub const DEADLINE_MAX: Duration = Duration::from_secs(300);
}

impl ReportSettings {
    /// The time zone of what names none.
    pub fn usual_zone(&self) -> Tz {
        self.zones.first().copied().unwrap_or(Tz::UTC)
    }
}

impl StoreSettings {
    /// The database that has the records; `None` where they lie in files.
    pub fn database(&self) -> Option<&PostgresSettings> {
        self.postgres.as_ref().filter(|_| self.engine == StoreEngine::Postgres)
    }

    /// The setting that says where the records are, and what it says, for messages: without a password.
    pub fn place(&self) -> String {
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
    /// Files of this machine, in `store.path`.
    Embedded,
    /// A database that speaks PostgreSQL's protocol.
    Postgres,
}

/// The address may hold a password.
impl fmt::Debug for PostgresSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PostgresSettings").finish_non_exhaustive()
    }
}

/// What `api.cors_origins` wants.
const CORS_ORIGINS: &str = "must be `*` or origins such as `https://shop.example`";

/// What `offer_pages.frame_ancestors` wants.
const FRAME_ANCESTORS: &str = "must be origins such as `https://shop.example` or `https://*.shop.example`";

/// Time zones that days are counted by at most: each takes as much room as the first.
const ZONES_MAX: usize = 4;

/// Tags that are counted at most: each more makes a pair with every other dimension.
const TAGS_MAX: usize = 8;

/// What reports are by beside tags.
const DIMENSIONS: [&str; 10] =
    ["day", "week", "month", "company", "product", "subType", "partner", "rating", "state", "experiment"];

/// The headers in which proxies name users whose names do not begin with `x-`.
const USER_HEADERS: [&str; 4] =
    ["remote-user", "remote-email", "tailscale-user-login", "cf-access-authenticated-user-email"];

/// What begins with `x-` and names no user: browsers, libraries and proxies set it of themselves.
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

/// Longest name of a node.
const NODE_NAME_CHARS: usize = 100;

fn vendor(names: OneOrMany) -> Checked<Vec<String>> {
    let vendor = Vec::from(names);
    let is_segment = |name: &String| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
    };
    if vendor.iter().all(is_segment) {
        return Ok(vendor);
    }
    Err(vec!["must be names of letters, digits, `-` and `_`".to_owned()])
}

fn any_path(text: String) -> Checked<PathBuf> {
    Ok(text.into())
}

/// None where no file is named.
fn tls(files: TlsSettings) -> Checked<Option<TlsSettings>> {
    let is_named = |path: &PathBuf| !path.as_os_str().is_empty();
    let is_any = [&files.certificate, &files.key].into_iter().any(is_named);
    Ok(Some(files).filter(|_| is_any))
}

fn lower_case(text: String) -> Checked<String> {
    Ok(text.to_ascii_lowercase())
}

/// Whether a header, in small letters, is one in which proxies name users.
fn names_users(header: &str) -> bool {
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let is_own = header.len() > 2 && header.starts_with("x-") && !OF_NO_USER.contains(&header);
    header.chars().all(is_of_a_name) && (is_own || USER_HEADERS.contains(&header))
}

/// Whether so many come from a network that to come from it says nothing.
fn is_half_the_world(network: &IpNet) -> bool {
    match network {
        IpNet::V4(network) => network.prefix_len() < 8,
        IpNet::V6(network) => network.prefix_len() < 16,
    }
}

/// Networks of proxies. Whoever comes from one may say whom they forward for.
fn proxies(names: OneOrMany) -> Checked<Vec<IpNet>> {
    let networks = networks(names)?;
    let wide = networks.iter().filter(|network| is_half_the_world(network));
    let wide = wide.map(|wide| {
        format!(
            "must be networks that only proxies come from, such as `10.0.0.0/24`: none wider than /8, or /16 of IPv6, from which many \
             others come too and could forge `X-Forwarded-For`; got `{wide}`"
        )
    });
    unless(wide.collect(), networks)
}

/// A proxy that signs people in. Whoever could send its header from elsewhere would be whom they like.
fn proxy(proxy: ProxySettings) -> Checked<Option<ProxySettings>> {
    let ProxySettings { header, from, role } = &proxy;
    if header.is_empty() && from.is_empty() && role.is_none() {
        return Ok(None);
    }
    let mut faults = Vec::new();
    if !names_users(header) {
        faults.push(format!(
            "`header` must be one in which a proxy names a user, and that nobody else sets: one that begins with `x-`, such as \
             `x-forwarded-user`, or one of {}; got `{header}`",
            USER_HEADERS.map(|name| format!("`{name}`")).join(", ")
        ));
    }
    if from.is_empty() {
        faults.push("`from` must hold the addresses that the proxy comes from".to_owned());
    }
    let wide = from.iter().filter(|network| is_half_the_world(network));
    faults.extend(wide.map(|wide| {
        format!(
            "`from` must hold the addresses that the proxy comes from, such as `10.0.0.5` or `10.0.0.0/24`: no network wider than /8, or \
             /16 of IPv6, from which many others come too; got `{wide}`"
        )
    }));
    if let Some(role) = role.as_ref().filter(|role| !ROLES.contains(&role.as_str())) {
        faults.push(format!("`role` must be empty, or one of {}, got `{role}`", ROLES.join(", ")));
    }
    unless(faults, Some(proxy))
}

/// Time zones by whose days is counted.
fn zones(names: OneOrMany) -> Checked<Vec<Tz>> {
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

/// Tags that are counted.
fn tags(names: OneOrMany) -> Checked<Vec<String>> {
    let names = Vec::from(names);
    let mut faults = Vec::new();
    for (nth, name) in names.iter().enumerate() {
        // It stands before the `=` of a filter, and at the head of a column.
        let is_unfit = name.contains('=') || name.chars().any(char::is_control);
        for (is_wrong, wanted) in [
            (DIMENSIONS.contains(&name.as_str()), "names of client tags that are no dimensions of reports"),
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

/// None where no address is named.
fn database(database: PostgresSettings) -> Checked<Option<PostgresSettings>> {
    Ok(Some(database).filter(|database| !database.url.is_empty()))
}

/// What is wrong with the address beyond how it begins is told by who reads it.
fn database_url(url: String) -> Checked<String> {
    if url.is_empty() || ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Ok(url);
    }
    Err(vec!["must begin with `postgres://` or `postgresql://`, and does not".to_owned()])
}

fn node_name(name: String) -> Checked<Option<String>> {
    if name.chars().count() > NODE_NAME_CHARS || name.chars().any(char::is_control) {
        let wanted = format!("must be {NODE_NAME_CHARS} characters at most, without control characters");
        return Err(vec![wanted]);
    }
    given(name)
}

fn log_filter(filter: String) -> Checked<String> {
    let wanted = "must be a level or directives such as `info,offerd=debug`";
    logging::check(&filter).map_err(|cause| vec![format!("{wanted}: {cause}")])?;
    Ok(filter)
}
