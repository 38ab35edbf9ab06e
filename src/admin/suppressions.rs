//! `/suppressions` and the paths below it, for `offerd suppressions` and `offerd explain`.

use super::prelude::*;
use offerd_engine::matching::suppressions::Digests;
use offerd_model::{Lead, SuppressionDigest, SuppressionKind, record};
use offerd_partners::{Book, KEY_CHARS, is_key};
use offerd_store::opt_outs::{self, EVERYWHERE, OptOutError, OptOuts};
use offerd_store::suppressions::{NotAdded, SuppressionList, SuppressionLists};

/// Maximum digests per request.
pub const AT_ONCE: usize = 8192;

/// Longest body: that many digests in hexadecimal, each a JSON string.
const MAX_BODY_BYTES: usize = AT_ONCE * 80 + BODY_BYTES;

const LEAD_BYTES: usize = 256 * 1024;

record! { plain
    /// Digests to add to a list.
    Addition {
        /// The list; created if it does not exist.
        name: String,
        /// How its entries identify people.
        kind: SuppressionKind,
        /// The digests, each as 64 hexadecimal digits.
        digests: Vec<String>,
        /// Whether this is the last part; the list takes effect after it.
        last: bool,
    }

    /// Result of an addition.
    Added {
        /// Entries on the list; `None` until the last part.
        entries?: usize,
    }

    /// A list.
    ListedSuppressions {
        /// Its name.
        name: String,
        /// How its entries identify people.
        kind: SuppressionKind,
        /// Number of entries.
        entries: usize,
        /// Time of the last addition, Unix milliseconds.
        updated_at: i64,
        /// The partners that name it, by key.
        partners: Vec<String>,
    }
}

/// Result of a removal.
#[derive(Debug, Serialize, Deserialize)]
pub struct Removed {
    /// Whether the list existed.
    pub found: bool,
    /// The partners that name it, by key: they are no longer asked.
    pub partners: Vec<String>,
}

pub(super) async fn list(context: Context) -> Result<Reply> {
    let engine = &context.app.engine;
    let (lists, book) = (engine.suppressions.now(), engine.book());
    if let Some(why) = &lists.unread {
        return Err(unavailable(why));
    }
    if let OptOuts::Locked(why) = &lists.opt_outs {
        return Err(unavailable(why));
    }
    let told = |name: &str, list: &SuppressionList, entries: usize, partners: Vec<String>| {
        let (name, kind, updated_at) = (name.to_owned(), list.kind, list.updated_at);
        ListedSuppressions { name, kind, entries, updated_at, partners }
    };
    let ours = lists.opt_outs.all();
    let ours = ours.map(|(list, entries)| told(EVERYWHERE, list, entries, vec!["all".to_owned()]));
    let named = lists.all().map(|(list, of)| told(&list.name, list, of, naming_partners(&book, &list.name)));
    Reply::json(&ours.chain(named).collect::<Vec<_>>())
}

pub(super) async fn add(mut context: Context) -> Result<Reply> {
    let Addition { name, kind, digests, last } = read_body(&mut context, MAX_BODY_BYTES).await?;
    if !is_key(&name) {
        return Err(Failure::bad_attribute("name", format!("must be {KEY_CHARS}")));
    }
    let digests = digests.iter().map(|text| digest(text)).collect::<Result<Vec<_>, _>>();
    let digests = digests.map_err(|it| Failure::bad_attribute("digests", format!("must each be {it}")))?;
    let engine = Arc::clone(&context.app.engine);
    if name == EVERYWHERE {
        add_opt_outs(&engine, kind, &digests).await?;
    } else {
        put(engine.records.store.clone(), &name, kind, &digests).await?;
    }
    if !last {
        return Reply::json(&Added { entries: None });
    }
    load(&context.app).await?;
    let lists = context.app.engine.suppressions.now();
    let entries = match name == EVERYWHERE {
        true => lists.opt_outs.all().find(|(list, _)| list.kind == kind).map_or(0, |(_, entries)| entries),
        false => lists.entries(&name),
    };
    let file = context.request.query_value("file").unwrap_or("standard input");
    let note = note!("suppressions.add", list = name, entries, file, "suppression list added to");
    let note = note.about(format!("{name}: {file}"));
    context.app.note_if_can(&by(&context), note).await;
    Reply::json(&Added { entries: Some(entries) })
}

