//! Merging: a later submission updates a lead.

use serde_json::{Map, Value};

use super::lead::Lead;

impl Lead {
    /// This lead updated with `later`: values are replaced, sections are merged, arrays are united as sets in
    /// the order of first appearance. Absent values change nothing. The lead keeps its uuid.
    #[must_use]
    pub fn merged(&self, later: &Self) -> Self {
        let value = |lead: &Self| serde_json::to_value(lead).unwrap_or_default();
        let mut merged = value(self);
        if let (Value::Object(into), Value::Object(from)) = (&mut merged, value(later)) {
            merge(into, from);
        }
        let lead: Self = serde_json::from_value(merged).unwrap_or_else(|_| self.clone());
        Self { uuid: self.uuid, ..lead }
    }
}

fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, later) in from {
        match (into.get_mut(&key), later) {
            (Some(Value::Object(earlier)), Value::Object(later)) => merge(earlier, later),
            (Some(Value::Array(earlier)), Value::Array(later)) => {
                for element in later {
                    if !earlier.contains(&element) {
                        earlier.push(element);
                    }
                }
            }
            (_, later) => drop(into.insert(key, later)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lead::SAMPLE;

    fn lead(json: &str) -> Lead {
        Lead::read(json.as_bytes()).unwrap()
    }

    #[test]
    fn values_go_over_values_and_arrays_are_united() {
        let earlier = lead(
            r#"{"productTypes":["loan"],"loanInformation":{"loanAmount":5000,"purpose":"boat"},
                "clientTags":{"campaign":["a"],"page":["x"]}}"#,
        );
        let later = lead(
            r#"{"productTypes":["savings","loan"],"loanInformation":{"loanAmount":7000},
                "clientTags":{"campaign":["b","a"]},"creditInformation":{"providedCreditRating":"good"}}"#,
        );
        let wanted = lead(
            r#"{"productTypes":["loan","savings"],"loanInformation":{"loanAmount":7000,"purpose":"boat"},
                "clientTags":{"campaign":["a","b"],"page":["x"]},"creditInformation":{"providedCreditRating":"good"}}"#,
        );
        assert_eq!(earlier.merged(&later), wanted);
    }

    #[test]
    fn nothing_given_changes_nothing_and_the_uuid_stays() {
        let full = Lead::read(SAMPLE).unwrap();
        assert_eq!(full.merged(&Lead::default()), full);
        assert_eq!(full.merged(&full), full);
        let other = lead(r#"{"uuid":"0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77"}"#);
        assert_eq!(full.merged(&other), full);
    }
}
