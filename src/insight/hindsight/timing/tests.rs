//! The estimates match what would have happened. Partners whose response times follow known laws are asked
//! and watched until their timeout, a sample of them for twice as long. The same asks are then replayed with
//! every other timeout.

use fastrand::Rng;

use super::*;
use offerd_engine::matching::ask_statistics::survival::Estimated;

const TIMEOUT_MS: u64 = 5600;

/// The largest tolerated error of an estimate.
const TWO_POINTS: f64 = 0.02;

/// A partner's answer, however late; in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Truth {
    took: f64,
    end: EndingKind,
    /// When the other partners of the table were done.
    others: u64,
}

/// Draws a response time, and whether the answer holds offers.
type Law = fn(&mut Rng) -> (f64, EndingKind);

/// A standard normal number (Box and Muller, 1958).
fn normal(draws: &mut Rng) -> f64 {
    let (one, other) = (1.0 - draws.f64(), draws.f64());
    (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
}

fn offered_by(draws: &mut Rng, share: f64) -> EndingKind {
    if draws.f64() < share { EndingKind::Offered } else { EndingKind::Declined }
}

/// Median 3.9 s, 95th percentile 13.1 s, as measured for a timeout of 5.6 s.
fn log_normal(draws: &mut Rng) -> (f64, EndingKind) {
    (3900.0 * (normal(draws) * 0.7365).exp(), offered_by(draws, 0.6))
}

/// Declines come quickly, offers slowly.
fn bimodal(draws: &mut Rng) -> (f64, EndingKind) {
    if draws.f64() < 0.45 {
        (400.0 * (normal(draws) * 0.3).exp(), offered_by(draws, 0.05))
    } else {
        (6000.0 * (normal(draws) * 0.25).exp(), offered_by(draws, 0.9))
    }
}

/// Most answer soon, a few per cent very late (Pareto).
fn heavy_tail(draws: &mut Rng) -> (f64, EndingKind) {
    (900.0 * (1.0 - draws.f64()).powf(-1.0 / 0.9), offered_by(draws, 0.5))
}

/// One in eight is never answered, one in twelve fails.
fn hanging(draws: &mut Rng) -> (f64, EndingKind) {
    match draws.u32(0..24) {
        0..3 => (f64::INFINITY, EndingKind::Offered),
        3..5 => (draws.f64() * 2000.0, EndingKind::Failed),
        _ => (2500.0 * (normal(draws) * 0.8).exp(), offered_by(draws, 0.7)),
    }
}

fn asks(law: Law, seed: u64) -> Vec<Truth> {
    let mut draws = Rng::with_seed(seed);
    let ask = |_| {
        let (took, end) = law(&mut draws);
        Truth { took, end, others: draws.u64(200..4000) }
    };
    (0..6000).map(ask).collect()
}

/// The recorded part of the asks: each up to the timeout, and every third that times out up to twice the
/// timeout.
fn recorded(truths: &[Truth]) -> (SeatAsks, Vec<LateAsk>) {
    let (mut recorded, mut late, mut timed_out) = (SeatAsks::default(), Vec::new(), 0);
    let micros = |millis: f64| (millis * 1000.0) as u32;
    for truth in truths {
        let ended = truth.took <= TIMEOUT_MS as f64;
        let waited = truth.took.min(TIMEOUT_MS as f64);
        let end = if ended { truth.end } else { EndingKind::TimedOut };
        recorded.tally.count(EndedAsk { elapsed_us: micros(waited), end: Some(end), test: false });
        recorded.waits.count(Wait { others: truth.others, after: 1, elapsed: waited as u64, ended });
        timed_out += usize::from(!ended);
        if ended || timed_out % 3 != 0 {
            continue;
        }
        let watched = truth.took.min(2.0 * TIMEOUT_MS as f64);
        let end = match truth.end {
            _ if watched < truth.took => EndingKind::TimedOut,
            EndingKind::Offered => EndingKind::Offered,
            _ => EndingKind::Declined,
        };
        let budget_us = micros(TIMEOUT_MS as f64);
        late.push(LateAsk { at: 0, test: false, budget_us, elapsed_us: micros(watched), end });
    }
    (recorded, late)
}

fn advice(law: Law, seed: u64) -> (Vec<Truth>, SeatTiming, Vec<OtherTimeout>) {
    let truths = asks(law, seed);
    let (recorded, late) = recorded(&truths);
    let survival = recorded.tally.survival(late.iter().map(LateAsk::observed));
    let now = Duration::from_millis(TIMEOUT_MS);
    let others = other_timeouts(&survival, &recorded.waits, now, Duration::from_secs(30));
    (truths, recorded.timing(None, &late, now), others)
}

/// The share of asks that end with offers, replayed with a timeout.
fn offered(truths: &[Truth], timeout_ms: u64) -> f64 {
    let came =
        truths.iter().filter(|truth| truth.end == EndingKind::Offered && truth.took <= timeout_ms as f64);
    came.count() as f64 / truths.len() as f64
}

/// When a share of the tables is complete, replayed with a timeout, in milliseconds.
fn complete(truths: &[Truth], timeout_ms: u64, share: f64) -> f64 {
    let waits = truths.iter().map(|truth| truth.took.min(timeout_ms as f64).max(truth.others as f64));
    let mut waits: Vec<f64> = waits.collect();
    waits.sort_by(f64::total_cmp);
    waits[(share * waits.len() as f64).ceil() as usize - 1]
}

const LAWS: [(&str, Law); 4] =
    [("log-normal", log_normal), ("bimodal", bimodal), ("heavy tail", heavy_tail), ("hanging", hanging)];

#[test]
fn the_share_of_offers_at_each_timeout_is_within_two_points_of_a_replayed_truth() {
    for (name, law) in LAWS {
        let (mut within, mut all) = (0, 0);
        for seed in 0..10 {
            let (truths, _, others) = advice(law, seed);
            assert_eq!(others.len(), 6);
            for other in &others {
                let truth = offered(&truths, other.timeout_ms);
                let Estimated { share, low, high } = other.offers.expect("somebody has waited so long");
                let place = format!("{name} {seed}, {} %: {share} of {truth}", other.percent);
                assert!((share - truth).abs() <= TWO_POINTS, "{place}");
                all += 1;
                within += usize::from((low..=high).contains(&truth));
            }
        }
        // The asks are the same, so the intervals, which cover all possible asks, nearly always hold the
        // truth.
        assert!(within * 100 >= all * 95, "{name}: {within} of {all} intervals hold the truth");
    }
}

#[test]
fn offers_won_and_lost_are_told_against_those_of_today() {
    let (truths, _, others) = advice(log_normal, 3);
    let today = offered(&truths, TIMEOUT_MS);
    for other in &others {
        let against = other.against_now.unwrap();
        let truth = offered(&truths, other.timeout_ms) / today;
        assert!((against.share - truth).abs() <= 2.0 * TWO_POINTS / today, "{other:?}: {truth}");
        assert!(against.low <= against.share && against.share <= against.high);
    }
    assert_eq!(others[3].change_summary(), "as it is");
    assert!(others[0].change_summary().starts_with('−') && others[5].change_summary().starts_with('+'));
}

#[test]
fn a_wait_is_told_within_five_in_a_hundred_of_a_replayed_truth() {
    for (name, law) in LAWS {
        let (truths, _, others) = advice(law, 5);
        for other in &others {
            for (share, told) in [(0.5, other.tables_p50_ms), (0.95, other.tables_p95_ms)] {
                let (truth, told) = (complete(&truths, other.timeout_ms, share), told.unwrap() as f64);
                let place = format!("{name}, {} %, {share}: {told} ms of {truth} ms", other.percent);
                assert!((told - truth).abs() <= truth * 0.05, "{place}");
            }
        }
    }
}

/// The 95th percentile is of all asks, however the partner behaves, not of the answers within the timeout.
#[test]
fn percentiles_are_those_of_all_answers_and_not_of_the_quick_ones() {
    for seed in 0..5 {
        let (_, timing, _) = advice(log_normal, seed);
        let (p50, seen_to) = (timing.p50_ms.unwrap(), timing.seen_to_ms.unwrap());
        assert!((3600..4200).contains(&p50), "{p50}");
        assert_eq!(
            (timing.p95_ms, seen_to),
            (None, 2 * TIMEOUT_MS),
            "13.1 s is later than anybody has waited"
        );
    }
    let (truths, timing, _) = advice(bimodal, 1);
    let mut took: Vec<f64> = truths.iter().map(|truth| truth.took).collect();
    took.sort_by(f64::total_cmp);
    let (truth, told) = (took[took.len() * 95 / 100], timing.p95_ms.unwrap() as f64);
    assert!(told > TIMEOUT_MS as f64 && (told - truth).abs() < truth * 0.03, "{told} of {truth}");
}

#[test]
fn without_late_answers_nothing_is_told_of_longer_timeouts() {
    let (recorded, _) = recorded(&asks(log_normal, 1));
    let survival = recorded.tally.survival([]);
    let now = Duration::from_millis(TIMEOUT_MS);
    let others = other_timeouts(&survival, &recorded.waits, now, Duration::from_secs(30));
    let told: Vec<bool> = others.iter().map(|other| other.offers.is_some()).collect();
    assert_eq!(told, [true, true, true, true, false, false]);
    assert_eq!(others[5].change_summary(), "not seen");
}
