//! `GET`, `POST /console/consents`, `POST /console/consents/download`: who agreed to what, and when, as `offerd person consents` tells it. What is
//! asked for is sent as a form: each answer stands in the audit, and a page that is kept open asks for its address again.

mod read;

use chrono::{Days, NaiveDate};

use self::read::{LINES, Read, counted, listed, sheet};
use super::prelude::*;
use crate::command::csv_file;
use offerd_insight::persons::consent_lines::Summary;

/// Statements that the page shows; the file has all.
const SHOWN: usize = 100;

/// Days that the form has before anything is chosen.
const USUAL: Days = Days::new(29);

const PAGE: Page = Page::new(Section::Persons, "consents.html");

/// Asks whose consents are wanted, and of when.
pub(super) async fn show(visit: &Visit) -> Result<View, Failure> {
    view(visit, Ok(None)).await
}

/// Counts each statement.
pub(super) async fn summary(visit: &Visit) -> Result<View, Failure> {
    let shown = counted(visit).await.map(|(summaries, read)| Some(shown(&summaries, read)));
    view(visit, shown).await
}

/// The same as a file, or a line of each lead and statement.
pub(super) async fn download(visit: &Visit) -> Result<View, Failure> {
    let file = match visit.field("lines") {
        Some("each") => listed(visit).await.map(|lines| (lines, "consents-each")),
        _ => counted(visit)
            .await
            .map(|(summaries, _)| (summaries.iter().map(Summary::fields).collect(), "consents")),
    };
    match file {
        Ok((lines, name)) => csv_file(&sheet(&lines), name).map(View::from),
        Err(failure) => view(visit, Err(failure)).await,
    }
}

async fn view(visit: &Visit, shown: Result<Option<Value>, Failure>) -> Result<View, Failure> {
    let (shown, failure) = outcome(shown);
    let company = visit.field("company").unwrap_or_default().to_owned();
    let companies = visit.reading(move |app| companies(app, &company)).await?;
    let today = Utc::now().date_naive();
    // What was sent stays as it is, also where a day was taken out.
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

fn companies(app: &App, chosen: &str) -> Vec<Value> {
    let mut all = Tokens::of(app.store.clone()).companies();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    choices(all.into_iter().map(|one| (one.uuid, one.name)), Some(chosen))
}

/// What the page counts.
fn shown(summaries: &[Summary], read: Read) -> Value {
    fields! {
        rows => summaries.iter().take(SHOWN).collect::<Vec<_>>(),
        left_out => summaries.len().saturating_sub(SHOWN),
        consents => read.consents,
        gone => read.gone,
    }
}
