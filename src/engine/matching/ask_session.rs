//! The parts of an ask over HTTP besides its question: journal, bid, callback and transcript.

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::answer_reader::AnswerReader;
use super::ask_error::AskError;
use super::bidding::{Bidder, IsPaused};
use super::call_journal::{CallJournal, SENT_BEFORE};
use super::callbacks::{CallbackAddress, CallbackRequest, CallbackVerdict};
use super::late_asks::LateAnswerRecorder;
use super::transcripts::Recorder;
use crate::rate_table::bids::{BidRank, in_words, price};
use crate::rate_table::outcome::NoOfferReason;
use crate::rate_table::record::ReceivedCallback;
use crate::rate_table::transcript::CallInitiator;
use offerd_model::RejectReason;
use offerd_partners::http::{AskProgress, Awaited, HttpPartner, Post};
use offerd_wire::{CallReply, Phases};

/// What the calls of one ask share; all empty for a dry run. Holds partner answers, so it is not `Debug`.
#[derive(Default)]
pub struct AskSession {
    /// The journal on disk.
    pub journal: Option<CallJournal>,
    /// The bidder, until it has bid.
    pub bidder: Option<Bidder>,
    /// The address of the partner's callback.
    pub callback: Option<CallbackAddress>,
    /// Records the transcript.
    pub transcript: Option<Recorder>,
    /// Whether the partner is paused by an operator.
    pub is_paused: Option<IsPaused>,
    /// Why the partner's last callback could not be read.
    pub unreadable: Option<String>,
    /// Records what happens after the ask ended.
    pub afterwards: Option<LateAnswerRecorder>,
}

impl AskSession {
    /// The point at which to resume; `None` for a new ask. [`AskError::Unsure`] when an at-most-once call may
    /// have been sent.
    pub(super) fn resume_point(&self, http: &HttpPartner) -> Result<Option<AskProgress>, AskError> {
        let found = self.journal.as_ref().and_then(|journal| journal.found.as_ref());
        let Some(found) = found else { return Ok(None) };
        // A changed file may have other steps; an at-most-once call is never repeated.
        let progress =
            http.restore_progress(&found.progress()).filter(|_| !found.sent).ok_or(AskError::Unsure)?;
        // When offers are shown before the post, they came with the answer to the ping, which is lost.
        match http.post.when_shown() && progress.bid.is_some() {
            true if http.has_made_once(&progress) => Err(AskError::Unsure),
            true => Ok(None),
            false => Ok(Some(progress)),
        }
    }

    /// Waits for the partner's callback; `None` when it is time to ask, an error past the time.
    pub(super) async fn await_callback(
        &mut self,
        (progress, step): (&AskProgress, Option<&str>),
        awaited: Awaited,
        deadline: Instant,
        reader: Option<&AnswerReader>,
    ) -> Result<Option<CallReply>, AskError> {
        // The callback may have arrived before a restart.
        let found = self.journal.as_mut().and_then(|journal| journal.found.as_mut());
        if let Some(heard) = found.and_then(|found| found.heard.take()) {
            return Ok(Some(self.heard(step, heard)));
        }
        let until = match awaited {
            Awaited::Callback => deadline,
            Awaited::CallbackOrPoll(every) => deadline.min(Instant::now() + every),
        };
        loop {
            let called = async { self.callback.as_mut()?.called().await };
            match timeout_at(until, called).await {
                Ok(Some((called, verdict_sender))) => {
                    let heard = heard(called);
                    let reply = self.heard(step, heard.clone());
                    let verdict = match reader {
                        Some(reader) => reader.verdict_on_callback(progress, &reply).await,
                        None => CallbackVerdict::Taken,
                    };
                    let is_taken = verdict == CallbackVerdict::Taken;
                    if is_taken {
                        self.write(progress, false, Some(heard), deadline).await?;
                        self.callback.iter_mut().for_each(CallbackAddress::close);
                    }
                    if let CallbackVerdict::Unreadable { for_operator, .. } = &verdict {
                        self.unreadable = Some(for_operator.clone());
                    }
                    // A partner that hung up calls again and learns that its call was accepted.
                    let _ = verdict_sender.send(verdict);
                    if is_taken {
                        return Ok(Some(reply));
                    }
                }
                // A dry run has no callback address.
                Ok(None) if awaited == Awaited::Callback => return Err(AskError::NoCallback),
                Ok(None) => sleep_until(until).await,
                Err(_) => {}
            }
            if Instant::now() >= until {
                return if until == deadline { Err(AskError::NoCallback) } else { Ok(None) };
            }
        }
    }

