//! One public listener's whole surface: what it offers, to whom, in which editions.

use std::sync::Arc;

use hyper::HeaderMap;
use tokio::sync::watch;

use super::answer_meter::AnswerMeter;
use super::cors::Welcome;
use super::elsewhere::Elsewhere;
use super::failure::Failure;
use super::gate::Gate;
use super::handler::Handler;
use super::respond::Reply;
use super::router::Router;

/// A page that says a failure to a person, by the template of the route and the headers of the request; `None` where a program reads it.
pub type Kindly<A> = fn(&A, &'static str, &HeaderMap, &Failure) -> Option<Reply>;

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
    /// Says a failure of a route, by its template, in a page, where a person reads the answer.
    pub kindly: Kindly<A>,
    /// Who is welcome as of now; a request keeps to what it finds when it arrives.
    pub welcome: watch::Receiver<Arc<Welcome>>,
}
