//! One public listener's whole surface: what it offers, to whom, in which editions.

use std::sync::Arc;

use tokio::sync::watch;

use super::answer_meter::AnswerMeter;
use super::cors::Welcome;
use super::elsewhere::Elsewhere;
use super::gate::Gate;
use super::handler::Handler;
use super::router::Router;

/// What a public listener serves.
pub struct Surface<A> {
    /// Counts its answers, by the listener's name.
    pub meter: AnswerMeter,
    /// The application that handlers are given.
    pub app: Arc<A>,
    /// The compiled route table.
    pub router: Router<Handler<A>>,
    /// What the other listeners serve.
    pub elsewhere: Arc<Elsewhere>,
    /// What it lets past.
    pub gate: Arc<Gate>,
    /// Who is welcome as of now; a request keeps to what it finds when it arrives.
    pub welcome: watch::Receiver<Arc<Welcome>>,
}
