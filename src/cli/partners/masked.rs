//! Masking of a person's data when a partner is tried.

use std::collections::BTreeSet;

use hyper::Uri;
use serde_json::{Value, json};

use offerd_model::{Attribute, Lead};
use offerd_partners::http::HttpRequest;

/// Placeholders of personal values; an attribute gets the first one that it accepts.
const PLACEHOLDERS: [&str; 11] = [
    "***",
    "masked@example.com",
    "2025550100",
    "123-45-6780",
    "192.0.2.1",
    "1970-01-01",
    "00000",
    "00000000",
    "00000000000000000",
    "https://cert.trustedform.com/masked",
    "00000000-0000-0000-0000-000000000000",
];

/// Placeholders inside arrays of sections, which [`Attribute::all`] does not cover.
const WITHIN_ARRAYS: [(&str, &str, &str); 3] = [
    ("/refinanceLoans", "accountNumber", "***"),
    ("/refinanceLoans", "loanServicer", "***"),
    ("/refinanceLoans", "nextPaymentDate", "1970-01-01"),
];

/// Free-form sections, which may contain anything and are removed.
const UNSETTLED: [&str; 5] = [
    "priorCarrierInformation",
    "coverageInformation",
    "garageInformation",
    "vehiclesInformation",
    "driversInformation",
];

/// Shorter texts are masked as whole words only.
const SHORT: usize = 4;

/// The lead with placeholders for its personal values; mappings run on it as on the real one. The error
/// names the attribute that has no placeholder.
pub fn masked(lead: &Lead) -> Result<Lead, String> {
    let mut shown = as_json(lead);
    for attribute in Attribute::all().iter().filter(|attribute| attribute.is_masked()) {
        if let Some(place) = shown.pointer_mut(&pointer(attribute.path)) {
            *place = placeholder(attribute.path)?.into();
        }
    }
    for (array, name, placeholder) in WITHIN_ARRAYS {
        let sections = shown.pointer_mut(array).and_then(Value::as_array_mut);
        for place in sections.into_iter().flatten().filter_map(|section| section.get_mut(name)) {
            *place = placeholder.into();
        }
    }
    if let Some(insurance) = shown.get_mut("autoInsuranceInformation").and_then(Value::as_object_mut) {
        insurance.retain(|name, _| !UNSETTLED.contains(&name.as_str()));
    }
    Lead::read(shown.to_string().as_bytes()).map_err(|_| "the lead cannot be masked".to_owned())
}

fn as_json(lead: &Lead) -> Value {
    serde_json::to_value(lead).expect("a lead has string keys and finite numbers")
}

fn pointer(path: &str) -> String {
    format!("/{}", path.replace('.', "/"))
}

fn placeholder(path: &str) -> Result<&'static str, String> {
    let takes = |text: &&str| {
        let lead = path.rsplit('.').fold(json!(text), |inner, key| json!({ key: inner }));
        Lead::read(lead.to_string().as_bytes()).is_ok()
    };
    PLACEHOLDERS.into_iter().find(takes).ok_or_else(|| format!("`{path}` cannot be masked"))
}

/// Texts to hide wherever a partner repeats them.
#[derive(Default)]
pub struct MaskedTexts(BTreeSet<String>);

impl MaskedTexts {
    /// Hides the values that differ between two leads, with and without their punctuation.
    pub fn hide_lead(&mut self, real: &Lead, shown: &Lead) {
        let (mut hidden, mut open) = (BTreeSet::new(), BTreeSet::new());
        json_leaves(&as_json(real), &mut hidden);
        json_leaves(&as_json(shown), &mut open);
        for text in hidden.difference(&open) {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            self.0.extend([text.clone(), digits].into_iter().filter(|text| !text.is_empty()));
        }
    }

    /// Hides the values that differ between two requests.
    pub fn hide_request(&mut self, real: &HttpRequest, shown: &HttpRequest) {
        self.0.extend(leaves(real).difference(&leaves(shown)).cloned());
    }

