//! `GET /offerPreview/loanOffers`, `GET /offerPreview/creditCardOffers`, `GET /offerPreview/savingsOffers`
//!
//! Unknown parameters are ignored; invalid values are a 422 with every fault.

use super::submission::knows_newer_values;
use crate::prelude::*;
use offerd_engine::matching::preview::{self, Preview};
use offerd_model::{
    AttributeFault, CardPurpose, FaultKind, Lead, LeadCreditCardInformation, LeadCreditInformation,
    LeadLoanInformation, LeadPersonalInformation, LeadSavingsInformation, LoanPurpose, ProductType,
    ProvidedCreditRating, Zipcode,
};
use offerd_web::query::{self, Query};

/// Previews loans.
pub async fn loans(context: Context<ApiState>) -> Answer {
    let lead = query::read(&context.request, |query| {
        let loan = LeadLoanInformation {
            loan_amount: query.optional("loanAmount", query::integer(0..=i32::MAX.into())),
            purpose: query.choice::<LoanPurpose>("loanPurpose"),
        };
        Some(Lead { loan_information: Some(loan), ..person(query) })
    })?;
    reply(&context, ProductType::Loan, lead, None)
}

/// Previews credit cards.
pub async fn cards(context: Context<ApiState>) -> Answer {
    let lead = query::read(&context.request, |query| {
        let card = LeadCreditCardInformation {
            card_purposes: query.choices::<CardPurpose>("cardPurposes"),
            ..LeadCreditCardInformation::default()
        };
        Some(Lead { credit_card_information: Some(card), ..person(query) })
    })?;
    reply(&context, ProductType::CreditCard, lead, None)
}

/// Previews savings products.
pub async fn savings(context: Context<ApiState>) -> Answer {
    let (lead, max_deposit) = query::read(&context.request, |query| {
        let max_deposit = query.optional("maxDepositAmount", query::integer(0..=i64::MAX));
        let min_deposit_amount = query.optional("minDepositAmount", query::integer(0..=i64::MAX));
        let savings = LeadSavingsInformation { min_deposit_amount, ..Default::default() };
        Some((Lead { savings_information: Some(savings), ..person(query) }, max_deposit))
    })?;
    reply(&context, ProductType::Savings, lead, max_deposit)
}

fn person(query: &mut Query) -> Lead {
    let rating = query.choice::<ProvidedCreditRating>("providedCreditRating");
    let zipcode = query.trimmed("zipCode", |text| {
        let wanted = || AttributeFault::wanted(FaultKind::Format, "a zipcode of five digits, or ZIP+4");
        Zipcode::parse(text).ok_or_else(wanted)
    });
    Lead {
        credit_information: Some(LeadCreditInformation {
            provided_credit_rating: rating,
            ..LeadCreditInformation::default()
        }),
        personal_information: Some(LeadPersonalInformation { zipcode, ..LeadPersonalInformation::default() }),
        ..Lead::default()
    }
}

fn reply(context: &Context<ApiState>, product_type: ProductType, lead: Lead, deposit: Option<i64>) -> Answer {
    let newer_values = knows_newer_values(context)?;
    let company = context.caller()?.company;
    let preview = Preview { product_type, lead, max_deposit: deposit, newer_values, company };
    Ok(Reply::json_bytes(preview::show(context.app.engine(), preview)))
}
