//! Parses the body of an answer: JSON as it is, XML as tables and texts, anything else as a text.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::memmem;
use minijinja::value::{Serde, Value as Mapped};
use roxmltree::{Document, Error, Node, ParsingOptions};
use serde_json::{Map, Value};

/// Maximum number of elements and attributes of an XML answer.
const NODES: u32 = 100_000;

const DEPTH: usize = 64;

/// Key of an element's own text, if it also has elements or attributes.
pub const TEXT: &str = "#text";

const PAGES: [&str; 2] = ["<!doctype html", "<html"];

/// Parses a body; an empty one is an empty text. Invalid JSON or XML yields a fault without any byte of the
/// body. An XML text element becomes a table with its text as `#text` if it has an attribute that is `named`;
/// its other attributes are skipped.
///
/// # Errors
/// The fault, in general words.
pub fn read(
    content_type: Option<&str>,
    body: &[u8],
    named: impl Fn(&str) -> bool + Copy,
) -> Result<Mapped, String> {
    let text = text_of(content_type, body)?;
    let trimmed = text.trim_start();
    match first(body) {
        None => Ok(Mapped::from("")),
        Some(b'<') if PAGES.iter().any(|page| begins(trimmed, page)) => {
            Err("is not JSON or XML but a page of HTML, such as a login, an error or a proxy shows: look at the URL".to_owned())
        }
        _ if is_xml(content_type, body) => Ok(Mapped::from(Serde(xml(trimmed, named)?))),
        // Many systems label JSON as text.
        Some(first) if matches!(first, b'{' | b'[') || is_json(content_type) => {
            let value = serde_json::from_str::<Value>(&text)
                .or_else(|error| serde_json::from_str(&mended(&text)).map_err(|_| error));
            let value = value.map_err(|error| {
                format!("is not JSON: see line {}, column {}", error.line(), error.column())
            })?;
            Ok(Mapped::from(Serde(value)))
        }
        Some(_) => Ok(Mapped::from(text.into_owned())),
    }
}

/// Replaces unpaired surrogates with U+FFFD. JSON can escape them, but no text can hold them (RFC 8259, 8.2):
/// `\ud83d` of a truncated text.
fn mended(json: &str) -> String {
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut mended = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(start) = rest.find('\\') {
        let (before, escape) = rest.split_at(start);
        let is_pair = escape.get(6..).and_then(unit).is_some_and(|low| (0xDC00..0xE000).contains(&low));
        let (length, meant) = match unit(escape) {
            Some(0xD800..=0xDBFF) if is_pair => (12, &escape[..12]),
            Some(0xD800..=0xDFFF) => (6, "\\ufffd"),
            _ => {
                let length = escape.chars().take(2).map(char::len_utf8).sum();
                (length, &escape[..length])
            }
        };
        mended.push_str(before);
        mended.push_str(meant);
        rest = &escape[length..];
    }
    mended + rest
}

/// Whether a body is read as XML.
pub fn is_xml(content_type: Option<&str>, body: &[u8]) -> bool {
    match first(body) {
        None | Some(b'{' | b'[') => false,
        Some(first) => first == b'<' || media_type(content_type).ends_with("xml"),
    }
}

fn is_json(content_type: Option<&str>) -> bool {
    media_type(content_type).ends_with("json")
}

/// The text of a body, decoded by its byte order mark, content type or XML declaration; UTF-8 by default.
///
/// # Errors
/// The fault, in general words.
pub fn text_of<'b>(content_type: Option<&str>, body: &'b [u8]) -> Result<Cow<'b, str>, String> {
    let (marked, body) = match Encoding::for_bom(body) {
        Some((encoding, mark)) => (Some(encoding), &body[mark..]),
        None => (of_wide_letters(body), body),
    };
    let label = charset(content_type).or_else(|| declared(body));
    let encoding = marked.or_else(|| Encoding::for_label_no_replacement(label?.as_bytes()));
    // Text in another encoding is valid UTF-8 only if it is plain ASCII, which both encode alike.
    if encoding.is_none_or(Encoding::is_ascii_compatible)
        && let Ok(text) = std::str::from_utf8(body)
    {
        return Ok(text.into());
    }
    match encoding.filter(|encoding| *encoding != UTF_8) {
        Some(encoding) => {
            let text = encoding.decode_without_bom_handling_and_without_replacement(body);
            text.ok_or_else(|| format!("is not in the encoding that it names, {}", encoding.name()))
        }
        None if label.is_some() => Err("is not UTF-8, and names no other encoding that is read".to_owned()),
        None => Err("is not UTF-8, and names no other encoding: the partner must add a `charset` to its \
            `Content-Type`, or an `encoding` to its XML declaration"
            .to_owned()),
    }
}

