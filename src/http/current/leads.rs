//! `POST /leads`, `GET /leads/{uuid}`, `PATCH /leads/{uuid}`

use super::submission::{
    answered, idempotency_key, knows_newer_values, read_lead, read_lead_or_nothing, refused, submission,
    to_merge,
};
use crate::prelude::*;
use offerd_engine::matching::Submission;
use offerd_engine::records::{history, reading};
use offerd_model::{Lead, LeadActionType, LeadView, Timestamp, TokenKind};
use offerd_store::entities::LeadRecord;
use offerd_store::{ReadError, Tree};

/// Accepts a lead, which may be empty, without building a rate table.
pub async fn take(mut context: Context<ApiState>) -> Answer {
    let lead = read_lead_or_nothing(&mut context).await?;
    let idempotency_key = idempotency_key(&context, "lead", &lead)?;
    let submission = Submission { idempotency_key, ..submission(&context, lead)? };
    let newer_values = submission.newer_values;
    let taken = context.app.matchmaker.take_lead(submission).await.map_err(refused)?;
    answered(taken, |record| {
        let base_url = &context.app.engine().base_url;
        let location = base_url.on_host(format_args!("/leads/{}", record.uuid));
        Ok(view(&context, record, newer_values)?.created(location))
    })
}

/// Shows a lead of the caller's company as submitted, with its actions.
pub async fn show(context: Context<ApiState>) -> Answer {
    show_with(&context, knows_newer_values(&context)?)
}

/// Like [`show`], with or without actions beyond the specification.
pub fn show_with(context: &Context<ApiState>, newer_values: bool) -> Answer {
    let uuid = context.params.uuid("uuid")?;
    let caller = context.caller()?;
    let store = &context.app.engine().records.store;
    let found = reading::lead(store, uuid).map_err(|unread| match store.get(Tree::Leads, uuid) {
        Err(ReadError::Broken(_)) => Failure::unknown_uuid("Lead", uuid),
        _ => unreadable(unread),
    })?;
    let own = found.filter(|record| caller.viewer().sees(record.company, record.test));
    view(context, own.ok_or_else(|| Failure::unknown_uuid("Lead", uuid))?, newer_values)
}

/// Merges the body into a lead of the caller's company, and shows it.
pub async fn merge(mut context: Context<ApiState>) -> Answer {
    let uuid = context.params.uuid("uuid")?;
    let attributes = read_lead(&mut context).await?;
    let mut permit = std::mem::take(&mut context.request.permit);
    let merge = to_merge(&context, uuid, &attributes)?;
    let newer_values = merge.newer_values;
    let merged = context.app.matchmaker.merge_lead(merge, &mut permit).await.map_err(refused)?;
    view(&context, merged.ok_or_else(|| Failure::unknown_uuid("Lead", uuid))?, newer_values)
}

fn view(context: &Context<ApiState>, record: LeadRecord, newer_values: bool) -> Answer {
    let (caller, records) = (context.caller()?, &context.app.engine().records);
    let mut actions = history::lead_actions(records, &record).map_err(unreadable)?;
    if !newer_values {
        actions.retain(|action| LeadActionType::SPECIFIED.contains(&action.action_type));
    }
    let LeadRecord { uuid, company, test, created_at, updated_at, lead, .. } = record;
    let changes = actions.iter().map(|action| action.deleted_at.unwrap_or(action.created_at));
    Reply::json(&LeadView {
        lead_provider_name: caller.company_name.to_string(),
        uuid,
        company_uuid: company,
        session_uuid: lead.session_uuid,
        referral_company_uuid: lead.referral_company_uuid,
        tracking_uuid: lead.tracking_uuid,
        is_test: test,
        status: history::status(&actions),
        created_at: Timestamp::at(created_at),
        updated_at: changes.fold(Timestamp::at(updated_at), Timestamp::max),
        sections: match caller.kind {
            TokenKind::Confidential => lead.sections(),
            // A publishable token ships in apps, so it reads no personal data, not even its own input.
            TokenKind::Publishable => Lead::default(),
        },
        lead_actions: actions,
    })
}