    /// The text with `***` in place of each hidden one.
    pub fn cover(&self, text: &str) -> String {
        let mut longest_first: Vec<&String> = self.0.iter().collect();
        longest_first.sort_by_key(|hidden| std::cmp::Reverse(hidden.len()));
        longest_first.into_iter().fold(text.to_owned(), |text, hidden| covered(&text, hidden))
    }
}

fn covered(text: &str, hidden: &str) -> String {
    let (lower, wanted) = (text.to_ascii_lowercase(), hidden.to_ascii_lowercase());
    let (mut shown, mut from) = (String::with_capacity(text.len()), 0);
    for (at, found) in lower.match_indices(&wanted) {
        let end = at + found.len();
        let beside = [text[..at].chars().next_back(), text[end..].chars().next()];
        let whole = !beside.into_iter().flatten().any(char::is_alphanumeric);
        if whole || hidden.len() >= SHORT {
            shown.push_str(&text[from..at]);
            shown.push_str("***");
            from = end;
        }
    }
    shown.push_str(&text[from..]);
    shown
}

fn leaves(request: &HttpRequest) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if let Ok(url) = request.url.parse::<Uri>() {
        found.extend(url.path().split('/').map(str::to_owned));
        let query = form_urlencoded::parse(url.query().unwrap_or_default().as_bytes());
        found.extend(query.map(|(_, value)| value.into_owned()));
    }
    found.extend(request.headers.values().filter_map(|value| value.to_str().ok()).map(str::to_owned));
    let text = String::from_utf8_lossy(&request.body);
    match serde_json::from_slice(&request.body) {
        Ok(json) => json_leaves(&json, &mut found),
        Err(_) if text.trim_start().starts_with('<') => {
            found.extend(text.split(['<', '>', '"']).map(|text| text.trim().to_owned()));
        }
        Err(_) => {
            found.extend(form_urlencoded::parse(&request.body).map(|(_, value)| value.into_owned()));
        }
    }
    found.remove("");
    found
}

fn json_leaves(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => entries.values().for_each(|value| json_leaves(value, found)),
        Value::Array(elements) => elements.iter().for_each(|value| json_leaves(value, found)),
        Value::String(text) if !text.is_empty() => drop(found.insert(text.clone())),
        Value::Number(number) => drop(found.insert(number.to_string())),
        Value::String(_) | Value::Bool(_) | Value::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{MaskedTexts, as_json, masked, placeholder, pointer};
    use offerd_model::{Attribute, Lead};

    const LEAD: &[u8] = include_bytes!("../../../tests/leads/everything.json");

    #[test]
    fn every_masked_attribute_has_a_placeholder() {
        for attribute in Attribute::all().iter().filter(|attribute| attribute.is_masked()) {
            assert!(placeholder(attribute.path).is_ok(), "{}", attribute.path);
        }
    }

    #[test]
    fn a_masked_lead_keeps_its_figures_and_nothing_personal() {
        let lead = Lead::read(LEAD).unwrap_or_else(|_| panic!("the sample is a lead"));
        let shown = masked(&lead).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(shown.loan_information, lead.loan_information);
        let (real, shown) = (as_json(&lead), as_json(&shown));
        let personal = Attribute::all().iter().filter(|attribute| attribute.is_masked());
        let mut compared = 0;
        for place in personal.map(|attribute| pointer(attribute.path)) {
            if let Some(value) = real.pointer(&place) {
                assert_ne!(shown.pointer(&place), Some(value), "{place}");
                compared += 1;
            }
        }
        assert!(compared > 10, "{compared}");
    }

    #[test]
    fn a_veil_covers_long_texts_anywhere_and_short_ones_as_words() {
        let veil = MaskedTexts(BTreeSet::from(["Maren".to_owned(), "Li".to_owned()]));
        assert_eq!(veil.cover("MAREN Li, xmarenx, Lima"), "*** ***, x***x, Lima");
    }
}
