//! Templates: the JSON of an offer that does not depend on the lead, prepared once when the book is loaded.
//!
//! A template is the beginning of a JSON object, cut off where what depends on the lead goes on (its [`Ending`]). It is
//! known by its [`Fingerprint`], under which it is also stored, so that a rate table reads the same after the partner's
//! file has changed. [`write_offer`] joins template and quote to the offer that a client sees.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::declared;
use super::fingerprint::Fingerprint;
use super::identity::Identity;
use super::quote::{LoanTerms, MortgageTerms, Quote, Terms};
use crate::model::{
    Money, MortgageOfferDetails, Partner, Percent, ProductSubType, ProductType, plain_number,
};

/// A template: what clients see of it, and what we ourselves must know as long as a table shows it.
#[derive(Debug, Clone)]
pub struct Template {
    /// Under which it is stored.
    pub fingerprint: Fingerprint,
    /// The JSON that clients see.
    pub json: Arc<str>,
    /// Beside an offer's: what a click on it does.
    pub imprint: Option<Imprint>,
}

/// What stays with an offer's template, whatever becomes of the partner's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Imprint {
    /// The offer's name in the partner's file: its key, and its term where there are several.
    pub name: String,
    /// Where a click leads; `{clickId}`, `{leadUuid}` and, where it begins, `{baseUrl}` are filled in.
    pub landing_url: String,
    /// What is earned, and when.
    pub payout: declared::Payout,
}

/// Where a template is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Nowhere: it is a whole object.
    Whole,
    /// Before the end of the offer.
    Offer,
    /// Before the end of the offer's `details`, which stand last.
    Details,
}

impl Template {
    /// Prepares `value`, cut off at `ending`.
    pub fn new(ending: Ending, value: &impl Serialize, imprint: Option<Imprint>) -> Self {
        let mut json = serde_json::to_string(value).expect("offer texts have string keys and finite numbers");
        let braces = match ending {
            Ending::Whole => 0,
            Ending::Offer => 1,
            Ending::Details => 2,
        };
        debug_assert!(json.ends_with(&"}}"[..braces]), "the text must end where it is cut off");
        json.truncate(json.len() - braces);
        let mut text = Self { fingerprint: Fingerprint([0; 16]), json: json.into(), imprint };
        text.fingerprint = Fingerprint::of(&text.stored());
        text
    }

    /// As it is stored: a line with the imprint, then the JSON.
    pub fn stored(&self) -> String {
        let imprint =
            serde_json::to_string(&self.imprint).expect("an imprint has string keys and finite numbers");
        format!("{imprint}\n{}", self.json)
    }

    /// Reads what [`stored`](Self::stored) made; `None` when it is something else.
    pub fn read(fingerprint: Fingerprint, stored: &str) -> Option<Self> {
        let (imprint, json) = stored.split_once('\n')?;
        Some(Self { fingerprint, json: json.into(), imprint: serde_json::from_str(imprint).ok()? })
    }
}

/// The common part of card, mortgage and savings offers; `details` stand last so that they can go on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfferText<'a, D> {
    partner: &'a Partner,
    product_type: ProductType,
    product_sub_type: ProductSubType,
    #[serde(skip_serializing_if = "Option::is_none")]
    disclaimer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    product_sub_type_disclaimer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "plain_number::optional")]
    consumer_rating: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<D>,
}

impl<'a, D: Serialize> OfferText<'a, D> {
    /// The common part of a declared offer.
    pub fn new(
        product_type: ProductType,
        product_sub_type: ProductSubType,
        offer: &'a declared::Offer,
        identity: &'a Identity,
        details: Option<D>,
    ) -> Self {
        Self {
            partner: &identity.partner,
            product_type,
            product_sub_type,
            disclaimer: offer.disclaimer.as_deref(),
            product_sub_type_disclaimer: offer.sub_type_disclaimer.as_deref(),
            consumer_rating: offer.consumer_rating,
            details,
        }
    }
}

/// Writes an offer as the client sees it: `text`, which is its template's JSON, then what depends on the lead.
///
/// `uuid` is the offer's own, `url` the address that records a click on it.
pub fn write_offer(out: &mut Vec<u8>, text: &str, quote: &Quote, uuid: Uuid, url: &str) {
    out.extend_from_slice(text.as_bytes());
    let shown = Shown { uuid, url, recommendation_score: quote.score };
    match &quote.terms {
        Terms::Loan(terms) => go_on(out, &LoanEnd::new(terms, shown)),
        Terms::Card(terms) => {
            go_on(
                out,
                &CardEnd {
                    pre_qualified: terms.pre_qualified,
                    pre_approved: terms.pre_approved,
                    pre_selected: terms.pre_selected,
                },
            );
            go_on(out, &shown);
        }
        Terms::Mortgage(terms) => go_on(out, &MortgageEnd { details: details_of(terms), shown }),
        Terms::Savings(terms) => {
            go_on(
                out,
                &SavingsEnd {
                    rate: percent(terms.rate),
                    annual_percent_yield: percent(terms.annual_percent_yield),
                },
            );
            go_on(out, &shown);
        }
        Terms::Special(terms) => go_on(out, &SpecialEnd { shown, payout: money(terms.payout) }),
    }
}

