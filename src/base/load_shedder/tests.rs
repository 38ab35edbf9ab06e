//! Permits and wake-ups.

mod simulation;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use metrics_exporter_prometheus::PrometheusBuilder;

use super::limit::FIRST;
use super::*;

const COMPANY: Uuid = Uuid::from_u128(1);
const OTHER: Uuid = Uuid::from_u128(2);

fn shedder(queue: usize) -> LoadShedder {
    let rules = ShedderRules {
        queueing_target: Duration::from_millis(5),
        most: FIRST,
        queue,
        queue_wait: Duration::from_secs(1),
    };
    LoadShedder::new(rules, || Some(Duration::ZERO))
}

async fn all_permits(shedder: &LoadShedder) -> Vec<Permit> {
    let mut held = Vec::new();
    for _ in 0..FIRST {
        held.push(shedder.permit(COMPANY).await.unwrap());
    }
    held
}

#[tokio::test(start_paused = true)]
async fn who_waits_gets_the_permit_that_another_gives_back() {
    let shedder = shedder(9);
    let mut held = all_permits(&shedder).await;
    let mut waits = Box::pin(shedder.permit(COMPANY));
    assert!(waits.as_mut().now_or_never().is_none());
    held.pop();
    assert!(waits.await.is_ok());
    drop(held);
    assert_eq!(shedder.0.shedder.lock().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_or_finds_the_line_full_is_refused_and_who_hangs_up_has_left() {
    let shedder = shedder(1);
    let held = all_permits(&shedder).await;
    assert!(!shedder.refuses(COMPANY) && !shedder.is_full());
    let mut gone = Box::pin(shedder.permit(COMPANY));
    assert!(gone.as_mut().now_or_never().is_none());
    assert!(shedder.refuses(COMPANY));
    assert_eq!(shedder.permit(COMPANY).await.err(), Some(Shed::Full));
    drop(gone);
    assert_eq!(shedder.permit(COMPANY).await.err(), Some(Shed::Waited), "the place is free again");
    drop(held);
    assert!(shedder.permit(COMPANY).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_company_that_fills_the_line_makes_room_for_another() {
    let shedder = shedder(2);
    let _held = all_permits(&shedder).await;
    let mut waiting = [shedder.permit(COMPANY), shedder.permit(COMPANY)].map(Box::pin);
    waiting.iter_mut().for_each(|waits| assert!(waits.as_mut().now_or_never().is_none()));
    assert!(shedder.is_full() && shedder.refuses(COMPANY) && !shedder.refuses(OTHER));
    let mut other = Box::pin(shedder.permit(OTHER));
    assert!(other.as_mut().now_or_never().is_none());
    let [first, second] = &mut waiting;
    assert!(first.as_mut().now_or_never().is_none());
    assert_eq!(second.as_mut().now_or_never().map(Result::err), Some(Some(Shed::Displaced)));
}

#[tokio::test(start_paused = true)]
async fn a_line_is_full_when_its_last_would_wait_too_long() {
    let shedder = shedder(1000);
    let mut held = all_permits(&shedder).await;
    let mut waiting: VecDeque<_> = (0..200).map(|_| Box::pin(shedder.permit(COMPANY))).collect();
    waiting.iter_mut().for_each(|waits| assert!(waits.as_mut().now_or_never().is_none()));
    assert!(!shedder.is_full(), "as long as nobody knows how fast it is");
    for nth in 0..64 {
        tokio::time::advance(Duration::from_millis(50)).await;
        drop(std::mem::take(&mut held[nth % FIRST]));
        held[nth % FIRST] = waiting.pop_front().unwrap().await.unwrap();
    }
    assert!(shedder.is_full(), "20 a second, and 136 wait");
}

#[test]
fn the_limit_grows_only_while_as_much_is_in_flight_as_may_be() {
    let rules = ShedderRules {
        queueing_target: Duration::from_millis(5),
        most: 1000,
        queue: 9,
        queue_wait: Duration::from_secs(1),
    };
    let mut shedder = AdmissionState::<()>::new(rules);
    for _ in 0..FIRST {
        let entry = shedder.enter().unwrap();
        shedder.acknowledged(entry, Duration::ZERO);
    }
    assert_eq!(shedder.limit(), FIRST, "one at a time");
    let entries: Vec<_> = (0..FIRST).map(|_| shedder.enter().unwrap()).collect();
    assert_eq!(shedder.enter(), None);
    entries.into_iter().for_each(|entry| shedder.acknowledged(entry, Duration::ZERO));
    assert_eq!(shedder.limit(), 2 * FIRST);
}

#[tokio::test(start_paused = true)]
async fn its_figures_are_shown() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let shedder = metrics::with_local_recorder(&recorder, || shedder(9));
    let _held = all_permits(&shedder).await;
    let mut waits = Box::pin(shedder.permit(COMPANY));
    assert!(waits.as_mut().now_or_never().is_none());
    let shown = recorder.handle().render();
    for (name, figure) in [(NEW_WORK_LIMIT, FIRST), (NEW_WORK_IN_FLIGHT, FIRST), (NEW_WORK_WAITING, 1)] {
        assert!(shown.contains(&format!("{name} {figure}\n")), "{name}: {shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_body_holds_up_nobody_and_goes_on_at_once() {
    let shedder = shedder(9);
    let mut held = all_permits(&shedder).await;
    held.iter_mut().for_each(Permit::pause);
    let others = all_permits(&shedder).await;
    held.iter_mut().for_each(Permit::resume);
    assert_eq!(shedder.0.shedder.lock().in_flight, 2 * FIRST);
    assert!(shedder.permit(COMPANY).now_or_never().is_none(), "nobody else is let in then");
    held.iter_mut().for_each(Permit::pause);
    drop((held, others));
    assert_eq!(shedder.0.shedder.lock().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn what_the_disk_takes_is_no_queueing() {
    let disk_ms = Arc::new(AtomicU64::new(100));
    let told = Arc::clone(&disk_ms);
    let rules = shedder(9).0.rules;
    let shedder = LoadShedder::new(rules, move || Some(Duration::from_millis(told.load(Ordering::Relaxed))));
    for (disk, queueing) in [(100, 3), (3, 100)] {
        disk_ms.store(disk, Ordering::Relaxed);
        let held = all_permits(&shedder).await;
        let _one_more = shedder.0.shedder.lock().enter_anyway();
        tokio::time::advance(Duration::from_millis(103)).await;
        held.into_iter().for_each(Permit::acknowledged);
        assert_eq!(shedder.queueing(), Duration::from_millis(queueing));
        shedder.0.shedder.lock().leave_off();
        assert_eq!(shedder.queueing(), Duration::ZERO, "when nothing is in flight");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_in_line_for_a_disk_that_does_not_answer() {
    let rules = shedder(1).0.rules;
    let shedder = LoadShedder::new(rules, || None);
    let mut held = all_permits(&shedder).await;
    held.extend(all_permits(&shedder).await);
    assert_eq!(held.len(), 2 * FIRST);
}

#[tokio::test]
async fn permits_are_taken_and_given_back_on_any_thread() {
    let shedder = shedder(1000);
    let threads = [COMPANY, OTHER].map(|company| {
        let shedder = shedder.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(futures_util::future::join_all((0..400).map(async |_| {
                let permit = shedder.permit(company).await.unwrap();
                tokio::task::yield_now().await;
                permit.acknowledged();
            })));
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let state = shedder.0.shedder.lock();
    assert_eq!((state.in_flight, state.waiting()), (0, 0));
}
