//! Catalog offers: declared once, priced for each lead.
//!
//! One file a kind of offer, with the same verbs in the same order: `declared` checks what the partner file says,
//! `rule` says which leads it is for, `text` prepares what does not depend on the lead, `quote` prices it for one lead.

mod answered;
mod card;
pub(super) mod loan;
mod mortgage;
mod savings;
mod special;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::answered::base::{lacks, said_of_own};
use super::band::Band;
use super::declared;
use super::eligibility::{Condition, MAX_ALTERNATIVES, Rule, Test, too_many};
use super::facts::{Facts, Subject};
use super::identity::Identity;
use super::json_object::{JsonObject, Plain};
use super::quote::{Quote, Terms};
use super::ranking::{Merits, Place};
use super::template::{Imprint, Template};
use crate::check::checker::Checker;
pub use answered::{Figure, Figures, MoneyRules, PaymentBy, Unfit};
use offerd_model::{MortgageLoanType, ProductSubType, ProductType};

/// One offer of a catalog, checked. An offer with several terms stands here once per term.
#[derive(Debug)]
pub struct CatalogOffer {
    /// `key`, or `key/term` where the declaration lists terms.
    pub name: String,
    /// Kind of product; `None` for insurance and other special offers that have none.
    pub sub_type: Option<ProductSubType>,
    /// Which leads it is for, the product's own rule included.
    pub rule: Rule,
    /// What does not depend on the lead.
    pub text: Template,
    /// What is earned, and when.
    pub payout: declared::Payout,
    /// Share of shown offers that earn it.
    pub conversion_probability: f64,
    /// How it is priced.
    pub pricing: Pricing,
    /// What the file says of it and answers complete, where the partner is asked over HTTP.
    said: Option<Arc<toml::Table>>,
    /// Whose it is.
    identity: Arc<Identity>,
    /// The product type of its seat.
    product_type: ProductType,
    /// Rating by consumers out of 100, where the file says one.
    consumer_rating: Option<f64>,
}

/// Who says what an offer costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FiguresBy {
    /// The bands of the file.
    Catalog,
    /// The partner's answers.
    Partner,
}

/// What the offers of a seat have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfSeat<'f> {
    pub product_type: ProductType,
    pub identity: &'f Arc<Identity>,
    /// Whom any of them is for.
    pub rule: &'f Rule,
}

/// Terms, how likely somebody is to get them, and the amount that they are for.
type Quoted = (Terms, f64, Option<f64>);

/// How an offer is priced, by kind.
#[derive(Debug)]
pub enum Pricing {
    /// A loan.
    Loan(loan::Loan),
    /// A credit card.
    Card(card::Card),
    /// A mortgage.
    Mortgage(mortgage::Mortgage),
    /// A savings product.
    Savings(savings::Savings),
    /// A special offer.
    Special(special::Special),
    /// Whatever the partner answers, with no offer of the file behind it.
    Own,
}

impl CatalogOffer {
    /// Checks a declared offer; there is none when it has faults, which the checker then holds.
    pub(super) fn declared(
        offer: &declared::Offer,
        OfSeat { product_type, identity, rule }: OfSeat<'_>,
        figures: FiguresBy,
        check: &mut Checker,
    ) -> Vec<Self> {
        let Some(own) = check.rule(&offer.eligibility) else { return Vec::new() };
        let rule = rule.clone().and(&own);
        if rule.alternatives.len() > MAX_ALTERNATIVES {
            check.at("eligibility", too_many(rule.alternatives.len()));
            return Vec::new();
        }
        common_faults(offer, check);
        if offer.firmness != declared::Firmness::Static && !identity.partner.supports_personalized_offers {
            check.at("firmness", "needs `partner.supports_personalized_offers = true`");
        }
        if figures == FiguresBy::Partner && !offer.bands.is_empty() {
            check.at("bands", "is for offers that the file prices; this partner answers the figures");
        }
        let said = (figures == FiguresBy::Partner).then(|| check.table().cloned()).flatten();
        let said = said.map(|mut said| {
            // Whom it is for is settled before anybody is asked.
            said.remove("eligibility");
            Arc::new(said)
        });
        let variants = variants(offer, product_type, figures, check).into_iter();
        let offers = variants.map(|pricing| {
            let rule = rule.clone().and(&pricing.rule()).and_all(known_to(offer, &pricing).as_slice());
            let imprint = offer.imprint(pricing.term());
            let priced = Self::for_all(offer, imprint, product_type, identity, pricing);
            Self { rule, said: said.clone(), ..priced }
        });
        offers.collect()
    }

