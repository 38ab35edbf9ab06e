//! What an ask of several calls needs beside its question: what is on the disk of them, and its part in the bidding.

use std::fmt;

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use tokio::time::{Instant, timeout_at};

use super::bidding::Bidder;
use super::call_journal::{CallJournal, TakenUp};
use super::callbacks::{Callback, Called};
use super::partner_clients::Trouble;
use super::transcripts::Recorder;
use crate::partners::http::{Awaited, Exchange, HttpSource, Post};
use crate::rate_table::call_record::Heard;
use crate::rate_table::outcome::NoOfferReason;
use crate::rate_table::transcript::CalledBy;
use crate::wire::{Phases, Reply};

/// The calls of one ask. One that is only tried has neither.
#[derive(Default)]
pub struct Calls {
    /// What is on the disk of them.
    pub journal: Option<CallJournal>,
    /// Its part in the bidding, until it has bid.
    pub bidder: Option<Bidder>,
    /// Where the partner may call us.
    pub callback: Option<Callback>,
    /// Keeps what is sent and what comes back.
    pub transcript: Option<Recorder>,
}

impl Calls {
    /// Where they begin, or go on after a restart; `None` at their beginning.
    ///
    /// # Errors
    /// That a call which is made but once may have been sent.
    pub(super) fn taken_up(&self, source: &HttpSource) -> Result<Option<Exchange>, Trouble> {
        match self.journal.as_ref().map_or(TakenUp::Anew, |journal| journal.taken_up(source)) {
            TakenUp::Anew => Ok(None),
            TakenUp::From(exchange) => Ok(Some(exchange)),
            TakenUp::Unsure => Err(Trouble::Unsure),
        }
    }

    /// Waits for the partner's call; `None` when it is time to ask, or no call can come any more.
    ///
    /// # Errors
    /// That the time for it has run out.
    pub(super) async fn called(
        &mut self,
        (exchange, step): (&Exchange, Option<&str>),
        awaited: Awaited,
        deadline: Instant,
    ) -> Result<Option<Reply>, Trouble> {
        if let Some(heard) = self.journal.as_mut().and_then(CallJournal::take_heard) {
            return Ok(Some(self.heard(step, heard)));
        }
        let until = match awaited {
            Awaited::Call => deadline,
            Awaited::CallOrAsk(every) => deadline.min(Instant::now() + every),
        };
        let called = async {
            match &mut self.callback {
                Some(callback) => callback.called().await,
                None => None,
            }
        };
        match timeout_at(until, called).await {
            Ok(Some((Called { headers, body }, written))) => {
                let texts = headers
                    .iter()
                    .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
                let heard = Heard { headers: texts.collect(), body: body.to_vec() };
                self.write(exchange, false, Some(heard.clone()), deadline).await?;
                // Who has hung up calls again, and is told that it was taken.
                let _ = written.send(());
                Ok(Some(self.heard(step, heard)))
            }
            // Nobody can call any more: an ask that is only tried has no address.
            Ok(None) if awaited == Awaited::Call => Err(Trouble::NotCalled),
            Err(_) if until == deadline => Err(Trouble::NotCalled),
            Ok(None) | Err(_) => Ok(None),
        }
    }

    /// A partner's call as an answer, which the transcript takes down too.
    fn heard(&mut self, step: Option<&str>, heard: Heard) -> Reply {
        let reply = reply(heard);
        if let Some(transcript) = &mut self.transcript {
            transcript.heard(CalledBy::Partner, step, &reply.headers, &reply.body);
        }
        reply
    }

    /// Has it on the disk how far they are, and whether the call that they have come to is about to be `sent`.
    ///
    /// # Errors
    /// That it is not, so that nothing may be sent.
    pub(super) async fn note(
        &self,
        exchange: &Exchange,
        sent: bool,
        deadline: Instant,
    ) -> Result<(), Trouble> {
        self.write(exchange, sent, None, deadline).await
    }

    async fn write(
        &self,
        exchange: &Exchange,
        sent: bool,
        heard: Option<Heard>,
        deadline: Instant,
    ) -> Result<(), Trouble> {
        let Some(journal) = &self.journal else { return Ok(()) };
        match timeout_at(deadline, journal.write(exchange, sent, heard)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Trouble::Unrecorded),
        }
    }

    /// Waits until it is decided whether a bid, dollars, is chosen.
    ///
    /// # Errors
    /// That it is not, and why.
    pub(super) async fn choose(&mut self, post: Post, bid: f64, deadline: Instant) -> Result<(), Trouble> {
        let Post { floor, best, wait } = post;
        if bid < floor {
            let cause = format!("its bid of ${bid:.2} is below its floor of ${floor:.2}");
            return Err(Trouble::NotSent(NoOfferReason::BelowFloor, cause));
        }
        let Some(bidder) = self.bidder.take() else { return Ok(()) };
        let Some(best) = best else {
            bidder.bid_alone(bid);
            return Ok(());
        };
        let now = Instant::now();
        let patience = wait.unwrap_or_else(|| deadline.saturating_duration_since(now) / 2);
        let cause = match bidder.bid(bid, deadline.min(now + patience)).await {
            Some(before) if before < best => return Ok(()),
            Some(before) => {
                format!(
                    "its bid of ${bid:.2} is number {} of the bids, and the best {best} are sent the lead",
                    before + 1
                )
            }
            None => format!("its bid of ${bid:.2} came when it was decided who is sent the lead"),
        };
        Err(Trouble::NotSent(NoOfferReason::Outbid, cause))
    }
}

/// A partner's call as an answer.
fn reply(Heard { headers, body }: Heard) -> Reply {
    let header = |(name, value): (String, String)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
    };
    Reply {
        status: StatusCode::OK,
        headers: headers.into_iter().filter_map(header).collect(),
        body: body.into(),
        sent: 0,
        took: Phases::default(),
    }
}

/// Tells nothing of what partners have answered.
impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").field("bidder", &self.bidder).finish_non_exhaustive()
    }
}
