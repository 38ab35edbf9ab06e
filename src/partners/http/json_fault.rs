//! Why a text is no JSON, in words that name the fault and its place, and not a letter of the text.

use serde::de::IgnoredAny;
use serde_json::Error;

use super::parsed::TOO_MANY;

/// What stands where JSON has a value or a name, by its first letters.
const FOREIGN: [(&str, &str); 6] = [
    ("//", "a comment"),
    ("/*", "a comment"),
    ("#", "a comment"),
    ("'", "single quotes in place of double ones"),
    (",", "a comma without a value before it"),
    ("+", "a number with a `+`"),
];

/// Words of other languages for values that JSON writes otherwise or not at all.
const WORDS: [&str; 10] =
    ["NaN", "Infinity", "-Infinity", "inf", "-inf", "None", "True", "False", "null", "undefined"];

/// Faults in the words of `serde_json`, which a test holds.
const KINDS: [(&str, &str); 7] = [
    ("trailing comma", "a comma behind the last value"),
    ("key must be a string", "a name without quotes"),
    ("control character", "a line end or another control character within a text"),
    ("invalid escape", "a `\\` that begins no escape"),
    ("invalid number", "a number that JSON writes otherwise"),
    ("expected `,`", "no comma between two values"),
    ("expected `:`", "no colon behind a name"),
];

/// Why a text is no JSON that is read.
pub(super) fn no_json(error: &Error, text: &str) -> String {
    let place = format!("line {}, column {}", error.line(), error.column());
    let (at, said) = (offset(error, text), error.to_string());
    let rest = text.get(at..).unwrap_or_default();
    if said.starts_with("number out of range") {
        return format!("has a number at {place} that is too large: it must be less than 1.8e308");
    }
    if said.starts_with(TOO_MANY) {
        return TOO_MANY.to_owned();
    }
    if said.starts_with("recursion limit exceeded") {
        return format!("nests deeper than 127 objects and lists, at {place}");
    }
    if let Some(wrapped) = wrapped(text) {
        return wrapped.to_owned();
    }
    if error.is_eof() {
        let advice = "the partner must send it whole, and count its `Content-Length` in bytes";
        return format!("is cut off: its JSON ends at {place} before it is complete; {advice}");
    }
    if said.starts_with("trailing characters") {
        let what = if is_document(rest.trim_end()) { "another document" } else { "more" };
        return format!("has {what} behind its JSON, at {place}: the partner must send one document alone");
    }
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let begin = text.get(..at).unwrap_or_default().trim_end_matches(is_of_word).len();
    let word = text[begin..].split(|letter| !is_of_word(letter)).next().unwrap_or_default();
    let kind = KINDS.iter().find(|(words, _)| said.starts_with(words));
    if WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)) && word != "null" {
        format!("is not JSON: it has `{word}` at {place}, which is no value of JSON")
    } else if let Some((_, what)) = FOREIGN.iter().find(|(start, _)| rest.starts_with(start)).or(kind) {
        format!("is not JSON: it has {what} at {place}")
    } else if text[..begin].trim().is_empty() {
        "is not JSON but a text, whatever its `Content-Type` says".to_owned()
    } else {
        format!("is not JSON: see {place}")
    }
}

/// The place of a fault in the text.
fn offset(error: &Error, text: &str) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1)
}

/// What a text is in which JSON or XML stands that is not read out of it.
pub(super) fn wrapped(text: &str) -> Option<&'static str> {
    let text = text.trim().trim_start_matches("/**/").trim_end_matches(';');
    if let Some((_, argument)) = text.split_once('(').filter(|(name, _)| is_name(name.trim()))
        && argument.trim_end().strip_suffix(')').is_some_and(is_document)
    {
        return Some(
            "is JSONP, a script around JSON: leave a parameter such as `callback` out, or ask the partner for \
                JSON alone",
        );
    }
    let inner = serde_json::from_str::<String>(text);
    let inner = inner.as_deref().unwrap_or(text);
    if is_document(inner) {
        return Some(
            "is a text that holds JSON, so it was encoded twice: the partner must send the JSON itself",
        );
    }
    if roxmltree::Document::parse(inner.trim()).is_ok() {
        return Some(
            "is a text that holds XML, so it was encoded twice: the partner must send the XML itself",
        );
    }
    let start = text.find(['{', '[']).filter(|start| *start > 0)?;
    is_document(&text[start..]).then_some(
        "has a text before its JSON, such as a guard or a warning: the partner must send the JSON alone",
    )
}

