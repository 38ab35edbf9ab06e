//! The kept asks, the figures derived from them, and the exported metrics.

use std::thread;

use metrics_exporter_prometheus::PrometheusBuilder;
use proptest::prelude::*;

use super::*;
use crate::matching::tests::world::book;
use crate::partner_files::{partner, prompt_partners};
use crate::rate_table::outcome::{AskFailure, NoOfferReason, Outcome};
use offerd_partners::declared::AdaptiveTimeout;

const WHOLE: Duration = Duration::from_secs(10);

/// A bank's savings seat with an adaptive timeout.
fn seat() -> Arc<Seat> {
    let rule = "adaptive_timeout = { false_timeouts = 0.01, floor = \"500ms\" }";
    Arc::clone(&book(&[partner("bank").savings(rule)]).seats()[0])
}

fn noted(result: &AskResult, elapsed_ms: u64) -> AskObservation<'_> {
    let elapsed = Duration::from_millis(elapsed_ms);
    AskObservation { rate_table: Uuid::nil(), test: false, result, elapsed, late: false }
}

fn offered() -> AskResult {
    Outcome::Offers(Vec::new()).into()
}

fn unreachable() -> AskResult {
    Outcome::Failed(AskFailure::Unreachable).because("connection refused")
}

fn timed_out() -> AskResult {
    Outcome::TimedOut.into()
}

fn lately(statistics: &AskStatistics, seat: &Seat) -> RecentAsks {
    statistics.lately(&seat.identity.key, ProductType::Savings)
}

impl AskStatistics {
    fn offered_after(&self, seat: &Seat, times_ms: impl IntoIterator<Item = u64>) {
        times_ms.into_iter().for_each(|time| self.replied(&seat.recorded, noted(&offered(), time)));
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let (statistics, seat) = (AskStatistics::default(), seat());
    for _ in 0..ASKS_KEPT + 10 {
        statistics.replied(&seat.recorded, noted(&unreachable(), 7));
    }
    statistics.with(&seat.identity.key, ProductType::Savings, |statistic| {
        assert_eq!((statistic.asks.len(), statistic.troubles.len()), (ASKS_KEPT, TROUBLES_KEPT));
    });
    let lately = lately(&statistics, &seat);
    assert_eq!(lately.asks.len(), ASKS_SHOWN);
    assert_eq!(lately.asks[0], EndedAsk { elapsed_us: 7000, end: Some(EndingKind::Failed), test: false });
    assert_eq!(lately.troubles[0].outcome, "unreachable");
    assert_eq!(lately.troubles[0].cause, unreachable().cause);
    assert!(statistics.lately(&seat.identity.key, ProductType::Loan).asks.is_empty());
    assert!(statistics.lately("nobody", ProductType::Loan).asks.is_empty());
}

#[test]
fn an_answer_after_its_time_is_told_from_one_in_time() {
    let (statistics, seat) = (AskStatistics::default(), seat());
    statistics.unanswered(&seat.recorded, noted(&timed_out(), 7));
    let late = |result: &AskResult| {
        statistics.replied(&seat.recorded, AskObservation { late: true, ..noted(result, 7) })
    };
    late(&offered());
    late(&unreachable());
    statistics.replied(&seat.recorded, noted(&Outcome::NoOffers(NoOfferReason::NotNeeded).into(), 7));
    let lately = lately(&statistics, &seat);
    assert_eq!(lately.asks.iter().map(|ask| ask.end).collect::<Vec<_>>(), [Some(EndingKind::TimedOut), None]);
    assert_eq!(lately.troubles.len(), 1);
}

#[test]
fn what_is_recalled_adapts_a_timeout_and_is_not_shown() {
    let (statistics, seat) = (AskStatistics::default(), seat());
    let ask = EndedAsk { elapsed_us: 600_000, end: Some(EndingKind::Offered), test: false };
    (0..300).for_each(|_| {
        statistics.with(&seat.identity.key, ProductType::Savings, |statistic| statistic.keep(ask))
    });
    assert_eq!(statistics.timeout(&seat), Duration::from_millis(600));
    assert!(lately(&statistics, &seat).asks.is_empty());
    statistics.offered_after(&seat, [9]);
    assert_eq!(lately(&statistics, &seat).asks, [EndedAsk { elapsed_us: 9000, ..ask }]);
}

#[test]
fn asks_that_end_on_many_threads_are_each_counted_once() {
    let (statistics, book) = (AskStatistics::default(), book(&prompt_partners(20)));
    let ask_all = || book.seats().iter().for_each(|seat| statistics.offered_after(seat, [1]));
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| (0..50).for_each(|_| ask_all()));
        }
    });
    for seat in book.seats() {
        assert_eq!(lately(&statistics, seat).asks.len(), 200);
    }
}

