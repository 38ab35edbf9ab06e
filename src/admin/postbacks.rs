//! `GET /postbacks`, `GET /postbacks/{name}/dead`, `POST /postbacks/{name}/retry`, `POST /postbacks/{name}/test`: what
//! `offerd postbacks` calls.

use std::sync::Arc;

use super::App;
use super::audit::{Actor, Note, audit};
use super::command::{ORDER_BYTES, blocking, order, our_fault, unavailable};
use super::unwritten::unwritten;
use crate::postbacks::{self, Retry, Subscription};
use crate::web::{Context, Failure, Reply};

/// What the log says where that is not known.
const UNREAD: &str = "what is held of postbacks could not be read";

/// How all of them stand.
pub(super) async fn list(context: Context<App>) -> Result<Reply, Failure> {
    let (store, subscriptions) = (context.app.store.clone(), context.app.subscriptions());
    let read = move || postbacks::standings(&store, &subscriptions);
    Reply::json(&blocking(UNREAD, read).await?.map_err(our_fault(UNREAD))?)
}

/// What was given up of one.
pub(super) async fn dead(context: Context<App>) -> Result<Reply, Failure> {
    let subscription = named(&context)?;
    let store = context.app.store.clone();
    let read = move || postbacks::dead_letters(&store, &subscription);
    Reply::json(&blocking(UNREAD, read).await?.map_err(our_fault(UNREAD))?)
}

/// Sends what was given up again.
pub(super) async fn retry(mut context: Context<App>) -> Result<Reply, Failure> {
    let which: Retry = order(&mut context, ORDER_BYTES).await?;
    let subscription = named(&context)?;
    let retried = postbacks::retry(&context.app.store, &subscription, which).await;
    let retried = retried.map_err(|cause| unwritten("what is to be sent again", &cause))?;
    let put_back = retried.put_back;
    let note = Note::of("postbacks.retry").about(format!("{}: {put_back} letters", subscription.name));
    context.app.note_if_can(&Actor::of_command(&context), note).await;
    audit!(context, "postbacks.retry", subscription = subscription.name, put_back, "dead letters put back");
    Reply::json(&retried)
}

/// Sends a test event and shows the answer.
pub(super) async fn test(context: Context<App>) -> Result<Reply, Failure> {
    let subscription = named(&context)?;
    let note = Note::of("postbacks.test").about(&subscription.name);
    context.app.note_if_can(&Actor::of_command(&context), note).await;
    audit!(context, "postbacks.test", subscription = subscription.name, "test event sent");
    let trial = postbacks::try_out(&subscription).await.map_err(unavailable)?;
    Reply::json(&trial)
}

fn named(context: &Context<App>) -> Result<Arc<Subscription>, Failure> {
    let name = context.params.get("name").unwrap_or_default();
    let known = context.app.subscriptions().named(name).cloned();
    known.ok_or_else(|| Failure::unknown("There is no subscription of this name"))
}
