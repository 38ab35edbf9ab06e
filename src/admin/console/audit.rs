//! `GET /console/audit`, `GET /console/audit/download`: the audit log, newest first.

use super::super::audit::{LOOKED_AT, sheet, unread};
use super::prelude::*;
use offerd_store::audit::{AuditFilter, AuditRecord};

const SHOWN: usize = 50;

/// Maximum records of a file; `offerd audit list` has more.
const DOWNLOADED: usize = 10_000;

/// A selectable span: its value in the address, its label, and its length.
type AuditPeriod = (&'static str, &'static str, Option<Duration>);

const SPANS: [AuditPeriod; 4] = [
    ("day", "last day", Some(Duration::from_secs(24 * 3600))),
    ("week", "last 7 days", Some(Duration::from_secs(7 * 24 * 3600))),
    ("month", "last 30 days", Some(Duration::from_secs(30 * 24 * 3600))),
    ("all", "all", None),
];

const PAGE: ConsolePage = ConsolePage::new(Section::Audit, "audit.html");

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    let before = request.query_value("before").and_then(|before| before.parse::<u64>().ok());
    let (records, older) = read(request, before, SHOWN).await?;
    let spans = SPANS.map(|(value, words, _)| (value, words));
    request.view(
        PAGE,
        fields! {
            records,
            who => request.query_value("who").unwrap_or_default(),
            action => request.query_value("action").unwrap_or_default(),
            about => request.query_value("about").unwrap_or_default(),
            spans => choices(spans, Some(chosen(request).0)),
            filters => filters(request), older, is_older => before.is_some(), downloaded => DOWNLOADED,
        },
    )
}

pub(super) async fn download(request: &ConsoleRequest) -> Result<View> {
    let (records, _) = read(request, None, DOWNLOADED).await?;
    csv_file(&sheet(&records), "audit").map(View::from)
}

async fn read(
    request: &ConsoleRequest,
    before: Option<u64>,
    most: usize,
) -> Result<(Vec<AuditRecord>, Option<u64>)> {
    let text = |name| request.query_value(name).map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
    let (.., span) = chosen(request);
    let since = span.map_or(0, |span| Utc::now().timestamp_millis() - span.as_millis() as i64);
    let filter = AuditFilter { since, who: text("who"), action: text("action"), about: text("about") };
    request.reading(move |app| app.audit.before(before, &filter, most, LOOKED_AT)).await?.map_err(unread)
}

fn chosen(request: &ConsoleRequest) -> AuditPeriod {
    let wanted = request.query_value("time");
    SPANS.into_iter().find(|(value, ..)| wanted == Some(value)).unwrap_or(SPANS[1])
}

fn filters(request: &ConsoleRequest) -> String {
    let named = ["who", "action", "about", "time"].into_iter();
    let named = named.filter_map(|it| Some((it, request.query_value(it)?)));
    form_urlencoded::Serializer::new(String::new()).extend_pairs(named).finish()
}