/// UTF-16 without a byte order mark, recognised by an ASCII first character.
fn of_wide_letters(body: &[u8]) -> Option<&'static Encoding> {
    match body {
        [0, letter, ..] if *letter != 0 => Some(UTF_16BE),
        [letter, 0, ..] if *letter != 0 => Some(UTF_16LE),
        _ => None,
    }
}

/// The first byte of the text, after a byte order mark and whitespace.
fn first(body: &[u8]) -> Option<u8> {
    let skipped =
        |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0 | 0xEF | 0xBB | 0xBF | 0xFE | 0xFF);
    body.iter().copied().find(|byte| !skipped(byte))
}

fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
}

fn media_type(content_type: Option<&str>) -> String {
    let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
    media_type.trim().to_ascii_lowercase()
}

fn charset(content_type: Option<&str>) -> Option<&str> {
    let mut parameters = content_type?.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let (_, label) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(label.trim().trim_matches(['"', '\'']))
}

/// The namespace of attributes such as `xsi:type` and `xsi:nil`, which describe the element and are skipped.
const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// The encoding of an XML declaration: `<?xml version="1.0" encoding="ISO-8859-1"?>`.
fn declared(body: &[u8]) -> Option<&str> {
    let rest = body.trim_ascii_start().strip_prefix(b"<?xml")?;
    let declaration = std::str::from_utf8(&rest[..memmem::find(rest, b"?>")?]).ok()?;
    let (_, label) = declaration.split_once("encoding")?;
    let mut label = label.trim_start().strip_prefix('=')?.trim_start().chars();
    let quote = label.next()?;
    label.as_str().split(quote).next()
}

fn xml(text: &str, named: impl Fn(&str) -> bool + Copy) -> Result<Value, String> {
    let parsed = |allow_dtd| {
        let options = ParsingOptions { allow_dtd, nodes_limit: NODES, ..ParsingOptions::default() };
        Document::parse_with_options(text, options)
    };
    let document = match parsed(false) {
        // A DTD is allowed if it declares no entities.
        Err(Error::DtdDetected) if !text.contains("<!ENTITY") => parsed(true),
        parsed => parsed,
    };
    let document = document.map_err(|error| {
        if error == Error::NodesLimitReached {
            return format!("has more than {NODES} elements and attributes");
        }
        let place = error.pos();
        format!("is not XML: see line {}, column {}", place.row, place.col)
    })?;
    let root = element(document.root_element(), DEPTH, named);
    root.ok_or_else(|| format!("nests deeper than {DEPTH} elements"))
}

/// An element: its text, or a table of its attributes, elements and text. An empty element is the empty text.
fn element(node: Node<'_, '_>, depth: usize, named: impl Fn(&str) -> bool + Copy) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let mut table = Map::new();
    for child in node.children().filter(Node::is_element) {
        let value = element(child, depth, named)?;
        match table.get_mut(child.tag_name().name()) {
            Some(Value::Array(list)) => list.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
            None => {
                table.insert(child.tag_name().name().to_owned(), value);
            }
        }
    }
    let text = own_text(node);
    let text = text.trim();
    let is_text = table.is_empty() && !text.is_empty();
    for attribute in node.attributes() {
        let name = format!("@{}", attribute.name());
        let is_of_schema = attribute.namespace() == Some(SCHEMA_INSTANCE);
        if !(is_text || is_of_schema) || named(&name) {
            table.insert(name, attribute.value().into());
        }
    }
    if table.is_empty() {
        return Some(text.into());
    }
    if !text.is_empty() {
        table.insert(TEXT.to_owned(), text.into());
    }
    Some(Value::Object(table))
}

/// A value as it is sent or judged: an XML element with only text and attributes becomes the text.
pub(super) fn leaf(value: Value) -> Value {
    let is_of_text = |name: &String| name == TEXT || name.starts_with('@');
    match value {
        Value::Object(mut table) if table.keys().all(is_of_text) => {
            table.remove(TEXT).unwrap_or(Value::Object(table))
        }
        value => value,
    }
}

/// The text of an element, which comments and the like may split.
fn own_text<'d>(node: Node<'d, '_>) -> Cow<'d, str> {
    let texts = node.children().filter(Node::is_text).filter_map(|child| child.text());
    let mut texts = texts.filter(|text| !text.trim().is_empty());
    let first = Cow::Borrowed(texts.next().unwrap_or_default());
    texts.fold(first, |text, more| text + more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(content_type: &str, body: &str) -> Value {
        serde_json::to_value(read(Some(content_type), body.as_bytes(), |_| false).unwrap()).unwrap()
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
            let fault = read(Some(content_type), body.as_bytes(), |_| false).unwrap_err();
            assert!(fault.contains("line") && !fault.contains("Jane"), "{fault}");
        }
        assert!(read(None, b"\xff", |_| false).is_err());
        let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
        assert!(read(Some("text/xml"), deep.as_bytes(), |_| false).unwrap_err().contains("deeper"));
    }
}
