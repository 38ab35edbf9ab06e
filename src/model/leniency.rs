//! Values that are not as specified, and read as meant where that is certain.
//!
//! The fast reader knows only the specification; a document that it refuses is mended, then read again.

use super::enumeration::Enumeration;
use super::fault::AttributeFault;
use super::plain_text::trimmed;
use super::scalar::Scalar;

/// How far a request is read as meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leniency {
    /// Not at all, and what is unknown is a fault.
    Strict,
    /// Blanks around an e-mail address, a zipcode, a date or a social security number are left out, and so is
    /// the midnight behind a date.
    #[default]
    Usual,
    /// Besides, values of enumerations are read in any case and with blanks, and numbers as a zipcode, phone or
    /// social security number.
    Lenient,
}

/// What was probably meant by a value, as text.
pub(super) type Proposal = fn(Scalar<'_>, Leniency) -> Option<String>;

/// A text without what surrounds it.
pub(super) fn without_blanks(found: Scalar<'_>, _: Leniency) -> Option<String> {
    match found {
        Scalar::Text(text) => Some(trimmed(text).to_owned()),
        _ => None,
    }
}

/// That, or a number that has lost its first zeros.
pub(super) fn digits<const LENGTH: usize>(found: Scalar<'_>, leniency: Leniency) -> Option<String> {
    match found {
        Scalar::Integer(number) if leniency == Leniency::Lenient => Some(format!("{number:0LENGTH$}")),
        other => without_blanks(other, leniency),
    }
}

/// A date, perhaps with blanks around it and a midnight behind it.
pub(super) fn day(found: Scalar<'_>, leniency: Leniency) -> Option<String> {
    let text = without_blanks(found, leniency)?;
    let (day, time) = text.split_at_checked("1993-10-09".len())?;
    (time.is_empty() || is_midnight(time)).then(|| day.to_owned())
}

/// Whether it is a time of nothing but zeros, with any or no zone.
fn is_midnight(time: &str) -> bool {
    let Some(time) = time.strip_prefix(['T', 't', ' ']) else { return false };
    let end = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(end);
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let is_zone = |zone: &str| {
        zone.len() <= "+00:00".len() && zone[1..].bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
    };
    matches!(whole, "00:00" | "00:00:00")
        && !fraction.is_empty()
        && fraction.bytes().all(|digit| digit == b'0')
        && (zone.is_empty() || is_zone(zone))
}

/// A value of an enumeration in another case, or with other marks between its words.
pub(super) fn value_of<E: Enumeration>(found: Scalar<'_>, leniency: Leniency) -> Option<String> {
    match found {
        Scalar::Text(text) if leniency == Leniency::Lenient => meant(E::WIRE, text).map(str::to_owned),
        _ => None,
    }
}

/// Parses a wire text.
///
/// # Errors
/// The fault, which names the value that was meant.
pub fn parse<E: Enumeration>(text: &str) -> Result<E, AttributeFault> {
    E::from_wire(text).ok_or_else(|| AttributeFault::none_of(E::WIRE, meant(E::WIRE, text)))
}

/// The value that a text spells in another way; `None` where several are alike.
pub fn meant(values: &[&'static str], text: &str) -> Option<&'static str> {
    let is_alike = |value: &&&str| letters(value).eq(letters(text));
    let mut alike = values.iter().filter(is_alike);
    alike.next().filter(|_| alike.next().is_none()).copied()
}

/// Letters and digits in lower case, without what stands between words.
fn letters(text: &str) -> impl Iterator<Item = char> {
    let between = |letter: &char| matches!(letter, '_' | '-') || letter.is_whitespace();
    trimmed(text).chars().filter(move |letter| !between(letter)).flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrival, EmploymentStatus, Lead, State, UnreadableBody};
    use chrono::NaiveDate;
    use serde_json::{Value, json};

    const TODAY: NaiveDate = NaiveDate::from_ymd_opt(2026, 11, 28).unwrap();

    fn read(body: &Value, leniency: Leniency) -> Result<(Lead, usize), UnreadableBody> {
        Lead::read_leniently(Arrival { today: TODAY, test: false }, leniency, body.to_string().as_bytes())
    }

    fn attributes(read: Result<(Lead, usize), UnreadableBody>) -> Vec<String> {
        let Err(UnreadableBody::Faults(faults)) = read else { panic!("it has faults: {read:?}") };
        faults.into_iter().filter_map(|fault| fault.attribute).collect()
    }

    #[test]
    fn blanks_and_midnights_are_left_out_unless_who_sends_them_is_strict() {
        let sent = json!({"personalInformation": {
            "email": " jane@example.com", "zipcode": "94105\t", "dateOfBirth": " 1993-10-09T00:00:00.000Z ",
            "ssn": "536-22-8714 ",
        }});
        let right = json!({"personalInformation": {
            "email": "jane@example.com", "zipcode": "94105", "dateOfBirth": "1993-10-09", "ssn": "536-22-8714",
        }});
        let (right, none) = read(&right, Leniency::Strict).unwrap();
        assert_eq!(none, 0);
        for leniency in [Leniency::Usual, Leniency::Lenient] {
            assert_eq!(read(&sent, leniency).unwrap(), (right.clone(), 4));
        }
        assert_eq!(attributes(read(&sent, Leniency::Strict)).len(), 4);
    }

    #[test]
    fn a_time_other_than_midnight_may_be_of_another_day() {
        let born =
            |text: &str| read(&json!({"personalInformation": {"dateOfBirth": text}}), Leniency::Lenient);
        for day in [
            "1993-10-09T00:00",
            "1993-10-09 00:00:00",
            "1993-10-09T00:00:00-05:00",
            "1993-10-09T00:00:00.0+0000",
        ] {
            assert_eq!(born(day).unwrap(), born("1993-10-09").map(|(lead, _)| (lead, 1)).unwrap(), "{day}");
        }
        for other in [
            "1993-10-09T04:00:00.000Z",
            "1993-10-09T00:00:01Z",
            "1993-10-09T",
            "1993-10-09T00:00:00.Z",
            "10/09/1993",
        ] {
            assert_eq!(attributes(born(other)), ["personalInformation.dateOfBirth"], "{other}");
        }
    }

    #[test]
    fn with_leniency_values_are_read_in_any_case_and_numbers_as_digits() {
        let sent = json!({
            "productTypes": ["Loan", "credit card"],
            "personalInformation": {"state": "wa", "zipcode": 2134, "primaryPhone": 4_155_550_132_i64, "ssn": 36_228_714},
            "creditInformation": {"providedCreditRating": "Good"},
            "financialInformation": {"employmentStatus": "Not Employed"},
        });
        let right = json!({
            "productTypes": ["loan", "credit_card"],
            "personalInformation": {"state": "WA", "zipcode": "02134", "primaryPhone": "4155550132", "ssn": "036-22-8714"},
            "creditInformation": {"providedCreditRating": "good"},
            "financialInformation": {"employmentStatus": "not_employed"},
        });
        let (right, _) = read(&right, Leniency::Strict).unwrap();
        assert_eq!(read(&sent, Leniency::Lenient).unwrap(), (right, 8));
        for leniency in [Leniency::Usual, Leniency::Strict] {
            assert_eq!(attributes(read(&sent, leniency)).len(), 8);
        }
    }

    #[test]
    fn only_what_is_certain_is_meant() {
        for text in ["Not Employed", "NOT_EMPLOYED", "not-employed", " notEmployed "] {
            assert_eq!(meant(EmploymentStatus::WIRE, text), Some("not_employed"), "{text}");
        }
        for text in ["", "_", "unemployed", "not employed?"] {
            assert_eq!(meant(EmploymentStatus::WIRE, text), None, "{text}");
        }
        assert_eq!(meant(State::WIRE, "wa"), Some("WA"));
        assert_eq!(meant(&["a_b", "ab"], "AB"), None, "two are alike");
    }
}
