//! Why a seat has, or has not, offers at a rate table: the reasons that there are, each with its word for metrics, logs and other
//! programs, the class that a client may know, and its sentence for people.

use serde::{Deserialize, Serialize};

use super::outcome::{Failure, NoOfferReason, Outcome};
use offerd_model::PartnerResult;

/// Declares the reasons in their order: what each means, its word, its class and its sentence.
macro_rules! reasons {
    ($($(#[$about:meta])+ $reason:ident $word:literal $class:ident $sentence:literal;)+) => {
        /// Why a seat has, or has not, offers at a rate table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Reason {
            $($(#[$about])+ #[serde(rename = $word)] $reason,)+
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$reason,)+];

            /// The word for it.
            pub fn word(self) -> &'static str {
                match self { $(Self::$reason => $word,)+ }
            }

            /// What a client may know.
            pub fn class(self) -> PartnerResult {
                match self { $(Self::$reason => PartnerResult::$class,)+ }
            }

            /// The same for people, with the partner as its subject.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$reason => $sentence,)+ }
            }
        }
    };
}

reasons! {
    /// It answered with offers.
    Offers "offers" Offers "answered with offers";
    /// It has not answered yet.
    Pending "pending" Pending "has not answered yet";
    /// It waits for the partners of first look.
    Held "held" Pending "waits for the partners of first look";
    /// It answered that it has nothing for this lead.
    Declined "declined" Declined "has nothing for this lead";
    /// It rejected the person, and said why.
    Rejected "rejected" Rejected "rejected the person";
    /// It did not answer within its time.
    TimedOut "timed_out" TimedOut "did not answer in time";
    /// It answered with an error.
    Refused "refused" Unavailable "answered with an error";
    /// Our code for it panicked.
    Panicked "panicked" Unavailable "our code for it panicked";
    /// It left the panel while a restart had the table pending.
    Gone "gone" Unavailable "left the panel while the table was pending over a restart";
    /// No request could be made of the lead.
    BadRequest "bad_request" Unavailable "no request could be made of the lead";
    /// It could not be reached, or the connection broke.
    Unreachable "unreachable" Unavailable "could not be reached";
    /// Its breaker was open, or as many calls as allowed were under way.
    KeptOut "kept_out" Unavailable "was not called: its breaker is open, or it has as many calls as allowed";
    /// Its answer could not be read, or was an error.
    BadAnswer "bad_answer" Unavailable "its answer could not be read, or was an error";
    /// Less time was left than an ask is worth.
    NoTime "no_time" TimedOut "too little time was left";
    /// Second look was not needed.
    NotNeeded "not_needed" NotNeeded "second look was not needed";
    /// The lead is a test, and it has no sandbox.
    NoSandbox "no_sandbox" NoSandbox "has no sandbox for a test lead";
    /// Second look was needed, but something kept it from being asked.
    HeldBack "held_back" Limit "was kept from being asked when second look began";
    /// Paused, by its file or from the command line.
    Paused "paused" Unavailable "paused";
    /// Outside its schedule.
    Schedule "schedule" Schedule "outside its schedule";
    /// At its cap of asks in a minute.
    PerMinute "per_minute" Limit "at its cap of the minute";
    /// At its cap of asks in a day.
    PerDay "per_day" Limit "at its cap of the day";
    /// At its budget of payouts in a day.
    Budget "budget" Limit "at its budget of the day";
    /// An exclusive partner took the lead.
    Exclusive "exclusive" Limit "left to an exclusive partner";
    /// At its cap of asks in a week.
    PerWeek "per_week" Limit "at its cap of the week";
    /// At its cap of asks in a month.
    PerMonth "per_month" Limit "at its cap of the month";
    /// Before its first day, or after its last.
    Dates "dates" Schedule "before its first day or after its last";
    /// The lead is not in its share.
    Share "share" Limit "the lead is not in its share";
    /// Somebody is on one of its suppression lists. Of all classes that of caps and shares tells a client least.
    Suppressed "suppressed" Limit "left out because of its suppression lists";
    /// A suppression list that it names is missing.
    ListMissing "list_missing" Limit "left out because a suppression list that it names is missing";
    /// The lead's variant of an experiment leaves it out.
    Experiment "experiment" Limit "left out by an experiment";
    /// As many others were asked as may be.
    NoRoom "no_room" Limit "as many others were asked as may be";
    /// The lead does not ask for the product type.
    NotWanted "not_wanted" NotAskedFor "product type not asked for";
    /// A condition of its file is not met.
    Unmet "unmet" ConditionsNotMet "conditions not met";
    /// It was not sent the lead: its bid was below its floor.
    BelowFloor "below_floor" NotNeeded "was not sent the lead: its bid was below its floor";
    /// It was not sent the lead: its bid was not among those that are.
    Outbid "outbid" NotNeeded "was not sent the lead: its bid was not chosen";
    /// It was not sent the lead: it was paused after it had been asked.
    PausedMeanwhile "paused_meanwhile" Unavailable "was not sent the lead: it was paused meanwhile";
    /// It was sent the lead before a restart, and is not sent it twice.
    Unsure "unsure" Unavailable "was sent the lead before a restart, and what it answered is not known";
    /// The partner files of today would have it asked; those of then did not.
    Unlisted "unlisted" Unavailable "not asked then; by the partner files of today it would be";
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
            Outcome::Failed(Failure::Unsure) => Self::Unsure,
            Outcome::Failed(Failure::Refused) => Self::Refused,
            Outcome::Failed(Failure::Panicked) => Self::Panicked,
            Outcome::Failed(Failure::Gone) => Self::Gone,
            Outcome::Failed(Failure::Request) => Self::BadRequest,
            Outcome::Failed(Failure::Unreachable) => Self::Unreachable,
            Outcome::Failed(Failure::KeptOut) => Self::KeptOut,
            Outcome::Failed(Failure::Answer) => Self::BadAnswer,
        }
    }
}

impl Reason {
    /// Whether the partner's time to answer has begun, also where it could not be called.
    pub fn was_asked(self) -> bool {
        use Reason::{
            BadAnswer, BadRequest, BelowFloor, Declined, KeptOut, Offers, Outbid, Panicked, PausedMeanwhile,
            Pending, Refused, Rejected, TimedOut, Unreachable, Unsure,
        };
        let answered =
            matches!(self, Offers | Declined | Rejected | BadAnswer | Refused | BelowFloor | Outbid);
        let called = matches!(self, Pending | TimedOut | Unreachable | KeptOut | Unsure | PausedMeanwhile);
        answered || called || matches!(self, Panicked | BadRequest)
    }

    /// Whether it is what became of a place at the table, and not what kept the partner from one.
    pub fn was_seated(self) -> bool {
        self.was_asked()
            || matches!(self, Self::Held | Self::Gone | Self::NoTime | Self::NotNeeded | Self::NoSandbox)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_table::denied::Denied;

    /// What is stored and read by other programs is the word.
    #[test]
    fn a_reason_is_written_as_its_word() {
        for reason in [Reason::BadRequest, Reason::NoRoom, Reason::Offers, Reason::PerMinute] {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.word());
        }
    }

    #[test]
    fn whoever_had_time_to_answer_was_asked() {
        let answered = Reason::from(&Outcome::NoOffers(NoOfferReason::Declined));
        let kept_out = Reason::from(Some(Denied::PerDay));
        assert!(answered.was_asked() && !kept_out.was_asked() && !Reason::from(None).was_asked());
    }
}
