//! `GET /offerPreview/loanOffers`, `GET /offerPreview/creditCardOffers`, `GET /offerPreview/savingsOffers`

use super::{Object, cards, newer, terms, values};
use crate::current;
use crate::prelude::*;
use offerd_model::{CardPurpose, LoanPurpose};

/// Previews loans.
pub async fn loans(mut context: Context<ApiState>) -> Answer {
    let request = &mut context.request;
    let faults = values::replace_faulty_parameter(request, "loanPurpose", false, &values::loan_purposes());
    for (_, purpose) in request.query.iter_mut().filter(|(name, _)| name == "loanPurpose") {
        if purpose == LoanPurpose::V1_AUTO {
            LoanPurpose::AutoPurchase.as_str().clone_into(purpose);
        }
    }
    reply(current::offer_previews::loans(context).await, faults, terms::reword)
}

/// Previews credit cards.
pub async fn cards(mut context: Context<ApiState>) -> Answer {
    let known = values::wire(CardPurpose::V1);
    let faults = values::replace_faulty_parameter(&mut context.request, "cardPurposes", true, &known);
    reply(current::offer_previews::cards(context).await, faults, cards::reword_offer)
}

/// Previews savings products, which are the same in both editions.
pub async fn savings(context: Context<ApiState>) -> Answer {
    reply(current::offer_previews::savings(context).await, Vec::new(), |_| {})
}

/// The answer of the current edition translated into v1, or the faults of both.
fn reply(answer: Answer, mut faults: Vec<ApiError>, reword: impl Fn(&mut Object)) -> Answer {
    match answer {
        Err(failure) if failure.status == StatusCode::UNPROCESSABLE_ENTITY => faults.extend(failure.errors),
        Err(failure) => return Err(failure),
        Ok(reply) if faults.is_empty() => {
            return super::reworded(reply, |offers: &mut Vec<Object>| {
                offers.retain_mut(newer::is_of_v1);
                offers.iter_mut().for_each(reword);
            });
        }
        Ok(_) => {}
    }
    Err(Failure::invalid(faults).with_status(StatusCode::BAD_REQUEST))
}
