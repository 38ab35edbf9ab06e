//! A click on an offer: counted, and redirected to the partner. The first clicks are stored, each as a lead
//! event and a lead action, so repeated clicks grow neither the lead nor its feed.

use std::collections::HashMap;
use std::sync::Arc;

use metrics::counter;
use uuid::Uuid;

use crate::matching::engine::MatchingEngine;
use crate::rate_table::table::{NumberedOffer, Table};
use crate::records::history::action_at;
use crate::records::postings::Posting;
use crate::records::public_ids::place;
use crate::records::writing::{LeadReference, at_seat, key_under, one_more, payout, with_event, with_payout};
use crate::records::{Found, RecordUnavailable, reading};
use offerd_base::ids;
use offerd_base::telemetry::metrics::CLICKS;
use offerd_model::{EventType, LeadAction, LeadActionType};
use offerd_partners::base_url::absolute;
use offerd_partners::declared::PayoutStep;
use offerd_partners::template::OFFER_MS;
use offerd_partners::{QuoteTerms, Template};
use offerd_store::entities::{Happening, HappeningDetails, LeadRecord, PayoutRecord};
use offerd_store::{Commit, CommitError, Tree, codec};

const CLICKS_COUNTED: usize = 0;

/// What a click address refers to.
#[derive(Debug)]
pub enum Click {
    /// An offer.
    Offer(Box<ClickedOffer>),
    /// No offer has this address.
    Unknown,
    /// The offer of this company's table has expired: after 31 days, or by its own validity.
    Expired(Uuid),
}

/// A clicked offer.
#[derive(Debug)]
pub struct ClickedOffer {
    offer: Uuid,
    number: u16,
    table: Table,
    text: Arc<Template>,
}

/// Why a click is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unrecorded {
    /// The store cannot be read or written.
    Unavailable,
    /// Too many clicks on the offer are waiting.
    Crowded,
}

impl From<CommitError> for Unrecorded {
    fn from(failure: CommitError) -> Self {
        match failure {
            CommitError::Busy | CommitError::Crowded => Self::Crowded,
            _ => Self::Unavailable,
        }
    }
}

/// Finds the offer of an address. An offer's UUID is its click id.
pub fn click(engine: &MatchingEngine, offer: Uuid) -> Found<Click> {
    let named = reading::named(&engine.records, offer)?;
    let Some((table, Some(number))) = named else { return Ok(Click::Unknown) };
    let Some((_, quote)) = table.offer(number) else { return Ok(Click::Unknown) };
    let (made_at, now) = (table.head().created_at, engine.now_ms());
    if now > made_at.saturating_add(OFFER_MS) {
        return Ok(Click::Expired(table.head().company));
    }
    let text = engine.records.templates.of(quote).map_err(|_| RecordUnavailable)?;
    if now > text.stands_until(quote, made_at) {
        return Ok(Click::Expired(table.head().company));
    }
    if text.click_terms.is_none() {
        return Ok(Click::Unknown);
    }
    Ok(Click::Offer(Box::new(ClickedOffer { offer, number, table, text })))
}

/// When each offer of a table starts to be [`Click::Expired`], Unix milliseconds, by the offer's UUID.
pub fn ends(engine: &MatchingEngine, table: Uuid) -> Found<HashMap<Uuid, i64>> {
    let Some(table) = reading::table(&engine.records, table)? else { return Ok(HashMap::new()) };
    let (head, templates) = (table.head(), &engine.records.templates);
    let offers = table.arrays().flat_map(|(_, offers)| offers);
    let end = |offer: &NumberedOffer| {
        let text = templates.of(&offer.quote).map_err(|_| RecordUnavailable)?;
        let until = text.stands_until(&offer.quote, head.created_at);
        Ok((templates.ids.offer(head.uuid, offer.number), until.saturating_add(1)))
    };
    offers.map(end).collect()
}

impl ClickedOffer {
    /// Stores or counts the click and returns the partner's address. Clicks on one offer are serialised.
    pub async fn record(&self, engine: &MatchingEngine) -> Result<String, Unrecorded> {
        let lead = reading::lead(&engine.records.store, self.table.head().lead).ok().flatten();
        let lead = lead.ok_or(Unrecorded::Unavailable)?;
        let mut lock = engine.lock_record(Tree::Clicks, place(self.table.head().uuid, self.number)).await?;
        while lock.should_try().await {
            match self.write(engine, &lead).await {
                Err(CommitError::Guard { index: CLICKS_COUNTED, .. }) => {}
                written => return Ok(written.map(|()| self.url(&engine.base_url))?),
            }
        }
        Err(Unrecorded::Crowded)
    }

