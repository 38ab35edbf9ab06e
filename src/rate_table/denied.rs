//! What keeps a seat from being asked although the lead fits it.

use serde::{Deserialize, Serialize};

/// Why a seat is not asked although the lead fits. Stored by position: a new one goes behind the others.
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
    /// As many asks as there may be this week.
    PerWeek,
    /// As many asks as there may be this month.
    PerMonth,
    /// Before its first day, or after its last.
    Dates,
    /// The lead is not in its share.
    Share,
    /// Somebody is on one of its suppression lists.
    Suppressed,
    /// A suppression list that it names is missing.
    ListMissing,
    /// The variant that the lead has of an experiment leaves it out.
    Experiment,
}
