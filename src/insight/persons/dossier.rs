//! The dossier: a copy of everything that is stored about a person, for answering an access request.

use chrono::Utc;
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::consents::{Agreed, agreed};
use crate::prefills::prefills_of;
use offerd_engine::conversions::partner_events::ReportRecord;
use offerd_engine::matching::engine::MatchingEngine;
use offerd_engine::matching::suppressions::Digests;
use offerd_engine::rate_table::record::CallRecord;
use offerd_engine::rate_table::table::Table;
use offerd_engine::records::public_ids::place;
use offerd_engine::records::transcripts::AskTranscript;
use offerd_engine::records::{Found, RecordUnavailable, history, reading, transcripts};
use offerd_model::{
    EventType, Lead, LeadAction, LeadStatus, OfferDisplay, PartnerEvent, ProductType, SessionInit, Timestamp,
};
use offerd_store::Tree;
use offerd_store::entities::{Happening, LeadRecord, PayoutRecord, Tag};
use offerd_store::tokens::Tokens;

/// Everything that is stored about a lead's applicant.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessExport {
    /// When the dossier was compiled.
    pub exported_at: Timestamp,
    /// The name of the lead's company.
    pub company_name: String,
    /// When the lead was created.
    pub lead_created_at: Timestamp,
    /// When the lead last changed.
    pub lead_updated_at: Timestamp,
    /// The consents that the applicant gave, with times.
    pub consents: Vec<Agreed>,
    /// The lead as it was sent.
    pub lead: LeadRecord,
    /// The lead's status.
    pub status: LeadStatus,
    /// The actions recorded for the lead.
    pub lead_actions: Vec<LeadAction>,
    /// The rate tables as the applicant was shown them.
    pub rate_tables: Vec<Box<RawValue>>,
    /// The lead's events.
    pub lead_events: Vec<ExportedEvent>,
    /// The lead's payouts.
    pub lead_payouts: Vec<Earned>,
    /// The client tags of the lead.
    pub client_tags: Vec<Tagged>,
    /// The events that partners reported.
    pub partner_reports: Vec<PartnerEvent>,
    /// The progress of asks that take several calls, with the stored parts of the answers.
    pub partner_calls: Vec<PartnerCall>,
    /// The transcripts of requests to partners and their answers, where these are stored.
    pub partner_transcripts: Vec<AskTranscript>,
    /// Clicks per offer.
    pub offer_clicks: Vec<OfferClicks>,
    /// The displays of its offers.
    pub offer_displays: Vec<OfferDisplay>,
    /// The session in which the lead was sent.
    pub visits: Vec<SessionInit>,
    /// Prefills under the lead's uuid that have not been read yet.
    pub prefills: Vec<Lead>,
    /// The suppression lists that name the applicant at present.
    pub suppression_lists: Vec<String>,
}

/// The progress of an ask that takes several calls.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartnerCall {
    /// The rate table.
    pub rate_table_uuid: Uuid,
    /// The partner's key.
    pub partner: String,
    /// When the progress was recorded.
    pub at: Timestamp,
    /// Whether the lead was about to be sent; otherwise that call was only the next one.
    pub sent: bool,
    /// The partner's bid for the lead, in dollars.
    pub bid: Option<f64>,
    /// The stored parts of its answers.
    pub kept: Box<RawValue>,
    /// The result that arrived after the ask had ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later: Option<String>,
}

/// The clicks on an offer, including those whose details are no longer stored.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfferClicks {
    /// The offer.
    pub offer_uuid: Uuid,
    /// The number of clicks since counting began.
    pub clicks: u64,
}

/// An event of the lead.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedEvent {
    /// The type of event.
    pub event_type: EventType,
    /// When it happened.
    pub event_created_at: Timestamp,
    /// The name of the institution involved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub financial_institution_name: Option<String>,
    /// The product type involved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_type: Option<ProductType>,
    /// The amount involved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount_in_cents: Option<i32>,
}

/// A payout.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Earned {
    /// When it was booked.
    pub booked_at: Timestamp,
    /// The amount; negative for a reversal.
    pub payout_in_cents: f64,
}

/// A value of a client tag.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tagged {
    /// The tag.
    pub key: String,
    /// The value.
    pub value: String,
    /// When it arrived.
    pub created_at: Timestamp,
}

