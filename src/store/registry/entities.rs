//! Records shared by several modules: companies, tokens, leads and, in postcard, lists of feed entries.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::codec;
use offerd_model::{
    CreditBands, EventType, Lead, LeadLegalInformation, ProductSubType, ProductType, RejectReason,
    SuppressionDigest, SuppressionKind, TokenKind, record,
};

record! { plain
    /// A company, which submits leads. JSON, by uuid.
    #[derive(Eq)]
    CompanyRecord {
        /// Its id.
        uuid: Uuid,
        /// Its name, unique among companies.
        name: String,
        /// Minutes within which a lead with the same identity is a duplicate; none if absent.
        duplicate_look_back_minutes?: u32,
    }

    /// An access token. JSON, keyed by the SHA-256 of the token, which itself is not stored.
    #[derive(Eq)]
    TokenRecord {
        /// Identifies the token in lists and for revocation; reveals nothing of the token itself.
        id: Uuid,
        /// The company it belongs to.
        company: Uuid,
        /// What it may do.
        kind: TokenKind,
        /// Whether its leads are tests.
        test: bool,
        /// Unix milliseconds.
        created_at: i64,
    }

    /// A lead as submitted, and what we know of its origin. JSON, by uuid.
    LeadRecord {
        /// Its id.
        uuid: Uuid,
        /// The company it belongs to.
        company: Uuid,
        /// Whether it was submitted with a test token.
        test: bool,
        /// When it was created, Unix milliseconds.
        created_at: i64,
        /// When it was last updated, Unix milliseconds.
        updated_at: i64,
        /// The credit bands that turn its score into a rating: those of the edition that it was submitted in.
        bands: CreditBands,
        /// Whether the client declared that it knows values beyond the specification, besides the lead's.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        newer_values: bool,
        /// The rate table written with it, which no other record references; none if it came without one.
        first_table?: Uuid,
        /// When its consents were stated, Unix milliseconds; none if at its creation.
        consents_stated_at?: i64,
        /// Its earlier consents, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier_consents: Vec<StatedConsents>,
        /// By what suppression lists named its people before it grew, where that is no longer in the lead.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier_digests: Vec<(SuppressionKind, SuppressionDigest)>,
        /// Its variant of each experiment that applied when it was accepted, by the name of the rule.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        experiments: BTreeMap<String, String>,
        /// A digest of what a lead without an experiment would have got then; none if it drew no variant.
        defaults?: String,
        /// The lead as submitted.
        lead: Lead,
    }

    /// What a lead is billed and counted by, which stays when it is erased: nothing of the person. JSON, by
    /// uuid.
    LeadSummary {
        /// The company it belongs to.
        company: Uuid,
        /// Whether it was submitted with a test token.
        test: bool,
        /// When it was created, Unix milliseconds.
        created_at: i64,
        /// The rate table written with it, which no other record references.
        first_table?: Uuid,
        /// The product types it asks for.
        products: BTreeSet<ProductType>,
        /// Its values of each client tag that reports count.
        tags: BTreeMap<String, BTreeSet<String>>,
        /// Its variant of each experiment, by the name of the rule.
        experiments: BTreeMap<String, String>,
    }
}

impl LeadSummary {
    /// The summary of a lead, with its values of the `counted` tags.
    pub fn of(record: &LeadRecord, counted: &[String]) -> Self {
        let LeadRecord { company, test, created_at, first_table, .. } = *record;
        let products = ProductType::ALL.iter().copied().filter(|product| record.lead.asks_for(*product));
        let values = |tag: &String| {
            let values = record.lead.client_tags.iter().flat_map(|tags| tags.0.get(tag)).flatten();
            (tag.clone(), values.filter(|value| !value.is_empty()).cloned().collect())
        };
        let (products, tags) = (products.collect(), counted.iter().map(values).collect());
        let experiments = record.experiments.clone();
        Self { company, test, created_at, first_table, products, tags, experiments }
    }
}

impl LeadRecord {
    /// The first table that a stored lead references, if the lead can be read and has one.
    pub(crate) fn first_table_in(payload: &[u8]) -> Option<Uuid> {
        codec::decode_json::<Self>(payload).ok()?.first_table
    }
}

/// The consents of a person, with the texts that they were shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatedConsents {
    /// When they were stated, Unix milliseconds.
    pub stated_at: i64,
    /// The consents and texts.
    pub legal_information: LeadLegalInformation,
}

/// An event of a lead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Happening {
    /// Its type.
    pub event_type: EventType,
    /// The lead.
    pub lead: Uuid,
    /// When the lead was created, Unix milliseconds.
    pub lead_created_at: i64,
    /// When it happened, Unix milliseconds.
    pub at: i64,
    /// The institution involved: uuid and name.
    pub institution: Option<(Uuid, String)>,
    /// The product type of the offer involved.
    pub product_type: Option<ProductType>,
    /// The amount at stake, for events that have one.
    pub amount_in_cents: Option<i32>,
    /// Whether the lead is a test.
    pub test: bool,
    /// The cause, which distinguishes events of one instant: a click, a partner's report, a new rate table.
    pub cause: Option<Uuid>,
    /// When it was reversed, Unix milliseconds. The reversal is a record of its own.
    pub taken_back_at: Option<i64>,
    /// Further details.
    pub details: HappeningDetails,
}

