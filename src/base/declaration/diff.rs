//! Changes between two readings of declarations.

use serde::{Deserialize, Serialize};

/// The names of added, removed and changed declarations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclarationsDiff {
    /// New declarations.
    pub added: Vec<String>,
    /// Deleted declarations.
    pub removed: Vec<String>,
    /// Declarations whose files changed.
    pub changed: Vec<String>,
}

impl DeclarationsDiff {
    /// The changes in `after`, by the name that `name` returns.
    pub fn between<T: PartialEq>(before: &[T], after: &[T], name: fn(&T) -> &str) -> Self {
        let find = |these: &'_ [T], one: &T| these.iter().position(|other| name(other) == name(one));
        let names = |these: &[T], fits: &dyn Fn(&T) -> bool| -> Vec<String> {
            these.iter().filter(|one| fits(one)).map(|one| name(one).to_owned()).collect()
        };
        Self {
            added: names(after, &|one| find(before, one).is_none()),
            removed: names(before, &|one| find(after, one).is_none()),
            changed: names(after, &|one| find(before, one).is_some_and(|known| before[known] != *one)),
        }
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_went_and_changed_is_told_by_name() {
        let (before, after) = ([("a", 1), ("b", 1), ("c", 1)], [("b", 2), ("c", 1), ("d", 1)]);
        let diff = DeclarationsDiff::between(&before, &after, |one| one.0);
        let told = [diff.added, diff.removed, diff.changed];
        assert_eq!(told, ["d", "a", "b"].map(|name| vec![name.to_owned()]));
        assert!(DeclarationsDiff::between(&after, &after, |one| one.0).is_empty());
    }
}
