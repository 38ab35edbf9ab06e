//! A click on an offer: recorded, then sent on to the partner.

use chrono::{Duration, Utc};
use uuid::Uuid;

use super::engine::Engine;
use super::matchmaker::Unavailable;
use super::reading;
use super::record::table_of;
use super::writing;
use crate::model::{LeadAction, LeadActionType, Timestamp};
use crate::partners::Terms;

/// How long an offer can be opened (facts, Offers over time).
const OPEN_DAYS: i64 = 31;

/// Where a click leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Click {
    /// To the partner, at this URL.
    Redirect(String),
    /// Nowhere: there is no such offer.
    Unknown,
    /// Nowhere any more: the offer's table is older than 31 days.
    Expired,
}

/// Opens an offer: once this returns a redirect, the click is recorded, as a lead event and as a lead action.
///
/// An offer's uuid is its click id. `record` is false for who only asks where it leads.
///
/// # Errors
/// [`Unavailable`] when the store cannot be read or written.
pub async fn click(engine: &Engine, offer: Uuid, record: bool) -> Result<Click, Unavailable> {
    let (table, number) = table_of(offer);
    let Some(table) = reading::table(engine, table)? else { return Ok(Click::Unknown) };
    let Some((seat, quote)) = table.offer(number) else { return Ok(Click::Unknown) };
    let now = Utc::now();
    if now.timestamp_millis() > table.head().created_at + Duration::days(OPEN_DAYS).num_milliseconds() {
        return Ok(Click::Expired);
    }
    let text = engine.texts.offer(quote.text).map_err(|_| Unavailable)?;
    let Some(imprint) = &text.imprint else { return Ok(Click::Unknown) };

    if record {
        let at = Timestamp::from(now);
        let action = LeadAction {
            uuid: Uuid::now_v7(),
            action_type: action_of(&quote.terms),
            action_date: at,
            originator_key: Some(seat.key.clone()),
            demand_sub_account_id: seat.sub_account_id,
            reject_reason: None,
            amount: None,
            origination_fee: None,
            offer_click_id: Some(now.timestamp_micros()),
            created_at: at,
            deleted_at: None,
        };
        let lead = reading::lead(&engine.store, table.head().lead)?.ok_or(Unavailable)?;
        engine.store.commit(writing::click(&lead, seat, &action)).await.map_err(|_| Unavailable)?;
    }
    let url = imprint.landing_url.replace("{clickId}", &offer.to_string());
    Ok(Click::Redirect(url.replace("{leadUuid}", &table.head().lead.to_string())))
}

/// The lead action of opening an offer, by the array that it stands in.
fn action_of(terms: &Terms) -> LeadActionType {
    match terms {
        Terms::Loan(_) => LeadActionType::ClickedReferralLink,
        Terms::Card(_) => LeadActionType::ClickedCreditCardOfferLink,
        Terms::Mortgage(_) => LeadActionType::ClickedMortgageOfferLink,
        Terms::Savings(_) => LeadActionType::ClickedSavingsOfferLink,
        Terms::Special(_) => LeadActionType::ClickedSpecialOfferLink,
    }
}
