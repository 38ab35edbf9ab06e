//! The body of an answer as a value: JSON as it is, XML as tables and texts, anything else as a text.

use minijinja::value::{Serde, Value as Mapped};
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::{Map, Value};

/// Most elements and attributes of an answer in XML.
const NODES: u32 = 100_000;

/// How deep elements may stand in each other.
const DEPTH: usize = 64;

/// Reads a body. What claims to be JSON or XML and is not gives the fault, without a byte of the body.
///
/// # Errors
/// What is wrong, in general words.
pub fn read(content_type: Option<&str>, body: &[u8]) -> Result<Mapped, String> {
    let first = body.trim_ascii_start().first();
    // Many systems label JSON as text.
    if media_type(content_type).ends_with("json") || matches!(first, Some(b'{' | b'[')) {
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| format!("is not JSON: see line {}, column {}", error.line(), error.column()))?;
        return Ok(Mapped::from(Serde(value)));
    }
    let text = std::str::from_utf8(body).map_err(|_| "is not UTF-8".to_owned())?;
    if is_xml(content_type, body) {
        return Ok(Mapped::from(Serde(xml(text)?)));
    }
    Ok(Mapped::from(text))
}

/// Whether a body is read as XML, where it is not JSON.
pub fn is_xml(content_type: Option<&str>, body: &[u8]) -> bool {
    media_type(content_type).ends_with("xml") || body.trim_ascii_start().first() == Some(&b'<')
}

fn media_type(content_type: Option<&str>) -> String {
    let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
    media_type.trim().to_ascii_lowercase()
}

fn xml(text: &str) -> Result<Value, String> {
    let options = ParsingOptions { allow_dtd: false, nodes_limit: NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let place = error.pos();
        format!("is not XML: see line {}, column {}", place.row, place.col)
    })?;
    element(document.root_element(), DEPTH).ok_or_else(|| format!("nests deeper than {DEPTH} elements"))
}

/// An element: its text, or a table of its attributes and elements. An empty one is the empty text.
fn element(node: Node<'_, '_>, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let mut table = Map::new();
    for attribute in node.attributes() {
        table.insert(format!("@{}", attribute.name()), attribute.value().into());
    }
    for child in node.children().filter(Node::is_element) {
        let value = element(child, depth)?;
        match table.get_mut(child.tag_name().name()) {
            Some(Value::Array(list)) => list.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
            None => {
                table.insert(child.tag_name().name().to_owned(), value);
            }
        }
    }
    if table.is_empty() {
        return Some(node.text().unwrap_or_default().trim().into());
    }
    Some(Value::Object(table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(content_type: &str, body: &str) -> Value {
        serde_json::to_value(read(Some(content_type), body.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn xml_is_tables_and_texts() {
        let body = "<?xml version=\"1.0\"?><r:Reply xmlns:r=\"urn:x\" code=\"7\"><Offers><Offer id=\"1\"><Apr> 7.5 </Apr>\
            </Offer><Offer><Apr>8</Apr></Offer></Offers><Empty/></r:Reply>";
        let expected = json!({
            "@code": "7",
            "Offers": {"Offer": [{"@id": "1", "Apr": "7.5"}, {"Apr": "8"}]},
            "Empty": "",
        });
        assert_eq!(value("text/xml; charset=utf-8", body), expected);
    }

    #[test]
    fn json_is_read_whatever_it_is_called() {
        assert_eq!(value("application/json", "{\"a\":1}"), json!({"a": 1}));
        assert_eq!(value("text/plain", " [1]"), json!([1]));
        assert_eq!(value("", "no"), json!("no"));
    }

    #[test]
    fn what_is_neither_is_told_without_its_content() {
        for (content_type, body) in [
            ("application/json", "Jane Doe"),
            ("application/xml", "<a><Jane></a>"),
            ("application/xml", "<!DOCTYPE a [<!ENTITY b \"Jane\">]><a>&b;</a>"),
        ] {
            let fault = read(Some(content_type), body.as_bytes()).unwrap_err();
            assert!(fault.contains("line") && !fault.contains("Jane"), "{fault}");
        }
        assert!(read(None, b"\xff").is_err());
        let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
        assert!(read(Some("text/xml"), deep.as_bytes()).unwrap_err().contains("deeper"));
    }
}
