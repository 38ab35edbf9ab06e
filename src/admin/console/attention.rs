//! What needs attention: what comes first on *Now*, and may be all that somebody looks at.

use serde::Serialize;

use super::super::App;
use super::alerts::{Row, row};
use super::health::Check;
use super::standing::{Pill, of_seats};
use super::today::Compared;

/// Alerts and partners that are shown, the worst; their pages have all.
const SHOWN: usize = 8;

/// The rule whose alerts are shown as partners.
const PARTNER_UNWELL: &str = "OfferdPartnerUnwell";

/// What needs attention.
#[derive(Debug, Serialize)]
pub(super) struct Attention {
    /// Alerts that fire, the most urgent first.
    alerts: Vec<Row>,
    /// Partners that are unwell, the worst first.
    partners: Vec<Unwell>,
    /// How many of both are not shown.
    more: usize,
    /// What is checked and not well, partners aside.
    checks: Vec<Check>,
    /// When the figures of today were read, and they; nothing for who may not see them.
    money: Option<(i64, Vec<Compared>)>,
    /// The time zone of the day.
    zone: String,
}

/// A partner that is unwell.
#[derive(Debug, Serialize)]
struct Unwell {
    key: String,
    name: String,
    product: &'static str,
    health: Pill,
    cause: Option<String>,
    #[serde(skip)]
    badness: u8,
}

impl Attention {
    /// As of now; `checks` are all that was looked at.
    pub(super) fn of(app: &App, checks: &[Check], sees_money: bool) -> Self {
        let standing = app.alerts.standing(&app.settings().alerts);
        let firing = standing
            .alerts
            .into_iter()
            .filter(|alert| alert.state == "firing" && alert.name != PARTNER_UNWELL);
        let mut alerts: Vec<Row> = firing.map(row).collect();
        let mut partners = unwell(app);
        let more = alerts.len().saturating_sub(SHOWN) + partners.len().saturating_sub(SHOWN);
        alerts.truncate(SHOWN);
        partners.truncate(SHOWN);
        let is_wrong =
            |check: &&Check| ["warn", "bad"].contains(&check.class) && check.name != "Partners’ health";
        let zone = app.settings().reports.zones.first().map_or("UTC", |zone| zone.name()).to_owned();
        Self {
            alerts,
            partners,
            more,
            checks: checks.iter().filter(is_wrong).cloned().collect(),
            money: if sees_money { app.console.days.compared() } else { None },
            zone,
        }
    }
}

fn unwell(app: &App) -> Vec<Unwell> {
    let seats = of_seats(&app.engine).into_iter();
    let bad = seats.filter(|look| look.standing.health.health.badness() > 0);
    let mut found: Vec<Unwell> = bad
        .map(|look| Unwell {
            key: look.seat.identity.key.clone(),
            name: look.seat.identity.partner.name.clone(),
            product: look.seat.product_type.as_str(),
            badness: look.standing.health.health.badness(),
            cause: look.standing.health.cause.clone(),
            health: look.health,
        })
        .collect();
    found.sort_by_key(|one| std::cmp::Reverse(one.badness));
    found
}