    fn url(&self, base_url: &str) -> String {
        let (_, quote) = self.table.offer(self.number).expect("an opened offer is shown");
        let declared = self.text.click_terms.as_ref().map(|click_terms| &click_terms.landing_url);
        let landing_url = quote.landing_url.as_ref().or(declared).expect("an opened offer leads somewhere");
        let url = absolute(landing_url, base_url).replace("{clickId}", &self.offer.to_string());
        url.replace("{leadUuid}", &self.table.head().lead.to_string())
    }

    async fn write(&self, engine: &MatchingEngine, lead: &LeadRecord) -> Result<(), CommitError> {
        let place = place(self.table.head().uuid, self.number);
        let before = reading::count(&engine.records.store, Tree::Clicks, place);
        let before = before.map_err(|_| unreadable("the count of clicks"))?;
        let is_kept = before.unwrap_or(0) < engine.configuration().rules.clicks_kept_per_offer;
        if is_kept {
            self.write_kept(engine, lead, place, before).await?;
        } else {
            engine.commit(counted_click(lead, place, before)).await?;
        }
        counter!(CLICKS, "kept" => if is_kept { "yes" } else { "no" }).increment(1);
        Ok(())
    }

    /// Stores a click, with the payout if the offer earns one by its first click. Test leads earn nothing.
    async fn write_kept(
        &self,
        engine: &MatchingEngine,
        lead: &LeadRecord,
        place: Uuid,
        before: Option<u64>,
    ) -> Result<(), CommitError> {
        let (seat, quote) = self.table.offer(self.number).expect("an opened offer is shown");
        let now = engine.now();
        let action = LeadAction {
            offer_click_id: Some(now.timestamp_micros()),
            ..action_at(seat, ids::timed(), action_of(&quote.terms), now.into())
        };
        let (offer, product_sub_type) = (Some(self.offer), self.text.sub_type);
        let details = HappeningDetails { offer, product_sub_type, ..Default::default() };
        let click = |payout_cents: Option<f64>| {
            let details = HappeningDetails { payout_cents, ..details };
            let event = LeadReference::of(lead).happening(EventType::OfferClicked, now.timestamp_millis());
            let event = Happening { cause: Some(action.uuid), details, ..at_seat(seat, event) };
            let key = key_under(lead.uuid, action.uuid);
            let commit =
                counted_click(lead, place, before).put(Tree::LeadActions, key, codec::encode_json(&action));
            with_event(commit, lead.company, event)
        };
        let earned = self.text.click_terms.as_ref().map(|click_terms| click_terms.payout);
        let earned = earned.filter(|earned| earned.on == PayoutStep::Click);
        let cents = earned.map_or(0.0, |earned| earned.dollars(None) * 100.0);
        let table = (self.table.head().uuid, self.table.seats());
        let is_sold = || reading::is_sold(&engine.records.store, table, seat);
        if cents > 0.0 && !lead.test && !is_sold().map_err(|_| unreadable("a bid"))? {
            let paid =
                click(Some(cents)).absent(Tree::PaidClicks, place).put(Tree::PaidClicks, place, Vec::new());
            let payout = PayoutRecord {
                event_type: Some(EventType::OfferClicked),
                offer,
                ..payout(action.uuid, (lead.uuid, seat), action.action_date, cents)
            };
            let paid = with_payout(paid, lead.company, payout);
            let (partner, at) = (seat.key.clone(), action.action_date.millis());
            let posting = Posting { partner, product_type: seat.product_type, at, cents };
            match engine.commit(posting.write(paid, action.uuid)).await {
                // The payout was earned by an earlier click.
                Err(CommitError::Guard { index, .. }) if index != CLICKS_COUNTED => {}
                written => return written.map(|()| engine.limiter.add_payout(&posting)),
            }
        }
        engine.commit(click(None)).await
    }
}

fn counted_click(lead: &LeadRecord, place: Uuid, before: Option<u64>) -> Commit {
    one_more(Commit::new().about(lead.uuid), Tree::Clicks, place, before)
}

fn unreadable(what: &str) -> CommitError {
    CommitError::Unread(format!("{what} cannot be read"))
}

fn action_of(terms: &QuoteTerms) -> LeadActionType {
    match terms {
        QuoteTerms::Loan(_) => LeadActionType::ClickedReferralLink,
        QuoteTerms::Card(_) => LeadActionType::ClickedCreditCardOfferLink,
        QuoteTerms::Mortgage(_) => LeadActionType::ClickedMortgageOfferLink,
        QuoteTerms::Savings(_) => LeadActionType::ClickedSavingsOfferLink,
        QuoteTerms::Special(_) => LeadActionType::ClickedSpecialOfferLink,
    }
}
