//! How often offers may be opened, pages of offers, and prefills be asked for.
//!
//! A click asks for no token and its address is public, so it is limited whoever sends it, those networks included that no
//! other rate holds for: who tries addresses out is slowed down, and who opens one for ever fills nothing. So is whatever a page
//! of offers asks for. Who tries out prefill tokens, with an access token that ships in apps, is slowed down alike.

use std::net::IpAddr;

use ipnet::IpNet;
use uuid::Uuid;

use super::rate;
use crate::config::LimitSettings;
use crate::web::{Allowances, Failure, Request};

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
        self.within_address(request, "click_address_rate")
    }

    /// Counts the asking for a prefill for its address, before it is looked up.
    ///
    /// # Errors
    /// 429.
    pub fn count_prefill(&self, request: &Request) -> Result<(), Failure> {
        self.within_address(request, "prefill_address_rate")
    }

    /// Counts a click for the offer, once it is known to be one.
    ///
    /// # Errors
    /// 429.
    pub fn count_offer(&self, offer: Uuid) -> Result<(), Failure> {
        self.offers.as_ref().map_or(Ok(()), |offers| offers.take(&offer).allowed("click_offer_rate"))
    }

    /// Counts a click for an offer of a preview and whoever clicks: an offer of a table is one person's, that of a preview everybody's,
    /// and who opens it for ever keeps nobody else from it.
    ///
    /// # Errors
    /// 429.
    pub fn count_preview(&self, request: &Request, offer: Uuid) -> Result<(), Failure> {
        let client = self.previews.as_ref().zip(request.client(&self.trusted_proxies));
        client
            .map_or(Ok(()), |(previews, client)| previews.take(&(offer, client)).allowed("click_offer_rate"))
    }

    /// Counts a display of an offer that a page tells of; whether it is to be recorded. As often as it may be clicked.
    pub fn takes_display(&self, offer: Uuid) -> bool {
        self.displays.as_ref().is_none_or(|offers| offers.take(&offer).retry_after_s.is_none())
    }
}

impl ClickRates {
    fn within_address(&self, request: &Request, reason: &'static str) -> Result<(), Failure> {
        let client = self.addresses.as_ref().zip(request.client(&self.trusted_proxies));
        client.map_or(Ok(()), |(addresses, client)| addresses.take(&client).allowed(reason))
    }
}
