//! Partner reports about leads (ours; the specification covers only their effects).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::api_error::{ApiError, ErrorType};
use super::document;
use super::enums::{PartnerEventType, ProductType, RejectReason};
use super::fault::AttributeFault;
use super::input::{self, UnreadableBody};
use super::plain_number;
use super::plain_text::{first_unseen, trimmed};
use super::section::section;
use super::timestamp::Timestamp;
use crate::record;

const TRANSACTION_ID_BYTES: usize = 200;

const PAYOUT_CENTS_MAX: f64 = 1e9;

section! {
    /// The fields of a report, not yet checked for their combination.
    PartnerReportFields as "PartnerReport" {
        /// The partner's own id of the event: a repeated report counts once.
        transaction_id: String = "transactionId",
        /// The type of the event.
        event_type: PartnerEventType = "eventType",
        /// The click that led to the event, from the landing url; equal to the offer's uuid.
        click_id: Uuid = "clickId",
        /// The offer.
        offer_uuid: Uuid = "offerUuid",
        /// The lead, if the partner does not know the offer.
        lead_uuid: Uuid = "leadUuid",
        /// The product type, if the partner does not know the offer and was asked about several.
        product_type: ProductType = "productType",
        /// When the event happened, without an offset in UTC; defaults to the time of the report.
        occurred_at: Timestamp = "occurredAt",
        /// The amount of the event, such as the loan amount: whole cents, not written with two decimals.
        amount_in_cents: i32 = "amountInCents",
        /// The payout to the company that sent the lead; overrides the partner file.
        payout_in_cents: f64 = "payoutInCents",
        /// Why the partner rejected the application.
        reject_reason: RejectReason = "rejectReason",
        /// Revokes the report with this transaction id.
        revoked: bool = "revoked",
    }
}

/// A partner report.
#[derive(Debug, Clone, PartialEq)]
pub enum PartnerReport {
    /// An event of a lead.
    Event(PartnerEvent),
    /// Revokes the report with this transaction id.
    Revocation(String),
}

/// An event of a lead at a partner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartnerEvent {
    /// The partner's own id of the event.
    pub transaction_id: String,
    /// The type of the event.
    pub event_type: PartnerEventType,
    /// The offer or the lead.
    pub reference: Reference,
    /// When it happened; defaults to the time of the report.
    pub occurred_at: Option<Timestamp>,
    /// The amount of the event.
    pub amount_in_cents: Option<i32>,
    /// The payout to the company that sent the lead; overrides the partner file.
    pub payout_in_cents: Option<f64>,
    /// Why the partner rejected the application.
    pub reject_reason: Option<RejectReason>,
}

/// The subject of a report: an offer, or else a lead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// The click, whose id is the offer's uuid.
    pub click_id: Option<Uuid>,
    /// The offer.
    pub offer_uuid: Option<Uuid>,
    /// The lead.
    pub lead_uuid: Option<Uuid>,
    /// The product type, if only the lead is named and the partner was asked about several.
    pub product_type: Option<ProductType>,
}

impl Reference {
    /// The offer, with the attribute that names it.
    pub fn offer(&self) -> Option<(&'static str, Uuid)> {
        let click = self.click_id.map(|offer| ("clickId", offer));
        click.or(self.offer_uuid.map(|offer| ("offerUuid", offer)))
    }
}

record! {
    /// The result of a report.
    PartnerEventReceipt {
        /// The id of the report, and of the resulting lead action.
        uuid: Uuid,
        /// The partner's own id of the event.
        transaction_id: String,
        /// The type of the event.
        event_type: PartnerEventType,
        /// The lead.
        lead_uuid: Uuid,
        /// When it happened.
        occurred_at: Timestamp,
        /// When it was reported.
        created_at: Timestamp,
        /// The offer.
        offer_uuid?: Uuid,
        /// The product type.
        product_type?: ProductType,
        /// The amount of the event.
        amount_in_cents?: i32,
        /// The payout to the company that sent the lead.
        payout_in_cents?: PayoutCents,
        /// Why it books nothing where a payout was to be expected, or looks wrong.
        warning?: String,
        /// Why the partner rejected the application.
        reject_reason?: RejectReason,
        /// When it was revoked.
        revoked_at?: Timestamp,
    }
}

