//! Conversion estimates from a company's own clicks.
//!
//! The belief about a place is a Beta distribution. It starts from the [`Prior`] of the settings: a rate,
//! worth a number of clicks. Clicks on other partners' offers of the product update it, then clicks on the
//! partner's other offers, on the offer by people of other ratings, and at the place itself. The result of
//! each level becomes the prior of the next narrower one, worth the same number of clicks again. Every click
//! counts once.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use offerd_model::{ProductType, ProvidedCreditRating};

/// Clicks, and those that earned their payout; older ones count for less than one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedClicks {
    /// Number of clicks on offers.
    pub clicks: f64,
    /// Number of clicks that converted.
    pub conversions: f64,
}

/// The prior belief, and the bounds of any estimate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prior {
    /// Share of clicks that convert.
    pub rate: f64,
    /// Weight of the prior in clicks, above 0.
    pub strength: f64,
    /// Lower bound of every estimate.
    pub least: f64,
    /// Upper bound of every estimate.
    pub most: f64,
}

/// The source of a conversion estimate. Stored by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ConversionFrom {
    /// The partner has bought the lead, so the payout is certain.
    Sold,
    /// The click itself earns the payout.
    Click,
    /// The settings: no clicks yet.
    Prior,
    /// Clicks on other partners' offers of the product.
    Product,
    /// Clicks on other offers of the partner.
    Partner,
    /// Clicks on the offer by people of other credit ratings.
    Offer,
    /// Clicks on the offer by people of that credit rating.
    Band,
}

/// An offer within a partner file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OfferKey<'a> {
    /// The product type of the seat.
    pub product_type: ProductType,
    /// Key of the partner.
    pub partner: &'a str,
    /// Key of the offer, shared by all its terms.
    pub offer: &'a str,
}

/// The estimate for an offer and a rating.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConversionEstimate {
    /// Share of clicks that convert, within the bounds of the settings.
    pub rate: f64,
    /// The narrowest level with clicks.
    pub from: ConversionFrom,
    /// Clicks observed at that level.
    pub seen: ObservedClicks,
    /// The two parameters of the Beta distribution; its mean, clamped to the bounds, is the rate.
    pub beta: (f64, f64),
}

/// Click statistics of one company. Test leads have separate ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversions {
    /// The belief without clicks.
    pub prior: Prior,
    products: HashMap<ProductType, ProductLevel>,
    /// Recorded estimates, which override the statistics.
    recorded: HashMap<(ProductType, String, String), ConversionEstimate>,
}

/// A product by partner, offer and rating.
type ProductLevel = Level<Level<Level<ObservedClicks, RatingBand>, String>, String>;

/// The group of people that statistics distinguish: their credit rating, if known.
pub type RatingBand = Option<ProvidedCreditRating>;

/// From the widest to the narrowest level.
const LEVELS: [ConversionFrom; 4] =
    [ConversionFrom::Product, ConversionFrom::Partner, ConversionFrom::Offer, ConversionFrom::Band];

/// The estimate for a partner, for one of its offers, or for an offer and one rating.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownEstimate<'a> {
    /// The product type.
    pub product_type: ProductType,
    /// Key of the partner.
    pub partner: &'a str,
    /// Key of the offer; `None` for the whole partner.
    pub offer: Option<&'a str>,
    /// The rating; `None` for all ratings.
    pub band: Option<RatingBand>,
    /// The estimate; for a partner or an offer, the one that a new offer or rating starts from.
    pub estimate: ConversionEstimate,
}

/// Totals of a level, and its parts.
#[derive(Debug, Clone, Default, PartialEq)]
struct Level<T, K: Hash + Eq> {
    seen: ObservedClicks,
    each: HashMap<K, T>,
}

impl ObservedClicks {
    fn add(&mut self, other: Self) {
        self.clicks += other.clicks;
        self.conversions += other.conversions;
    }

