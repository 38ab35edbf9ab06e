//! Examples for the document, parsed as model types.

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
    /// The example; its file must parse.
    fn example() -> Self;
}

/// Declares examples from files.
macro_rules! examples {
    ($($noun:ident $file:literal)+) => {$(
        impl Example for $noun {
            fn example() -> Self {
                let json = include_str!(concat!("examples/", $file, ".json"));
                serde_json::from_str(json).expect("the examples are what they are examples of")
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
    ($($noun:ident $array:ident)+) => {$(
        impl Example for $noun {
            fn example() -> Self {
                RateTable::example().$array.remove(0)
            }
        }
    )+};
}

offers! { LoanOffer loan_offers CreditCardOffer credit_card_offers SavingsOffer savings_offers }

impl Example for Lead {
    fn example() -> Self {
        let loan = include_bytes!("../../../tests/leads/personal_loan.json");
        Self::read(loan).expect("the sample leads are leads")
    }
}
