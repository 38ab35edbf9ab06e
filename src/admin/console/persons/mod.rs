//! `GET`, `POST /console/persons` and its forms: data-subject requests, like `offerd person`. Finds the leads
//! of a person by email address or phone number, exports or erases their data, and opts them out.

mod asked;

use std::collections::BTreeMap;

use hyper::StatusCode;
use hyper::header::{CONTENT_DISPOSITION, HeaderValue};

use self::asked::PersonQuery;
use super::prelude::*;
use crate::command::our_fault;
use crate::erasing;
use crate::persons::{self, PersonRequest};
use offerd_insight::persons::request::{self, FoundLead, OptOutCounts};
use offerd_model::SuppressionKind;

/// Leads listed on the page; actions apply to all.
const LISTED: usize = 100;

const PAGE: ConsolePage = ConsolePage::new(Section::Persons, "persons.html");

/// The receipt of an erasure, to print and as JSON. It contains no personal data and is not stored; reloading
/// it erases nothing more, and the audit has its number.
const RECEIPT: ConsolePage = ConsolePage::new(Section::Persons, "receipt.html");

pub(super) async fn show(visit: &ConsoleRequest) -> Result<View, Failure> {
    page(visit, Ok(None)).await
}

/// Shows the leads of a person and the possible actions.
pub(super) async fn find(visit: &ConsoleRequest) -> Result<View, Failure> {
    let asked = asked(visit).map(|_| None);
    page(visit, asked).await
}

pub(super) async fn export(visit: &ConsoleRequest) -> Result<View, Failure> {
    match exported(visit).await {
        Ok(file) => Ok(file.into()),
        Err(failure) => page(visit, Err(failure)).await,
    }
}

/// Erases all leads of a person and shows the receipt.
pub(super) async fn erase(visit: &ConsoleRequest) -> Result<View, Failure> {
    match erased(visit).await {
        Ok(receipt) => Ok(visit.view(RECEIPT, receipt)?.titled("Receipt of an erasure")),
        Err(failure) => page(visit, Err(failure)).await,
    }
}

/// Opts a person out.
pub(super) async fn suppress(visit: &ConsoleRequest) -> Result<View, Failure> {
    let done = async || {
        persons::suppressed(&visit.app, asked(visit)?.wish(visit)?).await?;
        Ok(Some("From now on, no partner is asked about leads submitted with this contact.".to_owned()))
    };
    let done = done().await;
    page(visit, done).await
}

/// Ends an opt-out.
pub(super) async fn unsuppress(visit: &ConsoleRequest) -> Result<View, Failure> {
    let done = async || {
        let was_suppressed =
            persons::unsuppressed(&visit.app, known(PersonQuery::before(visit)?)?.wish(visit)?).await?;
        let (ended, never) = (
            "Partners may be asked about them again.",
            "They were not on the opt-out \
            list.",
        );
        Ok(Some(if was_suppressed { ended } else { never }.to_owned()))
    };
    let done = done().await;
    page(visit, done).await
}

async fn exported(visit: &ConsoleRequest) -> Result<Reply, Failure> {
    let copy = persons::copied(&visit.app, asked(visit)?.wish(visit)?).await?;
    let file =
        serde_json::to_vec_pretty(&copy).map_err(our_fault("the export could not be written as JSON"))?;
    // The file name does not identify the person.
    let name = HeaderValue::from_static("attachment; filename=\"person.json\"");
    Ok(Reply::json_bytes(file).header(CONTENT_DISPOSITION, name))
}

/// The fields of the receipt.
async fn erased(visit: &ConsoleRequest) -> Result<Value, Failure> {
    let wish = asked(visit)?.wish(visit)?;
    if visit.field("sure") != Some("yes") {
        let message = "Nothing was erased: tick the box that confirms the erasure.";
        return Err(Failure::bad_request(message));
    }
    let suppress = visit.field("suppress").is_some();
    let receipt = erasing::erased(&visit.app, wish.clone(), suppress).await?;
    let json = serde_json::to_string_pretty(&receipt).map_err(our_fault("a receipt could not be written"))?;
    let listed = receipt.left_alone.map(OptOutCounts::told);
    // Whether the submitted key is opted out, now or before.
    Ok(fields! { receipt, json, listed, left_alone => wish.is_left_alone(&visit.app.engine) })
}

fn asked(visit: &ConsoleRequest) -> Result<PersonQuery, Failure> {
    known(PersonQuery::of(visit)?)
}

fn known(asked: Option<PersonQuery>) -> Result<PersonQuery, Failure> {
    asked.ok_or_else(|| Failure::bad_request("Give an e-mail address or a phone number."))
}

/// The page after a form, with its outcome.
async fn page(visit: &ConsoleRequest, came: Result<Option<String>, Failure>) -> Result<View, Failure> {
    let (done, mut failure) = outcome(came);
    let (mut is_contact, mut locked, mut left_alone, mut found) = (false, None, None, None);
    if let Ok(Some(asked)) = PersonQuery::of(visit) {
        let wish = asked.look_up(visit);
        is_contact = asked.kind != SuppressionKind::Person;
        locked = visit.app.engine.suppressions.locked();
        left_alone = Some(wish.is_left_alone(&visit.app.engine));
        // A lookup that just failed is not repeated.
        let is_gone =
            failure.as_ref().is_some_and(|failure| failure.status == StatusCode::SERVICE_UNAVAILABLE);
        if is_contact && !is_gone {
            match found_leads(visit, &wish).await {
                Ok(leads) => found = Some(leads),
                Err(unfound) => failure = failure.or(Some(unfound)),
            }
        }
    }
    // The submitted values, for the next forms.
    let typed = ["contact", "first", "last", "born", "reason"];
    let typed = BTreeMap::from(typed.map(|name| (name, visit.field(name).unwrap_or_default())));
    let trouble = failure.as_ref().map(words);
    let fields = fields! { typed, is_contact, found, left_alone, locked, done, trouble };
    let view = visit.view(PAGE, fields)?;
    Ok(view.failed(failure.as_ref()))
}

async fn found_leads(visit: &ConsoleRequest, wish: &PersonRequest) -> Result<Value, Failure> {
    let leads = persons::found(&visit.app, wish.clone()).await?;
    visit.reading(move |app| listed(app, &leads)).await
}

/// The text of a failure, with its attribute.
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

/// The leads of a person, with the latest as rows.
fn listed(app: &AdminState, leads: &[FoundLead]) -> Value {
    let names = request::companies(&app.engine, leads);
    fields! {
        count => leads.len(),
        leads => leads.iter().rev().take(LISTED).collect::<Vec<_>>(),
        companies => names.len(),
        names,
        tests => leads.iter().filter(|lead| lead.test).count(),
    }
}
