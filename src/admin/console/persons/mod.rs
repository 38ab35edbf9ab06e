//! `GET`, `POST /console/persons` and the forms below it: what a person may ask for, as `offerd person` does it. Their leads are found by an
//! address or a number, all that is held on them is given as a file, all of it is erased, and they are left alone.

mod asked;

use std::collections::BTreeMap;

use hyper::StatusCode;
use hyper::header::{CONTENT_DISPOSITION, HeaderValue};

use self::asked::Asked;
use super::prelude::*;
use crate::command::our_fault;
use crate::erasing;
use crate::persons::{self, Wish};
use offerd_insight::persons::request::{self, FoundLead, Listed};
use offerd_model::SuppressionKind;

/// Leads that the page lists; what is done is done with all of them.
const LISTED: usize = 100;

const PAGE: Page = Page::new(Section::Persons, "persons.html");

/// The receipt of an erasure: a page to print, and the same as JSON. It names nobody, and is kept nowhere: who loads it again has nothing
/// more erased, and the audit has its number.
const RECEIPT: Page = Page::new(Section::Persons, "receipt.html");

/// Asks whom it is about.
pub(super) async fn show(visit: &Visit) -> Result<View, Failure> {
    page(visit, Ok(None)).await
}

/// Shows the leads of a person, and what can be done.
pub(super) async fn find(visit: &Visit) -> Result<View, Failure> {
    let asked = asked(visit).map(|_| None);
    page(visit, asked).await
}

/// Gives everything that is held on a person as a file.
pub(super) async fn export(visit: &Visit) -> Result<View, Failure> {
    match exported(visit).await {
        Ok(file) => Ok(file.into()),
        Err(failure) => page(visit, Err(failure)).await,
    }
}

/// Erases all leads of a person, and shows the receipt.
pub(super) async fn erase(visit: &Visit) -> Result<View, Failure> {
    match erased(visit).await {
        Ok(receipt) => Ok(visit.view(RECEIPT, receipt)?.titled("Receipt of an erasure")),
        Err(failure) => page(visit, Err(failure)).await,
    }
}

/// Has a person be left alone.
pub(super) async fn suppress(visit: &Visit) -> Result<View, Failure> {
    let done = async || {
        persons::suppressed(&visit.app, asked(visit)?.wish(visit)?).await?;
        Ok(Some("No partner is asked about whoever is submitted with this from now on.".to_owned()))
    };
    let done = done().await;
    page(visit, done).await
}

/// Ends that.
pub(super) async fn unsuppress(visit: &Visit) -> Result<View, Failure> {
    let done = async || {
        let was_suppressed = persons::unsuppressed(&visit.app, asked(visit)?.wish(visit)?).await?;
        let (ended, never) = ("They may be asked about again.", "They were not left alone by this.");
        Ok(Some(if was_suppressed { ended } else { never }.to_owned()))
    };
    let done = done().await;
    page(visit, done).await
}

async fn exported(visit: &Visit) -> Result<Reply, Failure> {
    let copy = persons::copied(&visit.app, asked(visit)?.wish(visit)?).await?;
    let file =
        serde_json::to_vec_pretty(&copy).map_err(our_fault("what is held could not be written as JSON"))?;
    // No name of a file says whose it is.
    let name = HeaderValue::from_static("attachment; filename=\"person.json\"");
    Ok(Reply::json_bytes(file).header(CONTENT_DISPOSITION, name))
}

/// What stands on the receipt.
async fn erased(visit: &Visit) -> Result<Value, Failure> {
    let wish = asked(visit)?.wish(visit)?;
    if visit.field("sure") != Some("yes") {
        let message = "Nothing is erased: tick that all of it is to be erased for good.";
        return Err(Failure::bad_request(message));
    }
    let suppress = visit.field("suppress").is_some();
    let receipt = erasing::erased(&visit.app, wish.clone(), suppress).await?;
    let json = serde_json::to_string_pretty(&receipt).map_err(our_fault("a receipt could not be written"))?;
    let listed = receipt.left_alone.map(Listed::told);
    // Whether what was typed is on the list, since now or before.
    Ok(fields! { receipt, json, listed, left_alone => wish.is_left_alone(&visit.app.engine) })
}

fn asked(visit: &Visit) -> Result<Asked, Failure> {
    let nobody = || Failure::bad_request("An e-mail address or a phone number is missing.");
    Asked::of(visit)?.ok_or_else(nobody)
}

/// The page after a form, with what came of it.
async fn page(visit: &Visit, came: Result<Option<String>, Failure>) -> Result<View, Failure> {
    let (done, mut failure) = outcome(came);
    let (mut is_contact, mut locked, mut left_alone, mut found) = (false, None, None, None);
    if let Ok(Some(asked)) = Asked::of(visit) {
        let wish = asked.look_up(visit);
        is_contact = asked.kind != SuppressionKind::Person;
        locked = visit.app.engine.suppressions.locked();
        left_alone = Some(wish.is_left_alone(&visit.app.engine));
        // What cannot be had now is not waited for twice.
        let is_gone =
            failure.as_ref().is_some_and(|failure| failure.status == StatusCode::SERVICE_UNAVAILABLE);
        if is_contact && !is_gone {
            match found_leads(visit, &wish).await {
                Ok(leads) => found = Some(leads),
                Err(unfound) => failure = failure.or(Some(unfound)),
            }
        }
    }
    // What was typed, for the forms that go on with it.
    let typed = ["contact", "first", "last", "born", "reason"];
    let typed = BTreeMap::from(typed.map(|name| (name, visit.field(name).unwrap_or_default())));
    let trouble = failure.as_ref().map(words);
    let fields = fields! { typed, is_contact, found, left_alone, locked, done, trouble };
    let view = visit.view(PAGE, fields)?;
    Ok(view.failed(failure.as_ref()))
}

async fn found_leads(visit: &Visit, wish: &Wish) -> Result<Value, Failure> {
    let leads = persons::found(&visit.app, wish.clone()).await?;
    visit.reading(move |app| listed(app, &leads)).await
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

/// The leads of a person, the latest of them in rows.
fn listed(app: &App, leads: &[FoundLead]) -> Value {
    let names = request::companies(&app.engine, leads);
    fields! {
        count => leads.len(),
        leads => leads.iter().rev().take(LISTED).collect::<Vec<_>>(),
        companies => names.len(),
        names,
        tests => leads.iter().filter(|lead| lead.test).count(),
    }
}
