//! `GET`, `POST /console/persons` and its forms: data-subject requests, like `offerd person`.

use hyper::header::CONTENT_DISPOSITION;

use super::prelude::*;
use crate::erasing;
use crate::persons::{self, PersonRequest};
use crate::reasons::{has_name, names_them, reason_given};
use offerd_insight::persons::request::{self, FoundLead, OptOutCounts, typed, typed_before};
use offerd_model::{SuppressionDigest, SuppressionKind};

/// Leads listed on the page; actions apply to all.
const LISTED: usize = 100;

const PAGE: ConsolePage = ConsolePage::new(Section::Persons, "persons.html");

/// The receipt of an erasure, without personal data. It is not stored; the audit has its number.
const RECEIPT: ConsolePage = ConsolePage::new(Section::Persons, "receipt.html");

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    page(request, Ok(None)).await
}

pub(super) async fn find(request: &ConsoleRequest) -> Result<View> {
    page(request, asked(request, typed).map(|_| None)).await
}

pub(super) async fn export(request: &ConsoleRequest) -> Result<View> {
    match exported(request).await {
        Ok(file) => Ok(file.into()),
        Err(failure) => page(request, Err(failure)).await,
    }
}

pub(super) async fn erase(request: &ConsoleRequest) -> Result<View> {
    match erase_confirmed(request).await {
        Ok(receipt) => Ok(request.view(RECEIPT, receipt)?.titled("Receipt of an erasure")),
        Err(failure) => page(request, Err(failure)).await,
    }
}

pub(super) async fn suppress(request: &ConsoleRequest) -> Result<View> {
    let done = async || {
        persons::opt_out(&request.app, asked(request, typed)?.wish(request)?).await?;
        Ok(Some("From now on, no partner is asked about leads submitted with this contact.".to_owned()))
    };
    page(request, done().await).await
}

pub(super) async fn unsuppress(request: &ConsoleRequest) -> Result<View> {
    let done = async || {
        let was_on = persons::opt_in(&request.app, asked(request, typed_before)?.wish(request)?).await?;
        let done = match was_on {
            true => "Partners may be asked about them again.",
            false => "They were not on the opt-out list.",
        };
        Ok(Some(done.to_owned()))
    };
    page(request, done().await).await
}

async fn exported(request: &ConsoleRequest) -> Result<Reply> {
    let all = persons::collect(&request.app, asked(request, typed)?.wish(request)?).await?;
    let json =
        serde_json::to_vec_pretty(&all).map_err(our_fault("the export could not be written as JSON"))?;
    // The file name does not identify the person.
    let name = HeaderValue::from_static("attachment; filename=\"person.json\"");
    Ok(Reply::json_bytes(json).header(CONTENT_DISPOSITION, name))
}

async fn erase_confirmed(request: &ConsoleRequest) -> Result<Value> {
    let wish = asked(request, typed)?.wish(request)?;
    if request.field("sure") != Some("yes") {
        return Err(Failure::bad_request("Nothing was erased: tick the box that confirms the erasure."));
    }
    let receipt = erasing::erase_all(&request.app, wish.clone(), request.field("suppress").is_some()).await?;
    let json = serde_json::to_string_pretty(&receipt).map_err(our_fault("a receipt could not be written"))?;
    let listed = receipt.opted_out.map(OptOutCounts::told);
    // Whether the submitted key is opted out, now or before.
    Ok(fields! { receipt, json, listed, opted_out => wish.is_opted_out(&request.app.engine) })
}

fn asked(request: &ConsoleRequest, read: DigestReader) -> Result<PersonQuery> {
    let nobody = || Failure::bad_request("Give an e-mail address or a phone number.");
    PersonQuery::of(request, read)?.ok_or_else(nobody)
}

