//! `POST /approvalProbability/loanReports`, `GET /approvalProbability/loanReports/{uuid}`
//!
//! Experimental: an estimate by the rules of the catalogue ([`crate::partners::approval`] has the formula).

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{HeaderValue, LOCATION};
use metrics::counter;
use tokio::task::spawn_blocking;

use super::bodies;
use crate::http::App;
use crate::matching::approval;
use crate::model::LoanReportCreateData;
use crate::telemetry::metrics::LOAN_REPORTS;
use crate::web::{Context, Failure, Reply};

/// Seconds after which a client may try again when the store cannot be read or written.
const RETRY_AFTER_S: u32 = 5;

/// Makes a report.
pub async fn make(mut context: Context<App>) -> Result<Reply, Failure> {
    let body = context.request.read_body(context.app.max_body_bytes, context.app.body_timeout).await?;
    let known = &context.app.known_keys.loan_report;
    let asked = bodies::read(&context.request, known, &body, LoanReportCreateData::read)?;
    let viewer = context.caller()?.viewer();
    let engine = Arc::clone(context.app.matchmaker.engine());
    let uuid = engine.loan_reports.next_uuid();
    // A book may have a hundred thousand offers, and leads run on this thread.
    let estimating = spawn_blocking(move || approval::report(&engine, asked, uuid));
    let report = estimating.await.map_err(|_| Failure::internal())?;

    let engine = context.app.matchmaker.engine();
    let (commit, displaced) =
        engine.loan_reports.keep(viewer, &report, engine.configuration().rules.loan_reports);
    engine.commit(commit).await.map_err(|_| Failure::unwritable(RETRY_AFTER_S))?;
    counter!(LOAN_REPORTS, "event" => "made").increment(1);
    counter!(LOAN_REPORTS, "event" => "displaced").increment(displaced);
    let location = engine.base_url.on_host(format_args!("/approvalProbability/loanReports/{uuid}"));
    let location = HeaderValue::try_from(location).expect("a uuid is visible ASCII");
    Ok(Reply::json(&report)?.status(StatusCode::CREATED).header(LOCATION, location))
}

/// Shows a report of the caller's company as it was made.
pub async fn show(context: Context<App>) -> Result<Reply, Failure> {
    let uuid = context.params.uuid("uuid")?;
    let viewer = context.caller()?.viewer();
    let engine = context.app.matchmaker.engine();
    let kept = engine.configuration().rules.loan_reports;
    let found = engine.loan_reports.find(viewer, uuid, kept.time);
    let found = found.map_err(|_| Failure::unreadable(RETRY_AFTER_S))?;
    Reply::json(&found.ok_or_else(|| Failure::unknown_uuid("LoanReport", uuid))?)
}