/// An amount in cents, possibly fractional; integral amounts are written without a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct PayoutCents(#[serde(serialize_with = "plain_number::required")] pub f64);

impl PartnerReport {
    /// The attribute with the partner, in files.
    pub const PARTNER: &'static str = "partner";

    /// Parses a request body.
    ///
    /// # Errors
    /// Every fault of the body.
    pub fn read(body: &[u8]) -> Result<Self, UnreadableBody> {
        let written = Self::faults_as_written(body);
        let report = |fields: PartnerReportFields| fields.report().map_err(UnreadableBody::Faults);
        match input::read(body).and_then(report) {
            Err(UnreadableBody::Faults(mut faults)) => {
                faults.retain(|fault| written.iter().all(|other| other.attribute != fault.attribute));
                Err(UnreadableBody::Faults([faults, written].concat()))
            }
            Ok(_) if !written.is_empty() => Err(UnreadableBody::Faults(written)),
            read => read,
        }
    }

    /// The faults that JSON only has as it is written: an attribute twice, and an amount as no program writes
    /// whole cents, such as `12000.00` and `1.2e4`.
    pub fn faults_as_written(body: &[u8]) -> Vec<ApiError> {
        let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
        let (written, twice) = (document::written(body), document::given_twice(body));
        let of = |name: &&str| {
            if twice.contains(*name) {
                return Some(ApiError::at(*name, ErrorType::Malformed, AttributeFault::TWICE.to_string()));
            }
            let value = written.iter().find(|(key, _)| key == name)?.1.get();
            let is_number = value.starts_with(|letter: char| letter == '-' || letter.is_ascii_digit());
            let message =
                if is_number && *name == "amountInCents" { cents(value).err()? } else { return None };
            Some(ApiError::at(*name, ErrorType::Malformed, message))
        };
        PartnerReportFields::WIRE.iter().chain(&[Self::PARTNER]).filter_map(of).collect()
    }

    /// Parses a report from texts: query parameters, or the fields of a CSV line.
    ///
    /// # Errors
    /// Every fault of the texts.
    pub fn from_texts<'t>(
        texts: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Self, UnreadableBody> {
        let body = Self::json_of(texts).map_err(UnreadableBody::Faults)?;
        Self::read(body.to_string().as_bytes())
    }

    /// The request body that says the same as attributes that are all text.
    ///
    /// # Errors
    /// Every number, flag and moment that is none.
    pub fn json_of<'t>(texts: impl IntoIterator<Item = (&'t str, &'t str)>) -> Result<Value, Vec<ApiError>> {
        let (mut body, mut faults) = (Map::new(), Vec::new());
        for (name, text) in texts {
            match typed(name, trimmed(text)) {
                Ok(value) => drop(body.insert(name.to_owned(), value)),
                Err(message) => faults.push(ApiError::at(name, ErrorType::Malformed, message)),
            }
        }
        if faults.is_empty() { Ok(Value::Object(body)) } else { Err(faults) }
    }

    /// The partner's own id of the event.
    pub fn transaction_id(&self) -> &str {
        match self {
            Self::Event(event) => &event.transaction_id,
            Self::Revocation(transaction_id) => transaction_id,
        }
    }
}

/// A text as the value of JSON that its attribute wants; an empty one as it is, for nothing.
fn typed(name: &str, text: &str) -> Result<Value, &'static str> {
    match name {
        _ if text.is_empty() => {}
        "amountInCents" | "payoutInCents" => return cents(text),
        // Spreadsheets write it in capitals.
        "revoked" => {
            let flag = text.to_lowercase().parse().map(Value::Bool);
            return flag.map_err(|_| "must be `true` or `false`");
        }
        "occurredAt" if Timestamp::parse(text).is_none() => {
            return Err("must be an ISO 8601 date-time, such as `2026-11-20T10:00:00Z`");
        }
        _ => {}
    }
    Ok(Value::from(text))
}

