//! The settings as the daemon uses them: checked, in types, with their units.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;
use ipnet::IpNet;
use serde::Deserialize;

use super::alerts::AlertSettings;
use super::checks::checked;
use super::colour::Colour;
use super::layers::{self, Layers, Places};
use super::raw::Raw;
use super::web_address;
use crate::declaration::{Fault, Reading, read_table};
use crate::telemetry::logging::LogFormat;

/// A setting in force: key, value, and where it came from.
pub type DescribedSetting = (String, String, String);

/// All settings. `config/default.toml` says what each is for.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `[api]`; its limits hold for every listener.
    pub api: ApiSettings,
    /// `[offer_pages]`
    pub offer_pages: OfferPageSettings,
    /// `[integrations]`
    pub integrations: IntegrationsSettings,
    /// `[admin]`
    pub admin: ListenerSettings,
    /// `[console]`
    pub console: ConsoleSettings,
    /// `[audit]`
    pub audit: AuditSettings,
    /// `[matching]`
    pub matching: MatchingSettings,
    /// `[limits]`
    pub limits: LimitSettings,
    /// `[engine]`
    pub engine: EngineSettings,
    /// `[analytics]`
    pub analytics: AnalyticsSettings,
    /// `[reports]`
    pub reports: ReportSettings,
    /// `[ranking]`
    pub ranking: RankingSettings,
    /// `[wire]`
    pub wire: WireSettings,
    /// `[store]`
    pub store: StoreSettings,
    /// `[partners]`
    pub partners: PathSettings,
    /// `[reference]`
    pub reference: ReferenceSettings,
    /// `[approval]`
    pub approval: ApprovalSettings,
    /// `[transcripts]`
    pub transcripts: TranscriptSettings,
    /// `[postbacks]`
    pub postbacks: PostbackSettings,
    /// `[experiments]`
    pub experiments: ExperimentSettings,
    /// `[alerts]`
    pub alerts: AlertSettings,
    /// `[tokens]`
    pub tokens: TokenSettings,
    /// `[shutdown]`
    pub shutdown: ShutdownSettings,
    /// `[log]`
    pub log: LogSettings,
    /// `[tracing]`
    pub tracing: TracingSettings,
    pub(super) described: Vec<DescribedSetting>,
    /// As they are written, all layers merged.
    pub(super) table: toml::Table,
    /// Where they stand.
    pub(super) places: Arc<Places>,
}

/// `[api]`
#[derive(Debug, Clone)]
pub struct ApiSettings {
    /// Address of the listener.
    pub listen: SocketAddr,
    /// Where clients reach it; `None` for its own address.
    pub base_url: Option<String>,
    /// Vendor segments of the v1 `Accept` type; none for any.
    pub vendor: Vec<String>,
    /// Origins whose pages may call.
    pub cors_origins: Vec<String>,
    /// Open connections per listener.
    pub max_connections: usize,
    /// Longest request head.
    pub max_head_bytes: usize,
    /// Longest request body.
    pub max_body_bytes: usize,
    /// Longest time for a head.
    pub header_timeout: Duration,
    /// Longest time for a body.
    pub request_timeout: Duration,
    /// Longest time that an answer may stay unread.
    pub write_timeout: Duration,
    /// Whether a sandbox has a page for trying a lead.
    pub demo: bool,
    /// What the api listener shows who it is with; `None` for HTTP in the clear.
    pub tls: Option<TlsSettings>,
}

/// `[offer_pages]`
#[derive(Debug, Clone)]
pub struct OfferPageSettings {
    /// How long a page opens after its rate table was made.
    pub open_for: Duration,
    /// Origins whose pages may show it in a frame.
    pub frame_ancestors: Vec<String>,
    /// How it looks where nothing else is said.
    pub brand: BrandSettings,
    /// How it looks for companies, by their names.
    pub companies: BTreeMap<String, BrandSettings>,
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

/// How a page looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrandSettings {
    /// The name at its head; `None` for that of the company.
    pub name: Option<String>,
    /// The colour of buttons and links on a light ground.
    pub colour: Colour,
    /// The same on a dark ground.
    pub dark_colour: Colour,
}

/// `[integrations]`
#[derive(Debug, Clone)]
pub struct IntegrationsSettings {
    /// Address of the listener.
    pub listen: SocketAddr,
    /// Where partners reach it who call back; `None` for the address that it listens on.
    pub base_url: Option<String>,
    /// What it shows who it is with; `None` for HTTP in the clear.
    pub tls: Option<TlsSettings>,
}

