//! `POST /uiEvent/sessionInits`, `POST /uiEvent/offerDisplays`,
//! `GET /uiEvent/offerDisplays/{leadUuid}/{rateTableUuid}/{offerUuid}/pixel.gif`

use hyper::header::{CACHE_CONTROL, PRAGMA};
use metrics::counter;
use serde::Serialize;
use tracing::warn;

use super::bodies::{self, LazyKnownKeys};
use super::submission::{answered, idempotency_key, other_content};
use crate::prelude::*;
use offerd_base::ids;
use offerd_base::telemetry::metrics::OFFER_DISPLAYS_CUT;
use offerd_engine::matching::idempotency::{Answered, IdempotencyKey, IdempotencyState};
use offerd_engine::records::displayed_offer::{DisplayedOffer, Unknown};
use offerd_engine::records::public_ids::place;
use offerd_engine::records::{displayed_offer, writing};
use offerd_model::{
    KnownKeys, OfferDisplay, OfferDisplayNew, SessionInit, SessionInitNew, Timestamp, UnreadableBody,
};
use offerd_store::{Commit, CommitError, ReadError, Store, Tree, codec};
use offerd_web::Params;

static SESSION_INIT: LazyKnownKeys = LazyKnownKeys::new(KnownKeys::of::<SessionInitNew>);

static OFFER_DISPLAY: LazyKnownKeys = LazyKnownKeys::new(KnownKeys::of::<OfferDisplayNew>);

const PIXEL: &[u8] =
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff\x21\xf9\x04\x01\x00\x00\x00\x00\
    \x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b";

/// Records the start of a session.
pub async fn init_session(mut context: Context<ApiState>) -> Answer {
    let new = read(&mut context, &SESSION_INIT, SessionInitNew::read).await?;
    let created_by = context.caller()?.company;
    let key = idempotency_key(&context, "session", &new)?;
    let engine = context.app.engine();
    let named = match &key {
        None => None,
        Some(key) => {
            let lock = engine.lock_record(Tree::Sessions, key.name(&engine.records.store, None));
            let named = (lock.await.map_err(unwritable)?, NamedSession::find(&engine.records.store, key));
            Some((named.0, named.1.map_err(unreadable)?))
        }
    };
    if let Some((_, NamedSession { earlier: Some(earlier), .. })) = named {
        let is_same = new.session_uuid.is_none_or(|given| given == earlier.session_uuid);
        let earlier = is_same.then_some(Answered::again(earlier)).ok_or_else(elsewhere_used)?;
        return answered(earlier, created);
    }
    let session_uuid = new.session_uuid.unwrap_or_else(ids::random);
    let uuid = named.as_ref().map_or_else(ids::random, |(_, named)| named.uuid);
    let id = named.as_ref().map(|(_, named)| named.id);
    let make = |id| SessionInit { id, uuid, session_uuid, created_at: now(), created_by };
    let begin = |_| Ok(Commit::new());
    created(write(&context.app, Tree::Sessions, id, begin, make).await.map_err(unwritable)?)
}

/// 400, as every fault of a body is here.
fn elsewhere_used() -> Failure {
    other_content().with_status(StatusCode::BAD_REQUEST)
}

fn created<R: Serialize>(record: R) -> Answer {
    Ok(Reply::json(&record)?.status(StatusCode::CREATED))
}

/// The session that an idempotency key names.
struct NamedSession {
    uuid: Uuid,
    /// Within the day, as ids are microseconds.
    id: i64,
    /// The session of an earlier call of this day or the one before.
    earlier: Option<SessionInit>,
}

impl NamedSession {
    fn find(store: &Store, key: &IdempotencyKey) -> Result<Self, ReadError> {
        const DAY_US: i64 = 86_400_000_000;
        let today = Utc::now().timestamp_micros().div_euclid(DAY_US);
        let named = |day: i64| {
            let uuid = key.name(store, Some(day));
            (uuid, day * DAY_US + i64::try_from(uuid.as_u128() % DAY_US.unsigned_abs() as u128).unwrap_or(0))
        };
        let mut earlier = None;
        for (uuid, id) in [named(today), named(today - 1)] {
            let found = store.read_json::<SessionInit>(Tree::Sessions, id.to_be_bytes())?;
            earlier = earlier.or(found.filter(|session| session.uuid == uuid));
        }
        let (uuid, id) = named(today);
        Ok(Self { uuid, id, earlier })
    }
}

/// Records the display of an offer.
pub async fn display_offer(mut context: Context<ApiState>) -> Answer {
    let new = read(&mut context, &OFFER_DISPLAY, OfferDisplayNew::read).await?;
    let viewer = context.caller()?.viewer();
    let shown =
        DisplayedOffer { lead: new.lead_uuid, rate_table: new.rate_table_uuid, offer: new.offer_uuid };
    let unknown =
        displayed_offer::unknown(&context.app.engine().records, viewer, shown).map_err(unwritable)?;
    if !unknown.is_empty() {
        let errors = unknown.into_iter().map(|unknown| names_nothing(unknown, shown)).collect();
        return Err(Failure::invalid(errors).with_status(StatusCode::BAD_REQUEST));
    }
    let key = idempotency_key(&context, "display", &new)?;
    let store = &context.app.engine().records.store;
    let begin = |id: i64| {
        let commit = Commit::new().about(shown.lead);
        let Some(key) = &key else { return Ok(commit) };
        match key.look_up(store) {
            Some(state) => Err(Unwritten::Repeated(state)),
            None => Ok(key.remember(store, commit, Uuid::from_u128(id.cast_unsigned().into()))),
        }
    };
    match write_display(&context.app, viewer.company, shown, begin).await {
        Ok(record) => created(record),
        Err(Unwritten::Repeated(IdempotencyState::OtherContent)) => Err(elsewhere_used()),
        Err(Unwritten::Repeated(IdempotencyState::Done(id))) => {
            let [.., a, b, c, d, e, f, g, h] = id.into_bytes();
            let earlier = store.read_json::<OfferDisplay>(Tree::OfferDisplays, [a, b, c, d, e, f, g, h]);
            let earlier = earlier.map_err(unreadable)?.ok_or_else(elsewhere_used)?;
            answered(Answered::again(earlier), created)
        }
        Err(unwritten) => Err(unwritable(unwritten)),
    }
}

