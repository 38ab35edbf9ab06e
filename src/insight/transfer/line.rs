//! A line: a record with its tree and key, in a readable form if that restores its exact bytes.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use offerd_engine::rate_table::record::{AnswerRecord, CallRecord, LaterDecisions, TableHead};
use offerd_engine::records::postings::Posting;
use offerd_store::entities::{Happening, PayoutRecord, Tag};
use offerd_store::{Tree, codec};

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportHeader {
    /// The version of the format.
    pub offerd_export: u32,
    /// Whether it includes personal data.
    pub personal_data: bool,
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportTrailer {
    /// The number of records.
    pub records: u64,
}

/// A record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportLine {
    /// The name of its tree.
    pub tree: String,
    /// Its key, in hexadecimal.
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
}

impl ExportLine {
    /// The line of a record.
    pub fn of(tree: Tree, key: &[u8], payload: &[u8]) -> Self {
        let (tree_name, key) = (tree.name().to_owned(), const_hex::encode(key));
        let line = Self { tree: tree_name, key, value: None, text: None, hex: None };
        if let Some(value) = readable(tree, payload)
            && bytes(tree, &value).as_deref() == Some(payload)
        {
            return Self { value: Some(value), ..line };
        }
        match std::str::from_utf8(payload) {
            Ok(text) if tree == Tree::Templates => Self { text: Some(text.to_owned()), ..line },
            _ => Self { hex: Some(const_hex::encode(payload)), ..line },
        }
    }

    /// The payload of the record; `None` if the line has none, or several.
    pub fn payload(&self, tree: Tree) -> Option<Vec<u8>> {
        match (&self.value, &self.text, &self.hex) {
            (Some(value), None, None) => bytes(tree, value),
            (None, Some(text), None) => Some(text.as_bytes().to_vec()),
            (None, None, Some(hex)) => const_hex::decode(hex).ok(),
            _ => None,
        }
    }
}

/// The payload as JSON, if it is stored as JSON or postcard.
fn readable(tree: Tree, payload: &[u8]) -> Option<Box<RawValue>> {
    match tree {
        Tree::Companies
        | Tree::Tokens
        | Tree::PartnerKeys
        | Tree::Leads
        | Tree::LeadActions
        | Tree::PartnerEvents
        | Tree::ErasedReports
        | Tree::Pauses
        | Tree::Sessions
        | Tree::OfferDisplays
        | Tree::LoanReports
        | Tree::Users
        | Tree::Audit => codec::decode_json(payload).ok(),
        _ => (PostcardCodec::of(tree)?.to_json)(payload),
    }
}

fn bytes(tree: Tree, value: &RawValue) -> Option<Vec<u8>> {
    match PostcardCodec::of(tree) {
        Some(postcard) => (postcard.from_json)(value),
        None => Some(value.get().as_bytes().to_vec()),
    }
}

struct PostcardCodec {
    to_json: fn(&[u8]) -> Option<Box<RawValue>>,
    from_json: fn(&RawValue) -> Option<Vec<u8>>,
}

impl PostcardCodec {
    fn of(tree: Tree) -> Option<Self> {
        Some(match tree {
            Tree::RateTables => Self::records::<TableHead>(),
            Tree::Answers => Self::records::<AnswerRecord>(),
            Tree::LaterDecisions => Self::records::<LaterDecisions>(),
            Tree::Calls => Self::records::<CallRecord>(),
            Tree::Postings => Self::records::<Posting>(),
            Tree::LeadEvents => Self::records::<Vec<Happening>>(),
            Tree::LeadPayouts => Self::records::<Vec<PayoutRecord>>(),
            Tree::LeadClientTags => Self::records::<Vec<Tag>>(),
            _ => return None,
        })
    }

    fn records<T: DeserializeOwned + Serialize>() -> Self {
        Self {
            to_json: |payload| to_raw_value(&codec::decode::<T>(payload).ok()?).ok(),
            from_json: |value| Some(codec::encode(&serde_json::from_str::<T>(value.get()).ok()?)),
        }
    }
}