/// `[admin]`
#[derive(Debug, Clone)]
pub struct ListenerSettings {
    /// Address of the listener.
    pub listen: SocketAddr,
    /// What it shows who it is with; `None` for HTTP in the clear.
    pub tls: Option<TlsSettings>,
}

/// `[console]`
#[derive(Debug, Clone)]
pub struct ConsoleSettings {
    /// Who has to sign in.
    pub sign_in: SignIn,
    /// File with a password to sign in with, if one is named.
    pub password_file: Option<PathBuf>,
    /// How long a session lasts at most.
    pub session_life: Duration,
    /// How long one lasts in which nothing is done.
    pub session_idle: Duration,
    /// How many attempts to sign in with one name may fail within a minute.
    pub sign_ins_failed_per_name: usize,
    /// How many may in all.
    pub sign_ins_failed: usize,
    /// Rate tables that one search looks at.
    pub tables_looked_at: usize,
    /// Those of them whose answers it reads.
    pub tables_read: usize,
    /// How long readings of the metrics are kept for charts.
    pub history_kept: Duration,
    /// What signs people in before they come here, if something does.
    pub proxy: Option<ProxySettings>,
}

/// `console.proxy`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxySettings {
    /// The header that names the user, in small letters.
    pub header: String,
    /// Where it comes from.
    pub from: Vec<IpNet>,
    /// The role of who is no user here, one of [`ROLES`]; nothing where they are refused.
    pub role: Option<String>,
}

/// The roles of users, as the store knows them.
pub const ROLES: [&str; 4] = ["viewer", "analyst", "operator", "administrator"];

/// `[audit]`
#[derive(Debug, Clone, Copy)]
pub struct AuditSettings {
    /// How long its records are kept.
    pub keep: Duration,
}

/// Who has to sign in to the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignIn {
    /// Everybody, unless the admin listener is on loopback: there each user of the machine is an operator.
    Remote,
    /// Everybody.
    Always,
}

impl Settings {
    /// Whether one has to sign in to the console.
    pub fn console_asks_to_sign_in(&self) -> bool {
        self.console.sign_in == SignIn::Always || !self.admin.listen.ip().is_loopback()
    }
}

/// `tls` of a listener: two files in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// The certificate, and those above it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// `[limits]`
#[derive(Debug, Clone)]
pub struct LimitSettings {
    /// Of one company.
    pub per_company: Option<RateSettings>,
    /// Of one address.
    pub per_address: Option<RateSettings>,
    /// Clicks on one offer.
    pub clicks_per_offer: Option<RateSettings>,
    /// Clicks on one offer that are kept.
    pub clicks_kept_per_offer: u64,
    /// Displays of one offer that images tell of and that are kept.
    pub displays_kept_per_offer: u64,
    /// Most statements of a lead's consents that are kept beside the latest.
    pub consents_kept_per_lead: usize,
    /// Bytes of a lead as it is stored, beyond which nothing is merged into it.
    pub bytes_per_lead: usize,
    /// Leads of a person that are erased at once; those beyond go in further rounds.
    pub leads_erased_at_once: usize,
    /// How long after a lead was made a publishable token may merge into it.
    pub publishable_merge: Duration,
    /// Data of leads that wait to be taken up.
    pub prefills: PrefillSettings,
    /// Open connections of one address; 0 for no limit.
    pub connections_per_address: usize,
    /// Open files that clients' connections leave to all else.
    pub reserved_descriptors: usize,
    /// Networks that no rate of requests holds for.
    pub exempt: Vec<IpNet>,
    /// Networks of proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Requests under way.
    pub requests: usize,
    /// Those of one company; 0 for no limit of its own.
    pub requests_per_company: usize,
    /// Bytes of bodies under way.
    pub body_bytes: usize,
    /// Those of one company; 0 for no limit of its own.
    pub body_bytes_per_company: usize,
    /// Bytes of complete rate tables that are kept as they are shown; 0 for none.
    pub shown_bytes: u64,
    /// How long new work in flight may queue for threads; zero lets in whatever comes.
    pub queueing_target: Duration,
    /// Requests that bring new work and may wait to be let in.
    pub queue: usize,
    /// How long they may.
    pub queue_wait: Duration,
}

/// `limits.prefill*`
#[derive(Debug, Clone, Copy)]
pub struct PrefillSettings {
    /// How long one can be read.
    pub lifetime: Duration,
    /// How often.
    pub reads: u32,
    /// How many of one company there may be; 0 for no limit.
    pub per_company: usize,
}

/// A rate, and what may be saved up for a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSettings {
    /// Requests a second.
    pub per_second: NonZeroU32,
    /// Requests at once.
    pub burst: NonZeroU32,
}

