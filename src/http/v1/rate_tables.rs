//! `POST /leads/rateTables`, `POST /blocking/leads/rateTables`, `GET /originator/rateTables/{uuid}`

use hyper::StatusCode;
use serde_json::Value;

use super::{Object, cards, submission, terms};
use crate::http::{App, current};
use crate::web::{Context, Failure, Reply};

/// Takes a lead; answers 201 with the partners that answer at once.
pub async fn submit(context: Context<App>) -> Result<Reply, Failure> {
    let context = understood(context).await?;
    created(current::rate_tables::submit(context).await)
}

/// Takes a lead; answers 201 when all partners have.
pub async fn submit_blocking(context: Context<App>) -> Result<Reply, Failure> {
    let context = understood(context).await?;
    created(current::rate_tables::submit_blocking(context).await)
}

/// Shows a rate table of the caller's company.
pub async fn show(context: Context<App>) -> Result<Reply, Failure> {
    super::reworded(current::rate_tables::show_for(context, super::TAG).await?, reword)
}

/// The request, its lead in the current edition's words.
async fn understood(mut context: Context<App>) -> Result<Context<App>, Failure> {
    let (cap, timeout) = (context.app.max_body_bytes, context.app.body_timeout);
    let body = context.request.read_body(cap, timeout).await?;
    context.request.put_back(submission::translate(&body)?);
    Ok(context)
}

fn created(answer: Result<Reply, Failure>) -> Result<Reply, Failure> {
    let reply = answer.map_err(submission::refused)?;
    Ok(super::reworded(reply, reword)?.status(StatusCode::CREATED))
}

fn reword(table: &mut Object) {
    offers(table, "creditCardOffers").for_each(cards::reword_offer);
    offers(table, "loanOffers").for_each(terms::reword);
}

fn offers<'t>(table: &'t mut Object, array: &str) -> impl Iterator<Item = &'t mut Object> {
    let offers = table.get_mut(array).and_then(Value::as_array_mut);
    offers.into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_cards_and_terms_are_reworded() {
        let mut table = json!({
            "uuid": "u", "specialOffers": [{"termUnit": "open"}], "pendingOriginators": [{"key": "k"}],
            "pendingResponses": [{"productTypes": ["loan", "other"]}],
        });
        let same = table.clone();
        reword(table.as_object_mut().unwrap());
        assert_eq!(table, same);

        let mut table = json!({"loanOffers": [{"termLength": 0, "termUnit": "open", "minApr": 7.25}]});
        reword(table.as_object_mut().unwrap());
        assert_eq!(table, json!({"loanOffers": [{"termLength": 0, "termUnit": "month", "minApr": 7.25}]}));
    }
}