    /// Checks what a file says of offers of a partner's own, whose figures are `answered`; `None` when it cannot be read.
    pub(super) fn own(
        own: &declared::Own,
        OfSeat { product_type, identity, rule }: OfSeat<'_>,
        answered: &BTreeMap<String, String>,
        check: &mut Checker,
    ) -> Option<Self> {
        let said = check.within("answer.own", |check| check.table().cloned())?;
        let said = said_of_own(said, own, product_type);
        for (key, fault) in lacks(own, &said, product_type, answered) {
            check.at(&key, fault);
        }
        let is_new = own.sub_type.is_some_and(|sub_type| !sub_type.is_specified());
        let known = (is_new && !product_type.is_special()).then(newer_values);
        Some(Self {
            name: own.key.clone(),
            sub_type: own.sub_type,
            rule: rule.clone().and_all(known.as_slice()),
            text: own_text(own, product_type),
            payout: own.payout,
            conversion_probability: own.conversion_probability,
            pricing: Pricing::Own,
            said: Some(Arc::new(said)),
            identity: Arc::clone(identity),
            product_type,
            consumer_rating: None,
        })
    }

    /// Whether no offer of the file stands behind it.
    pub fn is_own(&self) -> bool {
        matches!(self.pricing, Pricing::Own)
    }

    /// Its key within the partner, which all its terms share.
    pub fn key(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// Where a click on it leads, as the file says.
    pub fn landing_url(&self, click_id: &str, lead: &str) -> String {
        self.declared_url().replace("{clickId}", click_id).replace("{leadUuid}", lead)
    }

    fn declared_url(&self) -> &str {
        self.text.imprint.as_ref().map(|imprint| imprint.landing_url.as_str()).unwrap_or_default()
    }

    /// A declared offer without its rule.
    fn for_all(
        offer: &declared::Offer,
        imprint: Imprint,
        product_type: ProductType,
        identity: &Arc<Identity>,
        pricing: Pricing,
    ) -> Self {
        let is_card = product_type == ProductType::CreditCard;
        Self {
            name: imprint.name.clone(),
            sub_type: offer.sub_type.or_else(|| is_card.then_some(ProductSubType::CreditCard)),
            rule: Rule::always(),
            text: Template::of_offer(imprint, |text| pricing.text(text, offer, identity)),
            payout: offer.payout,
            conversion_probability: offer.conversion_probability,
            pricing,
            said: None,
            identity: Arc::clone(identity),
            product_type,
            consumer_rating: offer.consumer_rating,
        }
    }

    /// The offer for one lead; `None` when the lead fits the rule but none of the bands.
    pub fn quote(&self, facts: &Facts) -> Option<Quote> {
        self.quote_to(facts, Personal::Yes)
    }

    /// The offer for anyone like the lead: static, whatever the partner would answer to the person.
    pub fn preview(&self, facts: &Facts) -> Option<Quote> {
        self.quote_to(facts, Personal::No)
    }

    /// Least deposit in dollars, of a savings product.
    pub fn minimum_deposit(&self) -> Option<f64> {
        match &self.pricing {
            Pricing::Savings(savings) => Some(savings.minimum_deposit),
            _ => None,
        }
    }

    fn quote_to(&self, facts: &Facts, personal: Personal) -> Option<Quote> {
        self.pricing.quote(facts, personal).map(|quoted| self.scored(facts, self, quoted))
    }

    /// A quote with what it earns, as `said` of the offer, and its score: by the ranking that the lead's offers have, or else its expected
    /// value in dollars.
    fn scored(&self, facts: &Facts, said: &Self, (mut terms, suitability, amount): Quoted) -> Quote {
        let payout = said.payout.dollars(amount);
        terms.pay(payout);
        let merits = Merits {
            place: Place { product_type: self.product_type, partner: &self.identity.key, offer: self.key() },
            payout_on: said.payout.on,
            payout,
            suitability,
            declared_conversion: said.conversion_probability,
            consumer_rating: said.consumer_rating,
        };
        let ranked = facts.ranked_by.map(|by| Box::new(by.rank(facts, &terms, &merits)));
        let score = ranked.as_ref().map_or_else(|| merits.expected_value(), |ranked| ranked.score());
        let text = self.text.fingerprint;
        Quote { text, score, terms, landing_url: None, expires_at: None, own: None, doubt: None, ranked }
    }
}

/// The ways in which a declared offer is priced, one for each of its terms; none when it has faults, which the checker then holds.
fn variants(
    offer: &declared::Offer,
    product_type: ProductType,
    figures: FiguresBy,
    check: &mut Checker,
) -> Vec<Pricing> {
    match product_type {
        ProductType::Loan => loan::declared(offer, figures, check).into_iter().map(Pricing::Loan).collect(),
        ProductType::CreditCard => Vec::from_iter(card::declared(offer, check).map(Pricing::Card)),
        ProductType::Mortgage => {
            Vec::from_iter(mortgage::declared(offer, figures, check).map(Pricing::Mortgage))
        }
        ProductType::Savings => {
            Vec::from_iter(savings::declared(offer, figures, check).map(Pricing::Savings))
        }
        _ => Vec::from_iter(special::declared(offer, product_type, check).map(Pricing::Special)),
    }
}

impl Pricing {
    /// The term of a loan.
    fn term(&self) -> Option<i32> {
        if let Self::Loan(loan) = self { Some(loan.term) } else { None }
    }