/// `[matching]`
#[derive(Debug, Clone, Copy)]
pub struct MatchingSettings {
    /// From a lead's arrival to its complete rate table.
    pub deadline: Duration,
    /// Longest wait of a submit for the partners that answer at once.
    pub submit_wait: Duration,
    /// Kept back from each budget.
    pub response_margin: Duration,
    /// Least budget that an ask is worth.
    pub least_budget: Duration,
    /// Kept back for second look.
    pub second_look_reserve: Duration,
    /// Rate tables that are built at once.
    pub live_tables: usize,
    /// Those of one company; 0 for no limit of its own.
    pub live_tables_per_company: usize,
    /// How long answers that nobody can see yet are gathered for one write.
    pub gather_answers: Duration,
    /// How long a complete table stays in memory.
    pub linger: Duration,
    /// Seats asked about one lead.
    pub partners_per_lead: usize,
    /// Offers of one seat in one table.
    pub offers_per_partner: usize,
}

impl MatchingSettings {
    /// The shortest deadline that may be set.
    pub const DEADLINE_MIN: Duration = Duration::from_millis(10);
    /// The longest.
    pub const DEADLINE_MAX: Duration = Duration::from_secs(300);
}

/// `[wire]`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WireSettings {
    /// Share of the endpoints of partners over HTTP that breakers may keep out at once, in percent.
    pub max_ejected_percent: u8,
    /// Breakers count and log, and keep nobody out.
    pub simulate_only: bool,
}

/// `[engine]`
#[derive(Debug, Clone, Copy)]
pub struct EngineSettings {
    /// Threads that leads run on; 0 for one per core.
    pub threads: usize,
}

/// `[reports]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportSettings {
    /// The time zones by whose days is counted, at least one; the first is that of a report which names none.
    pub zones: Vec<Tz>,
    /// The client tags that are counted, by name.
    pub tags: Vec<String>,
    /// Values of one of them that are counted each, of one company.
    pub tag_values: usize,
    /// Cells that are kept in memory before they are written.
    pub cells_in_memory: usize,
    /// After how long they are written in any case.
    pub write_every: Duration,
    /// Groups of one report.
    pub groups: usize,
    /// Rows of one report that are told.
    pub rows: usize,
    /// Reports that are made at once.
    pub at_once: usize,
}

impl ReportSettings {
    /// The time zone of what names none.
    pub fn usual_zone(&self) -> Tz {
        self.zones.first().copied().unwrap_or(Tz::UTC)
    }
}

/// `[ranking]`
#[derive(Debug, Clone, PartialEq)]
pub struct RankingSettings {
    /// The ranking of companies that none names; `None` for none.
    pub default: Option<String>,
    /// The rankings, by their names.
    pub named: BTreeMap<String, NamedRanking>,
    /// Share of clicks that are believed to convert before any was seen.
    pub prior_rate: f64,
    /// How many clicks that belief is worth.
    pub prior_strength: f64,
    /// No conversion counts for less.
    pub least: f64,
    /// No conversion counts for more.
    pub most: f64,
    /// The consumer rating of an offer without one, out of 100.
    pub unrated: f64,
    /// How old a day's clicks must be to count.
    pub matures_after: Duration,
    /// After how long a click counts for half; `None` for never.
    pub half_life: Option<Duration>,
    /// How old clicks are that still count.
    pub window: Duration,
    /// Between two sums of what was learnt.
    pub refresh: Duration,
    /// Counts of a day, an offer and a rating that are kept in memory.
    pub cohorts: usize,
}

impl RankingSettings {
    /// The ranking that needs no section of its own.
    pub const EXPECTED_VALUE: &str = "expected_value";

    /// Whether any ranking is named, so that there is something to learn for.
    pub fn is_on(&self) -> bool {
        !self.named.is_empty()
    }

    /// A sentence for each company that a ranking names and that has no token, so that it never has an offer. `known` are the companies
    /// with tokens.
    pub fn without_token(&self, known: &BTreeSet<String>) -> Vec<String> {
        let named = self.named.iter().flat_map(|(name, ranking)| {
            ranking
                .companies
                .iter()
                .filter(|company| !known.contains(*company))
                .map(move |company| (name, company))
        });
        let sentence = |(name, company): (&String, &String)| {
            format!(
                "`ranking.named.{name}` names the company `{company}`, which has no token, so that nothing is ranked for it. Write \
                 the name as `offerd token list` has it, or make a token with `offerd token create`"
            )
        };
        named.map(sentence).collect()
    }
}

