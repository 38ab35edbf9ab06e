//! `GET /report` for `offerd report`; `POST /report/rebuild`, which streams progress, then the result;
//! `POST /report/reconciliation`.

use tokio::sync::OwnedSemaphorePermit;
use tracing::warn;

use super::command::{blocking, wants_csv};
use super::partner_events::known;
use super::prelude::*;
use offerd_insight::nodes::NodeStatus;
use offerd_insight::reports::query::{OfferInForce, QueryFaults, ReportQuery};
use offerd_insight::reports::report::Report;
use offerd_insight::reports::statement::{self, Reconciliation, Statement};
use offerd_insight::reports::{Rebuild, RebuildProgress, Rebuilt, ReportFault, Reports};
use offerd_model::{ApiError, ErrorType};

const RETRY_AFTER_S: u32 = 10;

/// How long an erasure waits for the counts to be flushed.
const SETTLED_WITHIN: Duration = Duration::from_secs(5);

/// A line of the answer to a rebuild.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RebuildLine {
    /// Progress so far.
    Progress(RebuildProgress),
    /// The result; the last line.
    Rebuilt(Rebuilt),
    /// Why it failed; the last line.
    Failed(String),
}

/// Answers with JSON, or with CSV by `Accept` or `format=csv`.
pub(super) async fn report(context: Context) -> Result<Reply> {
    let mut pairs = context.request.query.clone();
    let format = pairs.iter().rposition(|(name, _)| name == "format").map(|at| pairs.remove(at).1);
    let is_csv = wants_csv(&context, format.as_deref())?;
    let report = made(&context.app, &pairs).await?;
    if is_csv { as_csv(&report) } else { Reply::json(&report) }
}

pub(super) fn as_csv(report: &Report) -> Result<Reply> {
    csv_file(&report.sheet(), &format!("report-{}-{}", report.from, report.to))
}

pub(super) fn reports(app: &AdminState) -> Result<Reports> {
    app.reports.clone().ok_or_else(|| unavailable("The report counts cannot be read; see the log"))
}

/// Flushes the report counts before an erasure, which goes on in any case.
pub(super) async fn settle(app: &AdminState) {
    let Some(reports) = app.reports.clone() else { return };
    let settling = tokio::spawn(async move {
        if let Err(failure) = reports.settle(SETTLED_WITHIN).await {
            warn!(%failure, "report counts could not be flushed before an erasure");
        }
    });
    // The flush goes on after the timeout.
    let _ = tokio::time::timeout(SETTLED_WITHIN, settling).await;
}

/// Makes a report. 422 with all faults of the parameters; 503 while the maximum number is being made.
pub(super) async fn made(app: &Arc<AdminState>, pairs: &[(String, String)]) -> Result<Report> {
    let reports = reports(app)?;
    let query = with_offers(app, reports.query(pairs).map_err(unfit)?);
    run_query(reports, query).await?.map_err(failed)
}

/// Adds the offers in force to a query by offer.
pub(super) fn with_offers(app: &AdminState, mut query: ReportQuery) -> ReportQuery {
    if !query.is_by_offer() {
        return query;
    }
    for seat in app.engine.book().seats().iter().filter(|seat| !seat.paused) {
        let (partner, product) = (&seat.identity.key, seat.product_type);
        for text in seat.offers.iter().map(|offer| &offer.text) {
            let Some(terms) = &text.click_terms else { continue };
            query.in_force.push(OfferInForce::of(partner, terms.key(), product, text.sub_type));
        }
    }
    query
}

pub(super) async fn run_query(reports: Reports, query: ReportQuery) -> Result<Result<Report, ReportFault>> {
    blocking("a report could not be made", move || reports.report(&query)).await
}

pub(super) fn failed(fault: ReportFault) -> Failure {
    match fault {
        ReportFault::Query(faults) => unfit(faults),
        ReportFault::Busy => {
            unavailable("Too many reports are running (limit: `reports.at_once`); try again")
        }
        ReportFault::Unreadable(error) => {
            error!(%error, "a report could not be made");
            unavailable("The store cannot be read; see the log")
        }
    }
}

