//! What the store keeps of a rate table: its head, written with the lead, and its answers, in the order of arrival.
//!
//! Folding the answers over the head gives the table again, byte for byte ([`super::table`]).

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::cause::Cause;
use super::denied::Denied;
use super::outcome::Outcome;
use super::treatment::Treatment;
use offerd_partners::ranking::{ConversionFrom, Parts, Ranked, Ranking, Seen};
use offerd_partners::{Fingerprint, Quote, Template};

/// Written once, with the lead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableHead {
    /// The table.
    pub uuid: Uuid,
    /// The lead it belongs to.
    pub lead: Uuid,
    /// The company it belongs to.
    pub company: Uuid,
    /// Made with a test token.
    pub test: bool,
    /// The lead's loan amount when the table was made, dollars.
    pub loan_amount: Option<i32>,
    /// Whether the lead wants loans, so that second look waits.
    pub wants_loans: bool,
    /// When it was made, Unix milliseconds.
    pub created_at: i64,
    /// When it must be complete, Unix milliseconds.
    pub deadline: i64,
    /// The seats asked or held, each by the fingerprint of its template.
    pub seats: Vec<Fingerprint>,
    /// The partner files that it was made with.
    pub book: Fingerprint,
    /// The seats that the lead fits and that limits kept from being asked, at most [`MAX_KEPT_OUT`].
    pub kept_out: Vec<KeptOut>,
    /// The variants that its lead has of the rules which ran when it was made.
    pub treatments: Vec<Treatment>,
}

impl TableHead {
    /// How long the table may take.
    pub fn longest(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.deadline - self.created_at).unwrap_or(0))
    }
}

/// A seat that has no place at a table although the lead fits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOut {
    /// The seat, by the fingerprint of its template.
    pub seat: Fingerprint,
    /// What kept it out; `None` when as many others were asked as may be.
    pub by: Option<Denied>,
}

/// One seat's outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Position of the seat in the head.
    pub seat: u16,
    /// When it was recorded, Unix milliseconds.
    pub at: i64,
    /// How the ask ended.
    pub outcome: Outcome,
    /// Why it ended so, where that is known in words.
    pub cause: Option<Cause>,
}

/// Answers that were written together, and how each was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// In the order of arrival.
    pub answers: Vec<Answer>,
    /// Of each answer, in the same order, how it was asked for; `None` when nobody was asked.
    pub asked: Vec<Option<Ask>>,
    /// The offers among them of which the partner said until when they stand.
    pub expiries: Vec<Expiry>,
    /// The offers among them that have words of their own. These may tell of the person, so they are sealed with the answers and go
    /// with them.
    pub texts: Vec<OwnText>,
    /// Why the offers among them that were ranked have their scores; none where no ranking was in force.
    pub rankings: Vec<RankedOffers>,
}

/// Until when an offer stands, as its partner said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    /// Position of the answer in its record.
    pub answer: u16,
    /// Position of the offer in the answer.
    pub offer: u16,
    /// Unix milliseconds.
    pub at: i64,
}

/// The words of offers that are not those of the partner's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnText {
    /// Position of the answer in its record.
    pub answer: u16,
    /// Positions of the offers in the answer that have them.
    pub offers: Vec<u16>,
    /// Their template, as templates are stored.
    pub template: String,
}

/// Offers that were ranked by one ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedOffers {
    /// The ranking, as it was then.
    pub by: Ranking,
    /// The offers.
    pub offers: Vec<RankedOffer>,
}

/// Why an offer has its score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RankedOffer {
    /// Position of the answer in its record.
    pub answer: u16,
    /// Position of the offer in the answer.
    pub offer: u16,
    /// What its score is made of.
    pub parts: Parts,
    /// Where the conversion is from.
    pub from: ConversionFrom,
    /// What was seen there.
    pub seen: Seen,
}

/// When an ask began, and how long it could take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Milliseconds from the making of the table.
    pub after_ms: u32,
    /// Its budget, milliseconds.
    pub budget_ms: u32,
}

impl AnswerRecord {
    /// A record of answers that are to be written, with how each was asked for.
    pub fn new(answers: Vec<Answer>, asked: Vec<Option<Ask>>) -> Self {
        assert_eq!(answers.len(), asked.len(), "each answer has an ask or none");
        let expiry = |(answer, offer, quote): (u16, u16, &Quote)| {
            quote.expires_at.map(|at| Expiry { answer, offer, at })
        };
        let expiries = offers_of(&answers).filter_map(expiry).collect();
        let (texts, rankings) = (own_texts(&answers), rankings(&answers));
        Self { answers, asked, expiries, texts, rankings }
    }

