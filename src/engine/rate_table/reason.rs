//! Why a seat has offers or has none: a word for programs, a class for clients, a sentence for people.
//! A denial is such a reason that keeps a seat from being asked although it fits the lead.

use serde::{Deserialize, Serialize};

use super::outcome::{AskFailure, NoOfferReason, Outcome};
use offerd_model::PartnerResult;
use offerd_partners::limits::declared::Period;

/// Declares the reasons in order: doc comment, variant, word, class, sentence; of a denial also what was
/// wanted and what was found.
macro_rules! reasons {
    ($($(#[$about:meta])+ $reason:ident $word:literal $class:ident $sentence:literal
        $(, $wanted:literal, $found:literal)?;)+) => {
        /// Why a seat has offers at a rate table, or has none.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Reason {
            $($(#[$about])+ #[serde(rename = $word)] $reason,)+
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$reason,)+];

            /// The word for metrics, logs and programs.
            pub fn word(self) -> &'static str {
                match self { $(Self::$reason => $word,)+ }
            }

            /// The class that a client may see.
            pub fn class(self) -> PartnerResult {
                match self { $(Self::$reason => PartnerResult::$class,)+ }
            }

            /// The sentence for people, with the partner as its subject.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$reason => $sentence,)+ }
            }
        }

        /// Why a seat is not asked although the lead fits. Stored by position: a new one follows the last.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Denied {
            $($(#[doc = concat!("Wanted: ", $wanted, ".")] $reason,)?)+
        }

        impl Denied {
            /// Every denial.
            #[cfg(test)]
            pub const ALL: &[Self] = &[$($({ let _ = $wanted; Self::$reason },)?)+];

            const fn parts(self) -> (Reason, (&'static str, &'static str)) {
                match self { $($(Self::$reason => (Reason::$reason, ($wanted, $found)),)?)+ }
            }
        }
    };
}

