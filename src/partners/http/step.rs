//! One of the calls of an ask, compiled.

use std::time::Duration;

use hyper::Method;
use hyper::header::HeaderName;

use super::body::Body;
use super::expression::{Expression, Template};

/// A call: how its request is made, and what its answer means for those that follow.
#[derive(Debug)]
pub struct Step {
    /// What its keys stand behind in the partner file: nothing, or `steps[0].`.
    pub(super) prefix: String,
    pub(super) method: Method,
    /// `None` where the partner only calls us.
    pub(super) url: Option<Template>,
    pub(super) sandbox_url: Option<Template>,
    pub(super) query: Vec<(String, Expression)>,
    pub(super) headers: Vec<(HeaderName, Expression)>,
    /// Whether a header is made of the rest of the request.
    pub(super) signs: bool,
    pub(super) body: Body,
    pub(super) when: Option<Expression>,
    pub(super) polling: Option<Polling>,
    pub(super) error: Option<Expression>,
    pub(super) declined: Option<Expression>,
    pub(super) keep: Vec<(String, Expression)>,
    /// What it says the partner bids; it is a ping then.
    pub bid: Option<Expression>,
    /// Whether it is made at most once for an ask.
    pub once: bool,
    /// Whether it is made at most once for a lead, however many tables that has.
    pub once_a_lead: bool,
    /// Whether the partner answers it by calling us.
    pub(super) callback: bool,
    /// Whether such a call is signed as it should be.
    pub(super) verify: Option<Expression>,
}

/// How a call is made again while the partner is at work.
#[derive(Debug)]
pub(super) struct Polling {
    pub(super) pending: Expression,
    pub(super) every: Duration,
}

impl Step {
    /// The mappings that look at an answer.
    pub(super) fn of_answers(&self) -> impl Iterator<Item = &Expression> {
        let pending = self.polling.as_ref().map(|polling| &polling.pending);
        [pending, self.error.as_ref(), self.declined.as_ref(), self.bid.as_ref()].into_iter().flatten()
    }
}
