//! The settings as the daemon uses them: checked, in types, with their units.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::layers::Layers;
use super::raw::{Raw, RawApi, RawMatching, RawStore};
use crate::declaration::{Fault, HumanDuration, read_table};

/// All settings. `config/default.toml` says what each is for.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `[api]`; its limits hold for every listener.
    pub api: ApiSettings,
    /// `[integrations]`
    pub integrations: ListenerSettings,
    /// `[admin]`
    pub admin: ListenerSettings,
    /// `[matching]`
    pub matching: MatchingSettings,
    /// `[store]`
    pub store: StoreSettings,
    /// `[partners]`
    pub partners: PathSettings,
    /// `[tokens]`
    pub tokens: TokenSettings,
    /// `[shutdown]`
    pub shutdown: ShutdownSettings,
    /// `[log]`
    pub log: LogSettings,
    described: Vec<(String, String, String)>,
}

/// `[api]`
#[derive(Debug, Clone)]
pub struct ApiSettings {
    /// Address of the listener.
    pub listen: SocketAddr,
    /// Where clients reach it; `None` for its own address.
    pub base_url: Option<String>,
    /// Vendor segments of the v1 `Accept` type.
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
}

/// `[integrations]`, `[admin]`
#[derive(Debug, Clone, Copy)]
pub struct ListenerSettings {
    /// Address of the listener.
    pub listen: SocketAddr,
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
    /// How long a complete table stays in memory.
    pub linger: Duration,
    /// Threads of the actors; 0 for one per core.
    pub actor_threads: usize,
    /// Seats asked about one lead.
    pub partners_per_lead: usize,
    /// Offers of one seat in one table.
    pub offers_per_partner: usize,
}

/// `[store]`
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// Directory.
    pub path: PathBuf,
    /// Commits that wait for the writer.
    pub queue: usize,
    /// Commits that are made durable together.
    pub group: usize,
    /// Memory for the cache.
    pub cache_bytes: u64,
}

/// `[partners]`
#[derive(Debug, Clone)]
pub struct PathSettings {
    /// Directory.
    pub path: PathBuf,
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
}

/// `[log]`
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// Level or directives.
    pub filter: String,
    /// For whom.
    pub format: LogFormat,
}

/// How a log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

impl Settings {
    /// The settings of this process: defaults, `file` if any, environment.
    ///
    /// # Errors
    /// Every fault.
    pub fn load(file: Option<&Path>) -> Result<Self, Vec<Fault>> {
        let text = file.map(|path| {
            std::fs::read_to_string(path).map_err(|error| {
                vec![Fault {
                    file: Some(path.to_owned()),
                    line: None,
                    key: String::new(),
                    message: format!("cannot be read: {error}"),
                }]
            })
        });
        let text = text.transpose()?;
        Self::from_layers(file.zip(text.as_deref()), std::env::vars())
    }

