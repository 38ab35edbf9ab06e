//! Compiles a declared HTTP source, or reports every fault with file, line and key.

use std::collections::BTreeSet;

use super::declared::{self, Http, SecretLocation};
use super::http_partner::{HttpPartner, PartnerSecrets};
use super::mapping_lines::MappingLines;
use super::mappings::Mappings;
use super::secret::Secret;
use super::signing::keys_of;
use super::step::CallStep;
use crate::check::checker::PartnerFileChecker;
use crate::declared::Product;
use offerd_base::declaration::quoted;
use offerd_model::ProductType;

const STEPS_MAX: usize = 8;

impl HttpPartner {
    /// Checks `[products.<type>.http]`; `None` when it has faults, which the checker collects. A `paused`
    /// seat may lack its secrets.
    pub(crate) fn declared(
        http: &Http,
        product_type: ProductType,
        product: &Product,
        check: &mut PartnerFileChecker,
    ) -> Option<Self> {
        let before = check.count();
        let names: Vec<&str> = http.secrets.keys().map(String::as_str).collect();
        let lines = MappingLines { file: check.file_name(), ..MappingLines::default() };
        let mut mappings = Mappings {
            check,
            http,
            product_type,
            product,
            secrets: &names,
            lines,
            prefix: String::new(),
            kept: Vec::new(),
            attributes: BTreeSet::new(),
            signing: Vec::new(),
            used: BTreeSet::new(),
            sends_callback: false,
            // Every call carries the credentials, pings included.
            is_ping: http.steps.iter().any(|step| step.bid.is_some()),
        };
        let auth = http.auth.as_ref().map(|auth| mappings.auth(auth));
        mappings.is_ping = false;
        let steps = steps(http, &mut mappings);
        let answer = mappings.answer();
        post(http, mappings.check);
        let Mappings { lines, attributes, signing, used, check, .. } = mappings;
        let secrets = secrets(http, product.paused, check);
        let is_unused = |name: &&String| check.count() == before && !used.contains(*name);
        for name in http.secrets.keys().filter(is_unused).collect::<Vec<_>>() {
            let fault = format!("is used by no mapping; use it as `secret.{name}`, or leave it out");
            check.at(&format!("secrets.{}", quoted(name)), fault);
        }
        signing_keys(&signing, &secrets, check);
        if check.count() > before {
            return None;
        }
        let names = [check.file_name().trim_end_matches(".toml").to_owned(), product_type.to_string()];
        Some(Self {
            names,
            steps: steps?,
            post: http.post,
            secrets,
            answer: answer?,
            attributes,
            late_is_event: http.late == declared::LateAnswerRule::Event,
            auth: auth.flatten(),
            hosts: hosts(http),
            lines,
            wire: http.wire.clone(),
            transcripts: http.transcripts,
        })
    }
}

/// The calls of a source, with those marked that are made at most once; `None` if one has faults.
fn steps(http: &Http, mappings: &mut Mappings<'_, '_>) -> Option<Vec<CallStep>> {
    let mut steps = declared_steps(http, mappings)?;
    // A partner that takes the lead and answers later still has it after a restart.
    let answers_later = |step: &CallStep| step.polling.is_some() || step.callback;
    let made_once = match http.wire.idempotent {
        Some(true) => 0,
        Some(false) => steps.len(),
        None => steps.iter().rposition(answers_later).unwrap_or(0),
    };
    let pings = http.wire.idempotent == Some(false);
    let takes = |step: &&mut CallStep| {
        !step.method.is_idempotent() && step.polling.is_none() && (pings || step.bid.is_none())
    };
    steps[..made_once].iter_mut().filter(takes).for_each(|step| step.once_per_ask = true);
    Some(steps)
}

