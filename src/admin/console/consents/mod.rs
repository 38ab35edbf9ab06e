//! `GET`, `POST /console/consents`, `POST /console/consents/download`: who agreed to what, and when, as `offerd person consents` tells it. What is
//! asked for is sent as a form: each answer stands in the audit, and a page that is kept open asks for its address again.

mod read;

use std::sync::Arc;

use chrono::{Days, NaiveDate, Utc};
use serde::Serialize;

use self::read::{LINES, Read, counted, listed, sheet};
use super::section::Section;
use super::view::{Page, View, sealed};
use super::visit::Visit;
use crate::admin::App;
use crate::admin::command::csv_file;
use crate::model::LeadLegalInformation;
use crate::persons::consent_lines::Summary;
use crate::store::tokens::Tokens;
use crate::web::{Failure, Reply};

/// Where the page is.
const PATH: &str = "/console/consents";

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
    let shown = counted(&visit).await.map(|(summaries, read)| Some(Shown::of(&summaries, read)));
    view(&visit, shown).await
}

/// The same as a file, or a line of each lead and statement.
pub(super) async fn download(visit: Arc<Visit>) -> Result<Reply, Failure> {
    let file = match visit.field("lines") {
        Some("each") => listed(&visit).await.map(|lines| (lines, "consents-each")),
        _ => counted(&visit)
            .await
            .map(|(summaries, _)| (summaries.iter().map(Summary::fields).collect(), "consents")),
    };
    match file {
        Ok((lines, name)) => csv_file(&sheet(&lines), name).map(sealed),
        Err(failure) => view(&visit, Err(failure)).await?.reply(&visit),
    }
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

impl Shown {
    fn of(summaries: &[Summary], read: Read) -> Self {
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
