//! The options that a form offers.

use minijinja::value::Value;

use super::templates::fields;
use offerd_model::ProductType;

/// Options by their values and words, and which of them is chosen.
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

/// The product types as options.
pub(super) fn products(chosen: Option<ProductType>) -> Vec<Value> {
    let all = ProductType::ALL.iter().map(|product| (product.as_str(), product.as_str().replace('_', " ")));
    choices(all, chosen.map(|product| product.as_str()))
}
