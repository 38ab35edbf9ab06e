//! `GET`, `POST /console/reports/statement`: a partner's statement, held against what is booked, like
//! `offerd report reconcile`.

use chrono::NaiveDate;

use super::super::reports::reconciled;
use super::prelude::*;
use offerd_insight::reports::statement::{self, MatchSum, Reconciliation, Statement};
use offerd_insight::sheet::lines::{TextLines, decoded};

/// The path of the page, whose form may be longer than others.
pub(super) const PATH: &str = "/console/reports/statement";

/// Differences on the page; the file has all.
const SHOWN: usize = 200;

const PAGE: ConsolePage = ConsolePage::new(Section::Reports, "statement.html");

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    view(request, Ok(None)).await
}

pub(super) async fn reconcile(request: &ConsoleRequest) -> Result<View> {
    match stated(request).await {
        Ok(found) if request.field("as") == Some("csv") => {
            csv_file(&found.sheet(), &format!("reconciliation-{}", found.partner)).map(View::from)
        }
        found => view(request, found.map(Some)).await,
    }
}

async fn stated(request: &ConsoleRequest) -> Result<Reconciliation> {
    let text = request.field("statement").unwrap_or_default();
    let lines = statement::read(TextLines::new(decoded(text.as_bytes(), None), "save the file as UTF-8"));
    let lines = lines.map_err(|faults| Failure::bad_request(format!("{}.", faults.join("; "))))?;
    let day = |name: &'static str| {
        let wrong = |_| Failure::bad_request(format!("`{name}` must be a day such as 2026-01-31."));
        request.field(name).map(|text| text.parse::<NaiveDate>().map_err(wrong)).transpose()
    };
    let partner = request.field("partner").unwrap_or_default().to_owned();
    reconciled(&request.app, Statement { partner, from: day("from")?, until: day("until")?, lines }).await
}

async fn view(request: &ConsoleRequest, found: Result<Option<Reconciliation>>) -> Result<View> {
    let (found, failure) = outcome(found);
    let book = request.app.engine.book();
    let partners =
        book.partners().into_iter().map(|partner| (partner.key.clone(), partner.partner.name.clone()));
    let given = |name| request.field(name).unwrap_or_default();
    let fields = fields! {
        partners => choices(partners, request.field("partner")),
        from => given("from"), until => given("until"), statement => given("statement"),
        zone => request.app.settings().reports.usual_zone().name(),
        trouble => failure.as_ref().map(Failure::words),
        found => found.map(|found| shown(&found)),
    };
    Ok(request.view(PAGE, fields)?.titled("Statement").failed(failure.as_ref()))
}

fn shown(found: &Reconciliation) -> Value {
    let dollars = |cents: f64| figures::dollars(cents / 100.0);
    let sum = |(words, MatchSum { count, here_in_cents, there_in_cents }): (&'static str, MatchSum)| {
        fields! { words, count, here => dollars(here_in_cents), there => dollars(there_in_cents) }
    };
    let differences = found.differences.iter().take(SHOWN).map(|one| {
        fields! {
            words => one.result.words(), id => one.transaction_id,
            here => known(one.here_in_cents, dollars), there => known(one.there_in_cents, dollars),
            day => known(one.counts_on, |day| day.to_string()), lines => one.lines,
        }
    });
    fields! {
        partner => found.partner, sums => found.sums().map(sum), differences => differences.collect::<Vec<_>>(),
        left_out => found.differences.len().saturating_sub(SHOWN),
    }
}
