//! `POST /partnerEvents`, `GET /partnerEvents`: partners' reports, on the integrations listener.

use super::bodies::{self, LazyKnownKeys};
use crate::prelude::*;
use offerd_engine::conversions::partner_events;
use offerd_engine::conversions::partner_events::{AcceptedReport, ReportRefused};
use offerd_model::{KnownKeys, PartnerReport, PartnerReportFields};

static KNOWN: LazyKnownKeys = LazyKnownKeys::new(KnownKeys::of::<PartnerReportFields>);

/// Records a report: 201, or 200 if it was already recorded.
pub async fn report(mut context: Context<ApiState>) -> Answer {
    let report = bodies::noun(&mut context, &KNOWN, |body, _| Ok((PartnerReport::read(body)?, 0))).await?;
    accept_report(context, &report).await
}

/// Records a report whose attributes are query parameters.
pub async fn report_by_query(context: Context<ApiState>) -> Answer {
    let parameters = context.request.query.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let report = PartnerReport::from_texts(parameters).map_err(bodies::unreadable)?;
    Ok(accept_report(context, &report).await?.status(StatusCode::OK))
}

async fn accept_report(context: Context<ApiState>, report: &PartnerReport) -> Answer {
    let engine = context.app.engine();
    match partner_events::report(engine, context.partner()?, report).await.map_err(refused)? {
        AcceptedReport::New(receipt) if receipt.revoked_at.is_none() => {
            Ok(Reply::json(&receipt)?.status(StatusCode::CREATED))
        }
        AcceptedReport::New(receipt) | AcceptedReport::Known(receipt) => Reply::json(&receipt),
    }
}

fn refused(refused: ReportRefused) -> Failure {
    let status = match refused {
        ReportRefused::Fault(_) => StatusCode::UNPROCESSABLE_ENTITY,
        ReportRefused::OtherReport => StatusCode::CONFLICT,
        ReportRefused::NothingToRevoke => StatusCode::NOT_FOUND,
        ReportRefused::Unavailable => return unwritable(()),
    };
    Failure::invalid(vec![refused.error()]).with_status(status)
}
