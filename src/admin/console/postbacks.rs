//! `GET /console/postbacks`: how what is pushed to companies stands; `POST …/{name}/test` and `…/{name}/retry`.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::super::audit::Note;
use super::super::command::our_fault;
use super::super::unwritten::unwritten;
use super::section::Section;
use super::view::{Page, View, see};
use super::visit::{Visit, audit};
use crate::postbacks::{self, Retry, Standing, Subscription, Trial};
use crate::web::{Failure, Reply};

/// Where the page is.
const PATH: &str = "/console/postbacks";

#[derive(Debug, Serialize)]
struct Postbacks {
    rows: Vec<Row>,
    /// Where the files are.
    path: String,
    /// What came of a test that was just sent from this page, and for which subscription.
    tested: Option<(String, Result<Trial, String>)>,
}

#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    standing: Standing,
    /// The class of the style sheet, and the words.
    state: (&'static str, &'static str),
    answer: Option<String>,
}

impl Page for Postbacks {
    const SECTION: Section = Section::Postbacks;
    const TEMPLATE: &'static str = "postbacks.html";
    const FRESH: Option<Duration> = Some(Duration::from_secs(10));
}

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let page = page(&visit, None).await?;
    visit.view(&page)
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
    let page = page(&visit, Some((subscription.name.clone(), trial))).await?;
    visit.view(&page)
}

/// Sends again what was given up.
pub(super) async fn retry(visit: Arc<Visit>) -> Result<Reply, Failure> {
    let subscription = named(&visit)?;
    let retried = postbacks::retry(&visit.app.store, &subscription, Retry::default()).await;
    let put_back = retried.map_err(|cause| unwritten("what is to be sent again", &cause))?.put_back;
    let note = Note::of("postbacks.retry").about(format!("{}: {put_back} letters", subscription.name));
    visit.app.note_if_can(&visit.actor(), note).await;
    audit!(visit, "postbacks.retry", subscription = subscription.name, put_back, "dead letters put back");
    see(PATH)
}

async fn page(visit: &Visit, tested: Option<(String, Result<Trial, String>)>) -> Result<Postbacks, Failure> {
    let subscriptions = visit.app.subscriptions();
    let path = subscriptions.settings.path.display().to_string();
    let read = visit.reading(move |app| postbacks::standings(&app.store, &subscriptions)).await?;
    let standings = read.map_err(our_fault("what is held of postbacks could not be read"))?;
    let row = |standing: Standing| Row {
        state: match (standing.paused, standing.failing_since) {
            (true, _) => ("idle", "paused"),
            (false, Some(_)) => ("bad", "failing"),
            (false, None) => ("good", "well"),
        },
        answer: standing.last.as_ref().map(ToString::to_string),
        standing,
    };
    Ok(Postbacks { rows: standings.into_iter().map(row).collect(), path, tested })
}

fn named(visit: &Visit) -> Result<Arc<Subscription>, Failure> {
    let name = visit.params.get("name").unwrap_or_default();
    let known = visit.app.subscriptions().named(name).cloned();
    known.ok_or_else(|| Failure::unknown("There is no subscription of this name"))
}
