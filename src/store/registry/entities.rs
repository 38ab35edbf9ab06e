//! What more than one module keeps and reads: companies, tokens, leads, and what the feeds list.
//!
//! A feed is appended to by lists: the records of one list arrived at one instant. They are postcard.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::{
    CreditBands, EventType, Lead, LeadLegalInformation, ProductSubType, ProductType, RejectReason, TokenKind,
};
use crate::store::codec::{self, CodecError};

/// A supply partner: who posts leads. JSON, by uuid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompanyRecord {
    /// Its id.
    pub uuid: Uuid,
    /// Its name, unique among companies.
    pub name: String,
    /// Minutes within which the same identity is a duplicate; none set means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_look_back_minutes: Option<u32>,
}

/// An access token. JSON, by the SHA-256 of the token, which itself is kept nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRecord {
    /// Names the token in lists and when it is revoked; says nothing of the token itself.
    pub id: Uuid,
    /// Whose it is.
    pub company: Uuid,
    /// What it may do.
    pub kind: TokenKind,
    /// Whether its leads are tests.
    pub test: bool,
    /// Unix milliseconds.
    pub created_at: i64,
}

/// A lead as it was sent, and what we know of its origin. JSON, by uuid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeadRecord {
    /// Its id.
    pub uuid: Uuid,
    /// Whose it is.
    pub company: Uuid,
    /// Made with a test token.
    pub test: bool,
    /// Unix milliseconds.
    pub created_at: i64,
    /// Unix milliseconds.
    pub updated_at: i64,
    /// How its score becomes a rating: by the bands of the edition that it was sent in.
    #[serde(default)]
    pub bands: CreditBands,
    /// Whether who sent it said to know values that the specification lacks, beside those that the lead has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub newer_values: bool,
    /// The rate table that was written with it, which no other record leads to; none where it came without one, or was stored by a
    /// build that had all tables of a lead in [`Tree::LeadTables`](crate::store::Tree::LeadTables).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_table: Option<Uuid>,
    /// When what it says of consents was stated, Unix milliseconds; none where that was when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consents_stated_at: Option<i64>,
    /// What it said of consents before, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_consents: Vec<StatedConsents>,
    /// The variant that it has of each experiment that held for it when it was taken in, by the name of the rule.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub experiments: BTreeMap<String, String>,
    /// What was sent.
    pub lead: Lead,
}

impl LeadRecord {
    /// The first table that a stored lead names, if it can be read and names one.
    pub(in crate::store) fn first_table_in(payload: &[u8]) -> Option<Uuid> {
        codec::decode_json::<Self>(payload).ok()?.first_table
    }
}

/// What a person agreed to, with the texts that they were shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatedConsents {
    /// When it was stated, Unix milliseconds.
    pub stated_at: i64,
    /// What was stated.
    pub legal_information: LeadLegalInformation,
}

/// Something that happened to a lead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Happening {
    /// What happened.
    pub event_type: EventType,
    /// To which lead.
    pub lead: Uuid,
    /// When the lead was created, Unix milliseconds.
    pub lead_created_at: i64,
    /// When it happened, Unix milliseconds.
    pub at: i64,
    /// The institution it is tied to: uuid and name.
    pub institution: Option<(Uuid, String)>,
    /// The product type of the offer it is tied to.
    pub product_type: Option<ProductType>,
    /// The amount at stake, for what has one.
    pub amount_in_cents: Option<i32>,
    /// Whether the lead is a test.
    pub test: bool,
    /// What caused it, where the same may come twice in one instant: a click, a partner's report.
    pub cause: Option<Uuid>,
}

/// What is known of a happening beside, where it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HappeningDetails {
    /// The offer it is tied to.
    pub offer: Option<Uuid>,
    /// The finer kind of that offer.
    pub product_sub_type: Option<ProductSubType>,
    /// Why the institution rejected the lead.
    pub reject_reason: Option<RejectReason>,
    /// What it earned, in cents and fractions of them.
    pub payout_cents: Option<f64>,
}

