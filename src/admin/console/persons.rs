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

pub(super) async fn show(visit: &ConsoleRequest) -> Result<View> {
    page(visit, Ok(None)).await
}

pub(super) async fn find(visit: &ConsoleRequest) -> Result<View> {
    page(visit, asked(visit, typed).map(|_| None)).await
}

pub(super) async fn export(visit: &ConsoleRequest) -> Result<View> {
    match exported(visit).await {
        Ok(file) => Ok(file.into()),
        Err(failure) => page(visit, Err(failure)).await,
    }
}

pub(super) async fn erase(visit: &ConsoleRequest) -> Result<View> {
    match erase_confirmed(visit).await {
        Ok(receipt) => Ok(visit.view(RECEIPT, receipt)?.titled("Receipt of an erasure")),
        Err(failure) => page(visit, Err(failure)).await,
    }
}

pub(super) async fn suppress(visit: &ConsoleRequest) -> Result<View> {
    let done = async || {
        persons::opt_out(&visit.app, asked(visit, typed)?.wish(visit)?).await?;
        Ok(Some("From now on, no partner is asked about leads submitted with this contact.".to_owned()))
    };
    page(visit, done().await).await
}

pub(super) async fn unsuppress(visit: &ConsoleRequest) -> Result<View> {
    let done = async || {
        let was_on = persons::opt_in(&visit.app, asked(visit, typed_before)?.wish(visit)?).await?;
        let done = match was_on {
            true => "Partners may be asked about them again.",
            false => "They were not on the opt-out list.",
        };
        Ok(Some(done.to_owned()))
    };
    page(visit, done().await).await
}

async fn exported(visit: &ConsoleRequest) -> Result<Reply> {
    let all = persons::collect(&visit.app, asked(visit, typed)?.wish(visit)?).await?;
    let json =
        serde_json::to_vec_pretty(&all).map_err(our_fault("the export could not be written as JSON"))?;
    // The file name does not identify the person.
    let name = HeaderValue::from_static("attachment; filename=\"person.json\"");
    Ok(Reply::json_bytes(json).header(CONTENT_DISPOSITION, name))
}

async fn erase_confirmed(visit: &ConsoleRequest) -> Result<Value> {
    let wish = asked(visit, typed)?.wish(visit)?;
    if visit.field("sure") != Some("yes") {
        return Err(Failure::bad_request("Nothing was erased: tick the box that confirms the erasure."));
    }
    let receipt = erasing::erase_all(&visit.app, wish.clone(), visit.field("suppress").is_some()).await?;
    let json = serde_json::to_string_pretty(&receipt).map_err(our_fault("a receipt could not be written"))?;
    let listed = receipt.opted_out.map(OptOutCounts::told);
    // Whether the submitted key is opted out, now or before.
    Ok(fields! { receipt, json, listed, opted_out => wish.is_opted_out(&visit.app.engine) })
}

fn asked(visit: &ConsoleRequest, read: DigestReader) -> Result<PersonQuery> {
    let nobody = || Failure::bad_request("Give an e-mail address or a phone number.");
    PersonQuery::of(visit, read)?.ok_or_else(nobody)
}

async fn page(visit: &ConsoleRequest, came: Result<Option<String>>) -> Result<View> {
    let (done, mut failure) = outcome(came);
    let (mut is_contact, mut locked, mut opted_out, mut found) = (false, None, None, None);
    if let Ok(Some(asked)) = PersonQuery::of(visit, typed) {
        let wish = asked.look_up(visit);
        is_contact = asked.kind != SuppressionKind::Person;
        locked = visit.app.engine.suppressions.locked();
        opted_out = Some(wish.is_opted_out(&visit.app.engine));
        // A lookup that just failed is not repeated.
        let is_gone = failure.as_ref().is_some_and(|it| it.status == StatusCode::SERVICE_UNAVAILABLE);
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
    let view = visit.view(PAGE, fields! { typed, is_contact, found, opted_out, locked, done, trouble })?;
    Ok(view.failed(failure.as_ref()))
}

async fn found_leads(visit: &ConsoleRequest, wish: &PersonRequest) -> Result<Value> {
    let leads = persons::found(&visit.app, wish.clone()).await?;
    visit.reading(move |app| listed(app, &leads)).await
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
    fn of(visit: &ConsoleRequest, read: DigestReader) -> Result<Option<Self>> {
        let field = |name| visit.field(name).map(str::trim).unwrap_or_default();
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
    fn wish(&self, visit: &ConsoleRequest) -> Result<PersonRequest> {
        let reason = reason_given(visit.field("reason").unwrap_or_default())?;
        if self.names.iter().any(|name| has_name(reason, name)) {
            return Err(names_them());
        }
        Ok(PersonRequest { reason: Some(reason.to_owned()), ..self.look_up(visit) })
    }

    fn look_up(&self, visit: &ConsoleRequest) -> PersonRequest {
        let Self { kind, digest, .. } = *self;
        PersonRequest { by: visit.actor(), kind, digest, reason: None, despite_damage: false }
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
