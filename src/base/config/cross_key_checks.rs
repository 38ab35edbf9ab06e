//! Rules between keys.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::layers::KeySources;
use super::sections::{LimitSettings, MatchingSettings, StoreEngine, TlsSettings};
use super::settings::Settings;
use super::values::CENTURY;
use crate::declaration::{HumanDuration, outside};

pub(super) struct CrossKeyChecks<'a> {
    defaults: BTreeSet<&'a str>,
    faulty: BTreeSet<String>,
    sources: Arc<KeySources>,
    /// Keys that are as they are by default, each with the key to blame.
    blamed: HashMap<String, String>,
    found: Vec<(String, String)>,
}

impl CrossKeyChecks<'_> {
    /// Notes a fault of the first key unless `holds`. Skipped if a key has a fault of its own.
    pub(super) fn want(&mut self, holds: bool, keys: &[&str], message: impl FnOnce() -> String) {
        if !holds && !keys.iter().any(|key| self.faulty.contains(*key)) {
            self.found.push((keys[0].to_owned(), message()));
            let is_set = |key: &&&str| self.sources.source_of(key) != "default";
            if let (false, Some(other)) = (is_set(&&keys[0]), keys.iter().find(is_set)) {
                self.blamed.insert(keys[0].to_owned(), (*other).to_owned());
            }
        }
    }

    fn beside<T: Display>(&mut self, holds: bool, keys: [&str; 2], wanted: &str, [value, other]: [T; 2]) {
        self.want(holds, &keys, || format!("must be {wanted} `{}` ({other}), got {value}", keys[1]));
    }

    /// Notes a fault unless a value is within bounds, inclusive.
    pub(super) fn within<T: PartialOrd + Display>(&mut self, key: &str, [least, most]: [T; 2], value: T) {
        self.want(least <= value && value <= most, &[key], || outside(least, most, value));
    }

    pub(super) fn backoffs(&mut self, section: &str, [first, longest]: [Duration; 2]) {
        let [first_key, longest_key] =
            ["first_backoff", "longest_backoff"].map(|key| format!("{section}.{key}"));
        let holds = first <= longest;
        let [first, longest] = [first, longest].map(HumanDuration);
        if self.defaults.contains(longest_key.as_str()) {
            self.beside(holds, [&first_key, &longest_key], "at most", [first, longest]);
        } else {
            self.beside(holds, [&longest_key, &first_key], "at least", [longest, first]);
        }
    }

    fn tls(&mut self, key: &str, tls: Option<&TlsSettings>) {
        let Some(TlsSettings { certificate, key: private }) = tls else { return };
        let is_named = |path: &std::path::Path| !path.as_os_str().is_empty();
        self.want(is_named(certificate), &[&format!("{key}.key")], || {
            "is set without a certificate".to_owned()
        });
        self.want(is_named(private), &[&format!("{key}.certificate")], || "is set without a key".to_owned());
    }
}

impl Settings {
    /// Checks the keys against each other; `found` has the faults of single keys.
    pub(super) fn fit(mut self, found: &mut Vec<(String, String)>) -> Self {
        let is_default = |(_, _, source): &&(String, String, String)| source == "default";
        let defaults =
            self.origin.described.iter().filter(is_default).map(|(key, ..)| key.as_str()).collect();
        let faulty = found.iter().map(|(key, _)| key.clone()).collect();
        let sources = Arc::clone(&self.origin.sources);
        let mut rules =
            CrossKeyChecks { defaults, faulty, sources, blamed: HashMap::new(), found: Vec::new() };
        self.listeners(&mut rules);
        for (key, tls) in [
            ("api.tls", &self.api.tls),
            ("integrations.tls", &self.integrations.tls),
            ("admin.tls", &self.admin.tls),
        ] {
            rules.tls(key, tls.as_ref());
        }
        self.limits.fit(self.api.max_body_bytes, &mut rules);
        self.matching.fit(&mut rules);
        self.store(&mut rules);
        rules.backoffs("postbacks", [self.postbacks.first_backoff, self.postbacks.longest_backoff]);
        self.ranking.fit(&mut rules);
        self.alerts.fit(&mut rules);
        found.append(&mut rules.found);
        let CrossKeyChecks { blamed, .. } = rules;
        Arc::make_mut(&mut self.origin.sources).blamed = blamed;
        self
    }

