//! Why a stored lead has the offers that it has: of each of its rate tables who was asked and what came of it, and what
//! kept the others from being asked.
//!
//! What was recorded is shown as it was: outcomes with their causes, and what limits kept out. Which condition kept a
//! partner from being asked is not recorded, but found again, in the partner files of now and with the lead as it is now;
//! [`TableExplanation::same_files`] and [`TableExplanation::same_lead`] show whether those are still the same.

mod seats;
mod standing;

use offerd_base::worded;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::standing::Standing;
pub use crate::hindsight::judgement::Refusal;
pub use offerd_engine::rate_table::reason::Reason;
use offerd_engine::rate_table::table::Table;
use offerd_engine::rate_table::treatment::Treatment;
use offerd_engine::records::{Records, Unavailable, reading};
use offerd_model::{ProductType, RejectReason, Timestamp, record};
use offerd_partners::Book;
use offerd_store::entities::LeadRecord;

record! {
    plain

    /// What became of a lead.
    LeadExplanation {
        /// The lead.
        lead: Uuid,
        /// Whose it is.
        company: Uuid,
        /// Made with a test token.
        test: bool,
        /// Its rate tables, oldest first; only the one that was asked about, if it was.
        rate_tables: Vec<TableExplanation>,
    }

    /// Why a rate table is as it is.
    TableExplanation {
        /// The table.
        uuid: Uuid,
        /// When it was made.
        created_at: Timestamp,
        /// When it had to be complete.
        deadline: Timestamp,
        /// When second look began, if it did.
        second_look_at?: Timestamp,
        /// Whether a partner is still outstanding.
        pending: bool,
        /// Whether the partner files are still those that it was made with, so that conditions are those of then.
        same_files: bool,
        /// Whether the lead is still what it was then.
        same_lead: bool,
        /// The variants that its lead has of the experiments which ran when it was made, and what they changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        experiments: Vec<TreatmentExplanation>,
        /// Those who had a place at it, then everybody else.
        seats: Vec<SeatExplanation>,
    }

    /// What an experiment changed of a rate table.
    #[derive(Eq)]
    TreatmentExplanation {
        /// The rule.
        rule: String,
        /// The variant that the lead has of it.
        variant: String,
        /// What is different by that, in words.
        about: String,
    }

    /// What became of a partner's seat.
    SeatExplanation {
        /// Key of the partner.
        partner: String,
        /// The partner as clients know it.
        partner_uuid: Uuid,
        /// Its name.
        name: String,
        /// What it is asked about.
        product_type: ProductType,
        /// Whether it had a place at the table.
        #[serde(default)]
        seated: bool,
        /// Whether it has second look.
        #[serde(default)]
        second_look: bool,
        /// What became of it.
        why: Reason,
        /// The same in words.
        about: String,
        /// What a mapping or the wire reported, of an ask that came to nothing.
        cause?: String,
        /// Why it rejected the person.
        reject_reason?: RejectReason,
        /// When it was asked.
        asked_at?: Timestamp,
        /// How long it had, milliseconds.
        budget_ms?: u32,
        /// After how many milliseconds its outcome was there.
        ended_after_ms?: u64,
        /// What is against asking it, of one that was not.
        refusals: Vec<Refusal>,
        /// Its offers.
        offers: Vec<OfferExplanation>,
    }

    /// What became of an offer.
    OfferExplanation {
        /// Its name in the partner's file.
        name: String,
        /// Its uuid, when the partner answered with it.
        uuid?: Uuid,
        /// Its score then.
        score?: f64,
        /// What became of it.
        why: OfferReason,
        /// Where it stands and why, where a ranking was in force.
        standing?: Standing,
        /// What is against it.
        refusals: Vec<Refusal>,
    }
}

worded! {
    /// Why an offer is, or is not, shown.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum OfferReason;

    /// The same for people.
    fn sentence;

    /// It is shown.
    Shown "shown";
    /// It waits for the other answers of second look.
    Waiting "waits for second look";
    /// At second look another offer of its kind is worth more.
    Outbid "outbid at second look";
    /// The lead fits it, and it is not in the partner's answer.
    NotAnswered "not in an answer";
    /// A condition is not met.
    Unmet "failed";
    /// Its partner was not asked.
    NotAsked "not asked";
}

/// Explains a lead by its uuid, or one rate table by its own uuid or that of an offer in it; `None` when there is none of
/// these.
///
/// # Errors
/// [`Unavailable`], once reported, when a record cannot be read.
pub fn explanation(
    records: &Records,
    book: &Book,
    uuid: Uuid,
) -> Result<Option<LeadExplanation>, Unavailable> {
    let mut rate_tables = Vec::new();
    let record = if let Some(record) = reading::lead(&records.store, uuid)? {
        for table in reading::tables_of(&records.store, &record) {
            let Some(table) = reading::table(records, table)? else { continue };
            rate_tables.push(of_table(records, book, &record, &table)?);
        }
        record
    } else {
        let Some((table, number)) = reading::named(records, uuid)? else { return Ok(None) };
        if number.is_some_and(|number| table.offer(number).is_none()) {
            return Ok(None);
        }
        let Some(record) = reading::lead(&records.store, table.head().lead)? else { return Ok(None) };
        rate_tables.push(of_table(records, book, &record, &table)?);
        record
    };
    let LeadRecord { uuid: lead, company, test, .. } = record;
    Ok(Some(LeadExplanation { lead, company, test, rate_tables }))
}

fn of_table(
    records: &Records,
    book: &Book,
    record: &LeadRecord,
    table: &Table,
) -> Result<TableExplanation, Unavailable> {
    let head = table.head();
    let second_look_at = reading::asks(&records.store, head.uuid)?.second_look_at;
    Ok(TableExplanation {
        uuid: head.uuid,
        created_at: Timestamp::at(head.created_at),
        deadline: Timestamp::at(head.deadline),
        second_look_at: second_look_at.and_then(Timestamp::from_millis),
        pending: !table.progress().settled(),
        same_files: head.book == book.fingerprint,
        same_lead: record.updated_at <= head.created_at,
        experiments: head.treatments.iter().map(TreatmentExplanation::from).collect(),
        seats: seats::of_table(records, book, record, table)?,
    })
}

impl From<&Treatment> for TreatmentExplanation {
    fn from(treatment: &Treatment) -> Self {
        let Treatment { rule, variant, .. } = treatment.clone();
        Self { rule, variant, about: treatment.about() }
    }
}
