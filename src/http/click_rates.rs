//! How often offers may be opened, pages of offers, and prefills be asked for.
//!
//! A click asks for no token and its address is public, so it is limited whoever sends it, those networks included that no
//! other rate holds for: who tries addresses out is slowed down, and who opens one for ever fills nothing. So is whatever a page
//! of offers asks for. Who tries out prefill tokens, with an access token that ships in apps, is slowed down alike.

use std::hash::Hash;
use std::net::IpAddr;

use ipnet::IpNet;
use uuid::Uuid;

use super::rate;
use offerd_base::config::LimitSettings;
use offerd_web::{Allowances, Failure, Request};

/// The allowances of who clicks, of what is clicked, and of what a page says was seen.
#[derive(Debug)]
pub struct ClickRates {
    addresses: Option<Allowances<IpAddr>>,
    offers: Option<Allowances<Uuid>>,
    previews: Option<Allowances<(Uuid, IpAddr)>>,
    displays: Option<Allowances<Uuid>>,
    trusted_proxies: Vec<IpNet>,
}

impl ClickRates {
    /// As the settings say.
    pub fn new(limits: &LimitSettings) -> Self {
        Self {
            addresses: limits.per_address().map(|of| Allowances::new("click_address", rate(of))),
            offers: limits.clicks_per_offer().map(|of| Allowances::new("click_offer", rate(of))),
            previews: limits.clicks_per_offer().map(|of| Allowances::new("click_preview", rate(of))),
            displays: limits.clicks_per_offer().map(|of| Allowances::new("display_offer", rate(of))),
            trusted_proxies: limits.trusted_proxies.clone(),
        }
    }

    /// Counts a click, or what is asked of a page, for its address, before anything is looked up.
    ///
    /// # Errors
    /// 429.
    pub fn count_address(&self, request: &Request) -> Result<(), Failure> {
        within(&self.addresses, request.client(&self.trusted_proxies), "click_address_rate")
    }

    /// Counts the asking for a prefill for its address, before it is looked up.
    ///
    /// # Errors
    /// 429.
    pub fn count_prefill(&self, request: &Request) -> Result<(), Failure> {
        within(&self.addresses, request.client(&self.trusted_proxies), "prefill_address_rate")
    }

    /// Counts a click for the offer, once it is known to be one.
    ///
    /// # Errors
    /// 429.
    pub fn count_offer(&self, offer: Uuid) -> Result<(), Failure> {
        within(&self.offers, Some(offer), "click_offer_rate")
    }

    /// Counts a click for an offer of a preview and whoever clicks: an offer of a table is one person's, that of a preview everybody's,
    /// and who opens it for ever keeps nobody else from it.
    ///
    /// # Errors
    /// 429.
    pub fn count_preview(&self, request: &Request, offer: Uuid) -> Result<(), Failure> {
        let client = request.client(&self.trusted_proxies);
        within(&self.previews, client.map(|client| (offer, client)), "click_offer_rate")
    }

    /// Counts a display of an offer that a page tells of; whether it is to be recorded. As often as it may be clicked.
    pub fn takes_display(&self, offer: Uuid) -> bool {
        self.displays.as_ref().is_none_or(|offers| offers.take(&offer).retry_after_s.is_none())
    }
}

/// Whether a key, if it is known, has something left of its allowance, if there is one; a refusal is counted for this reason.
fn within<K: Hash + Eq + Clone>(
    allowances: &Option<Allowances<K>>,
    key: Option<K>,
    reason: &'static str,
) -> Result<(), Failure> {
    let known = allowances.as_ref().zip(key);
    known.map_or(Ok(()), |(allowances, key)| allowances.take(&key).allowed(reason))
}
