//! Checks that a lead, a rate table and an offer named by a client exist and belong together.

use uuid::Uuid;

use super::{Found, Records, reading};
use crate::rate_table::table::Table;
use offerd_model::Viewer;

/// An offer, as named by the client that displays it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisplayedOffer {
    /// The lead.
    pub lead: Uuid,
    /// The rate table.
    pub rate_table: Uuid,
    /// The offer.
    pub offer: Uuid,
}

/// A part of [`DisplayedOffer`] that names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// The company has no such lead.
    Lead,
    /// The company has no such rate table, or it is another lead's.
    RateTable,
    /// No rate table of the company shows such an offer, or another one does.
    Offer,
}

/// The parts of `shown` that name nothing the viewer may see; empty when all three exist and belong together.
pub fn unknown(records: &Records, viewer: Viewer, shown: DisplayedOffer) -> Found<Vec<Unknown>> {
    let DisplayedOffer { lead, rate_table, offer } = shown;
    let own = |table: Uuid| -> Found<Option<Table>> {
        Ok(reading::table(records, table)?.filter(|one| viewer.sees(one.head().company, one.head().test)))
    };

    let lead = reading::lead(&records.store, lead)?.filter(|record| viewer.sees(record.company, record.test));
    let lead_exists = lead.is_some();
    let table = own(rate_table)?;
    let table_exists = table.is_some();
    let of_lead = table.as_ref().is_some_and(|table| table.head().lead == shown.lead);
    // The offer is checked in its own table, so a wrong table does not make the offer wrong too.
    let named = reading::offer(records, offer)?;
    let in_table = named.is_some_and(|(of, _)| of == rate_table);
    let is_shown = match named {
        None => false,
        Some((_, number)) if in_table => table.is_some_and(|table| table.offer(number).is_some()),
        Some((of, number)) => own(of)?.is_some_and(|table| table.offer(number).is_some()),
    };

    let parts = [
        (lead_exists, Unknown::Lead),
        (table_exists && (of_lead || !lead_exists), Unknown::RateTable),
        (is_shown && (in_table || !table_exists), Unknown::Offer),
    ];
    Ok(parts.into_iter().filter(|(is_known, _)| !is_known).map(|(_, part)| part).collect())
}

/// The company of a lead, rate table and offer; `None` unless all three exist and belong together.
pub fn owner(records: &Records, shown: DisplayedOffer) -> Found<Option<Uuid>> {
    let Some(table) = reading::table(records, shown.rate_table)? else { return Ok(None) };
    let company = table.head().company;
    Ok(unknown(records, Viewer::of_all(company), shown)?.is_empty().then_some(company))
}