impl NamedRanking {
    /// The expected value in dollars, by the conversion that was measured.
    pub const fn expected_value() -> Self {
        Self { interest: 1.0, conversion: 1.0, payout: 1.0, consumer_rating: 0.0, companies: Vec::new() }
    }
}

/// A ranking: how much each part of a score counts.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedRanking {
    /// Of the person's interest.
    pub interest: f64,
    /// Of the conversion.
    pub conversion: f64,
    /// Of the payout.
    pub payout: f64,
    /// Of the consumer rating.
    pub consumer_rating: f64,
    /// The companies whose offers are ranked by it, by their names.
    pub companies: Vec<String>,
}

/// `[analytics]`
#[derive(Debug, Clone, Copy)]
pub struct AnalyticsSettings {
    /// Records read for one page of a feed.
    pub page_records_max: usize,
}

/// `[store]`
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// What keeps the records.
    pub engine: StoreEngine,
    /// Directory of the store; of this daemon alone where a database has the records.
    pub path: PathBuf,
    /// The database, whether it is in use or not; `None` where none is named.
    pub postgres: Option<PostgresSettings>,
    /// File with the master key, if one is named.
    pub master_key_file: Option<PathBuf>,
    /// File with the key of who asked to be left alone, if one is named.
    pub suppression_key_file: Option<PathBuf>,
    /// Commits that wait for the writer.
    pub queue: usize,
    /// Changes of one record that may wait for each other.
    pub changes_per_record: usize,
    /// Commits that are made durable together.
    pub group: usize,
    /// Memory for the cache.
    pub cache_bytes: u64,
    /// How much of the disk has to be free for new leads to be taken in, in bytes.
    pub reserve_bytes: u64,
    /// How long the disk may take for one write before no new leads are taken in.
    pub stall_after: Duration,
    /// Time between two readings of all record files; zero for none.
    pub scrub_interval: Duration,
    /// How fast they are read, in bytes a second.
    pub scrub_rate: u64,
    /// How long the files of a volume become, in bytes.
    pub volume_bytes: u64,
    /// How long a volume is written to.
    pub volume_age: Duration,
    /// How long leads are kept; zero for ever.
    pub retention: Duration,
    /// How far the machine's clock may be stepped ahead at once.
    pub clock_jump: Duration,
    /// How long it has to stay further ahead to be believed.
    pub clock_hold: Duration,
    /// How far it may be ahead of the last arrival at a start.
    pub clock_gap: Duration,
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

/// `[store.postgres]`
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresSettings {
    /// Its address. May hold a password.
    pub url: String,
    /// File with the password, if one is named.
    pub password_file: Option<PathBuf>,
    /// File with who may vouch for it beside the public CAs, if one is named.
    pub ca_file: Option<PathBuf>,
    /// Connections to it.
    pub connections: usize,
    /// How long one answer may take.
    pub answer_within: Duration,
    /// How long a daemon that has ended without a word counts as alive.
    pub lease: Duration,
    /// What this daemon is called among those that share the database; `None` for the name of its machine.
    pub node_name: Option<String>,
}

/// The address may hold a password.
impl fmt::Debug for PostgresSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PostgresSettings").finish_non_exhaustive()
    }
}

/// `[partners]`
#[derive(Debug, Clone)]
pub struct PathSettings {
    /// Directory.
    pub path: PathBuf,
}

/// `[reference]`
#[derive(Debug, Clone)]
pub struct ReferenceSettings {
    /// File of the cars that are looked up; `None` for the sample that ships.
    pub vehicles: Option<PathBuf>,
    /// Names or cars in one answer.
    pub vehicles_per_answer: usize,
}

/// `[approval]`
#[derive(Debug, Clone, Copy)]
pub struct ApprovalSettings {
    /// How long reports are kept.
    pub reports_kept: Duration,
    /// Those of one company.
    pub reports_per_company: usize,
}

/// `[transcripts]`
#[derive(Debug, Clone, Copy)]
pub struct TranscriptSettings {
    /// How long they are kept.
    pub kept: Duration,
    /// Bytes of the bodies of one call.
    pub call_bytes: usize,
}

/// `[experiments]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExperimentSettings {
    /// Where the files are.
    pub path: PathBuf,
    /// Leads of one rule that a comparison reads.
    pub compared_leads: usize,
    /// Variants of one rule.
    pub variants_per_rule: usize,
}

/// `[postbacks]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostbackSettings {
    /// Where the files are.
    pub path: PathBuf,
    /// Calls of one subscription that are under way at a time.
    pub concurrency: usize,
    /// Events of one that were taken from the feed and not acknowledged.
    pub outstanding: usize,
    /// How long an event waits after its first failure.
    pub first_backoff: Duration,
    /// How long it waits at most.
    pub longest_backoff: Duration,
    /// Dead letters of one subscription.
    pub dead_letters: usize,
    /// How long they are kept.
    pub dead_letters_kept: Duration,
    /// How long the place of a subscription is kept whose file is gone.
    pub vanished_kept: Duration,
}

