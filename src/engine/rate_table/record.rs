//! The stored form of a rate table: its head, and its answers in the order of arrival. Folding the answers
//! over the head restores the table byte for byte ([`super::table`]). Later decisions, and the calls of an
//! ask of several, have records of their own.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::outcome::{Cause, Outcome};
use super::reason::Denied;
use super::treatment::Treatment;
use offerd_partners::http::StoredAskProgress;
use offerd_partners::ranking::{ConversionFrom, ObservedClicks, Parts, Ranking, ScoreBreakdown};
use offerd_partners::{Fingerprint, Quote, Template};

/// A table's head. Written once, with the lead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableHead {
    /// The table.
    pub uuid: Uuid,
    /// The lead it belongs to.
    pub lead: Uuid,
    /// The company it belongs to.
    pub company: Uuid,
    /// Whether it was made with a test token.
    pub test: bool,
    /// The lead's loan amount when the table was made, dollars.
    pub loan_amount: Option<i32>,
    /// Whether the lead wants loans, which makes second look wait.
    pub wants_loans: bool,
    /// When it was made, Unix milliseconds.
    pub created_at: i64,
    /// When it must be complete, Unix milliseconds.
    pub deadline: i64,
    /// The asked or held seats, each by the fingerprint of its template.
    pub seats: Vec<Fingerprint>,
    /// The fingerprint of the partner files in force.
    pub book: Fingerprint,
    /// The seats that fit the lead but have no place, at most [`MAX_NOT_SEATED`].
    #[serde(rename = "kept_out")]
    pub not_seated: Vec<NotSeated>,
    /// The lead's variant of each experiment rule that ran when the table was made.
    pub treatments: Vec<Treatment>,
}

impl TableHead {
    /// The time from creation to the deadline.
    pub fn time_limit(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.deadline - self.created_at).unwrap_or(0))
    }
}

/// A seat that fits the lead but has no place at the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotSeated {
    /// The seat, by the fingerprint of its template.
    pub seat: Fingerprint,
    /// What denied it a place; `None` when the table was full.
    pub by: Option<Denied>,
}

/// The outcome of one seat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeatOutcome {
    /// Position of the seat in the head.
    pub seat: u16,
    /// When it was recorded, Unix milliseconds.
    pub at: i64,
    /// How the ask ended.
    pub outcome: Outcome,
    /// The cause in words, if known.
    pub cause: Option<Cause>,
}

/// Answers that were written together, each with its ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// The answers in the order of arrival.
    pub answers: Vec<SeatOutcome>,
    /// The ask of each answer, in the same order; `None` for a seat that was not asked.
    pub asked: Vec<Option<Ask>>,
    /// The expiry times that partners set on offers.
    pub expiries: Vec<OfferExpiry>,
    /// Offer texts that differ from the partner file, which may be personal: sealed with the answers.
    pub texts: Vec<OwnText>,
    /// The score components of ranked offers; empty without a ranking.
    pub rankings: Vec<RankedOffers>,
}

/// An offer's expiry, as set by its partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferExpiry {
    /// Position of the answer in its record.
    pub answer: u16,
    /// Position of the offer in the answer.
    pub offer: u16,
    /// Unix milliseconds.
    pub at: i64,
}

/// An offer text that differs from the partner file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnText {
    /// Position of the answer in its record.
    pub answer: u16,
    /// Positions in the answer of the offers with this text.
    pub offers: Vec<u16>,
    /// The template, in the format of stored templates.
    pub template: String,
}

/// Offers ranked by the same ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedOffers {
    /// The ranking in force at the time.
    pub by: Ranking,
    /// The offers.
    pub offers: Vec<RankedOffer>,
}

/// The components of an offer's score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RankedOffer {
    /// Position of the answer in its record.
    pub answer: u16,
    /// Position of the offer in the answer.
    pub offer: u16,
    /// The components.
    pub parts: Parts,
    /// The source of the conversion estimate.
    pub from: ConversionFrom,
    /// The clicks and conversions observed there.
    pub seen: ObservedClicks,
}

/// The start and the budget of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Milliseconds since the table was made.
    pub after_ms: u32,
    /// Its budget, milliseconds.
    pub budget_ms: u32,
}

