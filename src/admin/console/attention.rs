//! The problems that need attention: the top of *Now*.

use super::alerts::row;
use super::health::HealthCheck;
use super::prelude::*;
use super::standing::{SeatView, of_seats};
use offerd_outbound::alerts::AlertStatus;

/// Maximum alerts and partners shown, worst first; their pages have all.
const SHOWN: usize = 8;

/// The alert rule whose alerts are shown as partners.
const PARTNER_UNWELL: &str = "OfferdPartnerUnwell";

/// The current problems; `checks` are all checks.
pub(super) fn attention(app: &AdminState, checks: &[HealthCheck], sees_money: bool) -> Value {
    let standing = app.alerts.standing(&app.settings().alerts);
    let is_firing = |alert: &&AlertStatus| alert.state == "firing" && alert.name != PARTNER_UNWELL;
    let mut alerts: Vec<Value> = standing.alerts.iter().filter(is_firing).map(row).collect();
    let mut partners = unwell(app);
    let more = alerts.len().saturating_sub(SHOWN) + partners.len().saturating_sub(SHOWN);
    alerts.truncate(SHOWN);
    partners.truncate(SHOWN);
    let is_wrong = |of: &&HealthCheck| ["warn", "bad"].contains(&of.class) && of.name != "Partners’ health";
    fields! {
        alerts,
        partners,
        more,
        // Except the check of partners.
        checks => checks.iter().filter(is_wrong).collect::<Vec<_>>(),
        money => if sees_money { app.console.days.compared() } else { None },
        zone => app.settings().reports.zones.first().map_or("UTC", |zone| zone.name()),
    }
}

/// Unhealthy partners, worst first.
fn unwell(app: &AdminState) -> Vec<Value> {
    let badness = |look: &SeatView| look.standing.health.health.badness();
    let mut bad: Vec<SeatView> = of_seats(&app.engine).into_iter().filter(|look| badness(look) > 0).collect();
    bad.sort_by_key(|look| std::cmp::Reverse(badness(look)));
    let row = |SeatView { seat, standing, health, .. }: &SeatView| {
        let identity = &seat.identity;
        fields! {
            key => identity.key,
            name => identity.partner.name,
            product => seat.product_type.as_str(),
            health,
            cause => standing.health.cause,
        }
    };
    bad.iter().map(row).collect()
}
