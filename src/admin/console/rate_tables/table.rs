//! The page of a rate table.

use super::money::money;
use super::offers::arrays;
use super::person;
use super::timeline::{time, timeline};
use crate::console::prelude::*;
use offerd_engine::rate_table::reason::Reason;
use offerd_engine::records::transcripts;
use offerd_insight::hindsight::explanation::{OfferReason, SeatExplanation, TableExplanation, explanation};
use offerd_model::ClientTags;
use offerd_store::entities::LeadRecord;

/// Refresh interval of an open table, which is open for seconds.
const FRESH: Duration = Duration::from_secs(1);

const PAGE: ConsolePage = ConsolePage::new(Section::RateTables, "rate_table.html");

pub(super) struct TablePage {
    pub(super) lead: Uuid,
    pending: bool,
    fields: Value,
}

#[derive(Debug, PartialEq, Serialize)]
struct Objection {
    /// The offers; empty if it is about the partner.
    offers: Vec<String>,
    wanted: String,
    found: String,
}

impl TablePage {
    pub(super) fn view(self, request: &ConsoleRequest, reason: Option<String>) -> Result<View> {
        // A complete table never changes.
        let page = if self.pending { PAGE.fresh(FRESH) } else { PAGE };
        Ok(request.view(page, context! { reason, ..self.fields })?.titled("Rate table"))
    }

    /// Reads the page of a table, by its UUID or an offer's. Shows only the `revealed` personal attributes,
    /// and only the reported `tags`.
    pub(super) fn read(
        engine: &MatchingEngine,
        uuid: Uuid,
        (revealed, tags): (&[&str], &[String]),
    ) -> Result<Option<Self>, RecordUnavailable> {
        let Some((table, _)) = reading::named(&engine.records, uuid)? else { return Ok(None) };
        let uuid = table.head().uuid;
        let explained = explanation(&engine.records, &engine.book(), uuid)?;
        let explained = explained.and_then(|explained| explained.rate_tables.into_iter().next());
        let Some(explained) = explained else { return Ok(None) };
        let head = table.head();
        let Some(record) = reading::lead(&engine.records.store, head.lead)? else { return Ok(None) };
        let snapshot = engine.snapshot(&table).ok_or(RecordUnavailable)?;

        let kept = engine.configuration().rules.transcripts.kept;
        let transcribed = transcripts::seats(&engine.records.store, uuid, kept).into_iter();
        let transcribed: Vec<(&str, ProductType)> = transcribed
            .filter_map(|seat| table.seats().get(usize::from(seat)))
            .map(|seat| (&seat.key[..], seat.product_type))
            .collect();
        let company = Tokens::of(engine.records.store.clone()).name_of(head.company);
        let (not_wanted, judged): (Vec<_>, Vec<_>) =
            explained.seats.iter().partition(|seat| seat.why == Reason::NotWanted);
        let others = reading::tables_of(&engine.records.store, &record).into_iter();
        let fields = fields! {
            uuid, lead => head.lead, company, test => head.test, created_at => head.created_at,
            deadline => time((head.deadline - head.created_at) as f64),
            pending => explained.pending,
            complete_after => complete_after(&explained),
            asked => explained.seats.iter().filter(|seat| seat.why.was_asked()).count(),
            shown => table.offers(), amount => head.loan_amount,
            money => money(&engine.records.store, &table, &record)?,
            same_files => explained.same_files, same_lead => explained.same_lead,
            experiments => explained.experiments,
            timeline => timeline(&explained, Utc::now().timestamp_millis()),
            asks => asks(&explained, &transcribed),
            offers => arrays(&snapshot.json, &explained.seats),
            without => judged.iter().filter(|seat| !shows(seat)).map(|seat| without(seat)).collect::<Vec<_>>(),
            // Seats of partners for other product types.
            not_wanted => not_wanted.len(),
            // Other tags may contain personal data.
            tags => tags_of(&record, tags),
            told => person::sections(&record.lead, revealed),
            revealed,
            others => others.filter(|other| *other != uuid).collect::<Vec<_>>(),
        };
        Ok(Some(Self { lead: head.lead, pending: explained.pending, fields }))
    }
}

fn tags_of(record: &LeadRecord, shown: &[String]) -> Vec<(String, String)> {
    let all = record.lead.client_tags.iter().flat_map(ClientTags::pairs);
    let shown = all.filter(|(name, _)| shown.iter().any(|known| known == name));
    shown.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn shows(seat: &SeatExplanation) -> bool {
    seat.offers.iter().any(|offer| offer.why == OfferReason::Shown)
}

fn complete_after(table: &TableExplanation) -> Option<String> {
    let ended = table.seats.iter().filter_map(|seat| {
        let asked = seat.asked_at?.millis() - table.created_at.millis();
        Some(asked as f64 + seat.ended_after_ms? as f64)
    });
    (!table.pending).then(|| time(ended.fold(0.0, f64::max)))
}

fn asks(table: &TableExplanation, transcribed: &[(&str, ProductType)]) -> Vec<Value> {
    let seated = table.seats.iter().filter(|seat| seat.seated);
    let ask = |seat: &SeatExplanation| {
        fields! {
            asked_after => seat.asked_at.map(|at| time((at.millis() - table.created_at.millis()).max(0) as f64)),
            budget => seat.budget_ms.map(|budget| time(f64::from(budget))),
            took => seat.ended_after_ms.map(|took| time(took as f64)),
            cause => seat.cause,
            transcript => transcribed.contains(&(&seat.partner, seat.product_type)),
            ..seat
        }
    };
    seated.map(ask).collect()
}

fn about(seat: &SeatExplanation) -> String {
    let mut answered = seat.offers.iter().filter(|offer| offer.uuid.is_some());
    match (seat.why, answered.next()) {
        (Reason::Offers, Some(offer)) => offer.why.sentence().to_owned(),
        _ => seat.about.clone(),
    }
}

fn without(seat: &SeatExplanation) -> Value {
    let tone = match seat.why {
        Reason::Offers | Reason::Declined | Reason::Rejected => "warn",
        why if why.was_asked() && why != Reason::Pending => "bad",
        _ => "idle",
    };
    fields! { about => about(seat), cause => seat.cause, tone, reasons => reasons(seat), ..seat }
}

/// The reasons against the partner or, if there are none, against its offers; equal reasons are merged.
fn reasons(seat: &SeatExplanation) -> Vec<Objection> {
    let mut reasons: Vec<Objection> = Vec::new();
    let mut note = |offer: Option<&String>, wanted: &str, found: &str| match reasons
        .iter_mut()
        .find(|known| known.wanted == wanted && known.found == found)
    {
        Some(known) => known.offers.extend(offer.cloned()),
        None => {
            let (wanted, found) = (wanted.to_owned(), found.to_owned());
            reasons.push(Objection { offers: offer.cloned().into_iter().collect(), wanted, found });
        }
    };
    for refusal in &seat.refusals {
        note(None, &refusal.wanted, &refusal.found);
    }
    if !seat.refusals.is_empty() {
        return reasons;
    }
    for offer in &seat.offers {
        for refusal in &offer.refusals {
            note(Some(&offer.name), &refusal.wanted, &refusal.found);
        }
        if offer.uuid.is_some() {
            note(Some(&offer.name), "a place among the offers shown", offer.why.sentence());
        }
    }
    reasons
}