impl AnswerRecord {
    /// A record to write from answers and their asks.
    pub fn new(answers: Vec<SeatOutcome>, asked: Vec<Option<Ask>>) -> Self {
        assert_eq!(answers.len(), asked.len(), "each answer has an ask or none");
        let expiry = |(answer, offer, quote): (u16, u16, &Quote)| {
            quote.expires_at.map(|at| OfferExpiry { answer, offer, at })
        };
        let expiries = offers_of(&answers).filter_map(expiry).collect();
        let (texts, rankings) = (own_texts(&answers), rankings(&answers));
        Self { answers, asked, expiries, texts, rankings }
    }

    /// Moves expiries, texts and rankings back into the offers of a record that was read.
    #[must_use]
    pub fn with_complete_offers(mut self) -> Self {
        let answers = &mut self.answers;
        for OfferExpiry { answer, offer, at } in &self.expiries {
            if let Some(quote) = offer_of(answers, *answer, *offer) {
                quote.expires_at = Some(*at);
            }
        }
        for OwnText { answer, offers, template } in &self.texts {
            let template = Template::read(Fingerprint::of(template), template).map(Arc::new);
            for offer in offers {
                if let Some(quote) = offer_of(answers, *answer, *offer) {
                    quote.own.clone_from(&template);
                }
            }
        }
        for RankedOffers { by, offers } in &self.rankings {
            let by = Arc::new(by.clone());
            for RankedOffer { answer, offer, parts, from, seen } in offers {
                if let Some(quote) = offer_of(answers, *answer, *offer) {
                    let (by, parts, from, seen) = (Arc::clone(&by), *parts, *from, *seen);
                    quote.ranked = Some(Box::new(ScoreBreakdown { by, parts, from, seen }));
                }
            }
        }
        self
    }

    /// Each answer with its ask; `None` for a seat that was not asked.
    pub fn each(self) -> impl Iterator<Item = (SeatOutcome, Option<Ask>)> {
        self.answers.into_iter().zip(self.asked)
    }
}

fn offers_of(answers: &[SeatOutcome]) -> impl Iterator<Item = (u16, u16, &Quote)> {
    (0..).zip(answers).flat_map(|(nth, answer)| {
        (0..).zip(answer.outcome.quotes()).map(move |(offer, quote)| (nth, offer, quote))
    })
}

fn offer_of(answers: &mut [SeatOutcome], answer: u16, offer: u16) -> Option<&mut Quote> {
    match &mut answers.get_mut(usize::from(answer))?.outcome {
        Outcome::Offers(quotes) => quotes.get_mut(usize::from(offer)),
        _ => None,
    }
}

fn rankings(answers: &[SeatOutcome]) -> Vec<RankedOffers> {
    let mut rankings: Vec<RankedOffers> = Vec::new();
    for (answer, offer, quote) in offers_of(answers) {
        let Some(ranked) = &quote.ranked else { continue };
        let ScoreBreakdown { ref by, parts, from, seen } = **ranked;
        let ranked = RankedOffer { answer, offer, parts, from, seen };
        match rankings.iter_mut().find(|known| known.by == **by) {
            Some(known) => known.offers.push(ranked),
            None => rankings.push(RankedOffers { by: (**by).clone(), offers: vec![ranked] }),
        }
    }
    rankings
}

fn own_texts(answers: &[SeatOutcome]) -> Vec<OwnText> {
    let mut texts: Vec<(Fingerprint, OwnText)> = Vec::new();
    for (answer, offer, quote) in offers_of(answers) {
        let Some(own) = &quote.own else { continue };
        let mut of_answer = texts.iter_mut().rev().take_while(|(_, text)| text.answer == answer);
        match of_answer.find(|(fingerprint, _)| *fingerprint == own.fingerprint) {
            Some((_, text)) => text.offers.push(offer),
            None => {
                texts.push((own.fingerprint, OwnText { answer, offers: vec![offer], template: own.stored() }))
            }
        }
    }
    texts.into_iter().map(|(_, text)| text).collect()
}

