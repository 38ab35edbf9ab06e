//! Examples for the document. A test holds each of them against its model type.

use serde_json::Value;

use offerd_model::{
    CreditCardOffer, FeaturedFinancialInstitution, Lead, LeadClientTagsResponse, LeadEventResponse,
    LeadExplanation, LeadInfoResponse, LeadPayoutResponse, LeadView, LoanOffer, LoanReport, OfferDisplay,
    PartnerEventReceipt, PrefillResponse, RateTable, SavingsOffer, SessionInit, VehicleDetails,
};

/// Example leads.
pub const LEADS: &[(&str, &str)] = &[
    ("minimal", include_str!("../../../tests/leads/minimal.json")),
    ("personal loan", include_str!("../../../tests/leads/personal_loan.json")),
    ("credit card", include_str!("../../../tests/leads/credit_card.json")),
    ("savings", include_str!("../../../tests/leads/savings.json")),
];

/// A request for a loan report.
pub const LOAN_REPORT_WANTED: &str =
    r#"{"annualIncome": 72000, "creditRating": "good", "totalDebt": 18000, "loanAmount": 10000}"#;

/// An offer display.
pub const OFFER_SEEN: &str = include_str!("examples/offer_seen.json");

/// A partner's report.
pub const PARTNER_REPORT: &str = include_str!("examples/partner_report.json");

/// A model type with an example.
pub trait Example {
    /// Returns the example, with every key that the type writes.
    fn example() -> Value;
}

/// Declares examples from files.
macro_rules! examples {
    ($($noun:ident $file:literal)+) => {$(
        impl Example for $noun {
            fn example() -> Value {
                parsed(include_str!(concat!("examples/", $file, ".json")))
            }
        }
    )+};
}

examples! {
    FeaturedFinancialInstitution "institution"
    LeadClientTagsResponse "lead_client_tags"
    LeadEventResponse "lead_events"
    LeadExplanation "lead_explanation"
    LeadInfoResponse "lead_info"
    LeadPayoutResponse "lead_payouts"
    LeadView "lead"
    LoanReport "loan_report"
    OfferDisplay "offer_display"
    PartnerEventReceipt "receipt"
    PrefillResponse "prefill"
    RateTable "rate_table"
    SessionInit "session_init"
    VehicleDetails "vehicle"
}

/// Declares examples of offers, each the first of an array of the example rate table.
macro_rules! offers {
    ($($noun:ident $array:literal)+) => {$(
        impl Example for $noun {
            fn example() -> Value {
                RateTable::example()[$array][0].take()
            }
        }
    )+};
}

offers! { LoanOffer "loanOffers" CreditCardOffer "creditCardOffers" SavingsOffer "savingsOffers" }

impl Example for Lead {
    fn example() -> Value {
        parsed(LEADS[1].1)
    }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).expect("the examples are JSON")
}

#[cfg(test)]
mod tests {
    use std::any::type_name;
    use std::fmt::Write;

    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;

    fn held<T: Example + Serialize + DeserializeOwned>(faults: &mut String) {
        let example = T::example();
        let noun: T = serde_json::from_value(example.clone()).unwrap();
        let written = serde_json::to_value(noun).unwrap();
        if written != example {
            writeln!(faults, "{}: found {example}\nwanted {written}", type_name::<T>()).unwrap();
        }
    }

    #[test]
    fn an_example_is_what_its_type_writes() {
        let mut faults = String::new();
        macro_rules! all {
            ($($noun:ident)+) => { $(held::<$noun>(&mut faults);)+ };
        }
        all! {
            FeaturedFinancialInstitution LeadClientTagsResponse LeadEventResponse LeadExplanation
            LeadInfoResponse LeadPayoutResponse LeadView LoanReport OfferDisplay PartnerEventReceipt
            PrefillResponse RateTable SessionInit VehicleDetails LoanOffer CreditCardOffer SavingsOffer
        }
        assert_eq!(faults, "");
        assert!(Lead::read(Lead::example().to_string().as_bytes()).is_ok());
    }
}
