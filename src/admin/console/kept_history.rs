//! What of the history is kept in the store: a reading of each minute, as far back as `console.history_kept`.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tracing::debug;

use super::super::App;
use super::history::Reading;
use super::today::Today;
use crate::store::{Commit, Tree, codec};

/// Minutes that charts look back on.
const MINUTES_SHOWN: i64 = 60;

/// How long the store may take: what is not kept is missing from a chart, and nothing else.
const WRITE_WITHIN: Duration = Duration::from_secs(2);

const MINUTE_MS: i64 = 60_000;

/// The minute that was kept last.
pub(super) struct Kept(i64);

/// Takes in what was kept by a process before this one, and removes what is too old.
pub(super) async fn begin(app: &Arc<App>) -> Kept {
    let reader = Arc::clone(app);
    let now = minute_of(chrono::Utc::now().timestamp_millis());
    let found = spawn_blocking(move || {
        let records = reader.store.scan(Tree::Charts, []).filter_map(Result::ok);
        let known = records.filter_map(|(key, bytes)| {
            let minute = i64::from(u32::from_be_bytes(key.as_slice().try_into().ok()?));
            Some((minute, codec::decode::<Reading>(&bytes).ok()))
        });
        known.collect::<Vec<_>>()
    });
    let found = found.await.unwrap_or_default();
    // What is of another time, or cannot be read any more, goes.
    let minutes_kept = minutes_kept(app);
    let is_kept = |minute: i64| minute <= now && minute > now - minutes_kept;
    let (kept, old): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(minute, reading)| is_kept(*minute) && reading.is_some());
    let commit =
        old.iter().fold(Commit::new(), |commit, (minute, _)| commit.remove(Tree::Charts, key(*minute)));
    write(app, commit).await;
    let readings: Vec<Reading> = kept.into_iter().filter_map(|(_, reading)| reading).collect();
    app.console.days.recall(readings.iter().filter_map(|reading| Some((reading.at, reading.today?))));
    let shown = readings.into_iter().filter(|reading| minute_of(reading.at) > now - MINUTES_SHOWN);
    app.console.history.recall(shown.collect());
    Kept(now - 1)
}

impl Kept {
    /// Keeps the newest reading where it is the first of its minute, with what the day has brought.
    pub(super) async fn keep(&mut self, app: &Arc<App>) {
        let Some(reading) = app.console.history.last(Duration::ZERO).pop() else { return };
        let minute = minute_of(reading.at);
        if minute == self.0 {
            return;
        }
        self.0 = minute;
        let reader = Arc::clone(app);
        let today = spawn_blocking(move || Today::now(&reader)).await.ok().flatten();
        if let Some(today) = today {
            app.console.days.add(reading.at, today);
        }
        let bytes = codec::encode(&Reading { today, ..reading });
        let commit = Commit::new()
            .put(Tree::Charts, key(minute), bytes)
            .remove(Tree::Charts, key(minute - minutes_kept(app)));
        write(app, commit).await;
    }
}

/// How many minutes are kept.
fn minutes_kept(app: &App) -> i64 {
    i64::try_from(app.settings().console.history_kept.as_secs() / 60).unwrap_or(i64::MAX)
}

async fn write(app: &App, commit: Commit) {
    if let Err(failure) = app.store.commit_within(WRITE_WITHIN, commit).await {
        debug!(%failure, "a reading of the metrics could not be kept");
    }
}

fn minute_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(MINUTE_MS)
}

fn key(minute: i64) -> [u8; 4] {
    u32::try_from(minute).unwrap_or(0).to_be_bytes()
}
