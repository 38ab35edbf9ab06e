//! Why an answered offer is unusable.

/// Why figures make no quote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unfit {
    /// Position of the offer in the answer, from 0.
    pub position: usize,
    /// The reason, without answered values.
    pub reason: String,
    /// The reason with answered values, for readers that may see them.
    pub detail: String,
    /// Whether the figures are valid, but the offer is not for such leads.
    pub for_others: bool,
}

impl Unfit {
    pub(super) fn told(reason: String, detail: String) -> Self {
        Self { reason, detail, ..Self::default() }
    }

    /// Marks an offer that is not for such leads.
    pub(super) fn for_others(reason: impl Into<Self>) -> Self {
        Self { for_others: true, ..reason.into() }
    }

    #[must_use]
    pub(super) fn within(self, place: &str) -> Self {
        let told = |why: String| match why.starts_with(['.', '[']) {
            true => format!("{place}{why}"),
            false => format!("{place} {why}"),
        };
        Self { reason: told(self.reason), detail: told(self.detail), ..self }
    }
}

impl<T: Into<String>> From<T> for Unfit {
    fn from(reason: T) -> Self {
        let reason = reason.into();
        Self { detail: reason.clone(), reason, ..Self::default() }
    }
}
