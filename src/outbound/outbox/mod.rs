//! The shared parts of [`postbacks`](crate::postbacks) and [`alerts`](crate::alerts): a [`Worker`] thread,
//! signed webhooks ([`webhook`]), secrets ([`secret`]), and the [`Backoff`] between retries.

mod backoff;
mod call;
pub mod secret;
mod signing_key;
mod worker;

pub use backoff::Backoff;
pub use call::{forbidden, host, pool_rules, webhook, wire};
pub use signing_key::SigningKey;
pub use worker::Worker;
