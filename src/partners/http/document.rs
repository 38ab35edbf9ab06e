//! Parses the body of an answer: JSON as it is, XML as tables and texts, anything else as a text.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::memmem;
use minijinja::value::{Serde, Value as Mapped};
use roxmltree::{Document, Error, Node, ParsingOptions};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// Maximum number of elements and attributes of an XML answer.
const NODES: u32 = 100_000;

const DEPTH: usize = 64;

/// Key of an element's own text, if it also has elements or attributes.
pub const TEXT: &str = "#text";

/// The name of the attribute by which an element says that it is nothing.
pub(super) const NIL: &str = "@nil";

/// How pages of HTML begin.
const PAGES: [&str; 2] = ["<!doctype html", "<html"];

/// What a page of HTML is in the place of JSON or XML.
const PAGE: &str =
    "is not JSON or XML but an HTML page, such as a login page or a proxy's error; check the URL";

/// How gzip begins (RFC 1952, 2.3.1). No text does.
const GZIP: [u8; 2] = [0x1F, 0x8B];

/// Reads a body; an empty one is an empty text. A body that claims to be JSON or XML and is not, or that has
/// JSON within a text, gives the fault, without a byte of the body. Of a text in XML only the attributes that
/// are `named` are read: then it is a table, with its text as `#text`.
///
/// # Errors
/// The fault, in general words.
pub fn read(
    content_type: Option<&str>,
    body: &[u8],
    named: impl Fn(&str) -> bool + Copy,
) -> Result<Mapped, String> {
    if body.starts_with(&GZIP) {
        return Err(
            "is gzip without a `Content-Encoding`: the partner must add `Content-Encoding: gzip`, or \
            send it uncompressed"
                .to_owned(),
        );
    }
    let text = text_of(content_type, body)?;
    let trimmed = text.trim_start();
    let document = match first(body) {
        None => Mapped::from(""),
        Some(b'<') if is_page(trimmed) => return Err(PAGE.to_owned()),
        _ if is_xml(content_type, body) => Mapped::from(Serde(xml(trimmed, named)?)),
        // Many systems label JSON as text.
        Some(first) if matches!(first, b'{' | b'[') || is_json(content_type) => {
            let value = serde_json::from_str::<Value>(&text)
                .or_else(|error| serde_json::from_str(&mended(&text)).map_err(|_| error));
            Mapped::from(Serde(value.map_err(|error| no_json(&error, &text))?))
        }
        Some(_) => Mapped::from(text.into_owned()),
    };
    match document.as_str().and_then(wrapped) {
        Some(fault) => Err(fault.to_owned()),
        None => Ok(document),
    }
}

/// Why a text is no JSON.
fn no_json(error: &serde_json::Error, text: &str) -> String {
    let place = format!("line {}, column {}", error.line(), error.column());
    match wrapped(text) {
        Some(wrapped) => wrapped.to_owned(),
        None if error.is_eof() => format!("is cut off: its JSON ends at {place} before it is complete"),
        None => format!("is not JSON: see {place}"),
    }
}

/// What a text is in which JSON stands that is not read out of it.
fn wrapped(text: &str) -> Option<&'static str> {
    let text = text.trim().trim_start_matches("/**/").trim_end_matches(';');
    if let Some((_, argument)) = text.split_once('(').filter(|(name, _)| is_name(name.trim()))
        && argument.trim_end().strip_suffix(')').is_some_and(is_document)
    {
        return Some(
            "is JSONP, a script around JSON: leave a parameter such as `callback` out, or ask the partner for JSON alone",
        );
    }
    let inner = serde_json::from_str::<String>(text);
    is_document(inner.as_deref().unwrap_or(text)).then_some(
        "is a JSON string that holds JSON, so it was encoded twice: the partner must send the JSON itself",
    )
}

/// Whether a text is the name of a function of JavaScript.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || "_$.".contains(letter))
}

/// Whether a text is an object or a list of JSON.
fn is_document(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether a body is a page of HTML.
pub(super) fn is_page_of(content_type: Option<&str>, body: &[u8]) -> bool {
    text_of(content_type, body).is_ok_and(|text| is_page(text.trim_start()))
}

fn is_page(text: &str) -> bool {
    PAGES.iter().any(|page| begins(text, page))
}

/// JSON with U+FFFD for halves of letters, which JSON can say and no text can hold (RFC 8259, 8.2): `\ud83d` where a text was cut.
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
    // UTF-16 in which each letter is two bytes was found by its first one.
    let is_narrow = marked.is_none() && matches!(first(body), Some(b'{' | b'[' | b'<'));
    let may_be_utf8 = |encoding: &'static Encoding| {
        encoding.is_ascii_compatible() || is_narrow && [UTF_16LE, UTF_16BE].contains(&encoding)
    };
    if encoding.is_none_or(may_be_utf8)
        && let Ok(text) = std::str::from_utf8(body)
    {
        return Ok(text.into());
    }
    match encoding.filter(|encoding| *encoding != UTF_8) {
        Some(encoding) => {
            let text = encoding.decode_without_bom_handling_and_without_replacement(body);
            text.ok_or_else(|| format!("is not in the encoding that it names, {}", encoding.name()))
        }
        None if label.is_some() => {
            Err("is not UTF-8, and names no other encoding that offerd reads".to_owned())
        }
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

/// What XML is whose end is missing.
const CUT_OFF: &str = "is cut off: its XML ends before its first element does";

/// The namespace of attributes such as `xsi:type` and `xsi:nil`, which say how an element is meant and are no part of it.
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
    let document = document.map_err(|error| no_xml(&error, text))?;
    let root = document.root_element();
    if root.tag_name().name().eq_ignore_ascii_case("html") {
        return Err(PAGE.to_owned());
    }
    element(root, DEPTH, named).ok_or_else(|| format!("nests deeper than {DEPTH} elements"))
}

