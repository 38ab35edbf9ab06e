//! Offers that anyone may see.

use hyper::Method;

use super::draft::{Draft, integer};
use super::examples;
use crate::model::{
    ApiError, CardPurpose, Components, CreditCardOffer, ErrorType, LoanOffer, LoanPurpose,
    ProvidedCreditRating, SavingsOffer, Zipcode, schema,
};
use crate::web::Failure;

/// The section of the document.
pub const TAG: &str = "Offer previews";

/// The operations.
pub fn operations(components: &mut Components) -> Vec<Draft> {
    let table = examples::rate_table();
    let loans = schema::reference::<LoanOffer>(components);
    let cards = schema::reference::<CreditCardOffer>(components);
    let savings = schema::reference::<SavingsOffer>(components);
    let purpose = schema::reference::<LoanPurpose>(components);
    let card_purpose = schema::reference::<CardPurpose>(components);
    let deposits = || integer(0, i64::MAX);
    vec![
        preview("/offerPreview/loanOffers", "previewLoanOffers", components)
            .query("loanAmount", "What is to be borrowed, in dollars.", integer(0, i32::MAX.into()))
            .query("loanPurpose", "What for.", purpose)
            .answers_all("Offers, the best first.", loans, &table.loan_offers),
        preview("/offerPreview/creditCardOffers", "previewCreditCardOffers", components)
            .list("cardPurposes", "What the card should be good for.", card_purpose)
            .answers_all("Offers, the best first.", cards, &table.credit_card_offers),
        preview("/offerPreview/savingsOffers", "previewSavingsOffers", components)
            .query("minDepositAmount", "The least that would be deposited, in dollars.", deposits())
            .query("maxDepositAmount", "The most that would be deposited, in dollars.", deposits())
            .answers_all("Offers, the best first.", savings, &table.savings_offers),
    ]
}

fn preview(path: &'static str, id: &'static str, components: &mut Components) -> Draft {
    let message = "Query parameter zipCode must be a zipcode of five digits, or ZIP+4";
    let unfit = Failure::malformed(vec![ApiError::at("zipCode", ErrorType::Malformed, message)]);
    Draft::new(Method::GET, path, TAG, id)
        .query(
            "providedCreditRating",
            "The person's own statement of their credit.",
            schema::reference::<ProvidedCreditRating>(components),
        )
        .query("zipCode", "Where the person lives.", schema::reference::<Zipcode>(components))
        .newer_values()
        .refuses(unfit, "A parameter does not fit.")
}