/// What a lead earned the supply partner; test leads earn nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Payout {
    /// Which lead.
    pub lead: Uuid,
    /// When it was booked, Unix milliseconds.
    pub booked_at_ms: i64,
    /// How much, in cents and fractions of them; less than nothing when it is taken back.
    pub cents: f64,
}

/// What happened to leads and arrived together, and what of it was taken back at that instant. What no more is known of ends after
/// the happenings, as records of earlier builds do, or after what was taken back; they in turn read no more than those.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HappeningRecord {
    /// What happened.
    pub happenings: Vec<Happening>,
    /// What did not, after all, and when that was said, Unix milliseconds.
    pub taken_back: Vec<(Happening, i64)>,
    /// Of each of them, in the same order, what is known beside.
    pub details: Vec<HappeningDetails>,
}

/// A record of happenings, as it ended before it told more of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HappeningRecordWithoutDetails {
    /// What happened.
    pub happenings: Vec<Happening>,
    /// What did not, after all, and when that was said, Unix milliseconds.
    pub taken_back: Vec<(Happening, i64)>,
}

impl HappeningRecord {
    /// Reads a record, whichever way it ends.
    ///
    /// # Errors
    /// That it is none.
    pub fn read(payload: &[u8]) -> Result<Self, CodecError> {
        codec::decode(payload)
            .or_else(|_| codec::decode::<HappeningRecordWithoutDetails>(payload).map(Self::from))
            .or_else(|_| codec::decode(payload).map(|happenings| Self { happenings, ..Self::default() }))
    }

    /// What happened at one instant, as it is written: as short as what is known of it.
    pub fn written(happened: Vec<(Happening, HappeningDetails)>) -> Vec<u8> {
        let (happenings, details): (Vec<_>, Vec<_>) = happened.into_iter().unzip();
        match details.iter().all(|details| *details == HappeningDetails::default()) {
            true => codec::encode(&happenings),
            false => codec::encode(&Self { happenings, taken_back: Vec::new(), details }),
        }
    }

    /// Each happening, with when it was taken back if it was.
    pub fn each(self) -> impl Iterator<Item = (Happening, Option<i64>)> {
        self.each_with_details().map(|(happening, taken_back, _)| (happening, taken_back))
    }

    /// Each happening, with when it was taken back if it was, and what is known beside.
    pub fn each_with_details(self) -> impl Iterator<Item = (Happening, Option<i64>, HappeningDetails)> {
        let taken_back = self.taken_back.into_iter().map(|(happening, at)| (happening, Some(at)));
        let happened = self.happenings.into_iter().map(|happening| (happening, None)).chain(taken_back);
        let details = self.details.into_iter().chain(std::iter::repeat_with(HappeningDetails::default));
        happened.zip(details).map(|((happening, taken_back), details)| (happening, taken_back, details))
    }
}

impl From<HappeningRecordWithoutDetails> for HappeningRecord {
    fn from(record: HappeningRecordWithoutDetails) -> Self {
        let HappeningRecordWithoutDetails { happenings, taken_back } = record;
        Self { happenings, taken_back, details: Vec::new() }
    }
}

/// Payouts that arrived together, and what was paid for. Records of earlier builds end after the payouts, after their product types, or
/// after where they come from, as do those of which no more is to be said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PayoutRecord {
    /// The payouts.
    pub payouts: Vec<Payout>,
    /// Of each payout, in the same order, the product type of the offer.
    pub product_types: Vec<Option<ProductType>>,
    /// Of each payout, in the same order, where it comes from.
    pub sources: Vec<PayoutSource>,
    /// Of each payout, in the same order, when what earned it happened, Unix milliseconds, where that is not when it was booked.
    pub earned_at: Vec<Option<i64>>,
}

/// A record of payouts, as it ends where each was booked when it was earned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PayoutRecordAsBooked {
    /// The payouts.
    pub payouts: Vec<Payout>,
    /// Of each payout, in the same order, the product type of the offer.
    pub product_types: Vec<Option<ProductType>>,
    /// Of each payout, in the same order, where it comes from.
    pub sources: Vec<PayoutSource>,
}

