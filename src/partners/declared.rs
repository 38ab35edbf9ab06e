//! The shape of `partners/<key>.toml`, as an operator writes it.
//!
//! One file a partner; the file's name is the partner's key. `[partner]` is who it is, `[products.<type>]` what it
//! offers for one product type: when it is asked, and its catalog of offers. Attribute paths are the API's own.
//! [`super::check`] turns these shapes into [`super::Seat`]s, or into every fault at once.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::de::value::StrDeserializer;
use serde::de::{IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::limits::declared::{Exclusive, Limits, exclusive};
use super::template::{Imprint, OFFER_MS};
use offerd_base::declaration::{HumanDuration, Refusal, count, figure, if_any};
use offerd_base::table;
use offerd_model::{
    AprType, CompoundingMethod, FederalInsuranceType, IncentiveType, IncentiveUnit, MortgageLoanType,
    PartnerEventType, ProductSubType, ProductType, ProvidedCreditRating, TermUnit, Timestamp,
};

table! {
    /// A whole partner file.
    #[derive(Debug)]
    pub struct DeclaredPartner {
        /// Who the partner is.
        partner: Identity,
        /// What it offers, by product type.
        products: BTreeMap<ProductType, Product>,
    }

    /// `[partner]`: all of the specification's Partner, and what its Originator adds.
    #[derive(Debug)]
    pub struct Identity {
        /// Stable id of the partner.
        uuid: uuid::Uuid,
        /// Name as shown to people.
        name: String,
        /// One sentence on who it is.
        description: String,
        /// Template that must be shown with its offers.
        disclaimer: String,
        /// Where its logo is: an absolute URL, or `{baseUrl}/…` for one on the address of the daemon itself.
        image_url: String,
        /// Whether it takes part in pre-selection.
        supports_pre_select: bool => optional,
        /// Whether a client should show that an offer is pre-selected.
        should_display_pre_select: bool => optional,
        /// Whether it can answer with pre-qualified or pre-approved offers.
        supports_personalized_offers: bool => optional,
        /// Replaces the text below its name.
        subtext_override: Option<String>,
        /// Where its head office is.
        headquarters: Option<String>,
        /// What it manages, in words.
        assets: Option<String>,
        /// The name that it does business under, where that is another.
        brand_name: Option<String>,
        /// What that brand is known by.
        brand_uuid: Option<uuid::Uuid>,
        /// `demandSubAccountId` of the lead actions it causes.
        sub_account_id: i64 = count(0, i64::MAX),
        /// Company behind it, shown in its Originator.
        company_uuid: Option<uuid::Uuid>,
        /// Institution behind it, shown in its Originator and in lead events; the partner's own uuid when absent.
        financial_institution_uuid: Option<uuid::Uuid>,
        /// Logos by size key; one of size `default` from `image_url` when absent.
        images: BTreeMap<String, String> => optional,
        /// Whether it stands among the featured institutions.
        featured: bool => optional,
        /// Suppression lists (`offerd suppressions`) by name: it is not asked about who is on one of them, and not at all while one of
        /// them is missing.
        suppress: Vec<String> => optional,
    }

    /// `[products.<type>]`: when the partner is asked about a product type, and with what it answers.
    #[derive(Debug)]
    pub struct Product {
        /// Longest wait for its answer.
        timeout: Duration = wait,
        /// Shortens the wait to where only so many answers are lost, judged by the last ones; never beyond `timeout`.
        adaptive_timeout: Option<AdaptiveTimeout>,
        /// Attributes that must be given; without one of them the partner is not asked.
        needs: Vec<String> => optional,
        /// Conditions on the lead; when one fails the partner is not asked.
        eligibility: Eligibility => optional,
        /// Asked only when no first-look partner had a loan offer (`products.other` only).
        second_look: bool => optional,
        /// Taken out of the panel for now.
        paused: bool => optional,
        /// When and how often it is asked.
        limits: Limits => optional,
        /// Takes the leads that it is asked about alone: `true`, or the name of a group. [`Exclusive`] says among whom.
        exclusive: Option<Exclusive> = exclusive => optional,
        /// Who has a place where fewer may be asked than fit: the higher first, from -1000 to 1000; 0 when absent.
        priority: i32 = count(-1000, 1000) => or(0),
        /// Among those of the same priority, how much likelier than one of weight 1 it is to have a place. Drawn by lead, so that the same
        /// lead has the same partners. Where none of them has a weight, the first by key have one.
        weight: Option<f64> = if_any(weight) => optional,
        /// Answers as if over a network.
        simulate: Option<Simulate>,
        /// Asks the partner over HTTP, which then answers the figures of its catalog's offers.
        http: Option<super::http::declared::Http>,
        /// The catalog.
        offers: Vec<Offer> => optional,
    }

    /// `adaptive_timeout`: how the wait follows the pace of answers.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct AdaptiveTimeout {
        /// Share of answers that may come too late, above 0 and at most 0.5: 0.005 is one in two hundred.
        false_timeouts: f64 = figure(0.000_1, 0.5),
        /// Shortest wait.
        floor: Duration = wait,
        /// Longest wait; `timeout` when absent.
        ceiling: Option<Duration> = if_any(wait) => optional,
    }

    /// `simulate`: how a catalog partner pretends to be far away (sandbox and tests).
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Simulate {
        /// Shortest answer time.
        delay: Duration = wait,
        /// Longest answer time; `delay` when absent. Drawn evenly in between, from the rate table's own id.
        delay_max: Option<Duration> = if_any(wait) => optional,
        /// Share of asks that fail, 0 to 1.
        failure_rate: f64 = figure(0.0, 1.0) => optional,
        /// How a failing ask ends.
        failure: FailureKind => optional,
    }

    /// `[[products.<type>.offers]]`: one offer of the catalog. Which keys it must or may have depends on the product type.
    #[derive(Debug)]
    pub struct Offer {
        /// Name of the offer inside the partner, stable over time.
        key: String,
        /// Kind of product; needed except for `insurance` and `other`, which are `uncategorized` without.
        sub_type: Option<ProductSubType>,
        /// Where a click leads; `{clickId}`, `{leadUuid}` and, where it begins, `{baseUrl}` are filled in.
        landing_url: String,
        /// What the supply partner earns.
        payout: Payout,
        /// Share of shown offers that earn it, 0 to 1.
        conversion_probability: f64,
        /// Conditions beside those of the product.
        eligibility: Eligibility => optional,
        /// Template that must be shown with this offer.
        disclaimer: Option<String>,
        /// Template that must be shown with offers of this sub-type.
        sub_type_disclaimer: Option<String>,
        /// How firm the offer is for a lead that meets all needs.
        firmness: Firmness => optional,
        /// How long it stands once it is made, where that is not as long as others do: at most 31 days.
        valid_for: Option<i64> = if_any(validity) => optional,
        /// Editorial rating out of 100 (savings and mortgage).
        consumer_rating: Option<f64> = if_any(figure(0.0, 100.0)) => optional,

        /// Display name (savings, special offers).
        name: Option<String>,
        /// Display text (savings, special offers).
        description: Option<String>,

        /// Dollars that can be borrowed (loan, mortgage).
        amount: Option<Range>,
        /// Terms by rating, amount, term, loan to value or deposit.
        bands: Vec<Band> => optional,

        /// Terms on offer in `term_unit`; each makes an offer of its own (loan).
        terms: Vec<i32> => optional,
        /// Unit of `terms`: `month` (default), `year`, `day`, or `open` for a line of credit (loan).
        term_unit: Option<TermUnit>,
        /// How the APR behaves (loan).
        apr_type: Option<AprType>,
        /// Whether it may be paid back early (loan).
        allow_prepayment: Option<bool>,
        /// Dollars for paying back early (loan).
        prepayment_fee: Option<f64>,
        /// Whether the partner paid for placement (loan).
        sponsored: bool => optional,
        /// Legal terms as text (loan).
        terms_text: Option<String>,
        /// Template on the APR (loan).
        apr_description: Option<String>,
        /// Template on the term (loan).
        term_description: Option<String>,
        /// Template on the payment (loan).
        monthly_payment_description: Option<String>,
        /// What stands before the amount where it is shown (loan).
        amount_prefix: Option<String>,

        /// Kind of mortgage (mortgage).
        loan_type: Option<MortgageLoanType>,
        /// Closing costs in dollars, whatever the amount (mortgage).
        closing_costs: Option<f64> = if_any(figure(0.0, 1_000_000.0)) => optional,
        /// Loan that is priced when the lead names no amount, dollars (mortgage).
        reference_amount: Option<i32>,

        /// How interest is compounded (savings).
        compounding: Option<CompoundingMethod>,
        /// Least opening deposit in dollars (savings).
        minimum_deposit: Option<f64> = if_any(figure(0.0, 1e9)) => optional,
        /// Dollars a month (savings).
        monthly_fee: Option<f64> = if_any(figure(0.0, 1e6)) => optional,
        /// Least balance in dollars at which fees are waived (savings).
        minimum_deposit_with_fees: Option<f64>,
        /// When the terms were last checked, RFC 3339 (savings).
        effective_as_of: Option<Timestamp> = if_any(instant) => optional,
        /// Months of the introductory rate (savings).
        introductory_period_months: Option<i32>,
        /// Introductory rate in percent (savings).
        introductory_rate: Option<f64> = if_any(figure(0.0, 100.0)) => optional,
        /// Whether cheques can be written (savings).
        check_writing: Option<bool>,
        /// Features as text (savings).
        details: Option<String>,
        /// Who insures the deposit: `fdic` or `ncua` (savings).
        federal_insurance_type: Option<FederalInsuranceType>,
        /// What is given for opening the account (savings).
        incentive_details: Option<Vec<Incentive>>,
        /// Term of a certificate of deposit, in `cd_term_unit` (savings).
        cd_term_length: Option<i32>,
        /// Unit of that term (savings).
        cd_term_unit: Option<TermUnit>,
        /// Images that count for the partner that the offer was seen (savings).
        impression_tracking_pixel_urls: Option<Vec<String>>,

        /// The API's LifeInsuranceOfferDetails, in its own words (life_insurance).
        policy: Option<toml::Table>,

        /// The specification's CreditCardOfferDetails, in its own words (credit_card).
        card: Option<toml::Table>,
        /// Credit score from which the card is shown as pre-selected (credit_card).
        pre_select_from_score: Option<i32>,
    }

    /// `answer.own`: what holds of all offers that are a partner's own, with no offer of the catalog behind them. What else they say is
    /// answered.
    #[derive(Debug)]
    pub struct Own {
        /// Name of them all inside the partner, beside the keys of its catalog; `own` when absent.
        key: String => or("own".to_owned()),
        /// Kind of product, unless answers say it.
        sub_type: Option<ProductSubType>,
        /// Where a click leads, unless answers say it, as of an offer of the catalog.
        landing_url: Option<String>,
        /// What the supply partner earns; an answered `payout` takes the place of its amount.
        payout: Payout,
        /// Share of shown offers that earn it, 0 to 1.
        conversion_probability: f64,
        /// Text that must be shown with them.
        disclaimer: Option<String>,
        /// Text that must be shown with offers of their sub-type.
        sub_type_disclaimer: Option<String>,
        /// How long they stand once they are made, where that is not as long as others do: at most 31 days.
        valid_for: Option<i64> = if_any(validity) => optional,
    }

    /// One row of terms. A lead falls into the first band it fits.
    #[derive(Debug)]
    pub struct Band {
        /// Credit ratings that it is for; all when absent.
        ratings: Option<Vec<ProvidedCreditRating>>,
        /// Amounts in dollars that it is for: loan or mortgage amount, or deposit.
        amount: Option<Range>,
        /// Terms that it is for; all of the offer's when absent.
        terms: Option<Vec<i32>>,
        /// Loan to value in percent that it is for (mortgage).
        loan_to_value: Option<Range>,
        /// Yearly interest rate in percent: one figure, or lowest and highest.
        rate: Figures,
        /// Origination fee in percent of the amount: one figure, or lowest and highest.
        fee_rate: Option<Figures>,
        /// Origination fee in dollars.
        fee_fixed: Option<f64>,
        /// Points paid (above 0) or lender credit (below 0), percent of the amount (mortgage).
        price_adjustment: Option<f64>,
    }

    /// Bounds, both included.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    pub struct Range {
        /// Least value.
        min: Option<f64>,
        /// Greatest value.
        max: Option<f64>,
    }
}

