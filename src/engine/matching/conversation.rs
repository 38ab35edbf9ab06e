//! The calls of an ask, made in turn until one has the final answer or the partner ends them.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::AUTHORIZATION;
use tokio::time::{Instant, sleep_until};

use super::answer_reader::AnswerReader;
use super::ask_error::AskError;
use super::ask_session::AskSession;
use super::partner_clients::{PartnerClient, Rendered};
use super::question::LeadQuestion;
use offerd_base::telemetry::traces::{TRACEPARENT, TraceContext};
use offerd_partners::catalog::CatalogOffer;
use offerd_partners::http::absent::AbsentMapping;
use offerd_partners::http::{
    AnswerReading, Answered, AskProgress, HttpPartner, MappingError, NextCall, Received,
};
use offerd_wire::CallReply;

pub(super) struct Conversation<'a> {
    pub(super) client: &'a PartnerClient,
    pub(super) http: &'a HttpPartner,
    pub(super) question: &'a LeadQuestion,
    pub(super) trace: Option<&'a TraceContext>,
    pub(super) deadline: Instant,
    /// Reads late answers and callbacks; `None` in a dry run.
    pub(super) reader: Option<&'a AnswerReader>,
}

impl Conversation<'_> {
    /// Makes the calls, starting with the `rendered` request if there is one; `None` for a test lead of a
    /// partner without a sandbox. `seen` gets every answer with the progress of the calls.
    pub(super) async fn run(
        &self,
        rendered: Option<Rendered>,
        mut session: AskSession,
        seen: impl FnMut(&AskProgress, &CallReply),
    ) -> Result<Option<FinalReply>, AskError> {
        let resumed = session.resume_point(self.http)?;
        let rendered = rendered.filter(|_| resumed.is_none());
        let mut progress = resumed.unwrap_or_default();
        progress.until = Some(self.deadline.into_std());
        progress.callback_url = session.callback.as_ref().map(|callback| callback.url().to_owned());
        let ended = self.converse(rendered, &mut session, &mut progress, seen).await;
        let ended = ended.map_err(|trouble| trouble.in_call(self.http, &progress))?;
        Ok(ended.map(|(reply, ended)| FinalReply { progress, reply, ended }))
    }

    async fn converse(
        &self,
        mut rendered: Option<Rendered>,
        session: &mut AskSession,
        progress: &mut AskProgress,
        mut seen: impl FnMut(&AskProgress, &CallReply),
    ) -> Result<Option<(CallReply, Option<AnswerReading>)>, AskError> {
        loop {
            let answer = self.call(progress, rendered.take(), session).await;
            let Some(reply) = answer.map_err(|trouble| session.cause(trouble))? else { return Ok(None) };
            seen(progress, &reply);
            let (once, awaited) = (self.http.step(progress).once_per_ask, self.http.awaited(progress));
            let next = self.next_after(progress, &reply).await?;
            if !matches!(next, NextCall::Read | NextCall::Ended(_)) {
                self.client.shared.endpoint_of(self.question).report(Ok(()));
            }
            match next {
                NextCall::Read => return Ok(Some((reply, None))),
                NextCall::Ended(reading) => return Ok(Some((reply, Some(reading)))),
                NextCall::Bid(bid) => {
                    session.choose(self.http.post, bid, self.deadline).await?;
                    if self.http.post.when_shown() {
                        session.note(progress, self.deadline).await?;
                        return Ok(Some((reply, None)));
                    }
                }
                // A step with a callback waits for that instead.
                NextCall::Again(wait) if awaited.is_none() => self.wait(wait).await?,
                _ => {}
            }
            if once && !self.http.step(progress).once_per_ask {
                session.note(progress, self.deadline).await?;
            }
        }
    }

    /// What follows from an answer; a long one is read on a blocking thread.
    async fn next_after(&self, progress: &mut AskProgress, reply: &CallReply) -> Result<NextCall, AskError> {
        let next = if let Some(reader) = self.reader {
            let (mut taken, body) = (progress.clone(), reply.clone());
            let read = reader.read_long_on_thread(reply.body.len(), move |reader| {
                let given = reader.question.given();
                let http = reader.seat.http.as_ref();
                let next = http.map(|http| http.next_after(&mut taken, received(&body), given));
                (taken, next)
            });
            let (taken, next) = read.await.ok_or(AskError::TimedOut)?;
            *progress = taken;
            next.ok_or(AskError::TimedOut)?
        } else {
            self.http.next_after(progress, received(reply), self.question.given())
        };
        next.map_err(|error| {
            let fault = self.http.lines.locate(&error);
            self.client.shared.endpoint_of(self.question).report(Err(fault.clone()));
            AskError::Answer(fault)
        })
    }

    pub(super) async fn call(
        &self,
        progress: &AskProgress,
        rendered: Option<Rendered>,
        session: &mut AskSession,
    ) -> Result<Option<CallReply>, AskError> {
        let place = (progress, self.http.step_key(progress));
        if let Some(awaited) = self.http.awaited(progress)
            && let Some(called) = session.await_callback(place, awaited, self.deadline, self.reader).await?
        {
            return Ok(Some(called));
        }
        let rendered = rendered.unwrap_or_else(|| Rendered::by(self.http, progress, self.question));
        let Some(mut request) = rendered.request? else { return Ok(None) };
        let token = self.client.token(self.http, self.question, self.deadline).await?;
        if let Some(token) = &token {
            request.headers.insert(AUTHORIZATION, token.authorization.clone());
        }
        if let Some(trace) = self.trace {
            request.headers.insert(TRACEPARENT, trace.header());
        }
        let once = self.http.step(progress).once_per_ask;
        if once {
            session.record_intent(progress, self.http.step(progress).once_per_lead, self.deadline).await?;
        }
        let shared = &self.client.shared;
        let sent = std::time::Instant::now();
        let late = || self.reader.map(|reader| shared.late.listener(reader.clone(), progress.clone()));
        let kept = session.transcript.as_mut().map(|transcript| (transcript, request.clone()));
        let reply = self.client.send(request, self.question, once, self.deadline, late).await;
        if let Some((transcript, request)) = kept {
            transcript.made(self.http, progress, self.question, (request, sent.elapsed()), &reply);
        }
        let reply = reply?;
        shared.calls.record(sent.elapsed().as_secs_f64());
        if let Some(token) = token.filter(|_| reply.status == StatusCode::UNAUTHORIZED) {
            shared.tokens[usize::from(self.question.asked.test)].forget(&token);
        }
        Ok(Some(reply))
    }

    async fn wait(&self, wait: Duration) -> Result<(), AskError> {
        let again = Instant::now() + wait;
        if again >= self.deadline {
            return Err(AskError::Pending);
        }
        sleep_until(again).await;
        Ok(())
    }
}

