//! `GET /console/partners/{partner}`: a partner, by product type; `POST …/pause`, `…/resume`, `…/probe`.

use super::super::partners::{pause_seats, reprobe, unpause};
use super::super::reasons::reason_given;
use super::prelude::*;
use super::seat_view::{SeatView, of_seats};
use super::{history, latency};
use offerd_engine::conversions::preview_click;
use offerd_engine::matching::ask_statistics::{AskTally, TROUBLES_KEPT};
use offerd_engine::matching::late_asks::LateAsk;
use offerd_engine::matching::pausing::Pausable;
use offerd_engine::matching::preview_ids::PREVIEWED;
use offerd_engine::matching::undeclared_reasons::UndeclaredReason;
use offerd_model::RejectReason;
use offerd_partners::Seat;
use offerd_store::pauses::Pauses;

/// Days for which preview clicks are counted, including today; the template states it.
const PREVIEW_DAYS: u32 = 30;

const PAGE: ConsolePage = ConsolePage::new(Section::Partners, "partner.html").fresh(history::EVERY);

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    let key = request.params.get("partner").unwrap_or_default().to_owned();
    let (name, fields) = request.reading(move |app| page(app, &key)).await??;
    Ok(request.view(PAGE, fields)?.titled(name))
}

/// Redirects the target of the page's forms, opened as an address, to the page.
pub(super) async fn back(request: &ConsoleRequest) -> Result<View> {
    View::at(&path_of(request.params.get("partner").unwrap_or_default()))
}

pub(super) async fn pause(request: &ConsoleRequest) -> Result<View> {
    let what = pausable(request)?;
    let reason = request.field("reason").filter(|reason| !reason.trim().is_empty());
    pause_seats(&request.app, &what, reason.map(reason_given).transpose()?, &request.actor()).await?;
    View::at(&path_of(&what.partner))
}

pub(super) async fn resume(request: &ConsoleRequest) -> Result<View> {
    let what = pausable(request)?;
    unpause(&request.app, &what, &request.actor()).await?;
    View::at(&path_of(&what.partner))
}

pub(super) async fn probe(request: &ConsoleRequest) -> Result<View> {
    let what = pausable(request)?;
    reprobe(&request.app, &what, &request.actor()).await?;
    View::at(&path_of(&what.partner))
}

fn pausable(request: &ConsoleRequest) -> Result<Pausable> {
    let unknown = || Failure::bad_attribute("productType", "must be a product type");
    let product_type = request.field("productType");
    let product_type = product_type.map(|it| ProductType::from_wire(it).ok_or_else(unknown)).transpose()?;
    Ok(Pausable { partner: request.params.get("partner").unwrap_or_default().to_owned(), product_type })
}

fn path_of(key: &str) -> String {
    let key: String = form_urlencoded::byte_serialize(key.as_bytes()).collect();
    format!("/console/partners/{key}")
}

fn page(app: &AdminState, key: &str) -> Result<(String, Value)> {
    let seats: Vec<SeatView> =
        of_seats(&app.engine).into_iter().filter(|look| look.seat.identity.key == key).collect();
    let Some(first) = seats.first() else { return Err(Failure::unknown("There is no such partner")) };
    let pauses = Pauses::of(app.engine.records.store.clone()).list();
    let is_paused = |product: Option<ProductType>| {
        pauses.iter().any(|pause| pause.partner == key && pause.product_type == product)
    };
    let views = seats.iter().map(|look| seat_view(app, look, is_paused(Some(look.seat.product_type))));
    let partner = &first.seat.identity.partner;
    let fields = fields! {
        key, name => partner.name, description => partner.description,
        // Whether the whole partner is paused by an operator.
        paused => is_paused(None),
        troubles_kept => TROUBLES_KEPT, meanings => RejectReason::WIRE,
        seats => views.collect::<Result<Vec<_>, _>>()?,
    };
    Ok((partner.name.clone(), fields))
}

fn preview_clicks(app: &AdminState, look: &SeatView) -> Option<u64> {
    let Seat { identity, product_type, .. } = &*look.seat;
    let store = &app.engine.records.store;
    PREVIEWED
        .contains(product_type)
        .then(|| preview_click::preview_clicks(store, &identity.key, *product_type, PREVIEW_DAYS))
}

/// The fields of a seat; `paused` says whether an operator has paused just its product type.
fn seat_view(app: &AdminState, look: &SeatView, paused: bool) -> Result<Value> {
    let seat = &look.seat;
    let lately = app.engine.statistics.lately(&seat.identity.key, seat.product_type);
    let tally: AskTally = lately.asks.iter().copied().collect();
    let timeout = seat.timeout.as_secs_f64();
    let why_full = app.engine.statistics.why_full(seat);
    let shortened = seat.adaptive_timeout.filter(|_| why_full.is_none());
    let adapted = shortened.map(|_| app.engine.statistics.timeout(seat).as_secs_f64());
    let title = format!("How long {} took to answer for {}", seat.identity.partner.name, seat.product_type);
    let id = format!("latency-{}", seat.product_type);
    let chart = || latency::chart(id, title, &lately.asks, &look.late, timeout);
    let chart = (!lately.asks.is_empty()).then(chart).transpose()?;
    let asked_how = match (&seat.http, &seat.simulate) {
        (Some(_), _) => "over HTTP",
        (None, Some(_)) => "from its file, pretending to be far away",
        (None, None) => "from its file, at once",
    };
    let word = |word: &UndeclaredReason| {
        fields! {
            word => word.word, count => word.count, last => word.last.timestamp_millis(),
            // The line to add to the partner file, without the meaning.
            line => word.key().map(|key| format!("{key} = \"...\"")),
        }
    };
    Ok(fields! {
        product => seat.product_type.as_str(), state => look.state,
        since => look.status.since.map(|time| time.timestamp_millis()),
        until => look.status.until.map(|time| time.timestamp_millis()),
        paused_by => look.status.paused_by, pause_reason => look.status.pause_reason,
        paused, health => look.health, cause => look.status.health.cause, asked_how,
        at_once => seat.answers_at_once(), timeout, adapted, why_full, breaker => look.breaker, caps => look.caps,
        preview_clicks => preview_clicks(app, look),
        summary => tally.summary_of(&tally.survival(look.late.iter().map(LateAsk::observed))),
        chart,
        words => look.status.undeclared_reasons.iter().map(word).collect::<Vec<_>>(),
        troubles => lately.troubles,
    })
}
