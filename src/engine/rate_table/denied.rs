//! What keeps a seat that fits the lead from being asked.

use serde::{Deserialize, Serialize};

use super::reason::Reason;

/// Declares the denials, each with what was wanted and found. [`Reason`] has a variant of the same name.
macro_rules! denied {
    ($($(#[$doc:meta])+ $denied:ident $wanted:literal, $found:literal;)+) => {
        /// Why a seat is not asked although the lead fits. Stored by position: append new variants.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Denied {
            $($(#[$doc])+ $denied,)+
        }

        impl Denied {
            /// What was wanted, and what was found.
            pub const fn told(self) -> (&'static str, &'static str) {
                match self { $(Self::$denied => ($wanted, $found),)+ }
            }
        }

        impl From<Denied> for Reason {
            fn from(denied: Denied) -> Self {
                match denied { $(Denied::$denied => Self::$denied,)+ }
            }
        }
    };
}

denied! {
    /// The seat is paused by an operator.
    Paused "not paused", "paused by an operator";
    /// The seat is outside its schedule.
    Schedule "hours of its schedule", "closed then";
    /// The seat is at its cap of asks per minute.
    PerMinute "fewer asks in the minute than its cap", "the cap was reached";
    /// The seat is at its cap of asks per day.
    PerDay "fewer asks in the day than its cap", "the cap was reached";
    /// The seat's payouts today have reached its budget.
    Budget "payouts of the day below its budget", "the budget was reached";
    /// An exclusive partner takes the lead.
    Exclusive "no exclusive partner that takes the lead", "another one";
    /// The seat is at its cap of asks per week.
    PerWeek "fewer asks in the week than its cap", "the cap was reached";
    /// The seat is at its cap of asks per month.
    PerMonth "fewer asks in the month than its cap", "the cap was reached";
    /// The day is before the seat's first or after its last.
    Dates "a day between its first and its last", "another day";
    /// The lead is not in the seat's share.
    Share "a lead in its share", "not in it";
    /// The person is on one of the seat's suppression lists.
    Suppressed "a person on none of its suppression lists", "one who is on one";
    /// A suppression list that the seat names is missing.
    ListMissing "every suppression list of its file", "one that was missing";
    /// The lead's experiment variant leaves the seat out.
    Experiment "a variant that asks it", "an experiment";
}

/// The recorded denial of a seat; `None` means that the table was full.
impl From<Option<Denied>> for Reason {
    fn from(by: Option<Denied>) -> Self {
        by.map_or(Self::NoRoom, Self::from)
    }
}
