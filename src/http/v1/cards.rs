//! The details of an offered credit card.
//!
//! - `annualFee` is the highest annual fee; where that is not known the lowest; where neither is, 0.
//! - A rate on purchases, cash advances or transferred balances of which only one end is known is that end at both.
//!   Where neither is known it is the rate on purchases, since cards that name no other rate charge that one; where
//!   that is not known either, -1: better not applicable than a promise.
//! - An introductory rate is filled in from its other end too, and is -1 where it does not apply.

use serde_json::{Value, json};

use super::{Object, object, terms};
use crate::model::Percent;

/// The attributes of one rate's ends.
struct Ends {
    max: &'static str,
    min: &'static str,
}

const PURCHASE: Ends = Ends { max: "maxPurchaseApr", min: "minPurchaseApr" };
const CASH_ADVANCE: Ends = Ends { max: "maxCashAdvanceApr", min: "minCashAdvanceApr" };
const BALANCE_TRANSFER: Ends = Ends { max: "maxBalanceTransferApr", min: "minBalanceTransferApr" };

/// The introductory rates.
const INTRODUCTORY: [Ends; 3] = [
    Ends { max: "maxPurchaseIntroApr", min: "minPurchaseIntroApr" },
    Ends { max: "maxCashAdvanceIntroApr", min: "minCashAdvanceIntroApr" },
    Ends { max: "maxBalanceTransferIntroApr", min: "minBalanceTransferIntroApr" },
];

/// Writes an offer as v1 has it.
pub fn reword_offer(offer: &mut Object) {
    if let Some(details) = object(offer, "details") {
        reword(details);
        terms::reword(details);
    }
}

/// Writes the details as v1 has them.
pub fn reword(details: &mut Object) {
    let highest = details.remove("maxAnnualFee").filter(Value::is_number);
    let lowest = details.remove("minAnnualFee").filter(Value::is_number);
    details.insert("annualFee".to_owned(), highest.or(lowest).unwrap_or_else(|| Value::from(0)));

    let not_applicable = || {
        let rate = json!(Percent::V1_NOT_APPLICABLE);
        (rate.clone(), rate)
    };
    let purchase = PURCHASE.of(details).unwrap_or_else(not_applicable);
    for ends in [CASH_ADVANCE, BALANCE_TRANSFER] {
        let rate = ends.of(details).unwrap_or_else(|| purchase.clone());
        ends.set(details, rate);
    }
    PURCHASE.set(details, purchase);
    for ends in INTRODUCTORY {
        let rate = ends.of(details).unwrap_or_else(not_applicable);
        ends.set(details, rate);
    }
}

impl Ends {
    /// The highest and the lowest rate; `None` when neither is known.
    fn of(&self, details: &Object) -> Option<(Value, Value)> {
        let known = |name| details.get(name).filter(|rate| rate.is_number()).cloned();
        match (known(self.max), known(self.min)) {
            (Some(max), Some(min)) => Some((max, min)),
            (Some(only), None) | (None, Some(only)) => Some((only.clone(), only)),
            (None, None) => None,
        }
    }

    fn set(&self, details: &mut Object, (max, min): (Value, Value)) {
        details.insert(self.max.to_owned(), max);
        details.insert(self.min.to_owned(), min);
    }
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
        for ends in [PURCHASE, CASH_ADVANCE, BALANCE_TRANSFER].iter().chain(&INTRODUCTORY) {
            assert_eq!((&v1[ends.max], &v1[ends.min]), (&json!(-1), &json!(-1)));
        }
    }
}
