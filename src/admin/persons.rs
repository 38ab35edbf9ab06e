//! `POST /persons/find`, `/persons/export`, `/persons/suppress`, `/persons/unsuppress` for `offerd person`;
//! [`erasing`](super::erasing) has the rest. The person is named in the body, as a digest, so that no access
//! log contains it. The console's page *Data requests* uses the same functions.

use tokio::runtime::Handle;

use super::prelude::*;
use super::reasons::{names_nobody, names_them, reason_given};
use super::suppressions::{add_opt_outs, digest, load, opt_out_failed};
use offerd_engine::records::contacts::KINDS;
use offerd_insight::persons::request::{
    self, ContactDigest, FoundLead, OptOutCounts, OptOutDigests, PersonLeads, PersonRequestError,
};
use offerd_model::{Lead, SuppressionDigest, SuppressionKind};
use offerd_store::{DISK_FULL, StoreHealth, opt_outs};

/// A request about a person.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PersonOrder {
    /// `email` or `phone`.
    pub kind: SuppressionKind,
    /// SHA-256 of its normal form, 64 hexadecimal digits.
    pub digest: String,
    /// Reason, for the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether an erasure also opts the person out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suppress: bool,
    /// Whether to go on with the readable leads of a damaged store, instead of refusing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub despite_damage: bool,
}

/// Result of a change to a person's opt-out.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OptOutChange {
    /// Whether the person is opted out, or was before.
    pub was_suppressed: bool,
}

#[derive(Clone)]
pub(super) struct PersonRequest {
    pub(super) by: AuditActor,
    pub(super) kind: SuppressionKind,
    pub(super) digest: SuppressionDigest,
    pub(super) reason: Option<String>,
    /// Whether to go on with the readable leads when others may be damaged.
    pub(super) despite_damage: bool,
}

operations! {
    find(context, request: PersonOrder) => {
        found(&context.app, PersonRequest::ordered(&context, request)?).await?
    };
    export(context, request: PersonOrder) => {
        collect(&context.app, PersonRequest::ordered(&context, request)?).await?
    };
    suppress(context, request: PersonOrder) => {
        opt_out(&context.app, PersonRequest::ordered(&context, request)?).await?;
        OptOutChange { was_suppressed: true }
    };
    unsuppress(context, request: PersonOrder) => OptOutChange {
        was_suppressed: opt_in(&context.app, PersonRequest::ordered(&context, request)?).await?,
    };
}

impl PersonRequest {
    pub(super) fn ordered(context: &Context, request: PersonOrder) -> Result<Self> {
        let PersonOrder { kind, digest: text, reason, despite_damage, suppress: _ } = request;
        let digest = digest(&text).map_err(|it| Failure::bad_attribute("digest", format!("must be {it}")))?;
        let reason = reason.as_deref().map(reason_given).transpose()?.map(str::to_owned);
        Ok(Self { by: by(context), kind, digest, reason, despite_damage })
    }

    /// Whether the person is opted out under this very key; other keys of theirs are not checked.
    pub(super) fn is_opted_out(&self, engine: &MatchingEngine) -> bool {
        engine.suppressions.now().opt_outs.has_any(self.kind, [&self.digest])
    }

    pub(super) fn who(&self) -> Result<ContactDigest> {
        let Self { kind, digest, .. } = *self;
        if !KINDS.contains(&kind) {
            let wanted = "must be `email` or `phone`: leads are found by these";
            return Err(Failure::bad_attribute("kind", wanted));
        }
        Ok(ContactDigest { kind, digest })
    }
}

fn uuids(found: &[FoundLead]) -> Vec<Uuid> {
    found.iter().map(|lead| lead.lead_uuid).collect()
}

pub(super) async fn found(app: &Arc<AdminState>, wish: PersonRequest) -> Result<Vec<FoundLead>> {
    seen_through(app, UNREAD, async move |app| {
        let found = about(&app, &wish).await?.found;
        let (leads, reason) = (uuids(&found), wish.reason.as_deref());
        app.note_leads(&wish.by, "person.find", ("found", &leads), reason).await?;
        audit_by!(&wish.by.who, "person.find", leads = leads.len(), reason, "leads of a person looked up");
        Ok(found)
    })
    .await
}