    /// The settings of these layers: a file as path and text, and environment variables.
    ///
    /// # Errors
    /// Every fault.
    pub fn from_layers(
        file: Option<(&Path, &str)>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Vec<Fault>> {
        let layers = Layers::merge(file, environment)?;
        let (raw, mut found) = read_table::<Raw>(layers.merged.clone(), layers.defaults.table());
        let settings = raw.map(|raw| checked(raw, describe(&layers), &mut found));
        let faults: Vec<Fault> =
            found.into_iter().map(|(key, message)| layers.fault(&key, message)).collect();
        match settings {
            Some(settings) if faults.is_empty() => Ok(settings),
            _ => Err(faults),
        }
    }

    /// Every setting in force: key, value, and where it came from.
    pub fn describe(&self) -> &[(String, String, String)] {
        &self.described
    }
}

fn describe(layers: &Layers) -> Vec<(String, String, String)> {
    let keys = layers.merged.iter().filter_map(|(section, keys)| keys.as_table().map(|keys| (section, keys)));
    let row = |section: &str, key: &str, value: &toml::Value| {
        let key = format!("{section}.{key}");
        let source = layers.source_of(&key);
        (key, value.to_string(), source)
    };
    keys.flat_map(|(section, keys)| keys.iter().map(move |(key, value)| row(section, key, value))).collect()
}

/// Faults as (key, message).
type Found = Vec<(String, String)>;

fn checked(raw: Raw, described: Vec<(String, String, String)>, found: &mut Found) -> Settings {
    let matching = matching(&raw.matching, found);
    let store = store(raw.store, matching.live_tables, found);
    Settings {
        integrations: ListenerSettings {
            listen: address("integrations.listen", &raw.integrations.listen, found),
        },
        admin: ListenerSettings { listen: address("admin.listen", &raw.admin.listen, found) },
        api: api(raw.api, found),
        matching,
        store,
        partners: PathSettings { path: path("partners.path", &raw.partners.path, found) },
        tokens: TokenSettings { bootstrap: raw.tokens.bootstrap },
        shutdown: ShutdownSettings {
            drain: duration("shutdown.drain", raw.shutdown.drain, Duration::ZERO, HOUR, found),
        },
        log: LogSettings { filter: raw.log.filter, format: raw.log.format },
        described,
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn api(raw: RawApi, found: &mut Found) -> ApiSettings {
    let base_url = Some(raw.base_url).filter(|url| !url.is_empty());
    let absolute = |url: &String| {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')) && !url.ends_with('/')
    };
    if let Some(url) = base_url.as_ref().filter(|url| !absolute(url)) {
        fault(
            "api.base_url",
            format!("must be an http or https URL without a slash at the end, got `{url}`"),
            found,
        );
    }
    let vendor: Vec<String> = raw.vendor.into();
    let segment = |name: &String| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
    };
    if vendor.is_empty() || !vendor.iter().all(segment) {
        fault("api.vendor", "must be names of letters, digits, `-` and `_`, at least one".to_owned(), found);
    }
    ApiSettings {
        listen: address("api.listen", &raw.listen, found),
        base_url,
        vendor,
        cors_origins: raw.cors_origins.into(),
        max_connections: count("api.max_connections", raw.max_connections, 1, 1_000_000, found),
        max_head_bytes: count("api.max_head_bytes", raw.max_head_bytes, 8_192, 1_048_576, found),
        max_body_bytes: count("api.max_body_bytes", raw.max_body_bytes, 1_024, 1_048_576, found),
        header_timeout: duration("api.header_timeout", raw.header_timeout, MILLISECOND, HOUR, found),
        request_timeout: duration("api.request_timeout", raw.request_timeout, MILLISECOND, HOUR, found),
        write_timeout: duration("api.write_timeout", raw.write_timeout, MILLISECOND, HOUR, found),
    }
}

fn matching(raw: &RawMatching, found: &mut Found) -> MatchingSettings {
    let deadline = duration("matching.deadline", raw.deadline, 10 * MILLISECOND, 5 * MINUTE, found);
    let mut within = |key: &str, value| duration(key, value, Duration::ZERO, 5 * MINUTE, found);
    let submit_wait = within("matching.submit_wait", raw.submit_wait);
    let response_margin = within("matching.response_margin", raw.response_margin);
    let least_budget = within("matching.least_budget", raw.least_budget);
    let second_look_reserve = within("matching.second_look_reserve", raw.second_look_reserve);
    let linger = within("matching.linger", raw.linger);
    if response_margin + least_budget > deadline {
        let message =
            "and `matching.least_budget` together must fit into `matching.deadline`, or nobody is asked";
        fault("matching.response_margin", message.to_owned(), found);
    }
    MatchingSettings {
        deadline,
        submit_wait,
        response_margin,
        least_budget,
        second_look_reserve,
        linger,
        live_tables: count("matching.live_tables", raw.live_tables, 1, 1_000_000, found),
        actor_threads: count("matching.actor_threads", raw.actor_threads, 0, 256, found),
        partners_per_lead: count("matching.partners_per_lead", raw.partners_per_lead, 1, 10_000, found),
        offers_per_partner: count("matching.offers_per_partner", raw.offers_per_partner, 1, 4_000, found),
    }
}

fn store(raw: RawStore, live_tables: usize, found: &mut Found) -> StoreSettings {
    let queue = count("store.queue", raw.queue, 1, 10_000_000, found);
    if queue <= live_tables {
        // Each live table has at most one commit under way, so a queue that holds them all never refuses an answer.
        let message = format!("must be more than `matching.live_tables` ({live_tables}), got {queue}");
        fault("store.queue", message, found);
    }
    StoreSettings {
        path: path("store.path", &raw.path, found),
        queue,
        group: count("store.group", raw.group, 1, 65_536, found),
        cache_bytes: count("store.cache_bytes", raw.cache_bytes, 1_048_576, i64::MAX, found) as u64,
    }
}

fn fault(key: &str, message: String, found: &mut Found) {
    found.push((key.to_owned(), message));
}

fn address(key: &str, text: &str, found: &mut Found) -> SocketAddr {
    text.parse().unwrap_or_else(|_| {
        fault(key, format!("must be an address with a port, such as `127.0.0.1:8080`, got `{text}`"), found);
        SocketAddr::from(([127, 0, 0, 1], 0))
    })
}

fn path(key: &str, text: &str, found: &mut Found) -> PathBuf {
    if text.is_empty() {
        fault(key, "must not be empty".to_owned(), found);
    }
    PathBuf::from(text)
}

fn count(key: &str, number: i64, least: i64, greatest: i64, found: &mut Found) -> usize {
    if !(least..=greatest).contains(&number) {
        fault(key, format!("must be from {least} to {greatest}, got {number}"), found);
    }
    usize::try_from(number.clamp(least, greatest)).unwrap_or(usize::MAX)
}

fn duration(
    key: &str,
    value: HumanDuration,
    least: Duration,
    greatest: Duration,
    found: &mut Found,
) -> Duration {
    let value = Duration::from(value);
    if !(least..=greatest).contains(&value) {
        fault(key, format!("must be from {least:?} to {greatest:?}, got {value:?}"), found);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DEFAULTS;

    fn faults(file: &str, environment: &[(&str, &str)]) -> Vec<String> {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings = Settings::from_layers(Some((Path::new("offerd.toml"), file)), environment);
        settings.err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_defaults_are_good_and_told_as_such() {
        let settings = Settings::from_layers(None, []).unwrap();
        assert_eq!(settings.api.listen.port(), 8080);
        assert_eq!(settings.matching.deadline, Duration::from_secs(15));
        assert!(settings.describe().iter().all(|(_, _, source)| source == "default"));
    }

    #[test]
    fn a_file_goes_over_the_defaults_and_the_environment_over_both() {
        let file = "[matching]\ndeadline = '9s'\nsubmit_wait = '1ms'\n[api]\nvendor = 'acme'\n";
        let environment =
            [("OFFERD__MATCHING__DEADLINE".to_owned(), "8s".to_owned()), ("HOME".to_owned(), "/".to_owned())];
        let settings = Settings::from_layers(Some((Path::new("offerd.toml"), file)), environment).unwrap();
        assert_eq!(settings.matching.deadline, Duration::from_secs(8));
        assert_eq!(settings.matching.submit_wait, MILLISECOND);
        assert_eq!(settings.api.vendor, ["acme"]);
        let source = |key: &str| settings.describe().iter().find(|row| row.0 == key).unwrap().2.clone();
        assert_eq!(source("matching.deadline"), "OFFERD__MATCHING__DEADLINE");
        assert_eq!(source("matching.submit_wait"), "offerd.toml:3");
        assert_eq!(source("matching.linger"), "default");
    }

    #[test]
    fn every_fault_is_told_at_once_where_it_was_made() {
        let file = "[api]\nlisten = 'here'\nmax_body_bytes = 5\n[matching]\ndeadlin = '3s'\nlinger = 5\n";
        let found = faults(file, &[("OFFERD__TOKENS__BOOTSTRAP", "perhaps"), ("OFFERD__LOG__COLOUR", "red")]);
        assert_eq!(
            found,
            [
                "OFFERD__LOG__COLOUR: `log.colour` is not a known key",
                "offerd.toml:5: `matching.deadlin` is not a known key; did you mean `deadline`?",
                "offerd.toml:6: `matching.linger` must have a unit, such as `5s` or `5ms`, got `5`",
                "OFFERD__TOKENS__BOOTSTRAP: `tokens.bootstrap` must be a boolean, got string \"perhaps\"",
            ]
        );
        assert_eq!(
            faults("[api]\nlisten = 'here'\nmax_body_bytes = 5\n", &[]),
            [
                "offerd.toml:2: `api.listen` must be an address with a port, such as `127.0.0.1:8080`, got `here`",
                "offerd.toml:3: `api.max_body_bytes` must be from 1024 to 1048576, got 5",
            ]
        );
    }

    #[test]
    fn the_queue_has_room_for_every_live_table() {
        let found = faults("[store]\nqueue = 100\n", &[]);
        assert_eq!(
            found,
            ["offerd.toml:2: `store.queue` must be more than `matching.live_tables` (20000), got 100"]
        );
    }

    /// Each key of the default file has a sentence right above it.
    #[test]
    fn the_default_file_explains_every_key() {
        let lines: Vec<&str> = DEFAULTS.lines().collect();
        let keys =
            lines.iter().enumerate().filter(|(_, line)| line.contains(" = ") && !line.starts_with('#'));
        let mut count = 0;
        for (nth, line) in keys {
            count += 1;
            assert!(
                lines[nth - 1].starts_with("# ") && lines[nth - 1].ends_with(['.', '?']),
                "`{line}` has no sentence above it"
            );
        }
        assert_eq!(count, Settings::from_layers(None, []).unwrap().describe().len());
    }

    /// A key that is in the types but not in the file would be missing when the defaults are read, and one that is in
    /// the file only would be unknown; so this also holds of each key taken alone.
    #[test]
    fn every_key_of_the_types_is_in_the_default_file() {
        for (key, _, _) in Settings::from_layers(None, []).unwrap().describe() {
            let (section, name) = key.split_once('.').unwrap();
            let mut table: toml::Table = DEFAULTS.parse().unwrap();
            table[section].as_table_mut().unwrap().remove(name).unwrap();
            let (_, found) = read_table::<Raw>(table, &toml::Table::new());
            assert_eq!(found, [(key.clone(), "is missing".to_owned())]);
        }
    }
}
