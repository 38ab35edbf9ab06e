//! Runs a case: makes its calls and compares its results.

use super::callback::{CallbackOutcome, CaseCallback};
use super::expected::{CaseExpectation, Reading, Response};
use super::{CALLBACK, CaseExchange, NOON, RATE_TABLE};
use crate::catalog::CatalogOffer;
use crate::http::{
    AnswerReading, Answered, AskProgress, HttpPartner, MappingInput, NextCall, Received, Secrets,
};
use crate::{Facts, Seat};

pub(super) struct Trial<'a> {
    seat: &'a Seat,
    http: &'a HttpPartner,
    given: &'a MappingInput,
    facts: &'a Facts<'a>,
    progress: AskProgress,
    /// Number of calls made.
    pub(super) turns: usize,
    /// Whether the partner has called back.
    called: bool,
    /// Whether another call must follow the last answer.
    goes_on: bool,
    /// The reading of the last answer.
    reading: Option<Reading>,
    /// Differences from the expectations.
    pub(super) wrong: Vec<String>,
}

impl<'a> Trial<'a> {
    /// A trial before its first call.
    pub(super) fn of(
        seat: &'a Seat,
        http: &'a HttpPartner,
        given: &'a MappingInput,
        facts: &'a Facts<'a>,
    ) -> Self {
        let mut progress = AskProgress::default();
        progress.callback_url = Some(CALLBACK.to_owned());
        let (turns, called, goes_on, reading, wrong) = (0, false, false, None, Vec::new());
        Self { seat, http, given, facts, progress, turns, called, goes_on, reading, wrong }
    }

    /// Makes the next call.
    ///
    /// # Errors
    /// Why the case is unusable.
    pub(super) fn turn(&mut self, turn: &CaseExchange) -> Result<(), String> {
        match &turn.callback {
            Some(callback) => {
                self.turns += 1;
                self.called(callback, turn.response.as_ref())
            }
            None if self.reading.is_some() => {
                self.wrong.push("no further call is expected".to_owned());
                Ok(())
            }
            None => {
                self.turns += 1;
                self.asked(turn);
                if let Some(response) = &turn.response {
                    let (status, headers) = response.head()?;
                    self.read(Received { status, headers: &headers, body: &response.body() });
                }
                Ok(())
            }
        }
    }

    /// Compares the final result.
    pub(super) fn end(&mut self, expected: Option<&CaseExpectation>) {
        let wrong = &mut self.wrong;
        match (&self.reading, expected) {
            (Some(reading), Some(expected)) => expected.compare(self.seat, reading, wrong),
            // The other differences explain it.
            _ if !wrong.is_empty() => {}
            (None, _) if self.goes_on => {
                wrong.push("one more call follows, which the case lacks".to_owned());
            }
            (None, Some(_)) if self.http.has_callback() => {
                wrong.push("the partner's callback was not accepted, so there is no answer".to_owned());
            }
            _ => {}
        }
    }

    /// Compares the request.
    fn asked(&mut self, turn: &CaseExchange) {
        let wrong = &mut self.wrong;
        match (self.http.request(&self.progress, self.given, Secrets::Masked), &turn.call) {
            (Ok(Some(request)), Some(call)) => {
                call.compare(self.http.ask_uuid(RATE_TABLE), &request, wrong);
            }
            (Ok(None), None) | (Ok(Some(_)), None) => {}
            (Ok(None), Some(_)) => wrong.push("the partner is not asked: it has no `sandbox_url`".to_owned()),
            (Err(error), _) => wrong.push(format!("the request cannot be made: {}", error.in_full())),
        }
    }

    /// Processes a callback as the integrations listener does.
    fn called(&mut self, callback: &CaseCallback, said: Option<&Response>) -> Result<(), String> {
        let said = said.ok_or("`callback` has no `response`; add what the partner sends")?;
        let (status, mut headers) = said.head()?;
        let mut body = said.body();
        if let Some(sign) = &callback.sign {
            (headers, body) = sign.signed((&headers, &body), NOON, None)?;
        }
        let received = Received { status, headers: &headers, body: &body };
        let signed = self.http.verified(&headers, &body, (NOON, Secrets::Masked));
        let found = self.found(signed.as_ref().is_ok_and(|signed| *signed), received);
        let before = self.wrong.len();
        if found != callback.expect {
            let unreadable = self.unreadable(received).filter(|_| found == CallbackOutcome::Unreadable);
            let (expected, found) = (callback.expect.label(), found.label());
            self.wrong.push(format!("callback: expected {expected}, found {found}"));
            self.wrong.extend(signed.err().map(|error| error.in_full()).into_iter().chain(unreadable));
        } else if found == CallbackOutcome::Taken && self.http.awaited(&self.progress).is_none() {
            self.wrong.push("no callback is awaited here".to_owned());
        }
        if found == CallbackOutcome::Taken && self.wrong.len() == before {
            let step = self.progress.stored().step;
            self.read(received);
            // A callback that only reports work in progress does not end the wait.
            self.called = self.reading.is_some() || self.progress.stored().step != step;
        } else {
            // The ask keeps waiting; an unreadable callback counts only if nothing else arrives.
            self.goes_on = false;
            if found == CallbackOutcome::Unreadable {
                self.reading = self.meaning(&mut self.progress.clone(), received);
            }
        }
        Ok(())
    }

    /// The result of a callback.
    fn found(&self, signed: bool, received: Received<'_>) -> CallbackOutcome {
        match signed {
            false => CallbackOutcome::Unsigned,
            true if self.called => CallbackOutcome::Again,
            true if self.unreadable(received).is_some() => CallbackOutcome::Unreadable,
            true => CallbackOutcome::Taken,
        }
    }

    fn unreadable(&self, received: Received<'_>) -> Option<String> {
        match self.meaning(&mut self.progress.clone(), received)? {
            Err(error) => Some(error.in_full()),
            Ok(AnswerReading { answered: Answered::Failed(cause), is_error: false, .. }) => Some(cause),
            Ok(_) => None,
        }
    }

    fn read(&mut self, received: Received<'_>) {
        let mut progress = self.progress.clone();
        self.reading = self.meaning(&mut progress, received);
        self.progress = progress;
        self.goes_on = self.reading.is_none();
    }

    /// The reading of an answer; `None` if another call must follow.
    fn meaning(&self, progress: &mut AskProgress, received: Received<'_>) -> Option<Reading> {
        let offers: Vec<&CatalogOffer> = self.seat.offers.iter().collect();
        match self.http.next_after(progress, received, self.given) {
            Ok(NextCall::Call | NextCall::Bid(_) | NextCall::Again(_)) => None,
            Ok(NextCall::Read) => {
                Some(self.http.read_answer(progress, received, self.given, self.facts, &offers))
            }
            Ok(NextCall::Ended(reading)) => Some(Ok(reading)),
            Err(error) => Some(Err(error)),
        }
    }
}
