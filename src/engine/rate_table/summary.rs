//! What a rate table is billed and counted by, which stays when its lead is erased: no terms, and no texts but keys of offers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::record::{SeatOutcome, TableHead};
use super::table::{NumberedOffer, Table};
use offerd_model::ProductSubType;
use offerd_partners::declared::DeclaredPayout;
use offerd_partners::{Quote, QuoteTerms, RecordedSeat, Template};

/// A rate table with its summary.
#[derive(Debug, Clone)]
pub struct CountedTable {
    /// Its head.
    pub head: Arc<TableHead>,
    /// The seats of the head.
    pub seats: Vec<Arc<RecordedSeat>>,
    /// The rest.
    pub summary: TableSummary,
}

/// What a table is billed and counted by, besides its head.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableSummary {
    /// The positions of the seats that were asked.
    pub asked: Vec<u16>,
    /// The offers of all answers.
    pub offers: Vec<AnsweredOffer>,
    /// The offers shown.
    pub shown: Vec<ShownOffer>,
}

/// An offer that a partner answered with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnsweredOffer {
    /// The position of its seat.
    pub seat: u16,
    /// Its key in the partner's file; none if its template is lost.
    pub key: Option<String>,
    /// Its product sub-type.
    pub product_sub_type: Option<ProductSubType>,
}

/// An offer that a lead was shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownOffer {
    /// Its number in the table.
    pub number: u16,
    /// Its place in its array, from 1.
    pub position: u16,
    /// The position of its seat.
    pub seat: u16,
    /// Its key in the partner's file; none if its template is lost.
    pub key: Option<String>,
    /// Its product sub-type.
    pub product_sub_type: Option<ProductSubType>,
    /// Whether it is a special offer.
    pub special: bool,
    /// The payout of the partner's file; none where the partner pays its bid, as far as that is noted.
    pub payout: Option<DeclaredPayout>,
}

impl TableSummary {
    /// The summary of a table with these answers.
    pub fn of(
        table: &Table,
        answers: &[SeatOutcome],
        text: impl Fn(&Quote) -> Option<Arc<Template>>,
    ) -> Self {
        let asked = answers.iter().filter(|answer| answer.outcome.was_asked()).map(|answer| answer.seat);
        let key = |text: Option<&Template>| Some(text?.click_terms.as_ref()?.key().to_owned());
        let answered = |seat, quote: &Quote| {
            let text = text(quote);
            let product_sub_type = text.as_ref().and_then(|text| text.sub_type);
            AnsweredOffer { seat, key: key(text.as_deref()), product_sub_type }
        };
        let quotes = |answer: &SeatOutcome| {
            let quotes = answer.outcome.quotes().iter();
            quotes.map(|quote| answered(answer.seat, quote)).collect::<Vec<_>>()
        };
        let shown = |(offer, position): (&NumberedOffer, u16)| {
            let text = text(&offer.quote);
            let terms = text.as_ref().and_then(|text| text.click_terms.as_ref());
            ShownOffer {
                number: offer.number,
                position,
                seat: offer.seat,
                key: key(text.as_deref()),
                product_sub_type: text.as_ref().and_then(|text| text.sub_type),
                special: matches!(offer.quote.terms, QuoteTerms::Special(_)),
                payout: terms.map(|terms| terms.payout),
            }
        };
        let (asked, offers) = (asked.collect(), answers.iter().flat_map(quotes).collect());
        let placed = table.arrays().flat_map(|(_, offers)| offers.iter().zip(1..));
        Self { asked, offers, shown: placed.map(shown).collect() }
    }
}

impl CountedTable {
    /// Its uuid, with its seats.
    pub fn asked(&self) -> (Uuid, &[Arc<RecordedSeat>]) {
        (self.head.uuid, &self.seats)
    }

    /// The seats that the lead was for: all but second-look ones that were not asked.
    pub fn concerned(&self) -> impl Iterator<Item = &Arc<RecordedSeat>> {
        let asked = &self.summary.asked;
        let seats = (0..).zip(&self.seats);
        seats.filter(|(at, seat)| !seat.second_look || asked.contains(at)).map(|(_, seat)| seat)
    }

    /// The shown offer of this number, with its seat.
    pub fn shown(&self, number: u16) -> Option<(&Arc<RecordedSeat>, &ShownOffer)> {
        let offer = self.summary.shown.iter().find(|offer| offer.number == number)?;
        Some((self.seat(offer), offer))
    }

    /// The seat of a shown offer.
    pub fn seat(&self, offer: &ShownOffer) -> &Arc<RecordedSeat> {
        &self.seats[usize::from(offer.seat)]
    }
}
