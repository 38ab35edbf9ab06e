//! Records of the polled feeds, and the page they come in.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use super::enums::{EventType, ProductType};
use super::plain_number;
use super::schema::{self, Components};
use super::timestamp::Timestamp;

/// Something that happened to a lead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeadEvent {
    /// A hash of lead, type and time, unique to the event.
    pub id: String,
    /// The lead it happened to.
    pub lead_uuid: Uuid,
    /// When that lead came.
    pub lead_created_at: Timestamp,
    /// What happened.
    pub event_type: EventType,
    /// When it happened.
    pub event_created_at: Timestamp,
    /// The amount at stake, for events that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub amount_in_cents: Option<i32>,
    /// The institution it happened with; the one to group by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub financial_institution_uuid: Option<Uuid>,
    /// That institution's name, which may change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub financial_institution_name: Option<String>,
    /// The product of the offer it happened with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub product_type: Option<ProductType>,
    /// Whether the lead is a test; told by the newer form of the feeds only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub is_test: Option<bool>,
}

/// What the supply partner earned by a lead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeadPayout {
    /// The lead that earned it.
    pub lead_uuid: Uuid,
    /// When it was booked.
    pub booked_at: Timestamp,
    /// How much, in cents and fractions of them.
    #[serde(serialize_with = "plain_number::required")]
    pub payout_in_cents: f64,
}

/// A value of a client tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeadClientTag {
    /// Equal for equal records, so that a client can drop the second.
    pub hash: String,
    /// The lead that is tagged.
    pub lead_uuid: Uuid,
    /// The tag.
    pub key: String,
    /// Its latest value.
    pub value: String,
    /// When the tag came.
    pub created_at: Timestamp,
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

/// A page of lead events.
pub type LeadEventResponse = FeedPage<LeadEvent>;
/// A page of payouts.
pub type LeadPayoutResponse = FeedPage<LeadPayout>;
/// A page of client tags.
pub type LeadClientTagsResponse = FeedPage<LeadClientTag>;

impl<T: ToSchema> PartialSchema for FeedPage<T> {
    fn schema() -> RefOr<Schema> {
        let next = "Where the next page is; always carries a `timestamp`.";
        let more = "Whether there is something at `nextUrl` now; otherwise come back in an hour.";
        let text = ObjectBuilder::new().schema_type(Type::String);
        let flag = ObjectBuilder::new().schema_type(Type::Boolean);
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("One page of a feed."))
            .property("nextUrl", text.description(Some(next)))
            .property("shouldContinuePolling", flag.description(Some(more)))
            .property("data", schema::array(schema::reference::<T>(&mut Components::new())))
            .required("nextUrl")
            .required("shouldContinuePolling")
            .required("data")
            .into()
    }
}

/// Names the page of each feed as the specification does.
macro_rules! named {
    ($($page:ident of $record:ty,)+) => { $(
        impl ToSchema for $page {
            fn name() -> Cow<'static, str> {
                stringify!($page).into()
            }

            fn schemas(components: &mut Components) {
                schema::reference::<$record>(components);
            }
        }
    )+ };
}

named! {
    LeadEventResponse of LeadEvent,
    LeadPayoutResponse of LeadPayout,
    LeadClientTagsResponse of LeadClientTag,
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
