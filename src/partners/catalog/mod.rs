//! Catalog offers: declared once, priced for each lead.
//!
//! One file per kind of offer, with the same functions in the same order: `declared` checks the declaration,
//! `rule` is its eligibility, `text` writes what does not depend on the lead, `quote` prices it for one lead.

mod answered;
mod card;
pub(super) mod loan;
mod mortgage;
mod savings;
mod special;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::answered::base::{declaration_of_own, lacks};
use super::declared::{self, Firmness, Offer};
use super::eligibility::{
    ConditionTest, EligibilityCondition, EligibilityRule, MAX_ALTERNATIVES, bits, too_many,
};
use super::facts::{Facts, Subject};
use super::identity::PartnerIdentity;
use super::json_object::{JsonObjectWriter, Plain};
use super::quote::{Quote, QuoteTerms};
use super::ranking::{Merits, OfferKey};
use super::template::{ClickTerms, Template};
use crate::check::checker::PartnerFileChecker as Checker;
pub(crate) use answered::is_fraction;
pub use answered::{AnsweredFigure, AnsweredFigures, MoneyRules, PaymentBy, Unfit, range_shown};
use offerd_model::{MortgageLoanType, ProductSubType, ProductType};

/// One checked offer of a catalog. An offer with several terms appears once per term.
#[derive(Debug)]
pub struct CatalogOffer {
    /// `key`, or `key/term` where the declaration lists terms.
    pub name: String,
    /// Product sub-type; `None` for insurance and other special offers without one.
    pub sub_type: Option<ProductSubType>,
    /// Eligibility, including the rule of the product.
    pub rule: EligibilityRule,
    /// The part that does not depend on the lead.
    pub text: Template,
    /// The payout and the step that earns it.
    pub payout: declared::DeclaredPayout,
    /// Share of shown offers that earn the payout.
    pub conversion_probability: f64,
    /// How it is priced.
    pub pricing: Pricing,
    /// The offer's declaration, which a partner's answer may override; for a partner asked over HTTP.
    declaration: Option<Arc<toml::Table>>,
    identity: Arc<PartnerIdentity>,
    product_type: ProductType,
    consumer_rating: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct CatalogSeat<'f> {
    pub product_type: ProductType,
    pub identity: &'f Arc<PartnerIdentity>,
    /// Eligibility of the seat.
    pub rule: &'f EligibilityRule,
}

/// Terms, suitability, and the amount in dollars that they are for.
type Quoted = (QuoteTerms, f64, Option<f64>);

/// How an offer is priced, by kind.
#[derive(Debug)]
pub enum Pricing {
    /// A loan.
    Loan(loan::Loan),
    /// A credit card.
    Card(card::CatalogCard),
    /// A mortgage.
    Mortgage(mortgage::Mortgage),
    /// A savings product.
    Savings(savings::Savings),
    /// A special offer.
    Special(special::Special),
    /// Priced by the partner's answer alone, without an offer in the file.
    Own,
}

impl CatalogOffer {
    /// Checks a declared offer, which the file prices by bands if `is_priced`, and else the partner's answers.
    /// Empty when it has faults; the checker collects them.
    pub(super) fn declared(
        offer: &Offer,
        CatalogSeat { product_type, identity, rule }: CatalogSeat<'_>,
        is_priced: bool,
        check: &mut Checker,
    ) -> Vec<Self> {
        let Some(own) = check.rule(&offer.eligibility) else { return Vec::new() };
        let rule = rule.clone().and(&own);
        if rule.alternatives.len() > MAX_ALTERNATIVES {
            check.at("eligibility", too_many(rule.alternatives.len()));
            return Vec::new();
        }
        common_faults(offer, check);
        if offer.firmness != Firmness::Static && !identity.partner.supports_personalized_offers {
            check.at("firmness", "needs `partner.supports_personalized_offers = true`");
        }
        if !is_priced && !offer.bands.is_empty() {
            check.at("bands", "is for offers that the file prices; this partner sends the figures");
        }
        let declaration = check.table().filter(|_| !is_priced).cloned();
        let declaration = declaration.map(|mut declaration| {
            // Eligibility is decided before any partner is asked.
            declaration.remove("eligibility");
            Arc::new(declaration)
        });
        let offers = variants(offer, product_type, is_priced, check).into_iter().map(|pricing| {
            let rule = rule.clone().and(&pricing.rule()).and_all(known_to(offer, &pricing).as_slice());
            let priced =
                Self::for_all(offer, offer.click_terms(pricing.term()), product_type, identity, pricing);
            Self { rule, declaration: declaration.clone(), ..priced }
        });
        offers.collect()
    }

