//! `GET /console`: what happens now, on one screen.

use std::sync::Arc;
use std::time::Duration;

use minijinja::value::Value;
use serde::Serialize;

use super::attention::attention;
use super::chart::{self, Chart, Line, sparkline};
use super::health::checks;
use super::history::{self, Reading};
use super::section::Section;
use super::trend;
use super::view::{Page, View, fields};
use super::visit::Visit;
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
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let sees_money = visit.role() >= Some(Role::Analyst);
    if visit.app.console.history.lately(MINUTE).is_empty() {
        // The process has listened for less than a moment, and nobody has read its metrics yet.
        history::read(Arc::clone(&visit.app)).await;
    }
    let fields = visit
        .reading(move |app| {
            let hour = app.console.history.last(HOUR);
            let minute = app.console.history.lately(MINUTE);
            let quarter = app.console.history.last(QUARTER);
            let (Some(first), Some(last)) = (minute.first(), minute.last()) else {
                return Err(Failure::overloaded(1));
            };
            let limit = app.engine.configuration().rules.live_tables;
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
    let leads = tiles_of_leads(lately, limit)?;
    let requests = tiles_of_requests(lately)?;
    let commits = tiles_of_commits(lately)?;
    Ok(leads.into_iter().chain(requests).chain(commits).collect())
}

fn tiles_of_leads(lately: &Lately, limit: usize) -> Result<[Tile; 4], Failure> {
    let offered = share(lately.grown(|reading| reading.offered), lately.grown(|reading| reading.asked));
    Ok([
        Tile {
            name: "Leads taken in",
            figure: lately.rate(|reading| reading.leads),
            unit: "a second",
            note: format!("{} in the last minute", lately.count(|reading| reading.leads)),
            spark: lately.spark_rate(|reading| reading.leads)?,
            metric: "offerd_http_requests_total, status 200",
        },
        Tile {
            name: "Submit, 99 of 100 within",
            note: halves_of_all(&lately.times(|reading| &reading.submits)),
            ..lately.within(|reading| &reading.submits, metrics::HTTP_REQUEST_SECONDS)?
        },
        Tile {
            name: "Open rate tables",
            figure: figures::count(lately.last.open_tables),
            unit: "",
            note: format!("of {} at most", figures::count(limit as f64)),
            spark: lately.spark_level(|reading| reading.open_tables)?,
            metric: metrics::OPEN_TABLES,
        },
        Tile {
            name: "Asks of partners ended",
            figure: lately.rate(|reading| reading.asked),
            unit: "a second",
            note: format!("{} with offers", known(offered, figures::percent)),
            spark: lately.spark_rate(|reading| reading.asked)?,
            metric: metrics::PARTNER_OUTCOMES,
        },
    ])
}

fn tiles_of_requests(lately: &Lately) -> Result<[Tile; 4], Failure> {
    Ok([
        Tile {
            name: "Requests",
            figure: lately.rate(|reading| reading.requests),
            unit: "a second",
            note: format!("{} turned away in the last minute", lately.count(|reading| reading.refused)),
            spark: lately.spark_rate(|reading| reading.requests)?,
            metric: metrics::HTTP_REQUESTS,
        },
        Tile {
            name: "Answered 4xx",
            figure: lately.count(|reading| reading.faulty),
            unit: "in a minute",
            note: lately.part_of_answers(|reading| reading.faulty),
            spark: lately.spark_rate(|reading| reading.faulty)?,
            metric: "offerd_http_requests_total, status 4xx",
        },
        Tile {
            name: "Answered 5xx",
            figure: lately.count(|reading| reading.failed),
            unit: "in a minute",
            note: lately.part_of_answers(|reading| reading.failed),
            spark: lately.spark_rate(|reading| reading.failed)?,
            metric: "offerd_http_requests_total, status 5xx",
        },
        Tile {
            name: "Poll, 99 of 100 within",
            note: halves_of_all(&lately.times(|reading| &reading.polls)),
            ..lately.within(|reading| &reading.polls, metrics::HTTP_REQUEST_SECONDS)?
        },
    ])
}

fn tiles_of_commits(lately: &Lately) -> Result<[Tile; 2], Failure> {
    Ok([
        Tile {
            name: "Commit, 99 of 100 within",
            note: halves(&lately.times(|reading| &reading.commits)),
            ..lately.within(|reading| &reading.commits, metrics::STORE_COMMIT_SECONDS)?
        },
        Tile {
            name: "Commits waiting",
            figure: figures::count(lately.last.queue),
            unit: "",
            note: format!("{} written a second", lately.rate(|reading| reading.commits.count())),
            spark: lately.spark_level(|reading| reading.queue)?,
            metric: metrics::STORE_QUEUE_DEPTH,
        },
    ])
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

    /// What part of all answers of the last minute a figure is.
    fn part_of_answers(&self, figure: fn(&Reading) -> f64) -> String {
        match share(self.grown(figure), self.grown(|reading| reading.requests)) {
            Some(share) => format!("{} of all answers", figures::percent(share)),
            None => "nothing was answered".to_owned(),
        }
    }

    /// The times of the last minute.
    fn times(&self, figure: fn(&Reading) -> &Distribution) -> Distribution {
        figure(self.last).since(figure(self.first))
    }

    /// A tile of the time within which 99 of 100 were through, for who names it.
    fn within(&self, figure: fn(&Reading) -> &Distribution, metric: &'static str) -> Result<Tile, Failure> {
        let spark = spark(trend::quantile(self.quarter, SPARKS, 0.99, figure))?;
        let figure = known(self.times(figure).quantile(0.99), figures::seconds);
        Ok(Tile { name: "", figure, unit: "", note: String::new(), spark, metric })
    }

    fn spark_rate(&self, figure: fn(&Reading) -> f64) -> Result<Value, Failure> {
        spark(trend::rate(self.quarter, SPARKS, figure))
    }

    fn spark_level(&self, figure: fn(&Reading) -> f64) -> Result<Value, Failure> {
        spark(trend::level(self.quarter, SPARKS, figure))
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
        unit: "time",
        ..Chart::default()
    };
    let times_lines = [
        Line { name: "submits", points: trend::quantile(hour, POINTS, 0.99, |reading| &reading.submits) },
        Line { name: "polls", points: trend::quantile(hour, POINTS, 0.99, |reading| &reading.polls) },
        Line { name: "commits", points: trend::quantile(hour, POINTS, 0.99, |reading| &reading.commits) },
    ];
    Ok(vec![
        ("Flow", chart::lines(flow, chart::HALF, &flow_lines, figures::rate)?),
        ("Latency", chart::lines(times, chart::HALF, &times_lines, figures::seconds)?),
    ])
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
