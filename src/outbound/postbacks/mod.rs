//! Postbacks: pushes the events of leads to their companies, as signed webhooks or URLs with macros.
//!
//! # From an event to its receiver
//!
//! 1. A file of `postbacks.path` is a [`Subscription`]. `check` has its format and finds every fault,
//!    [`Subscriptions`] holds those in force. [`begin`] stores where a new one starts.
//! 2. Each subscription has a task (`follower`) on the single thread of the `keeper`. It follows the feed of
//!    lead events (`ledger`): one commit adds the arrived events to the outstanding deliveries, up to a
//!    limit, and moves the cursor.
//! 3. The `due_queue` decides which delivery is due: the oldest of each lead, so its events arrive in order.
//! 4. A `message` is built from the event in the newer form of the feed, signed or filled in
//!    (`url_template`), and sent over the [wire](offerd_wire) (`sender`).
//! 5. A 2xx answer removes the delivery. Anything else is retried with [backoff](crate::outbox::Backoff).
//!    After `give_up_after` the delivery becomes a dead letter (`dead_letters`), which can be sent again.
//!
//! On a shared store the leader sends. Delivery is at least once: the id of a message stays the same, so the
//! receiver can detect duplicates. An outstanding delivery contains no data of its lead and event.

mod beginning;
mod check;
mod dead_letters;
mod due_queue;
mod follower;
mod keeper;
mod ledger;
mod message;
mod record;
mod sender;
mod subscription;
mod subscriptions;
#[cfg(test)]
mod tests;
mod trial;
mod url_template;

pub use beginning::begin;
pub use dead_letters::{DeadLetter, Retried, Retry, dead, dead_letters, retry, waiting};
pub use keeper::PostbackKeeper;
pub use record::{AttemptResult, PostbackDelivery};
pub use subscription::Subscription;
pub use subscriptions::{SubscriptionStatus, Subscriptions, failing, statuses};
pub use trial::{Trial, TrialAnswer, try_out};
pub use url_template::MACROS;
