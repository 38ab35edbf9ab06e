//! `POST /leads/rateTables`, `POST /blocking/leads/rateTables`, `GET /originator/rateTables/{uuid}`

use super::{Object, cards, known, list, newer, objects, submission, terms};
use crate::current;
use crate::prelude::*;
use offerd_model::ProductType;

/// Accepts a lead; answers 201 with the offers that are available at once.
pub async fn submit(context: Context<ApiState>) -> Answer {
    created(current::rate_tables::submit(understood(context).await?).await)
}

/// Accepts a lead; answers 201 when all partners have answered.
pub async fn submit_blocking(context: Context<ApiState>) -> Answer {
    created(current::rate_tables::submit_blocking(understood(context).await?).await)
}

/// Shows a rate table of the caller's company.
pub async fn show(context: Context<ApiState>) -> Answer {
    super::reworded(current::rate_tables::show_for(context, super::TAG).await?, reword)
}

async fn understood(mut context: Context<ApiState>) -> Result<Context<ApiState>, Failure> {
    let body = current::bodies::body(&mut context).await?;
    let (translated, changed) =
        submission::translate(&body, current::submission::arrival(&context)?, context.request.leniency)?;
    context.request.note_changed(changed);
    context.request.put_back(translated);
    Ok(context)
}

fn created(answer: Answer) -> Answer {
    Ok(super::reworded(answer.map_err(submission::refused)?, reword)?.status(StatusCode::CREATED))
}

fn reword(table: &mut Object) {
    newer::leave_out(table);
    objects(table, "creditCardOffers").for_each(cards::reword_offer);
    objects(table, "loanOffers").for_each(terms::reword);
    if let Some(special_offers) = list(table, "specialOffers") {
        // All of them have types that v1 lacks; see the test.
        special_offers.clear();
    }
    if let Some(pending) = list(table, "pendingResponses") {
        pending.retain_mut(|response| response.as_object_mut().is_none_or(is_of_v1));
    }
}

/// Keeps v1's product types of a pending response; returns whether any are left.
fn is_of_v1(response: &mut Object) -> bool {
    let Some(types) = list(response, "productTypes") else { return true };
    types.retain(|one| known(Some(one)).is_some_and(|known| ProductType::V1.contains(&known)));
    !types.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn terms_are_reworded_and_what_v1_has_stays() {
        let mut table = json!({
            "uuid": "u", "pendingOriginators": [{"key": "k"}],
            "pendingResponses": [{"partner": {"name": "n"}, "productTypes": ["loan", "credit_card"]}],
        });
        let same = table.clone();
        reword(table.as_object_mut().unwrap());
        assert_eq!(table, same);

        let mut table = json!({"loanOffers": [{"termLength": 0, "termUnit": "open", "minApr": 7.25}]});
        reword(table.as_object_mut().unwrap());
        assert_eq!(table, json!({"loanOffers": [{"termLength": 0, "termUnit": "month", "minApr": 7.25}]}));
    }

    #[test]
    fn what_came_after_v1_is_left_out() {
        let mut table = json!({"uuid": "u", "partnerPageUrl": "p", "embedUrl": "e"});
        reword(table.as_object_mut().unwrap());
        assert_eq!(table, json!({"uuid": "u"}));
    }

    #[test]
    fn what_is_of_types_that_v1_lacks_is_left_out() {
        assert!(ProductType::V1.iter().all(|of_v1| !of_v1.is_special()));
        let mut table = json!({
            "specialOffers": [{"uuid": "u"}],
            "pendingResponses": [
                {"partner": {"name": "both"}, "productTypes": ["loan", "other"]},
                {"partner": {"name": "none"}, "productTypes": ["insurance", "life_insurance"]},
            ],
        });
        reword(table.as_object_mut().unwrap());
        let pending = json!([{"partner": {"name": "both"}, "productTypes": ["loan"]}]);
        assert_eq!(table, json!({"specialOffers": [], "pendingResponses": pending}));
    }
}
