//! The stored readings, one per minute for `console.history_kept`. Each process finds its own in its place.

use std::sync::Arc;
use std::time::Duration;

use tracing::debug;
use uuid::Uuid;

use super::super::AdminState;
use super::history::MetricsReading;
use super::today::Today;
use offerd_store::{Commit, Tree, codec};

const MINUTES_SHOWN: i64 = 60;

/// Timeout of a write; a failed one only leaves a gap in the charts.
const WRITE_WITHIN: Duration = Duration::from_secs(2);

const MINUTE_MS: i64 = 60_000;

const UNREAD: &str = "stored chart data could not be read";

pub(super) struct LastStoredMinute(i64);

struct StoredReading {
    key: Vec<u8>,
    minute: i64,
    /// The process that took it; `None` in a store that was not shared.
    place: Option<Uuid>,
    /// `None` if it cannot be decoded.
    reading: Option<MetricsReading>,
}

/// Loads the stored readings of earlier processes, and removes expired ones.
pub(super) async fn begin(app: &Arc<AdminState>) -> LastStoredMinute {
    let now = minute_of(chrono::Utc::now().timestamp_millis());
    let found = app.reading(UNREAD, |app| {
        let records = app.store.scan(Tree::Charts, []).filter_map(Result::ok);
        records.filter_map(|(key, bytes)| StoredReading::parse(&key, &bytes)).collect::<Vec<_>>()
    });
    let found = found.await.unwrap_or_default();
    // Removes readings that are expired or undecodable, including those of processes that never return.
    let minutes_kept = minutes_kept(app);
    let is_kept = |minute: i64| minute <= now && minute > now - minutes_kept;
    let (kept, old): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|one| is_kept(one.minute) && one.reading.is_some());
    write(app, old.iter().fold(Commit::new(), |commit, one| commit.remove(Tree::Charts, &one.key))).await;
    let place = app.store.directory_id();
    let own = kept.into_iter().filter(|one| one.place.is_none() || one.place == place);
    let readings: Vec<MetricsReading> = own.filter_map(|one| one.reading).collect();
    app.console.days.recall(readings.iter().filter_map(|reading| Some((reading.at, reading.today?))));
    let shown = readings.into_iter().filter(|reading| minute_of(reading.at) > now - MINUTES_SHOWN);
    app.console.history.recall(shown.collect());
    LastStoredMinute(now - 1)
}

impl StoredReading {
    fn parse(key: &[u8], bytes: &[u8]) -> Option<Self> {
        let (minute, place) = key.split_first_chunk()?;
        let place = (!place.is_empty()).then(|| Uuid::from_slice(place)).transpose().ok()?;
        let minute = i64::from(u32::from_be_bytes(*minute));
        Some(Self { key: key.to_vec(), minute, place, reading: codec::decode(bytes).ok() })
    }
}

impl LastStoredMinute {
    /// Stores the newest reading if it is the first of its minute, with the totals of the day.
    pub(super) async fn keep(&mut self, app: &Arc<AdminState>) {
        let Some(reading) = app.console.history.last(Duration::ZERO).pop() else { return };
        let minute = minute_of(reading.at);
        let days = &app.console.days;
        // The reports of a daemon that has just started may not be read yet.
        if days.last().is_none_or(|(at, _)| minute_of(at) != minute)
            && let Ok(Some(today)) = app.reading(UNREAD, Today::now).await
        {
            days.add(reading.at, today);
        }
        if minute == self.0 {
            return;
        }
        self.0 = minute;
        let today = days.last().filter(|(at, _)| minute_of(*at) == minute).map(|(_, today)| today);
        let bytes = codec::encode(&MetricsReading { today, ..reading });
        let commit = Commit::new()
            .put(Tree::Charts, key(app, minute), bytes)
            .remove(Tree::Charts, key(app, minute - minutes_kept(app)));
        write(app, commit).await;
    }
}

fn minutes_kept(app: &AdminState) -> i64 {
    i64::try_from(app.settings().console.history_kept.as_secs() / 60).unwrap_or(i64::MAX)
}

async fn write(app: &AdminState, commit: Commit) {
    if let Err(failure) = app.store.commit_within(WRITE_WITHIN, commit).await {
        debug!(%failure, "a metrics reading could not be stored");
    }
}

fn minute_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(MINUTE_MS)
}

fn key(app: &AdminState, minute: i64) -> Vec<u8> {
    app.store.own_key(&u32::try_from(minute).unwrap_or(0).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_known_by_its_minute_and_by_its_place_where_it_has_one() {
        let bytes = codec::encode(&MetricsReading { requests: 3.0, ..MetricsReading::default() });
        let place = Uuid::from_u128(7);
        let of_before = StoredReading::parse(&9_u32.to_be_bytes(), &bytes).unwrap();
        assert_eq!((of_before.minute, of_before.place), (9, None), "as stores in files have them");
        let shared =
            StoredReading::parse(&[&9_u32.to_be_bytes()[..], place.as_bytes()].concat(), &bytes).unwrap();
        assert_eq!((shared.minute, shared.place), (9, Some(place)));
        assert_eq!(shared.reading.unwrap().requests, 3.0);
        assert!(
            StoredReading::parse(&[0; 3], &bytes).is_none()
                && StoredReading::parse(&[0; 9], &bytes).is_none()
        );
    }
}
