//! Why an offer is, or is not, shown.

use serde::{Deserialize, Serialize};

/// Why an offer is, or is not, shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferReason {
    /// It is shown.
    Shown,
    /// It waits for the other answers of second look.
    Waiting,
    /// At second look another offer of its kind is worth more.
    Outbid,
    /// The lead fits it, and it is not in the partner's answer.
    NotAnswered,
    /// A condition is not met.
    Unmet,
    /// Its partner was not asked.
    NotAsked,
}

impl OfferReason {
    /// The same for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Waiting => "waits for second look",
            Self::Outbid => "outbid at second look",
            Self::NotAnswered => "not in an answer",
            Self::Unmet => "failed",
            Self::NotAsked => "not asked",
        }
    }
}
