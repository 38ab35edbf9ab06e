//! `/partnerEvents` for `offerd events`.

use serde_json::Value;

use super::prelude::*;
use super::reasons::reason_about;
use offerd_base::declaration::{did_you_mean, nearest};
use offerd_engine::conversions::attribution::attribute;
use offerd_engine::conversions::partner_events::{
    AcceptedReport, CLOCKS_APART, ReportRecord, ReportRefused, confirm, find, flagged as flagged_reports,
    report, report_all,
};
use offerd_model::{
    ApiError, ErrorType, PartnerEventReceipt, PartnerReport, Timestamp, UnreadableBody, trimmed,
};
use offerd_partners::Book;

/// Maximum reports per request.
pub const AT_ONCE: usize = 256;

/// Longest body: that many reports with attributes of maximum length.
const MAX_BODY_BYTES: usize = AT_ONCE * 4096;

/// A report to import.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Imported {
    /// Key of the reporting partner.
    pub partner: String,
    /// The report in the partner's own form.
    pub report: Value,
}

/// Outcome of an imported report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImportOutcome {
    /// Recorded.
    New,
    /// Recorded and flagged, with the reason.
    Flagged(String),
    /// Already recorded before.
    Known,
    /// Invalid, with all faults.
    Refused(Vec<ApiError>),
}

/// A flagged report.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlaggedReport {
    /// Key of the reporting partner.
    pub partner: String,
    /// The answer to the partner, with the reason.
    #[serde(flatten)]
    pub receipt: PartnerEventReceipt,
}

async fn import_reports(engine: &MatchingEngine, imported: &[Imported]) -> Vec<ImportOutcome> {
    let read = imported.iter().map(|one| {
        let report = read(&one.report)?;
        possible(engine, &one.partner, &report).map_err(|fault| vec![fault])?;
        Ok((one.partner.clone(), report))
    });
    let read: Vec<Result<(String, PartnerReport), Vec<ApiError>>> = read.collect();
    let reports: Vec<(String, PartnerReport)> = read.iter().flatten().cloned().collect();
    let mut recorded = report_all(engine, &reports).await.into_iter();
    let outcomes = read.into_iter().map(|read| match read {
        Err(faults) => ImportOutcome::Refused(faults),
        Ok(_) => match recorded.next() {
            Some(Ok(AcceptedReport::New(receipt))) => {
                receipt.warning.map_or(ImportOutcome::New, ImportOutcome::Flagged)
            }
            Some(Ok(AcceptedReport::Known(_))) => ImportOutcome::Known,
            Some(Err(refused)) => ImportOutcome::Refused(vec![refused.error()]),
            None => ImportOutcome::Refused(Vec::new()),
        },
    });
    outcomes.collect()
}

/// Checks that a report is plausible: its partner exists, and the event is later than its lead. A removed
/// partner may still report on leads that it was sent. Returns the contradiction.
fn possible(engine: &MatchingEngine, partner: &str, report: &PartnerReport) -> Result<(), ApiError> {
    let PartnerReport::Event(event) = report else { return Ok(()) };
    let Ok(about) = attribute(&engine.records, partner, &event.reference) else {
        return known(&engine.book(), partner);
    };
    let made_at = about.summary.created_at;
    match event.occurred_at {
        Some(at) if at.millis() < made_at - CLOCKS_APART.num_milliseconds() => {
            let made_at = Timestamp::at(made_at);
            let message = format!("must not be before its lead was made, at {made_at}, got {at}");
            Err(ApiError::at("occurredAt", ErrorType::Malformed, message))
        }
        _ => Ok(()),
    }
}

/// Checks that a partner has a file; passes when there are no partner files.
///
/// # Errors
/// Fails when it has none, and suggests a similar key.
pub fn known(book: &Book, partner: &str) -> Result<(), ApiError> {
    let keys = || book.partners().into_iter().map(|known| known.key.as_str());
    if keys().next().is_none() || keys().any(|key| key == partner) {
        return Ok(());
    }
    let near = did_you_mean(nearest(partner, keys()));
    let message = format!("must be the key of a partner, got `{partner}`{near}");
    Err(ApiError::at("partner", ErrorType::Malformed, message))
}