    /// Checks `answer.own`, whose figures the mappings in `answered` supply; `None` when it cannot be read.
    pub(super) fn own(
        own: &declared::Own,
        CatalogSeat { product_type, identity, rule }: CatalogSeat<'_>,
        answered: &BTreeMap<String, String>,
        check: &mut Checker,
    ) -> Option<Self> {
        let declaration = check.within("answer.own", |check| check.table().cloned())?;
        let declaration = declaration_of_own(declaration, own, product_type);
        for (key, fault) in lacks(own, &declaration, product_type, answered) {
            check.at(&key, fault);
        }
        let is_known: fn(ProductSubType) -> bool =
            if product_type.is_special() { is_known_special } else { ProductSubType::is_specified };
        let known = (!own.sub_type.is_none_or(is_known)).then(newer_values);
        Some(Self {
            name: own.key.clone(),
            sub_type: own.sub_type,
            rule: rule.clone().and_all(known.as_slice()),
            text: own_text(own, product_type),
            payout: own.payout,
            conversion_probability: own.conversion_probability,
            pricing: Pricing::Own,
            declaration: Some(Arc::new(declaration)),
            identity: Arc::clone(identity),
            product_type,
            consumer_rating: None,
        })
    }

    /// Whether the offer comes from the partner's answer, without an offer in the file.
    pub fn is_own(&self) -> bool {
        matches!(self.pricing, Pricing::Own)
    }

    /// Its key within the partner, shared by all its terms.
    pub fn key(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// The declared URL that a click leads to.
    pub fn landing_url(&self, click_id: &str, lead: &str) -> String {
        self.declared_url().replace("{clickId}", click_id).replace("{leadUuid}", lead)
    }

    fn declared_url(&self) -> &str {
        self.text.click_terms.as_ref().map(|click_terms| click_terms.landing_url.as_str()).unwrap_or_default()
    }

    fn for_all(
        offer: &Offer,
        click_terms: ClickTerms,
        product_type: ProductType,
        identity: &Arc<PartnerIdentity>,
        pricing: Pricing,
    ) -> Self {
        let is_card = product_type == ProductType::CreditCard;
        Self {
            name: click_terms.name.clone(),
            sub_type: offer.sub_type.or_else(|| is_card.then_some(ProductSubType::CreditCard)),
            rule: EligibilityRule::always(),
            text: Template::of_offer(click_terms, |text| pricing.text(text, offer, identity)),
            payout: offer.payout,
            conversion_probability: offer.conversion_probability,
            pricing,
            declaration: None,
            identity: Arc::clone(identity),
            product_type,
            consumer_rating: offer.consumer_rating,
        }
    }

    /// Minimum deposit of a savings product, dollars.
    pub fn minimum_deposit(&self) -> Option<f64> {
        if let Pricing::Savings(savings) = &self.pricing { Some(savings.minimum_deposit) } else { None }
    }

    /// Prices the offer for a lead; `None` when the lead fits the rule but none of the bands. The quote
    /// `may_be_personal`: pre-qualified, pre-approved or pre-selected; else it is for anyone like the lead.
    pub fn quote(&self, facts: &Facts, may_be_personal: bool) -> Option<Quote> {
        self.pricing.quote(facts, may_be_personal).map(|quoted| self.scored(facts, self, quoted))
    }

    /// Builds the quote with its payout, as `declared` states it, and its score.
    fn scored(&self, facts: &Facts, declared: &Self, (mut terms, suitability, amount): Quoted) -> Quote {
        let payout = declared.payout.dollars(amount);
        terms.pay(payout);
        let (product_type, partner) = (self.product_type, &self.identity.key);
        let place = OfferKey { product_type, partner, offer: self.key() };
        let merits = Merits {
            place,
            payout_on: declared.payout.on,
            payout,
            suitability,
            declared_conversion: declared.conversion_probability,
            consumer_rating: declared.consumer_rating,
        };
        let ranked = facts.ranked_by.map(|by| Box::new(by.score(facts, &terms, &merits)));
        let score = ranked.as_ref().map_or_else(|| merits.expected_value(), |ranked| ranked.score());
        let text = self.text.fingerprint;
        Quote { text, score, terms, landing_url: None, expires_at: None, own: None, doubt: None, ranked }
    }
}

/// The pricings of a declared offer, one per term. Empty when it has faults; the checker collects them.
fn variants(offer: &Offer, kind: ProductType, is_priced: bool, check: &mut Checker) -> Vec<Pricing> {
    use Pricing::{Card, Loan, Mortgage, Savings, Special};
    match kind {
        ProductType::Loan => loan::declared(offer, is_priced, check).into_iter().map(Loan).collect(),
        ProductType::CreditCard => Vec::from_iter(card::declared(offer, check).map(Card)),
        ProductType::Mortgage => Vec::from_iter(mortgage::declared(offer, is_priced, check).map(Mortgage)),
        ProductType::Savings => Vec::from_iter(savings::declared(offer, is_priced, check).map(Savings)),
        _ => Vec::from_iter(special::declared(offer, kind, check).map(Special)),
    }
}

impl Pricing {
    fn term(&self) -> Option<i32> {
        if let Self::Loan(loan) = self { Some(loan.term) } else { None }
    }

