//! One partner's side of one rate table: a seat that answers, fails, panics, or stays silent.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use metrics::counter;
use tokio::time::{Instant, sleep};

use super::call_facts::CallFacts;
use super::messages::RequestOffers;
use super::partner_clients::PartnerClient;
use super::question::Question;
use super::trigger::Trigger;
use crate::partners::declared::{FailureKind, Simulate};
use crate::partners::{Quote, Seat};
use crate::rate_table::outcome::{AskEnd, Failure, NoOfferReason, Outcome};
use crate::telemetry::metrics::OFFERS_CUT;

/// The cause of what the client tag `sandbox` brings about.
const TRIGGERED: &str = "as the client tag `sandbox` of the lead says";

/// Answers for one seat of one rate table.
#[derive(Debug, Clone)]
pub struct PartnerActor {
    seat: Arc<Seat>,
    /// Offers whose rules fit the lead, by position.
    offers: Vec<usize>,
    /// Most offers it may answer with.
    most: usize,
    /// How it is reached, when it lives elsewhere.
    client: Option<PartnerClient>,
}

impl PartnerActor {
    /// A seat with the offers that fit.
    pub fn new(seat: Arc<Seat>, offers: Vec<usize>, most: usize, client: Option<PartnerClient>) -> Self {
        Self { seat, offers, most, client }
    }

    /// Has the answer of a partner that lives elsewhere given, in a task of its own: a panic in it drops the reply, which is an
    /// outcome.
    fn ask(&self, client: PartnerClient, request: RequestOffers) {
        let (seat, offers, most) = (Arc::clone(&self.seat), self.offers.clone(), self.most);
        let RequestOffers { question, rendered, calls, budget, trace, mut reply, .. } = request;
        let deadline = Instant::now() + budget;
        actix_rt::spawn(async move {
            let mut facts = CallFacts::default();
            let asked = client.ask(
                &seat,
                &offers,
                &question,
                (rendered, calls),
                (trace.as_ref(), &mut facts),
                deadline,
            );
            let end = asked.await;
            reply.tell(facts);
            let outcome = match end.outcome {
                Outcome::Offers(quotes) => Outcome::Offers(best(&seat, quotes, most)),
                other => other,
            };
            reply.send(AskEnd { outcome, ..end });
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

impl Actor for PartnerActor {
    type Context = Context<Self>;
}

impl Handler<RequestOffers> for PartnerActor {
    type Result = ();

    fn handle(&mut self, request: RequestOffers, _: &mut Context<Self>) {
        let question = &request.question;
        let trigger =
            question.asked.test.then(|| Trigger::of(&question.lead, &self.seat.identity.key)).flatten();
        match trigger {
            None => self.answered(request),
            Some(Trigger::Ends(outcome)) => request.reply.send(outcome.because(TRIGGERED)),
            Some(Trigger::Silence) => {
                actix_rt::spawn(async move {
                    sleep(request.budget).await;
                    request.reply.send(Outcome::TimedOut.because(TRIGGERED));
                });
            }
            Some(Trigger::Slow) => {
                let actor = self.clone();
                actix_rt::spawn(async move {
                    let half = request.budget / 2;
                    sleep(half).await;
                    actor.answered(RequestOffers { budget: half, ..request });
                });
            }
        }
    }
}

impl PartnerActor {
    /// Has the request answered: at once, or when what it waits for has come.
    fn answered(&self, request: RequestOffers) {
        if let Some(client) = self.client.clone() {
            return self.ask(client, request);
        }
        let answer = catalog_answer(&self.seat, &self.offers, self.most, &request.question);
        let Some(simulate) = self.seat.simulate else {
            return request.reply.send(answer);
        };
        let RequestOffers { draw, budget, reply, .. } = request;
        let fate = Fate::drawn(&simulate, draw);
        let failure = fate.fails.then_some(simulate.failure);
        let is_late = fate.delay >= budget || failure == Some(FailureKind::Silence);
        actix_rt::spawn(async move {
            sleep(if is_late { budget } else { fate.delay }).await;
            reply.send(match failure {
                _ if is_late => Outcome::TimedOut,
                None => answer,
                Some(FailureKind::Panic) => panic!("simulated panic of a partner"),
                Some(_) => Outcome::Failed(Failure::Refused),
            });
        });
    }
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
