//! Look-ups that hang or fail. Where threads take part, the clock runs until they are done, and then jumps.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::kit::{Server, answer, near, once, post, send, wire};
use crate::lookups::{Addresses, Asked, HOSTS_MAX, KnownHosts, Lookups, RETRY_AFTER};
use crate::{CallError, CallReply, LookupRules, PoolRules, Wire};

const RULES: LookupRules =
    LookupRules { threads: 4, timeout: Duration::from_secs(2), kept: Duration::from_secs(30), stale: HOUR };

const HOUR: Duration = Duration::from_secs(3_600);

const HOST: &str = "lender.example";

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn here() -> Vec<SocketAddr> {
    vec!["127.0.0.1:0".parse().unwrap()]
}

fn found() -> Option<Addresses> {
    Some(here().into())
}

fn hosts() -> KnownHosts {
    let mut hosts = KnownHosts::default();
    hosts.rules = RULES;
    hosts
}

/// Runs the look-up of a host, which takes this long.
fn look_up(hosts: &mut KnownHosts, host: &str, at: Instant, took: Duration, found: Option<Addresses>) {
    hosts.ask(host, at);
    assert_eq!(hosts.next(at).as_deref(), Some(host));
    hosts.end(host, found, at + took);
}

/// A resolver that answers each host once, except those of `hung.example`, and then hangs until the sender is dropped.
fn hangs(answers: usize) -> (Arc<Lookups>, Sender<()>) {
    let (hold, held) = channel::<()>();
    let (held, asked) = (Mutex::new(held), AtomicUsize::new(0));
    let lookups = Lookups::new(move |host| {
        if host.ends_with("hung.example") || asked.fetch_add(1, Ordering::SeqCst) >= answers {
            let _ = held.lock().recv();
        }
        Some(here())
    });
    lookups.set_rules(RULES);
    (lookups, hold)
}

#[derive(Debug)]
enum Then {
    /// No look-up since the answer.
    Idle,
    /// One failed this long ago.
    Failed(Duration),
    /// One hangs for this long.
    Hangs(Duration),
}

#[test]
fn an_answer_serves_for_longer_while_look_ups_fail_or_hang() {
    use Then::{Failed, Hangs, Idle};
    let moment = ms(1);
    let ends = RULES.kept + RULES.stale;
    // The age of the answer, its look-ups since, and what a call does.
    let cases = [
        (RULES.kept - moment, Idle, "uses it"),
        (RULES.kept, Idle, "waits 500ms, then uses it"),
        (RULES.kept * 2, Hangs(ms(499)), "waits 500ms, then uses it"),
        (RULES.kept * 2, Hangs(ms(500)), "uses it as an old one"),
        (RULES.kept * 2, Failed(RETRY_AFTER - moment), "uses it as an old one"),
        (RULES.kept * 2, Failed(RETRY_AFTER), "waits 500ms, then uses it"),
        (ends - moment, Hangs(ms(9_000)), "uses it as an old one"),
        (ends, Hangs(ms(9_000)), "waits 2s, then fails"),
        (ends, Failed(moment), "waits 2s, then fails"),
    ];
    for (age, then, does) in cases {
        let (mut hosts, now) = (hosts(), Instant::now());
        look_up(&mut hosts, HOST, now, Duration::ZERO, found());
        let now = now + age;
        match then {
            Idle => {}
            Failed(ago) => look_up(&mut hosts, HOST, now - ago, Duration::ZERO, None),
            Hangs(since) => {
                hosts.ask(HOST, now - since);
                assert!(hosts.next(now - since).is_some());
            }
        }
        let asked = match hosts.ask(HOST, now) {
            Asked::Known(_) => "uses it".to_owned(),
            Asked::Old(_) => "uses it as an old one".to_owned(),
            Asked::Wait { wait, old, .. } => {
                format!("waits {wait:?}, then {}", if old.is_some() { "uses it" } else { "fails" })
            }
            Asked::Refused => "fails".to_owned(),
        };
        assert_eq!(asked, does, "{age:?} {then:?}");
    }
}

#[test]
fn a_host_has_one_look_up_at_a_time_and_each_look_up_a_thread() {
    let (mut hosts, now) = (hosts(), Instant::now());
    for host in ["a", "b", "a", "c", "d", "e", "e", "f"] {
        hosts.ask(host, now);
    }
    let mut started = || std::iter::from_fn(|| hosts.next(now)).collect::<Vec<_>>();
    assert_eq!(started(), ["a", "b", "c", "d"]);
    assert!(started().is_empty());
    assert_eq!((hosts.awaited("a", now), hosts.awaited("e", now)), (Some(true), Some(false)));
    hosts.end("c", found(), now);
    assert_eq!(hosts.next(now).as_deref(), Some("e"));
    assert_eq!(hosts.awaited("c", now), None, "it is answered");
    hosts.end("a", None, now);
    assert_eq!(hosts.next(now).as_deref(), Some("f"));
}

#[test]
fn slow_hosts_leave_half_of_the_threads_to_the_others() {
    let (mut hosts, now) = (hosts(), Instant::now());
    let slow = ["s1", "s2", "s3"];
    for host in slow {
        look_up(&mut hosts, host, now, RULES.timeout, None);
    }
    look_up(&mut hosts, "quick", now, RULES.timeout - ms(1), None);
    for host in slow.into_iter().chain(["quick"]) {
        hosts.ask(host, now);
    }
    let mut started = || std::iter::from_fn(|| hosts.next(now)).collect::<Vec<_>>();
    assert_eq!(started(), ["quick", "s1", "s2"]);
    hosts.end("s1", found(), now);
    assert_eq!(hosts.next(now).as_deref(), Some("s3"));
    look_up(&mut hosts, "new", now, Duration::ZERO, found());
    hosts.ask("s1", now + RULES.kept);
    assert_eq!(hosts.next(now + RULES.kept).as_deref(), Some("s1"), "its last look-up was quick");
}