/// Compiles the dossier of a lead's applicant; `None` when the lead does not exist or was erased. Scans feeds
/// from the lead's creation on, so it may take a while.
///
/// # Errors
/// [`RecordUnavailable`], already logged, when any part cannot be read.
pub fn dossier(engine: &MatchingEngine, lead: Uuid) -> Found<Option<AccessExport>> {
    let store = &engine.records.store;
    let Some(record) = reading::lead(store, lead)? else { return Ok(None) };
    let (mut rate_tables, mut offer_clicks, mut partner_calls) = (Vec::new(), Vec::new(), Vec::new());
    let mut partner_transcripts = Vec::new();
    for table in reading::tables_of(store, &record) {
        let Some(table) = reading::table(&engine.records, table)? else { continue };
        offer_clicks.extend(clicks_on(engine, &table)?);
        partner_calls.extend(calls_for(engine, &table)?);
        partner_transcripts.extend(transcripts_of(engine, &table)?);
        let shown = engine.snapshot(&table).ok_or(RecordUnavailable)?;
        let json = String::from_utf8(shown.json.to_vec()).map_err(|_| RecordUnavailable)?;
        rate_tables.push(RawValue::from_string(json).map_err(|_| RecordUnavailable)?);
    }
    let lead_actions = history::lead_actions(&engine.records, &record)?;
    let (company, since) = (record.company, record.created_at);
    let events = reading::feed_since::<Happening>(store, Tree::LeadEvents, company, since);
    let events = events.filter(|event| event.lead == lead && event.taken_back_at.is_none());
    let payouts = reading::feed_since::<PayoutRecord>(store, Tree::LeadPayouts, company, since);
    let tags = reading::tags_of(store, &record);
    let session = record.lead.session_uuid;
    let since_us = reading::made_since_us(since).to_be_bytes();
    let displays = store.scan_about(lead, Tree::OfferDisplays, since_us, []);
    let visits = reading::of_scan::<SessionInit>(store, Tree::Sessions, store.scan(Tree::Sessions, []));
    Ok(Some(AccessExport {
        exported_at: Utc::now().into(),
        company_name: Tokens::of(store.clone()).name_of(record.company),
        lead_created_at: Timestamp::at(record.created_at),
        lead_updated_at: Timestamp::at(record.updated_at),
        consents: agreed(&record),
        status: history::status(&lead_actions),
        lead_actions,
        rate_tables,
        lead_events: events.map(exported).collect(),
        lead_payouts: payouts.filter(|payout| payout.lead == lead).map(earned).collect(),
        client_tags: tags.map(tagged).collect(),
        partner_reports: reports(engine, lead),
        partner_calls,
        partner_transcripts,
        offer_clicks,
        offer_displays: reading::of_scan::<OfferDisplay>(store, Tree::OfferDisplays, displays).collect(),
        visits: visits.filter(|visit| Some(visit.session_uuid) == session).collect(),
        prefills: prefills_of(store, record.company, |of| of == lead).map(|(_, prefill)| prefill).collect(),
        suppression_lists: engine
            .suppressions
            .now()
            .naming(&Digests::with_earlier(&record.lead, &record.earlier_digests))
            .listed,
        lead: record,
    }))
}

fn clicks_on(engine: &MatchingEngine, table: &Table) -> Found<Vec<OfferClicks>> {
    let uuid = table.head().uuid;
    let mut opened = Vec::new();
    for number in table.numbers() {
        if let Some(clicks) = reading::count(&engine.records.store, Tree::Clicks, place(uuid, number))? {
            opened.push(OfferClicks { offer_uuid: engine.records.templates.ids.offer(uuid, number), clicks });
        }
    }
    Ok(opened)
}

fn calls_for(engine: &MatchingEngine, table: &Table) -> Found<Vec<PartnerCall>> {
    let rate_table_uuid = table.head().uuid;
    let calls = reading::calls(&engine.records.store, rate_table_uuid)?;
    let told = calls.into_iter().map(|(seat, CallRecord { at, sent, bid, kept, later, .. })| {
        let partner = table.seats().get(usize::from(seat)).map(|seat| seat.key.clone()).unwrap_or_default();
        let at = Timestamp::at(at);
        let kept = RawValue::from_string(kept).map_err(|_| RecordUnavailable)?;
        let later = later.map(|later| later.end.sentence());
        Ok(PartnerCall { rate_table_uuid, partner, at, sent, bid, kept, later })
    });
    told.collect()
}

fn transcripts_of(engine: &MatchingEngine, table: &Table) -> Found<Vec<AskTranscript>> {
    let kept = engine.configuration().rules.transcripts.kept;
    let found = transcripts::of_table(&engine.records.store, table.head().uuid, kept)?;
    let shown = found.into_iter().filter_map(|kept| {
        let seat = table.seats().get(usize::from(kept.seat))?;
        Some(AskTranscript::of(seat.key.clone(), seat.product_type, kept))
    });
    Ok(shown.collect())
}

fn reports(engine: &MatchingEngine, lead: Uuid) -> Vec<PartnerEvent> {
    let store = &engine.records.store;
    let scan = store.scan_about(lead, Tree::PartnerEvents, [], []);
    reading::of_scan::<ReportRecord>(store, Tree::PartnerEvents, scan).map(|report| report.event).collect()
}

fn exported(happening: Happening) -> ExportedEvent {
    ExportedEvent {
        event_type: happening.event_type,
        event_created_at: Timestamp::at(happening.at),
        financial_institution_name: happening.institution.map(|(_, name)| name),
        product_type: happening.product_type,
        amount_in_cents: happening.amount_in_cents,
    }
}

fn earned(payout: PayoutRecord) -> Earned {
    Earned { booked_at: Timestamp::at(payout.booked_at_ms), payout_in_cents: payout.cents }
}

fn tagged(Tag { key, value, created_at_ms, .. }: Tag) -> Tagged {
    Tagged { key, value, created_at: Timestamp::at(created_at_ms) }
}
