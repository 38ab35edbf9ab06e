//! `POST /leads`, `GET /leads/{uuid}`, `PATCH /leads/{uuid}`

use super::submission::{growth, knows_newer_values, read_lead, read_lead_or_nothing, refused, submission};
use crate::prelude::*;
use offerd_engine::records::{history, reading};
use offerd_model::{Lead, LeadActionType, LeadView, Timestamp, TokenKind};
use offerd_store::entities::LeadRecord;
use offerd_store::{ReadError, Tree};

/// Takes a lead, which may be empty, without building a rate table.
pub async fn take(mut context: Context<App>) -> Result<Reply, Failure> {
    let lead = read_lead_or_nothing(&mut context).await?;
    let submission = submission(&context, lead)?;
    let newer_steps = submission.newer_values;
    let record = context.app.matchmaker.take_lead(submission).await.map_err(refused)?;
    let base_url = &context.app.matchmaker.engine().base_url;
    let location = base_url.on_host(format_args!("/leads/{}", record.uuid));
    Ok(view(&context, record, newer_steps)?.created(location))
}

/// Shows a lead of the caller's company as it was sent, and what became of it.
pub async fn show(context: Context<App>) -> Result<Reply, Failure> {
    let newer_steps = knows_newer_values(&context)?;
    show_with(&context, newer_steps)
}

/// The same, with steps that are not in the specification or without.
pub fn show_with(context: &Context<App>, newer_steps: bool) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    let caller = context.caller()?;
    let store = &context.app.matchmaker.engine().records.store;
    let found = reading::lead(store, uuid).map_err(|unread| match store.get(Tree::Leads, uuid) {
        // It is lost, as one is of which nothing is left.
        Err(ReadError::Broken(_)) => Failure::unknown_uuid("Lead", uuid),
        _ => unreadable(unread),
    })?;
    let own = found.filter(|record| caller.viewer().sees(record.company, record.test));
    view(context, own.ok_or_else(|| Failure::unknown_uuid("Lead", uuid))?, newer_steps)
}

/// Merges what is sent into a lead of the caller's company, and shows it.
pub async fn grow(mut context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    let later = read_lead(&mut context).await?;
    let mut permit = std::mem::take(&mut context.request.permit);
    let growth = growth(&context, uuid, &later)?;
    let newer_values = growth.newer_values;
    let grown = context.app.matchmaker.grow_lead(growth, &mut permit).await.map_err(refused)?;
    view(&context, grown.ok_or_else(|| Failure::unknown_uuid("Lead", uuid))?, newer_values)
}

/// Steps that are not in the specification are shown to who names a version of the interface, and are none to others.
fn view(context: &Context<App>, record: LeadRecord, newer_steps: bool) -> Result<Reply, Failure> {
    let (caller, records) = (context.caller()?, &context.app.matchmaker.engine().records);
    let mut actions = history::lead_actions(records, &record).map_err(unreadable)?;
    if !newer_steps {
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
            // It ships in apps, so it is told nothing of a person, not even what it has just sent.
            TokenKind::Publishable => Lead::default(),
        },
        lead_actions: actions,
    })
}
