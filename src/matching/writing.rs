//! What is written when: the commits of a rate table's life.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::outcome::Decision;
use super::record::{Answer, TableHead};
use super::table::Table;
use crate::model::EventType;
use crate::store::entities::{Entry, Happening, LeadRecord};
use crate::store::{Commit, Tree, codec};

/// Guards of [`submission`], in order.
pub const LEAD_EXISTS: usize = 0;

/// How an identity is looked up for duplicates.
#[derive(Debug, Clone)]
pub struct IdentityLookBack {
    /// Company and hash of the identity.
    pub key: Vec<u8>,
    /// A lead of this identity made at or after this time is duplicated, Unix milliseconds; `None` looks nowhere back.
    pub since: Option<i64>,
}

/// The lead, its pending table, and that it was created: one commit, guarded against duplicates.
pub fn submission(lead: &LeadRecord, head: &TableHead, identity: Option<&IdentityLookBack>) -> Commit {
    let mut commit = Commit::new().absent(Tree::Leads, lead.uuid.as_bytes());
    if let Some(IdentityLookBack { key, since }) = identity {
        if let Some(since) = since {
            commit = commit.unless_recent(Tree::Identities, key.clone(), *since);
        }
        let mut value = lead.created_at.to_be_bytes().to_vec();
        value.extend_from_slice(lead.uuid.as_bytes());
        commit = commit.put(Tree::Identities, key.clone(), value);
    }
    commit = commit
        .put(Tree::Leads, lead.uuid.as_bytes(), codec::encode_json(lead))
        .put(Tree::RateTables, head.uuid.as_bytes(), codec::encode(head))
        .put(Tree::LeadTables, [&lead.uuid.as_bytes()[..], head.uuid.as_bytes()].concat(), Vec::new())
        .append(lead.company, codec::encode(&of_submission(lead)));
    // A table without seats is complete as it is.
    if head.seats.is_empty() {
        commit
    } else {
        commit.put(Tree::OpenTables, head.uuid.as_bytes(), head.deadline.to_be_bytes().to_vec())
    }
}

/// Answers of one table, what they mean for the feeds, and, with the last of them, that the table is complete.
pub fn answers(
    table: &Table,
    lead_created_at: i64,
    sequence: u16,
    answers: &[Answer],
    settles: bool,
) -> Commit {
    let head = table.head();
    let mut commit =
        Commit::new().put(Tree::Answers, answer_key(head.uuid, sequence), codec::encode(&answers));
    let decisions = answers.iter().filter_map(|answer| of_answer(table, lead_created_at, answer));
    let entries: Vec<Entry> = decisions.map(Entry::Event).collect();
    if !entries.is_empty() {
        commit = commit.append(head.company, codec::encode(&entries));
    }
    if settles {
        commit = commit.remove(Tree::OpenTables, head.uuid.as_bytes());
    }
    commit
}

/// Key of an answer record: the table, then the position.
pub fn answer_key(table: Uuid, sequence: u16) -> Vec<u8> {
    [&table.as_bytes()[..], &sequence.to_be_bytes()].concat()
}

/// A lead that came in, as the feeds tell it: that it was created, that it has a table, and each value of its tags once.
fn of_submission(lead: &LeadRecord) -> Vec<Entry> {
    let happening = |event_type| Happening {
        event_type,
        lead: lead.uuid,
        lead_created_at: lead.created_at,
        at: lead.created_at,
        institution: None,
        product_type: None,
        test: lead.test,
    };
    let events = [EventType::LeadCreated, EventType::AppSubmitted].map(|kind| Entry::Event(happening(kind)));
    let pairs: BTreeSet<_> = lead.lead.client_tags.iter().flat_map(|tags| tags.pairs()).collect();
    let tags = pairs.into_iter().map(|(key, value)| Entry::Tag {
        lead: lead.uuid,
        key: key.to_owned(),
        value: value.to_owned(),
        created_at_ms: lead.created_at,
    });
    events.into_iter().chain(tags).collect()
}

/// An institution's decision, as the feeds tell it.
fn of_answer(table: &Table, lead_created_at: i64, answer: &Answer) -> Option<Happening> {
    let event_type = match answer.outcome.decision()? {
        Decision::Approved => EventType::ApiApproved,
        Decision::Rejected => EventType::ApiRejected,
        Decision::Listed => return None,
    };
    let seat = &table.seats()[usize::from(answer.seat)];
    Some(Happening {
        event_type,
        lead: table.head().lead,
        lead_created_at,
        at: answer.at,
        institution: Some((seat.institution, seat.partner.name.clone())),
        product_type: Some(seat.product_type),
        test: table.head().test,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Lead;

    fn entries_of(lead: &str) -> Vec<Entry> {
        of_submission(&LeadRecord {
            uuid: Uuid::from_u128(1),
            company: Uuid::from_u128(2),
            test: false,
            created_at: 5,
            updated_at: 5,
            lead: Lead::read(lead.as_bytes()).unwrap(),
        })
    }

    #[test]
    fn each_value_of_a_tag_is_recorded_once() {
        let entries = entries_of(r#"{"clientTags":{"channel":["b","a","b"],"none":[]}}"#);
        let tag = |value: &str| Entry::Tag {
            lead: Uuid::from_u128(1),
            key: "channel".to_owned(),
            value: value.to_owned(),
            created_at_ms: 5,
        };
        assert_eq!(entries[2..], [tag("a"), tag("b")]);
        assert_eq!(codec::decode(&codec::encode(&entries)), Ok(entries));
    }

    #[test]
    fn a_lead_without_tags_records_none() {
        assert_eq!(entries_of("{}").len(), 2);
    }
}