reasons! {
    /// The partner answered with offers.
    Offers "offers" Offers "answered with offers";
    /// The partner has not answered yet.
    Pending "pending" Pending "has not answered yet";
    /// The seat waits for the first-look partners.
    Held "held" Pending "waits for the partners of first look";
    /// The partner has nothing for this lead.
    Declined "declined" Declined "has nothing for this lead";
    /// The partner rejected the person and gave a reason.
    Rejected "rejected" Rejected "rejected the person";
    /// The partner did not answer within its budget.
    TimedOut "timed_out" TimedOut "did not answer in time";
    /// A simulated partner answered with an error.
    Refused "refused" Unavailable "answered with an error";
    /// Our code for the partner panicked.
    Panicked "panicked" Unavailable "our code for it panicked";
    /// When the table was resumed, the partner files no longer had the seat for the lead.
    Gone "gone" Unavailable "could not be asked again when the table was resumed: the partner files no longer have it for this lead";
    /// The request could not be built from the lead.
    BadRequest "bad_request" Unavailable "its request could not be built from the lead";
    /// The partner could not be reached, or the connection broke.
    Unreachable "unreachable" Unavailable "could not be reached";
    /// The circuit breaker was open, or the call limit was reached.
    NotCalled "kept_out" Unavailable "was not called: its breaker is open, or a limit of calls or look-ups is reached";
    /// The answer was an error or could not be read.
    BadAnswer "bad_answer" Unavailable "its answer could not be read, or was an error";
    /// Too little time was left to ask.
    NoTime "no_time" TimedOut "too little time was left";
    /// Second look was not needed.
    NotNeeded "not_needed" NotNeeded "second look was not needed";
    /// The lead is a test, and the partner has no sandbox.
    NoSandbox "no_sandbox" NoSandbox "has no sandbox for a test lead";
    /// Second look started, but limits or an exclusive partner held the seat back.
    HeldBack "held_back" Limit "was no longer eligible when second look began";
    /// The seat is paused, in its file or by an operator.
    Paused "paused" Unavailable "paused",
        "not paused", "paused by an operator";
    /// The seat is outside its schedule.
    Schedule "schedule" Schedule "outside its schedule",
        "hours of its schedule", "closed hours";
    /// The seat is at its cap of asks per minute.
    PerMinute "per_minute" Limit "at its cap of the minute",
        "fewer asks in the minute than its cap", "as many as its cap";
    /// The seat is at its cap of asks per day.
    PerDay "per_day" Limit "at its cap of the day",
        "fewer asks in the day than its cap", "as many as its cap";
    /// The seat is at its daily payout budget.
    Budget "budget" Limit "at its budget of the day",
        "payouts of the day below its budget", "payouts at its budget";
    /// An exclusive partner took the lead.
    Exclusive "exclusive" Limit "left to an exclusive partner",
        "no exclusive partner that takes the lead", "another one";
    /// The seat is at its cap of asks per week.
    PerWeek "per_week" Limit "at its cap of the week",
        "fewer asks in the week than its cap", "as many as its cap";
    /// The seat is at its cap of asks per month.
    PerMonth "per_month" Limit "at its cap of the month",
        "fewer asks in the month than its cap", "as many as its cap";
    /// The day is before the seat's first or after its last.
    Dates "dates" Schedule "before its first day or after its last",
        "a day between its first and its last", "another day";
    /// The lead is not in the seat's share.
    Share "share" Limit "the lead is not in its share",
        "a lead in its share", "one outside it";
    /// The person is on one of the seat's suppression lists. The class `Limit`, shared with caps and shares,
    /// reveals least to a client.
    Suppressed "suppressed" Limit "left out because of its suppression lists",
        "a person on none of its suppression lists", "one on such a list";
    /// A suppression list that the seat names is missing.
    ListMissing "list_missing" Limit "left out because one of its suppression lists is missing",
        "every suppression list of its file", "one missing";
    /// The lead's experiment variant leaves the seat out.
    Experiment "experiment" Limit "left out by an experiment",
        "a variant that asks it", "an experiment";
    /// The table was full.
    NoRoom "no_room" Limit "the limit of partners per lead was reached";
    /// The lead does not ask for the product type.
    NotWanted "not_wanted" NotAskedFor "product type not asked for";
    /// A condition of the partner file is not met.
    Unmet "unmet" ConditionsNotMet "conditions not met";
    /// The bid was below the floor, so the lead was not sent.
    BelowFloor "below_floor" NotNeeded "was not sent the lead: its bid was below its floor";
    /// The bid was not chosen, so the lead was not sent.
    Outbid "outbid" NotNeeded "was not sent the lead: its bid was not chosen";
    /// The seat was paused between ask and posting, so the lead was not sent.
    PausedMeanwhile "paused_meanwhile" Unavailable "was not sent the lead: it was paused meanwhile";
    /// The lead was sent before a restart; its answer is unknown, and it is not sent again.
    Unsure "unsure" Unavailable "was sent the lead before a restart; its answer is unknown";
    /// The store could not record a call that must not repeat, so it was not made.
    Unrecorded "unrecorded" Unavailable "was not sent the lead: the store could not record the call";
    /// The current partner files would ask this seat; those of the time did not.
    Unlisted "unlisted" Unavailable "not asked then; the current partner files would ask it";
}

