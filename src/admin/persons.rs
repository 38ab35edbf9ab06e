//! `POST /persons/find`, `/persons/export`, `/persons/erase`, `/persons/suppress`, `/persons/unsuppress`: what `offerd person` calls. Whom it is
//! about stands in the body, as a digest, so that no log of addresses has it. The page *Data requests* of the console does the same by the same functions.

use std::sync::Arc;

use chrono::Utc;
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use super::App;
use super::audit::{Actor, Note, audit_by};
use super::command::{ORDER_BYTES, blocking, order, unavailable};
use super::reasons::{names_nobody, reason_given};
use super::suppressions::{digest, leave_alone, load, not_left_alone};
use crate::matching::Engine;
use crate::model::{SuppressionDigest, SuppressionKind};
use crate::persons::request::{self, FoundLead, Listed, NotDone, Receipt, Who};
use crate::records::contacts::KINDS;
use crate::store::entities::LeadRecord;
use crate::store::left_alone;
use crate::web::{Context, Failure, Reply};

/// Whom a request is about.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PersonOrder {
    /// `email` or `phone`.
    pub kind: SuppressionKind,
    /// The SHA-256 of its normal form, 64 hexadecimal digits.
    pub digest: String,
    /// Why it is done, for the audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Of an erasure: whether they are to be left alone from then on, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suppress: bool,
}

/// Whether somebody is, or was until now, on the list of who asked to be left alone.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Suppressed {
    /// Whether they are, or were.
    pub was_suppressed: bool,
}

/// What is wished for a person: by whom, about whom, and why.
pub(super) struct Wish {
    /// Who wishes it.
    pub(super) by: Actor,
    /// What names the person.
    pub(super) kind: SuppressionKind,
    /// Its digest.
    pub(super) digest: SuppressionDigest,
    /// Why, where that is said.
    pub(super) reason: Option<String>,
}

pub(super) async fn find(mut context: Context<App>) -> Result<Reply, Failure> {
    let (wish, _) = ordered(&mut context).await?;
    Reply::json(&found(&context.app, &wish).await?)
}

pub(super) async fn export(mut context: Context<App>) -> Result<Reply, Failure> {
    let (wish, _) = ordered(&mut context).await?;
    Reply::json(&copied(&context.app, &wish).await?)
}

pub(super) async fn erase(mut context: Context<App>) -> Result<Reply, Failure> {
    let (wish, suppress) = ordered(&mut context).await?;
    Reply::json(&erased(&context.app, &wish, suppress).await?)
}

pub(super) async fn suppress(mut context: Context<App>) -> Result<Reply, Failure> {
    let (wish, _) = ordered(&mut context).await?;
    suppressed(&context.app, &wish).await?;
    Reply::json(&Suppressed { was_suppressed: true })
}

pub(super) async fn unsuppress(mut context: Context<App>) -> Result<Reply, Failure> {
    let (wish, _) = ordered(&mut context).await?;
    Reply::json(&Suppressed { was_suppressed: unsuppressed(&context.app, &wish).await? })
}

/// What is wished, and whether whoever is erased is to be left alone, too.
async fn ordered(context: &mut Context<App>) -> Result<(Wish, bool), Failure> {
    let PersonOrder { kind, digest: text, reason, suppress } = order(context, ORDER_BYTES).await?;
    let digest =
        digest(&text).ok_or_else(|| Failure::bad_attribute("digest", "must be 64 hexadecimal digits"))?;
    let reason = reason.as_deref().map(reason_given).transpose()?.map(str::to_owned);
    Ok((Wish { by: Actor::of_command(context), kind, digest, reason }, suppress))
}

impl Wish {
    /// Whether the person is on the list of who asked to be left alone by everybody: by this that they gave, nothing else.
    pub(super) fn is_left_alone(&self, engine: &Engine) -> bool {
        engine.suppressions.now().left_alone().has_any(self.kind, [&self.digest])
    }

    /// Whose leads are meant.
    fn who(&self) -> Result<Who, Failure> {
        let Self { kind, digest, .. } = *self;
        if !KINDS.contains(&kind) {
            let wanted = "must be `email` or `phone`, by which leads are found";
            return Err(Failure::bad_attribute("kind", wanted));
        }
        Ok(Who { kind, digest })
    }

    fn note(&self, action: &'static str) -> Note {
        let note = Note::of(action);
        match &self.reason {
            Some(reason) => note.because(reason),
            None => note,
        }
    }
}

/// The leads of a person.
///
/// # Errors
/// Why they cannot be told, or that this could not be recorded.
pub(super) async fn found(app: &App, wish: &Wish) -> Result<Vec<FoundLead>, Failure> {
    let (records, reason) = (leads(app, wish).await?, &wish.reason);
    let found: Vec<FoundLead> = records.iter().map(FoundLead::from).collect();
    let note = wish.note("person.find").about(format!("{} leads", found.len()));
    app.note(&wish.by, note).await?;
    audit_by!(&wish.by.who, "person.find", leads = found.len(), reason, "leads of a person looked up");
    Ok(found)
}

/// Everything that is held on a person.
///
/// # Errors
/// Why it cannot be told, or that this could not be recorded.
pub(super) async fn copied(app: &App, wish: &Wish) -> Result<request::Copy, Failure> {
    let (records, reason) = (leads(app, wish).await?, &wish.reason);
    let copy = carried_out(Arc::clone(&app.engine), move |engine, _| request::copy(engine, &records)).await?;
    let leads = copy.leads.len();
    app.note(&wish.by, wish.note("person.export").about(format!("{leads} leads"))).await?;
    audit_by!(&wish.by.who, "person.export", leads, reason, "personal data of all leads of a person");
    Ok(copy)
}

