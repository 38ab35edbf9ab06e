//! Why what a partner answers is of no use.

/// Why figures make no quote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unfit {
    /// The place of their offer in the answer, from 0.
    pub position: usize,
    /// Why, without what they say.
    pub reason: String,
    /// Why, with what they say: for whoever may see it.
    pub detail: String,
    /// Whether there is nothing wrong with them: the offer is not meant for such leads.
    pub for_others: bool,
}

impl Unfit {
    /// Why figures make no quote, without what they say and with it.
    pub(super) fn told(reason: String, detail: String) -> Self {
        Self { reason, detail, ..Self::default() }
    }

    /// Why an offer is not meant for such leads.
    pub(super) fn for_others(reason: impl Into<Self>) -> Self {
        Self { for_others: true, ..reason.into() }
    }

    /// The same of something at a place within what is told.
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
