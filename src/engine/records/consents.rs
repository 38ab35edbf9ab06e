//! The consents that a person stated, and when. Earlier statements are kept, with the texts shown.

use offerd_model::{Lead, LeadLegalInformation};
use offerd_store::entities::{LeadRecord, StatedConsents};

/// Every statement of consents of a lead, oldest first; the last is the current one.
pub fn stated(record: &LeadRecord) -> Vec<StatedConsents> {
    record.earlier_consents.iter().cloned().chain([latest(record)]).collect()
}

/// A merged lead with its earlier statements: the first, and the latest of the rest, at most `most`.
#[must_use]
pub fn kept(earlier: &LeadRecord, merged: LeadRecord, most: usize) -> LeadRecord {
    if of_lead(&earlier.lead) == of_lead(&merged.lead) {
        return merged;
    }
    let mut earlier_consents = stated(earlier);
    earlier_consents.drain(1..1 + earlier_consents.len().saturating_sub(most.max(1)));
    LeadRecord { consents_stated_at: Some(merged.updated_at), earlier_consents, ..merged }
}

/// How many earlier statements a merged lead dropped.
pub fn cut(earlier: &LeadRecord, merged: &LeadRecord) -> usize {
    let has_changed = of_lead(&earlier.lead) != of_lead(&merged.lead);
    if has_changed { earlier.earlier_consents.len() + 1 - merged.earlier_consents.len() } else { 0 }
}

fn latest(record: &LeadRecord) -> StatedConsents {
    let stated_at = record.consents_stated_at.unwrap_or(record.created_at);
    StatedConsents { stated_at, legal_information: of_lead(&record.lead) }
}

fn of_lead(lead: &Lead) -> LeadLegalInformation {
    let mut stated = lead.legal_information.clone().unwrap_or_default();
    stated.fcra_language = stated.fcra_language.or_else(|| lead.fcra_language.clone());
    stated
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use offerd_model::CreditBands;
    use uuid::Uuid;

    fn record(text: &str, at: i64) -> LeadRecord {
        let lead = format!(r#"{{"legalInformation":{{"consentsToTcpa":true,"tcpaLanguage":"{text}"}}}}"#);
        LeadRecord {
            uuid: Uuid::nil(),
            company: Uuid::nil(),
            test: false,
            created_at: 1,
            updated_at: at,
            bands: CreditBands::Current,
            newer_values: false,
            first_table: None,
            consents_stated_at: None,
            earlier_consents: Vec::new(),
            earlier_digests: Vec::new(),
            experiments: BTreeMap::new(),
            defaults: None,
            lead: Lead::read(lead.as_bytes()).unwrap(),
        }
    }

    /// A lead that states these texts one after the other, at times 1, 2, ….
    fn merged(texts: &[&str], most: usize) -> LeadRecord {
        let mut now = record(texts[0], 1);
        for (text, at) in texts.iter().zip(1..).skip(1) {
            let LeadRecord { consents_stated_at, earlier_consents, .. } = now.clone();
            now = kept(&now, LeadRecord { consents_stated_at, earlier_consents, ..record(text, at) }, most);
        }
        now
    }

    fn told(record: &LeadRecord) -> Vec<(i64, String)> {
        let told =
            |one: StatedConsents| (one.stated_at, one.legal_information.tcpa_language.unwrap_or_default());
        stated(record).into_iter().map(told).collect()
    }

    #[test]
    fn each_statement_is_kept_with_its_text_and_its_time() {
        let wanted = [(1, "a"), (3, "b"), (4, "a")].map(|(at, text)| (at, text.to_owned()));
        assert_eq!(told(&merged(&["a", "a", "b", "a", "a"], 9)), wanted);
    }

    #[test]
    fn the_first_statement_and_the_latest_stay_whatever_their_number() {
        let wanted = [(1, "a"), (4, "d"), (5, "e")].map(|(at, text)| (at, text.to_owned()));
        let four = merged(&["a", "b", "c", "d"], 2);
        let five = merged(&["a", "b", "c", "d", "e"], 2);
        assert_eq!((told(&five), cut(&four, &five), cut(&five, &five)), (wanted.to_vec(), 1, 0));
        assert_eq!(told(&merged(&["a", "b", "c"], 0)).len(), 2);
    }

    #[test]
    fn a_text_that_stands_beside_the_others_is_one_of_them() {
        let lead = Lead::read(br#"{"fcraLanguage":"read my report"}"#).unwrap();
        assert_eq!(of_lead(&lead).fcra_language.as_deref(), Some("read my report"));
    }
}
