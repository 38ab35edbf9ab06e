//! A dossier: everything that is held on a person, for who asks for it.

use chrono::Utc;
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::consents::{Agreed, agreed};
use crate::prefills::prefills_of;
use offerd_engine::conversions::partner_events::ReportRecord;
use offerd_engine::matching::engine::Engine;
use offerd_engine::matching::suppressions::Digests;
use offerd_engine::rate_table::call_record::CallRecord;
use offerd_engine::rate_table::table::Table;
use offerd_engine::records::public_ids::place;
use offerd_engine::records::shown_transcript::AskTranscript;
use offerd_engine::records::{Unavailable, history, reading, transcripts};
use offerd_model::{
    EventType, Lead, LeadAction, LeadStatus, OfferDisplay, PartnerEvent, ProductType, SessionInit, Timestamp,
};
use offerd_store::Tree;
use offerd_store::entities::{Happening, LeadRecord, Payout, Tag};
use offerd_store::tokens::Tokens;

/// Everything that is held on the person of a lead.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dossier {
    /// When it was put together.
    pub exported_at: Timestamp,
    /// Whose lead it is, by name.
    pub company_name: String,
    /// When it was made.
    pub lead_created_at: Timestamp,
    /// When it changed last.
    pub lead_updated_at: Timestamp,
    /// What the person agreed to, and when.
    pub consents: Vec<Agreed>,
    /// The lead as it was sent, and when.
    pub lead: LeadRecord,
    /// How far it came.
    pub status: LeadStatus,
    /// What was done with it.
    pub lead_actions: Vec<LeadAction>,
    /// The offers that were made, as the person was shown them.
    pub rate_tables: Vec<Box<RawValue>>,
    /// What happened to it.
    pub lead_events: Vec<Event>,
    /// What it earned.
    pub lead_payouts: Vec<Earned>,
    /// How it was tagged.
    pub client_tags: Vec<Tagged>,
    /// What partners reported of it.
    pub partner_reports: Vec<PartnerEvent>,
    /// How far the calls to partners came that are asked in several, and what was kept of their answers.
    pub partner_calls: Vec<PartnerCall>,
    /// What partners were sent and answered, where that is kept.
    pub partner_transcripts: Vec<AskTranscript>,
    /// How often its offers were opened.
    pub offer_clicks: Vec<OfferClicks>,
    /// Offers that were seen.
    pub offer_displays: Vec<OfferDisplay>,
    /// The visit in which it was sent.
    pub visits: Vec<SessionInit>,
    /// What was given under its uuid and waits to be taken up.
    pub prefills: Vec<Lead>,
    /// The suppression lists that the person is on by now.
    pub suppression_lists: Vec<String>,
}

/// How far the calls to a partner came that is asked in several.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartnerCall {
    /// The rate table.
    pub rate_table_uuid: Uuid,
    /// The partner, by its key.
    pub partner: String,
    /// When that was written down.
    pub at: Timestamp,
    /// Whether the lead was about to be sent; else that call was only the next.
    pub sent: bool,
    /// What the partner has bid for the lead, dollars.
    pub bid: Option<f64>,
    /// What was kept of its answers.
    pub kept: Box<RawValue>,
    /// What came of it when the ask had ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later: Option<String>,
}

/// How often an offer was opened, the clicks included of which nothing more is kept.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfferClicks {
    /// The offer.
    pub offer_uuid: Uuid,
    /// How often, since clicks are counted.
    pub clicks: u64,
}

/// Something that happened.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What.
    pub event_type: EventType,
    /// When.
    pub event_created_at: Timestamp,
    /// With which institution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub financial_institution_name: Option<String>,
    /// About which product.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_type: Option<ProductType>,
    /// The amount at stake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount_in_cents: Option<i32>,
}

/// Something that was earned.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Earned {
    /// When.
    pub booked_at: Timestamp,
    /// How much; less than nothing where it was taken back.
    pub payout_in_cents: f64,
}

/// A value of a tag.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tagged {
    /// The tag.
    pub key: String,
    /// The value.
    pub value: String,
    /// When it came.
    pub created_at: Timestamp,
}

