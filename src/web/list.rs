//! Headers that hold lists.

use hyper::HeaderMap;
use hyper::header::HeaderName;

/// What stands between the commas of all headers of a name, without the blanks around it. What is no text is left out.
pub fn items<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> + use<'h> {
    let lists = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).map(str::trim)
}
