//! What a uuid names, and which tables came last.

use std::collections::VecDeque;

use chrono::Utc;
use serde::Serialize;
use uuid::Uuid;

use crate::matching::Engine;
use crate::rate_table::record::TableHead;
use crate::records::{Unavailable, reading};
use crate::store::Tree;
use crate::store::tokens::Tokens;

/// Tables that are listed at most.
const LISTED: usize = 20;

/// How far the clock may have stepped back since a table was made, milliseconds.
const CLOCK_STEPS_MS: i64 = 60 * 60 * 1000;

/// What a uuid names.
pub(super) enum Found {
    /// A table, by its own uuid or as the only one of a lead.
    Table(Uuid),
    /// An offer, and the table that it stands in.
    Offer {
        /// The table.
        table: Uuid,
        /// The offer.
        offer: Uuid,
    },
    /// A lead: its tables.
    Lead(Vec<Row>),
    /// Something of a lead that is erased.
    Erased,
    /// Nothing.
    Nothing,
}

/// A table in a list.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    uuid: Uuid,
    lead: Uuid,
    company: String,
    test: bool,
    /// Unix milliseconds.
    created_at: i64,
    products: Vec<&'static str>,
    asked: usize,
    offers: usize,
    pending: bool,
}

/// Looks for what a uuid names.
///
/// # Errors
/// [`Unavailable`], once reported, when a record cannot be read.
pub(super) fn find(engine: &Engine, uuid: Uuid) -> Result<Found, Unavailable> {
    let store = &engine.records.store;
    if let Some(record) = reading::lead(store, uuid)? {
        let tables = reading::tables_of(store, &record);
        return Ok(match tables[..] {
            [table] => Found::Table(table),
            _ => Found::Lead(rows(engine, tables)),
        });
    }
    let offer = reading::offer(&engine.records, uuid)?;
    let (table, number) = offer.map_or((uuid, None), |(table, number)| (table, Some(number)));
    if let Some(found) = reading::table(&engine.records, table)? {
        return Ok(match number {
            None => Found::Table(table),
            Some(number) if found.offer(number).is_some() => Found::Offer { table, offer: uuid },
            Some(_) => Found::Nothing,
        });
    }
    let erased = store.is_erased(uuid).map_err(|_| Unavailable)? || reading::was_erased(store, table)?;
    Ok(if erased { Found::Erased } else { Found::Nothing })
}

/// The tables that were made last, latest first. Their keys sort by time, and can only be read forwards: so the latest
/// moment is looked for since which there are enough.
pub(super) fn latest(engine: &Engine) -> Vec<Row> {
    let since = |since| {
        let made = reading::made_since::<TableHead>(&engine.records.store, Tree::RateTables, since);
        made.map(|(table, _)| table)
    };
    let (mut enough, mut too_few) = (0, Utc::now().timestamp_millis() + CLOCK_STEPS_MS);
    while enough + 1 < too_few {
        let middle = i64::midpoint(enough, too_few);
        if since(middle).nth(LISTED - 1).is_some() {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    let mut last: VecDeque<Uuid> = VecDeque::with_capacity(LISTED + 1);
    for table in since(enough) {
        last.push_back(table);
        if last.len() > LISTED {
            last.pop_front();
        }
    }
    rows(engine, last.into_iter().rev())
}

/// A table that cannot be read was reported, and is left out.
fn rows(engine: &Engine, tables: impl IntoIterator<Item = Uuid>) -> Vec<Row> {
    let tokens = Tokens::of(engine.records.store.clone());
    let row = |uuid| {
        let table = reading::table(&engine.records, uuid).ok().flatten()?;
        let head = table.head();
        let mut products: Vec<&str> = table.seats().iter().map(|seat| seat.product_type.as_str()).collect();
        products.sort_unstable();
        products.dedup();
        Some(Row {
            uuid,
            lead: head.lead,
            company: tokens
                .company(head.company)
                .map_or_else(|| head.company.to_string(), |company| company.name),
            test: head.test,
            created_at: head.created_at,
            products,
            asked: table.seats().len(),
            offers: table.offers(),
            pending: !table.progress().settled(),
        })
    };
    tables.into_iter().filter_map(row).collect()
}
