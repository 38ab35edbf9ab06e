//! `POST /approvalProbability/loanReports`, `GET /approvalProbability/loanReports/{uuid}`
//!
//! Experimental: an estimate by the rules of the catalog (`partners::approval` has the formula).

use metrics::counter;

use super::bodies::{self, LazyKnownKeys};
use super::submission::without_idempotency_key;
use crate::prelude::*;
use offerd_base::telemetry::metrics::LOAN_REPORTS;
use offerd_engine::matching::approval;
use offerd_model::{KnownKeys, LoanReportCreateData};

static KNOWN: LazyKnownKeys = LazyKnownKeys::new(KnownKeys::of::<LoanReportCreateData>);

/// Creates a report.
pub async fn make(mut context: Context<ApiState>) -> Answer {
    without_idempotency_key(&context.request.headers)?;
    let asked = bodies::noun(&mut context, &KNOWN, LoanReportCreateData::read).await?;
    let viewer = context.caller()?.viewer();
    let engine = Arc::clone(context.app.engine());
    let uuid = engine.loan_reports.next_uuid();
    let estimating = move || approval::report(&engine, asked, uuid);
    let report = blocking("a loan report could not be made", estimating).await?;

    let engine = context.app.engine();
    let (commit, displaced) =
        engine.loan_reports.keep(viewer, &report, engine.configuration().rules.loan_reports);
    engine.commit(commit).await.map_err(unwritable)?;
    counter!(LOAN_REPORTS, "event" => "made").increment(1);
    counter!(LOAN_REPORTS, "event" => "displaced").increment(displaced);
    let location = engine.base_url.on_host(format_args!("/approvalProbability/loanReports/{uuid}"));
    Ok(Reply::json(&report)?.created(location))
}

/// Shows a report of the caller's company as created.
pub async fn show(context: Context<ApiState>) -> Answer {
    let uuid = context.params.uuid("uuid")?;
    let viewer = context.caller()?.viewer();
    let engine = context.app.engine();
    let kept = engine.configuration().rules.loan_reports;
    let found = engine.loan_reports.find(viewer, uuid, kept.reports_kept).map_err(unreadable)?;
    Reply::json(&found.ok_or_else(|| Failure::unknown_uuid("LoanReport", uuid))?)
}
