//! The records of the analytics feeds, and their pages.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::Type;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use super::enums::{EventType, ProductSubType, ProductType, RejectReason};
use super::plain_number;
use super::schema::{self, Components};
use super::timestamp::Timestamp;
use crate::record;

record! {
    /// An event of a lead.
    LeadEvent {
        /// A hash of lead, type and time, unique for each event.
        id: String,
        /// The lead.
        lead_uuid: Uuid,
        /// When the lead was created.
        lead_created_at: Timestamp,
        /// The type of the event.
        event_type: EventType,
        /// When the event happened.
        event_created_at: Timestamp,
        /// The amount, for events that have one.
        amount_in_cents?: i32,
        /// The institution of the event; group by this.
        financial_institution_uuid?: Uuid,
        /// The institution's name, which may change.
        financial_institution_name?: String,
        /// The product type of the offer.
        product_type?: ProductType,
        /// Data that depend on the type of the event; newer form of the feeds only.
        event_data?: EventData,
        /// The offer; newer form only.
        offer_uuid?: Uuid,
        /// The product subtype of the offer; newer form only.
        product_sub_type?: ProductSubType,
        /// Whether the lead is a test; newer form only.
        is_test?: bool,
        /// When the event was reversed: it is then sent again with the same id. Newer form only.
        event_deleted_at?: Timestamp,
        /// The company that submitted the lead; newer form only, always present there.
        supply_sub_account_uuid?: Uuid,
        /// The company's name; newer form only, always present there.
        supply_sub_account_name?: String,
        /// When the record reached the service, which orders the feed; newer form only, always present there.
        pagination_timestamp?: String,
    }

    /// Data of an event: the reason of a rejection, the payout of a conversion, the amount of an application,
    /// an approval, a listing or a funding; and the product type of each.
    #[derive(Default)]
    EventData {
        /// The product type of the offer.
        product_type?: ProductType,
        /// The amount, in dollars.
        amount?: i32,
        /// The payout, in whole cents.
        payout_in_cents?: i32,
        /// Why the institution rejected the lead.
        reject_reason?: RejectReason,
    }

    /// A payout for a lead to the company that sent it.
    #[derive(Default)]
    LeadPayout {
        /// The lead.
        lead_uuid: Uuid,
        /// When the payout was booked.
        booked_at: Timestamp,
        /// The amount in cents, possibly fractional. A reversal is a negative amount in the hourly form;
        /// in the newer form it is the payout again, with `deletedAt`.
        #[serde(serialize_with = "plain_number::required")]
        payout_in_cents: f64,
        /// The payout's id; newer form only.
        uuid?: Uuid,
        /// When the payout was reversed: it is then sent again. Newer form only.
        deleted_at?: Timestamp,
        /// The institution that pays; newer form only.
        financial_institution_uuid?: Uuid,
        /// The institution's name, which may change; newer form only.
        financial_institution_name?: String,
        /// The product type of the offer; newer form only.
        product_type?: ProductType,
        /// The type of the event that earned it; newer form only.
        event_type?: EventType,
        /// The offer; newer form only.
        offer_uuid?: Uuid,
        /// The partner's key; newer form only.
        partner?: String,
        /// The partner's own id of the event; newer form only.
        transaction_id?: String,
        /// The day on which reports count it; newer form only.
        #[schema(format = Date)]
        counts_on?: String,
        /// The company that earns it; newer form only, always present there.
        supply_sub_account_uuid?: Uuid,
        /// The company's name; newer form only, always present there.
        supply_sub_account_name?: String,
        /// When the record reached the service, which orders the feed; newer form only, always present there.
        pagination_timestamp?: String,
    }

    /// A value of a client tag.
    LeadClientTag {
        /// Equal for equal records, so that clients can drop duplicates.
        hash: String,
        /// The lead.
        lead_uuid: Uuid,
        /// The tag.
        key: String,
        /// Its latest value.
        value: String,
        /// When the tag arrived.
        created_at: Timestamp,
        /// When the record reached the service, which orders the feed; newer form only, always present there.
        pagination_timestamp?: String,
    }

    /// The records of one lead in the feeds' newer form.
    LeadInfo {
        /// Its events in order of arrival; a reversed event occurs once, with the time of its reversal.
        events: Vec<LeadEvent>,
        /// Its payouts; a reversed payout occurs once, with the time of its reversal.
        payouts: Vec<LeadPayout>,
        /// Its client tags.
        client_tags: Vec<LeadClientTag>,
    }

    /// All records of one lead at once.
    LeadInfoResponse {
        /// The records.
        data: LeadInfo,
        /// Sentences about records that are still missing; empty if the data are complete.
        warnings: Vec<String>,
    }
}

/// One page of a feed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedPage<T> {
    /// The next page; carries a `timestamp` or, in the newer form, a `paginationToken`.
    pub next_url: String,
    /// Whether `next_url` has records now. If not, poll again in an hour or, in the newer form, in minutes.
    #[serde(default)]
    pub should_continue_polling: bool,
    /// The records, in the order in which they reached the service.
    pub data: Vec<T>,
}

/// A page of a feed in an answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredPage<'p, T> {
    /// The page.
    #[serde(flatten)]
    pub page: &'p FeedPage<T>,
    /// The token of the next page, in the newer form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pagination_token: Option<&'p str>,
}

/// A page of lead events.
pub type LeadEventResponse = FeedPage<LeadEvent>;
/// A page of payouts.
pub type LeadPayoutResponse = FeedPage<LeadPayout>;
/// A page of client tags.
pub type LeadClientTagsResponse = FeedPage<LeadClientTag>;

impl<T: ToSchema> PartialSchema for FeedPage<T> {
    fn schema() -> RefOr<Schema> {
        let next =
            "Where the next page is; always carries a `timestamp`, or in the newer form a `paginationToken`.";
        let token = "The `paginationToken` of `nextUrl`; always present in the newer form.";
        let more = "Whether `nextUrl` has something now; otherwise retry in an hour, or in five minutes in the newer form.";
        let plain = |kind, about| schema::of(kind).description(Some(about)).into();
        let object = schema::object([
            ("nextUrl", plain(Type::String, next), true),
            ("paginationToken", plain(Type::String, token), false),
            ("shouldContinuePolling", plain(Type::Boolean, more), true),
            ("data", schema::array(schema::reference::<T>(&mut Components::new())), true),
        ]);
        object.description(Some("One page of a feed.")).into()
    }
}

impl<T: ToSchema> ToSchema for FeedPage<T> {
    /// `LeadEventResponse` for `LeadEvent`; the specification has tags in the plural.
    fn name() -> Cow<'static, str> {
        let plural = if T::name() == LeadClientTag::name() { "s" } else { "" };
        format!("{}{plural}Response", T::name()).into()
    }

    fn schemas(components: &mut Components) {
        schema::reference::<T>(components);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pages_round_trip() {
        let page = json!({
            "nextUrl": "https://api.example/supplyAnalytics/leadPayouts?timestamp=2026-11-21T00:00:00.000Z",
            "shouldContinuePolling": false,
            "data": [
                {"leadUuid": Uuid::nil(), "bookedAt": "2026-11-21T00:15:55.887Z", "payoutInCents": 1250},
                {"leadUuid": Uuid::nil(), "bookedAt": "2026-11-21T00:15:56.000Z", "payoutInCents": 12.5},
            ],
        });
        let read: LeadPayoutResponse = serde_json::from_value(page.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), page);
    }
}