/// An amount in cents. Two decimals are those of a unit of money, however many are zero.
fn cents(text: &str) -> Result<Value, &'static str> {
    if text.contains(['e', 'E']) && text.parse::<f64>().is_ok() {
        return Err(
            "must not have an exponent, since the program that wrote it has rounded the number; write out its digits",
        );
    }
    let is_decimal = |digits: &str| digits != "0" && digits.bytes().all(|byte| byte.is_ascii_digit());
    if text.split_once('.').is_some_and(|(_, digits)| is_decimal(digits)) {
        return Err(
            "must be in whole cents, got a number with decimals; where the column is in units of money, multiply all of it by 100",
        );
    }
    let number = serde_json::from_str(text).map(Value::Number);
    number.map_err(|_| "must be a whole number of cents without separators, such as `1200000`")
}

impl PartnerReportFields {
    /// Combines the fields, or returns every fault.
    fn report(self) -> Result<PartnerReport, Vec<ApiError>> {
        let mut faults = Vec::new();
        let transaction_id = trimmed(self.transaction_id.as_deref().unwrap_or_default()).to_owned();
        if transaction_id.is_empty() {
            faults.push(ApiError::missing("transactionId"));
        } else if transaction_id.len() > TRANSACTION_ID_BYTES || transaction_id.contains(char::is_control) {
            let wanted = format!("must be 1 to {TRANSACTION_ID_BYTES} bytes without control characters");
            faults.push(ApiError::at("transactionId", ErrorType::Malformed, wanted));
        } else if let Some(unseen) = first_unseen(&transaction_id) {
            let found = format!("must not have U+{:04X} in it, which nobody sees", u32::from(unseen));
            faults.push(ApiError::at("transactionId", ErrorType::Malformed, found));
        }
        if self.revoked == Some(true) {
            let revocation = PartnerReport::Revocation(transaction_id);
            return if faults.is_empty() { Ok(revocation) } else { Err(faults) };
        }
        if self.event_type.is_none() {
            faults.push(ApiError::missing("eventType"));
        }
        let reference = self.reference();
        faults.extend(reference.as_ref().err().cloned());
        if self.amount_in_cents.is_some_and(|cents| cents < 0) {
            faults.push(ApiError::at("amountInCents", ErrorType::Malformed, "must not be negative"));
        }
        if self.payout_in_cents.is_some_and(|cents| !(0.0..=PAYOUT_CENTS_MAX).contains(&cents)) {
            let wanted = format!("must be a number from 0 to {PAYOUT_CENTS_MAX}");
            faults.push(ApiError::at("payoutInCents", ErrorType::Malformed, wanted));
        }
        match (self.event_type, reference) {
            (Some(event_type), Ok(reference)) if faults.is_empty() => {
                Ok(PartnerReport::Event(PartnerEvent {
                    transaction_id,
                    event_type,
                    reference,
                    occurred_at: self.occurred_at,
                    amount_in_cents: self.amount_in_cents,
                    payout_in_cents: self.payout_in_cents,
                    reject_reason: self.reject_reason,
                }))
            }
            _ => Err(faults),
        }
    }

