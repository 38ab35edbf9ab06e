//! Sends requests to remote systems within a deadline. Knows no partner, lead or file.
//!
//! A process has one [`Wire`]; a [`Pool`] holds the connections to one remote system; an [`Endpoint`] is one
//! kind of traffic to it, with its own [`breaker`], concurrency limit and [`retry`] budget. A call:
//!
//! 1. is refused at once if its deadline has passed, the endpoint is full or its breaker is open;
//! 2. takes a pooled connection or makes one, to an address checked against the [`address`] rules, so that no
//!    second resolution can lead elsewhere; host names are looked up on threads of their own (`lookups`);
//! 3. is sent once; again only if it was certainly never sent or is idempotent, within the retry budget;
//! 4. is read under the size limit of the pool, both before and after decoding, and within the memory for all
//!    answers (`room`);
//! 5. ends in a [`CallReply`], on which the caller reports its verdict ([`Endpoint::report`]), or in one
//!    [`CallError`].
//!
//! The deadline covers all of it. When it passes, the connection is dropped, except for a sample (`late`).
//!
//! Deliberately absent: redirects, proxies from the environment, cookies, queues.

pub mod address;
mod body;
pub mod breaker;
mod call;
mod connector;
mod endpoint;
mod endpoint_group;
mod error;
mod first_bytes;
mod late;
mod lookups;
pub mod pinned;
mod pool;
pub mod retry;
mod room;
#[cfg(test)]
mod tests;
mod tls;
mod tls_fault;
mod window;

use std::sync::Arc;

use rustls::RootCertStore;

pub use body::decoded;
pub use breaker::{BreakerRules, BreakerState};
pub use call::{Call, CallReply, CallResult, Phases};
pub use endpoint::{Endpoint, EndpointRules, EndpointState};
pub use endpoint_group::GroupRules;
pub use error::{CallError, Phase, cause};
pub use late::{LateListener, OnLateReply};
pub use lookups::LookupRules;
pub use pool::{Pool, PoolRules};
pub use retry::RetryRules;
pub use tls::trusting;
pub use tls_fault::TlsFault;

use endpoint_group::EndpointGroup;
use lookups::Lookups;

/// State shared by all pools. One per process, cheap to clone.
#[derive(Clone)]
pub struct Wire {
    group: Arc<EndpointGroup>,
    lookups: Arc<Lookups>,
    public_roots: Arc<RootCertStore>,
}

impl Wire {
    /// Creates a wire without pools.
    pub fn new(rules: GroupRules) -> Self {
        let (group, public_roots) = (Arc::new(EndpointGroup::new(rules)), Arc::new(tls::public_roots()));
        Self { group, lookups: Lookups::of_system(), public_roots }
    }

    /// Replaces the limits of all endpoints together.
    pub fn set_rules(&self, rules: GroupRules) {
        self.group.set_rules(rules);
    }

    /// Replaces the limits of look-ups of host names.
    pub fn set_lookup_rules(&self, rules: LookupRules) {
        self.lookups.set_rules(rules);
    }

    /// Creates a pool for one remote system; `name` labels its metrics. Does not connect yet.
    pub fn pool(&self, name: &str, rules: PoolRules) -> Result<Pool, String> {
        Pool::new(name, rules, self)
    }
}
