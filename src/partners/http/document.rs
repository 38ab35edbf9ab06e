//! Parses the body of an answer: JSON as it is, XML as tables and texts, anything else as a text.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::{memchr_iter, memmem};
use minijinja::value::Value as Mapped;
use roxmltree::{Document, Error, Node, ParsingOptions};
use serde_json::Value;

use super::json_fault::{is_document, no_json, wrapped};
use super::parsed::{NIL, NODES, Parsed, TEXT, TOO_MANY, is_nil, table_of};

/// Maximum number of attributes of one element. The parser compares each with all others.
const ATTRIBUTES: usize = 1_000;

/// Maximum number of pairs of namespaces that the parser compares for each byte of a document.
const NAMESPACE_PAIRS: usize = 100;

/// So many namespaces are never too many.
const NAMESPACES: usize = 32;

const DEPTH: usize = 64;

/// How pages of HTML begin.
const PAGES: [&str; 2] = ["<!doctype html", "<html"];

/// What a page of HTML is in the place of JSON or XML.
const PAGE: &str =
    "is not JSON or XML but an HTML page, such as a login page or a proxy's error; check the URL";

/// What a text is that ends within a letter.
const CUT_LETTER: &str = "is cut off: it ends within a letter; the partner must send it whole, and count its \
    `Content-Length` in bytes";

/// How gzip begins (RFC 1952, 2.3.1). No text does.
const GZIP: [u8; 2] = [0x1F, 0x8B];
const STILL_GZIP: &str = "is gzip that no `Content-Encoding` names, or was compressed twice: the partner must add \
    `Content-Encoding: gzip`, or send it uncompressed";

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
        return Err(STILL_GZIP.to_owned());
    }
    let text = text_of(content_type, body)?;
    // Programs that pass a text on may add a mark to the mark that it has.
    let text = text.trim_start_matches('\u{feff}');
    let trimmed = text.trim_start();
    let document = match format(content_type, body) {
        Format::Nothing => Mapped::from(""),
        Format::Xml if is_page(trimmed) => return Err(PAGE.to_owned()),
        Format::Xml => xml(trimmed, media_type(content_type) == "text/html", named)?,
        Format::Json => {
            let read = serde_json::from_str::<Parsed>(text).or_else(|error| {
                let again = serde_json::from_str(&mended(text));
                again.map_err(|again| if again.to_string().starts_with(TOO_MANY) { again } else { error })
            });
            read.map_err(|error| no_json(&error, text))?.0
        }
        Format::Text => Mapped::from(text),
    };
    match document.as_str().and_then(wrapped) {
        Some(fault) => Err(fault.to_owned()),
        None => Ok(document),
    }
}

/// What a body is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Nothing,
    Xml,
    Json,
    Text,
}

