//! The sequence of calls of an ask: which call comes next, and which values earlier answers leave for it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use hyper::HeaderMap;
use hyper::header::RETRY_AFTER;
use minijinja::value::{Value as Mapped, ValueKind};

use super::absent::AbsentMapping;
use super::answer::{AnswerContext, AnswerReading, Answered, Received};
use super::answer_mapping::AnswerMapping;
use super::declared::BID_MAX;
use super::expression::Expression;
use super::http_partner::{HttpPartner, MappingInput};
use super::mapping_error::{MappingError, MappingResult};
use super::parsed::Parsed;
use super::step::CallStep;
use super::truth::{plain, truth_of};
use super::work;

/// Progress of an ask through its calls. Not `Debug`, since it holds values that partners answered.
#[derive(Clone, Default)]
pub struct AskProgress {
    /// The current step.
    pub(super) step: usize,
    /// Values that mappings may use as `kept`.
    pub(super) kept: BTreeMap<String, Mapped>,
    /// The partner's bid in dollars; 0 when it accepted without an amount.
    pub bid: Option<f64>,
    /// URL at which the partner may call back.
    pub callback_url: Option<String>,
    /// When reading an answer ends, finished or not.
    pub until: Option<Instant>,
}

/// How an answer by callback arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// By callback only.
    Callback,
    /// By callback, or by polling at this interval.
    CallbackOrPoll(Duration),
}

/// Progress of an ask in its stored form. Not `Debug`, since it holds values that partners answered.
#[derive(Clone, PartialEq)]
pub struct StoredAskProgress {
    /// The next step to call.
    pub step: u8,
    /// Values that mappings may use as `kept`, as a JSON object.
    pub kept: String,
    /// The partner's bid in dollars.
    pub bid: Option<f64>,
}

impl AskProgress {
    /// The progress in its stored form.
    pub fn stored(&self) -> StoredAskProgress {
        let kept = serde_json::to_string(&self.kept).unwrap_or_else(|_| "{}".to_owned());
        StoredAskProgress { step: self.step as u8, kept, bid: self.bid }
    }
}

/// What follows from an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum NextCall {
    /// Make the call of the next step.
    Call,
    /// The next step is the post, to be called only if the partner's bid (dollars) is chosen.
    Bid(f64),
    /// Repeat the call after this time.
    Again(Duration),
    /// This was the last answer; [`HttpPartner::read_answer`] interprets it.
    Read,
    /// No more calls; this is the result.
    Ended(AnswerReading),
}

impl HttpPartner {
    /// How the answer of the current step arrives, if by callback.
    pub fn awaited(&self, progress: &AskProgress) -> Option<Awaited> {
        let step = self.step(progress);
        let polling = step.polling.as_ref().filter(|_| step.url.is_some());
        let awaited = polling.map_or(Awaited::Callback, |polling| Awaited::CallbackOrPoll(polling.every));
        step.callback.then_some(awaited)
    }

    /// Restores stored progress; `None` when the file no longer has that step.
    pub fn restore_progress(&self, stored: &StoredAskProgress) -> Option<AskProgress> {
        let step = usize::from(stored.step);
        let kept: BTreeMap<String, Parsed> = serde_json::from_str(&stored.kept).ok()?;
        let kept = kept.into_iter().map(|(name, value)| (name, value.0)).collect();
        let progress = AskProgress { step, kept, bid: stored.bid, ..AskProgress::default() };
        (step < self.steps.len()).then_some(progress)
    }

    /// The current step.
    pub fn step(&self, progress: &AskProgress) -> &CallStep {
        &self.steps[progress.step]
    }

    /// Whether a call before the current one is made at most once.
    pub fn has_made_once(&self, progress: &AskProgress) -> bool {
        self.steps[..progress.step].iter().any(|step| step.once_per_ask)
    }

    /// Key of the current step, if there are several.
    pub fn step_key(&self, progress: &AskProgress) -> Option<&str> {
        let prefix = self.step(progress).prefix.trim_end_matches('.');
        (!prefix.is_empty()).then_some(prefix)
    }

