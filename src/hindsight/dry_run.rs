//! A dry run: what would become of a lead that is not submitted. Nobody is asked, and nothing is written.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::judgement::{OfferJudgement, Refusal, SeatJudgement, judge};
use crate::matching::limiter::{SeatStanding, State};
use crate::matching::suppressions::OnLists;
use crate::model::{CreditBands, Lead, ProductType};
use crate::partners::quote::Spread;
use crate::partners::{Book, Facts, Seat, Terms};

/// What would become of a seat.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DryRunSeat {
    /// Key of the partner.
    pub partner: String,
    /// Its name.
    #[serde(skip)]
    pub name: String,
    /// What it is asked about.
    pub product_type: ProductType,
    /// Whether it is asked only when no first-look partner had a loan offer.
    pub second_look: bool,
    /// Whether the lead asks for the product type.
    #[serde(skip)]
    pub wanted: bool,
    /// Whether it would be asked.
    pub asked: bool,
    /// What is against that.
    pub refusals: Vec<Refusal>,
    /// Its offers.
    pub offers: Vec<DryRunOffer>,
}

/// What would become of an offer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DryRunOffer {
    /// Its name in the partner's file.
    pub name: String,
    /// Whether the lead matches it, and its partner would be asked.
    pub matched: bool,
    /// What it is worth; nothing where it does not match, or the partner says what it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Its APR, or of savings its yield, percent, from and to; where that is known.
    #[serde(skip)]
    pub apr: Option<Spread>,
    /// Its monthly payment, dollars, from and to.
    #[serde(skip)]
    pub payment: Option<Spread>,
    /// What is against it, beside what is against its seat.
    pub refusals: Vec<Refusal>,
}

/// Judges a lead by a book, as of a moment, with what is counted against its seats by now and the suppression lists that it is on,
/// where those are known; `most` of them are asked at most.
pub fn dry_run(
    book: &Book,
    standings: &[SeatStanding],
    on_lists: Option<&OnLists>,
    most: usize,
    lead: &Lead,
    now: DateTime<Utc>,
) -> Vec<DryRunSeat> {
    let facts = Facts::new(lead, now.date_naive(), CreditBands::Current);
    let judged = judge(book, &facts, Some(now), most, &|seat| {
        let suppressed = on_lists.and_then(|lists| lists.against(seat));
        let suppressed = suppressed.map(|by| {
            let (wanted, found) = by.told();
            Refusal::new(wanted, found)
        });
        suppressed.or_else(|| counted_against(standings, seat))
    });
    judged.into_iter().map(DryRunSeat::of).collect()
}

/// What is counted against a seat. [`judge`] itself finds what its file says: a pause, days, a schedule.
fn counted_against(standings: &[SeatStanding], seat: &Seat) -> Option<Refusal> {
    let of_seat = |standing: &&SeatStanding| {
        standing.partner == seat.identity.key && standing.product_type == seat.product_type
    };
    let standing = standings.iter().find(of_seat)?;
    let wanted = match standing.state {
        State::Active
        | State::PausedByFile
        | State::OutsideSchedule
        | State::OutsideDays
        | State::ListMissing => return None,
        State::PausedByCommand => "not paused",
        State::Capped => "fewer asks than its cap",
        State::OverBudget => "payouts below its budget",
        State::BreakerOpen => "a partner that has not failed too often lately",
    };
    Some(Refusal::new(wanted, standing.told()))
}

impl DryRunSeat {
    fn of(judged: SeatJudgement<'_>) -> Self {
        let SeatJudgement { seat, refusals, wanted, offers } = judged;
        Self {
            partner: seat.identity.key.clone(),
            name: seat.identity.partner.name.clone(),
            product_type: seat.product_type,
            second_look: seat.second_look,
            wanted,
            asked: refusals.is_empty(),
            refusals,
            offers: offers.into_iter().map(DryRunOffer::of).collect(),
        }
    }

    /// How many of its offers match.
    pub fn matched(&self) -> usize {
        self.offers.iter().filter(|offer| offer.matched).count()
    }
}

impl DryRunOffer {
    fn of(judged: OfferJudgement<'_>) -> Self {
        let name = judged.name.to_owned();
        match judged.outcome {
            Ok(quote) => {
                let (apr, payment) = quote.as_ref().map(|quote| terms(&quote.terms)).unwrap_or_default();
                let score = quote.map(|quote| quote.score);
                Self { name, matched: true, score, apr, payment, refusals: Vec::new() }
            }
            Err(refusals) => Self { name, matched: false, score: None, apr: None, payment: None, refusals },
        }
    }
}

/// What an offer costs a year, or brings, and a month.
fn terms(terms: &Terms) -> (Option<Spread>, Option<Spread>) {
    match terms {
        Terms::Loan(loan) => (Some(loan.apr), loan.monthly_payment),
        Terms::Mortgage(mortgage) => {
            (Some(Spread::exactly(mortgage.apr)), Some(Spread::exactly(mortgage.monthly_payment)))
        }
        Terms::Savings(savings) => (Some(Spread::exactly(savings.annual_percent_yield)), None),
        Terms::Card(_) | Terms::Special(_) => (None, None),
    }
}
