//! Renders an offer for clients: the JSON of its template, then what depends on the lead and the table.

use uuid::Uuid;

use super::json_object::{JsonObjectWriter, Plain};
use super::quote::{LoanTerms, MortgageTerms, Quote, QuoteTerms, Spread};
use super::template::{OFFER_MS, Template};
use offerd_model::{Money, Percent, Timestamp};

/// The immutable properties that an offer has from its table or list.
#[derive(Debug, Clone, Copy)]
pub struct OfferPlace<'a> {
    /// The offer's uuid.
    pub uuid: Uuid,
    /// URL that records a click on it.
    pub url: &'a str,
    /// Rank in its list, from 1.
    pub rank: usize,
    /// When the table was created, Unix milliseconds.
    pub made_at: i64,
}

/// Writes an offer as clients see it.
pub fn write_offer(out: &mut Vec<u8>, template: &Template, quote: &Quote, place: OfferPlace<'_>) {
    template.write(out, quote.ranked.as_ref().map(|ranked| ranked.parts.conversion));
    let mut offer = JsonObjectWriter(out);
    match &quote.terms {
        QuoteTerms::Loan(terms) => {
            offer.set("uuid", &place.uuid).set("url", place.url);
            loan(&mut offer, terms);
            offer.set("recommendationScore", &Plain(quote.score)).set("payout", &money(terms.payout));
        }
        QuoteTerms::Card(terms) => {
            offer.set("preQualified", &terms.pre_qualified).set("preApproved", &terms.pre_approved);
            offer.set("preSelected", &terms.pre_selected).close();
        }
        QuoteTerms::Mortgage(terms) => {
            mortgage(offer.open("details"), terms);
            offer.close();
        }
        QuoteTerms::Savings(terms) => {
            offer.set("rate", &percent(terms.rate));
            offer.set("annualPercentYield", &percent(terms.annual_percent_yield)).close();
        }
        QuoteTerms::Special(terms) => {
            offer.set("uuid", &place.uuid).set("url", place.url);
            offer.set("recommendationScore", &Plain(quote.score)).set("payout", &money(terms.payout));
        }
    }
    if let QuoteTerms::Card(_) | QuoteTerms::Mortgage(_) | QuoteTerms::Savings(_) = &quote.terms {
        let expires_at = Timestamp::from_millis(template.stands_until(quote, place.made_at));
        offer.set("uuid", &place.uuid).set("url", place.url).set("recommendationScore", &Plain(quote.score));
        offer.set("rank", &place.rank).set("expiresAt", &expires_at.unwrap_or_default());
    }
    offer.close();
}

fn loan(offer: &mut JsonObjectWriter<'_>, terms: &LoanTerms) {
    let dollars = |spread: Option<Spread>, figure: fn(Spread) -> f64| spread.map(figure).map(money);
    let [least, mean, most]: [fn(Spread) -> f64; 3] = [|one| one.min, Spread::mean, |one| one.max];
    offer
        .set("preQualified", &terms.pre_qualified)
        .set("preApproved", &terms.pre_approved)
        .set("maxAmount", &terms.max_amount)
        .set("minAmount", &terms.min_amount)
        .set("maxApr", &percent(terms.apr.max))
        .set("minApr", &percent(terms.apr.min))
        .set("meanApr", &percent(terms.apr.mean()))
        .set("feeRate", &percent(terms.fee_rate.max))
        .set("maxFeeRate", &percent(terms.fee_rate.max))
        .set("minFeeRate", &percent(terms.fee_rate.min))
        .set("feeFixed", &dollars(terms.fee_fixed, most))
        .set("maxFeeFixed", &dollars(terms.fee_fixed, most))
        .set("minFeeFixed", &dollars(terms.fee_fixed, least))
        .set("monthlyPayment", &dollars(terms.monthly_payment, most))
        .set("maxMonthlyPayment", &dollars(terms.monthly_payment, most))
        .set("minMonthlyPayment", &dollars(terms.monthly_payment, least))
        .set("meanMonthlyPayment", &dollars(terms.monthly_payment, mean))
        .set("maxTotalPayment", &dollars(terms.total_payment, most))
        .set("minTotalPayment", &dollars(terms.total_payment, least))
        .set("meanTotalPayment", &dollars(terms.total_payment, mean));
}

fn mortgage(details: &mut JsonObjectWriter<'_>, terms: &MortgageTerms) {
    details
        .set("interestRate", &percent(terms.interest_rate))
        .set("loanType", &terms.loan_type)
        .set("priceAdjustment", &percent(terms.price_adjustment))
        .set("monthlyPayment", &money(terms.monthly_payment))
        .set("netClosingCosts", &money(terms.net_closing_costs))
        .set("apr", &percent(terms.apr))
        .set("loanTerm", &terms.loan_term)
        .set("adjustmentType", &terms.adjustment_type);
}

impl Template {
    /// Expiry of an offer in Unix milliseconds: the usual validity, or an earlier one that the partner set.
    pub fn stands_until(&self, quote: &Quote, made_at: i64) -> i64 {
        let own = self.click_terms.as_ref().and_then(|click_terms| click_terms.valid_for_ms);
        let until = made_at.saturating_add(own.map_or(OFFER_MS, |own| own.min(OFFER_MS)));
        quote.expires_at.map_or(until, |own| own.min(until))
    }
}

/// Dollars for display. Prices are checked when the book is loaded, so none overflows.
pub fn money(dollars: f64) -> Money {
    Money::from_f64(dollars).unwrap_or_default()
}

/// A percentage for display.
pub fn percent(percent: f64) -> Percent {
    Percent::from_f64(percent).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared;
    use crate::quote::CardTerms;
    use crate::template::ClickTerms;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_offer_stands_as_long_as_others_or_as_its_partner_says(made_at: u32, own: Option<u32>, answered: Option<u32>) {
            let (made_at, own, answered) = (i64::from(made_at), own.map(i64::from), answered.map(i64::from));
            let payout = declared::DeclaredPayout { on: declared::PayoutStep::Click, fixed: None, percent: None };
            let click_terms = ClickTerms { name: String::new(), landing_url: String::new(), payout, valid_for_ms: own };
            let template = Template::of_offer(click_terms, |_| {});
            let quote = Quote {
                text: template.fingerprint,
                score: 0.0,
                terms: QuoteTerms::Card(CardTerms::default()),
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
