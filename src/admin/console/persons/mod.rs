//! `GET`, `POST /console/persons` and the forms below it: what a person may ask for, as `offerd person` does it. Their leads are found by an
//! address or a number, all that is held on them is given as a file, all of it is erased, and they are left alone.

mod asked;
mod receipt;

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{CONTENT_DISPOSITION, HeaderValue};
use serde::Serialize;
use uuid::Uuid;

use self::asked::Asked;
use self::receipt::ReceiptPage;
use super::section::Section;
use super::view::{Page, View, sealed};
use super::visit::Visit;
use crate::admin::command::our_fault;
use crate::admin::erasing;
use crate::admin::persons::{self, Wish};
use crate::model::SuppressionKind;
use crate::persons::consents::Agreed;
use crate::persons::request::FoundLead;
use crate::store::tokens::Tokens;
use crate::web::{Failure, Reply};

/// Leads that the page lists; what is done is done with all of them.
const LISTED: usize = 100;

/// Where the page is.
const PATH: &str = "/console/persons";

#[derive(Debug, Default, Serialize)]
struct PersonsPage {
    /// What was typed, for the forms that go on with it.
    typed: Typed,
    /// Whether leads can be found by it: no name finds any.
    is_contact: bool,
    found: Option<Found>,
    /// Whether they are on the list of who asked to be left alone, where somebody is asked about.
    left_alone: Option<bool>,
    /// Why nobody can be told from anybody on it; a sentence.
    locked: Option<String>,
    /// What was just done, in words.
    done: Option<String>,
    /// What was wrong with what was sent, or cannot be had now.
    trouble: Option<String>,
}

#[derive(Debug, Default, Serialize)]
struct Typed {
    contact: String,
    first: String,
    last: String,
    born: String,
    reason: String,
}

/// The leads of a person.
#[derive(Debug, Serialize)]
struct Found {
    count: usize,
    /// The latest of them.
    leads: Vec<Row>,
    companies: usize,
    tests: usize,
}

#[derive(Debug, Serialize)]
struct Row {
    uuid: Uuid,
    company: String,
    /// Unix milliseconds.
    created_at: i64,
    products: Vec<&'static str>,
    test: bool,
    consents: Vec<ShownConsent>,
}

/// What they agreed to.
#[derive(Debug, Serialize)]
struct ShownConsent {
    /// Unix milliseconds.
    stated_at: i64,
    /// As `FCRA: yes, SMS: no`.
    to: String,
    version: Option<String>,
    superseded: bool,
}

impl Page for PersonsPage {
    const SECTION: Section = Section::Persons;
    const TEMPLATE: &'static str = "persons.html";
}

/// Asks whom it is about.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    page(&visit, Ok(None)).await
}

/// Leads to the page from where its forms are sent.
pub(super) async fn back(_: Arc<Visit>) -> Result<View, Failure> {
    Ok(View::at(PATH.to_owned()))
}

/// Shows the leads of a person, and what can be done.
pub(super) async fn find(visit: Arc<Visit>) -> Result<View, Failure> {
    let asked = asked(&visit).map(|_| None);
    page(&visit, asked).await
}

/// Gives everything that is held on a person as a file.
pub(super) async fn export(visit: Arc<Visit>) -> Result<Reply, Failure> {
    match exported(&visit).await {
        Ok(file) => Ok(file),
        Err(failure) => page(&visit, Err(failure)).await?.reply(&visit),
    }
}

/// Erases all leads of a person, and shows the receipt.
pub(super) async fn erase(visit: Arc<Visit>) -> Result<View, Failure> {
    match erased(&visit).await {
        Ok(receipt) => visit.view(&receipt),
        Err(failure) => page(&visit, Err(failure)).await,
    }
}

/// Has a person be left alone.
pub(super) async fn suppress(visit: Arc<Visit>) -> Result<View, Failure> {
    let done = async || {
        persons::suppressed(&visit.app, asked(&visit)?.wish(&visit)?).await?;
        Ok(Some("No partner is asked about whoever is submitted with this from now on.".to_owned()))
    };
    let done = done().await;
    page(&visit, done).await
}

/// Ends that.
pub(super) async fn unsuppress(visit: Arc<Visit>) -> Result<View, Failure> {
    let done = async || {
        let was_suppressed = persons::unsuppressed(&visit.app, asked(&visit)?.wish(&visit)?).await?;
        let (ended, never) = ("They may be asked about again.", "They were not left alone by this.");
        Ok(Some(if was_suppressed { ended } else { never }.to_owned()))
    };
    let done = done().await;
    page(&visit, done).await
}