/// Erases all leads of a person, and before that has them be left alone by whatever these leads name them by, if that is wished, too.
///
/// # Errors
/// Why not all of them are erased, or that this could not be recorded, so that none is.
pub(super) async fn erased(app: &App, wish: &Wish, suppress: bool) -> Result<Receipt, Failure> {
    let (records, reason) = (leads(app, wish).await?, &wish.reason);
    app.note(&wish.by, wish.note("person.erase")).await?;
    let left_alone = if suppress { Some(left_alone_by_all(app, wish, &records).await?) } else { None };
    let (companies, leads) = carried_out(Arc::clone(&app.engine), move |engine, runtime| {
        let companies = request::companies(engine, &records);
        Ok((companies, runtime.block_on(request::erase_all(engine, &records))?))
    })
    .await?;
    let receipt = Receipt {
        receipt_uuid: crate::ids::random(),
        erased_at: Utc::now().into(),
        by: wish.by.who.clone(),
        reason: reason.clone(),
        daemon: app.named(),
        companies,
        left_alone,
        leads,
    };
    let leads = receipt.leads.iter().map(|lead| lead.lead_uuid.to_string()).collect::<Vec<_>>().join(" ");
    let uuid = receipt.receipt_uuid;
    let note = wish.note("person.erased").about(format!("receipt {uuid}: {leads}"));
    app.note_if_can(&wish.by, note).await;
    audit_by!(&wish.by.who, "person.erase", receipt = %uuid, leads, reason, "personal data of all leads of a person");
    Ok(receipt)
}

/// The leads of a person, whom the reason does not name.
async fn leads(app: &App, wish: &Wish) -> Result<Vec<LeadRecord>, Failure> {
    let who = wish.who()?;
    let records = carried_out(Arc::clone(&app.engine), move |engine, runtime| {
        runtime.block_on(request::records(engine, who))
    })
    .await?;
    names_nobody(wish.reason.as_deref().unwrap_or_default(), records.iter().map(|record| &record.lead))?;
    Ok(records)
}

/// Has a person be left alone by everything that leads name them by, and says by how much of what.
async fn left_alone_by_all(app: &App, wish: &Wish, records: &[LeadRecord]) -> Result<Listed, Failure> {
    let named = request::named(wish.who()?, records);
    for (kind, digests) in named.iter().filter(|(_, digests)| !digests.is_empty()) {
        leave_alone(&app.engine, *kind, &Vec::from_iter(digests.iter().copied())).await?;
    }
    load(Arc::clone(&app.engine)).await?;
    let (listed, reason) = (Listed::of(&named), &wish.reason);
    app.note_if_can(&wish.by, wish.note("person.suppress").about(listed.told())).await;
    let Listed { emails, phones, names } = listed;
    audit_by!(
        &wish.by.who,
        "person.suppress",
        emails,
        phones,
        names,
        reason,
        "a person is asked about nowhere any more"
    );
    Ok(listed)
}

/// Has a person be left alone by everybody.
///
/// # Errors
/// What is wrong with the key or with the store.
pub(super) async fn suppressed(app: &App, wish: &Wish) -> Result<(), Failure> {
    named_nowhere(app, wish).await?;
    let Wish { by, kind, digest, reason } = wish;
    leave_alone(&app.engine, *kind, &[*digest]).await?;
    load(Arc::clone(&app.engine)).await?;
    app.note_if_can(by, wish.note("person.suppress")).await;
    audit_by!(
        &by.who,
        "person.suppress",
        kind = kind.word(),
        reason,
        "a person is asked about nowhere any more"
    );
    Ok(())
}

/// Ends that; true if it was so.
///
/// # Errors
/// What is wrong with the key or with the store.
pub(super) async fn unsuppressed(app: &App, wish: &Wish) -> Result<bool, Failure> {
    named_nowhere(app, wish).await?;
    let Wish { by, kind, digest, reason } = wish;
    let (store, key_file) = (&app.engine.records.store, app.engine.suppressions.key_file());
    let done = left_alone::ask_again(store, key_file, *kind, digest).await;
    let was_suppressed = done.map_err(not_left_alone)?;
    load(Arc::clone(&app.engine)).await?;
    app.note_if_can(by, wish.note("person.unsuppress")).await;
    audit_by!(&by.who, "person.unsuppress", kind = kind.word(), reason, "a person may be asked about again");
    Ok(was_suppressed)
}

/// That the reason does not name whom the leads are about that are found by now. It says nothing where they cannot be looked for.
async fn named_nowhere(app: &App, wish: &Wish) -> Result<(), Failure> {
    let is_contact = KINDS.contains(&wish.kind);
    match (is_contact && wish.reason.is_some()).then_some(leads(app, wish)) {
        Some(looked_for) => match looked_for.await {
            Err(failure) if failure.status != StatusCode::SERVICE_UNAVAILABLE => Err(failure),
            _ => Ok(()),
        },
        None => Ok(()),
    }
}

/// Carries a request out on a thread that may block: feeds may be long.
async fn carried_out<T: Send + 'static>(
    engine: Arc<Engine>,
    work: impl FnOnce(&Engine, Handle) -> Result<T, NotDone> + Send + 'static,
) -> Result<T, Failure> {
    let runtime = Handle::current();
    let done = blocking("what is held on a person could not be read", move || work(&engine, runtime)).await?;
    done.map_err(|failure| {
        unavailable(match failure {
            NotDone::Indexing => {
                "leads are still coming into the index of persons, so that some could be missed; ask again in a minute".to_owned()
            }
            NotDone::Unavailable => "the store cannot be read or written; the log tells why".to_owned(),
        })
    })
}
