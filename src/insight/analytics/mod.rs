//! The change feeds that supply partners read, page by page.
//!
//! Each of the three [feeds](Feed) is an append-only log per company, ordered by arrival. A page starts at an
//! [`ArrivalTime`] that the client gives and ends where its [`PageWindow`] closes; the next page starts there.
//! The window ends no later than the minimum age of its [`Form`] allows. Later arrivals get later arrival
//! times, whenever the event happened, so they lie ahead of every page ever delivered: following `nextUrl`
//! misses nothing and repeats nothing. Arrival times come from the store and do not depend on the machine's
//! clock. No page ends at a time that a restart could fall behind ([`Feeds::horizon`]).
//!
//! # The two forms
//!
//! | | [`Form::Hourly`], specified | [`Form::Prompt`], newer |
//! |---|---|---|
//! | starts at | `timestamp` | `sinceTimestamp` |
//! | minimum age | an hour | five minutes |
//! | ends | after at least an hour, then at about 1000 records | at about 1000 records or `untilTimestamp` |
//! | leaves out | nothing | lead events that are not of `eventType` |
//! | `nextUrl` carries | `timestamp` | `paginationToken`, which contains all of the above |
//! | additional fields | | company and arrival time; events `isTest` |
//! | a reversal | is a negative payout | repeats the record, with the time of reversal |
//!
//! Only the newer form serves additions to the specification: further event types and event data. It also
//! serves all records of [one lead](FoundInfo) at once.
//!
//! The forms differ in how a page is requested ([`PageRequest`]) and in the [`PageCursor`] to the next; one
//! reader reads the pages of both ([`Feeds`]).
//!
//! # The length of a page
//!
//! A page of the specification's form covers an hour, and more while it holds few records, since quiet hours
//! cost nothing. It ends earlier for two reasons, neither of which loses records:
//!
//! - the minimum age: a page that starts less than two hours ago ends an hour ago;
//! - `analytics.page_records_max`, a safety limit on what is read for one page: `shouldContinuePolling` is
//!   true then.
//!
//! A page costs one range scan from its start, however long the log is.

mod arrival_time;
pub mod bounds;
mod cursor;
mod event_types;
mod feed;
mod feeds;
mod page_request;
#[cfg(test)]
mod tests;
mod window;

pub use arrival_time::ArrivalTime;
pub use cursor::{PAGINATION_TOKEN, PageCursor};
pub use event_types::EventTypes;
pub use feed::{ClientTagFeed, Events, Feed, Newer, Payouts};
pub use feeds::{Feeds, FoundInfo, Horizon};
pub use page_request::{Form, PageRequest};
pub use window::{PageWindow, RECORDS_ENOUGH};
