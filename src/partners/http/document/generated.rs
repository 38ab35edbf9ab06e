//! Compares what is read of generated XML with what its elements mean.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::super::parsed::NIL;
use super::*;

/// Prefixes with the namespaces that the root element declares: none, one of a partner, and that of schemas.
const PREFIXES: [&str; 3] = ["", "p:", "xsi:"];

/// What stands within an element.
#[derive(Debug, Clone)]
enum Piece {
    /// A text, as entities and numbers where it must be.
    Text(String),
    Literal(String),
    Comment,
    Element(Element),
}

#[derive(Debug, Clone)]
struct Element {
    prefix: &'static str,
    name: &'static str,
    /// By prefix and name.
    attributes: BTreeMap<(&'static str, &'static str), String>,
    pieces: Vec<Piece>,
}

impl Element {
    fn write(&self, declared: &str, out: &mut String) {
        let name = format!("{}{}", self.prefix, self.name);
        *out += &format!("<{name}{declared}");
        for ((prefix, attribute), value) in &self.attributes {
            *out += &format!(" {prefix}{attribute}=\"{}\"", escaped(value));
        }
        if self.pieces.is_empty() {
            return *out += "/>";
        }
        *out += ">";
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => *out += &escaped(text),
                Piece::Literal(text) => *out += &format!("<![CDATA[{text}]]>"),
                Piece::Comment => *out += "<!-- <a b='1'>c</a> --><?p <a>1</a>?>",
                Piece::Element(element) => element.write("", out),
            }
        }
        *out += &format!("</{name}>");
    }

    /// The texts between elements and comments, without those of whitespace alone.
    fn text(&self) -> String {
        let mut runs = vec![String::new()];
        for piece in &self.pieces {
            match (piece, runs.last_mut()) {
                (Piece::Text(text) | Piece::Literal(text), Some(run)) => *run += text,
                _ => runs.push(String::new()),
            }
        }
        runs.retain(|run| !run.trim().is_empty());
        runs.concat().trim().to_owned()
    }

    /// What mappings find that name such attributes.
    fn meant(&self, named: &BTreeSet<&str>) -> Value {
        let mut lists: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for piece in &self.pieces {
            if let Piece::Element(child) = piece {
                lists.entry(child.name).or_default().push(child.meant(named));
            }
        }
        let one_or_more = |(name, mut list): (&str, Vec<Value>)| {
            let value = if list.len() == 1 { list.remove(0) } else { list.into() };
            (name.to_owned(), value)
        };
        let (is_leaf, text) = (lists.is_empty(), self.text());
        let mut table: Map<String, Value> = lists.into_iter().map(one_or_more).collect();
        let nil = self.attributes.get(&("xsi:", "nil")).is_some_and(|nil| nil == "true" || nil == "1");
        let nil = nil && is_leaf && text.is_empty();
        let is_table = !nil && (!is_leaf || text.is_empty());
        let mut attributes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for ((prefix, name), value) in &self.attributes {
            let name = format!("@{name}");
            if named.contains(&*name) || is_table && *prefix != "xsi:" {
                attributes.entry(name).or_default().push(value.clone().into());
            }
        }
        table.extend(attributes.iter().map(|(name, values)| one_or_more((name.as_str(), values.clone()))));
        if table.is_empty() {
            return text.into();
        }
        let nil = nil.then(|| (NIL.to_owned(), "true".into()));
        let text = Some(text).filter(|text| !text.is_empty()).map(|text| (TEXT.to_owned(), text.into()));
        table.extend(nil.into_iter().chain(text));
        table.into()
    }
}

fn escaped(text: &str) -> String {
    let written = |letter: char| match letter {
        '<' => "&lt;".to_owned(),
        '&' => "&amp;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        'e' => "&#101;".to_owned(),
        '\u{e9}' => "&#xE9;".to_owned(),
        letter => letter.to_string(),
    };
    text.chars().map(written).collect()
}

fn element() -> impl Strategy<Value = Element> {
    let texts = ["", " ", "\n  ", "7.5", " a e ", "<&>\"", "\u{e9}", "a text that is longer than a word"];
    let text = move || prop::sample::select(texts.to_vec()).prop_map(str::to_owned);
    let value = prop::sample::select(vec!["", "true", "1", "<&>\"e\u{e9}"]).prop_map(str::to_owned);
    let prefix = || prop::sample::select(PREFIXES.to_vec());
    let attribute = (prefix(), prop::sample::select(vec!["nil", "unit", "a"]));
    let attributes = move || prop::collection::btree_map(attribute.clone(), value.clone(), 0..3);
    let name = || prop::sample::select(vec!["a", "b", "c", "nil"]);
    let piece = move || {
        prop_oneof![
            2 => text().prop_map(Piece::Text),
            1 => text().prop_map(Piece::Literal),
            1 => Just(Piece::Comment),
        ]
    };
    let of = |(prefix, name, attributes, pieces)| Element { prefix, name, attributes, pieces };
    let leaf = (prefix(), name(), attributes(), prop::collection::vec(piece(), 0..3)).prop_map(of);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        let piece = prop_oneof![1 => piece(), 2 => inner.prop_map(Piece::Element)];
        (prefix(), name(), attributes(), prop::collection::vec(piece, 0..6)).prop_map(of)
    })
}

/// Which attributes mappings name.
fn names() -> impl Strategy<Value = BTreeSet<&'static str>> {
    let names = prop::sample::subsequence(vec!["@nil", "@unit", "@a"], 0..4);
    names.prop_map(|names| names.into_iter().collect())
}

proptest! {
    #[test]
    fn xml_is_read_as_its_elements_mean(root in element(), named in names()) {
        let mut text = "<?xml version=\"1.0\"?>\n".to_owned();
        root.write(&format!(" xmlns:p=\"urn:p\" xmlns:xsi=\"{SCHEMA_INSTANCE}\""), &mut text);
        let found = read(Some("text/xml"), text.as_bytes(), |name| named.contains(name)).unwrap();
        prop_assert_eq!(serde_json::to_value(&found).unwrap(), root.meant(&named), "{}", text);
        // A text with attributes is written as its text, a table as a table.
        let own = super::super::truth::own_text(&found);
        prop_assert!(own.is_none_or(|own| own.to_string() == found.to_string()), "{}", text);
    }
}
