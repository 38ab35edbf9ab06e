//! `GET /console`: current activity on one screen.

use super::alerts::row;
use super::chart::{self, Chart, ChartLine, sparkline};
use super::health::{HealthCheck, checks};
use super::history::{self, MetricsReading};
use super::prelude::*;
use super::seat_view::{SeatView, of_seats};
use super::trend::{self, ReadingFigure, ReadingTimes};
use offerd_base::telemetry::figures::Distribution;
use offerd_base::telemetry::metrics;
use offerd_outbound::alerts::AlertStatus;

pub(super) const MINUTE: Duration = Duration::from_secs(60);

const QUARTER: Duration = Duration::from_secs(15 * 60);

const HOUR: Duration = Duration::from_secs(60 * 60);

const SPARKS: usize = 45;

const POINTS: usize = 90;

const PAGE: ConsolePage = ConsolePage::new(Section::Now, "now.html").fresh(history::EVERY);

type TileLabel = (&'static str, &'static str);

struct RecentReadings<'r> {
    first: &'r MetricsReading,
    last: &'r MetricsReading,
    quarter: &'r [MetricsReading],
}

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    let sees_money = request.role() >= Some(Role::Analyst);
    if request.app.console.history.lately(MINUTE).is_empty() {
        // Right after the start there is no reading yet.
        history::read(&request.app).await;
    }
    let fields = request
        .reading(move |app| {
            let hour = app.console.history.last(HOUR);
            let minute = app.console.history.lately(MINUTE);
            let quarter = app.console.history.last(QUARTER);
            let (Some(first), Some(last)) = (minute.first(), minute.last()) else {
                return Err(Failure::overloaded(1));
            };
            let limit = app.engine.configuration().rules.matching.pending_tables;
            let tiles = tiles(&RecentReadings { first, last, quarter: &quarter }, limit)?;
            let checks = checks(app, first, last);
            let attention = attention(app, &checks, sees_money);
            Ok(fields! { at => last.at, attention, tiles, charts => charts(&hour)?, checks })
        })
        .await??;
    request.view(PAGE, fields)
}

fn tiles(lately: &RecentReadings, limit: usize) -> Result<Vec<Value>> {
    let taken_in = format!("{} in the last minute", lately.count(|at| at.leads));
    let room = format!("limit: {}", figures::count(limit as f64));
    let offered = share(lately.grown(|at| at.offered), lately.grown(|at| at.asked));
    let offered = format!("{} with offers", known(offered, figures::percent));
    let turned_away = format!("{} refused in the last minute", lately.count(|at| at.refused));
    let written = format!("{} written per second", lately.rate(|at| at.commits.count()));
    let leads = ("Leads accepted", "offerd_http_requests_total, status 200");
    let submits = ("p99 submit latency", metrics::HTTP_REQUEST_SECONDS);
    let polls = ("p99 poll latency", metrics::HTTP_REQUEST_SECONDS);
    let commits = ("p99 commit latency", metrics::STORE_COMMIT_SECONDS);
    let tiles = [
        lately.growing(leads, |at| at.leads, taken_in),
        lately.within(submits, |at| &at.submits, halves_of_all),
        lately.status(("Pending rate tables", metrics::PENDING_TABLES), |at| at.open_tables, room),
        lately.growing(("Asks finished", metrics::PARTNER_OUTCOMES), |at| at.asked, offered),
        lately.growing(("Requests", metrics::HTTP_REQUESTS), |at| at.requests, turned_away),
        lately.answers(("Answered 4xx", "offerd_http_requests_total, status 4xx"), |at| at.faulty),
        lately.answers(("Answered 5xx", "offerd_http_requests_total, status 5xx"), |at| at.failed),
        lately.within(polls, |at| &at.polls, halves_of_all),
        lately.within(commits, |at| &at.commits, halves),
        lately.status(("Commits waiting", metrics::STORE_QUEUE_DEPTH), |at| at.queue, written),
    ];
    tiles.into_iter().collect()
}

impl RecentReadings<'_> {
    fn grown(&self, of: ReadingFigure) -> f64 {
        of(self.last) - of(self.first)
    }

    fn count(&self, of: ReadingFigure) -> String {
        figures::count(self.grown(of))
    }

    fn rate(&self, of: ReadingFigure) -> String {
        known(self.last.per_second(self.first, of), figures::rate)
    }

    fn growing(&self, head: TileLabel, of: ReadingFigure, note: String) -> Result<Value> {
        tile(head, (self.rate(of), "per second"), note, trend::rate(self.quarter, SPARKS, of))
    }

    fn status(&self, head: TileLabel, of: ReadingFigure, note: String) -> Result<Value> {
        tile(head, (figures::count(of(self.last)), ""), note, trend::level(self.quarter, SPARKS, of))
    }

    fn answers(&self, head: TileLabel, of: ReadingFigure) -> Result<Value> {
        let note = match share(self.grown(of), self.grown(|at| at.requests)) {
            Some(share) => format!("{} of all answers", figures::percent(share)),
            None => "no answers".to_owned(),
        };
        tile(head, (self.count(of), "per minute"), note, trend::rate(self.quarter, SPARKS, of))
    }

    fn within(&self, head: TileLabel, of: ReadingTimes, note: fn(&Distribution) -> String) -> Result<Value> {
        let times = of(self.last).since(of(self.first));
        let figure = known(times.quantile(0.99), figures::seconds);
        tile(head, (figure, ""), note(&times), trend::p99(self.quarter, SPARKS, of))
    }
}

