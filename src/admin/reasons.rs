//! Reasons in the audit. It outlives the person's data, so a reason must not identify the person.

use super::prelude::*;
use offerd_engine::records::reading;
use offerd_model::{Attribute, AttributeValue, Lead, plain_text, trimmed};

const REASON_CHARS: usize = 200;

/// As many digits in a row may be a phone number.
const TOO_MANY_DIGITS: usize = 7;

/// Shortest name that is looked for; initials occur in every sentence.
const NAME_CHARS: usize = 2;

/// Shortest word of a name of several words that is looked for; `de` and `la` are common words.
const WORD_CHARS: usize = 3;

/// Spellings of `@` that hide an address from machines.
const WORDS_FOR_AT: [&str; 4] = ["(at)", "[at]", "{at}", "<at>"];

/// Attributes with names, which a reason must not contain.
const NAMES: [&str; 4] = [
    "personalInformation.firstName",
    "personalInformation.lastName",
    "coApplicantInformation.firstName",
    "coApplicantInformation.lastName",
];

/// Checks that a reason is meaningful, and contains no email address or possible phone number.
pub(super) fn reason_given(reason: &str) -> Result<&str> {
    let reason = trimmed(reason);
    if reason.is_empty() || reason.chars().count() > REASON_CHARS {
        return Err(wrong(&format!("must say why, in at most {REASON_CHARS} characters")));
    }
    // Normalises full-width and other variant characters.
    let plain = plain_text(reason);
    if has_address(&plain) {
        return Err(wrong(
            "must not name the person, since the audit keeps it: leave out the e-mail address",
        ));
    }
    if has_number(&plain) {
        let message = format!(
            "must not name the person, since the audit keeps it: {TOO_MANY_DIGITS} digits in a row could be \
                a phone number; use a shorter number, or put letters in it"
        );
        return Err(wrong(&message));
    }
    Ok(reason)
}

/// Checks the reason of an action on a lead, which it must not identify.
pub(super) async fn reason_about<'r>(app: &Arc<AdminState>, lead: Uuid, reason: &'r str) -> Result<&'r str> {
    let reason = reason_given(reason)?;
    let read = move |app: &AdminState| reading::lead(&app.store, lead);
    let record = app.reading("a lead could not be read", read).await?.map_err(store_unread)?;
    names_nobody(reason, record.as_ref().map(|record| &record.lead))?;
    Ok(reason)
}

pub(super) fn names_nobody<'l>(reason: &str, leads: impl IntoIterator<Item = &'l Lead>) -> Result<()> {
    let named = |lead: &Lead| {
        let attributes = NAMES.iter().filter_map(|path| Attribute::named(path)?.read(lead));
        attributes
            .into_iter()
            .any(|value| matches!(value, AttributeValue::Text(name) if has_name(reason, name)))
    };
    match leads.into_iter().any(named) {
        true => Err(names_them()),
        false => Ok(()),
    }
}

pub(super) fn has_name(reason: &str, name: &str) -> bool {
    let (reason, name) = (spaced(reason), spaced(name));
    let has_word = |word: &str| reason.contains(&format!(" {word} "));
    let is_whole = name.trim().chars().count() >= NAME_CHARS && reason.contains(&name);
    is_whole || name.split_whitespace().any(|word| word.chars().count() >= WORD_CHARS && has_word(word))
}

pub(super) fn names_them() -> Failure {
    wrong("must not name the person, since the audit keeps it; give the number of their letter instead")
}

fn wrong(message: &str) -> Failure {
    Failure::bad_attribute("reason", message.to_owned())
}

/// Whether an `@` has a letter or digit on both sides.
fn has_address(text: &str) -> bool {
    let close = |text: String, word: &&str| text.replace(&format!(" {word} "), "@").replace(*word, "@");
    let text = WORDS_FOR_AT.iter().fold(text.to_owned(), close);
    let at = |(place, _): (usize, &str)| {
        let is_of_address = |letter: char| letter.is_alphanumeric();
        text[..place].ends_with(is_of_address) && text[place + 1..].starts_with(is_of_address)
    };
    text.match_indices('@').any(at)
}

/// Whether there are too many digits in a row, with any separators.
fn has_number(text: &str) -> bool {
    // A date is not a number.
    let is_day = |word: &&str| word.trim_end_matches([',', '.', ')']).parse::<chrono::NaiveDate>().is_ok();
    let words: Vec<&str> = text.split_whitespace().filter(|word| !is_day(word)).collect();
    let mut digits = 0;
    words.join(" ").chars().any(|letter| {
        digits = match letter {
            _ if letter.is_numeric() => digits + 1,
            _ if letter.is_whitespace() || "-–.()+/".contains(letter) => digits,
            _ => 0,
        };
        digits >= TOO_MANY_DIGITS
    })
}

/// The words of a text, each surrounded by spaces.
fn spaced(text: &str) -> String {
    let text = plain_text(text);
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_of_a_letter_may_stand_in_a_reason() {
        assert_eq!(reason_given("letter 47 of 2026-11-15, by post"), Ok("letter 47 of 2026-11-15, by post"));
        assert!(reason_given("2026-11-15 and 206-555-0199").is_err());
    }

    #[test]
    fn a_reason_that_holds_an_address_or_a_number_is_refused_whoever_is_typed() {
        for reason in [
            "call 20, zoe.caller@example.com",
            "zoe@localhost",
            "zoe(at)example.com",
            "Zoe [AT] example.com",
            "zoe＠example.com",
            "asked by 206-555-0142",
            "(206) 555 0142",
            "２０６ ５５５ ０１４２",
        ] {
            assert!(reason_given(reason).is_err(), "{reason}");
        }
        for invisible in ["", " ", "\u{200b}", " \u{200b}\u{2800}\u{feff} ", "\u{3164}"] {
            assert!(reason_given(invisible).is_err(), "{invisible:?}");
        }
        for reason in
            ["letter 4711", "call 20 @ noon", "ticket 123456", "DSR-2026-15", "3 calls, 4 letters, 20 days"]
        {
            assert_eq!(reason_given(reason).unwrap(), reason);
        }
    }

    #[test]
    fn a_reason_that_has_a_name_of_the_leads_is_refused() {
        let lead = r#"{"personalInformation": {"firstName": "Zoë", "lastName": "de la Muñoz-Caller"}}"#;
        let lead = Lead::read(lead.as_bytes()).unwrap();
        for reason in [
            "ZOË called",
            "ｚｏｅ called",
            "Mrs de la  muñoz caller asks",
            "by zoe.v",
            "Caller wrote",
            "Munoz",
            "mun\u{303}oz",
        ] {
            assert!(names_nobody(reason, [&lead]).is_err(), "{reason}");
        }
        for reason in ["letter 4711 de la banque", "callers ask", "zoes"] {
            assert!(names_nobody(reason, [&lead]).is_ok(), "{reason}");
        }
    }
}
