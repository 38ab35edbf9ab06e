//! `GET /console/postbacks`: how what is pushed to companies stands; `POST …/{name}/test` and `…/{name}/retry`.

use std::sync::Arc;
use std::time::Duration;

use minijinja::value::Value;

use super::super::audit::Note;
use super::super::command::our_fault;
use super::super::unwritten::unwritten;
use super::section::Section;
use super::view::{Page, View, fields};
use super::visit::{Visit, audit};
use crate::postbacks::{self, Delivery, Retry, Standing, Subscription, Trial};
use crate::sheet::figures;
use crate::store::{CommitError, Store};
use crate::web::Failure;

/// Where the page is.
const PATH: &str = "/console/postbacks";

/// Events of a subscription that are shown of those that are sent again, and of those that were given up.
const LETTERS: usize = 50;

const PAGE: Page = Page::new(Section::Postbacks, "postbacks.html").fresh(Duration::from_secs(10));

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    page(&visit, None, None).await
}

/// Leads to the page from where its forms are sent.
pub(super) async fn back(_: Arc<Visit>) -> Result<View, Failure> {
    Ok(View::at(PATH.to_owned()))
}

/// Sends a test event, and shows what came of it.
pub(super) async fn test(visit: Arc<Visit>) -> Result<View, Failure> {
    let subscription = named(&visit)?;
    let note = Note::of("postbacks.test").about(&subscription.name);
    visit.app.note_if_can(&visit.actor(), note).await;
    audit!(visit, "postbacks.test", subscription = subscription.name, "a test event is to be sent");
    let trial = postbacks::try_out(&subscription).await;
    page(&visit, Some((subscription.name.clone(), trial)), None).await
}

/// Sends again what was given up.
pub(super) async fn retry(visit: Arc<Visit>) -> Result<View, Failure> {
    let subscription = named(&visit)?;
    let retried = postbacks::retry(&visit.app.store, &subscription, Retry::default()).await;
    let put_back = retried.map_err(|cause| unwritten("what is to be sent again", &cause))?.put_back;
    let note = Note::of("postbacks.retry").about(format!("{}: {put_back} letters", subscription.name));
    visit.app.note_if_can(&visit.actor(), note).await;
    audit!(visit, "postbacks.retry", subscription = subscription.name, put_back, "dead letters put back");
    let done = format!("{} of {} sent again.", figures::counted(put_back, "event"), subscription.name);
    page(&visit, None, Some(done)).await
}

async fn page(
    visit: &Visit,
    tested: Option<(String, Result<Trial, String>)>,
    done: Option<String>,
) -> Result<View, Failure> {
    let subscriptions = visit.app.subscriptions();
    let path = subscriptions.settings.path.display().to_string();
    let read = visit.reading(move |app| {
        let standings = postbacks::standings(&app.store, &subscriptions)?;
        let letters = subscriptions.all().iter().map(|subscription| letters(&app.store, subscription));
        Ok::<_, CommitError>((standings, letters.collect::<Result<Vec<_>, _>>()?))
    });
    let (standings, letters) =
        read.await?.map_err(our_fault("what is held of postbacks could not be read"))?;
    let row = |(standing, letters): (&Standing, Vec<Value>)| {
        let state = match (standing.paused, standing.failing_since) {
            (true, _) => ("idle", "paused"),
            (false, Some(_)) => ("bad", "failing"),
            (false, None) => ("good", "well"),
        };
        fields! { letters, state, answer => standing.last.as_ref().map(ToString::to_string), ..standing }
    };
    let rows: Vec<_> = standings.iter().zip(letters).map(row).collect();
    visit.view(PAGE, fields! { rows, path, tested, done })
}

/// Events that are sent again, then those that were given up.
fn letters(store: &Store, subscription: &Subscription) -> Result<Vec<Value>, CommitError> {
    let row = |one: Delivery, is_dead: bool| {
        let at = |is_shown: bool| is_shown.then_some(one.next_ms);
        fields! {
            lead => one.lead,
            event => one.event_type.as_str(),
            attempts => one.attempts,
            error => one.last.as_ref().map(ToString::to_string),
            next_at => at(!is_dead),
            given_up_at => at(is_dead),
        }
    };
    let waiting = postbacks::waiting(store, subscription)?.into_iter().take(LETTERS);
    let dead = postbacks::dead(store, subscription)?.into_iter().take(LETTERS);
    Ok(waiting.map(|one| row(one, false)).chain(dead.map(|one| row(one, true))).collect())
}

fn named(visit: &Visit) -> Result<Arc<Subscription>, Failure> {
    let name = visit.params.get("name").unwrap_or_default();
    let known = visit.app.subscriptions().named(name).cloned();
    known.ok_or_else(|| Failure::unknown("There is no subscription of this name"))
}
