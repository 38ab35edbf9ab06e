//! Transcripts of requests to partners and their answers. Unredacted access requires a reason and is audited.

mod redaction;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::redaction::Redaction;
pub use offerd_engine::rate_table::transcript::CallInitiator;
use offerd_engine::records::transcripts;
pub use offerd_engine::records::transcripts::{AskTranscript, ShownCall, ShownMessage};
use offerd_engine::records::{Found, Records, reading};
use offerd_partners::Book;

/// The transcripts of a rate table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TableTranscript {
    /// The rate table.
    pub rate_table: Uuid,
    /// Its lead.
    pub lead: Uuid,
    /// Whether it is unredacted.
    pub whole: bool,
    /// The recorded asks in the order of the seats; an ask that a restart has repeated appears several times.
    pub asks: Vec<AskTranscript>,
}

/// The transcripts of a rate table, by its uuid or that of an offer; all, or those of a `partner`. Redacted
/// unless `whole`. `None` if there is no such table, or its lead is erased.
///
/// # Errors
/// [`RecordUnavailable`](offerd_engine::records::RecordUnavailable), already logged, when a record cannot be read.
pub fn of_table(
    records: &Records,
    book: &Book,
    uuid: Uuid,
    (partner, whole): (Option<&str>, bool),
    kept: Duration,
) -> Found<Option<TableTranscript>> {
    let Some((table, _)) = reading::named(records, uuid)? else { return Ok(None) };
    let (uuid, lead) = (table.head().uuid, table.head().lead);
    let Some(record) = reading::lead(&records.store, lead)? else { return Ok(None) };
    let mut asks = Vec::new();
    for kept in transcripts::of_table(&records.store, uuid, kept)? {
        let Some(seat) = table.seats().get(usize::from(kept.seat)) else { continue };
        if partner.is_some_and(|partner| partner != seat.key) {
            continue;
        }
        let mut ask = AskTranscript::of(seat.key.clone(), seat.product_type, kept);
        if !whole {
            let known = book.seat_of(&seat.key, seat.product_type);
            let source = known.and_then(|seat| seat.http.as_ref());
            Redaction::of(&record.lead, source).redact(&mut ask);
        }
        asks.push(ask);
    }
    Ok(Some(TableTranscript { rate_table: uuid, lead, whole, asks }))
}
