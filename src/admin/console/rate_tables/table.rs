//! The page of one rate table.

use std::time::Duration;

use chrono::Utc;
use serde::Serialize;
use uuid::Uuid;

use super::money::Money;
use super::offers::{Array, arrays};
use super::person::{self, LeadSection};
use super::timeline::{Timeline, time};
use crate::admin::console::section::Section;
use crate::admin::console::view::Page;
use crate::hindsight::explanation::{
    OfferReason, SeatExplanation, TableExplanation, TreatmentExplanation, explanation,
};
use crate::matching::Engine;
use crate::model::{ClientTags, ProductType};
use crate::rate_table::reason::Reason;
use crate::records::{Unavailable, reading, transcripts};
use crate::store::entities::LeadRecord;
use crate::store::tokens::Tokens;

/// How often an open table is shown anew: it is open for seconds.
const FRESH: Duration = Duration::from_secs(1);

/// What stands on the page.
#[derive(Debug, Serialize)]
pub(super) struct TablePage {
    uuid: Uuid,
    pub(super) lead: Uuid,
    company: String,
    test: bool,
    /// Unix milliseconds.
    created_at: i64,
    deadline: String,
    pending: bool,
    /// After how long the last answer was there.
    complete_after: Option<String>,
    asked: usize,
    shown: usize,
    /// What the lead wants, dollars.
    amount: Option<i32>,
    money: Money,
    same_files: bool,
    same_lead: bool,
    /// What experiments changed of it.
    experiments: Vec<TreatmentExplanation>,
    timeline: Option<Timeline>,
    asks: Vec<AskRow>,
    offers: Vec<Array>,
    without: Vec<Without>,
    /// How many seats are for what the lead does not ask for; a partner has one for each of its product types.
    not_wanted: usize,
    /// The client tags of the lead that are counted, name and value; others may tell of a person.
    tags: Vec<(String, String)>,
    told: Vec<LeadSection>,
    /// The masked attributes that are shown.
    revealed: Vec<String>,
    /// Why they are.
    reason: Option<String>,
    /// The other tables of the lead.
    others: Vec<Uuid>,
}

/// A seat of the table, for the figures beside the timeline.
#[derive(Debug, Serialize)]
struct AskRow {
    partner: String,
    name: String,
    product: &'static str,
    second_look: bool,
    asked_after: Option<String>,
    budget: Option<String>,
    took: Option<String>,
    about: String,
    cause: Option<String>,
    /// Whether there is a transcript of it.
    transcript: bool,
}

/// A partner without an offer, and why.
#[derive(Debug, Serialize)]
struct Without {
    partner: String,
    name: String,
    product: &'static str,
    about: String,
    cause: Option<String>,
    tone: &'static str,
    reasons: Vec<Against>,
}

/// Something that is against a partner, or against some of its offers.
#[derive(Debug, PartialEq, Serialize)]
struct Against {
    /// The offers; none where it is the partner.
    offers: Vec<String>,
    wanted: String,
    found: String,
}

impl Page for TablePage {
    const SECTION: Section = Section::RateTables;
    const TEMPLATE: &'static str = "rate_table.html";

    /// A table that is complete never changes again.
    fn fresh(&self) -> Option<Duration> {
        self.pending.then_some(FRESH)
    }

    fn title(&self) -> String {
        "Rate table".to_owned()
    }
}

impl TablePage {
    /// The same with the reason for which it shows what is masked.
    pub(super) fn because(self, reason: Option<String>) -> Self {
        Self { reason, ..self }
    }

