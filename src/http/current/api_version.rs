//! `API-Version`: the version of the interface that a caller names, parsed alike on every path.

use chrono::NaiveDate;

use super::prefer::is_strict;
use crate::prelude::*;

/// The header.
pub const API_VERSION: &str = "API-Version";

/// The version of the newer feeds.
pub const PROMPT_VERSION: &str = "2025-04-01";

/// The named version: a day such as `2025-04-01`, or two numbers. Else ignored, or strictly 422.
pub fn named(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    match strict_fault(headers) {
        Some(fault) => Err(Failure::invalid(vec![fault])),
        None => Ok(read(headers)),
    }
}

pub(super) fn strict_fault(headers: &HeaderMap) -> Option<ApiError> {
    let is_other = headers.contains_key(API_VERSION) && read(headers).is_none();
    let message = format!("must be one version, a day such as {PROMPT_VERSION} or two numbers such as 1.106");
    (is_other && is_strict(headers)).then(|| ApiError::at(API_VERSION, ErrorType::Malformed, message))
}

/// Several different versions count as none.
fn read(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(API_VERSION).iter();
    let version = values.next()?;
    let version = values.all(|other| other == version).then_some(version)?;
    version.to_str().ok().map(str::trim).filter(|version| is_day(version) || is_number(version))
}

fn is_day(text: &str) -> bool {
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d");
    day.is_ok_and(|day| day.to_string() == text)
}

fn is_number(text: &str) -> bool {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|letter| letter.is_ascii_digit());
    text.split_once('.').is_some_and(|(major, minor)| is_digits(major) && is_digits(minor))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(versions: &[&str]) -> HeaderMap {
        let value = |version: &&str| HeaderValue::from_str(version).unwrap();
        let name = hyper::header::HeaderName::from_static("api-version");
        versions.iter().map(|version| (name.clone(), value(version))).collect()
    }

    #[test]
    fn a_day_or_two_numbers_are_a_version_and_nothing_else_is() {
        for version in ["2025-04-01", "1.58", "1.106", "2024-02-29"] {
            assert_eq!(read(&headers(&[version])), Some(version));
            assert_eq!(read(&headers(&[version, version])), Some(version));
        }
        for other in
            ["", "nonsense", "v1", "1", "1.", ".1", "1.2.3", "-1.2", "2025-4-1", "2025-02-30", "20250401"]
        {
            assert_eq!(read(&headers(&[other])), None, "{other}");
        }
        assert_eq!(read(&headers(&["1.58", "1.106"])), None);
        assert_eq!(read(&headers(&[])), None);
    }
}
