//! The reasons that there are, each with its words.

use serde::{Deserialize, Serialize};

use crate::rate_table::denied::Denied;
use crate::rate_table::outcome::{Failure, NoOfferReason, Outcome};

/// Why a seat has, or has not, offers at a rate table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It answered with offers.
    Offers,
    /// It has not answered yet.
    Pending,
    /// It waits for the partners of first look.
    Held,
    /// It answered that it has nothing for this lead.
    Declined,
    /// It rejected the person, and said why.
    Rejected,
    /// It did not answer within its time.
    TimedOut,
    /// It answered with an error.
    Refused,
    /// Our code for it panicked.
    Panicked,
    /// It left the panel while a restart had the table pending.
    Gone,
    /// No request could be made of the lead.
    BadRequest,
    /// It could not be reached, or the connection broke.
    Unreachable,
    /// Its breaker was open, or as many calls as allowed were under way.
    KeptOut,
    /// Its answer could not be read, or was an error.
    BadAnswer,
    /// Less time was left than an ask is worth.
    NoTime,
    /// Second look was not needed.
    NotNeeded,
    /// The lead is a test, and it has no sandbox.
    NoSandbox,
    /// Paused, by its file or from the command line.
    Paused,
    /// Outside its schedule.
    Schedule,
    /// At its cap of asks in a minute.
    PerMinute,
    /// At its cap of asks in a day.
    PerDay,
    /// At its budget of payouts in a day.
    Budget,
    /// An exclusive partner took the lead.
    Exclusive,
    /// As many others were asked as may be.
    NoRoom,
    /// The lead does not ask for the product type.
    NotWanted,
    /// A condition of its file is not met.
    Unmet,
    /// The partner files of today would have it asked; those of then did not.
    Unlisted,
}

impl Why {
    /// What a recorded outcome tells.
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Offers(_) => Self::Offers,
            Outcome::TimedOut => Self::TimedOut,
            Outcome::NoOffers(reason) => match reason {
                NoOfferReason::Declined => Self::Declined,
                NoOfferReason::NoTime => Self::NoTime,
                NoOfferReason::NotNeeded => Self::NotNeeded,
                NoOfferReason::Rejected(_) => Self::Rejected,
                NoOfferReason::NoSandbox => Self::NoSandbox,
                NoOfferReason::HeldBack => Self::NoRoom,
            },
            Outcome::Failed(failure) => match failure {
                Failure::Refused => Self::Refused,
                Failure::Panicked => Self::Panicked,
                Failure::Gone => Self::Gone,
                Failure::Request => Self::BadRequest,
                Failure::Unreachable => Self::Unreachable,
                Failure::KeptOut => Self::KeptOut,
                Failure::Answer => Self::BadAnswer,
            },
        }
    }

    /// What a recorded refusal of the limits tells; without one there was no room.
    pub fn denied(by: Option<Denied>) -> Self {
        match by {
            None => Self::NoRoom,
            Some(Denied::Paused) => Self::Paused,
            Some(Denied::Schedule) => Self::Schedule,
            Some(Denied::PerMinute) => Self::PerMinute,
            Some(Denied::PerDay) => Self::PerDay,
            Some(Denied::Budget) => Self::Budget,
            Some(Denied::Exclusive) => Self::Exclusive,
        }
    }

    /// Whether the partner was asked, so that there is a time at which it was.
    pub fn was_asked(self) -> bool {
        matches!(
            self,
            Self::Offers
                | Self::Pending
                | Self::Declined
                | Self::Rejected
                | Self::TimedOut
                | Self::Refused
                | Self::Panicked
                | Self::BadRequest
                | Self::Unreachable
                | Self::KeptOut
                | Self::BadAnswer
        )
    }

    /// Whether the partner had a seat at the table.
    pub fn was_seated(self) -> bool {
        self.was_asked()
            || matches!(self, Self::Held | Self::Gone | Self::NoTime | Self::NotNeeded | Self::NoSandbox)
    }

    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Offers => "answered with offers",
            Self::Pending => "has not answered yet",
            Self::Held => "waits for the partners of first look",
            Self::Declined => "has nothing for this lead",
            Self::Rejected => "rejected the person",
            Self::TimedOut => "did not answer in time",
            Self::Refused => "answered with an error",
            Self::Panicked => "our code for it panicked",
            Self::Gone => "left the panel while the table was pending over a restart",
            Self::BadRequest => "no request could be made of the lead",
            Self::Unreachable => "could not be reached",
            Self::KeptOut => "was not called: its breaker is open, or it has as many calls as allowed",
            Self::BadAnswer => "its answer could not be read, or was an error",
            Self::NoTime => "too little time was left",
            Self::NotNeeded => "second look was not needed",
            Self::NoSandbox => "has no sandbox for a test lead",
            Self::Paused => "paused",
            Self::Schedule => "outside its schedule",
            Self::PerMinute => "at its cap of the minute",
            Self::PerDay => "at its cap of the day",
            Self::Budget => "at its budget of the day",
            Self::Exclusive => "left to an exclusive partner",
            Self::NoRoom => "as many others were asked as may be",
            Self::NotWanted => "product type not asked for",
            Self::Unmet => "conditions not met",
            Self::Unlisted => "not asked then; by the partner files of today it would be",
        }
    }
}

/// Why an offer is, or is not, shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferWhy {
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

impl OfferWhy {
    /// The words for it.
    pub fn words(self) -> &'static str {
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
