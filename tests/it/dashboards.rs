//! The dashboard and the alert rules: every query asks for a metric that exists.

use std::collections::BTreeSet;
use std::path::Path;

use offerd::handbook::chapter;
use offerd::http::routes::{API, INTEGRATIONS};
use offerd::telemetry::metrics::{METRICS, Metric, MetricKind};
use serde_json::Value;

use crate::kit::Daemon;

/// Labels that Prometheus itself gives.
const GIVEN: &[&str] = &["instance", "job"];

/// What a histogram is told as.
const PARTS: &[&str] = &["_bucket", "_sum", "_count"];

fn config(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("config").join(file)).unwrap()
}

/// The queries of the alert rules, each with its name and its runbook.
fn alerts() -> Vec<(String, String, String)> {
    let file = config("prometheus/alerts.yml");
    let field = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim);
        line.unwrap_or_else(|| panic!("{key} is missing: {block}")).trim_matches('"').to_owned()
    };
    let blocks = file.split("- alert: ").skip(1);
    blocks
        .map(|block| {
            assert!(block.contains("labels: { severity: ") && block.contains("summary: "), "{block}");
            let name = block.lines().next().unwrap_or_default().to_owned();
            (name, field(block, "expr:"), field(block, "runbook:"))
        })
        .collect()
}

/// The queries of the dashboard, each with the title of its panel and its legend.
fn panels() -> Vec<(String, String, String)> {
    let dashboard: Value = serde_json::from_str(&config("grafana/offerd.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| {
        let title = panel["title"].as_str().unwrap();
        panel["targets"].as_array().into_iter().flatten().map(move |target| (title, target))
    });
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    targets
        .map(|(title, target)| (title.to_owned(), text(&target["expr"]), text(&target["legendFormat"])))
        .collect()
}

/// What a query asks for: metrics with their matchers, and what it groups by.
#[derive(Debug, Default)]
struct Asked {
    /// A metric as it is told, with the labels that must match, each with its value.
    selected: Vec<(String, Vec<(String, String)>)>,
    grouped_by: BTreeSet<String>,
    /// The labels that it makes of others.
    made: BTreeSet<String>,
}

fn asked(query: &str) -> Asked {
    let mut asked = Asked::default();
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut rest = query;
    while let Some(at) = ["offerd_", "process_"].iter().filter_map(|of| rest.find(of)).min() {
        let name: String = rest[at..].chars().take_while(|letter| is_word(*letter)).collect();
        rest = &rest[at + name.len()..];
        let matchers = rest.strip_prefix('{').and_then(matchers);
        asked.selected.push((name, matchers.unwrap_or_default()));
    }
    for made in query.split("label_replace(").skip(1).filter_map(|rest| rest.split('"').nth(1)) {
        asked.made.insert(made.to_owned());
    }
    for grouping in query.split(" by (").skip(1).filter_map(|rest| rest.split(')').next()) {
        asked.grouped_by.extend(grouping.split(',').map(|label| label.trim().to_owned()));
    }
    asked
}

/// `name="value", …}`; a `}` within a value is not the end.
fn matchers(inside: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = inside;
    while !rest.starts_with('}') {
        let (name, after) = rest.split_once('"')?;
        let (value, after) = after.split_once('"')?;
        let name = name.trim_matches([',', ' ', '=', '~', '!']).to_owned();
        found.push((name, value.to_owned()));
        rest = after;
    }
    Some(found)
}

/// The metric behind a name as it is told.
fn metric(told: &str) -> &'static Metric {
    let is_histogram = |metric: &&Metric| matches!(metric.kind, MetricKind::Seconds | MetricKind::Sizes);
    let found = METRICS.iter().find(|metric| match metric.kind {
        MetricKind::Counter | MetricKind::Gauge => metric.name == told,
        MetricKind::Seconds | MetricKind::Sizes => {
            is_histogram(metric) && PARTS.iter().any(|part| told.strip_suffix(part) == Some(metric.name))
        }
    });
    found.unwrap_or_else(|| panic!("there is no metric {told}"))
}

fn check(place: &str, query: &str) {
    let count = |letter| query.matches(letter).count();
    assert!(
        count('(') == count(')') && count('{') == count('}') && count('[') == count(']'),
        "{place}: {query}"
    );
    let Asked { selected, grouped_by, made } = asked(query);
    let mut known: BTreeSet<&str> = GIVEN.iter().copied().chain(made.iter().map(String::as_str)).collect();
    for (told, matchers) in &selected {
        let metric = metric(told);
        let labels: BTreeSet<&str> = metric.labels.iter().chain(GIVEN).copied().collect();
        known.extend(&labels);
        known.extend(told.ends_with("_bucket").then_some("le"));
        for (label, value) in matchers {
            assert!(labels.contains(label.as_str()), "{place}: {told} has no label {label}");
            let path = API.iter().chain(INTEGRATIONS).any(|route| route.path == value);
            assert!(label != "route" || path, "{place}: there is no route {value}");
        }
        let counted = query.contains(&format!("rate({told}")) || query.contains(&format!("increase({told}"));
        let grows = metric.kind == MetricKind::Counter || PARTS.iter().any(|part| told.ends_with(part));
        assert_eq!(counted, grows, "{place}: {told} is a {:?}", metric.kind);
    }
    for label in grouped_by {
        assert!(known.contains(label.as_str()), "{place}: nothing asked for has a label {label}");
    }
}