    /// Who it is for by its nature.
    fn rule(&self) -> Rule {
        match self {
            Self::Loan(loan) => loan.rule(),
            Self::Card(card) => card.rule(),
            Self::Mortgage(mortgage) => mortgage.rule(),
            Self::Savings(savings) => savings.rule(),
            Self::Special(_) | Self::Own => Rule::always(),
        }
    }

    /// Prices it for a lead; `None` where no band of its terms fits.
    fn quote(&self, facts: &Facts, personal: Personal) -> Option<Quoted> {
        match self {
            Self::Loan(loan) => loan.quote(facts, personal),
            Self::Card(card) => Some(card.quote(facts, personal)),
            Self::Mortgage(mortgage) => mortgage.quote(facts),
            Self::Savings(savings) => savings.quote(facts),
            Self::Special(special) => Some(special.quote()),
            Self::Own => None,
        }
    }

    /// Writes what does not depend on the lead.
    fn text(&self, text: &mut JsonObject<'_>, offer: &declared::Offer, identity: &Identity) {
        match self {
            Self::Loan(loan) => loan.text(text, offer, identity),
            Self::Card(card) => card.text(text, offer, identity),
            Self::Mortgage(mortgage) => mortgage.text(text, offer, identity),
            Self::Savings(savings) => savings.text(text, offer, identity),
            Self::Special(special) => special.text(text, offer, identity),
            Self::Own => unreachable!("only what a file declares has a text"),
        }
    }
}

/// Writes what offers of cards, mortgages and savings products have in common.
fn common_text(
    text: &mut JsonObject<'_>,
    product_type: ProductType,
    offer: &declared::Offer,
    identity: &Identity,
) {
    text.set("partner", &identity.partner)
        .set_some("marketplace", identity.marketplace.as_ref())
        .set("productType", &product_type)
        .set_some("productSubType", offer.sub_type)
        .set_some("disclaimer", offer.disclaimer.as_deref())
        .set_some("productSubTypeDisclaimer", offer.sub_type_disclaimer.as_deref())
        .set_some("consumerRating", offer.consumer_rating.map(Plain));
}

/// What is known of offers of a partner's own before any is answered: their name, and what they earn. It is never shown.
fn own_text(own: &declared::Own, product_type: ProductType) -> Template {
    let landing_url = own.landing_url.clone().unwrap_or_default();
    let imprint =
        Imprint { name: own.key.clone(), landing_url, payout: own.payout, valid_for_ms: own.valid_for };
    Template::of_offer(imprint, |text| match &own.sub_type {
        Some(sub_type) => drop(text.set("productSubType", sub_type)),
        None => drop(text.set("productType", &product_type)),
    })
}

/// Whether a quote may be for the person: pre-qualified, pre-approved, pre-selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Personal {
    Yes,
    No,
}

