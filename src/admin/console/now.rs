//! `GET /console`: what happens now, on one screen.

use std::time::Duration;

use minijinja::value::Value;
use serde::Serialize;

use super::attention::attention;
use super::chart::{self, Chart, Line, sparkline};
use super::health::checks;
use super::history::{self, Reading};
use super::trend;
use super::view::{Page, Section, View, Visit, fields};
use crate::sheet::figures::{self, known};
use crate::store::users::Role;
use crate::telemetry::figures::Distribution;
use crate::telemetry::metrics;
use crate::web::Failure;

/// What rates and latencies are taken over.
pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// What sparklines look back on.
const QUARTER: Duration = Duration::from_secs(15 * 60);

/// What charts look back on.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// Points of a sparkline.
const SPARKS: usize = 45;

/// Points of a chart's line.
const POINTS: usize = 90;

const PAGE: Page = Page::new(Section::Now, "now.html").fresh(history::EVERY);

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

/// The readings that tiles are made of.
struct Lately<'r> {
    /// The first and the last of a minute.
    first: &'r Reading,
    last: &'r Reading,
    /// Those of a quarter of an hour.
    quarter: &'r [Reading],
}

/// Shows the page.
pub(super) async fn show(visit: &Visit) -> Result<View, Failure> {
    let sees_money = visit.role() >= Some(Role::Analyst);
    if visit.app.console.history.lately(MINUTE).is_empty() {
        // The process has listened for less than a moment, and nobody has read its metrics yet.
        history::read(&visit.app).await;
    }
    let fields = visit
        .reading(move |app| {
            let hour = app.console.history.last(HOUR);
            let minute = app.console.history.lately(MINUTE);
            let quarter = app.console.history.last(QUARTER);
            let (Some(first), Some(last)) = (minute.first(), minute.last()) else {
                return Err(Failure::overloaded(1));
            };
            let limit = app.engine.configuration().rules.matching.live_tables;
            let tiles = tiles(&Lately { first, last, quarter: &quarter }, limit)?;
            let checks = checks(app, first, last);
            let attention = attention(app, &checks, sees_money);
            Ok(fields! { at => last.at, attention, tiles, charts => charts(&hour)?, checks })
        })
        .await??;
    visit.view(PAGE, fields)
}

/// The tiles, from the lead to the disk.
fn tiles(lately: &Lately, limit: usize) -> Result<Vec<Tile>, Failure> {
    let taken_in = format!("{} in the last minute", lately.count(|at| at.leads));
    let room = format!("of {} at most", figures::count(limit as f64));
    let offered = share(lately.grown(|at| at.offered), lately.grown(|at| at.asked));
    let offered = format!("{} with offers", known(offered, figures::percent));
    let turned_away = format!("{} turned away in the last minute", lately.count(|at| at.refused));
    let written = format!("{} written a second", lately.rate(|at| at.commits.count()));
    let times = metrics::HTTP_REQUEST_SECONDS;
    let tiles = [
        lately.growing("Leads taken in", |at| at.leads, taken_in, "offerd_http_requests_total, status 200"),
        lately.within("Submit, 99 of 100 within", |at| &at.submits, halves_of_all, times),
        lately.standing("Open rate tables", |at| at.open_tables, room, metrics::OPEN_TABLES),
        lately.growing("Asks of partners ended", |at| at.asked, offered, metrics::PARTNER_OUTCOMES),
        lately.growing("Requests", |at| at.requests, turned_away, metrics::HTTP_REQUESTS),
        lately.answers("Answered 4xx", |at| at.faulty, "offerd_http_requests_total, status 4xx"),
        lately.answers("Answered 5xx", |at| at.failed, "offerd_http_requests_total, status 5xx"),
        lately.within("Poll, 99 of 100 within", |at| &at.polls, halves_of_all, times),
        lately.within("Commit, 99 of 100 within", |at| &at.commits, halves, metrics::STORE_COMMIT_SECONDS),
        lately.standing("Commits waiting", |at| at.queue, written, metrics::STORE_QUEUE_DEPTH),
    ];
    tiles.into_iter().collect()
}

