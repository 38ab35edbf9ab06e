//! From a declared HTTP source to a compiled one, or to every fault with file, line and key.

use std::collections::BTreeMap;
use std::path::Path;

use hyper::header::AUTHORIZATION;

use super::declared::{self, Http};
use super::mappings::Mappings;
use super::places::Places;
use super::secret::Secret;
use super::source::{HttpSource, WireRules};
use crate::declaration::quoted;
use crate::model::ProductType;
use crate::partners::checker::Checker;

/// Most calls at once.
const CONCURRENCY_MAX: f64 = 10_000.0;

/// Longest answer that may be allowed, bytes.
const RESPONSE_BYTES_MAX: f64 = 16_777_216.0;

impl HttpSource {
    /// Checks `[products.<type>.http]`; `None` when it has faults, which the checker then holds. The secrets of a
    /// `paused` seat need not be there yet. `keys` are those of the catalog's offers.
    pub(in crate::partners) fn declared(
        http: &Http,
        product_type: ProductType,
        paused: bool,
        keys: Vec<String>,
        check: &mut Checker,
    ) -> Option<Self> {
        let before = check.count();
        let names: Vec<&str> = http.secrets.keys().map(String::as_str).collect();
        let places = Places::of(check.file_name());
        let mut mappings = Mappings { check, secrets: &names, places };
        let method = mappings.method(http.method.as_deref());
        let url = mappings.url("url", &http.url);
        let sandbox_url = http.sandbox_url.as_deref().map(|url| mappings.url("sandbox_url", url));
        let query = mappings.fields("query", &http.query);
        let headers = mappings.headers(&http.headers);
        let body = mappings.body(http);
        let auth = http.auth.as_ref().map(|auth| mappings.auth(auth));
        if let (Some(_), Some((name, _))) = (&auth, headers.iter().find(|(name, _)| *name == AUTHORIZATION)) {
            let shown = http.headers.keys().find(|key| name.as_str().eq_ignore_ascii_case(key));
            let key = format!("headers.{}", quoted(shown.map_or(name.as_str(), String::as_str)));
            mappings.check.at(&key, "stands beside `auth`, which makes that header; leave one out");
        }
        let answer = mappings.answer(http, product_type, keys);
        let places = mappings.places;
        let secrets = secrets(&http.secrets, paused, check);
        let wire = wire(&http.wire, check);
        if check.count() > before {
            return None;
        }
        Some(Self {
            method: method?,
            url: url?,
            sandbox_url: sandbox_url.flatten(),
            query,
            headers,
            body: body?,
            secrets,
            answer: answer?,
            auth: auth.flatten(),
            hosts: hosts(http),
            places,
            wire: wire?,
        })
    }
}

/// Scheme and host of every URL that does not leave them to a lead.
fn hosts(http: &Http) -> Vec<(&'static str, String)> {
    let oauth2 = http.auth.as_ref().and_then(|auth| auth.oauth2.as_ref());
    let urls = [
        ("url", Some(&http.url)),
        ("sandbox_url", http.sandbox_url.as_ref()),
        ("auth.oauth2.token_url", oauth2.map(|oauth2| &oauth2.token_url)),
        ("auth.oauth2.sandbox_token_url", oauth2.and_then(|oauth2| oauth2.sandbox_token_url.as_ref())),
    ];
    let hosts = urls.into_iter().filter_map(|(key, url)| {
        let (scheme, rest) = url?.split_once("://")?;
        let host = rest.split(['/', '?', '#']).next().filter(|host| !host.contains('{'))?;
        Some((key, format!("{scheme}://{host}")))
    });
    hosts.collect()
}

/// The secrets; a name whose secret a paused seat lacks stays empty, and is never sent.
fn secrets(
    declared: &BTreeMap<String, declared::Secret>,
    paused: bool,
    check: &mut Checker,
) -> BTreeMap<String, Option<Secret>> {
    let mut secrets = BTreeMap::new();
    for (name, place) in declared {
        match Secret::read(place) {
            Ok(secret) => drop(secrets.insert(name.clone(), Some(secret))),
            Err(_) if paused && !matches!(place, declared::Secret::Misplaced) => {
                drop(secrets.insert(name.clone(), None))
            }
            Err(fault) => check.at(&format!("secrets.{}", quoted(name)), fault),
        }
    }
    secrets
}

fn wire(declared: &declared::Wire, check: &mut Checker) -> Option<WireRules> {
    check.between("wire.concurrency", Some(declared.concurrency as f64), 1.0, CONCURRENCY_MAX);
    let most = Some(declared.max_response_bytes as f64);
    check.between("wire.max_response_bytes", most, 1024.0, RESPONSE_BYTES_MAX);
    let connect_timeout = check.duration("wire.connect_timeout", declared.connect_timeout);
    let mut pem = |key: &str, path: Option<&Path>| {
        let read = path.map(|path| std::fs::read(path).map_err(|error| (path, error))).transpose();
        read.unwrap_or_else(|(path, error)| {
            check.at(key, format!("{} cannot be read: {error}", path.display()));
            None
        })
    };
    Some(WireRules {
        connect_timeout,
        concurrency: declared.concurrency,
        idempotent: declared.idempotent,
        http2: declared.http2,
        gzip: declared.gzip,
        max_response_bytes: declared.max_response_bytes,
        allow_addresses: declared.allow_addresses.clone(),
        client_certificate: pem("wire.client_certificate", declared.client_certificate.as_deref()),
        authorities: pem("wire.authorities", declared.authorities.as_deref()),
    })
}
