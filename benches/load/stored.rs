//! Creates a store with many leads, written like the daemon's but in larger groups.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use chrono::Utc;
use futures_util::future::join_all;
use indicatif::{ProgressBar, ProgressStyle};
use offerd::ids;
use offerd::model::{CreditBands, Lead};
use offerd::partners::{Book, Facts};
use offerd::rate_table::machine::TableWrite;
use offerd::rate_table::outcome::Outcome;
use offerd::rate_table::record::{AnswerRecord, SeatOutcome, TableHead};
use offerd::rate_table::table::Table;
use offerd::records::identity::identity_of;
use offerd::records::templates::Templates;
use offerd::records::writing;
use offerd::records::writing::{IdentityLookBack, LeadCommit};
use offerd::store::entities::LeadRecord;
use offerd::store::{Clock, Commit, Store, StoreOptions};
use tokio::runtime::Runtime;
use uuid::Uuid;

use crate::generator::MARK;
use crate::kit::Plan;
use crate::lead;

const PER_FLUSH: u64 = 2500;
/// The number of days, up to now, over which leads are spread.
const DAYS: u64 = 30;
const DAY_MS: u64 = 24 * 3600 * 1000;

/// Fills a plan's store with leads and their complete tables, with an offer of each partner.
pub fn fill(plan: &Plan, leads: u64, runtime: &Runtime) {
    fill_with(plan, leads, runtime, &|_| lead());
}

/// Like [`fill`], with leads by number from `lead`.
pub fn fill_with(plan: &Plan, leads: u64, runtime: &Runtime, lead: &dyn Fn(u64) -> String) {
    let book = Book::load(plan.partners()).expect("the partners are good");
    let now = u64::try_from(Utc::now().timestamp_millis()).expect("it is after 1970");
    let at = |nth: u64| now - DAYS * DAY_MS + nth * DAYS * DAY_MS / leads;
    let clock_ms = Arc::new(AtomicU64::new(at(0)));
    let shown = Arc::clone(&clock_ms);
    let options = StoreOptions {
        clock: Clock::new(move || shown.load(Ordering::Relaxed) * 1000),
        // Both commits of each lead.
        queue: 2 * PER_FLUSH as usize,
        group: 2 * PER_FLUSH as usize,
        ..StoreOptions::new(plan.store())
    };
    let store = Store::open(options).expect("a new store opens");
    let texts = Templates::new(store.clone());
    runtime.block_on(texts.store(&book)).expect("texts are stored");

    let style = "{msg} [{bar:40}] {human_pos}/{human_len}, {eta} to go";
    let bar = ProgressBar::new(leads).with_message("storing leads");
    bar.set_style(ProgressStyle::with_template(style).expect("a template of indicatif's"));
    let begun = Instant::now();
    let company = ids::timed();
    for flush in (0..leads).step_by(PER_FLUSH as usize) {
        clock_ms.store(at(flush), Ordering::Relaxed);
        let commits: Vec<_> = (flush..leads.min(flush + PER_FLUSH))
            .map(|nth| store.commit(taken_in(&store, &texts, &book, company, (nth, at(nth)), &lead(nth))))
            .collect();
        for written in runtime.block_on(join_all(commits)) {
            written.expect("a commit is written");
        }
        bar.set_position(flush);
    }
    bar.finish_and_clear();
    println!("{leads} leads stored in {:.0?}", begun.elapsed());
}

/// The writes for an accepted lead whose partners answer at once.
fn taken_in(
    store: &Store,
    texts: &Templates,
    book: &Book,
    company: Uuid,
    (nth, at_ms): (u64, u64),
    lead: &str,
) -> Commit {
    let body = lead.replace(MARK, &format!("{nth:08}"));
    let uuid = || ids::timed_at(at_ms);
    let (at, table) = (at_ms as i64, uuid());
    let record = LeadRecord {
        uuid: uuid(),
        company,
        test: false,
        created_at: at,
        updated_at: at,
        bands: CreditBands::Current,
        newer_values: false,
        consents_stated_at: None,
        earlier_consents: Vec::new(),
        earlier_digests: Vec::new(),
        first_table: Some(table),
        defaults: None,
        experiments: Default::default(),
        lead: Lead::read(body.as_bytes()).expect("the sample lead is good"),
    };
    let facts = Facts::new(&record.lead, Utc::now(), record.bands).submitted_by(record.company);
    let fits = book.fitting(&facts);
    let head = TableHead {
        uuid: table,
        lead: record.uuid,
        company,
        test: false,
        loan_amount: None,
        wants_loans: false,
        created_at: at,
        deadline: at + 15_000,
        seats: fits.iter().map(|fit| fit.seat.recorded_text.fingerprint).collect(),
        book: book.fingerprint,
        treatments: Vec::new(),
        not_seated: Vec::new(),
    };
    let identity =
        identity_of(store, &record).map(|identity| IdentityLookBack { identity, look_back_ms: 60_000 });
    let commit = writing::new_lead(&record, identity.as_ref());
    let lead = LeadCommit { commit, is_new: true, node: store.node() };
    let seats = head.seats.iter().map(|seat| texts.seat(*seat).expect("stored")).collect();
    let answers: Vec<SeatOutcome> = (0..)
        .zip(&fits)
        .map(|(seat, fit)| {
            let offers = fit.offers.iter().filter_map(|offer| fit.seat.offers[*offer].quote(&facts, true));
            SeatOutcome { seat, at, outcome: Outcome::Offers(offers.collect()), cause: None }
        })
        .collect();
    let table = Table::new(Arc::new(head), seats);
    let asked = vec![None; answers.len()];
    let record = AnswerRecord::new(answers, asked);
    let write = TableWrite {
        first: true,
        sequence: 0,
        record,
        sales: Vec::new(),
        decisions: None,
        cut: 0,
        completes: true,
    };
    writing::table(&table, at, Some(lead), &write)
}
