//! Who is welcome at a listener, beside what tokens say: pages by their origin, the older edition by its vendor.

use super::cors::Cors;

/// Origins and vendors. May change while requests are served; each is answered under one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// Which origins may call from a browser.
    pub cors: Cors,
    /// The vendor names that the v1 `Accept` type may carry; with none, any.
    pub vendors: Vec<String>,
}