/// `[tokens]`
#[derive(Debug, Clone, Copy)]
pub struct TokenSettings {
    /// Whether a first start makes tokens.
    pub bootstrap: bool,
}

/// `[shutdown]`
#[derive(Debug, Clone, Copy)]
pub struct ShutdownSettings {
    /// Longest time for requests in flight.
    pub drain: Duration,
    /// How long before that it says that it is not ready.
    pub announce: Duration,
}

/// `[log]`
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// Level or directives.
    pub filter: String,
    /// For whom.
    pub format: LogFormat,
}

/// `[tracing]`
#[derive(Debug, Clone)]
pub struct TracingSettings {
    /// The collector of traces; `None` for no traces.
    pub otlp_endpoint: Option<String>,
    /// Of a hundred leads, how many are traced.
    pub sampled_percent: u8,
}

impl Settings {
    /// The settings of this process: defaults, `file` if any, environment.
    ///
    /// # Errors
    /// Every fault.
    pub fn load(file: Option<&Path>) -> Result<Self, Vec<Fault>> {
        match Self::inspect(file) {
            (Some(settings), faults) if faults.is_empty() => Ok(settings),
            (_, faults) => Err(faults),
        }
    }

    /// Like [`load`](Self::load), but gives settings beside their faults where it can: the faulty ones have their
    /// defaults. For those who go on checking.
    pub fn inspect(file: Option<&Path>) -> (Option<Self>, Vec<Fault>) {
        let environment = match layers::environment(std::env::vars_os()) {
            Ok(environment) => environment,
            Err(faults) => return (None, faults),
        };
        let Some(path) = file else { return Self::of_layers(None, environment) };
        match std::fs::read_to_string(path) {
            Ok(text) => Self::of_layers(Some((path, &text)), environment),
            Err(error) => {
                let message = format!(
                    "cannot be read: {error}; name the settings file by `--config` or OFFERD_CONFIG, or leave both out \
                     for the built-in settings"
                );
                (None, vec![Fault { file: Some(path.to_owned()), line: None, key: String::new(), message }])
            }
        }
    }

    /// The settings of these layers: a file as path and text, and environment variables.
    ///
    /// # Errors
    /// Every fault.
    pub fn from_layers(
        file: Option<(&Path, &str)>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Vec<Fault>> {
        match Self::of_layers(file, environment) {
            (Some(settings), faults) if faults.is_empty() => Ok(settings),
            (_, faults) => Err(faults),
        }
    }

    fn of_layers(
        file: Option<(&Path, &str)>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> (Option<Self>, Vec<Fault>) {
        let layers = match Layers::merge(file, environment) {
            Ok(layers) => layers,
            Err(faults) => return (None, faults),
        };
        let Reading { value, faults: mut found, .. } =
            read_table::<Raw>(layers.merged.clone(), layers.places.defaults.table());
        let (described, places) = (describe(&layers), Arc::new(layers.places));
        let in_place = Arc::clone(&places);
        let settings = value.map(|raw| checked(raw, described, layers.merged, in_place, &mut found));
        let mut faults: Vec<Fault> =
            found.into_iter().map(|(key, message)| places.fault(&key, message)).collect();
        faults.sort_by(|one, two| (&one.file, one.line).cmp(&(&two.file, two.line)));
        (settings, faults)
    }

    /// A fault that is found of a setting later, in the place where it was set last.
    pub fn fault(&self, key: &str, message: String) -> Fault {
        self.places.fault(key, message)
    }

    /// Every setting in force: key, value, and where it came from.
    pub fn describe(&self) -> &[DescribedSetting] {
        &self.described
    }
}

/// The one table of settings with an address that may hold a password.
const DATABASE: &str = "store.postgres";

fn describe(layers: &Layers) -> Vec<DescribedSetting> {
    let keys = layers.merged.iter().filter_map(|(section, keys)| keys.as_table().map(|keys| (section, keys)));
    let row = |section: &str, key: &str, value: &toml::Value| {
        let key = format!("{section}.{key}");
        let source = layers.places.source_of(&key);
        let value = match key == DATABASE {
            true => web_address::without_password(value),
            false => value.to_string(),
        };
        (key, value, source)
    };
    keys.flat_map(|(section, keys)| keys.iter().map(move |(key, value)| row(section, key, value))).collect()
}
