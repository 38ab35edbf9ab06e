//! `GET`, `POST /console/consents`, `POST /console/consents/download`: who agreed to what, and when, as `offerd person consents` tells it. What is
//! asked for is sent as a form: each answer stands in the audit, and a page that is kept open asks for its address again.

use std::sync::Arc;

use chrono::{Days, NaiveDate, Utc};
use hyper::header::{CONTENT_DISPOSITION, HeaderValue};
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::section::Section;
use super::view::{Page, View, sealed};
use super::visit::Visit;
use crate::admin::App;
use crate::admin::command::our_fault;
use crate::admin::consents::{noted, unread};
use crate::model::LeadLegalInformation;
use crate::persons::consent_lines::{Came, Fields, STATEMENTS, Summaries, Summary, TooMany, each};
use crate::persons::consents::{ConsentPage, Wanted, page};
use crate::reports::spreadsheet::harmless;
use crate::store::tokens::Tokens;
use crate::web::{Failure, Reply};

/// Where the page is.
const PATH: &str = "/console/consents";

/// Consents that are counted at most, some seconds' work, and those that a file has a line of each of; the command has no such limit.
const COUNTED: usize = 100_000;
const LINES: usize = 10_000;

/// Statements that the page shows; the file has all.
const SHOWN: usize = 100;

/// Days that the form has before anything is chosen.
const USUAL: Days = Days::new(29);

#[derive(Debug, Serialize)]
struct Consents {
    from: String,
    to: String,
    companies: Vec<Company>,
    test: bool,
    trouble: Option<String>,
    shown: Option<Shown>,
    lines: usize,
}

#[derive(Debug, Serialize)]
struct Company {
    uuid: String,
    name: String,
    chosen: bool,
}

/// What the page counts.
#[derive(Debug, Serialize)]
struct Shown {
    rows: Vec<Row>,
    left_out: usize,
    consents: usize,
    gone: u64,
}

#[derive(Debug, Serialize)]
struct Row {
    leads: u64,
    superseded: u64,
    /// Unix milliseconds.
    first: i64,
    last: i64,
    /// To what a yes or a no is said.
    said: Vec<(&'static str, bool)>,
    version: Option<&'static str>,
    /// What was shown, word for word.
    texts: Vec<(&'static str, String)>,
}

/// What was read.
#[derive(Default)]
struct Read {
    pages: Vec<ConsentPage>,
    consents: usize,
    gone: u64,
}

impl Page for Consents {
    const SECTION: Section = Section::Persons;
    const TEMPLATE: &'static str = "consents.html";

    fn title(&self) -> String {
        "Consents".to_owned()
    }
}

/// Asks whose consents are wanted, and of when.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    view(&visit, Ok(None)).await
}

/// Leads to the page from where its form is sent.
pub(super) async fn back(_: Arc<Visit>) -> Result<View, Failure> {
    Ok(View::at(PATH.to_owned()))
}

/// Counts each statement.
pub(super) async fn summary(visit: Arc<Visit>) -> Result<View, Failure> {
    let shown = counted(&visit).await.map(|(summaries, read)| Some(Shown::of(&summaries, &read)));
    view(&visit, shown).await
}

/// The same as a file, or a line of each lead and statement.
pub(super) async fn download(visit: Arc<Visit>) -> Result<Reply, Failure> {
    let file = match visit.field("lines") {
        Some("each") => {
            listed(&visit).await.map(|lines| (lines, "attachment; filename=\"consents-each.csv\""))
        }
        _ => counted(&visit).await.map(|(summaries, _)| {
            (summaries.iter().map(Summary::fields).collect(), "attachment; filename=\"consents.csv\"")
        }),
    };
    match file {
        Ok((lines, name)) => {
            let file = csv(&lines).map_err(our_fault("the consents could not be written as CSV"))?;
            let reply = Reply::bytes("text/csv; charset=utf-8", file);
            Ok(sealed(reply).header(CONTENT_DISPOSITION, HeaderValue::from_static(name)))
        }
        Err(failure) => view(&visit, Err(failure)).await?.reply(&visit),
    }
}

async fn counted(visit: &Visit) -> Result<(Vec<Summary>, Read), Failure> {
    let read = read(visit, COUNTED).await?;
    let mut summaries = Summaries::default();
    let summed_up = read.pages.iter().try_for_each(|page| summaries.add(page));
    summed_up.map_err(|_: TooMany| {
        Failure::bad_request(format!(
            "There are more than {STATEMENTS} different texts, as many as leads perhaps: download a line of each."
        ))
    })?;
    Ok((summaries.sorted(), read))
}

async fn listed(visit: &Visit) -> Result<Vec<Fields>, Failure> {
    let read = read(visit, LINES).await?;
    let lines = |page: &ConsentPage| -> Vec<Fields> {
        page.consents.iter().map(|consent| each(consent, &page.statements[consent.statement])).collect()
    };
    Ok(read.pages.iter().flat_map(lines).collect())
}

/// Reads all that is wanted, and so many at most.
async fn read(visit: &Visit, most: usize) -> Result<Read, Failure> {
    let wanted = wanted(visit)?;
    // It reads all leads of that time.
    let permit = Arc::clone(&visit.app.console.scans).try_acquire_owned();
    let permit = permit.map_err(|_| {
        let mut busy = Failure::overloaded(5);
        busy.errors[0].message =
            Some("Another page reads the store just now: ask again in a moment.".to_owned());
        busy
    })?;
    noted(&visit.app, &visit.actor()).await?;
    visit.reading(move |app| Read::all(app, &wanted, most, permit)).await?
}

impl Read {
    fn all(app: &App, wanted: &Wanted, most: usize, _permit: OwnedSemaphorePermit) -> Result<Self, Failure> {
        let (mut read, mut next) = (Self::default(), None);
        loop {
            let page = page(&app.store, wanted, next).map_err(unread)?;
            read.consents += page.consents.len();
            read.gone += page.gone;
            if read.consents > most {
                return Err(Failure::bad_request(format!(
                    "There are more than {most} consents of this time: choose fewer days or one company, or ask `offerd person consents`, which reads any number."
                )));
            }
            next = page.next;
            read.pages.push(page);
            if next.is_none() {
                return Ok(read);
            }
        }
    }
}

fn wanted(visit: &Visit) -> Result<Wanted, Failure> {
    let day = |name: &'static str| {
        let wrong = |_| Failure::bad_request(format!("`{name}` must be a day such as 2026-01-31."));
        visit.field(name).map(|text| text.parse::<NaiveDate>().map_err(wrong)).transpose()
    };
    let turned = |told| Failure::bad_request(format!("Nothing can be told: {told}."));
    let came = Came { from: day("from")?, to: day("to")? }.range().map_err(turned)?;
    let unknown = |_| Failure::bad_request("`company` must be a uuid.");
    let company = visit.field("company").map(|text| text.parse::<Uuid>().map_err(unknown)).transpose()?;
    Ok(Wanted { company, came, test: visit.field("leads") == Some("test") })
}

