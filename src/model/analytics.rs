//! Records of the polled feeds, and the page they come in.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use super::enums::{EventType, ProductSubType, ProductType, RejectReason};
use super::plain_number;
use super::schema::{self, Components};
use super::timestamp::Timestamp;
use crate::record;

record! {
    /// Something that happened to a lead.
    LeadEvent {
        /// A hash of lead, type and time, unique to the event.
        id: String,
        /// The lead it happened to.
        lead_uuid: Uuid,
        /// When that lead came.
        lead_created_at: Timestamp,
        /// What happened.
        event_type: EventType,
        /// When it happened.
        event_created_at: Timestamp,
        /// The amount at stake, for events that have one.
        amount_in_cents?: i32,
        /// The institution it happened with; the one to group by.
        financial_institution_uuid?: Uuid,
        /// That institution's name, which may change.
        financial_institution_name?: String,
        /// The product of the offer it happened with.
        product_type?: ProductType,
        /// What is known of the event by its type; told by the newer form of the feeds only.
        event_data?: EventData,
        /// The offer it happened with; told by the newer form only.
        offer_uuid?: Uuid,
        /// The finer kind of that offer; told by the newer form only.
        product_sub_type?: ProductSubType,
        /// Whether the lead is a test; told by the newer form only.
        is_test?: bool,
        /// When it was taken back: the event then comes again, with the same id. Told by the newer form only.
        event_deleted_at?: Timestamp,
        /// The company that the lead came from; told by the newer form always.
        supply_sub_account_uuid?: Uuid,
        /// That company's name; told by the newer form always.
        supply_sub_account_name?: String,
        /// When the record reached the service, by which the feed is ordered; told by the newer form always.
        pagination_timestamp?: String,
    }

    /// What is known of an event: the reason of a rejection, what a conversion earned, the amount of an application, an approval, a
    /// listing or a funding, and the product of all of them.
    #[derive(Default)]
    EventData {
        /// The product of the offer.
        product_type?: ProductType,
        /// The amount at stake, in dollars.
        amount?: i32,
        /// What it earned, in whole cents.
        payout_in_cents?: i32,
        /// Why the institution rejected the lead.
        reject_reason?: RejectReason,
    }

    /// What the supply partner earned by a lead.
    #[derive(Default)]
    LeadPayout {
        /// The lead that earned it.
        lead_uuid: Uuid,
        /// When it was booked.
        booked_at: Timestamp,
        /// How much, in cents and fractions of them. What is taken back is less than nothing in the specified form; in the newer one it
        /// is the payout again, with `deletedAt`.
        #[serde(serialize_with = "plain_number::required")]
        payout_in_cents: f64,
        /// The payout; told by the newer form only.
        uuid?: Uuid,
        /// When it was taken back: the payout then comes again. Told by the newer form only.
        deleted_at?: Timestamp,
        /// The institution that it comes from; told by the newer form only.
        financial_institution_uuid?: Uuid,
        /// That institution's name, which may change; told by the newer form only.
        financial_institution_name?: String,
        /// The product of the offer; told by the newer form only.
        product_type?: ProductType,
        /// The company that earned it; told by the newer form always.
        supply_sub_account_uuid?: Uuid,
        /// That company's name; told by the newer form always.
        supply_sub_account_name?: String,
        /// When the record reached the service, by which the feed is ordered; told by the newer form always.
        pagination_timestamp?: String,
    }

    /// A value of a client tag.
    LeadClientTag {
        /// Equal for equal records, so that a client can drop the second.
        hash: String,
        /// The lead that is tagged.
        lead_uuid: Uuid,
        /// The tag.
        key: String,
        /// Its latest value.
        value: String,
        /// When the tag came.
        created_at: Timestamp,
        /// When the record reached the service, by which the feed is ordered; told by the newer form always.
        pagination_timestamp?: String,
    }

    /// What the feeds tell of one lead, in their newer form.
    LeadInfo {
        /// What happened to it, in the order of arrival; what was taken back stands once, with the time.
        events: Vec<LeadEvent>,
        /// What it earned; what was taken back stands once, with the time.
        payouts: Vec<LeadPayout>,
        /// How it was tagged.
        client_tags: Vec<LeadClientTag>,
    }

    /// What the feeds tell of one lead, at once.
    LeadInfoResponse {
        /// What is there.
        data: LeadInfo,
        /// What is not there yet, in sentences; none where all of it is.
        warnings: Vec<String>,
    }
}

/// One page of a feed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedPage<T> {
    /// Where the next page is; carries a `timestamp`, or in the newer form a `paginationToken`.
    pub next_url: String,
    /// Whether there is something at `next_url` now; otherwise come back in an hour, or in the newer form in minutes.
    #[serde(default)]
    pub should_continue_polling: bool,
    /// The records, by the time at which they reached the service.
    pub data: Vec<T>,
}

/// A page as it is answered.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredPage<'p, T> {
    /// The page.
    #[serde(flatten)]
    pub page: &'p FeedPage<T>,
    /// What asks for the next one, in the newer form.
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
        let token = "The `paginationToken` of `nextUrl`; told by the newer form always.";
        let more = "Whether there is something at `nextUrl` now; otherwise come back in an hour.";
        let plain = |kind, about| ObjectBuilder::new().schema_type(kind).description(Some(about)).into();
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
    /// `LeadEventResponse`, of `LeadEvent`; the specification has tags in the plural.
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