    /// The record as it was read, each offer with until when it stands, with its own words, and with why it has its score.
    #[must_use]
    pub fn told_to_offers(mut self) -> Self {
        let answers = &mut self.answers;
        for Expiry { answer, offer, at } in &self.expiries {
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
                    quote.ranked = Some(Box::new(Ranked { by, parts, from, seen }));
                }
            }
        }
        self
    }

    /// Each answer, with how it was asked for; `None` when nobody was asked.
    pub fn each(self) -> impl Iterator<Item = (Answer, Option<Ask>)> {
        self.answers.into_iter().zip(self.asked)
    }
}

/// Every offer of answers, with the positions of its answer and of itself in the answer.
fn offers_of(answers: &[Answer]) -> impl Iterator<Item = (u16, u16, &Quote)> {
    (0..).zip(answers).flat_map(|(nth, answer)| {
        (0..).zip(answer.outcome.quotes()).map(move |(offer, quote)| (nth, offer, quote))
    })
}

/// The offer at these positions.
fn offer_of(answers: &mut [Answer], answer: u16, offer: u16) -> Option<&mut Quote> {
    match &mut answers.get_mut(usize::from(answer))?.outcome {
        Outcome::Offers(quotes) => quotes.get_mut(usize::from(offer)),
        _ => None,
    }
}

/// Why the offers of answers have their scores, under the ranking that gave them.
fn rankings(answers: &[Answer]) -> Vec<RankedOffers> {
    let mut rankings: Vec<RankedOffers> = Vec::new();
    for (answer, offer, quote) in offers_of(answers) {
        let Some(ranked) = &quote.ranked else { continue };
        let Ranked { ref by, parts, from, seen } = **ranked;
        let ranked = RankedOffer { answer, offer, parts, from, seen };
        match rankings.iter_mut().find(|known| known.by == **by) {
            Some(known) => known.offers.push(ranked),
            None => rankings.push(RankedOffers { by: (**by).clone(), offers: vec![ranked] }),
        }
    }
    rankings
}

/// The words of offers that are their own, each once of an answer.
fn own_texts(answers: &[Answer]) -> Vec<OwnText> {
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

/// Seats that were kept out of a table and are recorded, at most.
pub const MAX_KEPT_OUT: usize = 1_000;

/// Bits of an offer's number in its uuid, which `records::public_ids` makes.
pub const NUMBER_BITS: u32 = 12;

/// Offers that a table numbers at most; what comes after is cut and counted.
pub const MAX_OFFERS: u16 = (1 << NUMBER_BITS) - 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::treatment::Change;
    use super::*;

    fn any_fingerprint() -> impl Strategy<Value = Fingerprint> {
        any::<[u8; 16]>().prop_map(Fingerprint)
    }

    fn any_head() -> impl Strategy<Value = TableHead> {
        let changes = vec![
            Change::Deadline { ms: 2_000 },
            Change::OnlyPartners(vec!["lender".to_owned()]),
            Change::SecondLook(false),
            Change::Ranking("by_value".to_owned()),
        ];
        let changes = prop::sample::subsequence(changes, 0..=4);
        let treatment = (".{0,9}", ".{0,9}", changes).prop_map(|(rule, variant, changes)| Treatment {
            rule,
            variant,
            changes,
        });
        let kept_out = (any_fingerprint(), any::<bool>())
            .prop_map(|(seat, known)| KeptOut { seat, by: known.then_some(Denied::Experiment) });
        (
            any::<[u128; 3]>(),
            (any::<bool>(), any::<Option<i32>>(), any::<bool>(), any::<i64>(), any::<i64>()),
            prop::collection::vec(any_fingerprint(), 0..4),
            prop::collection::vec(kept_out, 0..4),
            prop::collection::vec(treatment, 0..3),
        )
            .prop_map(
                |(
                    uuids,
                    (test, loan_amount, wants_loans, created_at, deadline),
                    seats,
                    kept_out,
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
                        kept_out,
                        treatments,
                    }
                },
            )
    }

    fn any_answers() -> impl Strategy<Value = AnswerRecord> {
        let one = (any::<u16>(), any::<i64>(), any::<bool>(), any::<Option<(u32, u32)>>());
        let expiry = any::<(u16, u16, i64)>().prop_map(|(answer, offer, at)| Expiry { answer, offer, at });
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
                    (Answer { seat, at, outcome, cause: None }, asked)
                };
                let (answers, asked) = each.into_iter().map(answer).unzip();
                AnswerRecord { answers, asked, expiries, texts, rankings: Vec::new() }
            })
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
