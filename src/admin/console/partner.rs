//! `GET /console/partners/{partner}`: one partner, product type by product type; `POST …/pause` and `…/resume`.

use std::sync::Arc;
use std::time::Duration;

use minijinja::value::Value;
use serde::Serialize;

use super::super::{App, pausing};
use super::section::Section;
use super::standing::{Breaker, Cap, Pill, SeatLook, of_seats};
use super::view::{Page, View, see};
use super::visit::Visit;
use super::{history, latency};
use crate::conversions::preview_click;
use crate::matching::ask_statistics::{AskTally, Summary, TROUBLES_KEPT, Trouble};
use crate::matching::late_asks::LateAsk;
use crate::matching::pausing::Pausable;
use crate::matching::preview_ids::PREVIEWED;
use crate::matching::undeclared_words::UndeclaredWord;
use crate::model::{ProductType, RejectReason};
use crate::partners::Seat;
use crate::store::pauses::Pauses;
use crate::web::{Failure, Reply};

/// For how many days clicks on previews are counted, today among them; the template says so.
const PREVIEW_DAYS: u32 = 30;

#[derive(Debug, Serialize)]
struct PartnerPage {
    key: String,
    name: String,
    description: String,
    /// Whether all of it is paused from the command line, or from here.
    paused: bool,
    troubles_kept: usize,
    /// What a word for a decline can mean.
    meanings: &'static [&'static str],
    seats: Vec<SeatView>,
}

#[derive(Debug, Serialize)]
struct SeatView {
    product: &'static str,
    state: Pill,
    /// Unix milliseconds.
    since: Option<i64>,
    until: Option<i64>,
    /// Whether this product type alone is paused from the command line, or from here.
    paused: bool,
    health: Pill,
    /// What is not as usual.
    cause: Option<String>,
    /// How it is asked, in words.
    asked_how: &'static str,
    /// Whether it answers at once, so that no timeout matters.
    at_once: bool,
    /// Seconds.
    timeout: f64,
    adapted: Option<f64>,
    breaker: Option<Breaker>,
    caps: Vec<Cap>,
    /// Clicks on its previews lately; `None` where it has none.
    preview_clicks: Option<u64>,
    summary: Summary,
    chart: Option<Value>,
    /// The words with which it declines that its file does not know.
    words: Vec<WordView>,
    /// Oldest first.
    troubles: Vec<Trouble>,
}

#[derive(Debug, Serialize)]
struct WordView {
    word: String,
    count: u64,
    /// Unix milliseconds.
    last: i64,
    /// What gives it a meaning in the file, but for that.
    line: Option<String>,
}

impl From<&UndeclaredWord> for WordView {
    fn from(word: &UndeclaredWord) -> Self {
        let line = word.key().map(|key| format!("{key} = \"...\""));
        Self { word: word.word.clone(), count: word.count, last: word.last.timestamp_millis(), line }
    }
}

impl Page for PartnerPage {
    const SECTION: Section = Section::Partners;
    const TEMPLATE: &'static str = "partner.html";
    const FRESH: Option<Duration> = Some(history::EVERY);

    fn title(&self) -> String {
        self.name.clone()
    }
}

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let key = visit.params.get("partner").unwrap_or_default().to_owned();
    let page = visit.reading(move |app| page(app, &key)).await??;
    visit.view(&page)
}

/// Leads to the page from where its forms are sent.
pub(super) async fn back(visit: Arc<Visit>) -> Result<View, Failure> {
    Ok(View::at(path_of(visit.params.get("partner").unwrap_or_default())))
}

/// Takes the partner, or one product type of it, out until it is resumed.
pub(super) async fn pause(visit: Arc<Visit>) -> Result<Reply, Failure> {
    let what = pausable(&visit)?;
    pausing::pause(&visit.app, &what, &visit.actor()).await?;
    see(&path_of(&what.partner))
}

