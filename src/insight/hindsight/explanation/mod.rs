//! Explains the offers of a stored lead: which partners were asked and with what outcome, and why the others
//! were not. Outcomes and limits are shown as recorded. The condition that ruled out a partner is
//! re-evaluated with the present files and lead; [`TableExplanation::same_files`] and
//! [`TableExplanation::same_lead`] state whether these are unchanged.

mod seats;
mod standing;

use offerd_base::worded;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::standing::Standing;
pub use crate::hindsight::judgement::EligibilityObjection;
pub use offerd_engine::rate_table::reason::Reason;
use offerd_engine::rate_table::table::Table;
use offerd_engine::rate_table::treatment::Treatment;
use offerd_engine::records::{Found, Records, reading};
use offerd_model::{ProductType, RejectReason, Timestamp, record};
use offerd_partners::Book;
use offerd_store::entities::LeadRecord;

record! {
    plain

    /// The explanation of a lead.
    LeadExplanation {
        /// The lead.
        lead: Uuid,
        /// The lead's company.
        company: Uuid,
        /// Whether a test token submitted it.
        test: bool,
        /// Its rate tables, oldest first; only the requested one, if one was requested.
        rate_tables: Vec<TableExplanation>,
    }

    /// The explanation of a rate table.
    TableExplanation {
        /// The table.
        uuid: Uuid,
        /// When it was created.
        created_at: Timestamp,
        /// Its deadline.
        deadline: Timestamp,
        /// When second look began, if it did.
        second_look_at?: Timestamp,
        /// Whether an answer is still outstanding.
        pending: bool,
        /// Whether the partner files, and so the conditions, are unchanged since the table was made.
        same_files: bool,
        /// Whether the lead is unchanged since then.
        same_lead: bool,
        /// The variants that the lead drew of experiments running at that time, and what they changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        experiments: Vec<TreatmentExplanation>,
        /// The seats at the table, then all others.
        seats: Vec<SeatExplanation>,
    }

    /// The effect of an experiment on a rate table.
    #[derive(Eq)]
    TreatmentExplanation {
        /// The rule.
        rule: String,
        /// The variant that the lead drew.
        variant: String,
        /// The change, in words.
        about: String,
    }

    /// The explanation of a partner's seat.
    SeatExplanation {
        /// The partner's key.
        partner: String,
        /// The partner's public uuid.
        partner_uuid: Uuid,
        /// The partner's name.
        name: String,
        /// The seat's product type.
        product_type: ProductType,
        /// Whether it had a place at the table.
        #[serde(default)]
        seated: bool,
        /// Whether it is asked at second look only.
        #[serde(default)]
        second_look: bool,
        /// The reason for its offers, or for having none.
        why: Reason,
        /// The reason in words.
        about: String,
        /// The fault that the mapping or the wire reported for an unsuccessful ask.
        cause?: String,
        /// Why the partner rejected the person.
        reject_reason?: RejectReason,
        /// When it was asked.
        asked_at?: Timestamp,
        /// The time it was given, in milliseconds.
        budget_ms?: u32,
        /// The time to its outcome, in milliseconds.
        ended_after_ms?: u64,
        /// The objections, for a seat that was not asked.
        refusals: Vec<EligibilityObjection>,
        /// Its offers.
        offers: Vec<OfferExplanation>,
    }

    /// The explanation of an offer.
    OfferExplanation {
        /// Its name in the partner's file.
        name: String,
        /// Its uuid, if the partner answered with it.
        uuid?: Uuid,
        /// Its score at that time.
        score?: f64,
        /// Why it is or is not shown.
        why: OfferReason,
        /// Its standing, where a ranking was in force.
        standing?: Standing,
        /// The objections to it.
        refusals: Vec<EligibilityObjection>,
    }
}

worded! {
    /// Why an offer is, or is not, shown.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum OfferReason;

    /// The reason for people.
    fn sentence;

    /// It is shown.
    Shown "shown";
    /// It waits for the other answers of second look.
    Waiting "waits for second look";
    /// Another offer of its kind is worth more at second look.
    Outbid "outbid at second look";
    /// The lead fits it, but the partner's answer does not include it.
    NotAnswered "not in an answer";
    /// A condition is not met.
    Unmet "failed";
    /// Its partner was not asked.
    NotAsked "not asked";
}

/// Explains a lead by its uuid, or one rate table by its own uuid or that of one of its offers.
///
/// # Errors
/// [`RecordUnavailable`](offerd_engine::records::RecordUnavailable), already logged, when a record cannot be read.
pub fn explanation(records: &Records, book: &Book, uuid: Uuid) -> Found<Option<LeadExplanation>> {
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

fn of_table(records: &Records, book: &Book, record: &LeadRecord, table: &Table) -> Found<TableExplanation> {
    let head = table.head();
    let second_look_at = reading::later_decisions(&records.store, head.uuid)?.second_look_at;
    Ok(TableExplanation {
        uuid: head.uuid,
        created_at: Timestamp::at(head.created_at),
        deadline: Timestamp::at(head.deadline),
        second_look_at: second_look_at.and_then(Timestamp::from_millis),
        pending: !table.progress().all_ended(),
        same_files: head.book == book.fingerprint,
        same_lead: record.updated_at <= head.created_at,
        experiments: head.treatments.iter().map(of_treatment).collect(),
        seats: seats::of_table(records, book, record, table)?,
    })
}

fn of_treatment(treatment: &Treatment) -> TreatmentExplanation {
    let Treatment { rule, variant, .. } = treatment.clone();
    TreatmentExplanation { rule, variant, about: treatment.about() }
}
