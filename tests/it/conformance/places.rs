//! Every place of a lead that a client can write to: sections, their fields, and elements of arrays.

use serde_json::{Value, json};

use super::schema::Edition;

/// A place of a lead.
#[derive(Debug, Clone)]
pub struct Place {
    /// Where it is, as an error says it: `refinanceLoans[0].loanType`.
    pub attribute: String,
    /// The keys and indexes that lead there.
    segments: Vec<String>,
    /// What the specification says of it.
    pub schema: &'static Value,
    edition: Edition,
}

/// Every place of a lead of the edition. Of each array it is the first element.
pub fn places(edition: Edition) -> Vec<Place> {
    let lead = edition.definition("LeadCreateData");
    let mut found = Vec::new();
    Place { attribute: String::new(), segments: Vec::new(), schema: lead, edition }.find_within(&mut found);
    found
}

/// The fields of an object, those of its base too.
pub fn properties(edition: Edition, schema: &'static Value) -> Vec<(&'static str, &'static Value)> {
    let base = schema["$ref"].as_str().map(|reference| properties(edition, edition.follow(reference)));
    let own = schema["properties"].as_object().into_iter().flatten();
    base.unwrap_or_default().into_iter().chain(own.map(|(name, schema)| (name.as_str(), schema))).collect()
}

impl Place {
    /// What the specification says of the place, where it says so by a reference.
    pub fn target(&self) -> &'static Value {
        self.schema["$ref"].as_str().map_or(self.schema, |reference| self.edition.follow(reference))
    }

    /// Whether it has places within that have names.
    pub fn is_section(&self) -> bool {
        self.target()["properties"].is_object()
    }

    /// Whether it is an element of an array.
    pub fn is_element(&self) -> bool {
        self.segments.last().is_some_and(|last| last == "0")
    }

    /// The array that the element stands in.
    pub fn array(&self) -> &str {
        self.attribute.trim_end_matches("[0]")
    }

    /// The values that it takes, where they are listed.
    pub fn values(&self) -> Option<&'static Vec<Value>> {
        self.target()["enum"].as_array()
    }

    /// The place in a document.
    pub fn pointer(&self) -> String {
        format!("/{}", self.segments.join("/"))
    }

    /// A lead with nothing else.
    pub fn alone(&self, value: Value) -> Value {
        let mut lead = json!({});
        self.put(&mut lead, value);
        lead
    }

    /// Writes a value into the place, making those above it.
    pub fn put(&self, lead: &mut Value, value: Value) {
        put(lead, &self.segments, value);
    }

    /// Writes a value where the array of the element belongs.
    pub fn put_array(&self, lead: &mut Value, value: Value) {
        put(lead, &self.segments[..self.segments.len() - 1], value);
    }

    fn find_within(&self, found: &mut Vec<Place>) {
        let mut within = Vec::new();
        for (name, schema) in properties(self.edition, self.schema) {
            let at = if self.attribute.is_empty() {
                name.to_owned()
            } else {
                format!("{}.{name}", self.attribute)
            };
            within.push(self.within(at, name, schema));
        }
        if self.target()["items"].is_object() {
            within.push(self.within(format!("{}[0]", self.attribute), "0", &self.target()["items"]));
        }
        for place in within {
            found.push(place.clone());
            place.find_within(found);
        }
    }

    fn within(&self, attribute: String, segment: &str, schema: &'static Value) -> Self {
        let segments = [&self.segments[..], &[segment.to_owned()]].concat();
        Self { attribute, segments, schema, edition: self.edition }
    }
}

fn put(target: &mut Value, segments: &[String], value: Value) {
    match segments {
        [] => *target = value,
        [index, rest @ ..] if index == "0" => {
            if !target.is_array() {
                *target = json!([null]);
            }
            put(&mut target[0], rest, value);
        }
        [key, rest @ ..] => put(&mut target[key.as_str()], rest, value),
    }
}