    /// Processes the answer to the current call.
    ///
    /// # Errors
    /// The first mapping that could not be run.
    pub fn next_after(
        &self,
        progress: &mut AskProgress,
        received: Received<'_>,
        given: &MappingInput,
    ) -> MappingResult<NextCall> {
        let step = self.step(progress);
        let is_last = progress.step + 1 == self.steps.len();
        if is_last && step.polling.is_none() {
            return Ok(NextCall::Read);
        }
        let context = match received.context(self.context(given, progress), &self.attributes) {
            Ok(context) => context,
            Err(fault) => return Ok(NextCall::Ended(Answered::Failed(fault).into())),
        };
        match step.next(&context, received, is_last, &self.answer)? {
            NextCall::Call => self.advance(progress, received, &context.values, given),
            NextCall::Bid(bid) => {
                progress.bid = Some(bid);
                progress.kept.insert("bid".to_owned(), Mapped::from(bid));
                // The post is always among the steps that follow.
                let next = self.advance(progress, received, &context.values, given)?;
                Ok(if next == NextCall::Call { NextCall::Bid(bid) } else { next })
            }
            next => Ok(next),
        }
    }

    /// Whether the partner's answer to a post accepts the lead.
    ///
    /// # Errors
    /// Why that is unknown, without the answer itself.
    pub fn accepts_lead(
        &self,
        progress: &AskProgress,
        received: Received<'_>,
        given: &MappingInput,
    ) -> Result<bool, String> {
        let context = received.context(self.context(given, progress), &self.attributes)?;
        // A post is not a ping, and no step follows it.
        let next = self.step(progress).next(&context, received, false, &self.answer);
        match next.map_err(|error| self.lines.locate(&error))? {
            NextCall::Ended(AnswerReading { answered: Answered::Failed(cause), .. }) => Err(cause),
            NextCall::Ended(_) => Ok(false),
            _ => Ok(true),
        }
    }

    /// Stores what the answer leaves, and advances to the next step whose condition holds.
    fn advance(
        &self,
        progress: &mut AskProgress,
        received: Received<'_>,
        context: &Mapped,
        given: &MappingInput,
    ) -> MappingResult<NextCall> {
        let step = self.step(progress);
        for (name, expression) in &step.keep {
            match expression.look_up(context)? {
                // Kept values are required: a path to null counts as missing.
                Ok(None) if expression.path().is_some() => {
                    let absent = AbsentMapping::of(expression, context);
                    return Ok(NextCall::Ended(received.lacking(absent, &step.body, "")));
                }
                Ok(value) => progress.kept.extend(value.map(|value| (name.clone(), value))),
                Err(absent) => return Ok(NextCall::Ended(received.lacking(absent, &step.body, ""))),
            }
        }
        let context = work::of_request(self.context(given, progress));
        for (nth, step) in self.steps.iter().enumerate().skip(progress.step + 1) {
            let wanted = step.when.as_ref().map(|when| when.holds(&context)).transpose()?;
            if wanted.unwrap_or(true) {
                if let Some(fault) = step.lacks_of_url(&progress.kept) {
                    return Ok(NextCall::Ended(Answered::Failed(fault).into()));
                }
                progress.step = nth;
                return Ok(NextCall::Call);
            }
        }
        Ok(NextCall::Read)
    }
}

impl CallStep {
    /// The fault of a URL of which an earlier answer left a part empty.
    fn lacks_of_url(&self, kept: &BTreeMap<String, Mapped>) -> Option<String> {
        let empty = kept.iter().filter(|(_, value)| is_blank(value)).map(|(name, _)| format!("kept.{name}"));
        let mut urls =
            empty.flat_map(|name| [&self.url, &self.sandbox_url].map(|url| (url.as_ref(), name.clone())));
        let (url, name) = urls.find(|(url, name)| url.is_some_and(|url| url.needs(name)))?;
        let advice = "if it may be empty, give the URL a `default`";
        Some(format!("`{}` needs `{name}`, which is an empty text in the answer; {advice}", url?.key))
    }

    /// What follows from the answer to this step; [`NextCall::Call`] stands for any following step.
    fn next(
        &self,
        context: &AnswerContext,
        received: Received<'_>,
        is_last: bool,
        answer: &AnswerMapping,
    ) -> MappingResult<NextCall> {
        let pending = |by: &Expression, values: &Mapped| Ok(by.holds(values)?.then_some(()));
        if let Some(polling) = &self.polling
            && context.verdict(Some(&polling.pending), pending)?.is_some()
        {
            let wanted = retry_after(received.headers, Utc::now()).unwrap_or_default();
            return Ok(NextCall::Again(polling.every.max(wanted)));
        }
        if is_last {
            return Ok(NextCall::Read);
        }
        if let Some(ended) = answer.ended([&self.error, &self.declined], context, received.status)? {
            return Ok(NextCall::Ended(ended));
        }
        if !received.status.is_success() {
            return Ok(NextCall::Ended(received.bad_status().into()));
        }
        let bid = |by: &Expression, values: &Mapped| self.bid(by, values, received).map(Some);
        Ok(context.verdict(self.bid.as_ref(), bid)?.unwrap_or(NextCall::Call))
    }