/// Whether a text is the name of a function of JavaScript.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || "_$.".contains(letter))
}

/// Whether a text is an object or a list of JSON.
pub(super) fn is_document(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::document::read;

    /// What partners call JSON, with what is said of it, and where `serde_json` sees it.
    #[test]
    fn what_is_no_json_is_named_with_its_place_and_without_its_content() {
        let (deep, deepest) = (nested(128), nested(127));
        for (body, wanted) in [
            (&*deep, "nests deeper than 127 objects and lists, at line 1, column 128"),
            (r#"{"a":1e400}"#, "has a number at line 1, column 10 that is too large"),
            ("{\"a\":\n-1e400}", "has a number at line 2, column 6 that is too large"),
            (r#"{"jane":NaN}"#, "it has `NaN` at line 1, column 9, which is no value of JSON"),
            (r#"{"jane":-Infinity}"#, "it has `-Infinity` at line 1, column 10"),
            (r#"{"jane":nan}"#, "it has `nan` at line 1, column"),
            (r#"{"jane":None}"#, "it has `None` at line 1, column 9"),
            (r#"{"jane":True}"#, "it has `True` at line 1, column 9"),
            (r#"{"jane":undefined}"#, "it has `undefined` at line 1, column 9"),
            ("{'jane':1}", "it has single quotes in place of double ones at line 1, column 2"),
            ("{\"a\":'jane'}", "it has single quotes in place of double ones at line 1, column 6"),
            ("{jane:1}", "it has a name without quotes at line 1, column 2"),
            ("{\"a\":1,}", "it has a comma behind the last value at line 1, column 8"),
            ("[1,2,]", "it has a comma behind the last value at line 1, column 6"),
            ("{\"a\":,\"jane\":1}", "it has a comma without a value before it at line 1, column 6"),
            ("{\n// jane\n\"a\":1}", "it has a comment at line 2, column 1"),
            ("{\"a\":1 /* jane */}", "it has a comment at line 1, column 8"),
            ("{\"a\":1 \"jane\":2}", "it has no comma between two values at line 1, column 8"),
            ("{\"a\" 1}", "it has no colon behind a name at line 1, column 6"),
            ("{\"a\":\"Ja\nne\"}", "it has a line end or another control character within a text"),
            (r#"{"a":"Ja\qe"}"#, "it has a `\\` that begins no escape at line 1, column 10"),
            (r#"{"a":01}"#, "it has a number that JSON writes otherwise at line 1, column"),
            (r#"{"a":+1}"#, "it has a number with a `+` at line 1, column 6"),
            ("{\"a\":1}{\"jane\":1}", "has another document behind its JSON, at line 1, column 8"),
            ("{\"a\":1}\n{\"jane\":1}\n", "has another document behind its JSON, at line 2, column 1"),
            ("{\"a\":1}\n<!-- jane -->", "has more behind its JSON, at line 2, column 1"),
            (")]}',\n{\"jane\":1}", "has a text before its JSON"),
            ("Notice: jane\n{\"a\":1}", "has a text before its JSON"),
            ("while(1);{\"jane\":1}", "has a text before its JSON"),
            ("\"<a>jane</a>", "is cut off: its JSON ends at line 1"),
            ("jane", "is not JSON but a text"),
        ] {
            let fault = read(Some("application/json"), body.as_bytes(), |_| false).unwrap_err();
            assert!(fault.contains(wanted) && !fault.contains("jane"), "{body}: {fault}");
        }
        assert!(read(None, deepest.as_bytes(), |_| false).is_ok());
    }

    fn nested(levels: usize) -> String {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    }
}
