//! Templates: the JSON of an offer that does not depend on the lead, prepared once when the book is loaded.
//!
//! A template is the beginning of a JSON object, cut off where what depends on the lead goes on (its [`Ending`]). It is
//! known by its [`Fingerprint`], under which it is also stored, so that a rate table reads the same after the partner's
//! file has changed. One that is made of words of a partner's answer is kept with that answer. [`write_offer`] joins template and quote to the offer that a client sees.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::declared;
use super::fingerprint::Fingerprint;
use super::identity::Identity;
use super::quote::{LoanTerms, MortgageTerms, Quote, Terms};
use crate::model::{
    Money, MortgageOfferDetails, Partner, Percent, ProductSubType, ProductType, Timestamp, plain_number,
};

impl PartialEq for Template {
    /// Equal texts have one fingerprint.
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

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
    /// For how many milliseconds from the making of its table the offer stands, where that is not as long as others do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_for_ms: Option<i64>,
}

/// Milliseconds from the making of its table for which an offer stands (facts, Offers over time): 31 days.
pub const OFFER_MS: i64 = 31 * 24 * 60 * 60 * 1000;

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

    /// The same with another imprint.
    #[must_use]
    pub fn with_imprint(self, imprint: Imprint) -> Self {
        if self.imprint.as_ref() == Some(&imprint) {
            return self;
        }
        let mut text = Self { imprint: Some(imprint), ..self };
        text.fingerprint = Fingerprint::of(&text.stored());
        text
    }

    /// As it is stored: a line with the imprint, then the JSON.
    pub fn stored(&self) -> String {
        let imprint =
            serde_json::to_string(&self.imprint).expect("an imprint has string keys and finite numbers");
        format!("{imprint}\n{}", self.json)
    }

    /// Until when an offer stands whose table was made then, Unix milliseconds both: as long as others do, or as its partner says, if
    /// that is earlier.
    pub fn stands_until(&self, quote: &Quote, made_at: i64) -> i64 {
        let own = self.imprint.as_ref().and_then(|imprint| imprint.valid_for_ms);
        let until = made_at.saturating_add(own.map_or(OFFER_MS, |own| own.min(OFFER_MS)));
        quote.expires_at.map_or(until, |own| own.min(until))
    }

    /// The finer kind of an offer.
    pub fn product_sub_type(&self) -> Option<ProductSubType> {
        // A quote within a text is never bare, so this stands where the offer says it.
        let (_, rest) = self.json.split_once(r#""productSubType":""#)?;
        ProductSubType::from_wire(rest.split('"').next()?)
    }

    /// Its JSON with another conversion probability in place of the file's, where it ends with that.
    fn with_conversion(&self, probability: f64) -> Cow<'_, str> {
        const KEY: &str = r#""conversionProbability":"#;
        // A quote within a text is never bare, so that what follows the last such key is its value.
        match self.json.rfind(KEY) {
            Some(place) if !self.json[place..].contains([',', '}']) => {
                let probability = serde_json::Number::from_f64((probability * 1e6).round() / 1e6);
                let probability = probability.unwrap_or_else(|| 0.into());
                Cow::Owned(format!("{}{probability}", &self.json[..place + KEY.len()]))
            }
            _ => Cow::Borrowed(&*self.json),
        }
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
    #[serde(skip_serializing_if = "Option::is_none")]
    marketplace: Option<&'a Partner>,
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
            marketplace: identity.marketplace.as_ref(),
            product_type,
            product_sub_type,
            disclaimer: offer.disclaimer.as_deref(),
            product_sub_type_disclaimer: offer.sub_type_disclaimer.as_deref(),
            consumer_rating: offer.consumer_rating,
            details,
        }
    }
}

/// What an offer has of the table or list that shows it, which never changes while it is there.
#[derive(Debug, Clone, Copy)]
pub struct OfferPlace<'a> {
    /// The offer's uuid.
    pub uuid: Uuid,
    /// The address that records a click on it.
    pub url: &'a str,
    /// Its position in its list, from 1.
    pub rank: usize,
    /// When the table was made, Unix milliseconds.
    pub made_at: i64,
}

/// Writes an offer as the client sees it: the JSON of its template, then what depends on the lead and the table.
pub fn write_offer(out: &mut Vec<u8>, template: &Template, quote: &Quote, place: OfferPlace<'_>) {
    match &quote.ranked {
        Some(ranked) => out.extend_from_slice(template.with_conversion(ranked.parts.conversion).as_bytes()),
        None => out.extend_from_slice(template.json.as_bytes()),
    }
    let shown = Shown { uuid: place.uuid, url: place.url, recommendation_score: quote.score };
    let ranked = || Ranked {
        uuid: place.uuid,
        url: place.url,
        recommendation_score: quote.score,
        rank: place.rank,
        expires_at: Timestamp::at(template.stands_until(quote, place.made_at)),
    };
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
            go_on(out, &ranked());
        }
        Terms::Mortgage(terms) => {
            go_on(out, &MortgageEnd { details: details_of(terms), ranked: ranked() });
        }
        Terms::Savings(terms) => {
            go_on(
                out,
                &SavingsEnd {
                    rate: percent(terms.rate),
                    annual_percent_yield: percent(terms.annual_percent_yield),
                },
            );
            go_on(out, &ranked());
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

/// The same of offers of cards, mortgages and savings products, with what today's clients know beside it.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ranked<'a> {
    uuid: Uuid,
    url: &'a str,
    #[serde(serialize_with = "plain_number::required")]
    recommendation_score: f64,
    rank: usize,
    expires_at: Timestamp,
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
    ranked: Ranked<'a>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partners::quote::CardTerms;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_offer_stands_as_long_as_others_or_as_its_partner_says(made_at: u32, own: Option<u32>, answered: Option<u32>) {
            let (made_at, own, answered) = (i64::from(made_at), own.map(i64::from), answered.map(i64::from));
            let payout = declared::Payout { on: declared::PayoutStep::Click, fixed: None, percent: None };
            let imprint = Imprint { name: String::new(), landing_url: String::new(), payout, valid_for_ms: own };
            let template = Template::new(Ending::Whole, &(), Some(imprint));
            let quote = Quote {
                text: template.fingerprint,
                score: 0.0,
                terms: Terms::Card(CardTerms::default()),
                landing_url: None,
                expires_at: answered,
                own: None,
                doubt: None,
                ranked: None,
            };
            let said = [Some(made_at + OFFER_MS), own.map(|own| made_at + own), answered];
            prop_assert_eq!(Some(template.stands_until(&quote, made_at)), said.into_iter().flatten().min());
            let read = Template::read(template.fingerprint, &template.stored()).unwrap();
            prop_assert_eq!(read.stands_until(&quote, made_at), template.stands_until(&quote, made_at));
        }
    }
}
