//! `GET /console/alerts`: which alerts fire, and who is told; `POST …/test`.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::super::alerts::refuse_stranger;
use super::super::audit::Note;
use super::section::Section;
use super::view::{Page, View};
use super::visit::{Visit, audit};
use crate::alerts::{AlertStanding, ReceiverStanding, Severity, Standing, Tried, try_out};
use crate::web::Failure;

/// Where the page is.
const PATH: &str = "/console/alerts";

#[derive(Debug, Serialize)]
struct Alerts {
    /// Those that fire or wait.
    open: Vec<Row>,
    /// Those that have ended.
    ended: Vec<Row>,
    /// Who is told; only for who may know that.
    receivers: Vec<ReceiverStanding>,
    /// What came of a test that was just sent from this page.
    tried: Option<Vec<Tried>>,
}

/// An alert as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    alert: AlertStanding,
    /// The class of the style sheet.
    class: &'static str,
}

impl Page for Alerts {
    const SECTION: Section = Section::Alerts;
    const TEMPLATE: &'static str = "alerts.html";
    const FRESH: Option<Duration> = Some(Duration::from_secs(10));
}

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    visit.view(&page(&visit, None))
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
    let tried = try_out(&visit.app.alerts, &settings.alerts, receiver, visit.app.store.now_ms()).await;
    visit.view(&page(&visit, Some(tried)))
}

fn page(visit: &Visit, tried: Option<Vec<Tried>>) -> Alerts {
    let Standing { alerts, receivers } = visit.app.alerts.standing(&visit.app.settings().alerts);
    let (ended, open) = alerts.into_iter().map(row).partition(|row| row.alert.ended.is_some());
    Alerts { open, ended, receivers, tried }
}

/// An alert with the colour that its urgency has.
pub(super) fn row(alert: AlertStanding) -> Row {
    let class = match (alert.fired, alert.ended, alert.severity) {
        (_, Some(_), _) | (None, ..) => "idle",
        (Some(_), None, Severity::Page) => "bad",
        (Some(_), None, _) => "warn",
    };
    Row { alert, class }
}
