//! A partner simulator: answers as partners would, from the case files that describe them.
//!
//! A case file (`<cases>/<key>/<case>.json`) has a `response`; its other keys are for the runner of the
//! cases. The first segment of a request's path is the key of the partner. The request selects the case by
//! the text `case:<name>` anywhere in its body or query; without it the case `offers` answers. Later calls
//! stay with the case that was begun last. A case that was named is answered as it stands; all others are
//! subject to [`Chance`]. `/<key>/token` grants OAuth 2 tokens, and `GET /` lists partners and cases.
//! Callbacks are signed with the `secrets` of the partner's `sandbox.toml`. No body is ever printed.

mod behaviour;
mod callback;
mod cases;
mod chance;
mod server;

pub use behaviour::Behaviours;
pub use cases::SandboxCases;
pub use chance::{Chance, Latency, Rates};
pub use server::serve;
