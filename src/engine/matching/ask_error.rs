//! Why a partner that was asked gives no usable answer.

use crate::rate_table::bids::in_words;
use crate::rate_table::outcome::{AskFailure, NoOfferReason, Outcome};
use offerd_partners::http::{AskProgress, HttpPartner};
use offerd_wire::CallError;

/// Why there is no usable answer. Quotes nothing of what was sent or answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    /// The partner bid, but is not sent the lead.
    #[error("{1}")]
    NotSent(NoOfferReason, String),
    /// An at-most-once call may have been sent before a restart.
    #[error("a call that must not repeat may have been sent before a restart")]
    Unsure,
    /// The partner did not call back.
    #[error("the partner has not called back")]
    NoCallback,
    /// Time ran out after a callback without a valid signature.
    #[error("the partner called back without the signature that `verify` requires, so the call was refused")]
    Unsigned,
    /// The store could not record the at-most-once call, so it was not made.
    #[error("the store could not record the post, so the lead was not sent")]
    Unrecorded,
    #[error("{0}")]
    Request(String),
    /// The call was not made: the breaker is open, or the limit of concurrent calls is reached.
    #[error("{0}")]
    NotCalled(String),
    #[error("{0}")]
    Call(CallError),
    #[error("{0}")]
    Answer(String),
    #[error("time ran out while fetching a token")]
    TimedOut,
    #[error("the partner was still working, and no time is left to ask again")]
    Pending,
    /// In one of several calls, which is named first.
    #[error("in {0}: {1}")]
    In(String, Box<Self>),
}

impl AskError {
    pub(super) fn is_timeout(&self) -> bool {
        use CallError::{NoTime, TimedOut};
        match self {
            Self::In(_, trouble) => trouble.is_timeout(),
            Self::NoCallback | Self::TimedOut | Self::Pending => true,
            Self::Call(error) => matches!(error, TimedOut { .. } | NoTime),
            _ => false,
        }
    }

    /// Names the current call where there are several, to show whether the person was about to be sent.
    pub(super) fn in_call(self, http: &HttpPartner, progress: &AskProgress) -> Self {
        match (self, http.step_key(progress)) {
            (trouble @ (Self::NotSent(..) | Self::Unsure | Self::In(..)), _) | (trouble, None) => trouble,
            (trouble, Some(key)) => {
                let place = match progress.bid {
                    Some(bid) => {
                        format!("{key}, the post, after {} was taken", in_words(bid).trim_end_matches(','))
                    }
                    None if http.step(progress).bid.is_some() => format!("{key}, the ping"),
                    None => key.to_owned(),
                };
                Self::In(place, Box::new(trouble))
            }
        }
    }

    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Self::NotSent(reason, _) => Outcome::NoOffers(*reason),
            Self::Unsure => Outcome::Failed(AskFailure::Unsure),
            Self::NotCalled(_) => Outcome::Failed(AskFailure::NotCalled),
            Self::Unrecorded => Outcome::Failed(AskFailure::Unrecorded),
            Self::In(_, trouble) => trouble.outcome(),
            Self::Request(_) => Outcome::Failed(AskFailure::Request),
            Self::NoCallback | Self::Unsigned | Self::TimedOut | Self::Pending => Outcome::TimedOut,
            Self::Call(CallError::TimedOut { .. } | CallError::NoTime) => Outcome::TimedOut,
            Self::Call(CallError::NoLookupThread) => Outcome::Failed(AskFailure::NotCalled),
            Self::Answer(_) => Outcome::Failed(AskFailure::Answer),
            Self::Call(CallError::NoRoom) => Outcome::Failed(AskFailure::Answer),
            Self::Call(error) if error.is_of_answer() => Outcome::Failed(AskFailure::Answer),
            Self::Call(_) => Outcome::Failed(AskFailure::Unreachable),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_call_that_fails_ends_an_ask_by_its_cause() {
        let cases = [
            (CallError::Unresolved, AskFailure::Unreachable),
            // Name servers are not the partner, so its timeout is not what ran out.
            (CallError::LookupTimedOut { after: Duration::from_secs(2) }, AskFailure::Unreachable),
            (CallError::NoLookupThread, AskFailure::NotCalled),
        ];
        for (error, failure) in cases {
            let ended = AskError::Call(error);
            assert_eq!((ended.outcome(), ended.is_timeout()), (Outcome::Failed(failure), false), "{error}");
        }
        assert_eq!(AskError::Unrecorded.outcome(), Outcome::Failed(AskFailure::Unrecorded));
    }
}
