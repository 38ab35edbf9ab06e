//! What answers a request, and what it is given.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::caller::Caller;
use super::edition::Edition;
use super::failure::Failure;
use super::params::Params;
use super::request::Request;
use super::respond::Reply;

/// A handler as it stands in the route table; `handler!` makes one of an `async fn`.
pub type Handler<A> = fn(Context<A>) -> BoxFuture<'static, Result<Reply, Failure>>;

/// All that a handler may look at.
pub struct Context<A> {
    /// The application.
    pub app: Arc<A>,
    /// The request, its body still unread.
    pub request: Request,
    /// The values of the path parameters.
    pub params: Params,
    /// Who is calling; `None` exactly on routes of [`Scope::None`](super::Scope::None).
    pub caller: Option<Caller>,
    /// The edition to answer in.
    pub edition: Edition,
}

impl<A> Context<A> {
    /// The caller, on a route that asks for one.
    pub fn caller(&self) -> Result<&Caller, Failure> {
        debug_assert!(self.caller.is_some(), "a route with a scope has a caller");
        self.caller.as_ref().ok_or_else(|| Failure::unauthorized("Access token is missing"))
    }
}

/// Puts an `async fn(Context<App>) -> Result<Reply, Failure>` into a route table, or two: the one that answers, and the
/// one that answers who asks for v1.
macro_rules! handler {
    ($function:path) => {
        |context| ::std::boxed::Box::pin($function(context))
    };
    ($current:path, v1: $v1:path) => {
        |context| match context.edition {
            $crate::web::Edition::Current => ::std::boxed::Box::pin($current(context)),
            $crate::web::Edition::V1 => ::std::boxed::Box::pin($v1(context)),
        }
    };
}

pub(crate) use handler;
