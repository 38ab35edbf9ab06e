//! The history of a lead: the institutions' decisions in its rate tables, and the actions recorded since.

use std::collections::HashMap;

use uuid::Uuid;

use super::{Found, Records, reading};
use crate::rate_table::outcome::Decision;
use offerd_model::{LeadAction, LeadActionType, LeadStatus, Timestamp};
use offerd_partners::{Fingerprint, RecordedSeat};
use offerd_store::entities::LeadRecord;

const MOST_CLICKS_SHOWN: usize = 200;

/// The actions of a lead, in the order of recording.
pub fn lead_actions(records: &Records, lead: &LeadRecord) -> Found<Vec<LeadAction>> {
    let mut actions = Vec::new();
    for table in reading::tables_of(&records.store, lead) {
        let Some(folded) = reading::table(records, table)? else { continue };
        for answer in reading::answers(&records.store, table) {
            for answer in answer? {
                let Some(decision) = answer.outcome.decision() else { continue };
                let seat = &folded.seats()[usize::from(answer.seat)];
                let at = Timestamp::at(answer.at);
                // A seat decides once per table, so table and seat identify the action.
                let uuid = Uuid::new_v8(Fingerprint::of(&format!("lead action {table} {}", answer.seat)).0);
                let action_type = match decision {
                    Decision::Approved => LeadActionType::ApiApproved,
                    Decision::Listed => LeadActionType::ApiListing,
                    Decision::Rejected => LeadActionType::ApiRejected,
                };
                actions.push(LeadAction {
                    reject_reason: answer.outcome.reject_reason(),
                    ..action_at(seat, uuid, action_type, at)
                });
            }
        }
    }
    actions.extend(without_old_clicks(reading::actions(&records.store, lead.uuid)));
    actions.sort_by_key(|action| action.created_at);
    Ok(actions)
}

/// Keeps only the latest clicks of each kind: older builds recorded every click, which may be very many.
fn without_old_clicks(mut actions: Vec<LeadAction>) -> Vec<LeadAction> {
    let mut shown: HashMap<LeadActionType, usize> = HashMap::new();
    actions.reverse();
    actions.retain(|action| {
        let of_kind = shown.entry(action.action_type).or_default();
        *of_kind += 1;
        action.offer_click_id.is_none() || *of_kind <= MOST_CLICKS_SHOWN
    });
    actions.reverse();
    actions
}

/// An action at a seat's institution, dated when the service learned of it.
pub fn action_at(seat: &RecordedSeat, uuid: Uuid, action_type: LeadActionType, at: Timestamp) -> LeadAction {
    LeadAction {
        uuid,
        action_type,
        action_date: at,
        originator_key: Some(seat.key.clone()),
        demand_sub_account_id: seat.sub_account_id,
        reject_reason: None,
        amount: None,
        origination_fee: None,
        offer_click_id: None,
        created_at: at,
        deleted_at: None,
    }
}

/// The furthest funnel step among the actions that were not reversed.
pub fn status(actions: &[LeadAction]) -> LeadStatus {
    let standing = actions.iter().filter(|action| action.deleted_at.is_none());
    standing.fold(LeadStatus::INITIALIZED, |status, action| status.after(action.action_type))
}