/// Answers with the pixel for any path; records the display if the offer exists.
pub async fn pixel(context: Context<ApiState>) -> Answer {
    if context.request.method == Method::GET && !context.request.is_prefetch() {
        record_pixel(&context.app, &context.params).await;
    }
    Ok(transparent_pixel())
}

/// The pixel, which is never cached.
pub fn transparent_pixel() -> Reply {
    let never = HeaderValue::from_static("no-store, no-cache, must-revalidate");
    let reply = Reply::bytes("image/gif", PIXEL).header(CACHE_CONTROL, never);
    reply.header(PRAGMA, HeaderValue::from_static("no-cache"))
}

/// A display that cannot be recorded is only logged.
async fn record_pixel(app: &ApiState, params: &Params) {
    let named = ["leadUuid", "rateTableUuid", "offerUuid"].map(|name| params.uuid(name));
    if let [Ok(lead), Ok(rate_table), Ok(offer)] = named {
        record_display(app, DisplayedOffer { lead, rate_table, offer }).await;
    }
}

/// Records a display that an image reports, if the offer exists and has room for it; returns whether it did.
pub async fn record_display(app: &ApiState, shown: DisplayedOffer) -> bool {
    let records = &app.engine().records;
    let (Ok(Some(company)), Ok(Some((table, number)))) =
        (displayed_offer::owner(records, shown), reading::offer(records, shown.offer))
    else {
        return false;
    };
    let place = place(table, number);
    let written = match app.engine().lock_record(Tree::Displays, place).await {
        Ok(_lock) => write_display(app, company, shown, |_| one_more(app, shown.lead, place)).await,
        Err(failure) => Err(Unwritten::Failed(failure)),
    };
    match &written {
        Ok(_) => {}
        Err(Unwritten::Full) => counter!(OFFER_DISPLAYS_CUT).increment(1),
        Err(Unwritten::Repeated(_)) => {}
        Err(Unwritten::Failed(failure)) => {
            warn!(rate_table = %shown.rate_table, %failure, "the display of an offer could not be stored");
        }
    }
    written.is_ok()
}

enum Unwritten {
    Full,
    Repeated(IdempotencyState),
    Failed(CommitError),
}

/// Increments the display count of an offer; the commit fails if another display was counted concurrently.
fn one_more(app: &ApiState, lead: Uuid, place: Uuid) -> Result<Commit, Unwritten> {
    let engine = app.engine();
    let before = reading::count(&engine.records.store, Tree::Displays, place);
    let before = before.map_err(|_| Unwritten::Failed(CommitError::Busy))?;
    if before.is_some_and(|count| count >= engine.configuration().rules.displays_kept_per_offer) {
        return Err(Unwritten::Full);
    }
    Ok(writing::one_more(Commit::new().about(lead), Tree::Displays, place, before))
}

async fn write_display(
    app: &ApiState,
    created_by: Uuid,
    shown: DisplayedOffer,
    begin: impl Fn(i64) -> Result<Commit, Unwritten>,
) -> Result<OfferDisplay, Unwritten> {
    let make = |id| OfferDisplay {
        id,
        uuid: ids::random(),
        lead_uuid: shown.lead,
        rate_table_uuid: shown.rate_table,
        offer_uuid: shown.offer,
        created_at: now(),
        created_by,
    };
    write(app, Tree::OfferDisplays, None, begin, make).await
}

async fn write<R: Serialize>(
    app: &ApiState,
    tree: Tree,
    named: Option<i64>,
    begin: impl Fn(i64) -> Result<Commit, Unwritten>,
    make: impl Fn(i64) -> R,
) -> Result<R, Unwritten> {
    let mut named = named;
    loop {
        let id = named.take().unwrap_or_else(|| app.record_ids.next());
        let key = id.to_be_bytes();
        let record = make(id);
        let commit = begin(id)?.absent(tree, key).put(tree, key, codec::encode_json(&record));
        match app.engine().commit(commit).await {
            Ok(()) => return Ok(record),
            // The id is taken, or another display was counted; try again.
            Err(CommitError::Guard { .. }) => {}
            Err(failure) => return Err(Unwritten::Failed(failure)),
        }
    }
}

/// Every fault of a body that was received whole is a 400 here.
async fn read<T>(
    context: &mut Context<ApiState>,
    known: &KnownKeys,
    as_noun: fn(&[u8]) -> Result<T, UnreadableBody>,
) -> Result<T, Failure> {
    let body = bodies::body(context).await?;
    let read = bodies::read(&context.request, known, &body, |body| Ok((as_noun(body)?, 0)));
    read.map_err(|failure| failure.with_status(StatusCode::BAD_REQUEST))
}

fn names_nothing(unknown: Unknown, shown: DisplayedOffer) -> ApiError {
    let (attribute, noun, uuid) = match unknown {
        Unknown::Lead => ("leadUuid", "Lead", shown.lead),
        Unknown::RateTable => ("rateTableUuid", "RateTable", shown.rate_table),
        Unknown::Offer => ("offerUuid", "Offer", shown.offer),
    };
    ApiError::unknown_uuid(attribute, noun, uuid)
}

fn now() -> Timestamp {
    Timestamp::at(Utc::now().timestamp_millis())
}
