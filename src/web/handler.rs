//! Request handlers and their arguments.

use futures_util::future::BoxFuture;

use super::caller::{Caller, Principal};
use super::edition::Edition;
use super::prelude::*;
use super::request::Request;
use super::respond::Reply;
use super::router::Params;

/// What a handler returns.
pub type Answer = Result<Reply, Failure>;

/// A handler in the route table; `handler!` makes one from an `async fn`.
pub type Handler<A> = fn(Context<A>) -> BoxFuture<'static, Answer>;

/// Everything that a handler gets.
pub struct Context<A> {
    /// The application state.
    pub app: Arc<A>,
    /// The request, its body still unread.
    pub request: Request,
    /// The values of the path parameters.
    pub params: Params,
    /// The caller; `None` exactly on routes of [`Scope::None`](super::Scope::None).
    pub principal: Option<Principal>,
    /// The edition to answer in.
    pub edition: Edition,
}

impl<A> Context<A> {
    /// The calling company, on a route for companies.
    pub fn caller(&self) -> Result<&Caller, Failure> {
        match &self.principal {
            Some(Principal::Company(caller)) => Ok(caller),
            _ => Err(self.not_asked_for()),
        }
    }

    /// The key of the calling partner, on a route for partners.
    pub fn partner(&self) -> Result<&str, Failure> {
        match &self.principal {
            Some(Principal::Partner(partner)) => Ok(partner),
            _ => Err(self.not_asked_for()),
        }
    }

    fn not_asked_for(&self) -> Failure {
        debug_assert!(false, "a route's scope is what its handler asks for");
        Failure::unauthorized("Access token is missing")
    }
}

/// Puts an `async fn(Context<App>) -> Answer` into a route table; or two, the second for the v1 edition.
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