    /// The clicks here that are not in `part`, which is a subset.
    fn without(self, part: Self) -> Self {
        Self {
            clicks: (self.clicks - part.clicks).max(0.0),
            conversions: (self.conversions - part.conversions).max(0.0),
        }
    }
}

impl Conversions {
    /// Statistics without clicks.
    pub fn nothing_seen(prior: Prior) -> Self {
        Self { prior, products: HashMap::new(), recorded: HashMap::new() }
    }

    /// Replays the recorded estimates of one table, to rank it again. Other offers get their mean.
    pub fn recorded(
        believed: impl IntoIterator<Item = ((ProductType, String, String), ConversionEstimate)>,
    ) -> Self {
        let recorded: HashMap<_, _> = believed.into_iter().collect();
        let sum: f64 = recorded.values().map(|estimate: &ConversionEstimate| estimate.rate).sum();
        let rate = if recorded.is_empty() { 0.5 } else { sum / recorded.len() as f64 };
        Self { recorded, ..Self::nothing_seen(Prior { rate, strength: 1.0, least: 0.0, most: 1.0 }) }
    }

    /// Adds observed clicks on an offer by people of a rating.
    pub fn add(&mut self, place: &OfferKey<'_>, band: RatingBand, seen: ObservedClicks) {
        let product = self.products.entry(place.product_type).or_default();
        product.seen.add(seen);
        let partner = product.each.entry(place.partner.to_owned()).or_default();
        partner.seen.add(seen);
        let offer = partner.each.entry(place.offer.to_owned()).or_default();
        offer.seen.add(seen);
        offer.each.entry(band).or_default().add(seen);
    }

    /// The estimate for an offer and a rating.
    pub fn estimate(&self, place: &OfferKey<'_>, band: RatingBand) -> ConversionEstimate {
        let OfferKey { product_type, partner, offer } = *place;
        if !self.recorded.is_empty()
            && let Some(estimate) = self.recorded.get(&(product_type, partner.to_owned(), offer.to_owned()))
        {
            return *estimate;
        }
        let product = self.products.get(&product_type);
        let of_partner = product.and_then(|product| product.each.get(partner));
        let of_offer = of_partner.and_then(|partner| partner.each.get(offer));
        let of_band = of_offer.and_then(|offer| offer.each.get(&band));
        self.of([
            product.map(|level| level.seen),
            of_partner.map(|level| level.seen),
            of_offer.map(|level| level.seen),
            of_band.copied(),
        ])
    }

    /// The estimate from the clicks of product, partner, offer and rating.
    fn of(&self, levels: [Option<ObservedClicks>; 4]) -> ConversionEstimate {
        let Prior { rate, strength, least, most } = self.prior;
        let seen = levels.map(Option::unwrap_or_default);
        let mut beta = (rate * strength, (1.0 - rate) * strength);
        for (nth, wider) in seen.into_iter().enumerate() {
            // Clicks of the narrower level are excluded here, since they count there.
            let ObservedClicks { clicks, conversions } =
                wider.without(seen.get(nth + 1).copied().unwrap_or_default());
            let mean = beta.0 / (beta.0 + beta.1);
            let converted = mean * strength + conversions;
            beta = (converted, (strength + clicks - converted).max(0.0));
        }
        let known = LEVELS.into_iter().zip(levels).rev().find_map(|(from, seen)| Some((from, seen?)));
        let (from, seen) = known.unwrap_or((ConversionFrom::Prior, ObservedClicks::default()));
        ConversionEstimate { rate: (beta.0 / (beta.0 + beta.1)).clamp(least, most), from, seen, beta }
    }

