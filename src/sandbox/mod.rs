//! A partner simulator: answers as partners would, from the case files that describe them.
//!
//! A case file (`<cases>/<key>/<case>.json`) has a `response`. The first segment of a request's path is the
//! key of the partner. The text `case:<name>` in the body or query selects the case, else `offers` answers or
//! the case begun last goes on. A named case is answered as it stands; others are subject to [`Chance`].
//! `/<key>/token` grants OAuth 2 tokens, and `GET /` lists partners and cases. No body is ever printed.

mod behaviour;
mod callback;
mod cases;
mod chance;
mod server;

pub use behaviour::Behaviours;
pub use cases::SandboxCases;
pub use chance::{Chance, Latency, Rates};
pub use server::serve;
