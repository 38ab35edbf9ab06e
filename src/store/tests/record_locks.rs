//! Record locks: changes of one record wait for each other.

use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::join_all;

use crate::record_locks::RecordLocks;
use crate::{CommitError, Tree};

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn changes_of_one_record_have_their_turn_as_they_came_and_others_do_not_wait() {
    let locks = RecordLocks::new(8, false);
    let first = locks.take(LONG, Tree::Clicks, b"one").await.unwrap();
    let other = locks.take(LONG, Tree::Clicks, b"other").await.unwrap();
    let of_another_tree = locks.take(LONG, Tree::Leads, b"one").await.unwrap();
    let order = Mutex::new(Vec::new());
    let next = |nth| {
        let (locks, order) = (&locks, &order);
        async move {
            let _turn = locks.take(LONG, Tree::Clicks, b"one").await.unwrap();
            order.lock().unwrap().push(nth);
            tokio::task::yield_now().await;
        }
    };
    let then = async { drop(first) };
    tokio::join!(join_all((0..7).map(next)), then);
    assert_eq!(*order.lock().unwrap(), (0..7).collect::<Vec<_>>());
    drop((other, of_another_tree));
    assert!(locks.is_idle(), "of a record that nobody changes nothing is kept");
}

#[tokio::test(start_paused = true)]
async fn a_line_has_an_end_and_nobody_waits_for_ever() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let _local = metrics::set_default_local_recorder(&recorder);
    let locks = RecordLocks::new(2, false);
    let first = locks.take(LONG, Tree::Leads, b"one").await.unwrap();
    let (late, crowded) =
        tokio::join!(locks.take(LONG, Tree::Leads, b"one"), locks.take(LONG, Tree::Leads, b"one"),);
    assert_eq!((late.err(), crowded.err()), (Some(CommitError::Crowded), Some(CommitError::Crowded)));
    assert!(locks.take(LONG, Tree::Leads, b"another").await.is_ok());
    let rendered = recorder.handle().render();
    for line in [
        r#"offerd_store_changes_refused_total{tree="leads",reason="full"} 1"#,
        r#"offerd_store_changes_refused_total{tree="leads",reason="late"} 1"#,
        "offerd_store_changes_in_line 1",
    ] {
        assert!(rendered.contains(line), "{line} is missing in:\n{rendered}");
    }
    drop(first);
    assert!(locks.take(LONG, Tree::Leads, b"one").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_change_is_tried_some_times_and_where_others_make_it_too_for_as_long_as_may_be_waited() {
    let alone = RecordLocks::new(8, false);
    let mut lock = alone.take(LONG, Tree::Leads, b"one").await.unwrap();
    let begun = tokio::time::Instant::now();
    let mut tries = 0;
    while lock.should_try().await {
        tries += 1;
    }
    assert_eq!((tries, begun.elapsed()), (4, Duration::ZERO));

    let shared = RecordLocks::new(8, true);
    let mut lock = shared.take(LONG, Tree::Leads, b"one").await.unwrap();
    let mut tries = 0;
    while lock.should_try().await {
        tries += 1;
    }
    // No pause is longer than 64 ms.
    assert!(tries > 900 && begun.elapsed() >= LONG, "{tries} tries in {:?}", begun.elapsed());
}
