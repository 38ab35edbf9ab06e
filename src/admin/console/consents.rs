//! `GET`, `POST /console/consents`, `POST /console/consents/download`: which consents were given and when.
//! The selection is a form body: every answer is audited, and an open page re-requests its address.

use chrono::{Days, NaiveDate};

use super::prelude::*;
use crate::consents::note_access;
use offerd_insight::persons::consent_lines::{
    ArrivalDays, ConsentFields, ConsentSummary, STATEMENTS, Summaries, TooMany, each,
};
use offerd_insight::persons::consents::{ConsentFilter, ConsentPage, page};
use offerd_insight::sheet::{ColumnKind, Sheet};

/// Statements on the page; the file has all.
const SHOWN: usize = 100;

/// Default number of days before today.
const USUAL: Days = Days::new(29);

const PAGE: ConsolePage = ConsolePage::new(Section::Persons, "consents.html");

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    view(request, Ok(None)).await
}

pub(super) async fn summary(request: &ConsoleRequest) -> Result<View> {
    view(request, counted(request).await.map(|(summaries, read)| Some(shown(&summaries, read)))).await
}

pub(super) async fn download(request: &ConsoleRequest) -> Result<View> {
    let file = match request.field("lines") {
        Some("each") => listed(request).await.map(|lines| (lines, "consents-each")),
        _ => counted(request)
            .await
            .map(|(summaries, _)| (summaries.iter().map(ConsentSummary::fields).collect(), "consents")),
    };
    match file {
        Ok((lines, name)) => csv_file(&sheet(&lines), name).map(View::from),
        Err(failure) => view(request, Err(failure)).await,
    }
}

async fn view(request: &ConsoleRequest, shown: Result<Option<Value>>) -> Result<View> {
    let (shown, failure) = outcome(shown);
    let company = request.field("company").unwrap_or_default().to_owned();
    let companies = request.reading(move |app| companies(app, &company)).await?;
    let today = Utc::now().date_naive();
    // A submitted form keeps its values, even a cleared day.
    let day = |name, usual: Option<NaiveDate>| match request.field("csrf") {
        Some(_) => request.field(name).unwrap_or_default().to_owned(),
        None => usual.map(|day| day.to_string()).unwrap_or_default(),
    };
    let fields = fields! {
        from => day("from", today.checked_sub_days(USUAL)),
        to => day("to", Some(today)), companies,
        test => request.field("leads") == Some("test"),
        trouble => failure.as_ref().map(Failure::words),
        shown, lines => LINES,
    };
    Ok(request.view(PAGE, fields)?.titled("Consents").failed(failure.as_ref()))
}

fn companies(app: &AdminState, chosen: &str) -> Vec<Value> {
    let mut all = Tokens::of(app.store.clone()).companies();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    choices(all.into_iter().map(|one| (one.uuid, one.name)), Some(chosen))
}

fn shown(summaries: &[ConsentSummary], read: ConsentReadCounts) -> Value {
    fields! {
        rows => summaries.iter().take(SHOWN).collect::<Vec<_>>(),
        left_out => summaries.len().saturating_sub(SHOWN),
        consents => read.consents, gone => read.gone,
        silent => summaries.iter().filter(|summary| summary.says_nothing()).map(|summary| summary.leads).sum::<u64>(),
    }
}

/// Maximum consents to count; takes some seconds.
const COUNTED: usize = 100_000;

/// Maximum rows of a file with one row per consent; the command has no limit.
const LINES: usize = 10_000;

#[derive(Debug, Clone, Copy, Default)]
struct ConsentReadCounts {
    consents: usize,
    gone: u64,
}

/// Each statement with the number of its consents.
async fn counted(request: &ConsoleRequest) -> Result<(Vec<ConsentSummary>, ConsentReadCounts)> {
    let many = |_: TooMany| {
        let found = format!("There are more than {STATEMENTS} different texts, perhaps one per lead");
        Failure::bad_request(format!("{found}: use “Download each lead”."))
    };
    let add = move |summaries: &mut Summaries, page: &ConsentPage| summaries.add(page).map_err(many);
    let (summaries, read) = walked(request, COUNTED, add).await?;
    Ok((summaries.sorted(), read))
}

async fn listed(request: &ConsoleRequest) -> Result<Vec<ConsentFields>> {
    let add = |lines: &mut Vec<ConsentFields>, page: &ConsentPage| {
        lines.extend(page.consents.iter().map(|consent| each(consent, &page.statements[consent.statement])));
        Ok(())
    };
    Ok(walked(request, LINES, add).await?.0)
}

fn sheet(lines: &[ConsentFields]) -> Sheet {
    let names = lines.first().into_iter().flatten().map(|(name, _)| (*name, ColumnKind::Text));
    let row = |line: &ConsentFields| line.iter().map(|(_, text)| text.as_ref().into()).collect();
    Sheet::new(names, lines.iter().map(row))
}

/// Reads at most `most` consents of the form's selection, folding each page with `add`.
async fn walked<T: Default + Send + 'static>(
    request: &ConsoleRequest,
    most: usize,
    add: impl Fn(&mut T, &ConsentPage) -> Result<()> + Send + 'static,
) -> Result<(T, ConsentReadCounts)> {
    let wanted = wanted(request)?;
    // It reads all leads of that time.
    let permit = Arc::clone(&request.app.console.scans).try_acquire_owned();
    let busy = "Another page is reading the store; try again in a moment.";
    let permit = permit.map_err(|_| unavailable(busy))?;
    note_access(&request.app, &request.actor(), &wanted).await?;
    let walk = move |app: &AdminState| {
        let _permit = permit;
        let (mut made, mut read, mut next) = (T::default(), ConsentReadCounts::default(), None);
        loop {
            let page = page(&app.store, &wanted, next).map_err(store_unread)?;
            read.consents += page.consents.len();
            read.gone += page.gone;
            if read.consents > most {
                return Err(Failure::bad_request(format!(
                    "This period has more than {most} consents: choose fewer days or one company, or use \
                    `offerd person consents`, which has no limit."
                )));
            }
            add(&mut made, &page)?;
            next = page.next;
            if next.is_none() {
                return Ok((made, read));
            }
        }
    };
    request.reading(walk).await?
}

fn wanted(request: &ConsoleRequest) -> Result<ConsentFilter> {
    let day = |name: &'static str| {
        let wrong = |_| Failure::bad_request(format!("`{name}` must be a day such as 2026-01-31."));
        request.field(name).map(|text| text.parse::<NaiveDate>().map_err(wrong)).transpose()
    };
    let refused = |why| Failure::bad_request(format!("Consents cannot be shown: {why}."));
    let came = ArrivalDays { from: day("from")?, to: day("to")? }.range().map_err(refused)?;
    let unknown = |_| Failure::bad_request("`company` must be a uuid.");
    let company = request.field("company").map(|text| text.parse::<Uuid>().map_err(unknown)).transpose()?;
    Ok(ConsentFilter { company, came, test: request.field("leads") == Some("test") })
}
