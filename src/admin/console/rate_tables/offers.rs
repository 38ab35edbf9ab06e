//! The offers of a rate table as the client gets them, read from its JSON.

use serde_json::Value as Json;

use crate::console::prelude::*;
use offerd_insight::hindsight::explanation::{SeatExplanation, Standing};

const ARRAYS: [(&str, &str); 5] = [
    ("loanOffers", "Loans"),
    ("creditCardOffers", "Credit cards"),
    ("mortgageOffers", "Mortgages"),
    ("savingsOffers", "Savings"),
    ("specialOffers", "Special offers"),
];

/// Terms shown of an offer, if present: minimum and maximum attribute (or one attribute twice), label, and
/// unit. Of several rows with one label, the first that the offer has is shown.
const TERMS: &[([&str; 2], &str, Unit)] = &[
    (["apr", "apr"], "APR", PERCENT),
    (["minApr", "maxApr"], "APR", PERCENT),
    (["minPurchaseApr", "maxPurchaseApr"], "APR", PERCENT),
    (["annualPercentYield", "annualPercentYield"], "APY", PERCENT),
    (["interestRate", "interestRate"], "rate", PERCENT),
    (["minMonthlyPayment", "maxMonthlyPayment"], "a month", DOLLARS),
    (["monthlyPayment", "monthlyPayment"], "a month", DOLLARS),
    (["netClosingCosts", "netClosingCosts"], "closing costs", DOLLARS),
    (["minAmount", "maxAmount"], "amount", DOLLARS),
    (["minAnnualFee", "maxAnnualFee"], "annual fee", DOLLARS),
    (["minimumDeposit", "minimumDeposit"], "least deposit", DOLLARS),
    (["monthlyFee", "monthlyFee"], "monthly fee", DOLLARS),
];

/// A number format and its suffix.
type Unit = (fn(f64) -> String, &'static str);

const PERCENT: Unit = (|share| format!("{share:.2}"), " %");
const DOLLARS: Unit = (figures::dollars, "");

/// The non-empty arrays. A text that is not a rate table has none.
pub(super) fn arrays(table: &[u8], explained: &[SeatExplanation]) -> Vec<Value> {
    let Ok(table) = serde_json::from_slice::<Json>(table) else { return Vec::new() };
    let arrays = ARRAYS.into_iter().filter_map(|(attribute, name)| {
        let offers = table[attribute].as_array().filter(|offers| !offers.is_empty())?;
        let offers: Vec<_> = offers.iter().map(|offer| card(offer, explained)).collect();
        Some(fields! { name, attribute, offers })
    });
    arrays.collect()
}

fn card(offer: &Json, explained: &[SeatExplanation]) -> Value {
    let details = &offer["details"];
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let first = |values: &[&Json]| values.iter().find_map(|value| text(value)).unwrap_or_default();
    let is = |name: &str| offer[name] == true || details[name] == true;
    let firmness =
        [("preApproved", "pre-approved"), ("preQualified", "pre-qualified"), ("preSelected", "pre-selected")];
    let uuid = first(&[&offer["uuid"]]);
    fields! {
        partner => first(&[&offer["originator"]["name"], &offer["partner"]["name"], &offer["partnerName"]]),
        name => first(&[&offer["name"], &details["name"], &details["cardName"]]),
        sub_type => first(&[&offer["productSubType"]]).replace('_', " "),
        firmness => firmness.into_iter().find(|(name, _)| is(name)).map(|(_, words)| words),
        terms => terms(offer, details),
        score => offer["recommendationScore"].as_f64(),
        why => why(&uuid, explained),
        json => serde_json::to_string_pretty(offer).unwrap_or_default(),
        uuid,
    }
}

fn why(uuid: &str, explained: &[SeatExplanation]) -> Vec<String> {
    let mut offers = explained.iter().flat_map(|seat| &seat.offers);
    let offer = offers.find(|offer| offer.uuid.is_some_and(|known| known.to_string() == uuid));
    offer.and_then(|offer| offer.standing.as_ref()).map(Standing::lines).unwrap_or_default()
}

fn terms(offer: &Json, details: &Json) -> Vec<(&'static str, String)> {
    let mut told: Vec<(&'static str, String)> = Vec::new();
    if let (Some(length), Some(unit)) = (offer["termLength"].as_i64(), offer["termUnit"].as_str()) {
        told.push(("term", if unit == "open" { "open".to_owned() } else { format!("{length} {unit}s") }));
    }
    for (ends, name, unit) in TERMS {
        let [least, most] = ends.map(|attribute| offer[attribute].as_f64().or(details[attribute].as_f64()));
        if let Some(range) = range(*unit, least, most)
            && !told.iter().any(|(known, _)| known == name)
        {
            told.push((name, range));
        }
    }
    told
}

fn range((write, behind): Unit, least: Option<f64>, most: Option<f64>) -> Option<String> {
    let range = match [least, most].map(|value| value.map(write)) {
        [None, None] => return None,
        [Some(from), None] => format!("from {from}"),
        [None, Some(to)] => format!("up to {to}"),
        [Some(from), Some(to)] if from == to => from,
        [Some(from), Some(to)] => format!("{from}–{to}"),
    };
    Some(range + behind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_client_is_answered_is_told_in_a_few_figures() {
        let table = br#"{"loanOffers": [{
            "uuid": "u", "productSubType": "personal_loan", "originator": {"name": "Wrenfold"}, "preApproved": true,
            "termLength": 36, "termUnit": "month", "meanApr": 9.5, "minApr": 9, "maxApr": 10, "maxAmount": 15000,
            "recommendationScore": 2.5
        }], "savingsOffers": [{"partner": {"name": "Tidelark"}, "details": {"name": "High", "annualPercentYield": 4.18}}]}"#;
        let arrays = serde_json::to_value(arrays(table, &[])).unwrap();
        let loan = &arrays[0]["offers"][0];
        assert_eq!((&loan["partner"], &loan["firmness"]), (&json!("Wrenfold"), &json!("pre-approved")));
        let terms = json!([["term", "36 months"], ["APR", "9.00–10.00 %"], ["amount", "up to $15,000"]]);
        assert_eq!(loan["terms"], terms);
        assert_eq!(
            (&arrays[1]["name"], &arrays[1]["offers"][0]["name"]),
            (&json!("Savings"), &json!("High"))
        );
        assert!(super::arrays(b"none", &[]).is_empty());
    }
}
