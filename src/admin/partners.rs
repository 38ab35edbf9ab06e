//! `GET /partners`, `GET /partners/timing`, `POST /partners/pause`, `…/resume` and `…/probe` for
//! `offerd partners`.

use std::cmp::Reverse;

use super::prelude::*;
use super::reasons::reason_given;
use offerd_engine::matching::limiter::{SeatStatus, State};
use offerd_engine::matching::pausing::{self, Pausable};
use offerd_insight::hindsight::timing::timings;
use offerd_model::ProductType;
use offerd_store::pauses::{Pause, ResumeResult};
use offerd_web::query;

/// Lists seats worst first, then those not asked because of their breaker or a missing suppression list;
/// otherwise in file order.
pub(super) async fn list(context: Context) -> Result<Reply> {
    let mut statuses = context.app.engine.statuses();
    statuses.sort_by_key(|status| Reverse(trouble(status)));
    Reply::json(&statuses)
}

/// How bad a seat's health is, and whether it is not asked.
fn trouble(status: &SeatStatus) -> (u8, bool) {
    let is_not_asked = matches!(status.state, State::ListMissing | State::BreakerOpen);
    (status.health.health.badness(), is_not_asked)
}

/// Reads on a blocking thread, since there may be many tables.
pub(super) async fn timing(context: Context) -> Result<Reply> {
    let since = query::read(&context.request, |query| query.required("since", query::integer(0..=i64::MAX)))?;
    let read = move |app: &AdminState| {
        timings(&app.engine.records, &app.engine.configuration(), &app.engine.statistics, since)
    };
    Reply::json(&context.app.reading("timings could not be read", read).await?.map_err(unread)?)
}

/// The request of a pause.
#[derive(Debug, Serialize, Deserialize)]
pub struct PauseOrder {
    /// What is paused.
    #[serde(flatten)]
    pub what: Pausable,
    /// Why: shown beside the pause and in the audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

operations! {
    pause(context, request: PauseOrder) => {
        let reason = request.reason.as_deref().map(reason_given).transpose()?;
        pause_seats(&context.app, &request.what, reason, &by(&context)).await?
    };
    resume(context, what: Pausable) => unpause(&context.app, &what, &by(&context)).await?;
    probe(context, what: Pausable) => reprobe(&context.app, &what, &by(&context)).await?;
}

/// Pauses a partner or product type of the book, until it is resumed.
pub(super) async fn pause_seats(
    app: &AdminState,
    what: &Pausable,
    reason: Option<&str>,
    actor: &AuditActor,
) -> Result<Pause> {
    in_book(app, what)?;
    let (partner, product_type) = named(what);
    let note =
        note!("partner.pause", partner, product_type, "partner paused").about(label(what)).because(reason);
    let begun = Pause::now(&what.partner, what.product_type, &actor.who, reason);
    let pause =
        pausing::pause(&app.engine, begun, async |commit| app.commit(actor, note, commit).await).await;
    pause.map_err(|failure| unwritten("the pause", &failure))
}

/// Ends a pause, even if the partner is no longer in the book.
pub(super) async fn unpause(app: &AdminState, what: &Pausable, actor: &AuditActor) -> Result<ResumeResult> {
    let (partner, product_type) = named(what);
    let note = note!("partner.resume", partner, product_type, "partner resumed").about(label(what));
    let done = pausing::resume(&app.engine, what, async |commit| app.commit(actor, note, commit).await).await;
    done.map_err(|failure| unwritten("the end of the pause", &failure))
}

/// Lets the next calls through the breakers of a partner or product type of the book, on this node. Returns
/// the product types whose breaker was not closed.
pub(super) async fn reprobe(app: &AdminState, what: &Pausable, by: &AuditActor) -> Result<Vec<ProductType>> {
    in_book(app, what)?;
    let probed = pausing::probe(&app.engine, what);
    if !probed.is_empty() {
        let (partner, product_type) = named(what);
        let note = note!("partner.probe", partner, product_type, "breaker of a partner probed");
        app.note(by, note.about(label(what))).await?;
    }
    Ok(probed)
}

fn in_book(app: &AdminState, what: &Pausable) -> Result<()> {
    let fault = what.fault(&app.engine.book());
    fault.map_or(Ok(()), |(attribute, fault)| Err(Failure::bad_attribute(attribute, fault)))
}

fn label(what: &Pausable) -> String {
    let (partner, product_type) = named(what);
    product_type.map_or_else(|| partner.to_owned(), |product_type| format!("{partner} {product_type}"))
}

fn named(what: &Pausable) -> (&str, Option<&'static str>) {
    (&what.partner, what.product_type.map(|product| product.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn those_that_are_not_asked_follow_the_unwell() {
        let status = |state: &str, health: &str| -> SeatStatus {
            let told = json!({ "partner": "p", "productType": "loan", "state": state, "askedThisMinute": 0,
                "askedToday": 0, "owedToday": 0.0, "health": { "health": health } });
            serde_json::from_value(told).unwrap()
        };
        let failing = trouble(&status("active", "failing"));
        let [open, missing, active] =
            ["breakerOpen", "listMissing", "active"].map(|state| trouble(&status(state, "unknown")));
        assert!(failing > open && open == missing && open > active);
    }
}
