//! Offer previews: what people like this could be offered, before any partner is asked.
//!
//! A condition on a missing attribute counts as met; prices are static. Nothing is stored. An offer has the
//! same UUID in every preview, so [`PreviewIds`](super::preview_ids::PreviewIds) finds it on a click; the
//! partner gets that UUID as `{clickId}` and an empty `{leadUuid}`.

use bytes::Bytes;
use uuid::Uuid;

use super::engine::MatchingEngine;
use super::preview_expiry::{self, UNTIL};
use offerd_model::{CreditBands, Lead, ProductType};
use offerd_partners::base_url::absolute_in;
use offerd_partners::catalog::CatalogOffer;
use offerd_partners::offer_json::{OfferPlace, write_offer};
use offerd_partners::{Facts, Fit, Quote, Seat, zip_state};

/// Offers of previews are made as at multiples of this time, so that equal previews have equal bytes.
const SAME_WITHIN_MS: i64 = 5 * 60 * 1000;

/// A preview request.
#[derive(Debug)]
pub struct Preview {
    /// The product type.
    pub product_type: ProductType,
    /// The known attributes of the person.
    pub lead: Lead,
    /// Excludes savings products with a higher minimum deposit, dollars.
    pub max_deposit: Option<i64>,
    /// How many offers at most.
    pub limit: Option<usize>,
    /// Whether the client declares that it knows values beyond the specification.
    pub newer_values: bool,
    /// The company.
    pub company: Uuid,
}

/// The offers as a JSON array, highest score first, with at most as many per partner as an answer may have.
pub fn show(engine: &MatchingEngine, preview: Preview) -> Bytes {
    let Preview { product_type, lead, max_deposit, limit, newer_values, company } = preview;
    let mut lead = Lead { product_types: Some(vec![product_type]), ..lead };
    if let Some(person) = &mut lead.personal_information {
        let by_zipcode = || person.zipcode.as_ref().and_then(zip_state::state_of);
        person.state = person.state.or_else(by_zipcode);
    }
    let now = engine.now();
    let facts =
        Facts::new(&lead, now, CreditBands::Current).with_newer_values(newer_values).submitted_by(company);
    let configuration = engine.configuration();
    let mut fits = configuration.book.could_fit(&facts, product_type);
    fits.retain(|fit| !engine.limiter.is_paused(&fit.seat));

    let mut offers: Vec<(&Seat, &CatalogOffer, Quote)> = Vec::new();
    for fit in &fits {
        let best = best(fit, &facts, max_deposit, configuration.rules.matching.offers_per_partner);
        offers.extend(best.into_iter().map(|(offer, quote)| (&*fit.seat, offer, quote)));
    }
    offers.sort_by(|(.., one), (.., two)| two.score.total_cmp(&one.score));
    offers.truncate(limit.unwrap_or(usize::MAX));
    write(engine, &offers, now.timestamp_millis())
}

fn best<'a>(fit: &'a Fit, facts: &Facts, budget: Option<i64>, most: usize) -> Vec<(&'a CatalogOffer, Quote)> {
    let deposits = |offer: &CatalogOffer| offer.minimum_deposit().zip(budget);
    let affordable = |offer: &&CatalogOffer| deposits(offer).is_none_or(|(least, most)| least <= most as f64);
    let offers = fit.offers.iter().map(|offer| &fit.seat.offers[*offer]).filter(affordable);
    let mut quoted: Vec<_> = offers.filter_map(|offer| Some((offer, offer.quote(facts, false)?))).collect();
    quoted.sort_by(|(_, one), (_, two)| two.score.total_cmp(&one.score));
    quoted.truncate(most);
    quoted
}

fn write(engine: &MatchingEngine, offers: &[(&Seat, &CatalogOffer, Quote)], now: i64) -> Bytes {
    let step = now - now.rem_euclid(SAME_WITHIN_MS);
    let mut out = vec![b'['];
    for (nth, (seat, offer, quote)) in offers.iter().enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        let ids = &engine.records.templates.ids;
        let uuid = ids.preview(&seat.identity.key, seat.product_type, &offer.name);
        let made_at = if offer.text.stands_until(quote, step) > now { step } else { now };
        let until = preview_expiry::signed(ids, uuid, offer.text.stands_until(quote, made_at));
        let url = engine.base_url.absolute(format_args!("/click/{uuid}?{UNTIL}={until}"));
        write_offer(&mut out, &offer.text, quote, OfferPlace { uuid, url: &url, rank: nth + 1, made_at });
    }
    out.push(b']');
    absolute_in(out, &engine.base_url).into()
}
