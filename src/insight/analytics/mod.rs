//! The feeds: what reached the service, told to the supply partner that it concerns, page by page.
//!
//! Each of the three [feeds](Feed) is an append-only log per company, ordered by arrival. A page starts at an
//! [`ArrivalTime`] that the client names and ends where its [`Window`] closes; the next page starts there. The window ends
//! at the minimum age of its [`Form`] at the latest. What arrives later is given a later arrival time, so it lies ahead of
//! every page that was ever delivered, whenever it happened: following `nextUrl` misses nothing and repeats nothing. Times are
//! those of the store's arrivals, which run whatever the machine's clock shows, and no page leads to a time that a restart
//! could fall behind ([`Feeds::horizon`]).
//!
//! # The two forms
//!
//! | | [`Form::Hourly`], of the specification | [`Form::Prompt`], newer |
//! |---|---|---|
//! | starts at | `timestamp` | `sinceTimestamp` |
//! | tells nothing younger than | an hour | five minutes |
//! | ends | an hour on at the earliest, then at about 1000 records | at about 1000 records, or before `untilTimestamp` |
//! | leaves out | nothing | lead events that are not of `eventType` |
//! | `nextUrl` carries | `timestamp` | `paginationToken`, which carries all of the above |
//! | records tell besides | | whose they are, when they arrived; events `isTest` |
//! | what was taken back | is a payout of less than nothing | comes again, with the time |
//!
//! What is not in the specification (types of events, what is known of one beside) is told by the newer form only. That form also tells
//! what arrived of [one lead](FoundInfo), all at once.
//!
//! They differ in how a page is asked for ([`PageRequest`]) and where it is told to go on ([`Cursor`]); one reader reads
//! the pages of both ([`Feeds`]).
//!
//! # How long a page is
//!
//! A page of the specification's form covers an hour, and more while it holds few records, since quiet hours cost nothing
//! to grow over. Two things end it sooner, and neither loses anything:
//!
//! - the minimum age: a page that starts less than two hours ago ends an hour ago, because nothing younger may be told;
//! - `analytics.page_records_max`, a safety limit on what is read for one page: `shouldContinuePolling` is true then.
//!
//! A page costs one range scan from its start, however long the log is.

mod arrival_time;
pub mod bounds;
mod cursor;
mod event_types;
mod feed;
mod feeds;
mod hash;
mod lead_info;
mod page_request;
#[cfg(test)]
mod tests;
mod window;

pub use arrival_time::ArrivalTime;
pub use cursor::{Cursor, PAGINATION_TOKEN};
pub use event_types::EventTypes;
pub use feed::{ClientTags, Events, Feed, Newer, Payouts};
pub use feeds::{Feeds, Horizon};
pub use lead_info::FoundInfo;
pub use page_request::{Form, PageRequest};
pub use window::{RECORDS_ENOUGH, Window};
