//! `GET /console/alerts`: which alerts fire, and who is told; `POST …/test`.

use super::super::alerts::tested;
use super::prelude::*;
use offerd_outbound::alerts::{AlertStanding, Severity, Standing, Tried};

const PAGE: Page = Page::new(Section::Alerts, "alerts.html").fresh(Duration::from_secs(10));

/// Shows the page.
pub(super) async fn show(visit: &Visit) -> Result<View, Failure> {
    page(visit, None)
}

/// Tells everybody a test, or who is named, and shows what came of it.
pub(super) async fn test(visit: &Visit) -> Result<View, Failure> {
    page(visit, Some(tested(&visit.app, &visit.actor(), visit.field("receiver")).await?))
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