impl Lately<'_> {
    /// By how much a figure has grown in the last minute.
    fn grown(&self, figure: fn(&Reading) -> f64) -> f64 {
        figure(self.last) - figure(self.first)
    }

    fn count(&self, figure: fn(&Reading) -> f64) -> String {
        figures::count(self.grown(figure))
    }

    /// The same by the second.
    fn rate(&self, figure: fn(&Reading) -> f64) -> String {
        known(self.last.per_second(self.first, figure), figures::rate)
    }

    /// The tile of a figure that grows.
    fn growing(
        &self,
        name: &'static str,
        figure: fn(&Reading) -> f64,
        note: String,
        metric: &'static str,
    ) -> Result<Tile, Failure> {
        let spark = spark(trend::rate(self.quarter, SPARKS, figure))?;
        Ok(Tile { name, figure: self.rate(figure), unit: "a second", note, spark, metric })
    }

    /// The tile of a figure as it stands.
    fn standing(
        &self,
        name: &'static str,
        figure: fn(&Reading) -> f64,
        note: String,
        metric: &'static str,
    ) -> Result<Tile, Failure> {
        let spark = spark(trend::level(self.quarter, SPARKS, figure))?;
        Ok(Tile { name, figure: figures::count(figure(self.last)), unit: "", note, spark, metric })
    }

    /// The tile of some of all answers of the last minute, and what part of them they are.
    fn answers(
        &self,
        name: &'static str,
        figure: fn(&Reading) -> f64,
        metric: &'static str,
    ) -> Result<Tile, Failure> {
        let note = match share(self.grown(figure), self.grown(|at| at.requests)) {
            Some(share) => format!("{} of all answers", figures::percent(share)),
            None => "nothing was answered".to_owned(),
        };
        let tile = self.growing(name, figure, note, metric)?;
        Ok(Tile { figure: self.count(figure), unit: "in a minute", ..tile })
    }

    /// The tile of the time within which 99 of 100 were through, in the last minute.
    fn within(
        &self,
        name: &'static str,
        figure: fn(&Reading) -> &Distribution,
        note: fn(&Distribution) -> String,
        metric: &'static str,
    ) -> Result<Tile, Failure> {
        let spark = spark(trend::quantile(self.quarter, SPARKS, 0.99, figure))?;
        let times = figure(self.last).since(figure(self.first));
        let figure = known(times.quantile(0.99), figures::seconds);
        Ok(Tile { name, figure, unit: "", note: note(&times), spark, metric })
    }
}

fn spark(points: Vec<trend::Point>) -> Result<Value, Failure> {
    sparkline(&points.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
}

fn halves(distribution: &Distribution) -> String {
    match distribution.quantile(0.5) {
        Some(half) => format!("{} in half of them", figures::seconds(half)),
        None => "none in the last minute".to_owned(),
    }
}

/// Of requests, those that were refused too: the metric does not separate them.
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
        unit: "a second",
        ..Chart::default()
    };
    let flow_lines = [
        Line { name: "leads taken in".into(), points: trend::rate(hour, POINTS, |at| at.leads) },
        Line { name: "rate tables completed".into(), points: trend::rate(hour, POINTS, |at| at.settled) },
    ];
    let times = Chart {
        id: "times".to_owned(),
        title: "Time within which 99 of 100 were answered".to_owned(),
        description:
            "Submits, polls and commits: time within which 99 of 100 were through, refused ones too, \
                      estimated within buckets as Prometheus does."
                .to_owned(),
        source: "offerd_http_request_seconds, offerd_store_commit_seconds".to_owned(),
        unit: "time",
        ..Chart::default()
    };
    let times_lines = [
        Line { name: "submits".into(), points: trend::quantile(hour, POINTS, 0.99, |at| &at.submits) },
        Line { name: "polls".into(), points: trend::quantile(hour, POINTS, 0.99, |at| &at.polls) },
        Line { name: "commits".into(), points: trend::quantile(hour, POINTS, 0.99, |at| &at.commits) },
    ];
    Ok(vec![
        ("Flow", chart::lines(flow, chart::HALF, &flow_lines, figures::rate)?),
        ("Latency", chart::lines(times, chart::HALF, &times_lines, figures::seconds)?),
    ])
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
