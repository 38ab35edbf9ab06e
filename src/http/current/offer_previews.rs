//! `GET /offerPreview/loanOffers`, `GET /offerPreview/creditCardOffers`, `GET /offerPreview/savingsOffers`
//!
//! Parameters that are not known are ignored; bad values are answered with 422, all at once.

use crate::http::App;
use crate::matching::preview::{self, Preview};
use crate::model::{
    CardPurpose, Lead, LeadCreditCardInformation, LeadCreditInformation, LeadLoanInformation,
    LeadPersonalInformation, LeadSavingsInformation, LoanPurpose, ProductType, ProvidedCreditRating, Zipcode,
};
use crate::web::{Context, Failure, Query, Reply};

/// Previews loans.
pub async fn loans(context: Context<App>) -> Result<Reply, Failure> {
    let mut query = Query::of(&context.request);
    let loan = LeadLoanInformation {
        loan_amount: query.integer("loanAmount", 0..=i32::MAX),
        purpose: query.value::<LoanPurpose>("loanPurpose"),
    };
    let lead = Lead {
        loan_information: Some(loan),
        credit_information: rating(&mut query),
        personal_information: place(&mut query),
        ..Lead::default()
    };
    query.finish()?;
    Ok(reply(&context.app, Preview { product_type: ProductType::Loan, lead, max_deposit: None }))
}

/// Previews credit cards.
pub async fn cards(context: Context<App>) -> Result<Reply, Failure> {
    let mut query = Query::of(&context.request);
    let card = LeadCreditCardInformation {
        card_purposes: query.values::<CardPurpose>("cardPurposes"),
        ..LeadCreditCardInformation::default()
    };
    let lead = Lead {
        credit_card_information: Some(card),
        credit_information: rating(&mut query),
        personal_information: place(&mut query),
        ..Lead::default()
    };
    query.finish()?;
    Ok(reply(&context.app, Preview { product_type: ProductType::CreditCard, lead, max_deposit: None }))
}

/// Previews savings products.
pub async fn savings(context: Context<App>) -> Result<Reply, Failure> {
    let mut query = Query::of(&context.request);
    let max_deposit = query.integer("maxDepositAmount", 0..=i64::MAX);
    let savings =
        LeadSavingsInformation { min_deposit_amount: query.integer("minDepositAmount", 0..=i64::MAX) };
    let lead = Lead {
        savings_information: Some(savings),
        personal_information: place(&mut query),
        ..Lead::default()
    };
    query.finish()?;
    Ok(reply(&context.app, Preview { product_type: ProductType::Savings, lead, max_deposit }))
}

fn rating(query: &mut Query) -> Option<LeadCreditInformation> {
    let rating = query.value::<ProvidedCreditRating>("providedCreditRating")?;
    Some(LeadCreditInformation { provided_credit_rating: Some(rating), ..LeadCreditInformation::default() })
}

fn place(query: &mut Query) -> Option<LeadPersonalInformation> {
    let zipcode = query.parsed("zipCode", "a zipcode of five digits, or ZIP+4", Zipcode::parse)?;
    Some(LeadPersonalInformation { zipcode: Some(zipcode), ..LeadPersonalInformation::default() })
}

fn reply(app: &App, preview: Preview) -> Reply {
    Reply::json_bytes(preview::show(app.matchmaker.engine(), preview))
}
