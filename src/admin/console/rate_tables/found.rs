//! Looks up UUIDs, and lists tables.

use super::search::{answers, asked_for, took_ms};
use crate::console::prelude::*;

pub(super) enum UuidLookup {
    /// A table, by its own UUID or as the only one of a lead.
    Table(Uuid),
    /// An offer, by its table.
    Offer(Uuid),
    /// A lead, with its tables.
    Lead(Vec<Value>),
    /// An object of an erased lead.
    Erased,
    /// Unknown.
    Nothing,
}

/// Looks up a UUID. Returns [`RecordUnavailable`], after it was reported, when a record cannot be read.
pub(super) fn find(engine: &MatchingEngine, uuid: Uuid) -> Result<UuidLookup, RecordUnavailable> {
    let store = &engine.records.store;
    if let Some(record) = reading::lead(store, uuid)? {
        let tables = reading::tables_of(store, &record);
        return Ok(match tables[..] {
            [table] => UuidLookup::Table(table),
            _ => UuidLookup::Lead(rows(engine, tables)),
        });
    }
    let offer = reading::offer(&engine.records, uuid)?;
    let (table, number) = offer.map_or((uuid, None), |(table, number)| (table, Some(number)));
    if let Some(found) = reading::table(&engine.records, table)? {
        return Ok(match number {
            None => UuidLookup::Table(table),
            Some(number) if found.offer(number).is_some() => UuidLookup::Offer(table),
            Some(_) => UuidLookup::Nothing,
        });
    }
    let erased = store.is_erased(uuid).map_err(|_| RecordUnavailable)? || reading::was_erased(store, table)?;
    Ok(if erased { UuidLookup::Erased } else { UuidLookup::Nothing })
}

/// The rows of tables. Unreadable tables were reported, and are left out.
pub(super) fn rows(engine: &MatchingEngine, tables: impl IntoIterator<Item = Uuid>) -> Vec<Value> {
    let tokens = Tokens::of(engine.records.store.clone());
    let row = |uuid| {
        let table = reading::table(&engine.records, uuid).ok().flatten()?;
        let head = table.head();
        let answers = answers(&engine.records.store, uuid).unwrap_or_default();
        let mut products: Vec<&str> = table.seats().iter().map(|seat| seat.product_type.as_str()).collect();
        if products.is_empty() {
            let asked = asked_for(&engine.records.store, head.lead).unwrap_or_default();
            match asked.len() {
                all if all == ProductType::ALL.len() => products.push("all"),
                _ => products.extend(asked.iter().map(|product| product.as_str())),
            }
        }
        products.sort_unstable();
        products.dedup();
        Some(fields! {
            uuid, lead => head.lead, company => tokens.name_of(head.company), test => head.test,
            created_at => head.created_at, products, asked => table.seats().len(), offers => table.offers(),
            pending => !table.progress().all_ended(),
            // Dollars, and seconds until the last answer.
            amount => head.loan_amount,
            took => took_ms(head.created_at, &answers).map(|took| took as f64 / 1000.0),
        })
    };
    tables.into_iter().filter_map(row).collect()
}