#[test]
fn known_hosts_are_bounded() {
    let (mut hosts, now) = (hosts(), Instant::now());
    let host = |number: usize| format!("{number}.lender.example");
    look_up(&mut hosts, &host(0), now, Duration::ZERO, found());
    (1..HOSTS_MAX).for_each(|number| drop(hosts.ask(&host(number), now)));
    // An answer makes room for a look-up; a look-up for nothing.
    assert!(matches!(hosts.ask(&host(HOSTS_MAX), now), Asked::Wait { .. }));
    assert!(matches!(hosts.ask(&host(0), now), Asked::Refused));
    assert!(matches!(hosts.ask(&host(1), now), Asked::Wait { .. }), "it is waited for already");
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_look_up_only_so_long() {
    let (lookups, _hold) = hangs(0);
    for number in 0..RULES.threads {
        let begun = Instant::now();
        let failed = lookups.find(&format!("{number}.example")).await.unwrap_err();
        assert_eq!(failed, CallError::LookupTimedOut { after: RULES.timeout });
        let waited = begun.elapsed();
        assert!(waited >= RULES.timeout && waited < RULES.timeout * 2, "{waited:?}");
    }
    assert_eq!(lookups.find(HOST).await, Err(CallError::NoLookupThread));
}

#[tokio::test]
async fn a_look_up_that_nobody_waits_for_any_more_serves_later_calls() {
    let (lookups, hold) = hangs(0);
    lookups.set_rules(LookupRules { threads: 1, ..RULES });
    tokio::time::pause();
    assert!(lookups.find("hung.example").await.is_err());
    assert_eq!(lookups.find(HOST).await, Err(CallError::NoLookupThread));
    tokio::time::resume();
    drop(hold);
    lookups.set_rules(LookupRules { threads: 1, timeout: HOUR, ..RULES });
    for host in [HOST, "hung.example"] {
        assert_eq!(lookups.find(host).await, Ok(here().into()), "{host}");
    }
}

#[tokio::test]
async fn an_old_answer_costs_one_wait_while_a_look_up_hangs() {
    let (lookups, _hold) = hangs(1);
    lookups.set_rules(LookupRules { timeout: HOUR, ..RULES });
    assert_eq!(lookups.find(HOST).await, Ok(here().into()));
    lookups.set_rules(RULES);
    tokio::time::pause();
    tokio::time::advance(RULES.kept).await;
    let begun = Instant::now();
    assert_eq!(lookups.find(HOST).await, Ok(here().into()));
    let waited = begun.elapsed();
    assert!(waited >= RULES.timeout / 4 && waited < RULES.timeout, "{waited:?}");
    let begun = Instant::now();
    assert_eq!(lookups.find(HOST).await, Ok(here().into()));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    tokio::time::advance(RULES.stale).await;
    assert!(matches!(lookups.find(HOST).await, Err(CallError::LookupTimedOut { .. })));
}

/// A runtime waits for its blocking tasks, so a look-up must not be one.
#[test]
fn a_runtime_ends_while_look_ups_hang() {
    let (lookups, _hold) = hangs(0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.unwrap();
    assert!(runtime.block_on(lookups.find(HOST)).is_err());
    drop(runtime);
}

/// Calls a host whose look-up hangs; the clock jumps while it waits.
async fn hung(wire: &Wire, rules: PoolRules, time: Duration) -> Result<CallReply, CallError> {
    let endpoint = wire.pool("hung", rules).unwrap().endpoint("loan", once());
    tokio::time::pause();
    let result = endpoint.call(post("http://hung.example/"), Instant::now() + time).await;
    tokio::time::resume();
    assert_eq!((endpoint.state().calls, endpoint.state().failed), (1, 1));
    result
}

#[tokio::test]
async fn a_call_names_a_look_up_that_hangs_and_other_calls_go_on() {
    let server = Server::always(answer("200 OK", "offers")).await;
    let (lookups, _hold) = hangs(1);
    let wire = wire(50, false);
    let wire = Wire { lookups, ..wire };
    let patient = PoolRules { connect_timeout: HOUR, ..near() };
    // Which time ends first: that of look-ups, of connecting, of the call.
    let cases = [
        (patient.clone(), HOUR),
        (PoolRules { connect_timeout: ms(900), ..near() }, HOUR),
        (patient, ms(800)),
    ];
    for ((rules, time), waited) in cases.into_iter().zip([2_000, 900, 800]) {
        let CallError::LookupTimedOut { after } = hung(&wire, rules, time).await.unwrap_err() else {
            panic!("after {waited} ms another error")
        };
        assert!(after >= ms(waited) && after < ms(waited + 100), "{after:?}");
    }
    wire.set_lookup_rules(LookupRules { timeout: HOUR, ..RULES });
    let lender = wire.pool("lender", PoolRules { connect_timeout: HOUR, ..near() }).unwrap();
    let lender = lender.endpoint("loan", once());
    let url = format!("http://{HOST}:{}/", server.port);
    assert_eq!(send(&lender, url).await.unwrap().body, "offers");
}

#[test]
fn the_cause_says_how_long_a_call_waited() {
    let said = CallError::LookupTimedOut { after: Duration::from_micros(1_500_900) }.to_string();
    assert!(said.starts_with("the host name could not be looked up in 1500ms: "), "{said}");
    assert!(!CallError::NoLookupThread.blames_remote_system(), "the remote system was not even looked for");
}