    fn rule(&self) -> EligibilityRule {
        match self {
            Self::Loan(loan) => loan.rule(),
            Self::Card(card) => card.rule(),
            Self::Mortgage(mortgage) => mortgage.rule(),
            Self::Savings(savings) => savings.rule(),
            Self::Special(_) | Self::Own => EligibilityRule::always(),
        }
    }

    fn quote(&self, facts: &Facts, may_be_personal: bool) -> Option<Quoted> {
        match self {
            Self::Loan(loan) => loan.quote(facts, may_be_personal),
            Self::Card(card) => Some(card.quote(facts, may_be_personal)),
            Self::Mortgage(mortgage) => mortgage.quote(facts),
            Self::Savings(savings) => savings.quote(facts),
            Self::Special(special) => Some(special.quote()),
            Self::Own => None,
        }
    }

    fn text(&self, text: &mut JsonObjectWriter<'_>, offer: &Offer, identity: &PartnerIdentity) {
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

fn common_text(
    text: &mut JsonObjectWriter<'_>,
    product_type: ProductType,
    offer: &Offer,
    identity: &PartnerIdentity,
) {
    text.set("partner", &identity.partner)
        .set_some("marketplace", identity.marketplace.as_ref())
        .set("productType", &product_type)
        .set_some("productSubType", offer.sub_type)
        .set_some("disclaimer", offer.disclaimer.as_deref())
        .set_some("productSubTypeDisclaimer", offer.sub_type_disclaimer.as_deref())
        .set_some("consumerRating", offer.consumer_rating.map(Plain));
}

/// The template of a partner's own offers before any answer: name and payout. It is never shown.
fn own_text(own: &declared::Own, product_type: ProductType) -> Template {
    let landing_url = own.landing_url.clone().unwrap_or_default();
    let click_terms =
        ClickTerms { name: own.key.clone(), landing_url, payout: own.payout, valid_for_ms: own.valid_for };
    Template::of_offer(click_terms, |text| match &own.sub_type {
        Some(sub_type) => drop(text.set("productSubType", sub_type)),
        None => drop(text.set("productType", &product_type)),
    })
}

/// Suitability of a non-personal offer.
const STATIC_SUITABILITY: f64 = 0.5;

fn suitability(pre_approved: bool, pre_qualified: bool, pre_selected: bool) -> f64 {
    match (pre_approved, pre_qualified, pre_selected) {
        (true, _, _) => 0.95,
        (_, true, _) => 0.80,
        (_, _, true) => 0.65,
        _ => STATIC_SUITABILITY,
    }
}

/// For values beyond the specification: the condition that the client accepts them.
fn known_to(offer: &Offer, pricing: &Pricing) -> Option<EligibilityCondition> {
    let is_specified = match pricing {
        Pricing::Own => true,
        Pricing::Special(_) => offer.sub_type.is_none_or(is_known_special),
        Pricing::Mortgage(_) => offer.loan_type.is_none_or(MortgageLoanType::is_specified),
        _ => offer.sub_type.is_none_or(ProductSubType::is_specified),
    };
    (!is_specified).then(newer_values)
}

/// Whether every client knows special offers of this sub-type, whose first version had more than the specification.
fn is_known_special(sub_type: ProductSubType) -> bool {
    sub_type.ordinal() <= ProductSubType::Uncategorized.ordinal()
}

fn newer_values() -> EligibilityCondition {
    EligibilityCondition::new(Subject::of("newerValues"), ConditionTest::Flag(true))
}

fn common_faults(offer: &Offer, check: &mut Checker) {
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

/// A row of terms of an offer, for a group of leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct TermsBand {
    /// Credit ratings, one bit per ordinal.
    pub(super) ratings: u64,
    /// Dollars, inclusive.
    pub(super) amount: (f64, f64),
    /// Loan to value in percent, inclusive.
    pub(super) loan_to_value: (f64, f64),
    /// Lowest and highest yearly rate in percent.
    pub(super) rate: (f64, f64),
    /// Lowest and highest origination fee in percent.
    pub(super) fee_rate: (f64, f64),
    /// Origination fee in dollars.
    pub(super) fee_fixed: f64,
    /// Points or credit in percent.
    pub(super) price_adjustment: f64,
}

impl TermsBand {
    /// Whether the known attributes of the lead are within the band; unknown ones count as within.
    pub(super) fn fits(&self, rating: Option<u64>, amount: Option<f64>, loan_to_value: Option<f64>) -> bool {
        let within = |x: Option<f64>, (min, max): (f64, f64)| x.is_none_or(|x| min <= x && x <= max);
        rating.is_none_or(|bit| self.ratings & bit != 0)
            && within(amount, self.amount)
            && within(loan_to_value, self.loan_to_value)
    }
}

/// The condition that the lead's rating falls into one of the bands; `None` when they exclude no rating.
fn rated(bands: &[TermsBand]) -> Option<EligibilityCondition> {
    let ratings = bands.iter().fold(0, |all, band| all | band.ratings);
    (!bands.is_empty() && ratings != ALL_RATINGS).then(|| rated_in(ratings))
}

/// The condition that the lead's rating, when known, is one of these, one bit per ordinal.
fn rated_in(ratings: u64) -> EligibilityCondition {
    if_given("creditInformation.providedCreditRating", ConditionTest::Category(ratings))
}

/// A condition on an attribute that holds when it is not given.
fn if_given(path: &'static str, test: ConditionTest) -> EligibilityCondition {
    EligibilityCondition::or_missing(Subject::of(path), test)
}

const ALL_RATINGS: u64 = (1 << offerd_model::ProvidedCreditRating::ALL.len()) - 1;

fn rating_bit(facts: &Facts) -> Option<u64> {
    facts.rating().map(|rating| bits([rating]))
}

/// Relative position of the lead's score within the band, 0 to 1: a better score gets a better rate.
fn standing(facts: &Facts, band: &TermsBand) -> f64 {
    let Some(score) = facts.credit_score() else { return 0.0 };
    let spans = SCORE_SPANS.iter().filter(|(rating, _, _)| band.ratings >> rating.ordinal() & 1 == 1);
    let (low, high) = spans.fold((850, 300), |(low, high), (_, from, to)| (low.min(*from), high.max(*to)));
    let place = (f64::from(score) - f64::from(low)) / f64::from(high - low);
    if low >= high { 0.0 } else { place.clamp(0.0, 1.0) }
}

/// The score range of each rating (FICO ends at 850).
const SCORE_SPANS: [(offerd_model::ProvidedCreditRating, i32, i32); 4] = {
    use offerd_model::ProvidedCreditRating::{Excellent, Fair, Good, Poor};
    [(Excellent, 720, 850), (Good, 660, 719), (Fair, 620, 659), (Poor, 300, 619)]
};

/// Interpolates the figure: the highest at standing 0, the lowest at 1.
fn at_standing((low, high): (f64, f64), standing: f64) -> f64 {
    high - (high - low) * standing
}

/// Rounds to cents, or to hundredths of a percent.
fn hundredths(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

/// Rounds to thousandths of a percent, the precision in which rates are quoted.
fn thousandths(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}
