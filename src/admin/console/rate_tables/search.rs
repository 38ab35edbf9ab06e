//! Search for rate tables, latest first: a scan in time order, a bounded number at a time.

use metrics::counter;

use super::counted::{CountedSearch, LEAD_BEFORE_MS};
use crate::console::prelude::*;
use offerd_base::config::ConsoleSettings;
use offerd_base::telemetry::metrics::CONSOLE_SEARCHES_STOPPED;
use offerd_engine::rate_table::outcome::Outcome;
use offerd_engine::rate_table::record::{SeatOutcome, TableHead};
use offerd_partners::RecordedSeat;
use offerd_store::Tree;
use offerd_store::entities::LeadRecord;

pub(super) const LISTED: usize = 20;

const CHUNK: std::ops::RangeInclusive<usize> = 128..=512;

/// Span of the first read, milliseconds.
const FIRST_SPAN_MS: i64 = 1000;

/// How a request may have ended: its name in addresses, its label, and the outcomes that it matches.
pub(super) type OutcomeFilter = (&'static str, &'static str, fn(&Outcome) -> bool);

pub(super) const ENDED: [OutcomeFilter; 4] = [
    ("offers", "offers", |outcome| matches!(outcome, Outcome::Offers(_))),
    ("no_offers", "no offers", |outcome| matches!(outcome, Outcome::NoOffers(_))),
    ("failed", "failed", |outcome| matches!(outcome, Outcome::Failed(_))),
    ("timed_out", "timed out", |outcome| matches!(outcome, Outcome::TimedOut)),
];

#[derive(Debug, Clone, Default)]
pub(super) struct TableSearch {
    pub company: Option<Uuid>,
    /// A seat of this product and partner, and how its request ended.
    pub product: Option<ProductType>,
    pub partner: Option<String>,
    pub outcome: Option<OutcomeFilter>,
    /// Client tags of the lead: name and value.
    pub tags: Vec<(String, String)>,
    /// Only tables without offers.
    pub without_offers: bool,
    /// Minimum duration.
    pub slow: Option<Duration>,
    /// What a report counted, which this search adds up.
    pub counted: Option<CountedSearch>,
    /// Creation time from (inclusive) and to (exclusive), Unix milliseconds.
    pub from_ms: i64,
    pub to_ms: Option<i64>,
    /// The table to continue before.
    pub before: Option<Uuid>,
}

impl TableSearch {
    /// Whether a seat is of the partner and product.
    pub fn is_of(&self, seat: &RecordedSeat) -> bool {
        self.partner.as_ref().is_none_or(|partner| seat.key == *partner)
            && self.product.is_none_or(|product| seat.product_type == product)
    }
}

#[derive(Debug, Default)]
pub(super) struct TableSearchResult {
    pub tables: Vec<Uuid>,
    /// Tables scanned.
    pub looked_at: usize,
    /// Where to continue, if there may be more.
    pub next: Option<Uuid>,
    /// Creation time of the last scanned table, if a limit ended the search.
    pub stopped_at: Option<i64>,
    /// Of a search for what a report counted, on its first page: the sum, and whether a limit ended it.
    pub total: Option<i64>,
    pub total_is_least: bool,
}

pub(super) fn search(
    engine: &MatchingEngine,
    wish: &TableSearch,
    settings: &ConsoleSettings,
    now_ms: i64,
) -> Result<TableSearchResult, RecordUnavailable> {
    let store = &engine.records.store;
    let mut before = match (wish.before, wish.to_ms) {
        (Some(table), _) => table,
        (None, to_ms) => {
            let more_ms = if wish.counted.is_some() { LEAD_BEFORE_MS } else { 0 };
            first_at(to_ms.map_or(now_ms, |to_ms| to_ms + more_ms))
        }
    };
    let (mut sought, mut read, mut span_ms) = (TableSearchResult::default(), 0, FIRST_SPAN_MS);
    // Later pages have the same total.
    let is_summed = wish.counted.is_some() && wish.before.is_none();
    sought.total = is_summed.then_some(0);
    loop {
        let chunk = chunk_before(store, before, wish.from_ms, &mut span_ms);
        let Some((oldest, _)) = chunk.first() else { return Ok(sought) };
        before = *oldest;
        for (table, bytes) in chunk.into_iter().rev() {
            // The store reports a broken one.
            let head = store.decode::<TableHead>(Tree::RateTables, table.as_bytes(), &bytes);
            let Ok(head) = head else { continue };
            sought.looked_at += 1;
            let much = match &wish.counted {
                Some(counted) => counted.of(engine, wish, &head, &mut read)?,
                None => i64::from(fits(engine, wish, &head, &mut read)?),
            };
            sought.total = sought.total.map(|sum| sum + much);
            if much > 0 && sought.tables.len() < LISTED {
                sought.tables.push(table);
                if sought.tables.len() == LISTED {
                    sought.next = Some(table);
                }
            }
            if sought.next.is_some() && !is_summed {
                return Ok(sought);
            }
            if sought.looked_at >= settings.tables_looked_at || read >= settings.tables_read {
                counter!(CONSOLE_SEARCHES_STOPPED).increment(1);
                sought.total_is_least = is_summed;
                if sought.next.is_none() {
                    (sought.next, sought.stopped_at) = (Some(table), Some(head.created_at));
                }
                return Ok(sought);
            }
        }
    }
}