/// A record of payouts, as it ended before it told where they come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PayoutRecordWithoutSources {
    /// The payouts.
    pub payouts: Vec<Payout>,
    /// Of each payout, in the same order, the product type of the offer.
    pub product_types: Vec<Option<ProductType>>,
}

/// Where a payout comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PayoutSource {
    /// The payout's id; that of the one that is taken back, for what takes one back.
    pub uuid: Uuid,
    /// The institution: uuid and name.
    pub institution: Option<(Uuid, String)>,
    /// When the payout that is taken back was booked, Unix milliseconds.
    pub takes_back: Option<i64>,
}

impl PayoutRecord {
    /// Reads a record, also one of an earlier build.
    ///
    /// # Errors
    /// That it is none.
    pub fn read(payload: &[u8]) -> Result<Self, CodecError> {
        codec::decode(payload)
            .or_else(|_| codec::decode::<PayoutRecordAsBooked>(payload).map(Self::from))
            .or_else(|_| codec::decode::<PayoutRecordWithoutSources>(payload).map(Self::from))
            .or_else(|_| codec::decode(payload).map(|payouts| Self { payouts, ..Self::default() }))
    }

    /// The record as it is written: as short as what is known of it.
    pub fn written(self) -> Vec<u8> {
        let Self { payouts, product_types, sources, earned_at } = self;
        match earned_at.iter().all(Option::is_none) {
            true => codec::encode(&PayoutRecordAsBooked { payouts, product_types, sources }),
            false => codec::encode(&Self { payouts, product_types, sources, earned_at }),
        }
    }

    /// Each payout, with its product type where that is recorded.
    pub fn each(self) -> impl Iterator<Item = (Payout, Option<ProductType>)> {
        self.each_with_source().map(|(payout, product_type, _)| (payout, product_type))
    }

    /// Each payout, with its product type and its source where they are recorded.
    pub fn each_with_source(
        self,
    ) -> impl Iterator<Item = (Payout, Option<ProductType>, Option<PayoutSource>)> {
        self.each_as_earned().map(|(_, payout, product_type, source)| (payout, product_type, source))
    }

    /// Like [`each_with_source`](Self::each_with_source), with when what earned it happened, Unix milliseconds; of one that takes back
    /// another, when what had earned that did.
    pub fn each_as_earned(
        self,
    ) -> impl Iterator<Item = (i64, Payout, Option<ProductType>, Option<PayoutSource>)> {
        let product_types = self.product_types.into_iter().chain(std::iter::repeat(None));
        let sources = self.sources.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
        let earned_at = self.earned_at.into_iter().chain(std::iter::repeat(None));
        let payouts = self.payouts.into_iter().zip(product_types).zip(sources).zip(earned_at);
        payouts.map(|(((payout, product_type), source), earned_at)| {
            let takes_back = source.as_ref().and_then(|source| source.takes_back);
            let at = earned_at.or(takes_back).unwrap_or(payout.booked_at_ms);
            (at, payout, product_type, source)
        })
    }
}

impl From<PayoutRecordAsBooked> for PayoutRecord {
    fn from(record: PayoutRecordAsBooked) -> Self {
        let PayoutRecordAsBooked { payouts, product_types, sources } = record;
        Self { payouts, product_types, sources, earned_at: Vec::new() }
    }
}

impl From<PayoutRecordWithoutSources> for PayoutRecord {
    fn from(record: PayoutRecordWithoutSources) -> Self {
        let PayoutRecordWithoutSources { payouts, product_types } = record;
        Self { payouts, product_types, ..Self::default() }
    }
}

