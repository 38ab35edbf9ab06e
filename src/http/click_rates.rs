//! Rate limits of clicks on offers, of offer pages, and of prefill look-ups. They hold for every client:
//! clicks and pages need no token, and a publishable one, which look-ups of prefills need, is no secret. They
//! slow down guessing, and bound the records of repeated clicks.

use std::hash::Hash;
use std::net::IpAddr;

use ipnet::IpNet;
use uuid::Uuid;

use super::rate;
use offerd_base::config::LimitSettings;
use offerd_web::{Allowances, Failure, Request};

/// Limits per client address, per offer, and per offer display.
#[derive(Debug)]
pub struct ClickRates {
    addresses: Option<Allowances<IpAddr>>,
    offers: Option<Allowances<Uuid>>,
    previews: Option<Allowances<(Uuid, IpAddr)>>,
    displays: Option<Allowances<Uuid>>,
    trusted_proxies: Vec<IpNet>,
}

impl ClickRates {
    /// The limits of the settings.
    pub fn new(limits: &LimitSettings) -> Self {
        Self {
            addresses: limits.per_address().map(|of| Allowances::new("click_address", rate(of))),
            offers: limits.clicks_per_offer().map(|of| Allowances::new("click_offer", rate(of))),
            previews: limits.clicks_per_offer().map(|of| Allowances::new("click_preview", rate(of))),
            displays: limits.clicks_per_offer().map(|of| Allowances::new("display_offer", rate(of))),
            trusted_proxies: limits.trusted_proxies.clone(),
        }
    }

    /// Counts a click or a page request for its client address, before any look-up; 429.
    pub fn count_address(&self, request: &Request) -> Result<(), Failure> {
        within(&self.addresses, request.client(&self.trusted_proxies), "click_address_rate")
    }

    /// Counts a prefill look-up for its client address, before the look-up; 429.
    pub fn count_prefill(&self, request: &Request) -> Result<(), Failure> {
        within(&self.addresses, request.client(&self.trusted_proxies), "prefill_address_rate")
    }

    /// Counts a click for an existing offer; 429.
    pub fn count_offer(&self, offer: Uuid) -> Result<(), Failure> {
        within(&self.offers, Some(offer), "click_offer_rate")
    }

    /// Counts a click on a preview's offer per client, since many share a preview; 429.
    pub fn count_preview(&self, request: &Request, offer: Uuid) -> Result<(), Failure> {
        let client = request.client(&self.trusted_proxies);
        within(&self.previews, client.map(|client| (offer, client)), "click_offer_rate")
    }

    /// Counts a display of an offer; returns whether to record it. The limit is that of clicks.
    pub fn takes_display(&self, offer: Uuid) -> bool {
        self.displays.as_ref().is_none_or(|offers| offers.take(&offer).retry_after_s.is_none())
    }
}

fn within<K: Hash + Eq + Clone>(
    allowances: &Option<Allowances<K>>,
    key: Option<K>,
    reason: &'static str,
) -> Result<(), Failure> {
    allowances.as_ref().zip(key).map_or(Ok(()), |(allowances, key)| allowances.take(&key).allowed(reason))
}
