//! `GET /offerPreview/loanOffers`, `GET /offerPreview/creditCardOffers`, `GET /offerPreview/savingsOffers`
//!
//! Unknown parameters are ignored; invalid values are a 422 with every fault.

use std::hash::{DefaultHasher, Hash, Hasher};

use hyper::header::CACHE_CONTROL;

use super::submission::knows_newer_values;
use crate::prelude::*;
use offerd_engine::matching::preview::{self, Preview};
use offerd_model::{
    AttributeFault, CardPurpose, FaultKind, Lead, LeadCreditCardInformation, LeadCreditInformation,
    LeadLoanInformation, LeadPersonalInformation, LeadSavingsInformation, LoanPurpose, ProductType,
    ProvidedCreditRating, Zipcode,
};
use offerd_web::query::{self, Query};

/// The most offers that a client may ask for.
pub const LIMIT_MAX: i64 = 1000;

/// Previews loans.
pub async fn loans(context: Context<ApiState>) -> Answer {
    preview(&context, ProductType::Loan, |query| {
        let loan = LeadLoanInformation {
            loan_amount: query.optional("loanAmount", query::integer(0..=i32::MAX.into())),
            purpose: query.choice::<LoanPurpose>("loanPurpose"),
        };
        (Lead { loan_information: Some(loan), ..person(query) }, None)
    })
}

/// Previews credit cards.
pub async fn cards(context: Context<ApiState>) -> Answer {
    preview(&context, ProductType::CreditCard, |query| {
        let card = LeadCreditCardInformation {
            card_purposes: query.choices::<CardPurpose>("cardPurposes"),
            ..LeadCreditCardInformation::default()
        };
        (Lead { credit_card_information: Some(card), ..person(query) }, None)
    })
}

/// Previews savings products.
pub async fn savings(context: Context<ApiState>) -> Answer {
    preview(&context, ProductType::Savings, |query| {
        let max_deposit = query.optional("maxDepositAmount", query::integer(0..=i64::MAX));
        let min_deposit_amount = query.optional("minDepositAmount", query::integer(0..=i64::MAX));
        let savings = LeadSavingsInformation { min_deposit_amount, ..Default::default() };
        (Lead { savings_information: Some(savings), ..person(query) }, max_deposit)
    })
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

/// Previews offers for a person and the largest deposit, which `read` takes from the query. The tag is that of the bytes.
fn preview(
    context: &Context<ApiState>,
    product_type: ProductType,
    read: impl FnOnce(&mut Query) -> (Lead, Option<i64>),
) -> Answer {
    let ((lead, max_deposit), limit) = query::read(&context.request, |query| {
        Some((read(query), query.optional("limit", query::integer(1..=LIMIT_MAX))))
    })?;
    let newer_values = knows_newer_values(context)?;
    let company = context.caller()?.company;
    let preview = Preview { product_type, lead, max_deposit, limit, newer_values, company };
    let offers = preview::show(context.app.engine(), preview);
    let mut tag = DefaultHasher::new();
    offers.hash(&mut tag);
    let reply = Reply::json_bytes(offers).etag(format_args!("{:016x}", tag.finish())).compressible();
    Ok(reply.header(CACHE_CONTROL, HeaderValue::from_static("private, no-cache")))
}
