//! The shape of `partners/<key>.toml`, as an operator writes it.
//!
//! One file per partner, named by the partner's key. `[partner]` is its identity; `[products.<type>]` says
//! when it is asked about one product type and which offers its catalog has. Attribute paths are those of the
//! API. [`super::check`] turns these shapes into [`super::Seat`]s, or reports every fault at once.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::de::value::StrDeserializer;
use serde::de::{IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::limits::declared::{Exclusive, Limits, exclusive};
use super::template::{ClickTerms, OFFER_MS};
use offerd_base::declaration::{HumanDuration, ValueFaults, count, figure, if_any};
use offerd_base::table;
use offerd_model::{
    AprType, CompoundingMethod, FederalInsuranceType, IncentiveType, IncentiveUnit, MortgageLoanType,
    PartnerEventType, ProductSubType, ProductType, ProvidedCreditRating, TermUnit, Timestamp,
};

table! {
    /// A whole partner file.
    #[derive(Debug)]
    pub struct DeclaredPartner {
        /// The partner's identity.
        partner: Identity,
        /// Its products, by product type.
        products: BTreeMap<ProductType, Product>,
    }

    /// `[partner]`: the specification's Partner, plus the extra fields of its Originator.
    #[derive(Debug)]
    pub struct Identity {
        /// Stable id of the partner.
        uuid: uuid::Uuid,
        /// Display name.
        name: String,
        /// One sentence about the partner.
        description: String,
        /// Disclaimer to show with its offers.
        disclaimer: String,
        /// URL of its logo: absolute, or `{baseUrl}/…` for one that the daemon serves.
        image_url: String,
        /// Whether it takes part in pre-selection.
        supports_pre_select: bool => optional,
        /// Whether a client should show that an offer is pre-selected.
        should_display_pre_select: bool => optional,
        /// Whether it can answer with pre-qualified or pre-approved offers.
        supports_personalized_offers: bool => optional,
        /// Replaces the text below its name.
        subtext_override: Option<String>,
        /// Location of its head office.
        headquarters: Option<String>,
        /// Assets under management, as text.
        assets: Option<String>,
        /// Brand that it does business under, if different from `name`.
        brand_name: Option<String>,
        /// Id of that brand.
        brand_uuid: Option<uuid::Uuid>,
        /// `demandSubAccountId` of the lead actions it causes.
        sub_account_id: i64 = count(0, i64::MAX),
        /// Id of the company behind it, shown in its Originator.
        company_uuid: Option<uuid::Uuid>,
        /// Id of the institution behind it, shown in its Originator and in lead events; the partner's own
        /// uuid when absent.
        financial_institution_uuid: Option<uuid::Uuid>,
        /// Logo URLs by size key; `image_url` is the `default` size when absent.
        images: BTreeMap<String, String> => optional,
        /// Whether it is listed among the featured institutions.
        featured: bool => optional,
        /// Names of suppression lists (`offerd suppressions`). The partner is not asked about people on any
        /// of them, and not asked at all while one is missing.
        suppress: Vec<String> => optional,
        /// Consents that the person must have given: `fcra`, `tcpa`, `sms`. The partner is not asked about a
        /// lead whose `legalInformation` lacks or denies one.
        consents: Vec<RequiredConsent> => optional,
    }

    /// `[products.<type>]`: when the partner is asked about a product type, and with which offers it answers.
    #[derive(Debug)]
    pub struct Product {
        /// Longest wait for its answer.
        timeout: Duration = wait,
        /// Shortens the wait so that only a given share of answers comes too late, judged by recent answers;
        /// never beyond `timeout`.
        adaptive_timeout: Option<AdaptiveTimeout>,
        /// Attributes that the lead must have; the partner is not asked without all of them.
        needs: Vec<String> => optional,
        /// Conditions on the lead; the partner is not asked when one fails.
        eligibility: Eligibility => optional,
        /// Asked only when no first-look partner had a loan offer (`products.other` only).
        second_look: bool => optional,
        /// Whether the partner is not asked for now.
        paused: bool => optional,
        /// When and how often it is asked.
        limits: Limits => optional,
        /// Takes matching leads exclusively: `true` among all partners of its product type, or the name of a
        /// group among those of that group. Of several exclusive ones the first by key takes the lead.
        exclusive: Option<Exclusive> = exclusive => optional,
        /// Priority when more partners fit than may be asked: higher goes first, from -1000 to 1000; default 0.
        priority: i32 = count(-1000, 1000) => or(0),
        /// Relative chance of being asked among partners of equal priority, compared with a weight of 1. The
        /// draw is seeded by the lead, so the same lead gets the same partners. Where none has a weight,
        /// the first ones by key are asked.
        weight: Option<f64> = if_any(weight) => optional,
        /// Answers with the delay and failures of a network.
        simulate: Option<Simulate>,
        /// Asks the partner over HTTP; its answers then supply the figures of the catalog's offers.
        http: Option<super::http::declared::Http>,
        /// The catalog.
        offers: Vec<Offer> => optional,
    }

    /// `adaptive_timeout`: how the wait follows the partner's response times.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct AdaptiveTimeout {
        /// Share of answers that may come too late, from 0.0001 to 0.5: 0.005 is one in two hundred.
        false_timeouts: f64 = figure(0.000_1, 0.5),
        /// Lower bound of the wait.
        floor: Duration = wait,
        /// Upper bound of the wait; `timeout` when absent.
        ceiling: Option<Duration> = if_any(wait) => optional,
    }

    /// `simulate`: how a catalog partner imitates a remote one (sandbox and tests).
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Simulate {
        /// Shortest response time.
        delay: Duration = wait,
        /// Longest response time; `delay` when absent. Drawn uniformly, seeded by the rate table's id.
        delay_max: Option<Duration> = if_any(wait) => optional,
        /// Share of requests that fail, 0 to 1.
        failure_rate: f64 = figure(0.0, 1.0) => optional,
        /// How a failing request ends: `error` (default), `panic` or `silence`.
        failure: FailureKind => optional,
    }

    /// `[[products.<type>.offers]]`: one offer of the catalog. The product type decides which keys are
    /// required or allowed.
    #[derive(Debug)]
    pub struct Offer {
        /// Key of the offer within the partner, stable over time.
        key: String,
        /// Product sub-type; required except for `insurance` and `other`, which default to `uncategorized`.
        sub_type: Option<ProductSubType> = if_any(sub_type) => optional,
        /// URL that a click leads to; `{clickId}`, `{leadUuid}` and a leading `{baseUrl}` are filled in.
        landing_url: String,
        /// What the company that sent the lead earns.
        payout: DeclaredPayout,
        /// Share of shown offers that earn the payout, 0 to 1.
        conversion_probability: f64,
        /// Conditions in addition to those of the product.
        eligibility: Eligibility => optional,
        /// Disclaimer to show with this offer.
        disclaimer: Option<String>,
        /// Disclaimer to show with offers of this sub-type.
        sub_type_disclaimer: Option<String>,
        /// How firm the offer is for a lead that meets all needs: `static` (default), `pre_qualified` or `pre_approved`.
        firmness: Firmness => optional,
        /// How long the offer is valid once made, if different from the default: at most 31 days.
        valid_for: Option<i64> = if_any(validity) => optional,
        /// Editorial rating out of 100 (savings and mortgage).
        consumer_rating: Option<f64> = if_any(figure(0.0, 100.0)) => optional,

        /// Display name (savings, special offers).
        name: Option<String>,
        /// Display text (savings, special offers).
        description: Option<String>,

        /// Amounts that can be borrowed, dollars (loan, mortgage).
        amount: Option<Range>,
        /// Terms by rating, amount, term, loan to value or deposit.
        bands: Vec<Band> => optional,

        /// Available terms in `term_unit`; each makes a separate offer (loan).
        terms: Vec<i32> => optional,
        /// Unit of `terms`: `month` (default), `year`, `day`, or `open` for a line of credit (loan).
        term_unit: Option<TermUnit>,
        /// How the APR behaves: `fixed`, `variable` or `regular` (loan).
        apr_type: Option<AprType>,
        /// Whether early repayment is allowed (loan).
        allow_prepayment: Option<bool>,
        /// Fee for early repayment, dollars (loan).
        prepayment_fee: Option<f64>,
        /// Whether the partner paid for placement (loan).
        sponsored: bool => optional,
        /// Legal terms as text (loan).
        terms_text: Option<String>,
        /// Text about the APR (loan).
        apr_description: Option<String>,
        /// Text about the term (loan).
        term_description: Option<String>,
        /// Text about the monthly payment (loan).
        monthly_payment_description: Option<String>,
        /// Text shown before the amount (loan).
        amount_prefix: Option<String>,

        /// Kind of mortgage, such as `thirty_year_fixed` (mortgage).
        loan_type: Option<MortgageLoanType>,
        /// Closing costs in dollars, independent of the amount (mortgage).
        closing_costs: Option<f64> = if_any(figure(0.0, 1_000_000.0)) => optional,
        /// Loan amount that is priced when the lead names none, dollars (mortgage).
        reference_amount: Option<i32>,

        /// How interest is compounded: `annually`, `continuous`, `daily`, `monthly`, `quarterly`, `semiAnnually`,
        /// `simple` or `weekly` (savings).
        compounding: Option<CompoundingMethod>,
        /// Minimum opening deposit in dollars (savings).
        minimum_deposit: Option<f64> = if_any(figure(0.0, 1e9)) => optional,
        /// Monthly fee in dollars (savings).
        monthly_fee: Option<f64> = if_any(figure(0.0, 1e6)) => optional,
        /// Minimum balance in dollars that waives the fees (savings).
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
        /// Incentives for opening the account (savings).
        incentive_details: Option<Vec<Incentive>>,
        /// Term of a certificate of deposit, in `cd_term_unit` (savings).
        cd_term_length: Option<i32>,
        /// Unit of that term: `day`, `month` or `year` (savings).
        cd_term_unit: Option<TermUnit>,
        /// Pixel URLs with which the partner counts impressions of the offer (savings).
        impression_tracking_pixel_urls: Option<Vec<String>>,

        /// LifeInsuranceOfferDetails in the API's own attribute names (life_insurance).
        policy: Option<toml::Table>,

        /// CreditCardOfferDetails in the specification's own attribute names (credit_card).
        card: Option<toml::Table>,
        /// Minimum credit score at which the card is shown as pre-selected (credit_card).
        pre_select_from_score: Option<i32>,
    }

    /// `answer.own`: the properties of offers that exist only in a partner's answers, not in its catalog.
    /// Everything else about them comes from the answer.
    #[derive(Debug)]
    pub struct Own {
        /// Key that these offers share within the partner, distinct from the catalog's; `own` when absent.
        key: String => or("own".to_owned()),
        /// Product sub-type, unless the answer has one.
        sub_type: Option<ProductSubType> = if_any(sub_type) => optional,
        /// URL that a click leads to, unless the answer has one; `{clickId}` and the like as in a catalog offer.
        landing_url: Option<String>,
        /// What the company that sent the lead earns; an answered `payout` replaces its amount.
        payout: DeclaredPayout,
        /// Share of shown offers that earn the payout, 0 to 1.
        conversion_probability: f64,
        /// Disclaimer that must be shown with them.
        disclaimer: Option<String>,
        /// Disclaimer that must be shown with offers of their sub-type.
        sub_type_disclaimer: Option<String>,
        /// How long the offers are valid once made, if different from the default: at most 31 days.
        valid_for: Option<i64> = if_any(validity) => optional,
    }

    /// One row of terms. The first band that fits the lead applies.
    #[derive(Debug)]
    pub struct Band {
        /// Credit ratings that it applies to, such as `["excellent", "good"]`; all when absent.
        ratings: Option<Vec<ProvidedCreditRating>>,
        /// Amounts in dollars that it applies to: loan amount, mortgage amount or deposit.
        amount: Option<Range>,
        /// Terms that it applies to; all terms of the offer when absent.
        terms: Option<Vec<i32>>,
        /// Loan to value in percent that it applies to (mortgage).
        loan_to_value: Option<Range>,
        /// Yearly interest rate in percent: one figure, or lowest and highest.
        rate: FigureRange,
        /// Whether a rate above 0 and below 1 percent is meant, not a fraction mistaken for a percentage
        /// (loan, mortgage).
        low_apr: bool => optional,
        /// Origination fee in percent of the amount: one figure, or lowest and highest.
        fee_rate: Option<FigureRange>,
        /// Origination fee in dollars.
        fee_fixed: Option<f64>,
        /// Points paid (above 0) or lender credit (below 0), percent of the amount (mortgage).
        price_adjustment: Option<f64>,
    }

    /// An inclusive range.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    pub struct Range {
        /// Lower bound.
        min: Option<f64>,
        /// Upper bound.
        max: Option<f64>,
    }
}