#[test]
fn metrics_are_told_of_what_has_happened_only() {
    let recorder = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        let (statistics, seat) = (AskStatistics::default(), seat());
        statistics.offered_after(&seat, [3, 5]);
        statistics.replied(&seat.recorded, AskObservation { late: true, ..noted(&unreachable(), 7) });
        statistics.unanswered(&seat.recorded, noted(&timed_out(), 7));
        statistics.not_asked(&seat.recorded, "no_time");
    });
    let rendered = recorder.handle().render();
    let mut told: Vec<&str> = rendered.lines().filter(|line| line.contains("{partner=\"p0\"")).collect();
    told.retain(|line| line.contains("_total") || line.contains("_count"));
    told.sort_unstable();
    assert_eq!(
        told,
        [
            "offerd_partner_answer_seconds_count{partner=\"p0\",product_type=\"savings\"} 3",
            "offerd_partner_outcomes_total{partner=\"p0\",product_type=\"savings\",outcome=\"no_time\"} 1",
            "offerd_partner_outcomes_total{partner=\"p0\",product_type=\"savings\",outcome=\"offers\"} 2",
            "offerd_partner_outcomes_total{partner=\"p0\",product_type=\"savings\",outcome=\"timed_out\"} 1",
        ]
    );
}

#[test]
fn a_seat_that_has_left_the_book_is_nobody_s_trouble() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let health = || {
        let rendered = recorder.handle().render();
        let line =
            rendered.lines().find(|line| line.starts_with("offerd_partner_health{")).map(str::to_owned);
        line.and_then(|line| Some(line.rsplit_once(' ')?.1.to_owned()))
    };
    metrics::with_local_recorder(&recorder, || {
        let (statistics, seat) = (AskStatistics::default(), seat());
        (0..10).for_each(|_| statistics.replied(&seat.recorded, noted(&unreachable(), 7)));
        let judged = statistics.judgement(&seat.identity.key, ProductType::Savings).health;
        assert_eq!(judged, Health::Failing);
        statistics.measure_health(|_, product| (product == ProductType::Savings).then_some(judged));
        assert_eq!(health().as_deref(), Some("3"));
        statistics.measure_health(|_, _| None);
        assert_eq!(health().as_deref(), Some("0"));
    });
}

#[test]
fn a_fast_partner_is_waited_for_as_long_as_all_but_one_in_a_hundred_take() {
    let (statistics, seat) = (AskStatistics::default(), seat());
    statistics.offered_after(&seat, (0..1000).map(|nth| if nth % 100 == 0 { 9000 } else { 1000 + nth }));
    assert_eq!(statistics.timeout(&seat), Duration::from_millis(1999));
}

#[test]
fn too_few_asks_say_nothing() {
    let (statistics, seat) = (AskStatistics::default(), seat());
    statistics.offered_after(&seat, [5; 199]);
    assert_eq!(statistics.timeout(&seat), WHOLE);
}

#[test]
fn more_time_outs_than_may_be_bring_the_whole_timeout_back() {
    let (statistics, seat) = (AskStatistics::default(), seat());
    statistics.offered_after(&seat, [600; 980]);
    assert_eq!(statistics.timeout(&seat), Duration::from_millis(600));
    (0..60).for_each(|_| statistics.unanswered(&seat.recorded, noted(&timed_out(), 600)));
    assert_eq!(statistics.timeout(&seat), WHOLE);
}

#[test]
fn a_late_answer_is_no_other_ask() {
    let ask = |elapsed_us, end| EndedAsk { elapsed_us, end, test: false };
    let mut tally: AskTally = (1..=100).map(|nth| ask(nth * 10_000, Some(EndingKind::Offered))).collect();
    [ask(5_000, Some(EndingKind::Declined)), ask(20, Some(EndingKind::Failed))]
        .into_iter()
        .for_each(|ask| tally.count(ask));
    [Some(EndingKind::TimedOut), Some(EndingKind::TimedOut), None]
        .iter()
        .for_each(|end| tally.count(ask(1_000_000, *end)));
    let summary = tally.summary();
    assert_eq!((summary.asked, summary.answered, summary.offered), (104, 101, 100));
    assert_eq!((summary.failed, summary.timed_out), (1, 2));
    let millis = |time: u64| Some(Duration::from_millis(time));
    // Of the 103 that were answered or timed out.
    assert_eq!((summary.p50, summary.p95), (millis(510), millis(970)));
    assert_eq!(serde_json::to_value(&summary).unwrap()["p95"], 0.97);
    assert_eq!((summary.p99, summary.seen_to), (None, millis(1000)), "two ran out of time");
    assert_eq!(AskTally::default().summary().answer_rate, None);
}