/// The tables just before one, oldest first, about a chunk of them; empty only if there are none. Records can
/// only be read forwards, so the start of the span is found by trial.
fn chunk_before(store: &Store, before: Uuid, from_ms: i64, span_ms: &mut i64) -> Vec<(Uuid, Vec<u8>)> {
    let end_ms = i64::try_from(before.as_u128() >> 80).unwrap_or(i64::MAX) + 1;
    let (mut too_short, mut too_long) = (0, i64::MAX);
    loop {
        let since_ms = end_ms.saturating_sub(*span_ms).max(from_ms);
        let is_exact = too_long - too_short <= 1;
        let most = if is_exact { usize::MAX } else { CHUNK.end() + 1 };
        let records = store.scan_from(Tree::RateTables, first_at(since_ms).as_bytes(), []).flatten();
        let keyed = records.filter_map(|(key, bytes)| Some((Uuid::from_slice(&key).ok()?, bytes)));
        let found: Vec<(Uuid, Vec<u8>)> = keyed.take_while(|(table, _)| *table < before).take(most).collect();
        if is_exact {
            return found;
        }
        if found.len() > *CHUNK.end() {
            too_long = *span_ms;
        } else if found.len() < *CHUNK.start() && since_ms > from_ms {
            too_short = *span_ms;
        } else {
            return found;
        }
        *span_ms = match too_long {
            i64::MAX => span_ms.saturating_mul(4),
            too_long => i64::midpoint(too_short, too_long).max(too_short + 1),
        };
    }
}

fn fits(
    engine: &MatchingEngine,
    wish: &TableSearch,
    head: &TableHead,
    read: &mut usize,
) -> Result<bool, RecordUnavailable> {
    if wish.company.is_some_and(|company| company != head.company) {
        return Ok(false);
    }
    let is_wanted = |seat: u16| {
        let template =
            head.seats.get(usize::from(seat)).and_then(|seat| engine.records.templates.seat(*seat).ok());
        template.is_some_and(|seat| wish.is_of(&seat))
    };
    let has_seat = || (0..head.seats.len()).any(|seat| is_wanted(u16::try_from(seat).unwrap_or(u16::MAX)));
    if (wish.partner.is_some() || wish.product.is_some()) && !has_seat() {
        // A lead for which no partner was asked still requests its products.
        let Some(product) = wish.product.filter(|_| wish.partner.is_none()) else { return Ok(false) };
        *read += 1;
        if !asked_for(&engine.records.store, head.lead)?.contains(&product) {
            return Ok(false);
        }
    }
    if !wish.tags.is_empty() {
        *read += 1;
        if !has_tags(&engine.records.store, head.lead, &wish.tags)? {
            return Ok(false);
        }
    }
    if wish.outcome.is_none() && !wish.without_offers && wish.slow.is_none() {
        return Ok(true);
    }
    *read += 1;
    let answers = answers(&engine.records.store, head.uuid)?;
    let ends = |(.., is_so): OutcomeFilter| answers.iter().any(|it| is_wanted(it.seat) && is_so(&it.outcome));
    let has_offers = || answers.iter().any(|one| !one.outcome.quotes().is_empty());
    let took = took_ms(head.created_at, &answers);
    let is_slow = |least: Duration| took.is_some_and(|took| took >= least.as_millis() as i64);
    Ok(wish.outcome.is_none_or(ends)
        && !(wish.without_offers && has_offers())
        && wish.slow.is_none_or(is_slow))
}

/// The products that a lead requests: all if it names none, none if it is erased.
pub(super) fn asked_for(store: &Store, lead: Uuid) -> Result<Vec<ProductType>, RecordUnavailable> {
    let record = reading::lead(store, lead)?;
    let asked = |record: LeadRecord| match record.lead.product_types {
        Some(products) if !products.is_empty() => products,
        _ => ProductType::ALL.to_vec(),
    };
    Ok(record.map(asked).unwrap_or_default())
}

/// Whether a lead has all of these client tags; an erased one has none.
fn has_tags(store: &Store, lead: Uuid, wanted: &[(String, String)]) -> Result<bool, RecordUnavailable> {
    let record = reading::lead(store, lead)?;
    let tags = record.as_ref().and_then(|record| record.lead.client_tags.as_ref());
    let has = |name: &str, value: &String| {
        tags.is_some_and(|tags| tags.0.get(name).is_some_and(|of| of.contains(value)))
    };
    Ok(wanted.iter().all(|(name, value)| has(name, value)))
}

pub(super) fn answers(store: &Store, table: Uuid) -> Result<Vec<SeatOutcome>, RecordUnavailable> {
    Ok(reading::answers(store, table).collect::<Result<Vec<_>, _>>()?.concat())
}

pub(super) fn took_ms(created_at: i64, answers: &[SeatOutcome]) -> Option<i64> {
    answers.iter().map(|answer| (answer.at - created_at).max(0)).max()
}

fn first_at(at_ms: i64) -> Uuid {
    Uuid::from_u128(u128::from(at_ms.max(0).cast_unsigned()) << 80)
}