async fn view(visit: &Visit, shown: Result<Option<Shown>, Failure>) -> Result<View, Failure> {
    let (shown, failure) = match shown {
        Ok(shown) => (shown, None),
        Err(failure) => (None, Some(failure)),
    };
    let company = visit.field("company").unwrap_or_default().to_owned();
    let companies = visit.reading(move |app| companies(app, &company)).await?;
    let today = Utc::now().date_naive();
    // What was sent stays as it is, also where a day was taken out.
    let day = |name, usual: Option<NaiveDate>| match visit.field("csrf") {
        Some(_) => visit.field(name).unwrap_or_default().to_owned(),
        None => usual.map(|day| day.to_string()).unwrap_or_default(),
    };
    let messages = failure.iter().flat_map(|failure| &failure.errors);
    let view = visit.view(&Consents {
        from: day("from", today.checked_sub_days(USUAL)),
        to: day("to", Some(today)),
        companies,
        test: visit.field("leads") == Some("test"),
        trouble: messages.filter_map(|error| error.message.clone()).next(),
        shown,
        lines: LINES,
    })?;
    Ok(match failure {
        Some(failure) => view.with_status(failure.status),
        None => view,
    })
}

fn companies(app: &App, chosen: &str) -> Vec<Company> {
    let company = |uuid: String, name| Company { chosen: uuid == chosen, uuid, name };
    let all = Tokens::of(app.store.clone()).companies().into_iter();
    let mut all: Vec<Company> = all.map(|one| company(one.uuid.to_string(), one.name)).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

fn csv(lines: &[Fields]) -> Result<Vec<u8>, csv::Error> {
    let mut file = csv::Writer::from_writer(Vec::new());
    if let Some(first) = lines.first() {
        file.write_record(first.iter().map(|(name, _)| *name))?;
    }
    for line in lines {
        file.write_record(line.iter().map(|(_, text)| harmless(text.as_deref().unwrap_or_default())))?;
    }
    file.into_inner().map_err(|error| error.into_error().into())
}

impl Shown {
    fn of(summaries: &[Summary], read: &Read) -> Self {
        Self {
            rows: summaries.iter().take(SHOWN).map(Row::of).collect(),
            left_out: summaries.len().saturating_sub(SHOWN),
            consents: read.consents,
            gone: read.gone,
        }
    }
}

impl Row {
    fn of(summary: &Summary) -> Self {
        let LeadLegalInformation {
            consents_to_fcra,
            consents_to_tcpa,
            consents_to_sms,
            batch_consent_version,
            fcra_language,
            tcpa_language,
            batch_consent_language,
            ..
        } = &summary.statement;
        let said = [("FCRA", consents_to_fcra), ("TCPA", consents_to_tcpa), ("SMS", consents_to_sms)];
        let texts =
            [("FCRA", fcra_language), ("TCPA", tcpa_language), ("all in one", batch_consent_language)];
        Self {
            leads: summary.leads,
            superseded: summary.superseded,
            first: summary.first.millis(),
            last: summary.last.millis(),
            said: said.into_iter().filter_map(|(name, said)| Some((name, (*said)?))).collect(),
            version: batch_consent_version.as_ref().map(|version| version.as_str()),
            texts: texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))).collect(),
        }
    }
}