/// Ends a pause.
pub(super) async fn resume(visit: Arc<Visit>) -> Result<Reply, Failure> {
    let what = pausable(&visit)?;
    pausing::resume(&visit.app, &what, &visit.actor()).await?;
    see(&path_of(&what.partner))
}

fn pausable(visit: &Visit) -> Result<Pausable, Failure> {
    let unknown = || Failure::bad_attribute("productType", "must be a product type");
    let product_type = match visit.field("productType") {
        Some(word) => Some(ProductType::from_wire(word).ok_or_else(unknown)?),
        None => None,
    };
    Ok(Pausable { partner: visit.params.get("partner").unwrap_or_default().to_owned(), product_type })
}

/// Where a partner's page is.
fn path_of(key: &str) -> String {
    let key: String = form_urlencoded::byte_serialize(key.as_bytes()).collect();
    format!("/console/partners/{key}")
}

fn page(app: &App, key: &str) -> Result<PartnerPage, Failure> {
    let seats: Vec<SeatLook> =
        of_seats(&app.engine).into_iter().filter(|look| look.seat.identity.key == key).collect();
    let Some(first) = seats.first() else { return Err(Failure::unknown("There is no such partner")) };
    let pauses = Pauses::of(app.engine.records.store.clone()).list();
    let paused = |product: Option<ProductType>| {
        pauses.iter().any(|pause| pause.partner == key && pause.product_type == product)
    };
    let views = seats.iter().map(|look| seat_view(app, look, paused(Some(look.seat.product_type))));
    Ok(PartnerPage {
        key: key.to_owned(),
        name: first.seat.identity.partner.name.clone(),
        description: first.seat.identity.partner.description.clone(),
        paused: paused(None),
        troubles_kept: TROUBLES_KEPT,
        meanings: RejectReason::WIRE,
        seats: views.collect::<Result<_, _>>()?,
    })
}

/// How often its previews were opened lately.
fn preview_clicks(app: &App, look: &SeatLook) -> Option<u64> {
    let Seat { identity, product_type, .. } = &*look.seat;
    let store = &app.engine.records.store;
    PREVIEWED
        .contains(product_type)
        .then(|| preview_click::preview_clicks(store, &identity.key, *product_type, PREVIEW_DAYS))
}

fn seat_view(app: &App, look: &SeatLook, paused: bool) -> Result<SeatView, Failure> {
    let seat = &look.seat;
    let lately = app.engine.statistics.lately(&seat.identity.key, seat.product_type);
    let tally: AskTally = lately.asks.iter().copied().collect();
    let timeout = seat.timeout.as_secs_f64();
    let adapted = seat.adaptive_timeout.map(|_| app.engine.statistics.timeout(seat).as_secs_f64());
    let title =
        format!("How long {} took to answer for {}", seat.identity.partner.name, seat.product_type.as_str());
    let id = format!("latency-{}", seat.product_type.as_str());
    let chart = || latency::chart(id, title, &lately.asks, &look.late, timeout);
    let chart = (!lately.asks.is_empty()).then(chart).transpose()?;
    let asked_how = match (&seat.http, &seat.simulate) {
        (Some(_), _) => "over HTTP",
        (None, Some(_)) => "from its file, pretending to be far away",
        (None, None) => "from its file, at once",
    };
    Ok(SeatView {
        product: seat.product_type.as_str(),
        state: look.state.clone(),
        since: look.standing.since.map(|time| time.timestamp_millis()),
        until: look.standing.until.map(|time| time.timestamp_millis()),
        paused,
        health: look.health.clone(),
        cause: look.standing.health.cause.clone(),
        asked_how,
        at_once: seat.answers_at_once(),
        timeout,
        adapted,
        breaker: look.breaker.clone(),
        caps: look.caps.clone(),
        preview_clicks: preview_clicks(app, look),
        summary: tally.summary_of(&tally.survival(look.late.iter().map(LateAsk::observed))),
        chart,
        words: look.standing.undeclared_words.iter().map(WordView::from).collect(),
        troubles: lately.troubles,
    })
}