/// Why a text is no XML.
fn no_xml(error: &Error, text: &str) -> String {
    if text.find(['{', '[']).is_some_and(|start| is_document(&text[start..])) {
        return "has markup before its JSON, such as the warning of a script: the partner must send the JSON alone"
            .to_owned();
    }
    let place = format!("line {}, column {}", error.pos().row, error.pos().col);
    let ends_in_tag = || text.rfind('<').is_some_and(|last| !text[last..].contains('>'));
    match error {
        Error::NodesLimitReached => format!("has more than {NODES} elements and attributes"),
        Error::DtdDetected => {
            "declares entities, which offerd does not expand: the partner must send XML without `<!ENTITY`"
                .to_owned()
        }
        Error::UnknownEntityReference(..) => {
            format!(
                "has an entity at {place} that XML does not define: the partner must write it as a letter or a number, as in `&#160;`"
            )
        }
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => CUT_OFF.to_owned(),
        _ if ends_in_tag() => CUT_OFF.to_owned(),
        Error::MalformedEntityReference(_) => {
            format!("has an `&` at {place} that begins no entity: the partner must write it as `&amp;`")
        }
        _ => format!("is not well-formed XML: see {place}"),
    }
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
    let is_leaf = table.is_empty();
    let nil = is_leaf && text.is_empty() && is_nil(node.attribute((SCHEMA_INSTANCE, "nil")));
    let is_text = nil || is_leaf && !text.is_empty();
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
    if nil {
        table.insert(NIL.to_owned(), "true".into());
    }
    if !text.is_empty() {
        table.insert(TEXT.to_owned(), text.into());
    }
    Some(Value::Object(table))
}

/// Whether an element is nil, by its attribute `xsi:nil`.
pub(super) fn is_nil(attribute: Option<&str>) -> bool {
    matches!(attribute, Some("true" | "1"))
}

/// A value as it is sent or judged: of an element of XML with a text and attributes alone, the text; null where it is nil.
pub(super) fn leaf(value: Value) -> Value {
    let is_of_text = |name: &String| name == TEXT || name.starts_with('@');
    match value {
        Value::Object(mut table) if table.keys().all(is_of_text) => {
            let nil = is_nil(table.get(NIL).and_then(Value::as_str));
            table.remove(TEXT).unwrap_or(if nil { Value::Null } else { Value::Object(table) })
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
    fn wherever_an_answer_ends_early_it_is_cut_off() {
        let xml = "<?xml version=\"1.0\"?><r><a b=\"1\">36 <!-- c --></a><![CDATA[9]]></r>";
        let json = r#"{"offers":[{"term":36,"name":"a\u00e9"}]}"#;
        for (whole, from) in [(xml, xml.find("<r").unwrap() + 2), (json, 1)] {
            for end in from..whole.len() {
                let fault = read(None, &whole.as_bytes()[..end], |_| false).unwrap_err();
                assert!(fault.starts_with("is cut off: "), "{}: {fault}", &whole[..end]);
            }
            assert!(read(None, whole.as_bytes(), |_| false).is_ok());
        }
    }

    #[test]
    fn what_is_neither_is_told_without_its_content() {
        for (content_type, body, wanted) in [
            ("application/json", "Jane Doe", "line 1"),
            ("application/xml", "<a><Jane></a>", "line 1"),
            ("application/xml", "<a>Doe&Jane;</a>", "line 1"),
            ("application/xml", "<!DOCTYPE a [<!ENTITY b \"Jane\">]><a>&b;</a>", "declares entities"),
        ] {
            let fault = read(Some(content_type), body.as_bytes(), |_| false).unwrap_err();
            assert!(fault.contains(wanted) && !fault.contains("Jane"), "{fault}");
        }
        assert!(read(None, b"\xff", |_| false).is_err());
        let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
        assert!(read(Some("text/xml"), deep.as_bytes(), |_| false).unwrap_err().contains("deeper"));
    }
}
