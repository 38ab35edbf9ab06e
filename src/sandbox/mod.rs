//! A partner simulator: answers as partners would, from the case files that describe them.
//!
//! A case file (`<cases>/<key>/<case>.json`) has a `response`; the other keys are for the runner of the cases. The first
//! segment of a request's path is the key of the partner. Which case answers is told by the request: the text
//! `case:<name>` anywhere in its body or query (a lead whose last name is `case:declined` will do), else it is the one called
//! `offers`; later calls stay with the case that was begun last. A case that was asked for is answered as it stands; all others
//! meet the [`Chance`] of errors, garbage, slow drips and connections that break. `/<key>/token` grants OAuth 2 tokens, and `GET /`
//! lists what there is. What a partner calls back with is signed as its case says, with the `secrets` of its `sandbox.toml`.
//!
//! Knows cases as the runner of the cases does, but no partner file and no lead, and never prints a body.

mod behaviour;
mod callback;
mod cases;
mod chance;
mod server;

pub use behaviour::Behaviours;
pub use cases::Cases;
pub use chance::{Chance, Latency, Rates};
pub use server::serve;