pub(super) async fn collect(app: &Arc<AdminState>, wish: PersonRequest) -> Result<request::PersonExport> {
    seen_through(app, UNREAD, async move |app| {
        let found = about(&app, &wish).await?.found;
        let (leads, reason) = (uuids(&found), wish.reason.as_deref());
        let copy = carried_out(&app, move |engine, _| request::copy(engine, &found)).await?;
        app.note_leads(&wish.by, "person.export", ("exported", &leads), reason).await?;
        audit_by!(
            &wish.by.who,
            "person.export",
            leads = leads.len(),
            reason,
            "personal data of all leads of a person"
        );
        Ok(copy)
    })
    .await
}

/// Finds the leads of a person; refuses a reason that identifies them, and leads that may be damaged.
pub(super) async fn about(app: &Arc<AdminState>, wish: &PersonRequest) -> Result<PersonLeads> {
    let (who, reason) = (wish.who()?, wish.reason.clone().unwrap_or_default());
    let about = carried_out(app, move |engine, runtime| {
        let is_told = |lead: &Lead| names_nobody(&reason, [lead]).is_err();
        runtime.block_on(request::about(engine, who, &is_told))
    });
    let about = about.await?;
    match about.unread {
        _ if about.is_told => Err(names_them()),
        0 => Ok(about),
        _ if wish.despite_damage => Ok(about),
        // The files are whole: a salvage has left these leads behind.
        _ if app.store.unreadable_places() == 0 => Err(unavailable(lost(&about.damaged))),
        places => Err(unavailable(format!(
            "{places} {} of the store cannot be read and may hold leads of this person: `offerd store \
                check` names them, and `offerd store salvage` recovers what is readable; `offerd person` \
                with `--despite-damage` covers the readable leads only",
            if places == 1 { "place" } else { "places" }
        ))),
    }
}

fn lost(leads: &[Uuid]) -> String {
    let leads: Vec<String> = leads.iter().map(Uuid::to_string).collect();
    format!(
        "leads of this person are lost or damaged: {}; `offerd lead erase UUID` destroys the key of one, and \
            `offerd person` with `--despite-damage` covers the others only",
        leads.join(", ")
    )
}

/// Opts a person out under every key that their leads contain; returns the counts by kind.
pub(super) async fn opt_out_by_all_keys(
    app: &Arc<AdminState>,
    wish: &PersonRequest,
    named: &OptOutDigests,
) -> Result<OptOutCounts> {
    for (kind, digests) in named.iter().filter(|(_, digests)| !digests.is_empty()) {
        add_opt_outs(&app.engine, *kind, &Vec::from_iter(digests.iter().copied())).await?;
    }
    load(app).await?;
    let (listed, reason) = (OptOutCounts::of(named), wish.reason.as_deref());
    let OptOutCounts { emails, phones, names } = listed;
    let note = note!("person.suppress", emails, phones, names, reason, "person opted out");
    app.note_if_can(&wish.by, note.about(listed.told()).because(reason)).await;
    Ok(listed)
}

pub(super) async fn opt_out(app: &Arc<AdminState>, wish: PersonRequest) -> Result<()> {
    seen_through(app, "a person could not be opted out", async move |app| {
        named_nowhere(&app, &wish).await?;
        add_opt_outs(&app.engine, wish.kind, &[wish.digest]).await?;
        load(&app).await?;
        let (kind, reason) = (wish.kind.word(), wish.reason.as_deref());
        let note = note!("person.suppress", kind, reason, "person opted out");
        app.note_if_can(&wish.by, note.because(reason)).await;
        Ok(())
    })
    .await
}