/// How a simulated failure looks from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The partner answers with an error.
    #[default]
    Error,
    /// The partner's code panics.
    Panic,
    /// The partner never answers.
    Silence,
}

/// A time that somebody may really wait for.
pub(super) fn wait(HumanDuration(time): HumanDuration) -> Result<Duration, Refusal> {
    const LONGEST: Duration = Duration::from_secs(3600);
    let is_some = !time.is_zero() && time <= LONGEST;
    is_some
        .then_some(time)
        .ok_or_else(|| vec![format!("must be more than 0s and at most {LONGEST:?}, got {time:?}")])
}

/// How long an offer stands, milliseconds.
fn validity(HumanDuration(time): HumanDuration) -> Result<i64, Refusal> {
    let ms = i64::try_from(time.as_millis()).ok().filter(|ms| *ms <= OFFER_MS && !time.is_zero());
    ms.ok_or_else(|| vec![format!("must be more than 0s and at most 31 days, got {time:?}")])
}

fn instant(text: String) -> Result<Timestamp, Refusal> {
    let wanted = "must be an instant such as `2026-11-01T00:00:00Z`";
    Timestamp::parse(&text).ok_or_else(|| vec![format!("{wanted}, got `{text}`")])
}

fn weight(weight: f64) -> Result<f64, Refusal> {
    const MOST: f64 = 1e6;
    let is_within = weight > 0.0 && weight <= MOST;
    is_within
        .then_some(weight)
        .ok_or_else(|| vec![format!("must be above 0 and at most {MOST}, got {weight}")])
}

