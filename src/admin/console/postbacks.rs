//! `GET /console/postbacks`: the state of the postbacks; `POST …/{name}/test` and `…/{name}/retry`.

use super::super::postbacks::{UNREAD, named, retry_dead, send_test};
use super::prelude::*;
use offerd_outbound::postbacks::{self, PostbackDelivery, Retry, Subscription, SubscriptionStatus, Trial};
use offerd_store::CommitError;

/// Maximum events shown per subscription, of retried and of dead ones each.
const LETTERS: usize = 50;

const PAGE: ConsolePage =
    ConsolePage::new(Section::Postbacks, "postbacks.html").fresh(Duration::from_secs(10));

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    page(request, None, None).await
}

pub(super) async fn test(request: &ConsoleRequest) -> Result<View> {
    let subscription = named(&request.app, &request.params)?;
    let trial = send_test(&request.app, &request.actor(), &subscription).await;
    page(request, Some((subscription.name.clone(), trial)), None).await
}

pub(super) async fn retry(request: &ConsoleRequest) -> Result<View> {
    let subscription = named(&request.app, &request.params)?;
    let put_back =
        retry_dead(&request.app, &request.actor(), &subscription, Retry::default()).await?.put_back;
    let done = format!("{} of {} sent again.", figures::counted(put_back, "event"), subscription.name);
    page(request, None, Some(done)).await
}

async fn page(
    request: &ConsoleRequest,
    tested: Option<(String, Result<Trial, String>)>,
    done: Option<String>,
) -> Result<View> {
    let subscriptions = request.app.subscriptions();
    let path = subscriptions.settings.path.display().to_string();
    let read = request.reading(move |app| {
        let statuses = postbacks::statuses(&app.store, &subscriptions)?;
        let letters = subscriptions.all().iter().map(|subscription| letters(&app.store, subscription));
        Ok::<_, CommitError>((statuses, letters.collect::<Result<Vec<_>, _>>()?))
    });
    let (statuses, letters) = read.await?.map_err(our_fault(UNREAD))?;
    let row = |(status, letters): (&SubscriptionStatus, Vec<Value>)| {
        let state = match (status.paused, status.failing_since) {
            (true, _) => ("idle", "paused"),
            (false, Some(_)) => ("bad", "failing"),
            (false, None) => ("good", "well"),
        };
        fields! { letters, state, answer => status.last.as_ref().map(ToString::to_string), ..status }
    };
    let rows: Vec<_> = statuses.iter().zip(letters).map(row).collect();
    request.view(PAGE, fields! { rows, path, tested, done })
}

fn letters(store: &Store, subscription: &Subscription) -> Result<Vec<Value>, CommitError> {
    let row = |one: PostbackDelivery, is_dead: bool| {
        let at = |is_shown: bool| is_shown.then_some(one.next_ms);
        fields! {
            lead_uuid => one.lead, event_type => one.event_type.as_str(), attempts => one.attempts,
            answer => one.last.as_ref().map(ToString::to_string),
            next_at => at(!is_dead), given_up_at => at(is_dead),
        }
    };
    let waiting = postbacks::waiting(store, subscription)?.into_iter().take(LETTERS);
    let dead = postbacks::dead(store, subscription)?.into_iter().take(LETTERS);
    Ok(waiting.map(|one| row(one, false)).chain(dead.map(|one| row(one, true))).collect())
}