#[test]
fn each_alert_asks_for_what_there_is_and_leads_to_its_runbook() {
    let alerts = alerts();
    assert!(alerts.len() > 10);
    for (name, query, runbook) in &alerts {
        check(name, query);
        let (file, heading) = runbook.split_once('#').unwrap_or_else(|| panic!("{name}: {runbook}"));
        let chapter = file.strip_prefix("/console/handbook/").and_then(chapter);
        let page = chapter.unwrap_or_else(|| panic!("{name}: {file}")).html(|_| String::new());
        assert!(page.contains(&format!("id=\"{heading}\"")), "{name}: there is no {heading} in {file}");
    }
    assert_eq!(alerts.iter().map(|(name, ..)| name).collect::<BTreeSet<_>>().len(), alerts.len());
}

/// Of a counter that is first told as 1 no growth is seen: the first event would raise no alert. A share of what goes on is another
/// matter, since that goes on.
#[tokio::test]
async fn each_counter_that_an_alert_asks_for_is_told_from_the_start() {
    let daemon = Daemon::with_partners(Vec::new()).start().await;
    // The first answer of a route begins its counters.
    assert_eq!(daemon.get("/nothing").await.status, 404);
    let metrics = daemon.metrics().await;
    let mut asked_for = 0;
    for (alert, query, _) in alerts().into_iter().filter(|(_, query, _)| !query.contains(") / ")) {
        let selected = asked(&query).selected.into_iter();
        for (told, matchers) in selected.filter(|(told, _)| told.ends_with("_total")) {
            asked_for += 1;
            let of_counter = |line: &&str| line.split(['{', ' ']).next() == Some(told.as_str());
            let is_wanted = |line: &str, (label, value): &(String, String)| {
                let differs = query.contains(&format!("{label}!="));
                line.contains(&format!("{label}=\"{value}\"")) != differs
            };
            let found = metrics
                .lines()
                .filter(of_counter)
                .any(|line| matchers.iter().all(|one| is_wanted(line, one)));
            assert!(found, "{alert}: {told} {matchers:?} is not told before the first event: {metrics}");
        }
    }
    assert!(asked_for > 7, "{asked_for}");
    for reason in [r#"reloads_total{result="refused"} 0"#, r#"broken_records_total{tree="leads"} 0"#] {
        assert!(metrics.contains(reason), "{reason}: {metrics}");
    }
}

#[test]
fn each_alert_shows_only_labels_that_its_query_keeps() {
    let file = config("prometheus/alerts.yml");
    for (block, (name, query, _)) in file.split("- alert: ").skip(1).zip(alerts()) {
        let mut kept = asked(&query).grouped_by;
        // A query that adds nothing up keeps all.
        if kept.is_empty() {
            kept.extend(GIVEN.iter().map(|label| (*label).to_owned()));
        }
        for shown in block.split("$labels.").skip(1).filter_map(|rest| rest.split(' ').next()) {
            assert!(kept.contains(shown), "{name} shows {shown}");
        }
    }
}

#[test]
fn each_panel_asks_for_what_there_is_and_each_metric_has_a_panel() {
    let panels = panels();
    let mut shown = BTreeSet::new();
    for (title, query, legend) in &panels {
        check(title, query);
        let Asked { selected, grouped_by, .. } = asked(query);
        shown.extend(selected.iter().map(|(told, _)| metric(told).name));
        for label in legend.split("{{").skip(1).filter_map(|rest| rest.split("}}").next()) {
            assert!(grouped_by.contains(label), "{title} shows {label}");
        }
    }
    let all: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(shown, all);
}

/// The rules above would hold of nothing if nothing were read of a query.
#[test]
fn a_query_is_read() {
    let query =
        r#"sum by (le, partner) (rate(offerd_x_bucket{listener="api", route=~"/a/{uuid}"}[5m])) / offerd_y"#;
    let Asked { selected, grouped_by, .. } = asked(query);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        selected[0],
        ("offerd_x_bucket".to_owned(), vec![pair("listener", "api"), pair("route", "/a/{uuid}")])
    );
    assert_eq!(selected[1], ("offerd_y".to_owned(), vec![]));
    assert_eq!(grouped_by, ["le", "partner"].map(str::to_owned).into());
}