    /// Every level with clicks, sorted by name: each partner, its offers, and their ratings.
    pub fn known(&self) -> Vec<KnownEstimate<'_>> {
        let mut all = Vec::new();
        for (&product_type, product) in &self.products {
            for (partner, level) in &product.each {
                let levels = [Some(product.seen), Some(level.seen), None, None];
                let estimate = self.of(levels);
                let known = KnownEstimate { product_type, partner, offer: None, band: None, estimate };
                all.push(known);
                for (offer, level) in &level.each {
                    let levels = [levels[0], levels[1], Some(level.seen), None];
                    all.push(KnownEstimate { offer: Some(offer), estimate: self.of(levels), ..known });
                    all.extend(level.each.iter().map(|(band, seen)| {
                        let estimate = self.of([levels[0], levels[1], levels[2], Some(*seen)]);
                        KnownEstimate { offer: Some(offer), band: Some(*band), estimate, ..known }
                    }));
                }
            }
        }
        all.sort_by_key(|known| (known.product_type, known.partner, known.offer, known.band));
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PRIOR: Prior = Prior { rate: 0.1, strength: 20.0, least: 0.01, most: 0.5 };

    fn offer(key: &str) -> OfferKey<'_> {
        let (partner, offer) = key.split_once(' ').expect("a partner and an offer");
        OfferKey { product_type: ProductType::Loan, partner, offer }
    }

    fn seen(clicks: f64, conversions: f64) -> ObservedClicks {
        ObservedClicks { clicks, conversions }
    }

    #[test]
    fn what_nobody_has_clicked_on_stands_where_its_partner_its_product_or_the_settings_do() {
        let mut known = Conversions::nothing_seen(PRIOR);
        let good = Some(ProvidedCreditRating::Good);
        let fair = Some(ProvidedCreditRating::Fair);
        assert_eq!(known.estimate(&offer("a one"), good).rate, 0.1);
        assert_eq!(known.estimate(&offer("a one"), good).from, ConversionFrom::Prior);

        known.add(&offer("a one"), good, seen(80.0, 28.0));
        let estimate = known.estimate(&offer("a one"), good);
        assert_eq!((estimate.rate, estimate.from), (0.3, ConversionFrom::Band), "(28 + 2) of 100");
        for (place, band, from) in [
            ("a one", fair, ConversionFrom::Offer),
            ("a two", good, ConversionFrom::Partner),
            ("b one", good, ConversionFrom::Product),
        ] {
            let estimate = known.estimate(&offer(place), band);
            assert!((estimate.rate - 0.3).abs() < 1e-9, "{place}: each click counts once: {estimate:?}");
            assert_eq!((estimate.from, estimate.seen), (from, seen(80.0, 28.0)));
        }
        let elsewhere = OfferKey { product_type: ProductType::Mortgage, ..offer("a one") };
        assert_eq!(known.estimate(&elsewhere, good).from, ConversionFrom::Prior);
    }

    #[test]
    fn no_estimate_leaves_its_bounds() {
        let mut known = Conversions::nothing_seen(PRIOR);
        known.add(&offer("a one"), None, seen(10_000.0, 0.0));
        known.add(&offer("b one"), None, seen(10_000.0, 10_000.0));
        assert_eq!(known.estimate(&offer("a one"), None).rate, 0.01);
        assert_eq!(known.estimate(&offer("b one"), None).rate, 0.5);
    }

    proptest! {
        #[test]
        fn a_conversion_more_is_never_a_lower_estimate(
            clicks in prop::collection::vec((0..3_usize, 1..50_u32, 0..50_u32), 0..8),
            nth in 0..3_usize,
        ) {
            let places = ["a one", "a two", "b one"];
            let mut known = Conversions::nothing_seen(PRIOR);
            for (place, clicks, conversions) in clicks {
                let conversions = f64::from(conversions.min(clicks));
                known.add(&offer(places[place]), None, seen(f64::from(clicks), conversions));
            }
            let before = known.estimate(&offer(places[nth]), None);
            prop_assert!(before.beta.0 > 0.0 && before.beta.1 > 0.0);
            known.add(&offer(places[nth]), None, seen(1.0, 1.0));
            prop_assert!(known.estimate(&offer(places[nth]), None).rate >= before.rate - 1e-12);
            prop_assert!((PRIOR.least..=PRIOR.most).contains(&before.rate));
        }
    }
}
