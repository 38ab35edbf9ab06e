//! `GET /console/alerts`: the alerts and their receivers; `POST …/test`.

use super::super::alerts::{notify, status};
use super::prelude::*;
use offerd_outbound::alerts::{AlertStatus, AlertsStatus, ReceiverTest, Severity};

const PAGE: ConsolePage = ConsolePage::new(Section::Alerts, "alerts.html").fresh(Duration::from_secs(10));

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    page(request, None)
}

pub(super) async fn test(request: &ConsoleRequest) -> Result<View> {
    page(request, Some(notify(&request.app, &request.actor(), request.field("receiver")).await?))
}

fn page(request: &ConsoleRequest, tried: Option<Vec<ReceiverTest>>) -> Result<View> {
    let AlertsStatus { alerts, receivers, doubt, node } = status(&request.app);
    let (ended, open): (Vec<_>, Vec<_>) = alerts.into_iter().partition(|alert| alert.ended.is_some());
    let rows = |alerts: &[AlertStatus]| alerts.iter().map(row).collect::<Vec<_>>();
    request.view(PAGE, fields! { open => rows(&open), ended => rows(&ended), receivers, tried, doubt, node })
}

pub(super) fn row(alert: &AlertStatus) -> Value {
    let class = match (alert.fired, alert.ended, alert.severity) {
        (_, Some(_), _) | (None, ..) => "idle",
        (Some(_), None, Severity::Page) => "bad",
        (Some(_), None, _) => "warn",
    };
    fields! { class, ..alert }
}
