//! The change feeds that companies read, page by page.
//!
//! Each of the three [feeds](Feed) is an append-only log per company, ordered by arrival. A page starts at an
//! [`ArrivalTime`] that the client gives and ends where its [`PageWindow`] closes, no later than the minimum
//! age of its [`Form`] allows; the next page starts there. Later arrivals get later times, so following
//! `nextUrl` misses nothing and repeats nothing, even across restarts ([`Feeds::horizon`]).
//!
//! # The two forms
//!
//! | | [`Form::Hourly`], specified | [`Form::Prompt`], newer |
//! |---|---|---|
//! | starts at | `timestamp` | `sinceTimestamp` |
//! | minimum age | an hour | five minutes; with a test token none |
//! | ends | after at least an hour, then at about 1000 records | at about 1000 records or `untilTimestamp` |
//! | leaves out | nothing | lead events that are not of `eventType` |
//! | `nextUrl` carries | `timestamp` | `paginationToken`, which contains all of the above |
//! | additional fields | | company and arrival time; events `isTest` |
//! | a reversal | is a negative payout | repeats the record, with the time of reversal |
//!
//! Only the newer form serves additions to the specification and all records of [one lead](FoundInfo). The
//! forms differ in the request ([`PageRequest`]) and the [`PageCursor`]; one reader reads both ([`Feeds`]).
//!
//! # The length of a page
//!
//! A page of the specification's form covers an hour, or more while it holds few records. It ends earlier:
//!
//! - by the minimum age: a page that starts less than two hours ago ends an hour ago;
//! - by `analytics.page_records_max`: `shouldContinuePolling` is true then.

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