    /// The cause of a failed ask. If it timed out, an unreadable or refused callback is the cause.
    pub(super) fn cause(&mut self, trouble: AskError) -> AskError {
        let refused = self.callback.as_ref().and_then(CallbackAddress::refused);
        match self.unreadable.take() {
            _ if !trouble.is_timeout() => trouble,
            Some(for_operator) => AskError::Answer(for_operator),
            None => refused.unwrap_or(trouble),
        }
    }

    fn heard(&mut self, step: Option<&str>, heard: ReceivedCallback) -> CallReply {
        let reply = reply(heard);
        if let Some(transcript) = &mut self.transcript {
            transcript.heard(CallInitiator::Partner, step, &reply.headers, &reply.body);
        }
        reply
    }

    pub(super) async fn note(&self, progress: &AskProgress, deadline: Instant) -> Result<(), AskError> {
        self.write(progress, false, None, deadline).await
    }

    /// Writes that an at-most-once call is about to be sent, once per lead if `once_per_lead`. Send nothing
    /// after an error.
    pub(super) async fn record_intent(
        &self,
        progress: &AskProgress,
        once_per_lead: bool,
        deadline: Instant,
    ) -> Result<(), AskError> {
        match &self.journal {
            Some(journal) if once_per_lead => match timeout_at(deadline, journal.claim(progress)).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => {
                    let again = NoOfferReason::Rejected(RejectReason::Duplicate);
                    return Err(AskError::NotSent(again, SENT_BEFORE.to_owned()));
                }
                Ok(Err(_)) | Err(_) => return Err(AskError::Unrecorded),
            },
            _ => self.write(progress, true, None, deadline).await?,
        }
        self.go_on_unless_paused()
    }

    fn go_on_unless_paused(&self) -> Result<(), AskError> {
        if !self.is_paused.as_ref().is_some_and(|is_paused| is_paused()) {
            return Ok(());
        }
        Err(AskError::NotSent(NoOfferReason::Paused, "it was paused by an operator".to_owned()))
    }

    async fn write(
        &self,
        progress: &AskProgress,
        sent: bool,
        heard: Option<ReceivedCallback>,
        deadline: Instant,
    ) -> Result<(), AskError> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let written = timeout_at(deadline, journal.write(progress, sent, heard)).await;
        written.ok().and_then(Result::ok).ok_or(AskError::Unrecorded)
    }

    /// Waits for the decision on a bid, in dollars. An error is the reason against it.
    pub(super) async fn choose(&mut self, post: Post, bid: f64, deadline: Instant) -> Result<(), AskError> {
        let Post { floor, best, wait, .. } = post;
        // A paused partner leaves its place to others.
        self.go_on_unless_paused()?;
        let its_bid = in_words(bid);
        if let Some(floor) = floor.filter(|floor| bid < *floor) {
            let cause = format!("{its_bid} is below its floor of {}", price(floor));
            return Err(AskError::NotSent(NoOfferReason::BelowFloor, cause));
        }
        let Some(bidder) = self.bidder.take() else { return Ok(()) };
        let Some(best) = best else {
            bidder.bid_alone(bid);
            return Ok(());
        };
        let now = Instant::now();
        let patience = wait.unwrap_or_else(|| deadline.saturating_duration_since(now) / 2);
        let place = bidder.bid(bid, self.is_paused.clone(), deadline.min(now + patience)).await;
        self.go_on_unless_paused()?;
        let cause = match place {
            Some(place) if place.before() < best => return Ok(()),
            Some(place) => format!("{its_bid} {}", not_among(place, best)),
            None => format!("{its_bid} came after the best bids were chosen"),
        };
        Err(AskError::NotSent(NoOfferReason::Outbid, cause))
    }
}

fn not_among(place: BidRank, best: usize) -> String {
    let number = place.before() + 1;
    let equal = match place.equal {
        0 => String::new(),
        equal => format!(", behind {equal} of equal height from earlier partners"),
    };
    match best {
        1 => format!("is number {number} of the bids{equal}, and only the best gets the lead"),
        best => format!("is number {number} of the bids{equal}, and only the best {best} get the lead"),
    }
}

pub(super) fn heard(CallbackRequest { headers, body }: CallbackRequest) -> ReceivedCallback {
    let texts =
        headers.iter().filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    ReceivedCallback { headers: texts.collect(), body: body.to_vec() }
}

pub(super) fn reply(ReceivedCallback { headers, body }: ReceivedCallback) -> CallReply {
    let header = |(name, value): (String, String)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
    };
    let headers = headers.into_iter().filter_map(header).collect();
    CallReply { status: StatusCode::OK, headers, body: body.into(), sent: 0, took: Phases::default() }
}
