//! The commits of reports.

use uuid::Uuid;

use super::attribution::Attribution;
use super::partner_events::{ReportPlace, ReportRecord};
use crate::records::writing::{LeadReference, at_seat, key_under, payout, with_event, with_payout};
use offerd_model::{PartnerEventReceipt, ProductType, Timestamp};
use offerd_store::entities::{Happening, HappeningDetails, LeadSummary, PayoutRecord};
use offerd_store::{Commit, Tree, codec};

/// Writes a report with its effects, guarded against an earlier report under the same key.
pub fn report(place: &ReportPlace, report: &ReportRecord, about: &Attribution) -> Commit {
    let receipt = &report.receipt;
    let earned = receipt.payout_in_cents.map(|cents| PayoutRecord {
        product_type: Some(receipt.product_type.unwrap_or(about.seat.product_type)),
        earned_at: report.earned_at,
        event_type: receipt.event_type.event_type(),
        offer: receipt.offer_uuid,
        transaction_id: Some(receipt.transaction_id.clone()),
        test: about.summary.test,
        ..payout(receipt.uuid, (receipt.lead_uuid, &about.seat), receipt.created_at, cents.0)
    });
    let guarded = Commit::new().absent(place.tree(), place.key());
    with_report(guarded, place, report, (report.happening.clone(), earned))
}

/// The lead event of a report, if any.
pub fn happening(receipt: &PartnerEventReceipt, about: &Attribution) -> Option<Happening> {
    let event_type = receipt.event_type.event_type()?;
    let LeadSummary { created_at, test, .. } = about.summary;
    let event = LeadReference { lead: about.lead, created_at, test }
        .happening(event_type, receipt.occurred_at.millis());
    let details = HappeningDetails {
        offer: receipt.offer_uuid,
        product_sub_type: about.product_sub_type,
        reject_reason: receipt.reject_reason,
        payout_cents: receipt.payout_in_cents.map(|cents| cents.0),
    };
    Some(Happening {
        product_type: receipt.product_type,
        amount_in_cents: receipt.amount_in_cents,
        cause: Some(receipt.uuid),
        details,
        ..at_seat(&about.seat, event)
    })
}

/// Revokes a report, guarded against concurrent changes: deletes its action, reverses its event and payout.
pub fn revoked_report(
    place: &ReportPlace,
    earlier: &ReportRecord,
    revoked: &ReportRecord,
    (product_type, institution, test): (Option<ProductType>, Option<(Uuid, String)>, bool),
) -> Commit {
    let receipt = &revoked.receipt;
    let taken_back_at = receipt.revoked_at.map(Timestamp::millis);
    let happening = revoked.happening.clone().filter(|_| taken_back_at.is_some());
    let happening = happening.map(|happening| Happening { taken_back_at, ..happening });
    let taken_back = taken_back_at.zip(receipt.payout_in_cents).map(|(booked_at_ms, cents)| PayoutRecord {
        uuid: receipt.uuid,
        lead: receipt.lead_uuid,
        booked_at_ms,
        cents: -cents.0,
        product_type,
        institution,
        takes_back: Some(receipt.created_at.millis()),
        earned_at: revoked.earned_at,
        partner: revoked.partner.clone(),
        event_type: receipt.event_type.event_type(),
        offer: receipt.offer_uuid,
        transaction_id: Some(receipt.transaction_id.clone()),
        test,
    });
    let guarded = Commit::new().unchanged(place.tree(), place.key(), codec::encode_json(earlier));
    with_report(guarded, place, revoked, (happening, taken_back))
}

/// Changes a report alone, guarded against concurrent changes.
pub fn changed_report(place: &ReportPlace, earlier: &ReportRecord, changed: &ReportRecord) -> Commit {
    let guarded = Commit::new().unchanged(place.tree(), place.key(), codec::encode_json(earlier));
    with_report(guarded, place, changed, (None, None))
}

fn with_report(
    commit: Commit,
    place: &ReportPlace,
    report: &ReportRecord,
    (happening, payout): (Option<Happening>, Option<PayoutRecord>),
) -> Commit {
    let (lead, company) = (report.receipt.lead_uuid, report.company);
    // A commit about an erased lead is refused.
    let commit = if place.is_of_erased() { commit } else { commit.about(lead) };
    let commit = commit.put(place.tree(), place.key(), codec::encode_json(report));
    let commit = report.action.iter().fold(commit, |commit, action| {
        commit.put(Tree::LeadActions, key_under(lead, action.uuid), codec::encode_json(action))
    });
    let commit = happening.into_iter().fold(commit, |commit, one| with_event(commit, company, one));
    payout.into_iter().fold(commit, |commit, payout| with_payout(commit, company, payout))
}