/// `incentive_details`: something that is given for opening an account.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incentive {
    /// How much, in `unit`.
    pub amount: f64,
    /// What it is counted in: `usd` or `other`.
    pub unit: IncentiveUnit,
    /// The same in words.
    pub display: String,
    /// What is given: `cash_back` or `other`.
    pub r#type: IncentiveType,
}

/// `payout`: what is earned, and when.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payout {
    /// The step that earns it.
    pub on: PayoutStep,
    /// Dollars.
    pub fixed: Option<f64>,
    /// Percent of the loan amount (or of `reference_amount`).
    pub percent: Option<f64>,
}

impl Payout {
    /// Dollars, to the cent, for a loan of so many dollars; without an amount a percentage is of nothing.
    pub fn dollars(&self, amount: Option<f64>) -> f64 {
        let share = self.percent.map(|percent| percent / 100.0 * amount.unwrap_or(0.0));
        let dollars = self.fixed.unwrap_or(0.0) + share.unwrap_or(0.0);
        (dollars * 100.0).round() / 100.0
    }
}

/// The step of the funnel that earns a payout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PayoutStep {
    /// The offer was opened.
    Click,
    /// The partner reported an application.
    Applied,
    /// The partner reported an approval.
    Approved,
    /// The partner reported that it showed its products.
    Listed,
    /// The partner reported that a special offer was monetised.
    Opened,
    /// The partner reported money paid out or an account opened.
    Funded,
    /// The partner reported a conversion.
    Conversion,
}

