//! What is different in declarations after they were read again.

use serde::{Deserialize, Serialize};

/// Which declarations came, went, and are not as they were, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclarationsDiff {
    /// Those that came.
    pub added: Vec<String>,
    /// Those that went.
    pub removed: Vec<String>,
    /// Those whose files say something else.
    pub changed: Vec<String>,
}

impl DeclarationsDiff {
    /// What is different in `after`, by the names that `name` tells.
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

    /// Whether nothing is.
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