/// A consent that a partner requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequiredConsent {
    /// To a credit report.
    Fcra,
    /// To calls.
    Tcpa,
    /// To text messages.
    Sms,
}

impl RequiredConsent {
    /// The attribute that states the consent.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Fcra => "legalInformation.consentsToFcra",
            Self::Tcpa => "legalInformation.consentsToTcpa",
            Self::Sms => "legalInformation.consentsToSms",
        }
    }
}

/// How a simulated failure appears to the engine.
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

/// A wait of more than 0 s and at most one hour.
pub(super) fn wait(HumanDuration(time): HumanDuration) -> Result<Duration, ValueFaults> {
    const LONGEST: Duration = Duration::from_secs(3600);
    let fault = || vec![format!("must be more than 0s and at most {LONGEST:?}, got {time:?}")];
    (!time.is_zero() && time <= LONGEST).then_some(time).ok_or_else(fault)
}

/// A sub-type that a file may name. `unknown` only stands for values of other versions.
fn sub_type(text: String) -> Result<ProductSubType, ValueFaults> {
    let named = ProductSubType::ALL.iter().copied().filter(|one| *one != ProductSubType::Unknown);
    named.clone().find(|one| one.as_str() == text).ok_or_else(|| {
        let named: Vec<String> = named.map(|one| format!("`{one}`")).collect();
        vec![format!("must be one of {}", named.join(", "))]
    })
}

