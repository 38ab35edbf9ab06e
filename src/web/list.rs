//! Headers that carry comma-separated lists.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

/// The items of all headers called `name`, trimmed. Items that are not ASCII are left out.
pub fn items<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> + use<'h> {
    all_items(headers, name).flatten()
}

/// Like [`items`], with `None` for an item that is not ASCII.
pub(super) fn all_items<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = Option<&'h str>> + use<'h> {
    let lists = headers.get_all(name).into_iter().map(HeaderValue::as_bytes);
    let items = lists.flat_map(|list| list.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    items.map(|item| std::str::from_utf8(item).ok().filter(|text| text.is_ascii()))
}

/// The weight in a parameter of an item, `q=0.5` (RFC 9110, 12.4.2); `None` for any other parameter.
pub fn weight(parameter: &str) -> Option<f32> {
    let (name, weight) = parameter.split_once('=')?;
    let weight = weight.trim().parse().ok()?;
    (name.trim().eq_ignore_ascii_case("q") && (0.0..=1.0).contains(&weight)).then_some(weight)
}
