//! The details of an offered credit card.
//!
//! - `annualFee` is the highest annual fee; if unknown the lowest; if both are unknown, 0.
//! - If only one end of a rate on purchases, cash advances or balance transfers is known, both ends get it.
//!   If neither is known, the rate is that on purchases; if that is unknown too, -1, "not applicable".
//! - An introductory rate is filled in from its other end too, and is -1 if it does not apply.

use serde_json::{Value, json};

use super::{Object, object, terms};
use offerd_model::Percent;

const CHARGED: [&str; 2] = ["CashAdvance", "BalanceTransfer"];

const INTRODUCTORY: [&str; 3] = ["PurchaseIntro", "CashAdvanceIntro", "BalanceTransferIntro"];

type RateEnds = [Value; 2];

/// Translates an offer into v1.
pub fn reword_offer(offer: &mut Object) {
    if let Some(details) = object(offer, "details") {
        reword(details);
        terms::reword(details);
    }
}

/// Translates the details into v1.
pub fn reword(details: &mut Object) {
    let highest = details.remove("maxAnnualFee").filter(Value::is_number);
    let lowest = details.remove("minAnnualFee").filter(Value::is_number);
    details.insert("annualFee".to_owned(), highest.or(lowest).unwrap_or_else(|| Value::from(0)));

    let not_applicable = [0; 2].map(|_| json!(Percent::V1_NOT_APPLICABLE));
    let purchase = fill_in(details, "Purchase", &not_applicable);
    for rate in CHARGED {
        fill_in(details, rate, &purchase);
    }
    for rate in INTRODUCTORY {
        fill_in(details, rate, &not_applicable);
    }
}

/// Fills in the ends of a rate: an unknown end from the other, both from `otherwise`.
fn fill_in(details: &mut Object, rate: &str, otherwise: &RateEnds) -> RateEnds {
    let names = [format!("max{rate}Apr"), format!("min{rate}Apr")];
    let known = names.each_ref().map(|name| details.get(name).filter(|rate| rate.is_number()).cloned());
    let ends = match known {
        [Some(max), Some(min)] => [max, min],
        [Some(only), None] | [None, Some(only)] => [only.clone(), only],
        [None, None] => otherwise.clone(),
    };
    details.extend(names.into_iter().zip(ends.clone()));
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reworded(details: Value) -> Value {
        let mut details = details.as_object().unwrap().clone();
        reword(&mut details);
        details.into()
    }

    #[test]
    fn the_annual_fee_is_the_highest_else_the_lowest_else_none() {
        for (details, fee) in [
            (json!({"maxAnnualFee": 95.5, "minAnnualFee": 0}), json!(95.5)),
            (json!({"minAnnualFee": 39}), json!(39)),
            (json!({"maxAnnualFee": null, "minAnnualFee": 39}), json!(39)),
            (json!({}), json!(0)),
        ] {
            let v1 = reworded(details);
            assert_eq!(v1["annualFee"], fee);
            assert!(v1.get("maxAnnualFee").is_none() && v1.get("minAnnualFee").is_none(), "{v1}");
        }
    }

    #[test]
    fn every_guaranteed_rate_is_there() {
        let known = json!({
            "maxPurchaseApr": 29.99, "minPurchaseApr": 19.99, "minCashAdvanceApr": 31,
            "minBalanceTransferIntroApr": 0, "cardBenefits": ["Lounge Access"],
        });
        let v1 = reworded(known);
        for (name, rate) in [
            ("maxPurchaseApr", json!(29.99)),
            ("minPurchaseApr", json!(19.99)),
            ("maxCashAdvanceApr", json!(31)),
            ("minCashAdvanceApr", json!(31)),
            ("maxBalanceTransferApr", json!(29.99)),
            ("minBalanceTransferApr", json!(19.99)),
            ("maxBalanceTransferIntroApr", json!(0)),
            ("minBalanceTransferIntroApr", json!(0)),
            ("maxPurchaseIntroApr", json!(-1)),
            ("minCashAdvanceIntroApr", json!(-1)),
            ("cardBenefits", json!(["Lounge Access"])),
        ] {
            assert_eq!(v1[name], rate, "{name}");
        }
    }

    #[test]
    fn a_card_without_any_rate_promises_none() {
        let v1 = reworded(json!({}));
        for rate in ["Purchase"].iter().chain(&CHARGED).chain(&INTRODUCTORY) {
            let ends = [&v1[format!("max{rate}Apr")], &v1[format!("min{rate}Apr")]];
            assert_eq!(ends, [&json!(-1), &json!(-1)], "{rate}");
        }
    }
}