prop_compose! {
    fn any_ask()(
        elapsed_us in 0_u32..20_000_000,
        end in prop::sample::select(vec![Some(EndingKind::Offered), Some(EndingKind::Declined), Some(EndingKind::Failed), Some(EndingKind::TimedOut), None]),
        test in any::<bool>(),
    ) -> EndedAsk {
        EndedAsk { elapsed_us, end, test }
    }
}

fn adapted(asks: &[EndedAsk], rule: AdaptiveTimeout) -> Duration {
    let mut estimate = TimeoutEstimate::default();
    estimate.age(asks.len());
    estimate.timeout(&asks.iter().copied().collect(), rule, WHOLE)
}

#[test]
fn a_full_timeout_says_why_and_asks_cut_at_another_one_are_forgotten() {
    let rule = AdaptiveTimeout { false_timeouts: 0.01, floor: Duration::ZERO, ceiling: None };
    let ask = |end, elapsed_us| EndedAsk { elapsed_us, end: Some(end), test: false };
    let mut asks: VecDeque<EndedAsk> = vec![ask(EndingKind::TimedOut, 2_000_000); 200].into();
    let mut estimate = TimeoutEstimate::default();
    let mut told = |asks: &VecDeque<EndedAsk>, new: usize, whole: u64| {
        estimate.age(new);
        let timeout = estimate.timeout(asks, rule, Duration::from_secs(whole));
        (timeout.as_secs_f64(), estimate.why_full(asks, rule).unwrap_or_default())
    };
    let (timeout, why) = told(&asks, 200, 2);
    assert!(timeout == 2.0 && why.contains("more than 1 % of its last live asks ran out of time"), "{why}");
    let (timeout, why) = told(&asks, 0, 10);
    assert!(timeout == 10.0 && why.contains("of 200 live asks under this timeout, 0 have ended"), "{why}");
    asks.extend(vec![ask(EndingKind::Offered, 3_000_000); 200]);
    assert_eq!(told(&asks, 200, 10), (3.0, String::new()));
}

/// Not the partner ended these, but the daemon.
#[test]
fn an_ask_whose_answer_a_restart_hides_is_no_failure_of_its_partner() {
    let ended = |failure| EndedAsk::in_time(&Outcome::Failed(failure), Duration::from_secs(1), false);
    assert_eq!(ended(AskFailure::Unsure), None);
    assert!(ended(AskFailure::Refused).is_some_and(|ask| ask.end == Some(EndingKind::Failed)));
}

proptest! {
    #[test]
    fn a_timeout_only_ever_shortens_and_never_below_the_floor(
        asks in prop::collection::vec(any_ask(), 0..1200),
        false_timeouts in 0.0..0.5,
        floor in 0_u64..20_000,
        ceiling in 0_u64..20_000,
    ) {
        let (floor, ceiling) = (Duration::from_millis(floor), Duration::from_millis(ceiling));
        let timeout = adapted(&asks, AdaptiveTimeout { false_timeouts, floor, ceiling: Some(ceiling) });
        prop_assert!(timeout <= WHOLE);
        prop_assert!(timeout >= floor.min(ceiling).min(WHOLE));
    }

    #[test]
    fn tests_and_what_failed_change_no_timeout(
        asks in prop::collection::vec(any_ask(), 0..1200),
        false_timeouts in 0.0..0.5,
    ) {
        let rule = AdaptiveTimeout { false_timeouts, floor: Duration::ZERO, ceiling: None };
        let mut telling = asks.clone();
        telling.retain(|ask| !ask.test && !matches!(ask.end, Some(EndingKind::Failed) | None));
        prop_assert_eq!(adapted(&asks, rule), adapted(&telling, rule));
    }

    #[test]
    fn where_none_ran_out_of_time_a_percentile_is_the_time_of_the_answer_at_its_rank(
        asks in prop::collection::vec(any_ask(), 0..300),
    ) {
        let timely = |ask: &EndedAsk| !matches!(ask.end, Some(EndingKind::TimedOut | EndingKind::Failed));
        let asks: Vec<EndedAsk> = asks.into_iter().filter(timely).collect();
        let mut times: Vec<u32> = asks.iter().filter(|ask| matches!(ask.end, Some(EndingKind::Offered | EndingKind::Declined))).map(|ask| ask.elapsed_us).collect();
        times.sort_unstable();
        let at = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100);
            times.get(rank.saturating_sub(1)).map(|micros| Duration::from_micros(u64::from(*micros)))
        };
        let tally: AskTally = asks.iter().copied().collect();
        let summary = tally.summary();
        prop_assert_eq!((summary.p50, summary.p95, summary.p99), (at(50), at(95), at(99)));
        let late = asks.iter().filter(|ask| ask.end.is_none()).count();
        prop_assert_eq!(summary.asked, (asks.len() - late) as u64);
        prop_assert_eq!(summary.asked, summary.answered + summary.failed + summary.timed_out);
    }
}
