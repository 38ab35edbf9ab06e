//! The rate tables behind a figure of a report.

use super::search::TableSearch;
use crate::console::prelude::*;
use offerd_engine::rate_table::record::TableHead;
use offerd_engine::rate_table::summary::{CountedTable, ShownOffer};
use offerd_insight::reports::figures::Figure;
use offerd_insight::reports::names;
use offerd_store::Tree;
use offerd_store::entities::LeadSummary;

/// The figures with rate tables behind them: their names in addresses.
pub(in crate::console) const COUNTED: [(&str, Figure); 3] =
    [("leads", Figure::Leads), ("withoutOffers", Figure::WithoutOffers), ("shown", Figure::Shown)];

/// How long after its lead a first table may be made, milliseconds: a lead counts on its own day.
pub(super) const LEAD_BEFORE_MS: i64 = 60 * 1000;

/// What a report counted, beside the filters of the search.
#[derive(Debug, Clone)]
pub(super) struct CountedSearch {
    pub figure: Figure,
    /// Whether it counts test leads instead of live ones.
    pub test: bool,
    /// Only this offer, as `PARTNER/OFFER`.
    pub offer: Option<String>,
    /// The client tags that reports count, which stay when a lead is erased.
    pub tags_counted: Vec<String>,
}

impl CountedSearch {
    /// How much of the figure a table is, as reports count it.
    pub(super) fn of(
        &self,
        engine: &MatchingEngine,
        wish: &TableSearch,
        head: &TableHead,
        read: &mut usize,
    ) -> Result<i64, RecordUnavailable> {
        if head.test != self.test || wish.company.is_some_and(|company| company != head.company) {
            return Ok(0);
        }
        let store = &engine.records.store;
        let Some(lead) = self.lead(store, head.lead)? else { return Ok(0) };
        let has = |(name, value): &(String, String)| lead.tags.get(name).is_some_and(|of| of.contains(value));
        let is_in = |at: i64| at >= wish.from_ms && wish.to_ms.is_none_or(|to_ms| at < to_ms);
        if !wish.tags.iter().all(has) {
            return Ok(0);
        }
        let is_of_seat = self.figure == Figure::Shown || wish.partner.is_some();
        if self.figure == Figure::Leads && !is_of_seat {
            let asks = wish.product.is_none_or(|product| lead.products.contains(&product));
            return Ok(i64::from(asks && is_in(lead.created_at) && is_first(store, &lead, head)));
        }
        *read += 1;
        let is_open = store.get(Tree::OpenTables, head.uuid).map_err(|_| RecordUnavailable)?.is_some();
        let Some(table) = reading::counted_table(&engine.records, head.uuid)?.filter(|_| !is_open) else {
            return Ok(0);
        };
        if self.figure == Figure::Shown {
            return Ok(if is_in(head.created_at) { self.shown(wish, &table) } else { 0 });
        }
        let is_without = self.figure == Figure::Leads || table.summary.shown.is_empty();
        let is_for = match &wish.partner {
            Some(_) => table.concerned().any(|seat| wish.is_of(seat)),
            None => wish.product.is_none_or(|product| lead.products.contains(&product)),
        };
        Ok(i64::from(is_without && is_for && is_in(lead.created_at) && is_first(store, &lead, head)))
    }

    /// What is kept of a lead, also of an erased one.
    fn lead(&self, store: &Store, lead: Uuid) -> Result<Option<LeadSummary>, RecordUnavailable> {
        Ok(match reading::lead(store, lead)? {
            Some(record) => Some(LeadSummary::of(&record, &self.tags_counted)),
            None => reading::erased_lead(store, lead)?,
        })
    }

    fn shown(&self, wish: &TableSearch, table: &CountedTable) -> i64 {
        let is_meant = |offer: &&ShownOffer| {
            let seat = table.seat(offer);
            let is_it = |wanted: &String| {
                offer.key.as_ref().is_some_and(|key| names::offer(&seat.key, key) == *wanted)
            };
            wish.is_of(seat) && self.offer.as_ref().is_none_or(is_it)
        };
        i64::try_from(table.summary.shown.iter().filter(is_meant).count()).unwrap_or(i64::MAX)
    }
}

fn is_first(store: &Store, lead: &LeadSummary, head: &TableHead) -> bool {
    let first = lead.first_table.or_else(|| reading::listed_tables(store, head.lead).next());
    first == Some(head.uuid)
}