fn unfit(faults: QueryFaults) -> Failure {
    let fault = |(name, wanted): (String, String)| {
        let message = format!("{name} {wanted}");
        ApiError::at(name, ErrorType::Malformed, message)
    };
    Failure::invalid(faults.into_iter().map(fault).collect())
}

/// Longest statement: [`statement::LINES_MOST`] lines with long transaction ids.
const STATEMENT_BYTES: usize = 32 * 1024 * 1024;

pub(super) async fn reconcile(mut context: Context) -> Result<Reply> {
    let statement = read_body(&mut context, STATEMENT_BYTES).await?;
    Reply::json(&reconciled(&context.app, statement).await?)
}

/// Holds a statement against the payouts that are booked.
pub(super) async fn reconciled(app: &Arc<AdminState>, statement: Statement) -> Result<Reconciliation> {
    if statement.from > statement.until && statement.until.is_some() {
        return Err(Failure::bad_attribute("from", "must be at or before `until`"));
    }
    if statement.lines.len() > statement::LINES_MOST {
        return Err(Failure::bad_attribute("lines", statement::too_long()));
    }
    let (partner, zone) = (statement.partner.clone(), app.settings().reports.usual_zone());
    let read = move |app: &AdminState| statement::reconcile(&app.store, statement, zone);
    let reconciliation = app.reading("payouts could not be read", read).await?.map_err(unread)?;
    if reconciliation.booked == 0 {
        known(&app.engine.book(), &partner).map_err(|fault| Failure::invalid(vec![fault]))?;
    }
    Ok(reconciliation)
}

pub(super) async fn rebuild(context: Context) -> Result<Reply> {
    refuse_unless_it_leads(&context.app)?;
    let unread = context.app.store.unreadable_places();
    if unread > 0 {
        return Err(unavailable(format!(
            "nothing was counted and the counts are unchanged: places of the store that cannot be read: \
                {unread}, so their records would be missing; `offerd store check` names them, and `offerd \
                store salvage` makes a sound store to count again"
        )));
    }
    let permit = Arc::clone(&context.app.replays).try_acquire_owned();
    let permit = permit.map_err(|_| Failure::overloaded(RETRY_AFTER_S))?;
    let begun = Rebuild::begin(reports(&context.app)?, context.app.yields_to_leads).await;
    let under_way = Some((begun.map_err(our_fault("a recount failed"))?, permit));
    Ok(json_lines(stream::unfold(under_way, |under_way| async { Some(go_on(under_way?).await) })))
}

/// Refuses a rebuild unless this process counts: in a shared database only the leader does.
fn refuse_unless_it_leads(app: &AdminState) -> Result<()> {
    let store = &app.store;
    if store.is_leader() || store.is_alone() {
        return Ok(());
    }
    let nodes = store.nodes().map_err(our_fault("the node that counts for reports could not be read"))?;
    let leads = nodes.into_iter().find(|node| node.is_leader && node.ended_ms.is_none());
    let told = leads.map_or_else(
        || "No node leads at the moment, and only the leading one recounts; try again".to_owned(),
        |node| {
            let told: Option<NodeStatus> = serde_json::from_str(&node.status).ok();
            let told = told.map_or_else(String::new, |told| format!(" ({}, {})", told.name, told.api));
            format!("Only the leading node recounts: ask node {}{told}", node.id)
        },
    );
    Err(Failure::led_elsewhere(told))
}

type RunningRebuild = (Rebuild, OwnedSemaphorePermit);

/// Takes the next step. A rebuild whose answer nobody reads stops, and the current counts remain.
async fn go_on((mut rebuild, permit): RunningRebuild) -> (RebuildLine, Option<RunningRebuild>) {
    match rebuild.step().await {
        Ok(Some(progress)) => (RebuildLine::Progress(progress), Some((rebuild, permit))),
        Ok(None) => (RebuildLine::Rebuilt(rebuild.rebuilt()), None),
        Err(failure) => {
            error!(%failure, "a recount failed");
            (RebuildLine::Failed(format!("the recount failed: {failure}")), None)
        }
    }
}