/// Ends a person's opt-out; true if it existed. Returns the fault of the key or of the store.
pub(super) async fn opt_in(app: &Arc<AdminState>, wish: PersonRequest) -> Result<bool> {
    seen_through(app, "an opt-out could not be removed", async move |app| {
        named_nowhere(&app, &wish).await?;
        let key_file = &app.engine.suppressions.key_file;
        let done = opt_outs::remove(&app.store, key_file, wish.kind, &wish.digest).await;
        let was_suppressed = done.map_err(opt_out_failed)?;
        load(&app).await?;
        let (kind, reason) = (wish.kind.word(), wish.reason.as_deref());
        let note = note!("person.unsuppress", kind, reason, "a person may be asked about again");
        app.note_if_can(&wish.by, note.because(reason)).await;
        Ok(was_suppressed)
    })
    .await
}

/// Checks that the reason does not identify the person of the leads found.
async fn named_nowhere(app: &Arc<AdminState>, wish: &PersonRequest) -> Result<()> {
    let is_contact = KINDS.contains(&wish.kind);
    let wish = PersonRequest { despite_damage: true, ..wish.clone() };
    match (is_contact && wish.reason.is_some()).then_some(about(app, &wish)) {
        Some(looked_for) => match looked_for.await {
            Err(failure) if failure.status != StatusCode::SERVICE_UNAVAILABLE => Err(failure),
            _ => Ok(()),
        },
        None => Ok(()),
    }
}

const UNREAD: &str = "a person's data could not be read";

/// Runs a request on a blocking thread, since feeds may be long.
pub(super) async fn carried_out<T: Send + 'static>(
    app: &Arc<AdminState>,
    work: impl FnOnce(&MatchingEngine, Handle) -> Result<T, PersonRequestError> + Send + 'static,
) -> Result<T> {
    let runtime = Handle::current();
    let done = app.reading(UNREAD, move |app| work(&app.engine, runtime)).await?;
    done.map_err(|failure| failed(app, failure))
}

/// 503: why a request failed, with what ails the store.
pub(super) fn failed(app: &AdminState, failure: PersonRequestError) -> Failure {
    unavailable(cause(failure, app.store.health()))
}

/// The failure of an erasure that was begun.
pub(super) fn begun(failure: Failure) -> Failure {
    match failure.status {
        StatusCode::SERVICE_UNAVAILABLE => {
            let words = failure.words();
            unavailable(format!("the erasure may be partly done and has to be repeated: {words}"))
        }
        _ => failure,
    }
}

fn cause(failure: PersonRequestError, health: StoreHealth) -> String {
    let is_full = match &health {
        StoreHealth::Short(_) => true,
        StoreHealth::Failed(reason) => reason.contains(DISK_FULL),
        StoreHealth::Sound | StoreHealth::Stalled(_) => false,
    };
    match failure {
        PersonRequestError::Unavailable if is_full => PersonRequestError::DiskFull.to_string(),
        failure => failure.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_with_what_to_do() {
        let full = "the disk of `store.path` is full; free space there, and try again";
        let unread = "the store cannot be read or written; see the log";
        for (health, wanted) in [
            (StoreHealth::Short("less is free".to_owned()), full),
            (StoreHealth::Failed(format!("No space left {DISK_FULL}")), full),
            (StoreHealth::Failed("Input/output error (os error 5)".to_owned()), unread),
            (StoreHealth::Sound, unread),
        ] {
            assert_eq!(cause(PersonRequestError::Unavailable, health), wanted);
        }
        assert_eq!(cause(PersonRequestError::DiskFull, StoreHealth::Sound), full);
        let wanted = format!("the erasure may be partly done and has to be repeated: {full}");
        assert_eq!(begun(unavailable(full)).words(), wanted);
        let unknown = Failure::unknown_uuid("Lead", Uuid::nil());
        assert_eq!(begun(unknown.clone()).words(), unknown.words());
        let indexing = PersonRequestError::Indexing;
        assert_eq!(cause(indexing, StoreHealth::Short(String::new())), indexing.to_string());
    }
}
