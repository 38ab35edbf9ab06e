//! Answers to show, read as the nouns that they are.

use serde::de::DeserializeOwned;

use crate::model::{
    LeadExplanation, LeadView, LoanReport, OfferDisplay, PartnerEventReceipt, RateTable, SessionInit,
};

/// A rate table with an offer of three kinds, one partner outstanding.
pub fn rate_table() -> RateTable {
    read(include_str!("examples/rate_table.json"))
}

/// A lead that has just come.
pub fn lead() -> LeadView {
    read(include_str!("examples/lead.json"))
}

/// Why a lead has the offers that it has.
pub fn lead_explanation() -> LeadExplanation {
    read(include_str!("examples/lead_explanation.json"))
}

/// How likely somebody is to get a loan.
pub fn loan_report() -> LoanReport {
    read(include_str!("examples/loan_report.json"))
}

/// The start of a visit.
pub fn session_init() -> SessionInit {
    read(include_str!("examples/session_init.json"))
}

/// The display of an offer.
pub fn offer_display() -> OfferDisplay {
    read(include_str!("examples/offer_display.json"))
}

/// What became of a report.
pub fn receipt() -> PartnerEventReceipt {
    read(include_str!("examples/receipt.json"))
}

/// Reads an example of the program's own.
///
/// # Panics
/// When it is not the noun it should be; every start would.
pub fn read<T: DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json).expect("the examples are what they are examples of")
}
