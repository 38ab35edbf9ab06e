//! What a credit card brings besides credit.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

static KNOWN: LazyLock<HashSet<&str>> = LazyLock::new(|| CardBenefit::GENERIC.lines().collect());

/// A card benefit by its display text.
///
/// The set is open: beside the generic texts of `CardBenefit::GENERIC` stand those that name the programme of
/// one company. Generic texts are not copied, since every card offer carries many of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(from = "String")]
#[schema(value_type = String)]
pub struct CardBenefit(Cow<'static, str>);

impl CardBenefit {
    /// The texts that belong to no company, a line each, in the order of the specification.
    pub const GENERIC: &'static str = include_str!("card_benefits.txt");

    /// The display text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for CardBenefit {
    fn from(text: String) -> Self {
        match KNOWN.get(text.as_str()) {
            Some(generic) => Self(Cow::Borrowed(generic)),
            None => Self(Cow::Owned(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_a_round_trip_and_none_stands_twice() {
        assert_eq!(KNOWN.len(), CardBenefit::GENERIC.lines().count());
        for text in CardBenefit::GENERIC.lines() {
            let json = serde_json::to_string(&CardBenefit::from(text.to_owned())).unwrap();
            let benefit: CardBenefit = serde_json::from_str(&json).unwrap();
            assert!(matches!(benefit.0, Cow::Borrowed(_)) && benefit.as_str() == text);
        }
    }

    #[test]
    fn the_programme_of_one_company_is_kept() {
        let benefit: CardBenefit = serde_json::from_str("\"Acme Sky Club\"").unwrap();
        assert!(matches!(benefit.0, Cow::Owned(_)));
        assert_eq!(benefit.as_str(), "Acme Sky Club");
    }
}
