//! The content of a lead, by section. Personal values are masked unless revealed.

use crate::console::prelude::*;
use offerd_model::{Attribute, AttributeKind, AttributeValue, Lead};

/// Longest text, characters.
const TEXT_LETTERS: usize = 160;

const ABBREVIATIONS: [&str; 5] = ["fcra", "ip", "sms", "ssn", "tcpa"];

pub(super) fn sections(lead: &Lead, revealed: &[&str]) -> Vec<(String, Vec<Value>)> {
    let mut sections: Vec<(String, Vec<Value>)> = Vec::new();
    for attribute in Attribute::all() {
        let Some(value) = attribute.read(lead) else { continue };
        let is_masked = attribute.is_masked();
        let is_revealed = is_masked && revealed.contains(&attribute.path);
        let shown = (!is_masked || is_revealed).then(|| written(attribute.kind, value));
        let (section, name) = attribute.path.rsplit_once('.').unwrap_or(("lead", attribute.path));
        let line = fields! {
            path => attribute.path, name => words(name), value => shown, revealed => is_revealed,
        };
        let section = words(section.trim_end_matches("Information"));
        match sections.iter_mut().find(|(known, _)| *known == section) {
            Some((_, lines)) => lines.push(line),
            None => sections.push((section, vec![line])),
        }
    }
    sections
}

fn written(kind: AttributeKind, value: AttributeValue<'_>) -> String {
    let all = if let AttributeKind::Category(names) | AttributeKind::Set(names) = kind { names } else { &[] };
    match value {
        AttributeValue::Category(at) => all.get(usize::from(at)).copied().unwrap_or_default().to_owned(),
        AttributeValue::Flag(flag) => if flag { "yes" } else { "no" }.to_owned(),
        AttributeValue::Number(number) => number.to_string(),
        AttributeValue::Date(date) => date.to_string(),
        AttributeValue::Text(text) if text.chars().count() > TEXT_LETTERS => {
            text.chars().take(TEXT_LETTERS).chain(['…']).collect()
        }
        AttributeValue::Text(text) => text.to_owned(),
        AttributeValue::Set(bits) => {
            let named = all.iter().enumerate().filter(|(ordinal, _)| bits & (1 << ordinal) != 0);
            named.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
        }
        AttributeValue::Texts(texts) => texts.join(", "),
        AttributeValue::Uuid(uuid) => uuid.to_string(),
    }
}

/// Splits a camel-case name: `providedCreditRating` becomes `provided credit rating`.
pub(in crate::console) fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    let capital = |word: &str| {
        if ABBREVIATIONS.contains(&word) { word.to_ascii_uppercase() } else { word.to_owned() }
    };
    words.split(' ').map(capital).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAD: &[u8] = br#"{"productTypes": ["loan", "savings"],
        "personalInformation": {"firstName": "Maren", "ssn": "536-22-8714", "state": "WA", "zipcode": "98101"},
        "employmentInformation": {"employerName": "Ridgeway Bakery", "startDate": "2019-04-01"},
        "creditInformation": {"providedCreditRating": "good"}, "formCompleted": true}"#;

    fn json(revealed: &[&str]) -> String {
        serde_json::to_string(&sections(&Lead::read(LEAD).unwrap(), revealed)).unwrap()
    }

    #[test]
    fn names_are_written_as_words() {
        assert_eq!(words("consentsToFcra"), "consents to FCRA");
        assert_eq!((words("ipAddress"), words("zipCode")), ("IP address".into(), "zip code".into()));
    }

    #[test]
    fn only_what_was_asked_for_is_revealed() {
        let masked = json(&[]);
        for told in ["Maren", "8714", "98101", "Ridgeway", "2019"] {
            assert!(!masked.contains(told), "{told}: {masked}");
        }
        assert!(masked.contains("personalInformation.ssn") && masked.contains("loan, savings"), "{masked}");
        assert!(masked.contains("\"provided credit rating\"") && masked.contains("\"good\""), "{masked}");
        let revealed = json(&["personalInformation.firstName"]);
        assert!(revealed.contains("Maren") && !revealed.contains("8714"), "{revealed}");
    }
}
