//! `GET /console`: what happens now, on one screen.

use std::sync::Arc;
use std::time::Duration;

use minijinja::value::Value;
use serde::Serialize;

use super::chart::{self, Chart, Line, sparkline};
use super::figures::Distribution;
use super::health::{Check, checks};
use super::history::{self, Reading};
use super::section::Section;
use super::view::{Page, View};
use super::visit::Visit;
use super::{format, trend};
use crate::telemetry::metrics;
use crate::web::Failure;

/// What rates and latencies are taken over.
const MINUTE: Duration = Duration::from_secs(60);

/// What sparklines look back on.
const QUARTER: Duration = Duration::from_secs(15 * 60);

/// What charts look back on.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// Points of a sparkline.
const SPARKS: usize = 45;

/// Points of a chart's line.
const POINTS: usize = 90;

#[derive(Debug, Serialize)]
struct Now {
    /// When the figures were read, Unix milliseconds.
    at: i64,
    tiles: Vec<Tile>,
    /// Each with its heading.
    charts: Vec<(&'static str, Value)>,
    checks: Vec<Check>,
}

/// A figure with its name, how it went lately, and the metric that it is from.
#[derive(Debug, Serialize)]
struct Tile {
    name: &'static str,
    figure: String,
    unit: &'static str,
    note: String,
    spark: Value,
    metric: &'static str,
}

impl Page for Now {
    const SECTION: Section = Section::Now;
    const TEMPLATE: &'static str = "now.html";
    const FRESH: Option<Duration> = Some(history::EVERY);
}

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let page = visit
        .reading(|app| {
            let hour = app.console.history.last(HOUR);
            let minute = app.console.history.last(MINUTE);
            let quarter = app.console.history.last(QUARTER);
            let (Some(first), Some(last)) = (minute.first(), minute.last()) else {
                return Err(Failure::overloaded(1));
            };
            let limit = app.engine.configuration().rules.live_tables;
            let tiles = tiles(first, last, &quarter, limit)?;
            Ok(Now { at: last.at, tiles, charts: charts(&hour)?, checks: checks(app, first, last) })
        })
        .await??;
    visit.view(&page)
}