impl From<&Outcome> for Reason {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Offers(_) => Self::Offers,
            Outcome::TimedOut => Self::TimedOut,
            Outcome::NoOffers(NoOfferReason::Declined) => Self::Declined,
            Outcome::NoOffers(NoOfferReason::NoTime) => Self::NoTime,
            Outcome::NoOffers(NoOfferReason::NotNeeded) => Self::NotNeeded,
            Outcome::NoOffers(NoOfferReason::Rejected(_)) => Self::Rejected,
            Outcome::NoOffers(NoOfferReason::NoSandbox) => Self::NoSandbox,
            Outcome::NoOffers(NoOfferReason::HeldBack) => Self::HeldBack,
            Outcome::NoOffers(NoOfferReason::BelowFloor) => Self::BelowFloor,
            Outcome::NoOffers(NoOfferReason::Outbid) => Self::Outbid,
            Outcome::NoOffers(NoOfferReason::Paused) => Self::PausedMeanwhile,
            Outcome::Failed(AskFailure::Unsure) => Self::Unsure,
            Outcome::Failed(AskFailure::Unrecorded) => Self::Unrecorded,
            Outcome::Failed(AskFailure::Refused) => Self::Refused,
            Outcome::Failed(AskFailure::Panicked) => Self::Panicked,
            Outcome::Failed(AskFailure::Gone) => Self::Gone,
            Outcome::Failed(AskFailure::Request) => Self::BadRequest,
            Outcome::Failed(AskFailure::Unreachable) => Self::Unreachable,
            Outcome::Failed(AskFailure::NotCalled) => Self::NotCalled,
            Outcome::Failed(AskFailure::Answer) => Self::BadAnswer,
        }
    }
}

impl Denied {
    /// What was wanted, and what was found.
    pub const fn wanted_and_found(self) -> (&'static str, &'static str) {
        self.parts().1
    }

    /// The denial of a seat that is at its cap of a period.
    pub fn at_cap(period: Period) -> Self {
        match period {
            Period::Day => Self::PerDay,
            Period::Week => Self::PerWeek,
            Period::Month => Self::PerMonth,
        }
    }
}

impl From<Denied> for Reason {
    fn from(denied: Denied) -> Self {
        denied.parts().0
    }
}

/// The recorded denial of a seat; `None` means that the table was full.
impl From<Option<Denied>> for Reason {
    fn from(by: Option<Denied>) -> Self {
        by.map_or(Self::NoRoom, Self::from)
    }
}

impl Reason {
    /// Whether the partner's time to answer began, even if the call was not made.
    pub fn was_asked(self) -> bool {
        use Reason::{
            BadAnswer, BadRequest, BelowFloor, Declined, NotCalled, Offers, Outbid, Panicked,
            PausedMeanwhile, Pending, Refused, Rejected, TimedOut, Unreachable, Unrecorded, Unsure,
        };
        let answered =
            matches!(self, Offers | Declined | Rejected | BadAnswer | Refused | BelowFloor | Outbid);
        let called = matches!(self, Pending | TimedOut | Unreachable | Unsure);
        let kept = matches!(self, NotCalled | Unrecorded | PausedMeanwhile | Panicked | BadRequest);
        answered || called || kept
    }

    /// Whether the seat had a place at the table, as opposed to not being seated.
    pub fn was_seated(self) -> bool {
        self.was_asked()
            || matches!(self, Self::Held | Self::Gone | Self::NoTime | Self::NotNeeded | Self::NoSandbox)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs read the stored word.
    #[test]
    fn a_reason_is_written_as_its_word() {
        for reason in [Reason::BadRequest, Reason::NoRoom, Reason::Offers, Reason::PerMinute] {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.word());
        }
    }

    /// An explanation puts it after "found".
    #[test]
    fn what_a_denial_found_is_no_sentence() {
        for (wanted, found) in Denied::ALL.iter().map(|denied| denied.wanted_and_found()) {
            let is_sentence = [" is ", " was ", "not "].iter().any(|word| found.contains(word));
            assert!(!is_sentence, "{wanted}, found {found}");
        }
    }

    #[test]
    fn whoever_had_time_to_answer_was_asked() {
        let answered = Reason::from(&Outcome::NoOffers(NoOfferReason::Declined));
        let not_seated = Reason::from(Some(Denied::PerDay));
        assert!(answered.was_asked() && !not_seated.was_asked() && !Reason::from(None).was_asked());
    }
}
