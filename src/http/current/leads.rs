//! `GET /leads/{uuid}`

use crate::http::App;
use crate::matching::{history, reading};
use crate::model::{LeadView, Timestamp};
use crate::store::entities::LeadRecord;
use crate::web::{Context, Failure, Reply};

/// Seconds after which a client may try again when the store cannot be read.
const RETRY_AFTER_S: u32 = 5;

/// Shows a lead of the caller's company as it was sent, and what became of it.
pub async fn show(context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    let caller = context.caller()?;
    let engine = context.app.matchmaker.engine();

    let unavailable = |_| Failure::overloaded(RETRY_AFTER_S);
    let found = reading::lead(&engine.store, uuid).map_err(unavailable)?;
    let own = found.filter(|record| record.company == caller.company);
    let LeadRecord { lead, test, created_at, updated_at, company, .. } =
        own.ok_or_else(|| Failure::unknown_uuid("Lead", uuid))?;
    let actions = history::lead_actions(engine, uuid).map_err(unavailable)?;

    let instant = |millis| Timestamp::from_millis(millis).unwrap_or_default();
    let provider = caller.company_name.to_string();
    let mut view = LeadView::new(uuid, company, provider, test, instant(created_at), lead);
    let last_action = actions.last().map(|action| action.created_at);
    view.updated_at = last_action.max(Some(instant(updated_at))).unwrap_or_default();
    view.status = history::status(&actions);
    view.lead_actions = actions;
    Reply::json(&view)
}
