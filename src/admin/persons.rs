//! `POST /persons/find`, `/persons/export`, `/persons/suppress`, `/persons/unsuppress`: what `offerd person` calls; [`erasing`](super::erasing) is the rest. Whom it is
//! about stands in the body, as a digest, so that no log of addresses has it. The page *Data requests* of the console does the same by the same functions.

use hyper::StatusCode;
use tokio::runtime::Handle;

use super::command::seen_through;
use super::prelude::*;
use super::reasons::{names_nobody, names_them, reason_given};
use super::suppressions::{digest, leave_alone, load, not_left_alone};
use offerd_engine::matching::Engine;
use offerd_engine::records::contacts::KINDS;
use offerd_insight::persons::request::{self, About, FoundLead, Listed, Named, NotDone, Who};
use offerd_model::{Lead, SuppressionDigest, SuppressionKind};
use offerd_store::left_alone;

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
    /// Whether they are to be left alone from now on, too, where they are erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suppress: bool,
    /// Whether it is done for the leads that can be read where the store is damaged, and not refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub despite_damage: bool,
}

/// Whether somebody is, or was until now, on the list of who asked to be left alone.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Suppressed {
    /// Whether they are, or were.
    pub was_suppressed: bool,
}

/// What is wished for a person: by whom, about whom, and why.
#[derive(Clone)]
pub(super) struct Wish {
    /// Who wishes it.
    pub(super) by: Actor,
    /// What names the person.
    pub(super) kind: SuppressionKind,
    /// Its digest.
    pub(super) digest: SuppressionDigest,
    /// Why, where that is said.
    pub(super) reason: Option<String>,
    /// Whether it is done for the leads that can be read, where others may be damaged.
    pub(super) despite_damage: bool,
}

operations! {
    find(context, order: PersonOrder) => found(&context.app, Wish::ordered(&context, order)?).await?;
    export(context, order: PersonOrder) => copied(&context.app, Wish::ordered(&context, order)?).await?;
    suppress(context, order: PersonOrder) => {
        suppressed(&context.app, Wish::ordered(&context, order)?).await?;
        Suppressed { was_suppressed: true }
    };
    unsuppress(context, order: PersonOrder) => Suppressed {
        was_suppressed: unsuppressed(&context.app, Wish::ordered(&context, order)?).await?,
    };
}

impl Wish {
    /// What a command orders.
    pub(super) fn ordered(context: &Context<App>, order: PersonOrder) -> Result<Self, Failure> {
        let PersonOrder { kind, digest: text, reason, despite_damage, suppress: _ } = order;
        let digest =
            digest(&text).ok_or_else(|| Failure::bad_attribute("digest", "must be 64 hexadecimal digits"))?;
        let reason = reason.as_deref().map(reason_given).transpose()?.map(str::to_owned);
        Ok(Self { by: Actor::of_command(context), kind, digest, reason, despite_damage })
    }

    /// Whether the person is on the list of who asked to be left alone by everybody: by this that they gave, nothing else.
    pub(super) fn is_left_alone(&self, engine: &Engine) -> bool {
        engine.suppressions.now().left_alone.has_any(self.kind, [&self.digest])
    }

    /// Whose leads are meant.
    pub(super) fn who(&self) -> Result<Who, Failure> {
        let Self { kind, digest, .. } = *self;
        if !KINDS.contains(&kind) {
            let wanted = "must be `email` or `phone`, by which leads are found";
            return Err(Failure::bad_attribute("kind", wanted));
        }
        Ok(Who { kind, digest })
    }
}

/// The leads of a person.
///
/// # Errors
/// Why they cannot be told, or that this could not be recorded.
pub(super) async fn found(app: &Arc<App>, wish: Wish) -> Result<Vec<FoundLead>, Failure> {
    seen_through(app, UNREAD, async move |app| {
        let found = about(&app, &wish).await?.found;
        let (leads, reason) = (found.len(), wish.reason.as_deref());
        let note = note!("person.find", leads, reason, "leads of a person looked up").because(reason);
        app.note(&wish.by, note.about(format!("{leads} leads"))).await?;
        Ok(found)
    })
    .await
}

