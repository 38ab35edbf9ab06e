//! The values of a partner file as digests by key: enough to detect changes without keeping the text.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// The values of one partner file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredValues {
    /// Values of `[partner]`, by key.
    pub identity: BTreeMap<String, DeclaredValue>,
    /// Values of `[products.<type>]`, by product type.
    pub products: BTreeMap<String, DeclaredProductValues>,
}

/// The values of `[products.<type>]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredProductValues {
    /// Values by key, without the offers.
    pub keys: BTreeMap<String, DeclaredValue>,
    /// Offers by key.
    pub offers: BTreeMap<String, DeclaredValue>,
}

/// A value of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredValue {
    sum: [u8; 32],
    /// The value as text, shortened if long; `None` for a table or list.
    pub shown: Option<String>,
}

const SHOWN: usize = 120;

impl DeclaredValues {
    /// Reads a partner file that passed the checks.
    pub fn by(file: &toml::Table) -> Self {
        let products = table(file.get("products")).map(|(product_type, product)| {
            let offers = product.get("offers").and_then(toml::Value::as_array).into_iter().flatten();
            let key_of = |one: &toml::Value| one.get("key").and_then(toml::Value::as_str).map(str::to_owned);
            let said = DeclaredProductValues {
                keys: values(table(Some(product)).filter(|(key, _)| *key != "offers")),
                offers: offers.filter_map(|offer| Some((key_of(offer)?, DeclaredValue::of(offer)))).collect(),
            };
            (product_type.clone(), said)
        });
        Self { identity: values(table(file.get("partner"))), products: products.collect() }
    }

    /// Adds the values to a digest.
    pub fn digest(&self, hasher: &mut Sha256) {
        let mut add = |place: &str, values: &BTreeMap<String, DeclaredValue>| {
            for (key, value) in values {
                hasher.update(format!("{place}\0{key}\0"));
                hasher.update(value.sum);
            }
        };
        add("partner", &self.identity);
        for (product_type, product) in &self.products {
            add(product_type, &product.keys);
            add(&format!("{product_type}.offers"), &product.offers);
        }
    }
}

impl DeclaredValue {
    fn of(value: &toml::Value) -> Self {
        let text = value.to_string();
        let sum = Sha256::digest(&text).into();
        let shown = (!value.is_table() && !value.is_array()).then(|| match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        });
        Self { sum, shown }
    }
}

fn table(value: Option<&toml::Value>) -> impl Iterator<Item = (&String, &toml::Value)> {
    value.and_then(toml::Value::as_table).into_iter().flatten()
}

fn values<'a>(keys: impl Iterator<Item = (&'a String, &'a toml::Value)>) -> BTreeMap<String, DeclaredValue> {
    keys.map(|(key, value)| (key.clone(), DeclaredValue::of(value))).collect()
}
