//! Checks of the daemon's health: the lower half of *Now*.

use super::history::MetricsReading;
use super::prelude::*;
use offerd_base::partner_health::Health;
use offerd_base::telemetry::metrics;
use offerd_engine::matching::limiter::State;
use offerd_engine::matching::partner_clients::BreakerState;
use offerd_insight::nodes::NodeList;
use offerd_outbound::postbacks;
use offerd_store::{ClockStatus, StoreHealth};

/// Share of a limit from which a check warns.
const WORTH_A_LOOK: f64 = 0.8;

/// How long a subscription's calls must fail before a check warns, milliseconds.
const FAILING_FOR_MS: i64 = 60_000;

const RECORDS_FROM: &str = "offerd_store_broken_records_total, offerd_store_damage";

const REFUSED_FROM: &str = "offerd_http_requests_refused_total, offerd_submits_refused_total";

#[derive(Debug, Clone, Serialize)]
pub(super) struct HealthCheck {
    pub(super) name: &'static str,
    pub(super) class: &'static str,
    state: &'static str,
    figures: String,
    source: &'static str,
}

/// A result: CSS class, a word or two, and figures.
type Judged = (&'static str, &'static str, String);

/// All checks; `first` and `last` are a minute apart.
pub(super) fn checks(app: &AdminState, first: &MetricsReading, last: &MetricsReading) -> Vec<HealthCheck> {
    let queue = limited(last.queue, app.settings().store.queue, "commits waiting");
    let tables =
        limited(last.open_tables, app.engine.configuration().rules.matching.pending_tables, "pending");
    let judged = [
        ("Leads", "/readyz", Some(leads(app))),
        ("Store", "/readyz", Some(store(app))),
        ("Disk", metrics::STORE_FREE_BYTES, Some(disk(app, last))),
        ("Store queue", metrics::STORE_QUEUE_DEPTH, Some(queue)),
        ("Records", RECORDS_FROM, Some(records(app, last))),
        ("Clock", metrics::STORE_CLOCK_OFFSET, Some(clock(app))),
        ("Rate tables", metrics::PENDING_TABLES, Some(tables)),
        ("Requests", REFUSED_FROM, Some(refused(first, last))),
        ("Partners", "offerd partners list", Some(partners(app))),
        ("Partners’ health", metrics::PARTNER_HEALTH, Some(partners_health(app))),
        ("Breakers", metrics::WIRE_BREAKER_STATE, Some(breakers(app))),
        ("Postbacks", metrics::POSTBACK_LAG, Some(postbacks(app))),
        ("Settings", metrics::RELOADED_AT, Some(reload(last))),
        ("Nodes", metrics::NODES_ALIVE, nodes(app)),
    ];
    let check = |(name, source, judged): (_, _, Option<Judged>)| {
        judged.map(|(class, state, figures)| HealthCheck { name, class, state, figures, source })
    };
    judged.into_iter().filter_map(check).collect()
}

fn nodes(app: &AdminState) -> Option<Judged> {
    let settings = app.settings();
    settings.store.database()?;
    Some(match NodeList::of(&app.store, &settings, || crate::nodes::own_status(app)) {
        Ok(nodes) if !nodes.warnings.is_empty() => ("warn", "check warnings", nodes.warnings.join(". ")),
        Ok(_) => ("good", "in agreement", format!("{} alive", app.store.known_alive())),
        Err(error) => ("bad", "unknown", error.to_string()),
    })
}

fn leads(app: &AdminState) -> Judged {
    match app.ready() {
        Ok(()) => match app.readiness.degraded() {
            Some(degraded) => ("warn", "accepting, degraded", degraded),
            None => ("good", "accepting", "ready".to_owned()),
        },
        Err(reason) => ("bad", "refused", reason),
    }
}

fn store(app: &AdminState) -> Judged {
    match app.store.health() {
        StoreHealth::Sound => ("good", "writes", "synced before acknowledgement".to_owned()),
        StoreHealth::Short(reason) => ("warn", "low disk space", reason),
        StoreHealth::Stalled(reason) => ("bad", "hangs", reason),
        StoreHealth::Failed(reason) => ("bad", "failed", reason),
    }
}

fn disk(app: &AdminState, last: &MetricsReading) -> Judged {
    let reserve = app.settings().store.reserve_bytes as f64;
    let (class, state) = match last.free_bytes {
        Some(free) if free < reserve => ("bad", "full"),
        Some(free) if free < reserve * 4.0 => ("warn", "filling"),
        Some(_) => ("good", "free"),
        None => ("idle", "not measured"),
    };
    let free = known(last.free_bytes, figures::bytes);
    (class, state, format!("{free} free, {} in reserve", figures::bytes(reserve)))
}

fn limited(used: f64, limit: usize, what: &str) -> Judged {
    let share = used / (limit as f64).max(1.0);
    let (class, state) = match share {
        full if full >= 1.0 => ("bad", "full"),
        much if much >= WORTH_A_LOOK => ("warn", "filling"),
        _ => ("good", "free"),
    };
    (class, state, format!("{} of {} {what}", figures::count(used), figures::count(limit as f64)))
}

