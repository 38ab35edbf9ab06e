//! A click on an offer: recorded, then sent on to the partner.

use chrono::{Duration, Utc};
use uuid::Uuid;

use super::engine::Engine;
use super::history::action_at;
use super::matchmaker::Unavailable;
use super::owed::Owed;
use super::reading;
use super::record::table_of;
use super::writing;
use crate::model::{LeadAction, LeadActionType};
use crate::partners::declared::PayoutStep;
use crate::partners::text::Imprint;
use crate::partners::{SeatText, Terms};
use crate::store::CommitError;
use crate::store::entities::LeadRecord;

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
        let lead = reading::lead(&engine.store, table.head().lead)?.ok_or(Unavailable)?;
        let action = LeadAction {
            offer_click_id: Some(now.timestamp_micros()),
            ..action_at(seat, Uuid::now_v7(), action_of(&quote.terms), now.into())
        };
        write(engine, &lead, seat, &action, offer, imprint).await?;
    }
    let landing_url = quote.landing_url.as_ref().unwrap_or(&imprint.landing_url);
    let url = landing_url.replace("{clickId}", &offer.to_string());
    Ok(Click::Redirect(url.replace("{leadUuid}", &table.head().lead.to_string())))
}

/// Writes a click, with its payout where the offer earns one by its first click. Test leads earn nothing.
async fn write(
    engine: &Engine,
    lead: &LeadRecord,
    seat: &SeatText,
    action: &LeadAction,
    offer: Uuid,
    imprint: &Imprint,
) -> Result<(), Unavailable> {
    let click = || writing::click(lead, seat, action);
    let cents = imprint.payout.dollars(None) * 100.0;
    if imprint.payout.on == PayoutStep::Click && cents > 0.0 && !lead.test {
        let paid = writing::with_click_payout(click(), lead, seat, offer, action.action_date, cents);
        let (partner, at) = (seat.key.clone(), action.action_date.millis());
        let owed = Owed { partner, product_type: seat.product_type, at, cents };
        match engine.commit(owed.write(paid, action.uuid)).await {
            Err(CommitError::Guard { .. }) => {} // it has earned its payout before
            written => return written.map(|()| engine.limiter.book(&owed)).map_err(|_| Unavailable),
        }
    }
    engine.commit(click()).await.map_err(|_| Unavailable)
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