/// Dollars as they are shown. Prices are checked when the book is loaded, so none is too large.
pub fn money(dollars: f64) -> Money {
    Money::from_f64(dollars).unwrap_or_default()
}

/// A percentage as it is shown.
pub fn percent(percent: f64) -> Percent {
    Percent::from_f64(percent).unwrap_or_default()
}

/// Goes on with an object that was cut off, up to its closing brace.
fn go_on(out: &mut Vec<u8>, rest: &impl Serialize) {
    let start = out.len();
    serde_json::to_writer(&mut *out, rest).expect("writing to memory does not fail");
    debug_assert_eq!(out[start], b'{');
    out[start] = b',';
}

/// What every offer has of its own.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    uuid: Uuid,
    url: &'a str,
    #[serde(serialize_with = "plain_number::required")]
    recommendation_score: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoanEnd<'a> {
    uuid: Uuid,
    url: &'a str,
    pre_qualified: bool,
    pre_approved: bool,
    max_amount: i32,
    min_amount: i32,
    max_apr: Percent,
    min_apr: Percent,
    mean_apr: Percent,
    fee_rate: Percent,
    max_fee_rate: Percent,
    min_fee_rate: Percent,
    fee_fixed: Option<Money>,
    max_fee_fixed: Option<Money>,
    min_fee_fixed: Option<Money>,
    monthly_payment: Option<Money>,
    max_monthly_payment: Option<Money>,
    min_monthly_payment: Option<Money>,
    mean_monthly_payment: Option<Money>,
    max_total_payment: Option<Money>,
    min_total_payment: Option<Money>,
    mean_total_payment: Option<Money>,
    #[serde(serialize_with = "plain_number::required")]
    recommendation_score: f64,
    payout: Money,
}

impl<'a> LoanEnd<'a> {
    fn new(terms: &LoanTerms, shown: Shown<'a>) -> Self {
        Self {
            uuid: shown.uuid,
            url: shown.url,
            pre_qualified: terms.pre_qualified,
            pre_approved: terms.pre_approved,
            max_amount: terms.max_amount,
            min_amount: terms.min_amount,
            max_apr: percent(terms.apr.max),
            min_apr: percent(terms.apr.min),
            mean_apr: percent(terms.apr.mean()),
            fee_rate: percent(terms.fee_rate.max),
            max_fee_rate: percent(terms.fee_rate.max),
            min_fee_rate: percent(terms.fee_rate.min),
            fee_fixed: terms.fee_fixed.map(|fee| money(fee.max)),
            max_fee_fixed: terms.fee_fixed.map(|fee| money(fee.max)),
            min_fee_fixed: terms.fee_fixed.map(|fee| money(fee.min)),
            monthly_payment: terms.monthly_payment.map(|payment| money(payment.max)),
            max_monthly_payment: terms.monthly_payment.map(|payment| money(payment.max)),
            min_monthly_payment: terms.monthly_payment.map(|payment| money(payment.min)),
            mean_monthly_payment: terms.monthly_payment.map(|payment| money(payment.mean())),
            max_total_payment: terms.total_payment.map(|total| money(total.max)),
            min_total_payment: terms.total_payment.map(|total| money(total.min)),
            mean_total_payment: terms.total_payment.map(|total| money(total.mean())),
            recommendation_score: shown.recommendation_score,
            payout: money(terms.payout),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CardEnd {
    pre_qualified: bool,
    pre_approved: bool,
    pre_selected: bool,
}

#[derive(Serialize)]
struct MortgageEnd<'a> {
    details: MortgageOfferDetails,
    #[serde(flatten)]
    shown: Shown<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SavingsEnd {
    rate: Percent,
    annual_percent_yield: Percent,
}

#[derive(Serialize)]
struct SpecialEnd<'a> {
    #[serde(flatten)]
    shown: Shown<'a>,
    payout: Money,
}

fn details_of(terms: &MortgageTerms) -> MortgageOfferDetails {
    MortgageOfferDetails {
        interest_rate: percent(terms.interest_rate),
        loan_type: terms.loan_type,
        price_adjustment: percent(terms.price_adjustment),
        monthly_payment: money(terms.monthly_payment),
        net_closing_costs: money(terms.net_closing_costs),
        apr: percent(terms.apr),
        loan_term: terms.loan_term,
        adjustment_type: terms.adjustment_type,
    }
}