    /// The page of a table, by its own uuid or by that of an offer; `None` when there is none, or its lead is erased. Of what
    /// is personal it shows `revealed`, and `tags` are those that are counted.
    ///
    /// # Errors
    /// [`Unavailable`], once reported, when a record cannot be read.
    pub(super) fn read(
        engine: &Engine,
        uuid: Uuid,
        (revealed, tags): (&[&str], &[String]),
    ) -> Result<Option<Self>, Unavailable> {
        let offer = reading::offer(&engine.records, uuid)?;
        let uuid = offer.map_or(uuid, |(table, _)| table);
        let Some(table) = reading::table(&engine.records, uuid)? else { return Ok(None) };
        let explained = explanation(&engine.records, &engine.book(), uuid)?;
        let explained = explained.and_then(|explained| explained.rate_tables.into_iter().next());
        let Some(explained) = explained else { return Ok(None) };
        let head = table.head();
        let Some(record) = reading::lead(&engine.records.store, head.lead)? else { return Ok(None) };
        let snapshot = engine.snapshot(&table).ok_or(Unavailable)?;

        let kept = engine.configuration().rules.transcripts.kept;
        let transcribed = transcripts::seats(&engine.records.store, uuid, kept).into_iter();
        let transcribed: Vec<(&str, ProductType)> = transcribed
            .filter_map(|seat| table.seats().get(usize::from(seat)))
            .map(|seat| (&seat.key[..], seat.product_type))
            .collect();
        let company = Tokens::of(engine.records.store.clone()).company(head.company);
        let timeline = Timeline::of(&explained, Utc::now().timestamp_millis());
        let (not_wanted, judged): (Vec<_>, Vec<_>) =
            explained.seats.iter().partition(|seat| seat.why == Reason::NotWanted);
        Ok(Some(Self {
            uuid,
            lead: head.lead,
            company: company.map_or_else(|| head.company.to_string(), |company| company.name),
            test: head.test,
            created_at: head.created_at,
            deadline: time((head.deadline - head.created_at) as f64),
            pending: explained.pending,
            complete_after: complete_after(&explained),
            asked: explained.seats.iter().filter(|seat| seat.why.was_asked()).count(),
            shown: table.offers(),
            amount: head.loan_amount,
            money: Money::of(&engine.records.store, uuid, &table, &record)?,
            same_files: explained.same_files,
            same_lead: explained.same_lead,
            experiments: explained.experiments.clone(),
            timeline: (!timeline.is_empty()).then_some(timeline),
            asks: asks(&explained, &transcribed),
            offers: arrays(&snapshot.json, &explained.seats),
            without: judged.iter().filter(|seat| !shows(seat)).map(|seat| Without::of(seat)).collect(),
            not_wanted: not_wanted.len(),
            tags: tags_of(&record, tags),
            told: person::told(&record.lead, revealed),
            revealed: revealed.iter().map(ToString::to_string).collect(),
            reason: None,
            others: reading::tables_of(&engine.records.store, &record)
                .into_iter()
                .filter(|other| *other != uuid)
                .collect(),
        }))
    }
}

fn tags_of(record: &LeadRecord, shown: &[String]) -> Vec<(String, String)> {
    let all = record.lead.client_tags.iter().flat_map(ClientTags::pairs);
    let shown = all.filter(|(name, _)| shown.iter().any(|known| known == name));
    shown.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Whether at least one offer of a partner is shown.
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

fn asks(table: &TableExplanation, transcribed: &[(&str, ProductType)]) -> Vec<AskRow> {
    let seated = table.seats.iter().filter(|seat| seat.seated);
    let ask = |seat: &SeatExplanation| AskRow {
        partner: seat.partner.clone(),
        name: seat.name.clone(),
        product: seat.product_type.as_str(),
        second_look: seat.second_look,
        asked_after: seat.asked_at.map(|at| time((at.millis() - table.created_at.millis()).max(0) as f64)),
        budget: seat.budget_ms.map(|budget| time(f64::from(budget))),
        took: seat.ended_after_ms.map(|took| time(took as f64)),
        about: seat.about.clone(),
        cause: seat.cause.clone(),
        transcript: transcribed.contains(&(&seat.partner, seat.product_type)),
    };
    seated.map(ask).collect()
}

/// Why nothing of a partner is shown.
fn about(seat: &SeatExplanation) -> String {
    let mut answered = seat.offers.iter().filter(|offer| offer.uuid.is_some());
    match (seat.why, answered.next()) {
        (Reason::Offers, Some(offer)) => offer.why.sentence().to_owned(),
        _ => seat.about.clone(),
    }
}

impl Without {
    fn of(seat: &SeatExplanation) -> Self {
        let tone = match seat.why {
            Reason::Offers | Reason::Declined | Reason::Rejected => "warn",
            why if why.was_asked() && why != Reason::Pending => "bad",
            _ => "idle",
        };
        Self {
            partner: seat.partner.clone(),
            name: seat.name.clone(),
            product: seat.product_type.as_str(),
            about: about(seat),
            cause: seat.cause.clone(),
            tone,
            reasons: reasons(seat),
        }
    }
}

/// What is against the partner or, where nothing is, against each of its offers; what is against several is shown once.
fn reasons(seat: &SeatExplanation) -> Vec<Against> {
    let mut reasons: Vec<Against> = Vec::new();
    let mut note = |offer: Option<&String>, wanted: &str, found: &str| match reasons
        .iter_mut()
        .find(|known| known.wanted == wanted && known.found == found)
    {
        Some(known) => known.offers.extend(offer.cloned()),
        None => {
            let (wanted, found) = (wanted.to_owned(), found.to_owned());
            reasons.push(Against { offers: offer.cloned().into_iter().collect(), wanted, found });
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
