//! `GET /console/partners/{partner}/timeouts`: what other timeouts of a partner would win, lose and cost.

use super::prelude::*;
use offerd_insight::hindsight::timing::{OtherTimeout, SeatTiming, timings};

/// Selectable spans: name in the address, label, and length. The second is the default, as of the command.
const TIMES: [(&str, &str, Duration); 3] = [
    ("hour", "1 hour", Duration::from_secs(60 * 60)),
    ("day", "1 day", Duration::from_secs(24 * 60 * 60)),
    ("week", "7 days", Duration::from_secs(7 * 24 * 60 * 60)),
];

const PAGE: ConsolePage = ConsolePage::new(Section::Partners, "timeouts.html");

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    let key = request.params.get("partner").unwrap_or_default().to_owned();
    let book = request.app.engine.book();
    let seat = book.seats().iter().find(|seat| seat.identity.key == key);
    let seat = seat.ok_or_else(|| Failure::unknown("There is no such partner"))?;
    let name = seat.identity.partner.name.clone();
    let wanted = request.query_value("time");
    let chosen = TIMES.into_iter().find(|(time, ..)| wanted == Some(time)).unwrap_or(TIMES[1]);

    // It reads all tables of that time.
    let permit = Arc::clone(&request.app.console.scans).try_acquire_owned();
    let permit = permit.map_err(|_| Failure::overloaded(5))?;
    let (of, (chosen, words, back)) = (key.clone(), chosen);
    let seats = request.reading(move |app| {
        let seats = seats(&app.engine, &of, back);
        drop(permit);
        seats
    });
    let seats = seats.await?.map_err(unread)?;
    let times = choices(TIMES.map(|(time, words, _)| (time, words)), Some(chosen));
    let title = format!("Timeouts of {name}");
    Ok(request.view(PAGE, fields! { key, name, times, back => words, seats })?.titled(title))
}

fn seats(engine: &MatchingEngine, partner: &str, back: Duration) -> Result<Vec<Value>, ReadError> {
    let since = Utc::now().timestamp_millis() - i64::try_from(back.as_millis()).unwrap_or(i64::MAX);
    let timings = timings(&engine.records, &engine.configuration(), &engine.statistics, since)?;
    Ok(timings.iter().filter(|timing| timing.partner == partner).map(seat).collect())
}

fn seat(timing: &SeatTiming) -> Value {
    let other = |other: &OtherTimeout| {
        fields! { offers => other.offers_summary(), change => other.change_summary(), ..other }
    };
    fields! { others => timing.timeouts.iter().map(other).collect::<Vec<_>>(), timing }
}
