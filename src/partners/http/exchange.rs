//! The calls of an ask in their order: which comes next, and what the answers before have left for it.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::RETRY_AFTER;
use minijinja::value::Value as Mapped;

use super::answer::{Answered, Reading, Received, declined};
use super::expression::Expression;
use super::given::Given;
use super::mapping_error::MappingError;
use super::source::HttpSource;
use super::step::Step;

/// How far the calls of an ask are. Holds what partners have answered, so it is not `Debug`.
#[derive(Default)]
pub struct Exchange {
    /// The step whose call is made.
    pub(super) step: usize,
    /// What mappings may use as `kept`.
    pub(super) kept: BTreeMap<String, Mapped>,
}

/// What an answer leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// The call of another step.
    Call,
    /// The same call after this time.
    Again(Duration),
    /// It is the last answer: [`HttpSource::answer`] says what it means.
    Read,
    /// No more calls: this is what it means.
    Ended(Reading),
}

impl HttpSource {
    /// The call that an exchange has come to, by its key, where there are several.
    pub fn step_key(&self, exchange: &Exchange) -> Option<&str> {
        let prefix = self.steps[exchange.step].prefix.trim_end_matches('.');
        (!prefix.is_empty()).then_some(prefix)
    }

    /// Takes in the answer to the call that an exchange has come to.
    ///
    /// # Errors
    /// The first mapping that could not be run.
    pub fn take(
        &self,
        exchange: &mut Exchange,
        received: Received<'_>,
        given: &Given,
    ) -> Result<Next, MappingError> {
        let step = &self.steps[exchange.step];
        let is_last = exchange.step + 1 == self.steps.len();
        if is_last && step.polling.is_none() {
            return Ok(Next::Read);
        }
        let context = match received.context(given, &exchange.kept) {
            Ok(context) => context,
            Err(fault) => return Ok(Next::Ended(Answered::Failed(fault).into())),
        };
        step.next(&context, received, is_last).map_err(|error| step.placed(error)).and_then(|next| match next
        {
            Next::Call => self.advance(exchange, &context, given),
            next => Ok(next),
        })
    }

    /// Keeps what the answer leaves, and goes on to the next step that is wanted.
    fn advance(
        &self,
        exchange: &mut Exchange,
        context: &Mapped,
        given: &Given,
    ) -> Result<Next, MappingError> {
        let step = &self.steps[exchange.step];
        for (name, expression) in &step.keep {
            let value =
                expression.run(&format!("keep.{name}"), context).map_err(|error| step.placed(error))?;
            if !value.is_undefined() && !value.is_none() {
                exchange.kept.insert(name.clone(), value);
            }
        }
        let context = given.context(BTreeMap::new(), &exchange.kept);
        for (nth, step) in self.steps.iter().enumerate().skip(exchange.step + 1) {
            let wanted = step.when.as_ref().map(|when| when.run("when", &context));
            if wanted.transpose().map_err(|error| step.placed(error))?.is_none_or(|wanted| wanted.is_true()) {
                exchange.step = nth;
                return Ok(Next::Call);
            }
        }
        Ok(Next::Read)
    }
}

impl Step {
    /// What an answer to its call leads to; [`Next::Call`] stands for whatever follows.
    fn next(&self, context: &Mapped, received: Received<'_>, is_last: bool) -> Result<Next, MappingError> {
        if let Some(polling) = &self.polling
            && polling.pending.run("pending", context)?.is_true()
        {
            return Ok(Next::Again(polling.every.max(retry_after(received.headers))));
        }
        if is_last {
            return Ok(Next::Read);
        }
        let says = |key: &str, expression: &Option<Expression>| {
            let said = expression.as_ref().map(|expression| expression.run(key, context)).transpose();
            said.map(|said| said.filter(Mapped::is_true))
        };
        if let Some(error) = says("error", &self.error)? {
            return Ok(Next::Ended(Reading::error(&error)));
        }
        if let Some(word) = says("declined", &self.declined)? {
            return Ok(Next::Ended(declined("declined", &word)?.into()));
        }
        if !received.status.is_success() {
            return Ok(Next::Ended(received.bad_status().into()));
        }
        Ok(Next::Call)
    }
}

/// The longest time that a partner is believed to want to be left alone; longer than any ask.
const LEFT_ALONE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the partner wants to be left alone, where it says so in seconds (RFC 9110, 10.2.3).
fn retry_after(headers: &HeaderMap) -> Duration {
    let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    seconds.map_or(Duration::ZERO, Duration::from_secs).min(LEFT_ALONE_MAX)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn a_partner_is_left_alone_as_long_as_it_says_and_not_for_ever() {
        for (said, seconds) in [
            ("3", 3),
            (" 120 ", 120),
            ("18446744073709551615", 24 * 60 * 60),
            ("-1", 0),
            ("soon", 0),
            ("Wed, 21 Oct 2026 07:28:00 GMT", 0),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(said))]);
            assert_eq!(retry_after(&headers), Duration::from_secs(seconds), "{said}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), Duration::ZERO);
    }
}