    /// What follows from a bid.
    fn bid(&self, by: &Expression, context: &Mapped, received: Received<'_>) -> MappingResult<NextCall> {
        let bid = match by.look_up(context)? {
            Ok(bid) => bid.as_ref().map(plain),
            Err(absent) => return Ok(NextCall::Ended(received.lacking(absent, &self.body, ""))),
        };
        let Some(bid) = bid else {
            return Ok(NextCall::Ended(AnswerReading::declining("the answer has no bid")));
        };
        if says_no(&bid) {
            return Ok(NextCall::Ended(AnswerReading::declining(REFUSAL)));
        }
        let dollars = dollars(&bid).ok_or_else(|| MappingError::new(&by.key, BAD_BID))?;
        Ok(match dollars {
            Some(0.0) => NextCall::Ended(AnswerReading::declining(REFUSAL)),
            dollars => NextCall::Bid(dollars.unwrap_or_default()),
        })
    }
}

/// Whether a bid declines. An empty text, a list or an object is neither a bid nor a refusal.
fn says_no(bid: &Mapped) -> bool {
    let has_meaning = !matches!(bid.kind(), ValueKind::Seq | ValueKind::Map) && bid.as_str() != Some("");
    has_meaning && truth_of(bid) == Some(false)
}

/// Whether a value is a text without a letter.
fn is_blank(value: &Mapped) -> bool {
    plain(value).as_str().is_some_and(|text| text.trim().is_empty())
}

const REFUSAL: &str = "its bid is no, or 0";

const BAD_BID: &str = "must be dollars from 0 to 1000000, or true or false";

/// A bid in dollars: a number, or a text with one; inner `None` has no amount, outer `None` is not a bid.
fn dollars(bid: &Mapped) -> Option<Option<f64>> {
    let number = bid.to_string().trim().trim_start_matches('$').parse::<f64>();
    match number {
        Ok(number) => (0.0..=BID_MAX).contains(&number).then_some(Some(number)),
        Err(_) => {
            let is_word = matches!(bid.kind(), ValueKind::Bool | ValueKind::String);
            (is_word && truth_of(bid) == Some(true)).then_some(None)
        }
    }
}

/// Upper bound of `Retry-After`; longer than any ask.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The wait that the remote side requests, in seconds or by date (RFC 9110, 10.2.3).
pub fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let said = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let is_number = !said.is_empty() && said.bytes().all(|digit| digit.is_ascii_digit());
    let wait = match is_number {
        // The number overflows.
        true => said.parse().map_or(RETRY_AFTER_MAX, Duration::from_secs),
        false => {
            let date = httpdate::parse_http_date(said).map(DateTime::<Utc>::from);
            let date = date.or_else(|_| DateTime::parse_from_rfc2822(said).map(|date| date.to_utc()));
            (date.ok()? - now).to_std().ok()?
        }
    };
    Some(wait.min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn a_partner_is_left_alone_as_long_as_it_says_and_not_for_ever() {
        let now = "2026-10-21T07:26:30Z".parse().unwrap();
        for (said, seconds) in [
            ("3", 3),
            (" 120 ", 120),
            ("18446744073709551615", 24 * 60 * 60),
            ("99999999999999999999", 24 * 60 * 60),
            ("-1", 0),
            ("soon", 0),
            ("Wed, 21 Oct 2026 07:28:00 GMT", 90),
            ("Wed, 21 Oct 2026 07:26:00 GMT", 0),
            ("Wednesday, 21-Oct-26 07:28:00 GMT", 90),
            ("Wed Oct 21 07:28:00 2026", 90),
            ("Wed, 21 Oct 2026 07:28:00 +0000", 90),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(said))]);
            assert_eq!(
                retry_after(&headers, now).unwrap_or_default(),
                Duration::from_secs(seconds),
                "{said}"
            );
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