/// Puts together what is held on the person of a lead; `None` when there is no such lead, or none any more. Reads feeds
/// from the lead on, so it may take a while.
///
/// # Errors
/// [`Unavailable`], once reported, when a part of it cannot be read.
pub fn dossier(engine: &Engine, lead: Uuid) -> Result<Option<Dossier>, Unavailable> {
    let store = &engine.records.store;
    let Some(record) = reading::lead(store, lead)? else { return Ok(None) };
    let (mut rate_tables, mut offer_clicks, mut partner_calls) = (Vec::new(), Vec::new(), Vec::new());
    let mut partner_transcripts = Vec::new();
    for table in reading::tables_of(store, &record) {
        let Some(table) = reading::table(&engine.records, table)? else { continue };
        offer_clicks.extend(clicks_on(engine, &table)?);
        partner_calls.extend(calls_for(engine, &table)?);
        partner_transcripts.extend(transcripts_of(engine, &table)?);
        let shown = engine.snapshot(&table).ok_or(Unavailable)?;
        let json = String::from_utf8(shown.json.to_vec()).map_err(|_| Unavailable)?;
        rate_tables.push(RawValue::from_string(json).map_err(|_| Unavailable)?);
    }
    let lead_actions = history::lead_actions(&engine.records, &record)?;
    let (company, since) = (record.company, record.created_at);
    let events = reading::feed_since::<Happening>(store, Tree::LeadEvents, company, since);
    let events = events.filter(|event| event.lead == lead && event.taken_back_at.is_none());
    let payouts = reading::feed_since::<Payout>(store, Tree::LeadPayouts, company, since);
    let tags = reading::sealed_feed_of::<Tag>(store, Tree::LeadClientTags, &record);
    let session = record.lead.session_uuid;
    let since_us = reading::made_since_us(since).to_be_bytes();
    let displays = store.scan_about(lead, Tree::OfferDisplays, since_us, []);
    let visits = reading::of_scan::<SessionInit>(store, Tree::Sessions, store.scan(Tree::Sessions, []));
    Ok(Some(Dossier {
        exported_at: Utc::now().into(),
        company_name: Tokens::of(store.clone()).name_of(record.company),
        lead_created_at: Timestamp::at(record.created_at),
        lead_updated_at: Timestamp::at(record.updated_at),
        consents: agreed(&record),
        status: history::status(&lead_actions),
        lead_actions,
        rate_tables,
        lead_events: events.map(Event::from).collect(),
        lead_payouts: payouts.filter(|payout| payout.lead == lead).map(Earned::from).collect(),
        client_tags: tags.map(Tagged::from).collect(),
        partner_reports: reports(engine, lead),
        partner_calls,
        partner_transcripts,
        offer_clicks,
        offer_displays: reading::of_scan::<OfferDisplay>(store, Tree::OfferDisplays, displays).collect(),
        visits: visits.filter(|visit| Some(visit.session_uuid) == session).collect(),
        prefills: prefills_of(store, record.company, |of| of == lead).map(|(_, prefill)| prefill).collect(),
        suppression_lists: engine.suppressions.now().naming(&Digests::new(&record.lead)).listed,
        lead: record,
    }))
}

/// The offers of a table that were opened.
fn clicks_on(engine: &Engine, table: &Table) -> Result<Vec<OfferClicks>, Unavailable> {
    let uuid = table.head().uuid;
    let mut opened = Vec::new();
    for number in table.numbers() {
        if let Some(clicks) = reading::count(&engine.records.store, Tree::Clicks, place(uuid, number))? {
            opened.push(OfferClicks { offer_uuid: engine.records.templates.ids.offer(uuid, number), clicks });
        }
    }
    Ok(opened)
}

/// How far the calls of a table's partners came.
fn calls_for(engine: &Engine, table: &Table) -> Result<Vec<PartnerCall>, Unavailable> {
    let rate_table_uuid = table.head().uuid;
    let calls = reading::calls(&engine.records.store, rate_table_uuid)?;
    let told = calls.into_iter().map(|(seat, CallRecord { at, sent, bid, kept, later, .. })| {
        let partner = table.seats().get(usize::from(seat)).map(|seat| seat.key.clone()).unwrap_or_default();
        let at = Timestamp::at(at);
        let kept = RawValue::from_string(kept).map_err(|_| Unavailable)?;
        let later = later.map(|later| later.end.sentence());
        Ok(PartnerCall { rate_table_uuid, partner, at, sent, bid, kept, later })
    });
    told.collect()
}

/// What a table's partners were sent and answered.
fn transcripts_of(engine: &Engine, table: &Table) -> Result<Vec<AskTranscript>, Unavailable> {
    let kept = engine.configuration().rules.transcripts.kept;
    let found = transcripts::of_table(&engine.records.store, table.head().uuid, kept)?;
    let shown = found.into_iter().filter_map(|kept| {
        let seat = table.seats().get(usize::from(kept.seat))?;
        Some(AskTranscript::of(seat.key.clone(), seat.product_type, kept))
    });
    Ok(shown.collect())
}

fn reports(engine: &Engine, lead: Uuid) -> Vec<PartnerEvent> {
    let store = &engine.records.store;
    let scan = store.scan_about(lead, Tree::PartnerEvents, [], []);
    reading::of_scan::<ReportRecord>(store, Tree::PartnerEvents, scan).map(|report| report.event).collect()
}

impl From<Happening> for Event {
    fn from(happening: Happening) -> Self {
        Self {
            event_type: happening.event_type,
            event_created_at: Timestamp::at(happening.at),
            financial_institution_name: happening.institution.map(|(_, name)| name),
            product_type: happening.product_type,
            amount_in_cents: happening.amount_in_cents,
        }
    }
}

impl From<Payout> for Earned {
    fn from(payout: Payout) -> Self {
        Self { booked_at: Timestamp::at(payout.booked_at_ms), payout_in_cents: payout.cents }
    }
}

impl From<Tag> for Tagged {
    fn from(tag: Tag) -> Self {
        Self { key: tag.key, value: tag.value, created_at: Timestamp::at(tag.created_at_ms) }
    }
}