async fn exported(visit: &Visit) -> Result<Reply, Failure> {
    let copy = persons::copied(&visit.app, asked(visit)?.wish(visit)?).await?;
    let file =
        serde_json::to_vec_pretty(&copy).map_err(our_fault("what is held could not be written as JSON"))?;
    // No name of a file says whose it is.
    let name = HeaderValue::from_static("attachment; filename=\"person.json\"");
    Ok(sealed(Reply::json_bytes(file)).header(CONTENT_DISPOSITION, name))
}

async fn erased(visit: &Visit) -> Result<ReceiptPage, Failure> {
    let wish = asked(visit)?.wish(visit)?;
    if visit.field("sure") != Some("yes") {
        let message = "Nothing is erased: tick that all of it is to be erased for good.";
        return Err(Failure::bad_request(message));
    }
    let suppress = visit.field("suppress").is_some();
    let receipt = erasing::erased(&visit.app, wish.clone(), suppress).await?;
    ReceiptPage::of(receipt, wish.is_left_alone(&visit.app.engine))
}

fn asked(visit: &Visit) -> Result<Asked, Failure> {
    let nobody = || Failure::bad_request("An e-mail address or a phone number is missing.");
    Asked::of(visit)?.ok_or_else(nobody)
}

/// The page after a form, with what came of it.
async fn page(visit: &Visit, outcome: Result<Option<String>, Failure>) -> Result<View, Failure> {
    let (done, mut failure) = match outcome {
        Ok(done) => (done, None),
        Err(failure) => (None, Some(failure)),
    };
    let mut shown = PersonsPage { typed: Typed::of(visit), done, ..PersonsPage::default() };
    if let Ok(Some(asked)) = Asked::of(visit) {
        let wish = asked.look_up(visit);
        shown.is_contact = asked.kind != SuppressionKind::Person;
        shown.locked = visit.app.engine.suppressions.locked();
        shown.left_alone = Some(wish.is_left_alone(&visit.app.engine));
        // What cannot be had now is not waited for twice.
        let is_gone =
            failure.as_ref().is_some_and(|failure| failure.status == StatusCode::SERVICE_UNAVAILABLE);
        if shown.is_contact && !is_gone {
            match found(visit, &wish).await {
                Ok(found) => shown.found = Some(found),
                Err(unfound) => failure = failure.or(Some(unfound)),
            }
        }
    }
    shown.trouble = failure.as_ref().map(words);
    let view = visit.view(&shown)?;
    Ok(match failure {
        Some(failure) => view.with_status(failure.status),
        None => view,
    })
}

async fn found(visit: &Visit, wish: &Wish) -> Result<Found, Failure> {
    let leads = persons::found(&visit.app, wish.clone()).await?;
    visit.reading(move |app| Found::of(&Tokens::of(app.store.clone()), leads)).await
}

/// What a failure says, with what it is about.
fn words(failure: &Failure) -> String {
    let words = failure.errors.iter().filter_map(|error| {
        let message = error.message.as_ref()?;
        Some(match &error.attribute {
            Some(attribute) => format!("The {attribute} {message}."),
            None => message.clone(),
        })
    });
    let words = words.collect::<Vec<_>>().join(" ");
    let mut letters = words.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

impl Typed {
    fn of(visit: &Visit) -> Self {
        let field = |name| visit.field(name).unwrap_or_default().to_owned();
        let [contact, first, last, born, reason] = ["contact", "first", "last", "born", "reason"].map(field);
        Self { contact, first, last, born, reason }
    }
}

impl ShownConsent {
    fn of(agreed: &Agreed) -> Self {
        let said = |(word, is): &(String, bool)| format!("{word}: {}", if *is { "yes" } else { "no" });
        Self {
            stated_at: agreed.stated_at.millis(),
            to: agreed.to.iter().map(said).collect::<Vec<_>>().join(", "),
            version: agreed.version.clone(),
            superseded: agreed.superseded,
        }
    }
}

impl Found {
    fn of(tokens: &Tokens, leads: Vec<FoundLead>) -> Self {
        let mut companies: Vec<Uuid> = leads.iter().map(|lead| lead.company_uuid).collect();
        companies.sort_unstable();
        companies.dedup();
        let name = |uuid: Uuid| tokens.company(uuid).map_or_else(|| uuid.to_string(), |company| company.name);
        let row = |lead: &FoundLead| Row {
            uuid: lead.lead_uuid,
            company: name(lead.company_uuid),
            created_at: lead.created_at.millis(),
            products: lead.product_types.iter().map(|product| product.as_str()).collect(),
            test: lead.test,
            consents: lead.consents.iter().map(ShownConsent::of).collect(),
        };
        let tests = leads.iter().filter(|lead| lead.test).count();
        let latest = leads.iter().rev().take(LISTED).map(row).collect();
        Self { count: leads.len(), leads: latest, companies: companies.len(), tests }
    }
}
