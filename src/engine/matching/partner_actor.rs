//! Asks one partner for one rate table: the seat answers, fails, panics or stays silent.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use metrics::counter;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::answer_reader::AnswerReader;
use super::ask_session::AskSession;
use super::call_facts::CallFacts;
use super::partner_clients::{PartnerClient, Rendered};
use super::question::LeadQuestion;
use super::replies::OwedReply;
use super::trigger::Trigger;
use crate::rate_table::outcome::{AskFailure, AskResult, NoOfferReason, Outcome};
use offerd_base::telemetry::metrics::OFFERS_CUT;
use offerd_base::telemetry::traces::TraceContext;
use offerd_partners::declared::{FailureKind, Simulate};
use offerd_partners::{Quote, Seat};

const TRIGGERED: &str = "as the client tag `sandbox` of the lead says";

/// The cause of a failure that `simulate` draws.
const SIMULATED: &str = "simulated failure";

/// Asks one partner about one product type for one rate table. A panic drops the reply: an outcome too.
pub struct PartnerActor;

/// A request to a partner.
pub struct RequestOffers {
    /// The seat.
    pub seat: Arc<Seat>,
    /// The offers whose rules fit the lead, by position.
    pub offers: Vec<usize>,
    /// Most offers in its answer.
    pub most: usize,
    /// The client of a remote partner.
    pub client: Option<PartnerClient>,
    /// The question.
    pub question: Arc<LeadQuestion>,
    /// The rendered request, if an HTTP partner's was prepared.
    pub rendered: Option<Rendered>,
    /// The session of an HTTP partner's calls.
    pub session: AskSession,
    /// The rate table, by which a simulated partner draws how it behaves.
    pub table: Uuid,
    /// The time to answer.
    pub budget: Duration,
    /// The span of the ask, for a partner that continues the trace.
    pub trace: Option<TraceContext>,
    /// Receives the answer.
    pub reply: OwedReply,
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
        context.spawn(request.ask().into_actor(self));
    }
}

impl RequestOffers {
    async fn ask(mut self) {
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

    async fn call(self, client: PartnerClient) {
        let Self { seat, offers, most, question, rendered, session, budget, trace, mut reply, .. } = self;
        let begun = Instant::now();
        let (deadline, afterwards) = (begun + budget, session.afterwards.clone());
        let reader = AnswerReader { seat, offers, question, begun, deadline, afterwards };
        let mut facts = CallFacts::default();
        let result = client.ask(&reader, (rendered, session), (trace.as_ref(), &mut facts)).await;
        reply.tell(facts);
        let outcome = match result.outcome {
            Outcome::Offers(quotes) => Outcome::Offers(best(&reader.seat, quotes, most)),
            other => other,
        };
        reply.send(AskResult { outcome, ..result });
    }

    async fn simulate(self) {
        let Self { seat, offers, most, question, table, budget, reply, .. } = self;
        let answer = catalog_answer(&seat, &offers, most, &question);
        let Some(simulate) = seat.simulate else { return reply.send(answer) };
        let fate = SimulatedFate::drawn(&simulate, &seat, table);
        let failure = fate.fails.then_some(simulate.failure);
        let is_late = fate.delay >= budget || failure == Some(FailureKind::Silence);
        sleep(if is_late { budget } else { fate.delay }).await;
        reply.send(match failure {
            Some(FailureKind::Silence) => Outcome::TimedOut.because(SIMULATED),
            _ if is_late => Outcome::TimedOut.into(),
            None => answer.into(),
            Some(FailureKind::Panic) => panic!("simulated panic of a partner"),
            Some(FailureKind::Error) => Outcome::Failed(AskFailure::Refused).because(SIMULATED),
        });
    }
}

pub(super) fn catalog_answer(seat: &Seat, offers: &[usize], most: usize, question: &LeadQuestion) -> Outcome {
    let facts = question.facts();
    let quotes = offers.iter().filter_map(|offer| seat.offers[*offer].quote(&facts, true));
    let quotes = best(seat, quotes.collect(), most);
    if quotes.is_empty() { Outcome::NoOffers(NoOfferReason::Declined) } else { Outcome::Offers(quotes) }
}

fn best(seat: &Seat, quotes: Vec<Quote>, most: usize) -> Vec<Quote> {
    if quotes.len() > most {
        let cut = quotes.len() - most;
        counter!(OFFERS_CUT, "partner" => seat.identity.key.clone()).increment(cut as u64);
    }
    highest(quotes, most)
}

/// At most `most` quotes, those with the highest scores.
pub fn highest(mut quotes: Vec<Quote>, most: usize) -> Vec<Quote> {
    if quotes.len() > most {
        quotes.sort_by(|one, two| two.score.total_cmp(&one.score));
        quotes.truncate(most);
    }
    quotes
}

/// How a simulated partner treats one ask. Depends only on the table, which can be replayed.
struct SimulatedFate {
    delay: Duration,
    fails: bool,
}

impl SimulatedFate {
    fn drawn(simulate: &Simulate, seat: &Seat, table: Uuid) -> Self {
        let spread = simulate.delay_max.map_or(Duration::ZERO, |longest| longest - simulate.delay);
        Self {
            delay: simulate.delay + spread.mul_f64(seat.draw("delay", table)),
            fails: seat.draw("failure", table) < simulate.failure_rate,
        }
    }
}