fn declared_steps(http: &Http, mappings: &mut Mappings<'_, '_>) -> Option<Vec<CallStep>> {
    if http.steps.is_empty() {
        return Some(vec![mappings.step(&http.only_call(), true)?]);
    }
    for key in http.only_call().request_keys() {
        mappings.check.at(key, "conflicts with `steps`; each step has its own");
    }
    let count = http.steps.len();
    if count > STEPS_MAX {
        mappings.check.at("steps", format!("must be at most {STEPS_MAX}, got {count}"));
    }
    let sandboxes = http.steps.iter().filter(|step| step.sandbox_url.is_some()).count();
    let called = http.steps.iter().filter(|step| step.url.is_some() || !step.callback).count();
    if sandboxes != 0 && sandboxes != called {
        let fault = "must have a `sandbox_url` each, or none: a test lead goes all the way or none";
        mappings.check.at("steps", fault);
    }
    let steps = http.steps.iter().enumerate();
    let compiled = steps.map(|(nth, declared)| mappings.nth_step(nth, declared));
    compiled.collect::<Vec<_>>().into_iter().collect()
}

fn post(http: &Http, check: &mut PartnerFileChecker) {
    let declared::Post { floor, best, when, wait } = &http.post;
    let when_shown = http.post.when_shown();
    let pings = http.steps.iter().filter(|step| step.bid.is_some()).count();
    let is_before_last = http.steps.iter().rev().nth(1).is_some_and(|step| step.bid.is_some());
    if when_shown && pings > 0 && (pings > 1 || !is_before_last) {
        let fault = "needs one ping, whose answer has the offers, and then the post as the last step";
        check.at("post.when", fault);
    }
    let given = [floor.map(|_| "floor"), best.map(|_| "best"), when.map(|_| "when"), wait.map(|_| "wait")];
    for key in given.into_iter().flatten().filter(|_| pings == 0) {
        check.at(&format!("post.{key}"), "needs a step that has a `bid`");
    }
    if wait.is_some() && best.is_none() {
        check.at("post.wait", "needs `best`: without it offerd awaits no other bids");
    }
    if wait.is_some() && when_shown {
        let fault =
            "conflicts with `when = \"shown\"`: only a complete table decides which partners are shown";
        check.at("post.wait", fault);
    }
}

/// Scheme and host of every URL in which they are constant.
fn hosts(http: &Http) -> Vec<(String, String)> {
    let oauth2 = http.auth.as_ref().and_then(|auth| auth.oauth2.as_ref());
    let sandbox_token_url = oauth2.and_then(|oauth2| oauth2.sandbox_token_url.as_ref());
    let mut urls = vec![
        ("url".to_owned(), http.url.as_ref()),
        ("sandbox_url".to_owned(), http.sandbox_url.as_ref()),
        ("auth.oauth2.token_url".to_owned(), oauth2.map(|oauth2| &oauth2.token_url)),
        ("auth.oauth2.sandbox_token_url".to_owned(), sandbox_token_url),
    ];
    for (nth, step) in http.steps.iter().enumerate() {
        urls.push((format!("steps[{nth}].url"), step.url.as_ref()));
        urls.push((format!("steps[{nth}].sandbox_url"), step.sandbox_url.as_ref()));
    }
    let hosts = urls.into_iter().filter_map(|(key, url)| {
        let (scheme, rest) = url?.split_once("://")?;
        let host = rest.split(['/', '?', '#']).next().filter(|host| !host.contains('{'))?;
        Some((key, format!("{scheme}://{host}")))
    });
    hosts.collect()
}

/// Checks the keys that mappings sign and verify with.
fn signing_keys(signing: &[(String, String)], secrets: &PartnerSecrets, check: &mut PartnerFileChecker) {
    for (key, mapping) in signing {
        for (name, fault) in keys_of(mapping) {
            let secret = secrets.get(name).and_then(|secret| secret.as_ref().ok());
            if let Some(fault) = secret.and_then(|secret| fault(secret.reveal().as_bytes())) {
                check.at(&format!("secrets.{}", quoted(name)), format!("{fault} (for `{key}`)"));
            }
        }
    }
}

/// The secrets; the error says why a paused seat lacks one.
fn secrets(http: &Http, paused: bool, check: &mut PartnerFileChecker) -> PartnerSecrets {
    let mut read = |name: &str, place: &SecretLocation| {
        let secret = Secret::read(place);
        if let Err(fault) = &secret
            && (!paused || matches!(place, SecretLocation::Misplaced(_)))
        {
            check.at(&format!("secrets.{}", quoted(name)), fault.clone());
        }
        secret
    };
    http.secrets.iter().map(|(name, place)| (name.clone(), read(name, place))).collect()
}
