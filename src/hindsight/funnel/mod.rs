//! The funnel: how many leads, rate tables, offers, clicks, applications and fundings there were, and what was paid for
//! them, by day and month, company and product type.
//!
//! Nothing is counted when it happens. A [`fold`] follows the feeds, company by company, in the order of arrival, and adds
//! what it finds to the [`Tally`] of its day and of its month; in the same commit it notes how far it has come. So each
//! record is counted once, whatever crashes, and a store that had no tallies yet gets them by folding from its beginning.
//! Whoever looks reads as many tallies as there are days in view, however many leads there are.
//!
//! What is counted, and where it is recorded:
//!
//! | stage | one for each | by product type |
//! |---|---|---|
//! | leads | `leadCreated` in the feed of lead events | what the lead asks for |
//! | rate tables | `appSubmitted` | those with a partner for it |
//! | offers | offer shown at a complete rate table | of the partner's place at the table |
//! | clicks | `offerClicked` | as in the feed |
//! | applied, funded | `applied`, `funded`, as partners report them, less those taken back | as in the feed |
//! | payouts | payout in its feed, less those taken back | of the offer, where it is recorded |
//!
//! What is reported is counted, with what it earned, on the day on which it happened, and never before its lead; what is taken back is so
//! on the day that it was counted on: as in [reports](crate::reports).
//!
//! While new work queues the fold has a twentieth of a core only, so that tallies may lag behind; [`behind`] gives the
//! arrival of the first record that is not counted.
//!
//! Tallies stay when the records that they were counted from are dropped for their age.
//!
//! A table that is not complete is noted, and its
//! offers are counted when it is, on the day that it was made. Test leads have tallies of their own.

pub mod fold;
mod key;
mod tally;

use chrono::{Datelike, Days, Months, NaiveDate};
use uuid::Uuid;

pub use self::fold::{Fold, keep};
use self::key::TallyKey;
pub use self::tally::Tally;
use crate::model::{ProductType, Timestamp};
use crate::records::following::companies;
use crate::store::{Store, Tree};

/// How finely a time is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grain {
    /// By day (UTC).
    Day,
    /// By month.
    Month,
}

/// Whose tallies are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// Those of test leads, rather than of live ones.
    pub test: bool,
    /// One company's; all companies' without.
    pub company: Option<Uuid>,
    /// One product type's; of all leads without, each counted once.
    pub product_type: Option<ProductType>,
}

/// A time in days or months, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// What it is divided into.
    pub grain: Grain,
    /// Its first day.
    pub first: NaiveDate,
    /// Its last day.
    pub last: NaiveDate,
}

impl Span {
    /// So many days, of which `last` is the last.
    pub fn days(count: u16, last: NaiveDate) -> Self {
        let first = last.checked_sub_days(Days::new(u64::from(count.saturating_sub(1)))).unwrap_or(last);
        Self { grain: Grain::Day, first, last }
    }

    /// So many months, the last of which holds `last`.
    pub fn months(count: u16, last: NaiveDate) -> Self {
        let this = last.with_day(1).unwrap_or(last);
        let first = this.checked_sub_months(Months::new(u32::from(count.saturating_sub(1)))).unwrap_or(this);
        Self { grain: Grain::Month, first, last }
    }

    /// The first day of each of its days or months.
    pub fn periods(self) -> impl Iterator<Item = NaiveDate> {
        let next = move |day: &NaiveDate| match self.grain {
            Grain::Day => day.succ_opt(),
            Grain::Month => day.checked_add_months(Months::new(1)),
        };
        std::iter::successors(Some(self.first), next).take_while(move |day| *day <= self.last)
    }
}

/// The tally of each day or month of a time, empty ones too.
pub fn series(store: &Store, scope: Scope, span: Span) -> Vec<(NaiveDate, Tally)> {
    let place = |period| TallyKey { scope, grain: span.grain, period };
    let (start, prefix) = (place(span.first).key(), place(span.first).prefix());
    let last = place(span.last).key();
    let found = store.scan_from(Tree::Funnel, start, prefix).filter_map(Result::ok);
    let mut found = found.take_while(|(key, _)| *key <= last).peekable();
    let told = span.periods().map(|period| {
        let key = place(period).key();
        let found = found.next_if(|(at, _)| *at == key);
        let tally = found.and_then(|(_, bytes)| store.decode(Tree::Funnel, &key, &bytes).ok());
        (period, tally.unwrap_or_default())
    });
    told.collect()
}

/// What there was in all of a time.
pub fn total(store: &Store, scope: Scope, span: Span) -> Tally {
    let tallies = series(store, scope, span).into_iter();
    tallies.fold(Tally::default(), |sum, (_, tally)| sum.plus(tally))
}

/// The arrival of the earliest record that is not counted yet; `None` when all are. Open tables are no such records.
pub fn behind(store: &Store) -> Option<Timestamp> {
    let earliest = companies(store).into_iter().filter_map(|company| fold::behind(store, company)).min();
    earliest.and_then(|micros| Timestamp::from_millis(i64::try_from(micros / 1000).ok()?))
}
