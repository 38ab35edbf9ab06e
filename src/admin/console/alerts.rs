//! `GET /console/alerts`: which alerts fire, and who is told; `POST …/test`.

use std::sync::Arc;
use std::time::Duration;

use minijinja::value::Value;

use super::super::alerts::refuse_stranger;
use super::super::audit::Note;
use super::section::Section;
use super::view::{Page, View, fields};
use super::visit::{Visit, audit};
use crate::alerts::{AlertStanding, Severity, Standing, Tried, try_out};
use crate::web::Failure;

/// Where the page is.
const PATH: &str = "/console/alerts";

const PAGE: Page = Page::new(Section::Alerts, "alerts.html").fresh(Duration::from_secs(10));

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    page(&visit, None)
}

/// Leads to the page from where its form is sent.
pub(super) async fn back(_: Arc<Visit>) -> Result<View, Failure> {
    Ok(View::at(PATH.to_owned()))
}

/// Tells everybody a test, or who is named, and shows what came of it.
pub(super) async fn test(visit: Arc<Visit>) -> Result<View, Failure> {
    let settings = visit.app.settings();
    let receiver = visit.field("receiver").filter(|name| !name.is_empty());
    refuse_stranger(&settings, receiver)?;
    let note = Note::of("alerts.test").about(receiver.unwrap_or("every receiver"));
    visit.app.note_if_can(&visit.actor(), note).await;
    audit!(visit, "alerts.test", "test of alerts sent");
    let tried = try_out(&settings.alerts, receiver, visit.app.store.now_ms()).await;
    visit.app.alerts.tried(&tried, visit.app.store.now_ms());
    page(&visit, Some(tried))
}

/// The page, with what came of a test that was just sent from it.
fn page(visit: &Visit, tried: Option<Vec<Tried>>) -> Result<View, Failure> {
    let Standing { alerts, receivers } = visit.app.alerts.standing(&visit.app.settings().alerts);
    let (ended, open): (Vec<_>, Vec<_>) = alerts.into_iter().partition(|alert| alert.ended.is_some());
    let rows = |alerts: &[AlertStanding]| alerts.iter().map(row).collect::<Vec<_>>();
    visit.view(PAGE, fields! { open => rows(&open), ended => rows(&ended), receivers, tried })
}

/// An alert with the class of the style sheet that its urgency has.
pub(super) fn row(alert: &AlertStanding) -> Value {
    let class = match (alert.fired, alert.ended, alert.severity) {
        (_, Some(_), _) | (None, ..) => "idle",
        (Some(_), None, Severity::Page) => "bad",
        (Some(_), None, _) => "warn",
    };
    fields! { class, ..alert }
}
