//! Offer previews: what anyone like this could be offered, before anybody is asked.
//!
//! From the same catalogue as rate tables, and shaped like their offers. A condition on what is not given counts as met,
//! since a preview knows almost nothing of the person; prices are static. Nothing is stored: `url` leads straight to the
//! partner, with the offer's uuid as `{clickId}` and nothing as `{leadUuid}`, and no click is recorded.

use bytes::Bytes;
use chrono::Utc;

use super::engine::Engine;
use crate::ids;
use crate::model::{CreditBands, Lead, ProductType};
use crate::partners::base_url::{absolute, absolute_in};
use crate::partners::catalog::CatalogOffer;
use crate::partners::template::write_offer;
use crate::partners::{Facts, Fit, Quote, zip_state};

/// What is to be previewed.
#[derive(Debug)]
pub struct Preview {
    /// Of which product.
    pub product_type: ProductType,
    /// All that is known of the person.
    pub lead: Lead,
    /// Leaves out savings products that want a deposit above this, dollars.
    pub max_deposit: Option<i64>,
}

/// The offers as a JSON array, highest score first; as many of each partner as one answer may have.
pub fn show(engine: &Engine, preview: Preview) -> Bytes {
    let Preview { product_type, lead, max_deposit } = preview;
    let lead = placed(Lead { product_types: Some(vec![product_type]), ..lead });
    let facts = Facts::new(&lead, Utc::now().date_naive(), CreditBands::CURRENT);
    let configuration = engine.configuration();
    let mut fits = configuration.book.could_fit(&facts, product_type);
    fits.retain(|fit| !engine.limiter.is_paused(&fit.seat));

    let mut offers: Vec<(&CatalogOffer, Quote)> = Vec::new();
    for fit in &fits {
        offers.extend(best(fit, &facts, max_deposit, configuration.rules.offers_per_partner));
    }
    offers.sort_by(|(_, one), (_, two)| two.score.total_cmp(&one.score));
    write(&offers, &engine.base_url)
}

/// The best previews of a seat.
fn best<'a>(
    fit: &'a Fit,
    facts: &Facts,
    max_deposit: Option<i64>,
    most: usize,
) -> Vec<(&'a CatalogOffer, Quote)> {
    let affordable = |offer: &&CatalogOffer| match (offer.minimum_deposit(), max_deposit) {
        (Some(least), Some(most)) => least <= most as f64,
        _ => true,
    };
    let offers = fit.offers.iter().map(|offer| &fit.seat.offers[*offer]).filter(affordable);
    let mut quoted: Vec<_> =
        offers.filter_map(|offer| offer.preview(facts).ok().map(|quote| (offer, quote))).collect();
    quoted.sort_by(|(_, one), (_, two)| two.score.total_cmp(&one.score));
    quoted.truncate(most);
    quoted
}

/// The lead with the state of its postal code.
fn placed(mut lead: Lead) -> Lead {
    if let Some(person) = &mut lead.personal_information {
        let by_zipcode = || person.zipcode.as_ref().and_then(zip_state::state_of);
        person.state = person.state.or_else(by_zipcode);
    }
    lead
}

fn write(offers: &[(&CatalogOffer, Quote)], base_url: &str) -> Bytes {
    let mut out = vec![b'['];
    for (nth, (offer, quote)) in offers.iter().enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        let uuid = ids::random();
        let landing =
            offer.text.imprint.as_ref().map(|imprint| imprint.landing_url.as_str()).unwrap_or_default();
        let url = absolute(landing, base_url);
        let url = url.replace("{clickId}", &uuid.to_string()).replace("{leadUuid}", "");
        write_offer(&mut out, &offer.text.json, quote, uuid, &url);
    }
    out.push(b']');
    absolute_in(out, base_url).into()
}