/// The decisions on a table's seats after its head, written with the answers that cause them. Keyed by rate
/// table; absent where the head records everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaterDecisions {
    /// When second look began, Unix milliseconds.
    pub second_look_at: Option<i64>,
    /// The seats asked by second look.
    pub released: Vec<u16>,
    /// The seats that were skipped for lack of time.
    #[serde(rename = "spared")]
    pub skipped: Vec<u16>,
    /// The seats left out of second look, with what kept each out; `None` when the table was full.
    pub held_back: Vec<(u16, Option<Denied>)>,
}

impl LaterDecisions {
    /// When second look asked a seat, Unix milliseconds; `None` when it did not.
    pub fn released_at(&self, seat: usize) -> Option<i64> {
        self.second_look_at.filter(|_| self.is_released(seat))
    }

    /// Whether second look asks a seat.
    pub fn is_released(&self, seat: usize) -> bool {
        self.released.iter().any(|released| usize::from(*released) == seat)
    }

    /// Whether a seat was skipped for lack of time.
    pub fn is_skipped(&self, seat: usize) -> bool {
        self.skipped.iter().any(|skipped| usize::from(*skipped) == seat)
    }
}

/// What an ask's calls leave on the disk: their progress, so that a restart repeats no at-most-once call, and
/// what happened after the ask ended. Keyed by rate table and seat; absent where there is neither. Holds
/// partner answers, so it is not `Debug`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// When it was written, Unix milliseconds.
    pub at: i64,
    /// The step of the next call.
    pub step: u8,
    /// Whether the call was about to be sent, as opposed to only being next.
    pub sent: bool,
    /// The partner's bid for the lead, dollars.
    pub bid: Option<f64>,
    /// Values kept from earlier answers, a JSON object.
    pub kept: String,
    /// The partner's callback.
    pub heard: Option<ReceivedCallback>,
    /// What happened after the ask ended.
    pub later: Option<EventAfterAsk>,
}

impl CallRecord {
    /// The position in the sequence of calls.
    pub fn progress(&self) -> StoredAskProgress {
        StoredAskProgress { step: self.step, kept: self.kept.clone(), bid: self.bid }
    }
}

/// What happened after an ask ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventAfterAsk {
    /// When, Unix milliseconds.
    pub at: i64,
    /// The event.
    pub end: EventAfterAskKind,
}

/// An event after an ask ended. Stored by position: append new variants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum EventAfterAskKind {
    /// A late answer with this many offers, which were not shown.
    Offers(u16),
    /// A late answer without offers.
    Declined,
    /// A late answer that was an error or could not be read.
    Failed,
    /// The lead was posted after its offers were shown, and accepted.
    Taken,
    /// The lead was posted after its offers were shown, and not accepted.
    NotTaken,
    /// The lead was posted after its offers were shown; the result is unknown.
    Unclear(Cause),
}

impl EventAfterAskKind {
    /// The sentence for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::Offers(offers) => format!("its answer came too late, with {offers} offers"),
            Self::Declined => "its answer came too late, and had nothing for this lead".to_owned(),
            Self::Failed => "its answer came too late, and could not be read or was an error".to_owned(),
            Self::Taken => "its offers were shown, and it took the lead".to_owned(),
            Self::NotTaken => "its offers were shown, and it did not take the lead".to_owned(),
            Self::Unclear(cause) => {
                format!("its offers were shown; it is unknown whether it took the lead: {cause}")
            }
        }
    }
}

/// A callback by a partner; personal data.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceivedCallback {
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Most recorded seats of a table that fit but have no place.
pub const MAX_NOT_SEATED: usize = 1_000;

/// Bits of the offer number in an offer's UUID (`records::public_ids`).
pub const NUMBER_BITS: u32 = 12;

