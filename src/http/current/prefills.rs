//! `POST /originator/prefills`, `GET /originator/prefills/{prefillToken}`

use hyper::header::CACHE_CONTROL;

use super::submission::{answered, idempotency_key, other_content, read_lead};
use crate::prelude::*;
use offerd_model::{PrefillResponse, ProductType};

/// Stores lead data for a returning person. The data is validated like a lead.
pub async fn keep(mut context: Context<ApiState>) -> Answer {
    let (company, test) = context.caller().map(|caller| (caller.company, caller.test))?;
    let place = context.app.prefills.place(company).map_err(|wait| {
        let wait_s = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).max(1);
        Failure::too_many_requests(wait_s).counted("company_prefills")
    })?;
    let lead = read_lead(&mut context).await?;
    let asked = ProductType::ALL.iter().copied().filter(|product_type| lead.asks_for(*product_type));
    let product_types = asked.collect();
    let key = idempotency_key(&context, "prefill", &lead)?;
    let prefills = &context.app.prefills;
    let kept = prefills.keep(place, test, lead, key.as_ref()).await.map_err(unwritable)?;
    let rules = prefills.rules;
    answered(kept.ok_or_else(other_content)?, |prefill_token| {
        Reply::json(&PrefillResponse {
            product_types,
            prefill_token,
            expires_in_seconds: i32::try_from(rules.lifetime.as_secs()).unwrap_or(i32::MAX),
            max_uses: i32::try_from(rules.reads).unwrap_or(i32::MAX),
        })
    })
}

/// Returns the data of a prefill to a client of its company. A token of another company counts as unknown.
pub async fn read(context: Context<ApiState>) -> Answer {
    let token = context.params.uuid("prefillToken")?;
    let viewer = context.caller()?.viewer();
    context.app.click_rates.count_prefill(&context.request)?;
    let lead = context.app.prefills.read(viewer, token).await.map_err(unreadable)?;
    let lead = lead.ok_or_else(|| Failure::unknown_uuid("Prefill", token))?;
    Ok(Reply::json(&lead)?.header(CACHE_CONTROL, HeaderValue::from_static("no-store")))
}
