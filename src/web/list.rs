//! Headers that hold lists.

use hyper::HeaderMap;
use hyper::header::HeaderName;

/// What stands between the commas of all headers of a name, without the blanks around it. What is no text is left out.
pub fn items<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> + use<'h> {
    let lists = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).map(str::trim)
}

/// The weight that a parameter of an item gives it (RFC 9110, 12.4.2); `None` where it gives none.
pub fn weight(parameter: &str) -> Option<f32> {
    let (name, weight) = parameter.split_once('=')?;
    let weight = weight.trim().parse().ok()?;
    (name.trim().eq_ignore_ascii_case("q") && (0.0..=1.0).contains(&weight)).then_some(weight)
}