fn tiles(first: &Reading, last: &Reading, quarter: &[Reading], limit: usize) -> Result<Vec<Tile>, Failure> {
    let submits = last.submits.since(&first.submits);
    let polls = last.polls.since(&first.polls);
    let commits = last.commits.since(&first.commits);
    let rate = |figure: fn(&Reading) -> f64| format::rate(&last.per_second(first, figure).into());
    let grown = |figure: fn(&Reading) -> f64| format::count(&(figure(last) - figure(first)).into());
    let answers = last.requests - first.requests;
    let part = |figure: fn(&Reading) -> f64| match share(figure(last) - figure(first), answers) {
        Some(share) => format!("{} of all answers", format::percent(&share.into())),
        None => "nothing was answered".to_owned(),
    };
    let offered = share(last.offered - first.offered, last.asked - first.asked);
    let spark = |points: Vec<(f64, Option<f64>)>| {
        sparkline(&points.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
    };
    let spark_rate = |figure: fn(&Reading) -> f64| spark(trend::rate(quarter, SPARKS, figure));
    let spark_level = |figure: fn(&Reading) -> f64| spark(trend::level(quarter, SPARKS, figure));
    let spark_p99 =
        |figure: fn(&Reading) -> &Distribution| spark(trend::quantile(quarter, SPARKS, 0.99, figure));
    Ok(vec![
        Tile {
            name: "Leads taken in",
            figure: rate(|reading| reading.leads),
            unit: "a second",
            note: format!("{} in the last minute", grown(|reading| reading.leads)),
            spark: spark_rate(|reading| reading.leads)?,
            metric: "offerd_http_requests_total, status 200",
        },
        Tile {
            name: "Submit, 99 of 100 within",
            figure: format::seconds(&submits.quantile(0.99).into()),
            unit: "",
            note: halves_of_all(&submits),
            spark: spark_p99(|reading| &reading.submits)?,
            metric: metrics::HTTP_REQUEST_SECONDS,
        },
        Tile {
            name: "Open rate tables",
            figure: format::count(&last.open_tables.into()),
            unit: "",
            note: format!("of {} at most", format::count(&(limit as f64).into())),
            spark: spark_level(|reading| reading.open_tables)?,
            metric: metrics::LIVE_TABLES,
        },
        Tile {
            name: "Asks of partners ended",
            figure: rate(|reading| reading.asked),
            unit: "a second",
            note: format!("{} with offers", format::percent(&offered.into())),
            spark: spark_rate(|reading| reading.asked)?,
            metric: metrics::PARTNER_OUTCOMES,
        },
        Tile {
            name: "Requests",
            figure: rate(|reading| reading.requests),
            unit: "a second",
            note: format!("{} turned away in the last minute", grown(|reading| reading.refused)),
            spark: spark_rate(|reading| reading.requests)?,
            metric: metrics::HTTP_REQUESTS,
        },
        Tile {
            name: "Answered 4xx",
            figure: grown(|reading| reading.faulty),
            unit: "in a minute",
            note: part(|reading| reading.faulty),
            spark: spark_rate(|reading| reading.faulty)?,
            metric: "offerd_http_requests_total, status 4xx",
        },
        Tile {
            name: "Answered 5xx",
            figure: grown(|reading| reading.failed),
            unit: "in a minute",
            note: part(|reading| reading.failed),
            spark: spark_rate(|reading| reading.failed)?,
            metric: "offerd_http_requests_total, status 5xx",
        },
        Tile {
            name: "Poll, 99 of 100 within",
            figure: format::seconds(&polls.quantile(0.99).into()),
            unit: "",
            note: halves_of_all(&polls),
            spark: spark_p99(|reading| &reading.polls)?,
            metric: metrics::HTTP_REQUEST_SECONDS,
        },
        Tile {
            name: "Commit, 99 of 100 within",
            figure: format::seconds(&commits.quantile(0.99).into()),
            unit: "",
            note: halves(&commits),
            spark: spark_p99(|reading| &reading.commits)?,
            metric: metrics::STORE_COMMIT_SECONDS,
        },
        Tile {
            name: "Commits waiting",
            figure: format::count(&last.queue.into()),
            unit: "",
            note: format!("{} written a second", rate(|reading| reading.commits.count())),
            spark: spark_level(|reading| reading.queue)?,
            metric: metrics::STORE_QUEUE_DEPTH,
        },
    ])
}

fn halves(distribution: &Distribution) -> String {
    match distribution.quantile(0.5) {
        Some(half) => format!("{} in half of them", format::seconds(&half.into())),
        None => "none in the last minute".to_owned(),
    }
}

/// Of requests: the metric does not tell those apart that were refused.
fn halves_of_all(requests: &Distribution) -> String {
    let refused = if requests.count() > 0.0 { "; refusals included" } else { "" };
    format!("{}{refused}", halves(requests))
}

fn charts(hour: &[Reading]) -> Result<Vec<(&'static str, Value)>, Failure> {
    let flow = Chart {
        id: "flow".to_owned(),
        title: "Leads and rate tables a second".to_owned(),
        description: "Leads taken in and rate tables completed a second, over the last hour at most."
            .to_owned(),
        source: "offerd_http_requests_total, offerd_rate_tables_settled_total".to_owned(),
        ..Chart::default()
    };
    let flow_lines = [
        Line { name: "leads taken in", points: trend::rate(hour, POINTS, |reading| reading.leads) },
        Line { name: "rate tables completed", points: trend::rate(hour, POINTS, |reading| reading.settled) },
    ];
    let times = Chart {
        id: "times".to_owned(),
        title: "Time within which 99 of 100 were answered".to_owned(),
        description:
            "Submits, polls and commits: time within which 99 of 100 were through, refused ones too, \
                      estimated within buckets as Prometheus does."
                .to_owned(),
        source: "offerd_http_request_seconds, offerd_store_commit_seconds".to_owned(),
        ..Chart::default()
    };
    let times_lines = [
        Line { name: "submits", points: trend::quantile(hour, POINTS, 0.99, |reading| &reading.submits) },
        Line { name: "polls", points: trend::quantile(hour, POINTS, 0.99, |reading| &reading.polls) },
        Line { name: "commits", points: trend::quantile(hour, POINTS, 0.99, |reading| &reading.commits) },
    ];
    Ok(vec![
        ("Flow", chart::lines(flow, chart::HALF, &flow_lines, format::rate)?),
        ("Latency", chart::lines(times, chart::HALF, &times_lines, format::seconds)?),
    ])
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