/// An offer's validity in milliseconds.
fn validity(HumanDuration(time): HumanDuration) -> Result<i64, ValueFaults> {
    let ms = i64::try_from(time.as_millis()).ok().filter(|ms| *ms <= OFFER_MS && !time.is_zero());
    ms.ok_or_else(|| vec![format!("must be more than 0s and at most 31 days, got {time:?}")])
}

fn instant(text: String) -> Result<Timestamp, ValueFaults> {
    let wanted = "must be an instant such as `2026-11-01T00:00:00Z`";
    Timestamp::parse(&text).ok_or_else(|| vec![format!("{wanted}, got `{text}`")])
}

fn weight(weight: f64) -> Result<f64, ValueFaults> {
    const MOST: f64 = 1e6;
    let fault = || vec![format!("must be above 0 and at most {MOST}, got {weight}")];
    (weight > 0.0 && weight <= MOST).then_some(weight).ok_or_else(fault)
}

/// `incentive_details`: an incentive for opening an account.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incentive {
    /// Amount in `unit`.
    pub amount: f64,
    /// Unit of the amount: `usd` or `other`.
    pub unit: IncentiveUnit,
    /// The incentive as display text.
    pub display: String,
    /// Kind of incentive: `cash_back` or `other`.
    pub r#type: IncentiveType,
}