pub(super) async fn remove(context: Context) -> Result<Reply> {
    let name = context.params.get("name").unwrap_or_default().to_owned();
    let found = match is_key(&name) {
        true if name == EVERYWHERE => opt_outs::end(&context.app.store).await,
        true => SuppressionLists::of(context.app.store.clone()).remove(&name).await,
        false => Ok(false),
    };
    let found = found.map_err(|failure| unwritten("the end of the suppression list", &failure))?;
    if found {
        load(&context.app).await?;
        let note = note!("suppressions.remove", list = name, "suppression list removed").about(&name);
        context.app.note_if_can(&by(&context), note).await;
    }
    let partners = naming_partners(&context.app.engine.book(), &name);
    Reply::json(&Removed { found, partners })
}

/// Accepts the lists as a salvage has left them.
pub(super) async fn confirm(context: Context) -> Result<Reply> {
    let engine = &context.app.engine;
    let confirmed = opt_outs::confirm(&context.app.store, &engine.suppressions.key_file).await;
    let found = confirmed.map_err(opt_out_failed)?;
    if found {
        load(&context.app).await?;
        let note = note!("suppressions.confirm", "suppression lists confirmed as they are");
        context.app.note_if_can(&by(&context), note).await;
    }
    Reply::json(&TargetExists { found })
}

async fn put(store: Store, name: &str, kind: SuppressionKind, digests: &[SuppressionDigest]) -> Result<()> {
    SuppressionLists::of(store).add(name, kind, digests).await.map_err(|failure| match failure {
        NotAdded::OtherKind(other) => {
            let wanted = format!("must be `{}`, as the list `{name}` is", other.word());
            let advice = "name another list, or remove this one first";
            Failure::bad_attribute("kind", format!("{wanted}; {advice}"))
        }
        NotAdded::Empty => {
            let wanted = "must have at least one for a new list: nothing was read";
            Failure::bad_attribute("digests", format!("{wanted}, so `{name}` is not made"))
        }
        NotAdded::Store(failure) => unwritten("the suppression list", &failure),
    })
}

pub(super) async fn add_opt_outs(
    engine: &MatchingEngine,
    kind: SuppressionKind,
    digests: &[SuppressionDigest],
) -> Result<()> {
    let (store, key_file) = (&engine.records.store, &engine.suppressions.key_file);
    opt_outs::add(store, key_file, kind, digests).await.map_err(opt_out_failed)
}

pub(super) fn opt_out_failed(failure: OptOutError) -> Failure {
    match failure {
        OptOutError::Locked(told) => unavailable(told),
        OptOutError::Store(failure) => unwritten("the opt-out list", &failure),
    }
}

fn naming_partners(book: &Book, list: &str) -> Vec<String> {
    let seats = book.seats().iter().filter(|seat| seat.identity.suppress.iter().any(|named| named == list));
    let mut keys: Vec<String> = seats.map(|seat| seat.identity.key.clone()).collect();
    keys.dedup();
    keys
}

/// The lists that contain the person of a lead. The lead is not stored.
pub(super) async fn naming(mut context: Context) -> Result<Reply> {
    let lead: Lead = read_body(&mut context, LEAD_BYTES).await?;
    Reply::json(&context.app.engine.suppressions.now().naming(&Digests::new(&lead)))
}

pub(super) async fn load(app: &Arc<AdminState>) -> Result<()> {
    let read = |app: &AdminState| app.engine.suppressions.load(&app.store);
    app.reading("the suppression lists could not be read", read).await?.map_err(|failure| {
        error!(%failure, "the suppression lists could not be read");
        unavailable("the suppression lists were changed, and could not be read again")
    })
}

/// The SHA-256 of nothing, which is that of an empty cell of whoever hashed a list.
const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The digest that 64 hexadecimal digits stand for.
///
/// # Errors
/// What they must be.
pub fn digest(text: &str) -> Result<SuppressionDigest, &'static str> {
    match const_hex::decode_to_array(text) {
        Ok(_) if text.eq_ignore_ascii_case(OF_NOTHING) => {
            Err("the SHA-256 of a contact, got that of an empty text")
        }
        digest => digest.map_err(|_| "a SHA-256 as 64 hexadecimal digits; use `--plain` for plain text"),
    }
}
