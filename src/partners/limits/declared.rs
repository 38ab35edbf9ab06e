//! `[products.<type>.limits]` and `exclusive`, as an operator writes them.

use serde::Deserialize;

/// `[products.<type>.limits]`: when and how often the partner is asked.
///
/// Asks are counted when a lead's rate table is stored with the partner among those who are asked, and for second look
/// when it begins. Leads of test tokens are not counted, and only a pause, an exclusive partner
/// or a suppression list keeps them from one.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Most asks in one minute of the clock.
    pub per_minute: Option<i64>,
    /// Most asks in one day of `time_zone`.
    pub per_day: Option<i64>,
    /// Most asks in one week of `time_zone`, from Monday.
    pub per_week: Option<i64>,
    /// Most asks in one month of `time_zone`.
    pub per_month: Option<i64>,
    /// Dollars of payouts booked in one day of `time_zone` from which on it is not asked that day. A payout that is taken
    /// back counts no more on the day on which it was booked.
    pub per_day_budget: Option<f64>,
    /// Share of the leads that it is asked about, above 0 and at most 1: 0.25 is one in four. Which they are follows from the
    /// uuids of the leads, so that a lead that comes again, or is replayed, is among them or is not, as before.
    pub share: Option<f64>,
    /// First day of `time_zone` on which it is asked, such as `2026-12-01`.
    pub starts_on: Option<toml::Value>,
    /// Last day of `time_zone` on which it is asked.
    pub ends_on: Option<toml::Value>,
    /// Whose days and hours these are, by its IANA name such as `America/New_York`; `UTC` when absent.
    pub time_zone: Option<String>,
    /// When it is asked, by the clock on the wall; always when absent.
    #[serde(default)]
    pub schedule: Vec<Window>,
}

/// One window of `schedule`: `{ days = ["mon..fri", "sun"], from = "08:00", to = "20:00" }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Days on which it begins, each one or a span; every day when absent.
    pub days: Option<Vec<String>>,
    /// When it begins; midnight when absent.
    pub from: Option<String>,
    /// When it ends, `24:00` when absent; not after `from` means on the next day.
    pub to: Option<String>,
}

/// `exclusive`: leads for this partner alone.
///
/// Of those who fit a lead, are asked together and are let through by their limits, the exclusive one is asked alone:
/// with `true` among all of its product type, with a name only among those who name the same group. Of several the first
/// by key takes the lead. The others are asked when it cannot: paused, closed, or at a limit. They are not asked
/// afterwards, whatever it answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "must be `true`, `false` or the name of a group")]
pub enum Exclusive {
    /// Among all of its product type, or not at all.
    Flag(bool),
    /// Among those who name this group.
    Group(String),
}
