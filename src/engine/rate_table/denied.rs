//! What keeps a seat from being asked although the lead fits it.

use serde::{Deserialize, Serialize};

use super::reason::Reason;

/// Declares what may keep a seat from being asked, with what was wanted and what was found instead. Each has the row of its name in
/// [`Reason`].
macro_rules! denied {
    ($($(#[$doc:meta])+ $denied:ident $wanted:literal, $found:literal;)+) => {
        /// Why a seat is not asked although the lead fits. Stored by position: a new one goes behind the others.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Denied {
            $($(#[$doc])+ $denied,)+
        }

        impl Denied {
            /// What was wanted, and what was found.
            pub fn told(self) -> (&'static str, &'static str) {
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
    /// Paused from the command line.
    Paused "not paused", "paused by command";
    /// Outside its schedule.
    Schedule "hours of its schedule", "closed then";
    /// As many asks as there may be in this minute.
    PerMinute "fewer asks in the minute than its cap", "the cap was reached";
    /// As many asks as there may be today.
    PerDay "fewer asks in the day than its cap", "the cap was reached";
    /// Its payouts of today have reached its budget.
    Budget "payouts of the day below its budget", "the budget was reached";
    /// An exclusive partner takes the lead.
    Exclusive "no exclusive partner that takes the lead", "another one";
    /// As many asks as there may be this week.
    PerWeek "fewer asks in the week than its cap", "the cap was reached";
    /// As many asks as there may be this month.
    PerMonth "fewer asks in the month than its cap", "the cap was reached";
    /// Before its first day, or after its last.
    Dates "a day between its first and its last", "another day";
    /// The lead is not in its share.
    Share "a lead in its share", "not in it";
    /// Somebody is on one of its suppression lists.
    Suppressed "a person on none of its suppression lists", "one who is on one";
    /// A suppression list that it names is missing.
    ListMissing "every suppression list that its file names", "one that was missing, so that nobody is asked about";
    /// The variant that the lead has of an experiment leaves it out.
    Experiment "a variant that asks it", "an experiment";
}

/// What is recorded of a seat that limits kept out; `None` stands for no room.
impl From<Option<Denied>> for Reason {
    fn from(by: Option<Denied>) -> Self {
        by.map_or(Self::NoRoom, Self::from)
    }
}
