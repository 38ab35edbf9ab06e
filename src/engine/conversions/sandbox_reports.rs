//! The reports that test leads request by the client tag `sandbox`, as their partners would send them.

use std::collections::BTreeSet;
use std::sync::Arc;

use tracing::warn;
use uuid::Uuid;

use super::partner_events::report_all;
use crate::matching::engine::MatchingEngine;
use crate::matching::trigger::RequestedReport;
use crate::rate_table::table::{NumberedOffer, Table};
use crate::records::{Found, RecordUnavailable, reading};
use offerd_model::{PartnerEvent, PartnerEventType, PartnerReport, Reference};
use offerd_partners::declared::PayoutStep;

/// The payout in cents where the partner's file has none, or a percentage of no amount.
const SAMPLE_CENTS: f64 = 5000.0;

type ReportsByPartner = Vec<(String, PartnerReport)>;

/// Makes the reports for complete tables, for ever.
pub async fn run(engine: Arc<MatchingEngine>) {
    let Some(mut complete) = engine.to_report.receiver() else { return };
    while let Some(table) = complete.recv().await {
        let reports = requested(&engine, table).unwrap_or_default();
        for refused in report_all(&engine, &reports).await.into_iter().filter_map(Result::err) {
            warn!(rate_table = %table, ?refused, "could not make a report for a test lead");
        }
    }
}

fn requested(engine: &MatchingEngine, table: Uuid) -> Found<ReportsByPartner> {
    let table = reading::table(&engine.records, table)?.ok_or(RecordUnavailable)?;
    let lead = reading::lead(&engine.records.store, table.head().lead)?.ok_or(RecordUnavailable)?;
    let mut reports = Vec::new();
    for (partner, wanted) in RequestedReport::all_of(&lead.lead) {
        let is_its = |offer: &&NumberedOffer| {
            partner.is_none_or(|partner| table.seats()[usize::from(offer.seat)].key == partner)
        };
        if let Some(offer) = table.arrays().flat_map(|(_, offers)| offers).find(is_its) {
            reports.extend(reports_on(engine, &table, offer, &wanted)?);
        }
    }
    Ok(reports)
}

fn reports_on(
    engine: &MatchingEngine,
    table: &Table,
    offer: &NumberedOffer,
    wanted: &BTreeSet<RequestedReport>,
) -> Found<ReportsByPartner> {
    let templates = &engine.records.templates;
    let text = templates.of(&offer.quote).map_err(|_| RecordUnavailable)?;
    let uuid = templates.ids.offer(table.head().uuid, offer.number);
    let dollars = table.head().loan_amount;
    let event = |event_type: PartnerEventType, payout_in_cents| PartnerEvent {
        transaction_id: format!("sandbox-{uuid}-{event_type}"),
        event_type,
        reference: Reference { offer_uuid: Some(uuid), ..Reference::default() },
        occurred_at: None,
        amount_in_cents: dollars.and_then(|dollars| dollars.checked_mul(100)),
        payout_in_cents,
        reject_reason: None,
    };
    let named = [
        (RequestedReport::Applied, PartnerEventType::Applied),
        (RequestedReport::Funded, PartnerEventType::Funded),
    ];
    let named = named.into_iter().filter(|(report, _)| wanted.contains(report));
    let mut events: Vec<PartnerEvent> = named.map(|(_, event_type)| event(event_type, None)).collect();
    if wanted.contains(&RequestedReport::Paid) || events.is_empty() {
        let rule = text.click_terms.as_ref().map(|click_terms| click_terms.payout);
        let step = PartnerEventType::ALL.iter().copied().find(|event_type| {
            PayoutStep::reported(*event_type).is_some_and(|step| rule.is_some_and(|rule| rule.on == step))
        });
        // No partner reports a click.
        let step = step.unwrap_or(PartnerEventType::Conversion);
        let cents = rule.map_or(0.0, |rule| rule.dollars(dollars.map(f64::from)) * 100.0);
        events.retain(|event| event.event_type != step);
        events.push(event(step, Some(if cents > 0.0 { cents } else { SAMPLE_CENTS })));
    }
    let reversed = events.iter().filter(|_| wanted.contains(&RequestedReport::Reversed));
    let reversed: Vec<_> =
        reversed.map(|event| PartnerReport::Revocation(event.transaction_id.clone())).collect();
    let partner = &table.seats()[usize::from(offer.seat)].key;
    let reports = events.into_iter().map(PartnerReport::Event).chain(reversed);
    Ok(reports.map(|report| (partner.clone(), report)).collect())
}
