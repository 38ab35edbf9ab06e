//! The public listeners: from bytes to a handler and back.
//!
//! A request's way, a file a step:
//!
//! 1. [`listener`] accepts the connection (no delay, a limit on the head's time and size) and notes the peer; [`connections`] has
//!    a place for it, for which an idle one may be closed, or none (503, or 429 where its address has too many).
//! 2. In `service`, `door` refuses what names no host, or two, and bodies in codings (400), and what expects anything but to go on (417), and turns new work away while there is no room for it in the queue
//!    (503). Both answer with the 429 of step 4 to one who asks too often.
//! 3. The one warp filter takes the request apart; `envelope` gives it an id and a task of its
//!    own, so that neither a hang-up nor a panic of the handler reaches anything else.
//! 4. [`gate`] counts it for its address (429), for those under way and, once the caller is known, for the
//!    company; new work waits in the queue there until it is let in ([`load_shedder`](offerd_base::load_shedder)), or is turned away as at
//!    the door. No body is read before.
//! 5. [`router`] finds the row of the route table, or answers 404, 405, or `OPTIONS`; [`cors`] answers
//!    preflights.
//! 6. [`caller`] asks for the token, or the [`signature`], that the row's [`Scope`] wants, [`edition`] whether the row is part of
//!    what `Accept` asks for.
//! 7. The [`Handler`] reads the body through [`request`], the query through [`query`], and gives a [`Reply`] or
//!    a [`Failure`]; each is turned into an answer by one function, in the `coding` that the client asks for, which `exchange` seals with id, CORS, cache
//!    rules, metrics and a log line. What is left of a body that nobody reads is heard out, so that the answer is heard too
//!    (`lingering_close`).
//!
//! Invariants: only this module names warp; no filter rejects, so there is nothing to recover
//! from; no more of a body is held than its cap; logs and metrics hold the route's template, never the path.
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
mod arrival;
pub mod caller;
mod client_address;
mod coding;
pub mod connections;
pub mod cors;
mod door;
pub mod edition;
mod elsewhere;
mod envelope;
pub mod events;
mod exchange;
mod explained;
pub mod failure;
pub mod gate;
pub mod handler;
mod in_process;
mod lingering_close;
pub mod list;
pub mod listener;
mod percent;
mod protocols;
pub mod query;
mod refusal;
pub mod request;
pub mod respond;
pub mod router;
mod service;
pub mod signature;
pub mod surface;
mod taken;
pub mod templates;
pub mod threads;
pub mod tls;
mod unstalled;

#[cfg(test)]
mod tests;

pub use allowance::{Allowances, Rate, Standing};
pub use answer_meter::AnswerMeter;
pub use caller::{Authenticate, Caller, Principal, Scope, SigningKey, Token};
pub use client_address::Peer;
pub use coding::{Compressed, Rendition, Renditions};
pub use connections::{ConnectionRules, Connections};
pub use cors::{Cors, Welcome};
pub use edition::{Edition, Editions};
pub use elsewhere::Elsewhere;
pub use failure::{Failure, blocking, our_fault};
pub use gate::{Gate, GateRules};
pub use handler::{Context, Handler};
pub use in_process::{AnswerBody, InProcess};
pub use listener::{Drained, HttpService, Limits, Listener};
pub use request::Request;
pub use respond::{HeldTags, Reply};
pub use router::{Params, Route, Router};
pub use service::service;
pub use surface::Surface;
pub use threads::Threads;
pub use tls::{Identity, Renewal};
