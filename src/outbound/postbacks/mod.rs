//! Postbacks: what happens to the leads of a company is pushed to it, as signed webhooks or as calls of a URL with macros.
//!
//! # From an event to its receiver
//!
//! 1. A file of `postbacks.path` is a [`Subscription`]: whose events, which of them, where to, and how (`declared` is what it may say,
//!    `check` finds every fault, [`Subscriptions`] are those in force). [`begin`] notes in the store from when on a new one is told.
//! 2. Each subscription has a task of its own (`follower`) on the one thread of the `keeper`, away from those of leads. It follows the
//!    feed of lead events (`ledger`): what arrived is put among the outstanding deliveries, and the cursor is moved, in one commit. Where
//!    as many are outstanding as may be, the cursor waits; the feed is durable.
//! 3. The `outbox` says which delivery is due: of each lead only the oldest, so that a receiver hears of a lead in the order of arrival.
//! 4. A `message` is made of the event as the newer form of the feed tells it, signed or filled in (`url_template`), and sent over the
//!    [wire](offerd_wire) (`sender`).
//! 5. An answer of 2xx removes the delivery. Anything else is tried again [later](crate::outbox::Backoff), and after
//!    `give_up_after` the delivery is a dead letter (`dead_letters`), which lets the next of its lead pass and can be sent again.
//!
//! Where several processes share a store, the one that leads sends; how all of it stands is in the store, for any of them to show.
//!
//! So each event goes out once or more, whatever is killed: the id of its message stays the same, and the receiver knows the second by it.
//! What is outstanding names a lead and a place in the feed, and holds nothing of either.

mod beginning;
mod check;
mod dead_letters;
mod declared;
mod follower;
mod keeper;
mod ledger;
mod message;
mod outbox;
mod record;
mod sender;
mod standing;
mod subscription;
mod subscriptions;
#[cfg(test)]
mod tests;
mod trial;
mod url_template;

pub use beginning::begin;
pub use dead_letters::{DeadLetter, Retried, Retry, dead, dead_letters, retry, waiting};
pub use keeper::Keeper;
pub use record::{Delivery, Ended};
pub use standing::{Standing, failing, standings};
pub use subscription::Subscription;
pub use subscriptions::Subscriptions;
pub use trial::{Trial, TrialAnswer, try_out};
pub use url_template::MACROS;
