//! Serving HTTP, for all three listeners: from bytes to a handler and back.
//!
//! The path of a request, by file:
//!
//! 1. [`listener`] accepts the connection. [`connections`] gives it a slot, or refuses it (503, 429).
//! 2. In `service`, `door` refuses malformed heads (400, 417), and new work while the queue is full (503).
//!    `envelope` gives the request an id, a task of its own and a panic boundary.
//! 3. [`cors`] answers preflights. [`gate`] counts the request against its address (429) and the requests
//!    under way (503).
//! 4. [`router`] finds its row, or answers 404, 405, or `OPTIONS`.
//! 5. [`caller`] checks the token or the [`signature`] against the row's [`Scope`]. [`gate`] counts the
//!    request against the company (429). [`edition`] checks that the row exists in the edition that `Accept`
//!    asks for.
//! 6. New work queues in [`gate`] ([`load_shedder`](offerd_base::load_shedder)).
//! 7. The [`Handler`] reads body ([`request`]) and [`query`], and returns a [`Reply`] or a [`Failure`]. One
//!    function turns either into an answer, in the client's `coding`; `exchange` counts and logs it.
//!
//! Invariants: only this crate names warp; no filter rejects, so there is no rejection to handle; memory
//! holds no more of a body than its cap; metrics hold the route's template, never the path; the access log
//! has the path without its query, or the template where a part of the path is secret.
//!
//! A handler and its row:
//!
//! ```text
//! async fn get_lead(context: Context<App>) -> Result<Reply, Failure> {
//!     let uuid = context.params.uuid("uuid")?;
//!     let lead = context.app.leads.get(uuid).ok_or_else(|| Failure::unknown_uuid("Lead", uuid))?;
//!     Reply::json(&lead)
//! }
//!
//! routes! {
//!     GET "/leads/{uuid}" Confidential All [get_lead]
//!         "Gives a lead as it was sent.";
//! }
//! ```

mod activity;
pub mod allowance;
pub mod answer_meter;
mod body_progress;
pub mod caller;
mod client_address;
mod coding;
pub mod connections;
pub mod cors;
mod door;
pub mod edition;
mod envelope;
pub mod events;
mod exchange;
pub mod failure;
pub mod gate;
pub mod handler;
mod hyper_errors;
mod in_process;
mod lingering_close;
pub mod list;
pub mod listener;
pub mod percent;
mod preferences;
mod prelude;
mod protocols;
pub mod query;
mod refusal;
pub mod request;
mod request_head;
pub mod respond;
pub mod router;
mod service;
pub mod signature;
pub mod surface;
pub mod templates;
pub mod threads;
pub mod tls;
mod write_timeout;
mod wrong_listener;

#[cfg(test)]
mod tests;

pub use allowance::{AllowanceStatus, Allowances, Rate};
pub use answer_meter::AnswerMeter;
pub use caller::{AccessToken, Authenticate, Caller, Principal, QuerySigningKey, SECRET, Scope};
pub use client_address::Peer;
pub use coding::{Compressed, RenditionName, Renditions};
pub use connections::{ConnectionRules, Connections};
pub use cors::{Cors, CorsVendorPolicy};
pub use edition::{Edition, Editions};
pub use failure::{Failure, blocking, our_fault};
pub use gate::{Gate, GateRules};
pub use handler::{Answer, Context, Handler};
pub use in_process::{AnswerBody, InProcess};
pub use listener::{Drained, Limits, Listener};
pub use preferences::{handling, preferences};
pub use request::Request;
pub use respond::{HeldTags, Reply};
pub use router::{Params, Route, Router};
pub use service::{HttpService, service};
pub use surface::Surface;
pub use threads::Threads;
pub use tls::{Renewal, TlsIdentity};
pub use wrong_listener::WrongListenerHint;