/// A partner's final answer, with the state of the calls.
pub struct FinalReply {
    /// The progress of the calls and the values they kept.
    pub progress: AskProgress,
    /// The final answer.
    pub reply: CallReply,
    pub(super) ended: Option<AnswerReading>,
}

impl FinalReply {
    /// The paths of `error` and `declined` that the answer lacks.
    pub fn lacking_verdicts(&self, http: &HttpPartner, question: &LeadQuestion) -> Vec<AbsentMapping> {
        http.lacking_verdicts(&self.progress, received(&self.reply), question.given())
    }

    /// Reads the answer, with its offers sold at the partner's bid. `offers` are those that fit the lead.
    ///
    /// # Errors
    /// The first mapping that failed.
    pub fn reading(
        self,
        http: &HttpPartner,
        question: &LeadQuestion,
        offers: &[&CatalogOffer],
    ) -> Result<AnswerReading, MappingError> {
        let Self { progress, reply, ended } = self;
        let read =
            || http.read_answer(&progress, received(&reply), question.given(), &question.facts(), offers);
        let mut reading = ended.map_or_else(read, Ok)?;
        if let (Answered::Offers(quotes), Some(bid)) = (&mut reading.answered, progress.bid)
            && bid > 0.0
        {
            quotes.iter_mut().for_each(|quote| quote.sold_for(bid));
        }
        Ok(reading)
    }
}

pub(super) fn received(reply: &CallReply) -> Received<'_> {
    Received { status: reply.status, headers: &reply.headers, body: &reply.body }
}
