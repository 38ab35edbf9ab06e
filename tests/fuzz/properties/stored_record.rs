//! What the store gives back, once its frame and its seal are sound.

use std::fmt::Debug;
use std::sync::Arc;

use offerd::conversions::partner_events::ReportRecord;
use offerd::model::{LeadAction, ProductType};
use offerd::partners::{Fingerprint, RecordedSeat};
use offerd::rate_table::record::{AnswerRecord, LaterDecisions, SeatOutcome, TableHead};
use offerd::rate_table::table::Table;
use offerd::records::postings::Posting;
use offerd::store::codec;
use offerd::store::entities::{CompanyRecord, Happening, LeadRecord, PayoutRecord, Tag, TokenRecord};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

/// A record decodes to something that is written as it is read, or is named broken without a byte of it. A table folded of
/// any answers keeps its promises. The first byte chooses the record.
pub fn holds(bytes: &[u8]) {
    let Some((kind, payload)) = bytes.split_first() else { return };
    match kind % 14 {
        0 => json::<LeadRecord>(payload),
        1 => json::<CompanyRecord>(payload),
        2 => json::<TokenRecord>(payload),
        3 => json::<LeadAction>(payload),
        4 => json::<ReportRecord>(payload),
        5 => json::<RecordedSeat>(payload),
        6 => compact::<TableHead>(payload),
        7 => compact::<AnswerRecord>(payload),
        8 => compact::<LaterDecisions>(payload),
        9 => compact::<Posting>(payload),
        10 => compact::<Vec<Happening>>(payload),
        11 => compact::<Vec<PayoutRecord>>(payload),
        12 => compact::<Vec<Tag>>(payload),
        _ => folds(payload),
    }
}

fn json<T: Serialize + DeserializeOwned + PartialEq + Debug>(payload: &[u8]) {
    match codec::decode_json::<T>(payload) {
        Ok(record) => {
            let written = codec::encode_json(&record);
            let again: T = codec::decode_json(&written).expect("what was written can be read");
            assert_eq!(again, record);
        }
        Err(error) => {
            let told = error.to_string();
            let place = told.strip_prefix("payload does not decode: ").unwrap_or_default();
            let (class, place) = place.split_once(" at line ").expect("a fault has its place");
            assert!(["Io", "Syntax", "Data", "Eof"].contains(&class), "{told}");
            let is_number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
            assert!(
                place
                    .split_once(" column ")
                    .is_some_and(|(line, column)| is_number(line) && is_number(column))
            );
        }
    }
}

/// Numbers that are none are equal to nothing, so it is the bytes that are compared.
fn compact<T: Serialize + DeserializeOwned>(payload: &[u8]) {
    match codec::decode::<T>(payload) {
        Ok(record) => {
            let written = codec::encode(&record);
            let again: T = codec::decode(&written).expect("what was written can be read");
            assert_eq!(codec::encode(&again), written);
        }
        Err(error) => assert!(error.to_string().len() < 200, "a fault is a sentence of ours"),
    }
}

/// The first byte tells how many seats there are and whether loans are wanted, the rest are answers.
fn folds(payload: &[u8]) {
    let Some((seats, answers)) = payload.split_first() else { return };
    let Ok(answers) = codec::decode::<Vec<SeatOutcome>>(answers) else { return };
    let count = usize::from(seats & 0x7f) % 16;
    let mut table = Table::new(Arc::new(head(count, seats & 0x80 != 0)), (0..count).map(seat).collect());
    for answer in &answers {
        let (before, was) = (table.progress().pending().count(), table.answers());
        let taken = table.apply(answer).is_ok();
        let (after, is) = (table.progress().pending().count(), table.answers());
        assert_eq!(
            (before - after, is - was),
            (usize::from(taken), u32::from(taken)),
            "an answer ends one seat, or none"
        );
    }
    let scores: Vec<f64> = table.shown().map(|(_, quote)| quote.score).collect();
    assert_eq!(scores.len(), table.offers());
}

fn head(seats: usize, wants_loans: bool) -> TableHead {
    TableHead {
        uuid: Uuid::from_u128(1 << 64),
        lead: Uuid::from_u128(2),
        company: Uuid::from_u128(3),
        test: false,
        loan_amount: None,
        wants_loans,
        created_at: 0,
        deadline: 1,
        seats: vec![Fingerprint([0; 16]); seats],
        book: Fingerprint([0; 16]),
        treatments: Vec::new(),
        not_seated: Vec::new(),
    }
}

/// Seats of several kinds in turn.
fn seat(nth: usize) -> Arc<RecordedSeat> {
    let (product_type, second_look) =
        [(ProductType::Loan, false), (ProductType::Savings, false), (ProductType::Other, true)][nth % 3];
    Arc::new(RecordedSeat { product_type, second_look, ..super::answer::a_seat().clone() })
}
