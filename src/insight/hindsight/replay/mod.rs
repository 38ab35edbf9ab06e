//! Replay: reruns stored leads with other partner files, to see which offers would be won and lost. Calls no
//! partner, writes nothing. The caller can pause between the steps.

mod again;
mod report;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::again::{Stored, TableLimits, seat_key};
pub use self::report::{Named, OfferCount, ReplayReport, SeatReplay, Skipped};
use self::report::{ReplayTally, ReplayedSeat, TableOutcome};
use offerd_engine::matching::configuration::MatchingRules;
use offerd_engine::rate_table::record::TableHead;
use offerd_engine::rate_table::table::Table;
use offerd_engine::records::{Found, RecordUnavailable, Records, reading};
use offerd_partners::Book;
use offerd_partners::ranking::{ConversionEstimate, Conversions, ScoreBreakdown, Scorer};
use offerd_store::tokens::Tokens;
use offerd_store::{Store, Tree};

/// The rate tables replayed in a step.
pub const STEP: usize = 64;

/// Selects the rate tables to replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplaySelection {
    /// The earliest creation time, in Unix milliseconds.
    pub since: i64,
    /// The name of the company; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    /// The most tables to replay, newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// The progress of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayProgress {
    /// Rate tables replayed so far.
    pub done: usize,
    /// All selected rate tables.
    pub total: usize,
}

/// A replay in progress.
#[derive(Debug)]
pub struct TableReplay {
    records: Records,
    book: Book,
    most: TableLimits,
    tables: Vec<Uuid>,
    done: usize,
    tally: ReplayTally,
}

impl TableReplay {
    /// Looks up the selected tables.
    ///
    /// # Errors
    /// What is wrong with the selection.
    pub fn new(
        records: &Records,
        book: Book,
        rules: &MatchingRules,
        wish: &ReplaySelection,
    ) -> Result<Self, String> {
        let company = wish.company.as_deref().map(|name| company(&records.store, name)).transpose()?;
        let mut tables = Vec::new();
        for made in reading::made_since::<TableHead>(&records.store, Tree::RateTables, wish.since) {
            let (table, head) = made.map_err(|failure| failure.to_string())?;
            if company.is_none_or(|company| head.company == company) {
                tables.push(table);
            }
        }
        if let Some(limit) = wish.limit {
            tables.drain(..tables.len().saturating_sub(limit));
        }
        let (seats, offers) = (rules.matching.partners_per_lead, rules.matching.offers_per_partner);
        let (records, most) = (records.clone(), TableLimits { seats, offers });
        Ok(Self { records, book, most, tables, done: 0, tally: ReplayTally::default() })
    }

    /// The progress so far.
    pub fn progress(&self) -> ReplayProgress {
        ReplayProgress { done: self.done, total: self.tables.len() }
    }

    /// Replays the next few tables; `false` when none are left.
    pub fn step(&mut self) -> bool {
        let end = self.tables.len().min(self.done + STEP);
        for nth in self.done..end {
            // An unreadable record is already logged.
            if let Err(RecordUnavailable) = self.replay(self.tables[nth]) {
                self.tally.skip(|skipped| &mut skipped.gone);
            }
        }
        self.done = end;
        self.done < self.tables.len()
    }

    /// The report on the tables replayed so far.
    pub fn report(&self) -> ReplayReport {
        let seat = |(partner, product_type): &ReplayedSeat| self.book.seat_of(partner, *product_type);
        self.tally.report(|place| seat(place).is_some_and(|seat| seat.http.is_some()))
    }

    fn replay(&mut self, uuid: Uuid) -> Found<()> {
        let table = reading::table(&self.records, uuid)?.ok_or(RecordUnavailable)?;
        let head = table.head();
        let record = reading::lead(&self.records.store, head.lead)?.ok_or(RecordUnavailable)?;
        if !table.progress().all_ended() {
            self.tally.skip(|skipped| &mut skipped.pending);
            return Ok(());
        }
        if record.updated_at > head.created_at {
            self.tally.skip(|skipped| &mut skipped.grown);
            return Ok(());
        }
        let answers: Vec<_> = reading::answers(&self.records.store, uuid).collect::<Result<Vec<_>, _>>()?;
        let stored = Stored {
            record: &record,
            table: &table,
            answers: &answers.concat(),
            ranked_by: self.ranked_by(&table),
            decisions: &reading::later_decisions(&self.records.store, uuid)?,
            not_seated: &self.records.templates.not_seated(head),
            templates: &self.records.templates,
        };
        let offers = table.shown().map(|(seat, quote)| {
            (seat_key(seat), self.records.templates.offer_name(quote.text), quote.clone())
        });
        let then = TableOutcome { asked: stored.asked().collect(), offers: offers.collect() };
        self.tally.add(head.lead, &then, &stored.again(&self.book, self.most));
        Ok(())
    }

    fn ranked_by(&self, table: &Table) -> Option<Scorer> {
        let ranked = || table.shown().filter_map(|(seat, of)| Some((seat, of, of.ranked.as_deref()?)));
        let ranking = ranked().next().map(|(.., ranked)| Arc::clone(&ranked.by))?;
        let believed = ranked().map(|(seat, quote, ranked)| {
            let name = self.records.templates.offer_name(quote.text);
            let offer = name.split('/').next().unwrap_or_default().to_owned();
            let ScoreBreakdown { parts, from, seen, .. } = *ranked;
            let estimate = ConversionEstimate { rate: parts.conversion, from, seen, beta: (1.0, 1.0) };
            ((seat.product_type, seat.key.clone(), offer), estimate)
        });
        Some(Scorer { ranking, conversions: Arc::new(Conversions::recorded(believed)) })
    }
}

/// Compiles a book from partner files, given as name and text.
///
/// # Errors
/// Every fault of every file, one per line.
pub fn book_of(files: Vec<(String, String)>) -> Result<Book, String> {
    let texts = files.into_iter().map(|(name, text)| (PathBuf::from(name), text));
    Book::from_texts(texts).map_err(|faults| {
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        lines.join("\n")
    })
}

fn company(store: &Store, name: &str) -> Result<Uuid, String> {
    let found = Tokens::of(store.clone()).company_named(name).map_err(|failure| failure.to_string())?;
    found.map(|company| company.uuid).ok_or_else(|| format!("there is no company `{name}`"))
}
