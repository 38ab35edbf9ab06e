//! What a rate table is billed and counted by, which stays when its lead is erased: no terms and no texts.

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
    /// The offers of all answers, each with the position of its seat.
    pub offers: Vec<(u16, Option<ProductSubType>)>,
    /// The offers shown.
    pub shown: Vec<ShownOffer>,
}

/// An offer that a lead was shown.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ShownOffer {
    /// Its number in the table.
    pub number: u16,
    /// The position of its seat.
    pub seat: u16,
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
        let sub_type = |quote: &Quote| text(quote)?.sub_type;
        let quotes = |answer: &SeatOutcome| {
            let seat = answer.seat;
            answer.outcome.quotes().iter().map(|quote| (seat, sub_type(quote))).collect::<Vec<_>>()
        };
        let shown = |offer: &NumberedOffer| {
            let text = text(&offer.quote);
            let terms = text.as_ref().and_then(|text| text.click_terms.as_ref());
            ShownOffer {
                number: offer.number,
                seat: offer.seat,
                product_sub_type: text.as_ref().and_then(|text| text.sub_type),
                special: matches!(offer.quote.terms, QuoteTerms::Special(_)),
                payout: terms.map(|terms| terms.payout),
            }
        };
        let (asked, offers) = (asked.collect(), answers.iter().flat_map(quotes).collect());
        Self { asked, offers, shown: table.arrays().flat_map(|(_, offers)| offers).map(shown).collect() }
    }
}

impl CountedTable {
    /// Its uuid, with its seats.
    pub fn asked(&self) -> (Uuid, &[Arc<RecordedSeat>]) {
        (self.head.uuid, &self.seats)
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