/// A tile: a figure with its label, its metric, and a sparkline of the last quarter of an hour.
fn tile(
    (name, metric): TileLabel,
    (figure, unit): (String, &'static str),
    note: String,
    points: Vec<trend::Point>,
) -> Result<Value> {
    let values: Vec<_> = points.into_iter().map(|(_, value)| value).collect();
    Ok(fields! { name, figure, unit, note, spark => sparkline(&values)?, metric })
}

fn halves(distribution: &Distribution) -> String {
    match distribution.quantile(0.5) {
        Some(half) => format!("p50: {}", figures::seconds(half)),
        None => "none in the last minute".to_owned(),
    }
}

/// The median of requests. It includes refused ones: the metric does not separate them.
fn halves_of_all(requests: &Distribution) -> String {
    let refused = if requests.count() > 0.0 { "; refusals included" } else { "" };
    format!("{}{refused}", halves(requests))
}

fn charts(hour: &[MetricsReading]) -> Result<Vec<(&'static str, Value)>> {
    let flow = Chart {
        id: "flow".to_owned(),
        title: "Leads and rate tables per second".to_owned(),
        description: "Leads accepted and rate tables completed per second, over the last hour.".to_owned(),
        source: "offerd_http_requests_total, offerd_rate_tables_settled_total".to_owned(),
        unit: "per second",
        ..Chart::default()
    };
    let line = |name: &'static str, points| ChartLine { name: name.into(), points };
    let flow_lines = [
        line("leads accepted", trend::rate(hour, POINTS, |at| at.leads)),
        line("rate tables completed", trend::rate(hour, POINTS, |at| at.settled)),
    ];
    let times = Chart {
        id: "times".to_owned(),
        title: "p99 latency".to_owned(),
        description:
            "p99 of submits, polls and commits, refused ones included, estimated from buckets as Prometheus \
                does."
                .to_owned(),
        source: "offerd_http_request_seconds, offerd_store_commit_seconds".to_owned(),
        unit: "time",
        ..Chart::default()
    };
    let times_lines = [
        line("submits", trend::p99(hour, POINTS, |at| &at.submits)),
        line("polls", trend::p99(hour, POINTS, |at| &at.polls)),
        line("commits", trend::p99(hour, POINTS, |at| &at.commits)),
    ];
    Ok(vec![
        ("Flow", chart::lines(flow, &flow_lines, figures::rate)?),
        ("Latency", chart::lines(times, &times_lines, figures::seconds)?),
    ])
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Maximum alerts and partners shown, worst first; their pages have all.
const SHOWN: usize = 8;

fn attention(app: &AdminState, checks: &[HealthCheck], sees_money: bool) -> Value {
    let status = app.alerts.status(&app.settings().alerts);
    let unwell = unwell(app);
    let is_shown_as_partner = |alert: &AlertStatus| {
        unwell
            .iter()
            .any(|SeatView { seat, .. }| alert.is_unwell_seat(&seat.identity.key, seat.product_type.as_str()))
    };
    let is_row = |alert: &&AlertStatus| alert.is_firing() && !is_shown_as_partner(alert);
    let mut alerts: Vec<Value> = status.alerts.iter().filter(is_row).map(row).collect();
    let mut partners: Vec<Value> = unwell.iter().map(partner).collect();
    let more = alerts.len().saturating_sub(SHOWN) + partners.len().saturating_sub(SHOWN);
    alerts.truncate(SHOWN);
    partners.truncate(SHOWN);
    let is_wrong = |of: &&HealthCheck| ["warn", "bad"].contains(&of.class) && of.name != "Partners’ health";
    fields! {
        alerts, partners, more,
        // Except the check of partners.
        checks => checks.iter().filter(is_wrong).collect::<Vec<_>>(),
        money => if sees_money { app.console.days.compared() } else { None },
        zone => app.settings().reports.zones.first().map_or("UTC", |zone| zone.name()),
    }
}

fn unwell(app: &AdminState) -> Vec<SeatView> {
    let badness = |look: &SeatView| look.status.health.health.badness();
    let mut bad: Vec<SeatView> = of_seats(&app.engine).into_iter().filter(|look| badness(look) > 0).collect();
    bad.sort_by_key(|look| std::cmp::Reverse(badness(look)));
    bad
}

fn partner(SeatView { seat, status, health, .. }: &SeatView) -> Value {
    let identity = &seat.identity;
    fields! {
        key => identity.key, name => identity.partner.name, product => seat.product_type.as_str(), health,
        cause => status.health.cause,
    }
}
