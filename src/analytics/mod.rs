//! The feeds: what reached the service, told to the supply partner that it concerns, page by page.
//!
//! Each of the three [feeds](Feed) is an append-only log per company, ordered by arrival. A page starts at an
//! [`ArrivalTime`] that the client names and ends where its [`Window`] closes; the next page starts there.
//! The window ends an hour before now at the latest. What arrives later is given a later arrival time, so it lies ahead
//! of every page that was ever delivered, whenever it happened: following `nextUrl` misses nothing and repeats nothing.
//!
//! A page costs one range scan from its start. Quiet hours hold no records, so growing over them takes no time.

mod arrival_time;
mod feed;
mod feeds;
mod hash;
mod start;
#[cfg(test)]
mod tests;
mod window;

pub use arrival_time::ArrivalTime;
pub use feed::{ClientTags, Events, Feed, Payouts};
pub use feeds::{Feeds, Refused};
pub use start::start;
pub use window::{RECORDS_ENOUGH, Window};