fn records(app: &AdminState, last: &MetricsReading) -> Judged {
    let damages = app.store.damages();
    let (class, state) = match (damages.is_empty(), last.broken > 0.0) {
        (false, _) => ("bad", "damaged"),
        (true, true) => ("bad", "unreadable"),
        (true, false) => ("good", "readable"),
    };
    let broken = figures::count(last.broken);
    let figures = format!("{broken} unreadable records and {} damaged places since the start", damages.len());
    (class, state, figures)
}

fn clock(app: &AdminState) -> Judged {
    let (class, state) = match app.store.clock_status() {
        ClockStatus::Followed => ("good", "in use"),
        ClockStatus::Ahead(_) => ("bad", "ignored"),
        ClockStatus::Unset => ("bad", "not set"),
        ClockStatus::Behind(_) => ("warn", "behind"),
    };
    (
        class,
        state,
        app.readiness.clock_remark().unwrap_or_else(|| "leads get the time of the system clock".to_owned()),
    )
}

fn postbacks(app: &AdminState) -> Judged {
    let (store, subscriptions) = (&app.store, app.subscriptions());
    let latest_ms = store.now_ms() - FAILING_FOR_MS;
    let failing = postbacks::failing(store, &subscriptions).into_iter();
    let failing: Vec<String> = failing.filter(|(_, at)| *at <= latest_ms).map(|(name, _)| name).collect();
    let (all, active) = (subscriptions.all().len(), subscriptions.active().count());
    let (class, state) = match (failing.as_slice(), active) {
        ([], 0) => ("idle", "none active"),
        ([], _) => ("good", "delivering"),
        _ => ("bad", "failing"),
    };
    let figures = match failing.as_slice() {
        [] => format!("{active} of {} active", figures::counted(all, "subscription")),
        failing => format!("failing for at least a minute: {}", failing.join(", ")),
    };
    (class, state, figures)
}

fn refused(first: &MetricsReading, last: &MetricsReading) -> Judged {
    let count = last.refused - first.refused;
    let (class, state) = if count > 0.0 { ("warn", "refusing") } else { ("good", "none refused") };
    (class, state, format!("{} refused in the last minute", figures::count(count)))
}

fn partners(app: &AdminState) -> Judged {
    let statuses = app.engine.statuses();
    let of = |states: &[State]| statuses.iter().filter(|status| states.contains(&status.state)).count();
    let (active, all) = (of(&[State::Active]), statuses.len());
    let paused = of(&[State::PausedByFile, State::PausedByOperator]);
    let capped = of(&[State::Capped, State::OverBudget]);
    let closed = of(&[State::OutsideSchedule, State::OutsideDays]);
    let (class, state) = match active {
        0 => ("bad", "none active"),
        all_asked if all_asked == all => ("good", "all active"),
        // Paused by an operator, hence no warning.
        some if some + paused + closed == all => ("idle", "some paused"),
        _ => ("warn", "not all active"),
    };
    let figures =
        format!("{active} of {all} active, {paused} paused, {capped} at a cap, {closed} outside schedule");
    (class, state, figures)
}

fn partners_health(app: &AdminState) -> Judged {
    let statuses = app.engine.statuses();
    let of = |wanted: Health| statuses.iter().filter(|status| status.health.health == wanted).count();
    let unwell = [Health::Silent, Health::Failing, Health::Slow, Health::DecliningMore];
    let worst = unwell.into_iter().find(|health| of(*health) > 0);
    let (class, state) = match worst {
        Some(Health::Silent) => ("bad", "silent"),
        Some(Health::Failing) => ("bad", "failing"),
        Some(worst) => ("warn", worst.words()),
        None if of(Health::Healthy) > 0 => ("good", "as usual"),
        None => ("idle", "too few asks"),
    };
    let counts = unwell.map(|health| format!("{} {}", of(health), health.words()));
    (class, state, format!("{}, of {}", counts.join(", "), statuses.len()))
}

fn breakers(app: &AdminState) -> Judged {
    let configuration = app.engine.configuration();
    let seats = configuration.book.seats().iter();
    let states = seats.filter_map(|seat| Some((seat, configuration.clients.of(seat)?.state())));
    let states: Vec<_> = states.collect();
    let of = |wanted: BreakerState| states.iter().filter(|(_, state)| state.breaker == wanted).count();
    let (open, half) = (of(BreakerState::Open), of(BreakerState::HalfOpen));
    let (class, state) = match (states.len(), open, half) {
        (0, ..) => ("idle", "no calls"),
        (_, 0, 0) => ("good", "all closed"),
        (_, 0, _) => ("warn", "probing"),
        _ => ("bad", "open"),
    };
    let first = states.iter().find(|(_, state)| state.breaker == BreakerState::Open);
    let first = first.map(|(seat, state)| format!("; {}: {}", seat.identity.key, state.description()));
    let first = first.unwrap_or_default();
    (class, state, format!("{open} open, {half} half open, of {} breakers{first}", states.len()))
}

fn reload(last: &MetricsReading) -> Judged {
    // The previous configuration stays in use, not that of the files.
    let (class, state) =
        if last.refused_last { ("warn", "last reload rejected") } else { ("good", "current") };
    let at = last.reloaded_at.map(|seconds| seconds * 1000.0);
    let figures = format!(
        "loaded at {}; reloads rejected since the start: {}",
        known(at, |ms| figures::moment(ms as i64)),
        figures::count(last.reloads_refused)
    );
    (class, state, figures)
}
