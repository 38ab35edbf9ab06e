//! What an ask of several calls needs beside its question: what is on the disk of them, its part in the bidding, and what the partner
//! calls us with.

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::afterwards::Afterwards;
use super::bidding::{Bidder, IsPaused};
use super::call_journal::CallJournal;
use super::callbacks::{Callback, Called, Heed};
use super::late_asks::AnswerReader;
use super::partner_clients::Trouble;
use super::sent_once::SENT_BEFORE;
use super::transcripts::Recorder;
use crate::rate_table::bids::{Place, in_words, price};
use crate::rate_table::call_record::Heard;
use crate::rate_table::outcome::NoOfferReason;
use crate::rate_table::transcript::CalledBy;
use offerd_model::RejectReason;
use offerd_partners::http::{Awaited, Exchange, HttpSource, Post};
use offerd_wire::{Phases, Reply};

/// The calls of one ask. One that is only tried has none of it. They hold what partners have answered, so they are not `Debug`.
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
    /// Whether the partner is paused from the command line.
    pub is_paused: Option<IsPaused>,
    /// Why the partner's last call could not be read.
    pub unreadable: Option<String>,
    /// Where it is taken down what comes of it too late.
    pub afterwards: Option<Afterwards>,
}

impl Calls {
    /// Where they begin, or go on after a restart; `None` at their beginning.
    ///
    /// # Errors
    /// That a call which is made but once may have been sent.
    pub(super) fn taken_up(&self, source: &HttpSource) -> Result<Option<Exchange>, Trouble> {
        let found = self.journal.as_ref().and_then(|journal| journal.found.as_ref());
        let Some(found) = found else { return Ok(None) };
        // A file that has changed meanwhile may have other steps; what was sent before is not sent again.
        let exchange = source.taken_up(&found.progress()).filter(|_| !found.sent).ok_or(Trouble::Unsure)?;
        // Where they are shown before it is posted, its offers were in the answer to the ping.
        Ok((!source.post.when_shown()).then_some(exchange))
    }

    /// Waits for a call of the partner's that is its answer, as the reader reads it; `None` when it is time to ask.
    ///
    /// # Errors
    /// That the time for it has run out.
    pub(super) async fn called(
        &mut self,
        (exchange, step): (&Exchange, Option<&str>),
        awaited: Awaited,
        deadline: Instant,
        reader: Option<&AnswerReader>,
    ) -> Result<Option<Reply>, Trouble> {
        // It may have called before a restart.
        let found = self.journal.as_mut().and_then(|journal| journal.found.as_mut());
        if let Some(heard) = found.and_then(|found| found.heard.take()) {
            return Ok(Some(self.heard(step, heard)));
        }
        let until = match awaited {
            Awaited::Call => deadline,
            Awaited::CallOrAsk(every) => deadline.min(Instant::now() + every),
        };
        loop {
            let called = async {
                match &mut self.callback {
                    Some(callback) => callback.called().await,
                    None => None,
                }
            };
            match timeout_at(until, called).await {
                Ok(Some((called, heeded))) => {
                    let heard = heard(called);
                    let reply = self.heard(step, heard.clone());
                    let heed = match reader {
                        Some(reader) => reader.heed(exchange, &reply).await,
                        None => Heed::Taken,
                    };
                    let is_taken = heed == Heed::Taken;
                    if is_taken {
                        self.write(exchange, false, Some(heard), deadline).await?;
                        self.callback.iter_mut().for_each(Callback::close);
                    }
                    if let Heed::Unreadable { located, .. } = &heed {
                        self.unreadable = Some(located.clone());
                    }
                    // Who has hung up calls again, and is told that it was taken.
                    let _ = heeded.send(heed);
                    if is_taken {
                        return Ok(Some(reply));
                    }
                }
                // Nobody can call any more: an ask that is only tried has no address.
                Ok(None) if awaited == Awaited::Call => return Err(Trouble::NotCalled),
                Ok(None) => sleep_until(until).await,
                Err(_) => {}
            }
            if Instant::now() >= until {
                return if until == deadline { Err(Trouble::NotCalled) } else { Ok(None) };
            }
        }
    }

    /// Why an ask has come to nothing: where its time ran out, that what the partner called with could not be read, or was not
    /// signed.
    pub(super) fn cause(&mut self, trouble: Trouble) -> Trouble {
        let was_unsigned = self.callback.as_ref().is_some_and(Callback::was_unsigned);
        match self.unreadable.take() {
            _ if !trouble.is_timeout() => trouble,
            Some(located) => Trouble::Answer(located),
            None if was_unsigned => Trouble::Unsigned,
            None => trouble,
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

    /// Has it on the disk how far they are.
    ///
    /// # Errors
    /// That it is not.
    pub(super) async fn note(&self, exchange: &Exchange, deadline: Instant) -> Result<(), Trouble> {
        self.write(exchange, false, None, deadline).await
    }

    /// Has it on the disk that the call that they have come to is about to be sent, which is made but once for the ask, or for the lead.
    ///
    /// # Errors
    /// That it is not, or that the partner has it already or is paused, so that nothing may be sent.
    pub(super) async fn send(
        &self,
        exchange: &Exchange,
        once_a_lead: bool,
        deadline: Instant,
    ) -> Result<(), Trouble> {
        match &self.journal {
            Some(journal) if once_a_lead => match timeout_at(deadline, journal.claim(exchange)).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => {
                    let again = NoOfferReason::Rejected(RejectReason::Duplicate);
                    return Err(Trouble::NotSent(again, SENT_BEFORE.to_owned()));
                }
                Ok(Err(_)) | Err(_) => return Err(Trouble::Unrecorded),
            },
            _ => self.write(exchange, true, None, deadline).await?,
        }
        self.go_on_unless_paused()
    }

    fn go_on_unless_paused(&self) -> Result<(), Trouble> {
        if !self.is_paused.as_ref().is_some_and(|is_paused| is_paused()) {
            return Ok(());
        }
        Err(Trouble::NotSent(NoOfferReason::Paused, "it was paused from the command line".to_owned()))
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
        let Post { floor, best, wait, .. } = post;
        // Who is paused leaves its place to others.
        self.go_on_unless_paused()?;
        let its_bid = in_words(bid);
        if let Some(floor) = floor.filter(|floor| bid < *floor) {
            let cause = format!("{its_bid} is below its floor of {}", price(floor));
            return Err(Trouble::NotSent(NoOfferReason::BelowFloor, cause));
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
            None => format!("{its_bid} came when it was decided who is sent the lead"),
        };
        Err(Trouble::NotSent(NoOfferReason::Outbid, cause))
    }
}

/// That a bid at a place is not among the best.
fn not_among(place: Place, best: usize) -> String {
    let number = place.before() + 1;
    let equal = match place.equal {
        0 => String::new(),
        equal => format!(", behind {equal} of the same height that stood before it at the table"),
    };
    match best {
        1 => format!("is number {number} of the bids{equal}, and only the best is sent the lead"),
        best => format!("is number {number} of the bids{equal}, and only the best {best} are sent the lead"),
    }
}

pub(super) fn heard(Called { headers, body }: Called) -> Heard {
    let texts =
        headers.iter().filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    Heard { headers: texts.collect(), body: body.to_vec() }
}

/// A partner's call as an answer.
pub(super) fn reply(Heard { headers, body }: Heard) -> Reply {
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
