//! Everything that one listener serves, and to whom.

use tokio::sync::watch;

use super::answer_meter::AnswerMeter;
use super::cors::CorsVendorPolicy;
use super::gate::Gate;
use super::handler::Handler;
use super::prelude::*;
use super::respond::Reply;
use super::router::Router;
use super::wrong_listener::WrongListenerHint;

/// Renders a failure as an HTML page; `None` where the client is a program.
pub type FailurePage<A> = fn(&A, &'static str, &HeaderMap, &Failure) -> Option<Reply>;

/// The routes of a listener, with its limits and its CORS policy.
pub struct Surface<A> {
    /// Counts the listener's answers.
    pub meter: AnswerMeter,
    /// The application state that handlers get.
    pub app: Arc<A>,
    /// The compiled route table.
    pub router: Router<Handler<A>>,
    /// The paths of the other listeners, for the hint in a 404.
    pub wrong_listener_hint: Arc<WrongListenerHint>,
    /// Rate limits and load shedding.
    pub gate: Arc<Gate>,
    /// Renders failures for browsers.
    pub failure_page: FailurePage<A>,
    /// CORS and the known v1 vendors. A reload replaces it; a request keeps the one it found on arrival.
    pub policy: watch::Receiver<Arc<CorsVendorPolicy>>,
}
