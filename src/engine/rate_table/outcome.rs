//! How a seat ends at a table, asked or not: in exactly one of these outcomes, even on a panic.

use serde::{Deserialize, Serialize};

use super::reason::Reason;
use offerd_base::partner_health::EndingKind;
use offerd_model::{EventType, RejectReason};
use offerd_partners::Quote;

/// The outcome of a seat at a table. Stored by position: append new variants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// At least one offer.
    Offers(Vec<Quote>),
    /// No offers, from a partner's answer or because it was not asked.
    NoOffers(NoOfferReason),
    /// A failure of the partner or of our code for it.
    Failed(AskFailure),
    /// No answer within the budget.
    TimedOut,
}

/// The result of one ask: its outcome, the cause if known, and what the partner pays.
#[derive(Debug, Clone, PartialEq)]
pub struct AskResult {
    /// The outcome.
    pub outcome: Outcome,
    /// The cause in words.
    pub cause: Option<Cause>,
    /// What the partner pays for a lead that it was sent, dollars, by its own bid.
    pub pays: Option<f64>,
}

/// Longest kept cause, bytes; the rest is cut.
const MOST_BYTES: usize = 200;

/// Why an ask ended: one line of bounded length that quotes nothing of what was sent or answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(transparent)]
#[error("{0}")]
pub struct Cause(String);

impl Cause {
    /// A cause from words, which must not quote a lead or an answer.
    pub fn new(words: impl Into<String>) -> Self {
        let mut words = words.into();
        if words.len() > MOST_BYTES {
            let ends = 0..=MOST_BYTES - '…'.len_utf8();
            words.truncate(ends.rev().find(|end| words.is_char_boundary(*end)).unwrap_or(0));
            // Half a setting's name is no advice.
            if let Some(space) = words.rfind(' ').filter(|space| *space > MOST_BYTES / 2) {
                words.truncate(space + 1);
            }
            words.push('…');
        }
        Self(words)
    }
}

/// Why there are no offers although nothing failed. Stored by position: append new variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoOfferReason {
    /// The partner answered that it has nothing for this lead.
    Declined,
    /// Too little time was left to ask.
    NoTime,
    /// Second look was not needed: a first-look partner had a loan offer.
    NotNeeded,
    /// The partner rejected the person and gave a reason.
    Rejected(RejectReason),
    /// The lead is a test, and the partner has no sandbox.
    NoSandbox,
    /// Second look was needed, but the partner's limits or an exclusive partner kept it from being asked.
    HeldBack,
    /// The bid was below the floor, so the lead was not sent.
    BelowFloor,
    /// The bid was not chosen, so the lead was not sent.
    Outbid,
    /// The seat was paused by an operator between ask and posting, so the lead was not sent.
    Paused,
}

/// What failed. Stored by position: append new variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AskFailure {
    /// A simulated partner drew an error as its answer; real partners use `Answer`.
    Refused,
    /// Our code for the partner panicked.
    Panicked,
    /// When the table was resumed, the current partner files no longer had the seat for this lead, or the
    /// lead could not be read.
    Gone,
    /// The request could not be built from the lead.
    Request,
    /// The partner could not be reached, or the connection broke.
    Unreachable,
    /// The partner was not called: the call limit was reached or the circuit breaker was open.
    NotCalled,
    /// The answer was an error or could not be read.
    Answer,
    /// The lead was sent before a restart; its answer is unknown, and it is not sent again.
    Unsure,
    /// The store could not record a call that must not repeat, so it was not made.
    Unrecorded,
}

impl From<Outcome> for AskResult {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, cause: None, pays: None }
    }
}

impl Outcome {
    /// The outcome with a cause.
    pub fn because(self, cause: impl Into<String>) -> AskResult {
        AskResult { outcome: self, cause: Some(Cause::new(cause)), pays: None }
    }

    /// Whether the partner was asked; see [`Reason::was_asked`].
    pub fn was_asked(&self) -> bool {
        Reason::from(self).was_asked()
    }

    /// Whether the partner gave no usable answer.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::TimedOut)
    }

    /// The kind of its ending, apart from reasons.
    pub fn ending(&self) -> EndingKind {
        match self {
            Self::Offers(_) => EndingKind::Offered,
            Self::NoOffers(_) => EndingKind::Declined,
            Self::Failed(_) => EndingKind::Failed,
            Self::TimedOut => EndingKind::TimedOut,
        }
    }

    /// The word in metrics and logs.
    pub fn word(&self) -> &'static str {
        Reason::from(self).word()
    }

    /// Every word.
    pub fn every_word() -> impl Iterator<Item = &'static str> {
        let is_over = |one: &&Reason| !matches!(one, Reason::Pending | Reason::Held);
        let is_end = |one: &&Reason| one.was_seated() || **one == Reason::HeldBack;
        Reason::ALL.iter().filter(is_over).filter(is_end).map(|reason| reason.word())
    }

    /// The offers, if any.
    pub fn quotes(&self) -> &[Quote] {
        if let Self::Offers(quotes) = self { quotes } else { &[] }
    }

    /// Why the institution rejected the person, if it did.
    pub fn reject_reason(&self) -> Option<RejectReason> {
        if let Self::NoOffers(NoOfferReason::Rejected(reason)) = self { Some(*reason) } else { None }
    }

    /// The institution's decision on the person: approved with at least one pre-approved or pre-qualified
    /// offer, listed with static offers only, rejected when it answered without offers; `None` when it gave
    /// no answer.
    pub fn decision(&self) -> Option<Decision> {
        match self {
            Self::Offers(quotes) if quotes.iter().any(|one| one.terms.personal()) => Some(Decision::Approved),
            Self::Offers(_) => Some(Decision::Listed),
            Self::NoOffers(NoOfferReason::Declined | NoOfferReason::Rejected(_)) => Some(Decision::Rejected),
            Self::NoOffers(_) | Self::Failed(_) | Self::TimedOut => None,
        }
    }
}

/// The decision that an institution's answer implies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// At least one offer made for this person.
    Approved,
    /// Only static offers.
    Listed,
    /// No offers.
    Rejected,
}

impl Decision {
    /// The feed event for the decision; `None` for static offers.
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

    /// A counter must exist before its first event, or that event is not seen as an increase.
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
            AskFailure::Refused,
            AskFailure::Panicked,
            AskFailure::Gone,
            AskFailure::Request,
            AskFailure::Unreachable,
            AskFailure::NotCalled,
            AskFailure::Answer,
            AskFailure::Unrecorded,
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

    #[test]
    fn a_long_cause_is_cut_between_letters() {
        assert_eq!(Cause::new("short").0, "short");
        for letter in ["a", "é", "€", "🦀"] {
            let cut = Cause::new(letter.repeat(MOST_BYTES + 1));
            assert!(cut.0.len() <= MOST_BYTES && cut.0.len() > MOST_BYTES - 8, "{cut}");
            assert!(cut.0.ends_with('…') && cut.0.starts_with(letter));
        }
        let cut = Cause::new(format!("{} `wire.authorities`", "x".repeat(MOST_BYTES - 10)));
        assert_eq!(cut.0, format!("{} …", "x".repeat(MOST_BYTES - 10)));
    }
}
