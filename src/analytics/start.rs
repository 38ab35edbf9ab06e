//! Where a page may start, and what a client reads that asks for another place.

use super::arrival_time::ArrivalTime;
use crate::model::{ApiError, ErrorType, Timestamp};

/// The name of the query parameter.
const TIMESTAMP: &str = "timestamp";

/// Reads where a page starts: at `latest` at the latest, and not before there was anything.
///
/// # Errors
/// The time is missing, cannot be read, or is too recent (specification, Errors 5 and 6).
pub fn start(timestamp: Option<&str>, latest: ArrivalTime) -> Result<ArrivalTime, ApiError> {
    let given = timestamp.filter(|text| !text.is_empty()).ok_or_else(missing)?;
    let start = ArrivalTime::parse(given).ok_or_else(malformed)?.max(ArrivalTime::FIRST);
    if start > latest { Err(too_recent(given, latest)) } else { Ok(start) }
}

fn missing() -> ApiError {
    ApiError::at(TIMESTAMP, ErrorType::Missing, "timestamp must be specified")
}

fn malformed() -> ApiError {
    ApiError::at(TIMESTAMP, ErrorType::Malformed, "timestamp must be an ISO 8601 date-time")
}

/// The latest time is told to the millisecond, rounded down, so that it is acceptable as it is written.
fn too_recent(given: &str, latest: ArrivalTime) -> ApiError {
    let millis = i64::try_from(latest.0 / 1000).unwrap_or(i64::MAX);
    let latest = Timestamp::from_millis(millis).unwrap_or_default();
    let requirement = format!("must be at or before {latest}");
    ApiError::at(TIMESTAMP, ErrorType::Malformed, format!("timestamp {given} {requirement}"))
        .with("specified", given)
        .with("requirement", requirement)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> ArrivalTime {
        ArrivalTime::parse(text).unwrap()
    }

    #[test]
    fn a_time_up_to_the_latest_is_taken_to_the_microsecond() {
        let latest = at("2026-11-21T00:15:55.887852Z");
        assert_eq!(start(Some("2026-11-21T00:15:55.887852+0000"), latest), Ok(latest));
        assert!(start(Some("2026-11-21T00:15:55.887853+0000"), latest).is_err());
    }

    #[test]
    fn history_starts_where_it_starts() {
        let latest = at("2026-11-21T00:00:00Z");
        assert_eq!(start(Some("2019-01-01T00:00:00Z"), latest), Ok(ArrivalTime::FIRST));
    }

    #[test]
    fn a_missing_time_is_told_from_an_unreadable_one() {
        let latest = at("2026-11-21T00:00:00Z");
        for missing in [None, Some("")] {
            let error = start(missing, latest).unwrap_err();
            assert_eq!(error.error_type, Some(ErrorType::Missing));
            assert_eq!(error.message.as_deref(), Some("timestamp must be specified"));
        }
        let error = start(Some("yesterday"), latest).unwrap_err();
        assert_eq!(
            (error.attribute.as_deref(), error.error_type),
            (Some("timestamp"), Some(ErrorType::Malformed))
        );
    }

    #[test]
    fn a_time_that_is_too_recent_is_told_with_the_latest_acceptable_one() {
        let latest = at("2026-11-21T00:15:55.887852Z");
        let error = start(Some("2026-11-21T01:00:00Z"), latest).unwrap_err();
        assert_eq!(error.details["specified"], "2026-11-21T01:00:00Z");
        assert_eq!(error.details["requirement"], "must be at or before 2026-11-21T00:15:55.887Z");
        let message = error.message.unwrap();
        assert!(message.contains("2026-11-21T01:00:00Z") && message.contains("2026-11-21T00:15:55.887Z"));
        assert!(start(Some("2026-11-21T00:15:55.887Z"), latest).is_ok());
    }
}