    fn listeners(&self, rules: &mut CrossKeyChecks<'_>) {
        let listeners = [
            ("api.listen", self.api.listen),
            ("integrations.listen", self.integrations.listen),
            ("admin.listen", self.admin.listen),
        ];
        for (nth, (key, listen)) in listeners.iter().enumerate().filter(|(_, (_, listen))| listen.port() != 0)
        {
            let taken = listeners[..nth].iter().find(|(_, taken)| takes_place_of(*taken, *listen));
            if let Some((other, taken)) = taken {
                let message = match taken == listen {
                    true => format!("is also the address of `{other}`: {listen}"),
                    false => format!("is among the addresses of `{other}`: {listen}, {taken}"),
                };
                rules.want(false, &[key, other], || message);
            }
        }
    }

    fn store(&self, rules: &mut CrossKeyChecks<'_>) {
        let (queue, pending_tables) = (self.store.queue, self.matching.pending_tables);
        let keys = ["store.queue", "matching.pending_tables"];
        // Each live table has at most one commit in flight, so a larger queue refuses none.
        if rules.defaults.contains(keys[0]) {
            rules.want(queue > pending_tables, &[keys[1], keys[0]], || {
                format!("must be less than `store.queue` ({queue}), got {pending_tables}; set both")
            });
        } else {
            rules.beside(queue > pending_tables, keys, "more than", [queue, pending_tables]);
        }
        let (retention, age) = (self.store.retention, self.store.volume_age);
        let is_long = retention.is_zero() || retention >= age;
        let keys = ["store.retention", "store.volume_age"];
        rules.beside(is_long, keys, "at least", [retention, age].map(HumanDuration));
        let [jump, century, gap] = [self.store.clock_jump, CENTURY, self.store.clock_gap].map(HumanDuration);
        rules.within("store.clock_gap", [jump, century], gap);
        let has_database = self.store.engine == StoreEngine::Embedded || self.store.postgres.is_some();
        rules.want(has_database, &["store.postgres.url", "store.engine"], || {
            "must be the address of the database, such as `postgres://offerd@127.0.0.1:5432/offerd`, where \
             `store.engine` is `postgres`, got nothing"
                .to_owned()
        });
    }
}

impl LimitSettings {
    fn fit(&self, least: usize, rules: &mut CrossKeyChecks<'_>) {
        const MOST: usize = 1 << 40;
        rules.within("limits.body_bytes", [least, MOST], self.body_bytes);
        if self.body_bytes_per_company > 0 {
            rules.within("limits.body_bytes_per_company", [least, MOST], self.body_bytes_per_company);
        }
    }
}

impl MatchingSettings {
    fn fit(&self, rules: &mut CrossKeyChecks<'_>) {
        const DEADLINE: &str = "matching.deadline";
        let Self { deadline, submit_wait, second_look_reserve, .. } = *self;
        let keys = ["matching.submit_wait", DEADLINE];
        rules.beside(submit_wait <= deadline, keys, "at most", [submit_wait, deadline].map(HumanDuration));
        // The default fits any deadline: at most half of the deadline is reserved.
        let (key, max) = ("matching.second_look_reserve", deadline / 2);
        let fits = second_look_reserve <= max || rules.defaults.contains(key);
        rules.beside(fits, [key, DEADLINE], "at most half of", [second_look_reserve, max].map(HumanDuration));
        let keys = ["matching.response_margin", "matching.least_budget", DEADLINE];
        rules.want(deadline >= self.least_deadline(), &keys, || {
            format!("and `{}` together must fit into `{DEADLINE}`, or no partner is asked", keys[1])
        });
    }
}

/// Whether sockets cannot have both addresses: they are one, or one stands for all addresses of its kind.
fn takes_place_of(one: SocketAddr, other: SocketAddr) -> bool {
    let is_among =
        |all: SocketAddr, one: SocketAddr| all.ip().is_unspecified() && (all.is_ipv6() || one.is_ipv4());
    one.port() == other.port() && (one == other || is_among(one, other) || is_among(other, one))
}
