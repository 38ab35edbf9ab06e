//! `GET /leads/{uuid}/explanation`
//!
//! For the company of the lead: why it got these offers. Partners' matters are only named by kind.

use crate::prelude::*;
use offerd_engine::matching::MatchingEngine;
use offerd_engine::records::{RecordUnavailable, reading};
use offerd_insight::hindsight::explanation as stored;
use offerd_insight::hindsight::explanation::{EligibilityObjection, OfferReason, Standing};
use offerd_model::{
    LeadExplanation, OfferExplanation, OfferResult, PartnerExplanation, RateTableExplanation, UnmetCondition,
    Viewer,
};

/// Explains a lead of the caller's company, on a blocking thread: it evaluates every rule of the book.
pub async fn show(context: Context<ApiState>) -> Answer {
    let uuid = context.params.uuid("uuid")?;
    let viewer = context.caller()?.viewer();
    let engine = Arc::clone(context.app.engine());
    let explaining = move || explain(&engine, viewer, uuid);
    let explained = blocking("a lead could not be explained", explaining).await?.map_err(unreadable)?;
    Reply::json(&explained.ok_or_else(|| Failure::unknown_uuid("Lead", uuid))?)
}

fn explain(
    engine: &MatchingEngine,
    viewer: Viewer,
    lead: Uuid,
) -> Result<Option<LeadExplanation>, RecordUnavailable> {
    let found = reading::lead(&engine.records.store, lead)?;
    if !found.is_some_and(|record| viewer.sees(record.company, record.test)) {
        return Ok(None);
    }
    let explained = stored::explanation(&engine.records, &engine.book(), lead)?;
    Ok(explained.map(|explained| LeadExplanation {
        lead_uuid: explained.lead,
        rate_tables: explained.rate_tables.into_iter().map(table).collect(),
    }))
}

fn table(table: stored::TableExplanation) -> RateTableExplanation {
    RateTableExplanation {
        uuid: table.uuid,
        created_at: table.created_at,
        pending: table.pending,
        changed_since: !(table.same_files && table.same_lead),
        partners: table.seats.into_iter().map(partner).collect(),
    }
}

fn partner(seat: stored::SeatExplanation) -> PartnerExplanation {
    PartnerExplanation {
        partner_uuid: seat.partner_uuid,
        partner_name: seat.name,
        product_type: seat.product_type,
        result: seat.why.class(),
        conditions: conditions(seat.refusals),
        offers: seat.offers.into_iter().map(offer).collect(),
        reject_reason: seat.reject_reason,
        asked_at: seat.asked_at,
        answered_after_ms: seat.ended_after_ms.and_then(|took| i64::try_from(took).ok()),
    }
}

fn offer(offer: stored::OfferExplanation) -> OfferExplanation {
    OfferExplanation {
        name: offer.name,
        result: match offer.why {
            OfferReason::Shown => OfferResult::Shown,
            OfferReason::Waiting => OfferResult::Pending,
            OfferReason::Outbid => OfferResult::Outbid,
            OfferReason::NotAnswered => OfferResult::NotOffered,
            OfferReason::Unmet => OfferResult::ConditionsNotMet,
            OfferReason::NotAsked => OfferResult::PartnerNotAsked,
        },
        conditions: conditions(offer.refusals),
        uuid: offer.uuid,
        conversion_from: offer.standing.as_ref().map(Standing::conversion_source),
    }
}

/// The conditions on the lead; the other refusals are limits of the partner.
fn conditions(refusals: Vec<EligibilityObjection>) -> Vec<UnmetCondition> {
    let of_lead = refusals.into_iter().filter(EligibilityObjection::is_of_lead);
    let unmet = of_lead.map(|EligibilityObjection { attribute, wanted, found }| UnmetCondition {
        attribute,
        wanted,
        found,
    });
    unmet.collect()
}
