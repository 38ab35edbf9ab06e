//! Clients that submit leads at a rate, and write down what they were answered.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;
use serde_json::json;

use super::acknowledged::{Acknowledged, Answered};
use super::caller::Caller;
use crate::kit::Answer;

/// Clients at once.
const CLIENTS: u64 = 8;

/// The four loads of the campaigns: leads a second; 0 is as many as the machine takes.
pub const RATES: [u64; 4] = [0, 700, 240, 75];

/// Longest wait for an answer under load.
const BOUND: Duration = Duration::from_secs(30);

/// A load that goes on until it is stopped.
pub struct Load<'l> {
    rate: u64,
    mark: Box<dyn Fn() -> u64 + Send + Sync + 'l>,
    answers: Mutex<Vec<Answered>>,
    refused: AtomicU64,
    stopped: AtomicBool,
    publishable: String,
    confidential: String,
}

/// The two tokens of a company, the publishable one first.
pub type Tokens = (String, String);

impl<'l> Load<'l> {
    /// `mark` tells the moment of an answer, as the length of a recording or otherwise.
    pub fn new(
        rate: u64,
        (publishable, confidential): Tokens,
        mark: impl Fn() -> u64 + Send + Sync + 'l,
    ) -> Self {
        Self {
            rate,
            mark: Box::new(mark),
            answers: Mutex::default(),
            refused: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            publishable,
            confidential,
        }
    }

    /// Goes on until it is stopped or the daemon is gone.
    pub async fn run(&self, caller: &Caller, rng: &mut Rng) {
        let pause = (self.rate > 0).then(|| Duration::from_micros(CLIENTS * 1_000_000 / self.rate));
        join_all((0..CLIENTS).map(|nth| self.client(caller, rng.fork(), nth, pause))).await;
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// What was acknowledged so far.
    pub fn acknowledged(&self) -> Acknowledged {
        let answers = self.answers.lock().unwrap().clone();
        Acknowledged {
            publishable: self.publishable.clone(),
            confidential: self.confidential.clone(),
            answers,
        }
    }

    /// How many answers there are.
    pub fn count(&self) -> usize {
        self.answers.lock().unwrap().len()
    }

    /// How many submits were refused, which is no promise.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    async fn client(&self, caller: &Caller, mut rng: Rng, nth: u64, pause: Option<Duration>) {
        let mut ticks = pause.map(|pause| {
            let first = tokio::time::Instant::now() + pause.mul_f64(nth as f64 / CLIENTS as f64);
            tokio::time::interval_at(first, pause)
        });
        while !self.stopped.load(Ordering::Relaxed) {
            if let Some(ticks) = &mut ticks {
                ticks.tick().await;
            }
            let Some(answer) = caller.submit(&self.publishable, lead(&mut rng), BOUND).await else { return };
            let Some(answered) = self.note(&answer) else {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            };
            if !answered.is_complete() && rng.bool() {
                tokio::time::sleep(Duration::from_millis(60)).await;
                let path = format!("/originator/rateTables/{}", answered.table);
                let Ok(answer) = caller.get(&self.confidential, &path, BOUND).await else { return };
                self.note(&answer);
            }
        }
    }

    /// Writes an answer down that tells of a table.
    fn note(&self, answer: &Answer) -> Option<Answered> {
        // Read when the answer has come: what it promises was recorded before.
        let at = (self.mark)();
        if answer.status != 200 {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let answered = Answered::new(at, answer);
        self.answers.lock().unwrap().push(answered.clone());
        Some(answered)
    }
}

/// Most leads have complete tables at once, some wait for a partner.
fn lead(rng: &mut Rng) -> String {
    let kind = if rng.u8(0..4) == 0 { "loan" } else { "savings" };
    json!({
        "productTypes": [kind],
        "loanInformation": {"loanAmount": rng.i32(2_000..40_000)},
        "creditInformation": {"providedCreditRating": "good"},
        "personalInformation": {"firstName": "Ada", "lastName": "Example", "email": format!("a{}@b.example", rng.u32(..))},
    })
    .to_string()
}
