//! Warnings about HTTP partners: legal declarations that may be unintended.

use std::time::Duration;

use crate::check::checker::PartnerFileChecker;
use crate::http::declared::Http;
use offerd_base::config::split_scheme;

impl PartnerFileChecker<'_> {
    /// Warns about waits longer than the timeout, personal data sent in clear text, and a missing sandbox.
    pub(super) fn remarks_on(&mut self, http: &Http, timeout: Duration, paused: bool) {
        for (nth, step) in http.steps.iter().enumerate() {
            self.remark_wait(&format!("steps[{nth}].every"), step.every, timeout);
        }
        self.remark_wait("post.wait", http.post.wait, timeout);
        // A paused partner is sent nothing.
        if paused {
            return;
        }
        self.remark_url("url", http.url.as_deref());
        for (nth, step) in http.steps.iter().enumerate() {
            self.remark_url(&format!("steps[{nth}].url"), step.url.as_deref());
        }
        let oauth2 = http.auth.as_ref().and_then(|auth| auth.oauth2.as_ref());
        self.remark_url("auth.oauth2.token_url", oauth2.map(|oauth2| oauth2.token_url.as_str()));
        self.remark_sandbox(http);
    }

    /// Either all calls have a sandbox or none has.
    fn remark_sandbox(&mut self, http: &Http) {
        let key = if http.steps.is_empty() { "sandbox_url" } else { "steps[0].sandbox_url" };
        if http.sandbox_url.is_none() && http.steps.iter().all(|step| step.sandbox_url.is_none()) {
            self.remark(key, "is missing: the partner is not sent test leads; set it to the address of the partner's tests");
        }
    }

    fn remark_wait(&mut self, key: &str, wait: Option<Duration>, timeout: Duration) {
        if let Some(wait) = wait.filter(|wait| *wait >= timeout) {
            self.remark(key, format!("is {wait:?}, but the whole ask has only {timeout:?} (`timeout`)"));
        }
    }

    fn remark_url(&mut self, key: &str, url: Option<&str>) {
        let host =
            url.and_then(split_scheme).filter(|(scheme, _)| *scheme == "http").map(|(_, rest)| host(rest));
        if host.is_some_and(|host| !is_this_machine(host)) {
            self.remark(key, "is `http://`: live leads would be sent unencrypted; use `https://`");
        }
    }
}

/// The host in a URL without its scheme.
fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