/// A value of a tag that a client gave its lead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The lead.
    pub lead: Uuid,
    /// The tag.
    pub key: String,
    /// One of its values.
    pub value: String,
    /// When the tag came, Unix milliseconds.
    pub created_at_ms: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payouts_of_earlier_builds_are_read_and_earlier_builds_read_these() {
        let payouts = vec![Payout { lead: Uuid::from_u128(1), booked_at_ms: 5, cents: 12.5 }];
        let earlier = PayoutRecord::read(&codec::encode(&payouts)).unwrap();
        assert_eq!(earlier.each().collect::<Vec<_>>(), [(payouts[0].clone(), None)]);
        let product_types = vec![Some(ProductType::Loan)];
        let stored = codec::encode(&PayoutRecordWithoutSources {
            payouts: payouts.clone(),
            product_types: product_types.clone(),
        });
        let without_sources = PayoutRecord::read(&stored).unwrap();
        let of_loan = [(payouts[0].clone(), Some(ProductType::Loan))];
        assert_eq!(without_sources.each().collect::<Vec<_>>(), of_loan);

        let source = PayoutSource { uuid: Uuid::from_u128(2), institution: None, takes_back: Some(4) };
        let record = PayoutRecord {
            payouts: payouts.clone(),
            product_types,
            sources: vec![source],
            earned_at: vec![],
        };
        let earned = PayoutRecord { earned_at: vec![Some(3)], ..record.clone() };
        for (record, at) in [(record, 4), (earned, 3)] {
            let stored = record.clone().written();
            assert_eq!(codec::decode(&stored), Ok(payouts.clone()));
            assert!(codec::decode::<PayoutRecordWithoutSources>(&stored).is_ok());
            assert!(codec::decode::<PayoutRecordAsBooked>(&stored).is_ok());
            assert_eq!(PayoutRecord::read(&stored), Ok(record.clone()));
            assert_eq!(record.each_as_earned().map(|(at, ..)| at).collect::<Vec<_>>(), [at]);
        }
    }

    #[test]
    fn what_is_taken_back_is_nothing_new_to_earlier_builds() {
        let happening = Happening {
            event_type: EventType::Funded,
            lead: Uuid::from_u128(1),
            lead_created_at: 5,
            at: 7,
            institution: None,
            product_type: None,
            amount_in_cents: None,
            test: false,
            cause: None,
        };
        let earlier = HappeningRecord::read(&codec::encode(&vec![happening.clone()])).unwrap();
        assert_eq!(earlier.each().collect::<Vec<_>>(), [(happening.clone(), None)]);
        let taken_back = vec![(happening.clone(), 9)];
        let stored = codec::encode(&HappeningRecordWithoutDetails { happenings: Vec::new(), taken_back });
        assert_eq!(codec::decode::<Vec<Happening>>(&stored), Ok(Vec::new()));
        let read = HappeningRecord::read(&stored).unwrap();
        assert_eq!(read.each().collect::<Vec<_>>(), [(happening.clone(), Some(9))]);

        let details = HappeningDetails { payout_cents: Some(12.5), ..HappeningDetails::default() };
        let record = HappeningRecord {
            happenings: vec![happening.clone()],
            taken_back: vec![(happening.clone(), 9)],
            details: vec![HappeningDetails::default(), details],
        };
        let stored = codec::encode(&record);
        assert_eq!(codec::decode(&stored), Ok(vec![happening.clone()]));
        let without_details: HappeningRecordWithoutDetails = codec::decode(&stored).unwrap();
        assert_eq!(without_details.taken_back, record.taken_back);
        let read = HappeningRecord::read(&stored).unwrap();
        assert_eq!(read.each_with_details().nth(1), Some((happening.clone(), Some(9), details)));
        let plain = HappeningRecord::written(vec![(happening.clone(), HappeningDetails::default())]);
        assert_eq!(plain, codec::encode(&vec![happening]));
    }

    #[test]
    fn a_lead_of_earlier_builds_has_the_bands_of_the_current_edition_and_no_first_table() {
        let stored = format!(
            r#"{{"uuid":"{0}","company":"{0}","test":false,"createdAt":1,"updatedAt":1,"lead":{{}}}}"#,
            Uuid::nil()
        );
        let record: LeadRecord = serde_json::from_str(&stored).unwrap();
        assert_eq!((record.bands, record.first_table), (CreditBands::CURRENT, None));
        let stored = codec::encode_json(&record);
        assert!(!String::from_utf8_lossy(&stored).contains("firstTable"), "it stays as it was");
    }
}