/// Everything that is held on a person.
///
/// # Errors
/// Why it cannot be told, or that this could not be recorded.
pub(super) async fn copied(app: &Arc<App>, wish: Wish) -> Result<request::Copy, Failure> {
    seen_through(app, UNREAD, async move |app| {
        let found = about(&app, &wish).await?.found;
        let copy = carried_out(&app, move |engine, _| request::copy(engine, &found)).await?;
        let (leads, reason) = (copy.leads.len(), wish.reason.as_deref());
        let note = note!("person.export", leads, reason, "personal data of all leads of a person");
        app.note(&wish.by, note.about(format!("{leads} leads")).because(reason)).await?;
        Ok(copy)
    })
    .await
}

/// What is found of a person, whom the reason does not name. Where leads of theirs may be damaged it is refused, unless that is accepted.
pub(super) async fn about(app: &Arc<App>, wish: &Wish) -> Result<About, Failure> {
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
        places => Err(unavailable(format!(
            "{places} {} of the store cannot be read, and leads of this person may lie there: `offerd store check` names them, and \
             `offerd store salvage` brings back what can be read; `offerd person` with `--despite-damage` does it for the leads that \
             can be read",
            if places == 1 { "place" } else { "places" }
        ))),
    }
}

/// Has a person be left alone by everything that leads name them by, and says by how much of what.
pub(super) async fn left_alone_by_all(app: &Arc<App>, wish: &Wish, named: &Named) -> Result<Listed, Failure> {
    for (kind, digests) in named.iter().filter(|(_, digests)| !digests.is_empty()) {
        leave_alone(&app.engine, *kind, &Vec::from_iter(digests.iter().copied())).await?;
    }
    load(app).await?;
    let (listed, reason) = (Listed::of(named), wish.reason.as_deref());
    let Listed { emails, phones, names } = listed;
    let note =
        note!("person.suppress", emails, phones, names, reason, "a person is asked about nowhere any more");
    app.note_if_can(&wish.by, note.about(listed.told()).because(reason)).await;
    Ok(listed)
}

/// Has a person be left alone by everybody.
///
/// # Errors
/// What is wrong with the key or with the store.
pub(super) async fn suppressed(app: &Arc<App>, wish: Wish) -> Result<(), Failure> {
    seen_through(app, "a person could not be left alone", async move |app| {
        named_nowhere(&app, &wish).await?;
        leave_alone(&app.engine, wish.kind, &[wish.digest]).await?;
        load(&app).await?;
        let (kind, reason) = (wish.kind.word(), wish.reason.as_deref());
        let note = note!("person.suppress", kind, reason, "a person is asked about nowhere any more");
        app.note_if_can(&wish.by, note.because(reason)).await;
        Ok(())
    })
    .await
}

/// Ends that; true if it was so.
///
/// # Errors
/// What is wrong with the key or with the store.
pub(super) async fn unsuppressed(app: &Arc<App>, wish: Wish) -> Result<bool, Failure> {
    seen_through(app, "it could not be ended that a person is left alone", async move |app| {
        named_nowhere(&app, &wish).await?;
        let key_file = &app.engine.suppressions.key_file;
        let done = left_alone::ask_again(&app.store, key_file, wish.kind, &wish.digest).await;
        let was_suppressed = done.map_err(not_left_alone)?;
        load(&app).await?;
        let (kind, reason) = (wish.kind.word(), wish.reason.as_deref());
        let note = note!("person.unsuppress", kind, reason, "a person may be asked about again");
        app.note_if_can(&wish.by, note.because(reason)).await;
        Ok(was_suppressed)
    })
    .await
}

/// That the reason does not name whom the leads are about that are found by now. It says nothing where they cannot be looked for.
async fn named_nowhere(app: &Arc<App>, wish: &Wish) -> Result<(), Failure> {
    let is_contact = KINDS.contains(&wish.kind);
    let wish = Wish { despite_damage: true, ..wish.clone() };
    match (is_contact && wish.reason.is_some()).then_some(about(app, &wish)) {
        Some(looked_for) => match looked_for.await {
            Err(failure) if failure.status != StatusCode::SERVICE_UNAVAILABLE => Err(failure),
            _ => Ok(()),
        },
        None => Ok(()),
    }
}

/// What the log says where a request panics.
const UNREAD: &str = "what is held on a person could not be read";

/// Carries a request out on a thread that may block: feeds may be long.
pub(super) async fn carried_out<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce(&Engine, Handle) -> Result<T, NotDone> + Send + 'static,
) -> Result<T, Failure> {
    let runtime = Handle::current();
    let done = app.reading(UNREAD, move |app| work(&app.engine, runtime)).await?;
    done.map_err(|failure| unavailable(failure.to_string()))
}
