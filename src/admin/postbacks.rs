//! `/postbacks` and below, for `offerd postbacks`, and the actions that the console shares.

use super::prelude::*;
use offerd_outbound::postbacks::{self, Retried, Retry, Subscription, Trial};
use offerd_web::Params;

pub(super) const UNREAD: &str = "postback records could not be read";

pub(super) async fn list(context: Context) -> Result<Reply> {
    let read = |app: &AdminState| postbacks::statuses(&app.store, &app.subscriptions());
    Reply::json(&context.app.reading(UNREAD, read).await?.map_err(our_fault(UNREAD))?)
}

pub(super) async fn dead(context: Context) -> Result<Reply> {
    let subscription = named(&context.app, &context.params)?;
    let read = move |app: &AdminState| postbacks::dead_letters(&app.store, &subscription);
    Reply::json(&context.app.reading(UNREAD, read).await?.map_err(our_fault(UNREAD))?)
}

pub(super) async fn retry(mut context: Context) -> Result<Reply> {
    let which: Retry = read_body(&mut context, BODY_BYTES).await?;
    let subscription = named(&context.app, &context.params)?;
    Reply::json(&retry_dead(&context.app, &by(&context), &subscription, which).await?)
}

pub(super) async fn test(context: Context) -> Result<Reply> {
    let subscription = named(&context.app, &context.params)?;
    Reply::json(&send_test(&context.app, &by(&context), &subscription).await.map_err(unavailable)?)
}

pub(super) async fn retry_dead(
    app: &AdminState,
    actor: &AuditActor,
    subscription: &Subscription,
    which: Retry,
) -> Result<Retried> {
    let retried = postbacks::retry(&app.store, subscription, which).await;
    let retried = retried.map_err(|cause| unwritten("the retry of dead letters", &cause))?;
    let (subscription, put_back) = (&subscription.name, retried.put_back);
    let note = note!("postbacks.retry", subscription, put_back, "dead letters put back");
    app.note_if_can(actor, note.about(format!("{subscription}: {put_back} letters"))).await;
    Ok(retried)
}

pub(super) async fn send_test(app: &AdminState, by: &AuditActor, to: &Subscription) -> Result<Trial, String> {
    let name = &to.name;
    app.note_if_can(by, note!("postbacks.test", subscription = name, "test event sent").about(name)).await;
    postbacks::try_out(to).await
}

pub(super) fn named(app: &AdminState, params: &Params) -> Result<Arc<Subscription>> {
    let known = app.subscriptions().named(params.get("name").unwrap_or_default()).cloned();
    known.ok_or_else(|| Failure::unknown("There is no subscription with this name"))
}
