//! Options of forms.

use minijinja::value::Value;

use super::templates::fields;
use offerd_model::ProductType;

/// Options of values and labels, with the selected one marked.
pub(super) fn choices<V: ToString, W: ToString>(
    all: impl IntoIterator<Item = (V, W)>,
    chosen: Option<&str>,
) -> Vec<Value> {
    let choice = |(value, words): (V, W)| {
        let (value, words) = (value.to_string(), words.to_string());
        fields! { chosen => chosen == Some(&value), value, words }
    };
    all.into_iter().map(choice).collect()
}

pub(super) fn products(chosen: Option<ProductType>) -> Vec<Value> {
    let all = ProductType::ALL.iter().map(|product| (product.as_str(), product.as_str().replace('_', " ")));
    choices(all, chosen.map(|product| product.as_str()))
}