/// Details of an event, where known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HappeningDetails {
    /// The offer involved.
    pub offer: Option<Uuid>,
    /// The product subtype of that offer.
    pub product_sub_type: Option<ProductSubType>,
    /// Why the institution rejected the lead.
    pub reject_reason: Option<RejectReason>,
    /// The payout, in cents and fractions of them.
    pub payout_cents: Option<f64>,
}

/// What the company earned with a lead. An erasure leaves it as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PayoutRecord {
    /// Its id. A reversal has the id of the payout that it reverses.
    pub uuid: Uuid,
    /// The lead.
    pub lead: Uuid,
    /// When it was booked, Unix milliseconds.
    pub booked_at_ms: i64,
    /// The amount, in cents and fractions of them; negative for a reversal.
    pub cents: f64,
    /// The product type of the offer.
    pub product_type: Option<ProductType>,
    /// The institution: uuid and name.
    pub institution: Option<(Uuid, String)>,
    /// When the reversed payout was booked, Unix milliseconds.
    pub takes_back: Option<i64>,
    /// When the event that earned it happened, Unix milliseconds, if not when it was booked.
    pub earned_at: Option<i64>,
    /// The key of the partner that pays it.
    pub partner: String,
    /// The type of the lead event that earned it; none for a bid, and for steps without an event.
    pub event_type: Option<EventType>,
    /// The offer, where it is known.
    pub offer: Option<Uuid>,
    /// The partner's own id of the report that earned it.
    pub transaction_id: Option<String>,
    /// Whether the lead is a test: then nobody earns it, and only the feed of test records has it.
    #[serde(default)]
    pub test: bool,
}

impl PayoutRecord {
    /// The time that it counts under, Unix milliseconds: when it was earned, or the reversed payout booked.
    pub fn counts_at(&self) -> i64 {
        self.earned_at.or(self.takes_back).unwrap_or(self.booked_at_ms)
    }

    /// What its partner knows it by: the transaction id, else the click id, which is the offer's uuid, else the
    /// lead that it bought.
    pub fn reference(&self) -> String {
        self.transaction_id.clone().unwrap_or_else(|| self.offer.unwrap_or(self.lead).to_string())
    }
}

/// A value of a tag of a lead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The lead.
    pub lead: Uuid,
    /// The tag.
    pub key: String,
    /// One of its values.
    pub value: String,
    /// When the client set the tag, Unix milliseconds.
    pub created_at_ms: i64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn records_are_read_as_they_were_written(
            (at, other, cents) in (any::<i64>(), any::<Option<i64>>(), any::<i32>()),
            (name, uuid) in (".{0,20}", any::<u128>().prop_map(Uuid::from_u128)),
            product_type in any::<bool>().prop_map(|known| known.then_some(ProductType::Loan)),
        ) {
            let institution = product_type.map(|_| (uuid, name.clone()));
            let cents = f64::from(cents) / 8.0;
            let details = HappeningDetails {
                offer: product_type.map(|_| uuid),
                payout_cents: Some(cents),
                ..HappeningDetails::default()
            };
            let happening = Happening {
                event_type: EventType::Funded,
                lead: uuid,
                lead_created_at: at,
                at,
                institution: institution.clone(),
                product_type,
                amount_in_cents: Some(7),
                test: product_type.is_some(),
                cause: Some(uuid),
                taken_back_at: other,
                details,
            };
            let happenings = vec![happening.clone(), happening];
            prop_assert_eq!(codec::decode(&codec::encode(&happenings)), Ok(happenings));
            let payouts = vec![PayoutRecord {
                uuid,
                lead: uuid,
                booked_at_ms: at,
                cents,
                product_type,
                institution,
                takes_back: other,
                earned_at: other,
                test: product_type.is_some(),
                partner: name.clone(),
                event_type: product_type.map(|_| EventType::Funded),
                offer: product_type.map(|_| uuid),
                transaction_id: product_type.map(|_| name.clone()),
            }];
            prop_assert_eq!(codec::decode(&codec::encode(&payouts)), Ok(payouts));
            let tags = vec![Tag { lead: uuid, key: name.clone(), value: name, created_at_ms: at }];
            prop_assert_eq!(codec::decode(&codec::encode(&tags)), Ok(tags));
        }
    }

    #[test]
    fn a_payout_counts_when_it_was_earned_and_its_reversal_likewise() {
        let payout = |takes_back, earned_at| PayoutRecord {
            booked_at_ms: 5,
            takes_back,
            earned_at,
            ..PayoutRecord::default()
        };
        let counted = [(None, None), (Some(4), None), (Some(4), Some(3)), (None, Some(3))];
        assert_eq!(counted.map(|(takes_back, earned)| payout(takes_back, earned).counts_at()), [5, 4, 3, 3]);
    }

    #[test]
    fn a_lead_is_stored_without_the_fields_that_it_lacks() {
        let stored = format!(
            r#"{{"uuid":"{0}","company":"{0}","test":false,"createdAt":1,"updatedAt":1,"bands":"current","lead":{{}}}}"#,
            Uuid::nil()
        );
        let record: LeadRecord = serde_json::from_str(&stored).unwrap();
        assert_eq!((record.bands, record.first_table), (CreditBands::Current, None));
        assert_eq!(String::from_utf8(codec::encode_json(&record)).unwrap(), stored);
    }
}
