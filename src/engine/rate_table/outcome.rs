//! How asking a partner ends: in exactly one of these ways, panic included.

use serde::{Deserialize, Serialize};

use super::cause::Cause;
use super::reason::Reason;
use offerd_model::{EventType, RejectReason};
use offerd_partners::Quote;

/// What became of a seat. Stored by position: a new variant goes behind the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// At least one offer.
    Offers(Vec<Quote>),
    /// An answer, or no ask at all, without an offer.
    NoOffers(NoOfferReason),
    /// The partner, or our code for it, failed.
    Failed(Failure),
    /// No answer within the budget.
    TimedOut,
}

/// The end of one ask, with its cause in words where one is known.
#[derive(Debug, Clone, PartialEq)]
pub struct AskEnd {
    /// How it ended.
    pub outcome: Outcome,
    /// Why it ended so.
    pub cause: Option<Cause>,
    /// What the partner pays for the lead that it was sent, dollars, by its own bid.
    pub pays: Option<f64>,
}

/// Why there are no offers although nothing went wrong. Stored by position: a new one goes behind the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoOfferReason {
    /// The partner answered that it has nothing for this lead.
    Declined,
    /// Less time was left than an ask is worth.
    NoTime,
    /// Second look was not needed: a first-look partner had a loan offer.
    NotNeeded,
    /// The partner rejected the person, and said why.
    Rejected(RejectReason),
    /// The lead is a test, and the partner has no sandbox.
    NoSandbox,
    /// Second look was needed, but the partner's limits or an exclusive partner kept it from being asked.
    HeldBack,
    /// It was not sent the lead: its bid was below its floor.
    BelowFloor,
    /// It was not sent the lead: its bid was not among those that are.
    Outbid,
    /// It was not sent the lead: it was paused from the command line after it had been asked.
    Paused,
}

/// What failed. Stored by position: a new one goes behind the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// A simulated partner was drawn to answer with an error; of one that is called that is `Answer`.
    Refused,
    /// Our code for the partner panicked.
    Panicked,
    /// The partner left the book while a restart had its table pending.
    Gone,
    /// The request could not be made of the lead.
    Request,
    /// The partner could not be reached, or the connection broke.
    Unreachable,
    /// The partner was not called: as many calls as allowed were under way, or it had failed too often.
    KeptOut,
    /// The answer could not be read, or was an error.
    Answer,
    /// The partner was sent the lead before a restart, and what it answered is not known; it is not sent it twice.
    Unsure,
}

impl From<Outcome> for AskEnd {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, cause: None, pays: None }
    }
}

impl Outcome {
    /// The end of an ask, with its cause.
    pub fn because(self, cause: impl Into<String>) -> AskEnd {
        AskEnd { outcome: self, cause: Some(Cause::new(cause)), pays: None }
    }

    /// Whether the partner was asked, as of [`Reason::was_asked`].
    pub fn was_asked(&self) -> bool {
        Reason::from(self).was_asked()
    }

    /// Whether it is no answer at all.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::TimedOut)
    }

    /// The word for it in metrics and logs.
    pub fn word(&self) -> &'static str {
        Reason::from(self).word()
    }

    /// Every word that there is.
    pub fn every_word() -> impl Iterator<Item = &'static str> {
        let is_end = |reason: &&Reason| match reason {
            Reason::Pending | Reason::Held => false,
            Reason::HeldBack => true,
            other => other.was_seated(),
        };
        Reason::ALL.iter().filter(is_end).map(|reason| reason.word())
    }

    /// The offers, if any.
    pub fn quotes(&self) -> &[Quote] {
        match self {
            Self::Offers(quotes) => quotes,
            _ => &[],
        }
    }

    /// Why the institution rejected the person, if it did.
    pub fn reject_reason(&self) -> Option<RejectReason> {
        match self {
            Self::NoOffers(NoOfferReason::Rejected(reason)) => Some(*reason),
            _ => None,
        }
    }

    /// The institution's decision on the person: approved with at least one pre-approved or pre-qualified offer,
    /// rejected when it answered with none at all (facts, Events). Static offers are no decision, and neither is a
    /// partner that was not asked or did not answer.
    pub fn decision(&self) -> Option<Decision> {
        match self {
            Self::Offers(quotes) if quotes.iter().any(|quote| quote.terms.personal()) => {
                Some(Decision::Approved)
            }
            Self::Offers(_) => Some(Decision::Listed),
            Self::NoOffers(NoOfferReason::Declined | NoOfferReason::Rejected(_)) => Some(Decision::Rejected),
            Self::NoOffers(_) | Self::Failed(_) | Self::TimedOut => None,
        }
    }
}

/// What an institution's answer says of the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// At least one offer for this person.
    Approved,
    /// Only offers for anyone.
    Listed,
    /// None.
    Rejected,
}

impl Decision {
    /// The event that the feeds record of it; none of offers for anyone.
    pub fn event(self) -> Option<EventType> {
        match self {
            Self::Approved => Some(EventType::ApiApproved),
            Self::Rejected => Some(EventType::ApiRejected),
            Self::Listed => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter that nobody has begun tells nothing of its first event.
    #[test]
    fn each_outcome_has_its_word_among_those_that_are_counted() {
        let reasons = [
            NoOfferReason::Declined,
            NoOfferReason::NoTime,
            NoOfferReason::NotNeeded,
            NoOfferReason::Rejected(RejectReason::LowFico),
            NoOfferReason::NoSandbox,
            NoOfferReason::HeldBack,
        ];
        let failures = [
            Failure::Refused,
            Failure::Panicked,
            Failure::Gone,
            Failure::Request,
            Failure::Unreachable,
            Failure::KeptOut,
            Failure::Answer,
        ];
        let mut outcomes = vec![Outcome::Offers(Vec::new()), Outcome::TimedOut];
        outcomes.extend(reasons.map(Outcome::NoOffers));
        outcomes.extend(failures.map(Outcome::Failed));
        let every: Vec<&str> = Outcome::every_word().collect();
        for outcome in outcomes {
            assert!(every.contains(&outcome.word()), "{}", outcome.word());
        }
        assert!(!every.contains(&"pending") && !every.contains(&"per_day"));
    }
}
