//! One partner's side of one rate table: a seat that answers, fails, panics, or stays silent.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use metrics::counter;
use tokio::time::{Instant, sleep};

use super::call_facts::CallFacts;
use super::calls::Calls;
use super::late_asks::AnswerReader;
use super::partner_clients::{PartnerClient, Rendered};
use super::question::Question;
use super::replies::Reply;
use super::trigger::Trigger;
use crate::rate_table::outcome::{AskEnd, Failure, NoOfferReason, Outcome};
use offerd_base::telemetry::metrics::OFFERS_CUT;
use offerd_base::telemetry::traces::TraceContext;
use offerd_partners::declared::{FailureKind, Simulate};
use offerd_partners::{Quote, Seat};

/// The cause of what the client tag `sandbox` brings about.
const TRIGGERED: &str = "as the client tag `sandbox` of the lead says";

/// Asks one partner about one product type for one rate table, and ends with its outcome. A panic in it drops the reply, which is an
/// outcome too.
pub struct PartnerActor;

/// What a partner is asked, and within which time.
pub struct RequestOffers {
    /// The seat.
    pub seat: Arc<Seat>,
    /// Offers whose rules fit the lead, by position.
    pub offers: Vec<usize>,
    /// Most offers it may answer with.
    pub most: usize,
    /// How it is reached, when it lives elsewhere.
    pub client: Option<PartnerClient>,
    /// What is asked.
    pub question: Arc<Question>,
    /// Its request, when that was made before and the partner is asked over HTTP.
    pub rendered: Option<Rendered>,
    /// What its calls need, where there are several.
    pub calls: Calls,
    /// Drawn from the table's own id; decides what a simulated partner does.
    pub draw: u64,
    /// Time to answer in.
    pub budget: Duration,
    /// The span of the ask, for a partner that goes on with its trace.
    pub trace: Option<TraceContext>,
    /// What the answer is given to.
    pub reply: Reply,
}

impl Actor for PartnerActor {
    type Context = Context<Self>;
}

impl Message for RequestOffers {
    type Result = ();
}

impl Handler<RequestOffers> for PartnerActor {
    type Result = ();

    fn handle(&mut self, request: RequestOffers, context: &mut Context<Self>) {
        context.spawn(request.answered().into_actor(self));
    }
}

impl RequestOffers {
    /// Has the answer given: at once, or when what it waits for has come.
    async fn answered(mut self) {
        let Self { question, seat, .. } = &self;
        let trigger = question.asked.test.then(|| Trigger::of(&question.lead, &seat.identity.key)).flatten();
        match trigger {
            None => {}
            Some(Trigger::Ends(outcome)) => return self.reply.send(outcome.because(TRIGGERED)),
            Some(Trigger::Silence) => {
                sleep(self.budget).await;
                return self.reply.send(Outcome::TimedOut.because(TRIGGERED));
            }
            Some(Trigger::Slow) => {
                self.budget /= 2;
                sleep(self.budget).await;
            }
        }
        match self.client.take() {
            Some(client) => self.call(client).await,
            None => self.simulate().await,
        }
    }

    /// Has a partner answer that lives elsewhere.
    async fn call(self, client: PartnerClient) {
        let Self { seat, offers, most, question, rendered, calls, budget, trace, mut reply, .. } = self;
        let deadline = Instant::now() + budget;
        let reader = AnswerReader::new(seat, offers, question, deadline, calls.afterwards.clone());
        let mut facts = CallFacts::default();
        let end = client.ask(&reader, (rendered, calls), (trace.as_ref(), &mut facts)).await;
        reply.tell(facts);
        let outcome = match end.outcome {
            Outcome::Offers(quotes) => Outcome::Offers(best(&reader.seat, quotes, most)),
            other => other,
        };
        reply.send(AskEnd { outcome, ..end });
    }

    /// Has the catalog answer, when and as the partner's file says that it is simulated.
    async fn simulate(self) {
        let Self { seat, offers, most, question, draw, budget, reply, .. } = self;
        let answer = catalog_answer(&seat, &offers, most, &question);
        let Some(simulate) = seat.simulate else { return reply.send(answer) };
        let fate = Fate::drawn(&simulate, draw);
        let failure = fate.fails.then_some(simulate.failure);
        let is_late = fate.delay >= budget || failure == Some(FailureKind::Silence);
        sleep(if is_late { budget } else { fate.delay }).await;
        reply.send(match failure {
            _ if is_late => Outcome::TimedOut,
            None => answer,
            Some(FailureKind::Panic) => panic!("simulated panic of a partner"),
            Some(_) => Outcome::Failed(Failure::Refused),
        });
    }
}

/// The answer of a seat's catalog with offers of it that fit, `most` at most.
pub(super) fn catalog_answer(seat: &Seat, offers: &[usize], most: usize, question: &Question) -> Outcome {
    let facts = question.facts();
    let quotes = offers.iter().filter_map(|offer| seat.offers[*offer].quote(&facts));
    let quotes = best(seat, quotes.collect(), most);
    if quotes.is_empty() { Outcome::NoOffers(NoOfferReason::Declined) } else { Outcome::Offers(quotes) }
}

/// As many quotes as a seat may have, those with the highest score.
fn best(seat: &Seat, quotes: Vec<Quote>, most: usize) -> Vec<Quote> {
    if quotes.len() > most {
        let cut = quotes.len() - most;
        counter!(OFFERS_CUT, "partner" => seat.identity.key.clone()).increment(cut as u64);
    }
    highest(quotes, most)
}

/// So many of the quotes, those with the highest score.
pub fn highest(mut quotes: Vec<Quote>, most: usize) -> Vec<Quote> {
    if quotes.len() > most {
        quotes.sort_by(|one, two| two.score.total_cmp(&one.score));
        quotes.truncate(most);
    }
    quotes
}

/// What a simulated partner does with one ask: the same for the same draw, so that a table can be told again.
struct Fate {
    delay: Duration,
    fails: bool,
}

impl Fate {
    fn drawn(simulate: &Simulate, draw: u64) -> Self {
        // Two fractions from 0 to 1 out of one draw.
        let fraction = |bits: u64| (bits & 0xffff_ffff) as f64 / f64::from(u32::MAX);
        let spread = simulate.delay_max.map_or(Duration::ZERO, |longest| longest - simulate.delay);
        Self {
            delay: simulate.delay + spread.mul_f64(fraction(draw)),
            fails: fraction(draw >> 32) < simulate.failure_rate || simulate.failure_rate >= 1.0,
        }
    }
}