/// Suitability of an offer that is not personal (facts, Firmness, counts 0.95 for pre-approved, 0.80 for pre-qualified).
const STATIC_SUITABILITY: f64 = 0.5;

/// Suitability by how firm an offer is.
fn suitability(pre_approved: bool, pre_qualified: bool, pre_selected: bool) -> f64 {
    match (pre_approved, pre_qualified, pre_selected) {
        (true, _, _) => 0.95,
        (_, true, _) => 0.80,
        (_, _, true) => 0.65,
        _ => STATIC_SUITABILITY,
    }
}

/// The condition that who sent the lead knows the offer's values, where the specification lacks one. Special offers have always been
/// of kinds that it lacks.
fn known_to(offer: &declared::Offer, pricing: &Pricing) -> Option<Condition> {
    let is_specified = match pricing {
        Pricing::Special(_) | Pricing::Own => true,
        Pricing::Mortgage(_) => offer.loan_type.is_none_or(MortgageLoanType::is_specified),
        Pricing::Loan(_) | Pricing::Card(_) | Pricing::Savings(_) => {
            offer.sub_type.is_none_or(ProductSubType::is_specified)
        }
    };
    (!is_specified).then(newer_values)
}

fn newer_values() -> Condition {
    Condition::new(Subject::of("newerValues"), Test::Flag(true))
}

/// Faults that any kind of offer can have.
fn common_faults(offer: &declared::Offer, check: &mut Checker) {
    check.key("key", &offer.key);
    check.landing_url(&offer.landing_url);
    check.between("conversion_probability", Some(offer.conversion_probability), 0.0, 1.0);
    match (offer.payout.fixed, offer.payout.percent) {
        (None, None) => check.at("payout", "must have `fixed` (dollars) or `percent`"),
        (_, Some(_)) if offer.amount.is_none() => {
            check.at("payout.percent", "needs an `amount` to be a percentage of; use `fixed`");
        }
        (fixed, percent) => {
            check.between("payout.fixed", fixed, 0.0, 1e6);
            check.between("payout.percent", percent, 0.0, 100.0);
        }
    }
}

/// The condition that the lead's rating, when known, falls into one of the bands, if there are any.
fn rated(bands: &[Band]) -> Option<Condition> {
    let ratings = bands.iter().fold(0, |all, band| all | band.ratings);
    (!bands.is_empty() && ratings != ALL_RATINGS).then(|| {
        let rating = Subject::of("creditInformation.providedCreditRating");
        Condition::or_missing(rating, Test::Category(ratings))
    })
}

/// A bit for each credit rating.
const ALL_RATINGS: u64 = (1 << offerd_model::ProvidedCreditRating::ALL.len()) - 1;

/// The lead's rating as a bit.
fn rating_bit(facts: &Facts) -> Option<u64> {
    facts.rating().map(|rating| 1 << rating.ordinal())
}

/// Where a score stands in the span of its band, 0 the lowest and 1 the highest: a better score gets a better rate.
fn standing(facts: &Facts, band: &Band) -> f64 {
    let Some(score) = facts.credit_score() else { return 0.0 };
    let spans = SCORE_SPANS.iter().filter(|(rating, _, _)| band.ratings >> rating.ordinal() & 1 == 1);
    let (low, high) = spans.fold((850, 300), |(low, high), (_, from, to)| (low.min(*from), high.max(*to)));
    if low >= high {
        0.0
    } else {
        ((f64::from(score) - f64::from(low)) / f64::from(high - low)).clamp(0.0, 1.0)
    }
}

/// The scores of each rating (facts, Credit rating and score; FICO ends at 850).
const SCORE_SPANS: [(offerd_model::ProvidedCreditRating, i32, i32); 4] = {
    use offerd_model::ProvidedCreditRating::{Excellent, Fair, Good, Poor};
    [(Excellent, 720, 850), (Good, 660, 719), (Fair, 620, 659), (Poor, 300, 619)]
};

/// The figure at a standing: the highest at 0, the lowest at 1.
fn at_standing((low, high): (f64, f64), standing: f64) -> f64 {
    high - (high - low) * standing
}

/// Rounded to cents, or to hundredths of a percent.
fn hundredths(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

/// Rounded to the thousandths of a percent in which rates are quoted.
fn thousandths(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}