impl PayoutStep {
    /// The step that a partner has reported; what came to nothing earns nothing.
    pub fn reported(event: PartnerEventType) -> Option<Self> {
        let name: StrDeserializer<'_, serde::de::value::Error> = event.as_str().into_deserializer();
        Self::deserialize(name).ok()
    }
}

/// How firm an offer is (facts, Firmness).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Firmness {
    /// Ranges, no personal terms.
    #[default]
    Static,
    /// 80 % likely to be approved.
    PreQualified,
    /// 95 % likely to be approved.
    PreApproved,
}

/// One figure, or lowest and highest.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged, expecting = "must be a number, or a list of the lowest and the highest")]
pub enum Figures {
    /// One figure.
    One(f64),
    /// Lowest and highest.
    Span([f64; 2]),
}

impl Offer {
    /// What stays with the offer's template.
    pub fn imprint(&self, term: Option<i32>) -> Imprint {
        Imprint {
            name: self.name_with(term),
            landing_url: self.landing_url.clone(),
            payout: self.payout,
            valid_for_ms: self.valid_for,
        }
    }

    /// Its key, or `key/term` where it lists terms.
    pub fn name_with(&self, term: Option<i32>) -> String {
        match term {
            Some(term) if self.terms.len() > 1 => format!("{}/{term}", self.key),
            _ => self.key.clone(),
        }
    }
}

impl Figures {
    /// Lowest and highest.
    pub fn span(self) -> (f64, f64) {
        match self {
            Self::One(figure) => (figure, figure),
            Self::Span([low, high]) => (low, high),
        }
    }
}

/// `eligibility`: conditions keyed by attribute path, all of which must hold, and `any`: alternatives of which one must.
#[derive(Debug, Default)]
pub struct Eligibility {
    /// Conditions by attribute path.
    pub all: BTreeMap<String, Condition>,
    /// Alternatives.
    pub any: Vec<Eligibility>,
}

/// One condition on one attribute.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table such as `{ in = [\"CA\"] }` or `{ min = 2000 }`")]
pub struct Condition {
    /// The value is one of these.
    pub r#in: Option<Vec<String>>,
    /// The value is none of these.
    pub not_in: Option<Vec<String>>,
    /// The array, or the client tag, has one of these.
    pub any_of: Option<Vec<String>>,
    /// The array, or the client tag, has none of these.
    pub none_of: Option<Vec<String>>,
    /// The zipcode begins with one of these, each of one to five digits.
    pub prefix_in: Option<Vec<String>>,
    /// The zipcode begins with none of these.
    pub prefix_not_in: Option<Vec<String>>,
    /// The flag is this.
    pub is: Option<bool>,
    /// Least number or date.
    pub min: Option<toml::Value>,
    /// Greatest number or date.
    pub max: Option<toml::Value>,
    /// The attribute is given.
    pub present: bool,
    /// The condition also holds when the attribute is not given.
    pub or_missing: bool,
}

impl<'de> Deserialize<'de> for Eligibility {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Conditions;

        impl<'de> Visitor<'de> for Conditions {
            type Value = Eligibility;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a table of conditions keyed by attribute path")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Eligibility, A::Error> {
                let mut eligibility = Eligibility::default();
                while let Some(path) = map.next_key::<String>()? {
                    if path == "any" {
                        eligibility.any = map.next_value()?;
                    } else {
                        eligibility.all.insert(path, map.next_value()?);
                    }
                }
                Ok(eligibility)
            }
        }

        deserializer.deserialize_map(Conditions)
    }
}