/// Most numbered offers of a table; further ones are cut and counted.
pub const MAX_OFFERS: u16 = (1 << NUMBER_BITS) - 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::treatment::TreatmentChange;
    use super::*;

    fn any_fingerprint() -> impl Strategy<Value = Fingerprint> {
        any::<[u8; 16]>().prop_map(Fingerprint)
    }

    fn any_head() -> impl Strategy<Value = TableHead> {
        let changes = vec![
            TreatmentChange::Deadline { ms: 2_000 },
            TreatmentChange::OnlyPartners(vec!["lender".to_owned()]),
            TreatmentChange::SecondLook(false),
            TreatmentChange::Ranking("by_value".to_owned()),
        ];
        let changes = prop::sample::subsequence(changes, 0..=4);
        let treatment = (".{0,9}", ".{0,9}", changes).prop_map(|(rule, variant, changes)| Treatment {
            rule,
            variant,
            changes,
        });
        let not_seated = (any_fingerprint(), any::<bool>())
            .prop_map(|(seat, known)| NotSeated { seat, by: known.then_some(Denied::Experiment) });
        (
            any::<[u128; 3]>(),
            (any::<bool>(), any::<Option<i32>>(), any::<bool>(), any::<i64>(), any::<i64>()),
            prop::collection::vec(any_fingerprint(), 0..4),
            prop::collection::vec(not_seated, 0..4),
            prop::collection::vec(treatment, 0..3),
        )
            .prop_map(
                |(
                    uuids,
                    (test, loan_amount, wants_loans, created_at, deadline),
                    seats,
                    not_seated,
                    treatments,
                )| {
                    let [uuid, lead, company] = uuids.map(Uuid::from_u128);
                    let book = Fingerprint([8; 16]);
                    TableHead {
                        uuid,
                        lead,
                        company,
                        test,
                        loan_amount,
                        wants_loans,
                        created_at,
                        deadline,
                        seats,
                        book,
                        not_seated,
                        treatments,
                    }
                },
            )
    }

    fn any_answers() -> impl Strategy<Value = AnswerRecord> {
        let one = (any::<u16>(), any::<i64>(), any::<bool>(), any::<Option<(u32, u32)>>());
        let expiry =
            any::<(u16, u16, i64)>().prop_map(|(answer, offer, at)| OfferExpiry { answer, offer, at });
        let text = (any::<u16>(), any::<Vec<u16>>(), ".{0,20}")
            .prop_map(|(answer, offers, template)| OwnText { answer, offers, template });
        (
            prop::collection::vec(one, 0..4),
            prop::collection::vec(expiry, 0..4),
            prop::collection::vec(text, 0..4),
        )
            .prop_map(|(each, expiries, texts)| {
                let answer = |(seat, at, late, asked): (u16, i64, bool, Option<(u32, u32)>)| {
                    let outcome = if late { Outcome::TimedOut } else { Outcome::Offers(Vec::new()) };
                    let asked = asked.map(|(after_ms, budget_ms)| Ask { after_ms, budget_ms });
                    (SeatOutcome { seat, at, outcome, cause: None }, asked)
                };
                let (answers, asked) = each.into_iter().map(answer).unzip();
                AnswerRecord { answers, asked, expiries, texts, rankings: Vec::new() }
            })
    }

    /// Exports of earlier versions have these names.
    #[test]
    fn exported_names_stay() {
        let read = |json: &str| serde_json::from_str::<LaterDecisions>(json).unwrap();
        let decisions = read(r#"{"second_look_at":1,"released":[],"spared":[3],"held_back":[]}"#);
        assert!(decisions.is_skipped(3));
        let (uuid, zeros) = (Uuid::nil(), [0_u8; 16]);
        let head = serde_json::json!({
            "uuid": uuid, "lead": uuid, "company": uuid, "test": false, "loan_amount": null,
            "wants_loans": true, "created_at": 0, "deadline": 0, "seats": [], "book": zeros,
            "kept_out": [{ "seat": zeros, "by": "PerDay" }], "treatments": [],
        });
        let read: TableHead = serde_json::from_value(head).unwrap();
        assert_eq!(read.not_seated, [NotSeated { seat: Fingerprint([0; 16]), by: Some(Denied::PerDay) }]);
    }

    proptest! {
        #[test]
        fn records_are_read_as_they_were_written(head in any_head(), answers in any_answers()) {
            let json = serde_json::to_string(&head).unwrap();
            prop_assert_eq!(&serde_json::from_str::<TableHead>(&json).unwrap(), &head);
            prop_assert_eq!(postcard::from_bytes(&postcard::to_stdvec(&head).unwrap()), Ok(head));
            prop_assert_eq!(postcard::from_bytes(&postcard::to_stdvec(&answers).unwrap()), Ok(answers));
        }
    }
}