async fn page(request: &ConsoleRequest, came: Result<Option<String>>) -> Result<View> {
    let (done, mut failure) = outcome(came);
    let (mut is_contact, mut locked, mut opted_out, mut found) = (false, None, None, None);
    if let Ok(Some(asked)) = PersonQuery::of(request, typed) {
        let wish = asked.look_up(request);
        is_contact = asked.kind != SuppressionKind::Person;
        locked = request.app.engine.suppressions.locked();
        opted_out = Some(wish.is_opted_out(&request.app.engine));
        // A lookup that just failed is not repeated.
        let is_gone = failure.as_ref().is_some_and(|it| it.status == StatusCode::SERVICE_UNAVAILABLE);
        if is_contact && !is_gone {
            match found_leads(request, &wish).await {
                Ok(leads) => found = Some(leads),
                Err(unfound) => failure = failure.or(Some(unfound)),
            }
        }
    }
    // The submitted values, for the next forms.
    let typed = ["contact", "first", "last", "born", "reason"];
    let typed = BTreeMap::from(typed.map(|name| (name, request.field(name).unwrap_or_default())));
    let trouble = failure.as_ref().map(words);
    let view = request.view(PAGE, fields! { typed, is_contact, found, opted_out, locked, done, trouble })?;
    Ok(view.failed(failure.as_ref()))
}

async fn found_leads(request: &ConsoleRequest, wish: &PersonRequest) -> Result<Value> {
    let leads = persons::found(&request.app, wish.clone()).await?;
    request.reading(move |app| listed(app, &leads)).await
}

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

fn listed(app: &AdminState, leads: &[FoundLead]) -> Value {
    let names = request::companies(&app.engine, leads);
    fields! {
        count => leads.len(),
        leads => leads.iter().rev().take(LISTED).collect::<Vec<_>>(),
        companies => names.len(), names,
        tests => leads.iter().filter(|lead| lead.test).count(),
    }
}

/// Reads what is typed for a person: strictly, or also as a lead had it before.
type DigestReader = fn(SuppressionKind, &str) -> std::result::Result<SuppressionDigest, String>;

struct PersonQuery {
    kind: SuppressionKind,
    digest: SuppressionDigest,
    /// Typed names, which a reason must not contain.
    names: Vec<String>,
}

impl PersonQuery {
    /// The person of the submitted form; `None` if it is empty. Fails when it identifies nobody.
    fn of(request: &ConsoleRequest, read: DigestReader) -> Result<Option<Self>> {
        let field = |name| request.field(name).map(str::trim).unwrap_or_default();
        let contact = field("contact");
        let names = ["first", "last", "born"].map(field);
        let (kind, line) = match contact {
            "" if names == [""; 3] => return Ok(None),
            "" => (SuppressionKind::Person, names.join(",")),
            _ if contact.contains('@') => (SuppressionKind::Email, contact.to_owned()),
            _ => (SuppressionKind::Phone, contact.to_owned()),
        };
        let is_given = |name: &&str| !name.is_empty() && !name.contains(',');
        let is_whole = kind == SuppressionKind::Person && names.iter().all(is_given);
        let digest =
            read(kind, &line).map_err(|message| match is_whole || kind.of_line(&line).is_some() {
                true => Failure::bad_request(format!("What you typed {message}.")),
                false => Failure::bad_request(wanted(kind)),
            })?;
        Ok(Some(Self { kind, digest, names: names[..2].iter().map(|name| (*name).to_owned()).collect() }))
    }

    /// Fails without a reason or with a typed name in it: the audit keeps it longer than the person may want.
    fn wish(&self, request: &ConsoleRequest) -> Result<PersonRequest> {
        let reason = reason_given(request.field("reason").unwrap_or_default())?;
        if self.names.iter().any(|name| has_name(reason, name)) {
            return Err(names_them());
        }
        Ok(PersonRequest { reason: Some(reason.to_owned()), ..self.look_up(request) })
    }

    fn look_up(&self, request: &ConsoleRequest) -> PersonRequest {
        let Self { kind, digest, .. } = *self;
        PersonRequest { by: request.actor(), kind, digest, reason: None, despite_damage: false }
    }
}

/// The required input, without the given one.
fn wanted(kind: SuppressionKind) -> &'static str {
    match kind {
        SuppressionKind::Email => "This is not an e-mail address; write one like ada@example.com.",
        SuppressionKind::Phone => "This is neither an e-mail address nor a ten-digit phone number.",
        SuppressionKind::Person => {
            "Give all three of first name, last name and day of birth; names without commas."
        }
    }
}
