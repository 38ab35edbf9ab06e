//! What answers a request, and what it is given.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::caller::{Caller, Principal};
use super::edition::Edition;
use super::failure::Failure;
use super::request::Request;
use super::respond::Reply;
use super::router::Params;

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
    pub principal: Option<Principal>,
    /// The edition to answer in.
    pub edition: Edition,
}

impl<A> Context<A> {
    /// The company that calls, on a route that asks for one.
    pub fn caller(&self) -> Result<&Caller, Failure> {
        match &self.principal {
            Some(Principal::Company(caller)) => Ok(caller),
            _ => Err(self.not_asked_for()),
        }
    }

    /// The key of the partner that calls, on a route that asks for one.
    pub fn partner(&self) -> Result<&str, Failure> {
        match &self.principal {
            Some(Principal::Partner(partner)) => Ok(partner),
            _ => Err(self.not_asked_for()),
        }
    }

    /// Only a handler whose row asks for somebody else gets here.
    fn not_asked_for(&self) -> Failure {
        debug_assert!(false, "a route's scope is what its handler asks for");
        Failure::unauthorized("Access token is missing")
    }
}

/// Puts an `async fn(Context<App>) -> Result<Reply, Failure>` into a route table, or two: the one that answers, and the
/// one that answers who asks for v1.
#[macro_export]
macro_rules! handler {
    ($function:path) => {
        |context| ::std::boxed::Box::pin($function(context))
    };
    ($current:path, v1: $v1:path) => {
        |context| match context.edition {
            $crate::Edition::Current => ::std::boxed::Box::pin($current(context)),
            $crate::Edition::V1 => ::std::boxed::Box::pin($v1(context)),
        }
    };
}