/// `payout`: the amount earned and the step that earns it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredPayout {
    /// The step that earns it: `click`, `applied`, `approved`, `listed`, `opened`, `funded` or `conversion`.
    pub on: PayoutStep,
    /// Fixed amount in dollars; `fixed` and `percent` are added.
    pub fixed: Option<f64>,
    /// Percent of the loan amount (or of `reference_amount`).
    pub percent: Option<f64>,
}

impl DeclaredPayout {
    /// The payout in dollars, rounded to the cent, for a loan of `amount`; a percentage of no amount is 0.
    pub fn dollars(&self, amount: Option<f64>) -> f64 {
        let share = self.percent.map(|percent| percent / 100.0 * amount.unwrap_or(0.0));
        let dollars = self.fixed.unwrap_or(0.0) + share.unwrap_or(0.0);
        (dollars * 100.0).round() / 100.0
    }
}

/// The funnel step that earns a payout.
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
    /// The partner reported that a special offer earned its payout.
    Opened,
    /// The partner reported money paid out or an account opened.
    Funded,
    /// The partner reported a conversion.
    Conversion,
}

impl PayoutStep {
    /// The payout step for an event that a partner reported; `None` for events that earn nothing.
    pub fn reported(event: PartnerEventType) -> Option<Self> {
        let name: StrDeserializer<'_, serde::de::value::Error> = event.as_str().into_deserializer();
        Self::deserialize(name).ok()
    }
}

