//! What is written when: the commits of a click and of a report.

use uuid::Uuid;

use super::attribution::Attribution;
use super::partner_events::ReportRecord;
use crate::model::{EventType, LeadAction, PartnerEventReceipt, ProductType, Timestamp};
use crate::partners::SeatTemplate;
use crate::records::writing::{About, institution, payout, with_event, with_payout};
use crate::store::entities::{Happening, HappeningDetails, LeadRecord, Payout};
use crate::store::{Commit, Tree, codec};

/// The first guard of [`counted_click`].
pub const CLICKS_COUNTED: usize = 0;

/// One click more on an offer, unless another was counted meanwhile.
pub fn counted_click(lead: &LeadRecord, place: Uuid, before: Option<u64>) -> Commit {
    let commit = Commit::new().about(lead.uuid);
    let commit = commit.as_found(Tree::Clicks, place.as_bytes(), before.map(u64::to_be_bytes));
    let count = before.unwrap_or(0).saturating_add(1);
    commit.put(Tree::Clicks, place.as_bytes(), count.to_be_bytes().to_vec())
}

/// Adds that a click on an offer of a seat is kept: the lead event and the lead action.
pub fn with_click(
    commit: Commit,
    lead: &LeadRecord,
    seat: &SeatTemplate,
    action: &LeadAction,
    details: HappeningDetails,
) -> Commit {
    let event =
        with_institution(lead, EventType::OfferClicked, action.action_date, seat, Some(seat.product_type));
    let key = action_key(lead.uuid, action);
    let commit = commit.put(Tree::LeadActions, key, codec::encode_json(action));
    with_event(commit, lead.company, Happening { cause: Some(action.uuid), details, ..event })
}

/// Adds to the commit of a click that it has earned its payout, unless one has before.
pub fn with_click_payout(
    commit: Commit,
    lead: &LeadRecord,
    seat: &SeatTemplate,
    place: Uuid,
    action: &LeadAction,
    cents: f64,
) -> Commit {
    let commit =
        commit.absent(Tree::PaidClicks, place.as_bytes()).put(Tree::PaidClicks, place.as_bytes(), Vec::new());
    with_payout(commit, lead.company, payout(action.uuid, (lead.uuid, seat), action.action_date, cents))
}

/// What a partner reported, with the lead event, the lead action and the payout that it becomes, unless it has reported
/// under the same key before.
pub fn report(key: &[u8], report: &ReportRecord, about: &Attribution) -> Commit {
    let receipt = &report.receipt;
    let mut commit = with_report(Commit::new().absent(Tree::PartnerEvents, key), key, report);
    if let Some(happening) = &report.happening {
        commit = with_event(commit, report.company, happening.clone());
    }
    match receipt.payout_in_cents {
        Some(cents) => {
            let product_type = receipt.product_type.unwrap_or(about.seat.product_type);
            let earned = payout(receipt.uuid, (receipt.lead_uuid, &about.seat), receipt.created_at, cents.0);
            let (product_type, earned_at) = (Some(product_type), report.earned_at);
            with_payout(commit, report.company, Payout { product_type, earned_at, ..earned })
        }
        None => commit,
    }
}

/// The lead event that a report becomes, if any.
pub fn happening(receipt: &PartnerEventReceipt, about: &Attribution) -> Option<Happening> {
    let event_type = receipt.event_type.event_type()?;
    let event =
        with_institution(&about.lead, event_type, receipt.occurred_at, &about.seat, receipt.product_type);
    let details = HappeningDetails {
        offer: receipt.offer_uuid,
        product_sub_type: about.product_sub_type,
        reject_reason: receipt.reject_reason,
        payout_cents: receipt.payout_in_cents.map(|cents| cents.0),
    };
    Some(Happening { amount_in_cents: receipt.amount_in_cents, cause: Some(receipt.uuid), details, ..event })
}

/// A report that was taken back, unless it has changed meanwhile: its action is deleted, its event and its payout, which was of
/// a product type and an institution, are taken back.
pub fn revoked_report(
    key: &[u8],
    earlier: &ReportRecord,
    revoked: &ReportRecord,
    (product_type, institution): (Option<ProductType>, Option<(Uuid, String)>),
) -> Commit {
    let guarded = Commit::new().unchanged(Tree::PartnerEvents, key, codec::encode_json(earlier));
    let commit = with_report(guarded, key, revoked);
    let receipt = &revoked.receipt;
    let Some(at) = receipt.revoked_at else { return commit };
    let commit = match &revoked.happening {
        Some(happening) => {
            let taken_back = Happening { taken_back_at: Some(at.millis()), ..happening.clone() };
            with_event(commit, revoked.company, taken_back)
        }
        None => commit,
    };
    match receipt.payout_in_cents {
        Some(cents) => {
            let taken_back = Payout {
                uuid: receipt.uuid,
                lead: receipt.lead_uuid,
                booked_at_ms: at.millis(),
                cents: -cents.0,
                product_type,
                institution,
                takes_back: Some(receipt.created_at.millis()),
                earned_at: revoked.earned_at,
            };
            with_payout(commit, revoked.company, taken_back)
        }
        None => commit,
    }
}

fn with_report(commit: Commit, key: &[u8], report: &ReportRecord) -> Commit {
    let commit = commit.about(report.receipt.lead_uuid);
    let commit = commit.put(Tree::PartnerEvents, key, codec::encode_json(report));
    match &report.action {
        Some(action) => {
            let key = action_key(report.receipt.lead_uuid, action);
            commit.put(Tree::LeadActions, key, codec::encode_json(action))
        }
        None => commit,
    }
}

fn action_key(lead: Uuid, action: &LeadAction) -> Vec<u8> {
    [&lead.as_bytes()[..], action.uuid.as_bytes()].concat()
}

/// Something that happened to a lead at the institution of a seat.
fn with_institution(
    lead: &LeadRecord,
    event_type: EventType,
    at: Timestamp,
    seat: &SeatTemplate,
    product_type: Option<ProductType>,
) -> Happening {
    Happening {
        institution: Some(institution(seat)),
        product_type,
        ..About::of(lead).happening(event_type, at.millis())
    }
}
