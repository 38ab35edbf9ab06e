//! Look-ups of host names. The system's resolver blocks a thread for as long as name servers take.
//!
//! Look-ups have a few threads of their own, so only calls to remote systems wait for name servers, and the
//! process ends without them. A host has one look-up at a time; its answer serves all pools of the wire, and
//! for longer while later look-ups fail or hang. A call that gives up leaves its look-up to later calls.

use std::collections::{HashMap, VecDeque};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use metrics::{counter, gauge};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::error::CallError;
use offerd_base::telemetry::metrics::{WIRE_LOOKUPS, WIRE_LOOKUPS_RUNNING};

/// Maximum number of hosts that are known or waited for; beyond it, known ones are forgotten. Fixed, since it
/// is far more than a book has. A mapping may compute a URL, so their number is not the operator's alone.
pub(super) const HOSTS_MAX: usize = 4096;

/// How long after a failure an old answer serves without another look-up. Fixed: longer than a call and its
/// retry, too short to miss the recovery of name servers.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Limits of look-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupRules {
    /// Maximum number of threads, each with the look-up of one host.
    pub threads: usize,
    /// How long a call waits for a look-up; a quarter of it if an old answer can serve.
    pub timeout: Duration,
    /// How long an answer serves without another look-up.
    pub kept: Duration,
    /// How long after that it serves while look-ups fail or hang.
    pub stale: Duration,
}

impl Default for LookupRules {
    fn default() -> Self {
        let (kept, stale) = (Duration::from_secs(30), Duration::from_secs(3_600));
        Self { threads: 32, timeout: Duration::from_secs(2), kept, stale }
    }
}

pub(super) type Addresses = Arc<[SocketAddr]>;

/// What a look-up found; `None` if it failed.
type Found = Option<Addresses>;

/// Looks up a host, and blocks meanwhile.
type Resolve = dyn Fn(&str) -> Option<Vec<SocketAddr>> + Send + Sync;

/// The look-ups of a wire.
pub(super) struct Lookups {
    resolve: Box<Resolve>,
    hosts: Mutex<KnownHosts>,
}

impl Lookups {
    /// Look-ups by the system's resolver: `/etc/hosts`, `/etc/nsswitch.conf` and `/etc/resolv.conf`.
    pub(super) fn of_system() -> Arc<Self> {
        Self::new(|host| (host, 0).to_socket_addrs().ok().map(Iterator::collect))
    }

    pub(super) fn new(
        resolve: impl Fn(&str) -> Option<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { resolve: Box::new(resolve), hosts: Mutex::default() })
    }

    /// Replaces the limits.
    pub(super) fn set_rules(&self, rules: LookupRules) {
        self.hosts.lock().rules = rules;
    }

    /// The addresses of a host, unchecked.
    pub(super) async fn find(self: &Arc<Self>, host: &str) -> Result<Addresses, CallError> {
        let asked = {
            let mut hosts = self.hosts.lock();
            let asked = hosts.ask(host, Instant::now());
            self.start(&mut hosts);
            asked
        };
        let (mut ended, wait, old) = match asked {
            Asked::Known(addresses) => return Ok(addresses),
            Asked::Old(addresses) => return Ok(counted_as_stale(addresses)),
            Asked::Refused => return Err(CallError::NoLookupThread),
            Asked::Wait { ended, wait, old } => (ended, wait, old),
        };
        let found = timeout(wait, ended.wait_for(Option::is_some)).await;
        let failure = match found {
            Ok(found) => match found.ok().and_then(|found| found.clone().flatten()) {
                Some(addresses) => return Ok(addresses),
                None => CallError::Unresolved,
            },
            Err(_) => self.awaited(host, wait).unwrap_or(CallError::LookupTimedOut { after: wait }),
        };
        old.map(counted_as_stale).ok_or(failure)
    }

    /// Why a call has no address of the host `after` some time; `None` if it does not wait for one.
    pub(super) fn awaited(&self, host: &str, after: Duration) -> Option<CallError> {
        let is_running = self.hosts.lock().awaited(host, Instant::now())?;
        Some(if is_running { CallError::LookupTimedOut { after } } else { CallError::NoLookupThread })
    }

    /// Starts a thread for each look-up that may run. It ends with the look-up, so idle wires have none.
    fn start(self: &Arc<Self>, hosts: &mut KnownHosts) {
        while let Some(name) = hosts.next(Instant::now()) {
            let (lookups, host) = (Arc::clone(self), name.clone());
            let look_up = move || {
                let found = (lookups.resolve)(&host).filter(|found| !found.is_empty());
                gauge!(WIRE_LOOKUPS_RUNNING).decrement(1.0);
                let result = if found.is_some() { "found" } else { "failed" };
                counter!(WIRE_LOOKUPS, "result" => result).increment(1);
                let mut hosts = lookups.hosts.lock();
                hosts.end(&host, found.map(Addresses::from), Instant::now());
                lookups.start(&mut hosts);
            };
            gauge!(WIRE_LOOKUPS_RUNNING).increment(1.0);
            if thread::Builder::new().name("lookup".to_owned()).spawn(look_up).is_err() {
                // The system has no thread left; the next call tries again.
                gauge!(WIRE_LOOKUPS_RUNNING).decrement(1.0);
                return hosts.put_back(name);
            }
        }
    }
}