/// Parses a report.
///
/// # Errors
/// Returns all its faults.
pub fn read(report: &Value) -> Result<PartnerReport, Vec<ApiError>> {
    PartnerReport::read(report.to_string().as_bytes()).map_err(|unreadable| match unreadable {
        UnreadableBody::NotJson(error) => vec![error],
        UnreadableBody::Faults(faults) => faults,
    })
}

pub(super) async fn import(mut context: Context) -> Result<Reply> {
    let imported: Vec<Imported> = read_body(&mut context, MAX_BODY_BYTES).await?;
    let outcomes = import_reports(&context.app.engine, &imported).await;
    let is_new = |outcome: &&ImportOutcome| matches!(outcome, ImportOutcome::New | ImportOutcome::Flagged(_));
    let new = outcomes.iter().filter(is_new).count();
    if new > 0 {
        let file = context.request.query_value("file").unwrap_or("standard input");
        let object = format!("{new} reports of {file}");
        let note = note!("events.import", new, file, "partner reports imported").about(object);
        context.app.note_if_can(&by(&context), note).await;
    }
    Reply::json(&outcomes)
}

pub(super) async fn flagged(context: Context) -> Result<Reply> {
    const UNREAD: &str = "the reports of partners could not be read";
    let read = |app: &AdminState| flagged_reports(&app.store);
    let reports = context.app.reading(UNREAD, read).await?.map_err(our_fault(UNREAD))?;
    let reports =
        reports.into_iter().map(|ReportRecord { partner, receipt, .. }| FlaggedReport { partner, receipt });
    Reply::json(&reports.collect::<Vec<_>>())
}

/// What an operator finds of a report.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// Key of the reporting partner.
    pub partner: String,
    /// The partner's id of the report.
    pub transaction_id: String,
    /// Whether it is reversed; else confirmed.
    pub reverse: bool,
    /// Why, for the audit.
    pub reason: String,
}

fn unfit(message: &str) -> Failure {
    Failure::invalid(vec![ApiError::at("transactionId", ErrorType::InvalidUuidReference, message)])
}

pub(super) async fn judge(mut context: Context) -> Result<Reply> {
    let judgement: Judgement = read_body(&mut context, BODY_BYTES).await?;
    let Judgement { partner, transaction_id, reverse, reason } = judgement;
    let (app, refused) = (&context.app, |refused: ReportRefused| Failure::invalid(vec![refused.error()]));
    let transaction_id = trimmed(&transaction_id).to_owned();
    let found = find(&app.engine, &partner, &transaction_id).map_err(refused)?;
    let found = found.ok_or_else(|| unfit(&format!("names no report of partner `{partner}`")))?;
    if found.receipt.revoked_at.is_some() {
        return Err(unfit("names a report that was reversed before"));
    }
    if !reverse && !found.is_flagged() {
        return Err(unfit("names a report that is not flagged; there is nothing to confirm"));
    }
    let (uuid, lead) = (found.receipt.uuid, found.receipt.lead_uuid);
    let reason = reason_about(app, lead, &reason).await?;
    let note = note!(if reverse { "events.reverse" } else { "events.confirm" });
    let note = note.about(format!("report {uuid} of {partner}, lead {lead}")).because(reason);
    app.note(&by(&context), note).await?;
    let judged = match reverse {
        true => report(&app.engine, &partner, &PartnerReport::Revocation(transaction_id)).await,
        false => confirm(&app.engine, &partner, &transaction_id).await,
    };
    let (AcceptedReport::New(receipt) | AcceptedReport::Known(receipt)) = judged.map_err(refused)?;
    Reply::json(&FlaggedReport { partner, receipt })
}
