//! `GET`, `POST /console/consents`, `POST /console/consents/download`: which consents were given and when,
//! like `offerd person consents`. The selection is a form body, not a query: every answer is audited, and an
//! open page re-requests its address.

mod read;

use chrono::{Days, NaiveDate};

use self::read::{ConsentReadCounts, LINES, counted, listed, sheet};
use super::prelude::*;
use crate::command::csv_file;
use offerd_insight::persons::consent_lines::ConsentSummary;

/// Statements on the page; the file has all.
const SHOWN: usize = 100;

/// Default number of days before today.
const USUAL: Days = Days::new(29);

const PAGE: ConsolePage = ConsolePage::new(Section::Persons, "consents.html");

pub(super) async fn show(visit: &ConsoleRequest) -> Result<View> {
    view(visit, Ok(None)).await
}

/// Counts the consents per statement.
pub(super) async fn summary(visit: &ConsoleRequest) -> Result<View> {
    let shown = counted(visit).await.map(|(summaries, read)| Some(shown(&summaries, read)));
    view(visit, shown).await
}

/// The counts as a file, or a row per lead and statement.
pub(super) async fn download(visit: &ConsoleRequest) -> Result<View> {
    let file = match visit.field("lines") {
        Some("each") => listed(visit).await.map(|lines| (lines, "consents-each")),
        _ => counted(visit)
            .await
            .map(|(summaries, _)| (summaries.iter().map(ConsentSummary::fields).collect(), "consents")),
    };
    match file {
        Ok((lines, name)) => csv_file(&sheet(&lines), name).map(View::from),
        Err(failure) => view(visit, Err(failure)).await,
    }
}

async fn view(visit: &ConsoleRequest, shown: Result<Option<Value>>) -> Result<View> {
    let (shown, failure) = outcome(shown);
    let company = visit.field("company").unwrap_or_default().to_owned();
    let companies = visit.reading(move |app| companies(app, &company)).await?;
    let today = Utc::now().date_naive();
    // A submitted form keeps its values, even a cleared day.
    let day = |name, usual: Option<NaiveDate>| match visit.field("csrf") {
        Some(_) => visit.field(name).unwrap_or_default().to_owned(),
        None => usual.map(|day| day.to_string()).unwrap_or_default(),
    };
    let fields = fields! {
        from => day("from", today.checked_sub_days(USUAL)),
        to => day("to", Some(today)),
        companies,
        test => visit.field("leads") == Some("test"),
        trouble => failure.as_ref().map(Failure::words),
        shown,
        lines => LINES,
    };
    let view = visit.view(PAGE, fields)?.titled("Consents");
    Ok(view.failed(failure.as_ref()))
}

fn companies(app: &AdminState, chosen: &str) -> Vec<Value> {
    let mut all = Tokens::of(app.store.clone()).companies();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    choices(all.into_iter().map(|one| (one.uuid, one.name)), Some(chosen))
}

/// The counts of the page.
fn shown(summaries: &[ConsentSummary], read: ConsentReadCounts) -> Value {
    fields! {
        rows => summaries.iter().take(SHOWN).collect::<Vec<_>>(),
        left_out => summaries.len().saturating_sub(SHOWN),
        consents => read.consents,
        gone => read.gone,
    }
}