fn counted_as_stale(addresses: Addresses) -> Addresses {
    counter!(WIRE_LOOKUPS, "result" => "stale").increment(1);
    addresses
}

/// What a call does for the addresses of a host.
#[derive(Debug)]
pub(super) enum Asked {
    /// Uses these.
    Known(Addresses),
    /// Uses these, since look-ups fail or hang.
    Old(Addresses),
    /// Waits for a look-up, and uses the old answer if it comes to nothing.
    Wait { ended: watch::Receiver<Option<Found>>, wait: Duration, old: Option<Addresses> },
    /// Fails: [`HOSTS_MAX`] hosts are waited for.
    Refused,
}

/// The known hosts and their look-ups. Pure: the caller passes the time.
#[derive(Debug, Default)]
pub(super) struct KnownHosts {
    pub(super) rules: LookupRules,
    hosts: HashMap<String, Host>,
    /// Look-ups without a thread, in order; then those of slow hosts.
    queues: [VecDeque<String>; 2],
    running: usize,
    slow_running: usize,
}

#[derive(Debug, Default)]
struct Host {
    answer: Option<(Addresses, Instant)>,
    failed_at: Option<Instant>,
    /// Whether its last look-up took longer than a call waits.
    slow: bool,
    lookup: Option<Lookup>,
}

#[derive(Debug)]
struct Lookup {
    asked_at: Instant,
    started_at: Option<Instant>,
    ended: watch::Sender<Option<Found>>,
}

impl Host {
    fn usable(&self, rules: &LookupRules, now: Instant) -> Option<(&Addresses, Duration)> {
        let (addresses, at) = self.answer.as_ref()?;
        let age = now.saturating_duration_since(*at);
        (age < rules.kept.saturating_add(rules.stale)).then_some((addresses, age))
    }
}

impl KnownHosts {
    pub(super) fn ask(&mut self, name: &str, now: Instant) -> Asked {
        if !self.hosts.contains_key(name) && self.hosts.len() >= HOSTS_MAX {
            self.hosts.retain(|_, host| host.lookup.is_some());
            if self.hosts.len() >= HOSTS_MAX {
                return Asked::Refused;
            }
        }
        let (rules, host) = (&self.rules, self.hosts.entry(name.to_owned()).or_default());
        let mut wait = rules.timeout;
        let mut old = None;
        if let Some((addresses, age)) = host.usable(rules, now) {
            if age < rules.kept {
                return Asked::Known(Arc::clone(addresses));
            }
            // Leaves time to connect.
            wait /= 4;
            let is_past = |at: Instant, span| now.saturating_duration_since(at) >= span;
            let fails = host.failed_at.is_some_and(|at| !is_past(at, RETRY_AFTER));
            if fails || host.lookup.as_ref().is_some_and(|lookup| is_past(lookup.asked_at, wait)) {
                return Asked::Old(Arc::clone(addresses));
            }
            old = Some(Arc::clone(addresses));
        }
        let queue = &mut self.queues[usize::from(host.slow)];
        let lookup = host.lookup.get_or_insert_with(|| {
            queue.push_back(name.to_owned());
            Lookup { asked_at: now, started_at: None, ended: watch::Sender::new(None) }
        });
        Asked::Wait { ended: lookup.ended.subscribe(), wait, old }
    }

    /// The next look-up to run, if a thread is free. Slow hosts leave half of the threads to the others.
    pub(super) fn next(&mut self, now: Instant) -> Option<String> {
        let threads = self.rules.threads.max(1);
        if self.running >= threads {
            return None;
        }
        let may_be_slow = self.slow_running < (threads / 2).max(1);
        let [others, slow] = &mut self.queues;
        let name = others.pop_front().or_else(|| if may_be_slow { slow.pop_front() } else { None })?;
        let host = self.hosts.get_mut(&name)?;
        host.lookup.as_mut()?.started_at = Some(now);
        self.running += 1;
        self.slow_running += usize::from(host.slow);
        Some(name)
    }

    /// Queues a look-up again that could not run.
    fn put_back(&mut self, name: String) {
        self.running -= 1;
        let Some(host) = self.hosts.get_mut(&name) else { return };
        self.slow_running -= usize::from(host.slow);
        if let Some(lookup) = &mut host.lookup {
            lookup.started_at = None;
        }
        self.queues[usize::from(host.slow)].push_front(name);
    }

    pub(super) fn end(&mut self, name: &str, found: Found, now: Instant) {
        self.running -= 1;
        let Some(host) = self.hosts.get_mut(name) else { return };
        self.slow_running -= usize::from(host.slow);
        let Some(lookup) = host.lookup.take() else { return };
        let took = lookup.started_at.map(|at| now.saturating_duration_since(at));
        host.slow = took.is_some_and(|took| took >= self.rules.timeout);
        match &found {
            Some(addresses) => (host.answer, host.failed_at) = (Some((Arc::clone(addresses), now)), None),
            None => host.failed_at = Some(now),
        }
        lookup.ended.send_replace(Some(found));
    }

    /// Whether the look-up runs that calls without an answer wait for; `None` if no call waits for one.
    pub(super) fn awaited(&self, name: &str, now: Instant) -> Option<bool> {
        let host = self.hosts.get(name).filter(|host| host.usable(&self.rules, now).is_none())?;
        host.lookup.as_ref().map(|lookup| lookup.started_at.is_some())
    }
}
