//! What keeps a seat from being asked although the lead fits it.

use serde::{Deserialize, Serialize};

/// Why a seat is not asked although the lead fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Denied {
    /// Paused from the command line.
    Paused,
    /// Outside its schedule.
    Schedule,
    /// As many asks as there may be in this minute.
    PerMinute,
    /// As many asks as there may be today.
    PerDay,
    /// Its payouts of today have reached its budget.
    Budget,
    /// An exclusive partner takes the lead.
    Exclusive,
}

impl Denied {
    /// The word for it in metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Schedule => "schedule",
            Self::PerMinute => "per_minute",
            Self::PerDay => "per_day",
            Self::Budget => "budget",
            Self::Exclusive => "exclusive",
        }
    }
}