/// The format of a body, by its beginning, then by its content type.
pub(super) fn format(content_type: Option<&str>, body: &[u8]) -> Format {
    match first(body) {
        None => Format::Nothing,
        Some(b'<') => Format::Xml,
        // Many systems label JSON as text.
        Some(b'{' | b'[') => Format::Json,
        _ if media_type(content_type).ends_with("xml") => Format::Xml,
        _ if media_type(content_type).ends_with("json") => Format::Json,
        _ => Format::Text,
    }
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

/// The text of a body, decoded by its byte order mark, content type or XML declaration; UTF-8 by default.
///
/// # Errors
/// The fault, in general words.
pub fn text_of<'b>(content_type: Option<&str>, body: &'b [u8]) -> Result<Cow<'b, str>, String> {
    if let [0, 0, 0xFE, 0xFF, ..]
    | [0xFF, 0xFE, 0, 0, ..]
    | [0, 0, 0, 1..=0xFF, ..]
    | [1..=0xFF, 0, 0, 0, ..] = body
    {
        return Err("is UTF-32, which offerd does not read: the partner must send UTF-8".to_owned());
    }
    let (marked, body) = match Encoding::for_bom(body) {
        Some((encoding, mark)) => (Some(encoding), &body[mark..]),
        None => (of_wide_letters(body), body),
    };
    let label = charset(content_type).or_else(|| declared(body));
    let is_wide = |encoding| [UTF_16LE, UTF_16BE].contains(&encoding);
    let encoding = marked.or_else(|| Encoding::for_label_no_replacement(label?.as_bytes()));
    // UTF-16 in which each letter is two bytes was found by its first one.
    let is_narrow = marked.is_none() && matches!(first(body), Some(b'{' | b'[' | b'<'));
    let may_be_utf8 =
        |encoding: &'static Encoding| encoding.is_ascii_compatible() || is_narrow && is_wide(encoding);
    if encoding.is_none_or(may_be_utf8)
        && let Ok(text) = std::str::from_utf8(body)
    {
        return Ok(text.into());
    }
    match encoding.filter(|encoding| *encoding != UTF_8) {
        Some(encoding) if is_wide(encoding) && body.len() % 2 == 1 => Err(CUT_LETTER.to_owned()),
        None if is_cut(body) => Err(CUT_LETTER.to_owned()),
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

/// Whether the end of UTF-8 is missing.
fn is_cut(body: &[u8]) -> bool {
    std::str::from_utf8(body).is_err_and(|error| error.error_len().is_none())
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

pub(super) fn charset(content_type: Option<&str>) -> Option<&str> {
    let mut parameters = content_type?.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let (_, label) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(label.trim().trim_matches(['"', '\'']))
}

/// What XML is whose end is missing.
const CUT_OFF: &str = "is cut off: its XML ends before its first element does; the partner must send it whole, \
    and count its `Content-Length` in bytes";

/// The namespace of attributes such as `xsi:type` and `xsi:nil`, which say how an element is meant and are no part of it.
const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// The encoding of an XML declaration: `<?xml version="1.0" encoding="ISO-8859-1"?>`.
pub(super) fn declared(body: &[u8]) -> Option<&str> {
    let rest = body.trim_ascii_start().strip_prefix(b"<?xml")?;
    let declaration = std::str::from_utf8(&rest[..memmem::find(rest, b"?>")?]).ok()?;
    let (_, label) = declaration.split_once("encoding")?;
    let mut label = label.trim_start().strip_prefix('=')?.trim_start().chars();
    let quote = label.next()?;
    label.as_str().split(quote).next()
}

/// Refuses XML that would take the parser time by the square of its length.
fn parses_in_time(text: &str) -> Result<(), String> {
    // No value of an attribute holds a `<`.
    let attributes = |tag: &str| {
        let values = tag.split('=').skip(1);
        values.filter(|value| value.trim_ascii_start().starts_with(['"', '\''])).count()
    };
    let mut all = 0;
    // Each attribute has a `=`.
    let may_be_many = memchr_iter(b'=', text.as_bytes()).count() > ATTRIBUTES;
    let tags = may_be_many.then(|| text.split('<').filter(|tag| !tag.starts_with('!')));
    for tag in tags.into_iter().flatten() {
        let found = attributes(tag);
        all += found;
        if found > ATTRIBUTES {
            return Err(format!("has an element with more than {ATTRIBUTES} attributes"));
        }
    }
    let declared = memmem::find_iter(text.as_bytes(), "xmlns");
    let declared = declared.map(|at| text[at..].split(['=', ' ', '>']).next());
    let (times, names) = (declared.clone().count(), declared.collect::<BTreeSet<_>>().len());
    let most = text.len().saturating_mul(NAMESPACE_PAIRS);
    if names > NAMESPACES && names.saturating_mul(names).saturating_mul(times) > most {
        return Err("declares too many XML namespaces".to_owned());
    }
    match all > NODES as usize {
        true => Err(TOO_MANY.to_owned()),
        false => Ok(()),
    }
}

fn xml(text: &str, is_html: bool, named: impl Fn(&str) -> bool + Copy) -> Result<Mapped, String> {
    parses_in_time(text)?;
    let parsed = |allow_dtd| {
        let options = ParsingOptions { allow_dtd, nodes_limit: NODES, ..ParsingOptions::default() };
        Document::parse_with_options(text, options)
    };
    let document = match parsed(false) {
        // A DTD is allowed if it declares no entities.
        Err(Error::DtdDetected) if !text.contains("<!ENTITY") => parsed(true),
        parsed => parsed,
    };
    let document = document.map_err(|error| no_xml(&error, text, is_html))?;
    let root = document.root_element();
    if root.tag_name().name().eq_ignore_ascii_case("html") {
        return Err(PAGE.to_owned());
    }
    let mut values = 0;
    let read = element(root, DEPTH, named, &mut values);
    let read = read.ok_or_else(|| format!("nests deeper than {DEPTH} elements"))?;
    if values > NODES as usize { Err(TOO_MANY.to_owned()) } else { Ok(read) }
}

/// Why a text is no XML.
fn no_xml(error: &Error, text: &str, is_html: bool) -> String {
    if text.find(['{', '[']).is_some_and(|start| is_document(&text[start..])) {
        return "has markup before its JSON, such as the warning of a script: the partner must send the JSON alone"
            .to_owned();
    }
    if is_html {
        return PAGE.to_owned();
    }
    if !text.starts_with('<') {
        return "is not XML but a text, whatever its `Content-Type` says".to_owned();
    }
    let place = format!("line {}, column {}", error.pos().row, error.pos().col);
    let begins_number = || {
        let mut line = text.lines().nth(error.pos().row as usize - 1).unwrap_or_default().chars();
        line.by_ref().nth(error.pos().col as usize - 1) == Some('&') && line.next() == Some('#')
    };
    let ends_in_tag = || text.rfind('<').is_some_and(|last| !text[last..].contains('>'));
    match error {
        Error::NodesLimitReached => TOO_MANY.to_owned(),
        Error::DtdDetected => {
            "declares entities, which offerd does not expand: the partner must send XML without `<!ENTITY`"
                .to_owned()
        }
        Error::UnknownEntityReference(..) => {
            let advice = "the partner must write it as a letter or a number, as in `&#160;`";
            format!("has an entity at {place} that XML does not define: {advice}")
        }
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => CUT_OFF.to_owned(),
        _ if ends_in_tag() => CUT_OFF.to_owned(),
        Error::MalformedEntityReference(_) if begins_number() => format!(
            "has a reference such as `&#0;` at {place} to a character that XML forbids: the partner must leave it out"
        ),
        Error::MalformedEntityReference(_) => {
            format!("has an `&` at {place} that begins no entity: the partner must write it as `&amp;`")
        }
        _ => format!("is not well-formed XML: see {place}"),
    }
}

/// An element: its text, or a table of its attributes, elements and text, whose `values` it counts. An empty
/// element is the empty text.
fn element(
    node: Node<'_, '_>,
    depth: usize,
    named: impl Fn(&str) -> bool + Copy,
    values: &mut usize,
) -> Option<Mapped> {
    let depth = depth.checked_sub(1)?;
    let (mut table, mut lists) = (BTreeMap::new(), BTreeMap::<&str, Vec<Mapped>>::new());
    for child in node.children().filter(Node::is_element) {
        let (name, value) = (child.tag_name().name(), element(child, depth, named, values)?);
        match table.get_mut(name) {
            Some(first) => lists.entry(name).or_insert_with(|| vec![mem::take(first)]).push(value),
            None => drop(table.insert(name.to_owned(), value)),
        }
    }
    for (name, list) in lists {
        *values += list.len();
        table.insert(name.to_owned(), list.into());
    }
    let text = own_text(node);
    let text = text.trim();
    let is_leaf = table.is_empty();
    let nil = is_leaf && text.is_empty() && is_nil(node.attribute((SCHEMA_INSTANCE, "nil")));
    let is_text = nil || is_leaf && !text.is_empty();
    let mut several = BTreeMap::<String, Vec<Mapped>>::new();
    for attribute in node.attributes() {
        let name = format!("@{}", attribute.name());
        let is_of_schema = attribute.namespace() == Some(SCHEMA_INSTANCE);
        if !(is_text || is_of_schema) || named(&name) {
            let value = attribute.value().into();
            match table.get_mut(&name) {
                Some(first) => several.entry(name).or_insert_with(|| vec![mem::take(first)]).push(value),
                None => drop(table.insert(name, value)),
            }
        }
    }
    // Of one name in several namespaces.
    table.extend(several.into_iter().map(|(name, list)| (name, list.into())));
    if table.is_empty() {
        return Some(text.into());
    }
    if nil {
        table.insert(NIL.to_owned(), "true".into());
    }
    if !text.is_empty() {
        table.insert(TEXT.to_owned(), text.into());
    }
    *values += table.len();
    Some(table_of(table))
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
    use super::super::expression::Expression;
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
        let twice = "<r xmlns:a=\"urn:a\" xmlns:b=\"urn:b\" a:months=\"36\" b:months=\"24\"/>";
        assert_eq!(value("text/xml", twice), json!({"@months": ["36", "24"]}), "neither is the meant one");
    }

    #[test]
    fn json_is_read_whatever_it_is_called() {
        assert_eq!(value("application/json", "{\"a\":1}"), json!({"a": 1}));
        assert_eq!(value("text/plain", " [1]"), json!([1]));
        assert_eq!(value("", "no"), json!("no"));
    }

    /// Only the mapping that uses such a value fails.
    #[test]
    fn a_value_that_is_not_certain_is_an_error_of_its_use() {
        let body = r#"{"id": 12345678901234567890123, "apr": 7, "a": {"x": 1, "x": 2}, "same": 5, "same": 5,
            "apr": 8, "long": 9223372036854775807, "big": 18446744073709551615, "low": -9223372036854775809}"#;
        let document = read(Some("application/json"), body.as_bytes(), |_| false).unwrap();
        let run = |text: &str| {
            let context = minijinja::context! { response => document.clone() };
            Expression::compile(text).unwrap().run(&context).map_err(|error| error.cause)
        };
        for (text, fault) in [
            ("response.id", "a whole number that is too long to be read exactly"),
            ("'x' ~ response['low']", "a whole number that is too long to be read exactly"),
            ("response.apr", "a name that stands twice in one object of the answer"),
            ("1 if response.a.x == 2 else 3", "a name that stands twice"),
        ] {
            let found = run(text).unwrap_err();
            assert!(found.starts_with("finds ") && found.contains(fault), "{text}: {found}");
        }
        for (text, made) in [
            ("response.same", "5"),
            ("response.long ~ ''", "9223372036854775807"),
            ("response.big ~ ''", "18446744073709551615"),
        ] {
            assert_eq!(run(text).unwrap().to_string(), made, "{text}");
        }
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

    /// Each would take time by the square of its length, or memory by many times it.
    #[test]
    fn what_costs_more_than_its_length_is_refused() {
        let times = |count: usize, one: fn(usize) -> String| (0..count).map(one).collect::<String>();
        let attributes = |count| format!("<a {}/>", times(count, |nth| format!("b{nth}=\"\" ")));
        let scopes = |count| {
            let begin = times(count, |nth| format!("<a xmlns:n{nth}='u:{nth}'>"));
            format!("<r>{begin}{}</r>", "</a>".repeat(count))
        };
        let many = "has more than 100000 values";
        for (body, fault) in [
            (attributes(1000), None),
            (attributes(1001), Some("has an element with more than 1000 attributes")),
            (attributes(90_000), Some("has an element with more than 1000 attributes")),
            (format!("<r>{}</r>", "<a b='' c = \"\"/>".repeat(33_000)), None),
            (format!("<r>{}</r>", "<a b='' c = \"\"/>".repeat(33_400)), Some(many)),
            (format!("<r>{}</r>", "<a/>".repeat(100_000)), Some(many)),
            (format!("<r>{}</r>", "<a b=''/>".repeat(49_999)), None),
            (format!("<r>{}</r>", "<a b=''/>".repeat(50_000)), Some(many)),
            (format!("<a>{}</a>", "= ".repeat(2_000)), None),
            (format!("{}{}", "<a>".repeat(64), "</a>".repeat(64)), None),
            (format!("{}{}", "<a>".repeat(65), "</a>".repeat(65)), Some("nests deeper than 64 elements")),
            (scopes(40), None),
            (scopes(5_000), Some("declares too many XML namespaces")),
            (format!("<r>{}</r>", "<x:a xmlns:x='urn:x'/>".repeat(40_000)), None),
            (format!("[{}0]", "0,".repeat(99_998)), None),
            (format!("[{}0]", "0,".repeat(99_999)), Some(many)),
            (format!("{{\"offers\":[{}9]}}", "9,".repeat(128_000)), Some(many)),
            (format!("[{}{{}}]", "{\"a\":\"\\ud83d\"},".repeat(50_000)), Some(many)),
        ] {
            let found = read(None, body.as_bytes(), |_| true).err();
            let is_so = found.as_deref().map(|found| fault.is_some_and(|fault| found.starts_with(fault)));
            assert_eq!(is_so, fault.map(|_| true), "{}… {found:?}", &body[..40]);
        }
    }

    #[test]
    fn every_width_of_letters_is_read_or_named() {
        let json = "{\"a\":\"\u{e9}\"}";
        let wide = |unit: u16| unit.to_le_bytes();
        let utf_16: Vec<u8> = json.encode_utf16().flat_map(wide).collect();
        let utf_32 =
            |bytes: fn(u32) -> [u8; 4]| json.chars().flat_map(|c| bytes(u32::from(c))).collect::<Vec<_>>();
        let read = |body: &[u8]| read(None, body, |_| false).map(|read| read.to_string());
        let whole = read(json.as_bytes());
        for body in [[b"\xff\xfe", &*utf_16].concat(), utf_16.clone()] {
            assert_eq!(read(&body), whole);
            assert!(
                read(&body[..body.len() - 1]).unwrap_err().starts_with("is cut off: it ends within a letter")
            );
        }
        for (mark, body) in [
            (&b"\0\0\xfe\xff"[..], utf_32(u32::to_be_bytes)),
            (&b"\xff\xfe\0\0"[..], utf_32(u32::to_le_bytes)),
        ] {
            for body in [body.clone(), [mark, &*body].concat()] {
                assert!(read(&body).unwrap_err().starts_with("is UTF-32"), "{body:?}");
            }
        }
        assert_eq!(read(format!("\u{feff}\u{feff}{json}").as_bytes()), whole, "two marks");
        assert_eq!(read("\u{feff}\u{feff}<a>b</a>".as_bytes()), Ok("b".to_owned()), "two marks");
        assert!(read("\"\u{e9}".as_bytes().split_last().unwrap().1).unwrap_err().contains("within a letter"));
    }

    #[test]
    fn what_is_neither_is_told_without_its_content() {
        for (content_type, body, wanted) in [
            ("application/json", "Jane Doe", "is not JSON but a text"),
            ("application/xml", "Jane Doe", "is not XML but a text"),
            ("text/html", "<h1>Dear Jane</h1><p>Closed", "is not JSON or XML but an HTML page"),
            ("application/xml", "<a><Jane></a>", "line 1"),
            ("application/xml", "<a>Doe&Jane;</a>", "line 1"),
            ("application/xml", "<!DOCTYPE a [<!ENTITY b \"Jane\">]><a>&b;</a>", "declares entities"),
        ] {
            let fault = read(Some(content_type), body.as_bytes(), |_| false).unwrap_err();
            assert!(fault.contains(wanted) && !fault.contains("Jane"), "{fault}");
        }
        assert!(read(None, b"\xff", |_| false).is_err());
        let in_latin = read(Some("application/json"), b"{\"a\":\"Jos\xe9\"}", |_| false).unwrap_err();
        assert!(in_latin.contains("the partner must add a `charset`"), "{in_latin}");
        let deep = format!("{}{}", "<a>".repeat(100), "</a>".repeat(100));
        assert!(read(Some("text/xml"), deep.as_bytes(), |_| false).unwrap_err().contains("deeper"));
    }
}

#[cfg(test)]
mod generated;
