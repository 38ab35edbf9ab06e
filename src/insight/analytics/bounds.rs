//! Parses and validates the time bounds of a client's query.

use super::arrival_time::ArrivalTime;
use offerd_model::{ApiError, ErrorType, Timestamp};

/// The message about a start that is not given.
pub fn missing(name: &str) -> String {
    format!("{name} must be specified")
}

/// Parses the start of a page from the query parameter `name`, not after `latest`.
///
/// # Errors
/// The time is missing, malformed, or too recent (specification, Errors 5 and 6).
pub fn start(name: &str, given: Option<&str>, latest: ArrivalTime) -> Result<ArrivalTime, ApiError> {
    let missing = || ApiError::at(name, ErrorType::Missing, missing(name));
    let given = given.filter(|text| !text.is_empty()).ok_or_else(missing)?;
    let start = time(name, given)?.max(ArrivalTime::FIRST);
    // Rounded down to the millisecond, so that the reported time is itself acceptable.
    let millis = i64::try_from(latest.0 / 1000).unwrap_or(i64::MAX);
    let at_latest = || format!("must be at or before {}", Timestamp::at(millis));
    if start > latest { Err(unfit(name, given, at_latest())) } else { Ok(start) }
}

/// Parses the exclusive end of the last page from the query parameter `name`. It may be in the future.
///
/// # Errors
/// The time is malformed, or not after `start`.
pub fn until(name: &str, given: &str, start: ArrivalTime) -> Result<ArrivalTime, ApiError> {
    let until = time(name, given)?;
    if until > start { Ok(until) } else { Err(unfit(name, given, format!("must be after {start}"))) }
}

fn time(name: &str, given: &str) -> Result<ArrivalTime, ApiError> {
    let wanted = "an ISO 8601 date-time, such as 2026-11-21T00:15:55.887Z";
    let malformed = || ApiError::at(name, ErrorType::Malformed, format!("{name} must be {wanted}"));
    ArrivalTime::parse(given.trim()).ok_or_else(malformed)
}

fn unfit(name: &str, given: &str, requirement: String) -> ApiError {
    ApiError::at(name, ErrorType::Malformed, format!("{name} {given} {requirement}"))
        .with("specified", given)
        .with("requirement", requirement)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> ArrivalTime {
        ArrivalTime::parse(text).unwrap()
    }

    fn timestamp(given: Option<&str>, latest: ArrivalTime) -> Result<ArrivalTime, ApiError> {
        start("timestamp", given, latest)
    }

    #[test]
    fn a_time_up_to_the_latest_is_taken_to_the_microsecond() {
        let latest = at("2026-11-21T00:15:55.887852Z");
        assert_eq!(timestamp(Some("2026-11-21T00:15:55.887852+0000"), latest), Ok(latest));
        assert!(timestamp(Some("2026-11-21T00:15:55.887853+0000"), latest).is_err());
    }

    #[test]
    fn a_plus_that_arrives_as_a_space_is_a_plus() {
        let latest = at("2026-11-21T00:15:55.887852Z");
        for offset in [" 0000", "  00:00", " +0000", "Z", " "] {
            for date_and_time in ["2026-11-21T00:15:55.887852", "2026-11-21 00:15:55.887852"] {
                assert_eq!(
                    timestamp(Some(&format!("{date_and_time}{offset}")), latest),
                    Ok(latest),
                    "{offset}"
                );
            }
        }
        let east = at("2026-11-20T18:45:55.887852Z");
        assert_eq!(timestamp(Some("2026-11-21T00:15:55.887852 05:30"), latest), Ok(east));
        for wrong in ["2026-11-21 0000", "2026-11-21T00:15:55 0", "2026-11-21T00:15:55 Z 0000"] {
            assert!(timestamp(Some(wrong), latest).is_err(), "{wrong}");
        }
    }

    #[test]
    fn history_starts_where_it_starts() {
        let latest = at("2026-11-21T00:00:00Z");
        assert_eq!(timestamp(Some("2019-01-01T00:00:00Z"), latest), Ok(ArrivalTime::FIRST));
    }

    #[test]
    fn a_missing_time_is_told_from_an_unreadable_one() {
        let latest = at("2026-11-21T00:00:00Z");
        for missing in [None, Some("")] {
            let error = timestamp(missing, latest).unwrap_err();
            assert_eq!(error.error_type, Some(ErrorType::Missing));
            assert_eq!(error.message.as_deref(), Some("timestamp must be specified"));
        }
        let error = start("sinceTimestamp", Some("yesterday"), latest).unwrap_err();
        assert_eq!(
            (error.attribute.as_deref(), error.error_type),
            (Some("sinceTimestamp"), Some(ErrorType::Malformed))
        );
    }

    #[test]
    fn a_time_that_is_too_recent_is_told_with_the_latest_acceptable_one() {
        let latest = at("2026-11-21T00:15:55.887852Z");
        let error = timestamp(Some("2026-11-21T01:00:00Z"), latest).unwrap_err();
        assert_eq!(error.details["specified"], "2026-11-21T01:00:00Z");
        assert_eq!(error.details["requirement"], "must be at or before 2026-11-21T00:15:55.887Z");
        let message = error.message.unwrap();
        assert!(message.contains("2026-11-21T01:00:00Z") && message.contains("2026-11-21T00:15:55.887Z"));
        assert!(timestamp(Some("2026-11-21T00:15:55.887Z"), latest).is_ok());
    }

    #[test]
    fn an_end_is_after_the_start_and_may_lie_ahead() {
        let start = at("2026-11-21T00:00:00Z");
        assert_eq!(until("untilTimestamp", "2026-11-21T00:00:00.000001Z", start).unwrap().0, start.0 + 1);
        assert!(until("untilTimestamp", "9999-01-01T00:00:00Z", start).is_ok());
        let error = until("untilTimestamp", "2026-11-21T00:00:00Z", start).unwrap_err();
        assert_eq!(error.attribute.as_deref(), Some("untilTimestamp"));
        assert_eq!(error.details["requirement"], "must be after 2026-11-21T00:00:00.000000Z");
        assert!(until("untilTimestamp", "", start).is_err());
    }
}