    fn reference(&self) -> Result<Reference, ApiError> {
        let &Self { click_id, offer_uuid, lead_uuid, product_type, .. } = self;
        if click_id.is_some() && offer_uuid.is_some() && click_id != offer_uuid {
            let message = "must be the clickId, when both are given";
            return Err(ApiError::at("offerUuid", ErrorType::Malformed, message));
        }
        if click_id.or(offer_uuid).or(lead_uuid).is_none() {
            let message = "must be given, or offerUuid, or leadUuid";
            return Err(ApiError::at("clickId", ErrorType::Missing, message));
        }
        Ok(Reference { click_id, offer_uuid, lead_uuid, product_type })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLICK: &str = "0198c1f2-7d5e-7a11-9f3c-2b7d4e6a8001";

    fn faults(body: &str) -> Vec<String> {
        match PartnerReport::read(body.as_bytes()) {
            Err(UnreadableBody::Faults(faults)) => {
                faults.into_iter().filter_map(|fault| fault.attribute).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_report_reads_the_same_as_json_and_as_texts() {
        let json = format!(
            r#"{{"transactionId":"T-1","eventType":"funded","clickId":"{CLICK}","amountInCents":1000000,
                "payoutInCents":1250.0,"occurredAt":"2026-11-20T10:00:00+0000"}}"#
        );
        let texts = [
            ("transactionId", "T-1"),
            ("eventType", "funded"),
            ("clickId", CLICK),
            ("amountInCents", "1000000"),
            ("payoutInCents", "1250.0"),
            ("occurredAt", "2026-11-20T10:00:00+0000"),
            ("rejectReason", ""),
        ];
        let read = PartnerReport::read(json.as_bytes()).unwrap();
        assert_eq!(PartnerReport::from_texts(texts), Ok(read.clone()));
        let PartnerReport::Event(event) = read else { panic!("{read:?}") };
        assert_eq!(event.payout_in_cents, Some(1250.0));
        assert!(PartnerReport::from_texts([("payoutInCents", "12.5")]).is_err());
    }

    #[test]
    fn money_and_ids_of_json_are_those_that_were_written() {
        let (usual, both) =
            (r#""eventType":"applied""#, r#""payoutInCents":1,"amountInCents":2,"payoutInCents":3"#);
        for (more, fault) in [
            (r#""transactionId":"T","amountInCents":1200.0"#, None),
            (r#""transactionId":" \u200bT\ufeff\u00a0","payoutInCents":12.5"#, None),
            (r#""transactionId":"T","amountInCents":12000.00"#, Some("must be in whole cents")),
            (r#""transactionId":"T","amountInCents":12000.50"#, Some("must be in whole cents")),
            (r#""transactionId":"T","amountInCents":1e3"#, Some("must not have an exponent")),
            (&format!(r#""transactionId":"T",{both}"#), Some("is given twice")),
            (r#""transactionId":"T","transactionId":"T""#, Some("is given twice")),
            (r#""transactionId":"T\u200bU""#, Some("must not have U+200B in it")),
            (r#""transactionId":"T\u00a0U""#, Some("must not have U+00A0 in it")),
        ] {
            let body = format!("\u{feff}{{{more},{usual},\"clickId\":\"{CLICK}\"}}");
            match (PartnerReport::read(body.as_bytes()), fault) {
                (Ok(report), None) => assert_eq!(report.transaction_id(), "T", "{more}"),
                (Err(UnreadableBody::Faults(faults)), Some(fault)) => {
                    let told = faults[0].message.as_deref().unwrap_or_default();
                    assert!(faults.len() == 1 && told.starts_with(fault), "{more}: {faults:?}");
                }
                other => panic!("{more}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_transaction_id_of_digits_stays_text() {
        let texts = [("transactionId", "007"), ("revoked", "true")];
        assert_eq!(PartnerReport::from_texts(texts), Ok(PartnerReport::Revocation("007".to_owned())));
    }

    #[test]
    fn everything_that_is_missing_is_told_at_once() {
        assert_eq!(faults("{}"), ["transactionId", "eventType", "clickId"]);
        assert_eq!(faults(r#"{"revoked":true}"#), ["transactionId"]);
    }

    #[test]
    fn values_beyond_their_bounds_are_told() {
        let wrong = format!(
            r#"{{"transactionId":"a\u0007b","eventType":"applied","clickId":"{CLICK}","offerUuid":"{}",
                "amountInCents":-1,"payoutInCents":1e10}}"#,
            Uuid::nil()
        );
        assert_eq!(faults(&wrong), ["transactionId", "offerUuid", "amountInCents", "payoutInCents"]);
        let texts =
            [("transactionId", "T"), ("eventType", "applied"), ("leadUuid", CLICK), ("amountInCents", "x")];
        assert!(PartnerReport::from_texts(texts).is_err());
    }

    #[test]
    fn the_list_of_attributes_is_the_sections() {
        let all: Map<String, Value> =
            PartnerReportFields::WIRE.iter().map(|name| ((*name).to_owned(), Value::from(vec![0]))).collect();
        let body = Value::Object(all).to_string();
        assert_eq!(faults(&body), PartnerReportFields::WIRE, "an array fits none of them");
    }
}