/// How firm an offer is.
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

/// One figure, or the lowest and the highest.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged, expecting = "must be a number, or a list of the lowest and the highest")]
pub enum FigureRange {
    /// A single figure.
    One(f64),
    /// The lowest and the highest figure.
    Span([f64; 2]),
}

impl Offer {
    /// The properties of the offer that its template stores.
    pub fn click_terms(&self, term: Option<i32>) -> ClickTerms {
        let term = term.filter(|_| self.terms.len() > 1);
        let name = term.map_or_else(|| self.key.clone(), |term| format!("{}/{term}", self.key));
        let landing_url = self.landing_url.clone();
        ClickTerms { name, landing_url, payout: self.payout, valid_for_ms: self.valid_for }
    }
}

impl FigureRange {
    /// Lowest and highest.
    pub fn span(self) -> (f64, f64) {
        match self {
            Self::One(figure) => (figure, figure),
            Self::Span([low, high]) => (low, high),
        }
    }
}

/// `eligibility`: required conditions by attribute path, and `any`: alternatives, one of which must hold.
#[derive(Debug, Default)]
pub struct Eligibility {
    /// Conditions by attribute path.
    pub all: BTreeMap<String, DeclaredCondition>,
    /// Alternatives.
    pub any: Option<Vec<Eligibility>>,
}

/// One condition on one attribute.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table such as `{ in = [\"CA\"] }` or `{ min = 2000 }`")]
pub struct DeclaredCondition {
    /// The value is one of these.
    pub r#in: Option<Vec<String>>,
    /// The value is none of these.
    pub not_in: Option<Vec<String>>,
    /// The array or client tag contains one of these.
    pub any_of: Option<Vec<String>>,
    /// The array or client tag contains none of these.
    pub none_of: Option<Vec<String>>,
    /// The zipcode begins with one of these, each of one to five digits.
    pub prefix_in: Option<Vec<String>>,
    /// The zipcode begins with none of these.
    pub prefix_not_in: Option<Vec<String>>,
    /// The flag has this value.
    pub is: Option<bool>,
    /// Minimum of a number or date.
    pub min: Option<toml::Value>,
    /// Maximum of a number or date.
    pub max: Option<toml::Value>,
    /// The attribute must be given.
    pub present: bool,
    /// Also met when the attribute is not given.
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
                        eligibility.any = Some(map.next_value()?);
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
