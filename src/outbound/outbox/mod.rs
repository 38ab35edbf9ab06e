//! What [`postbacks`](crate::postbacks) and [`alerts`](crate::alerts) have in common, who push messages to receivers: a thread of their own
//! ([`Worker`]), signed webhooks ([`webhook`]) and which hosts they may call, secrets ([`secret`]), and when what failed is tried again
//! ([`Backoff`]).

mod backoff;
mod call;
pub mod secret;
mod signing_key;
mod worker;

pub use backoff::Backoff;
pub use call::{forbidden, host, pool_rules, webhook, wire};
pub use signing_key::SigningKey;
pub use worker::Worker;
