//! Connection limits: per address, per listener, and in total for the process's file descriptors. At a limit,
//! an idle connection, without a request or a reading client, is closed for the new one, or else the new one
//! is refused. The longest idle one of the address with the most connections goes first, trusted proxies
//! last.
//!
//! Requests only set atomics of their own connection (`Activity`). Idle connections are collected in batches,
//! so that a flood of connections costs little for each.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::activity::{Activity, IdleSince};
use super::client_address::{Peer, household, is_in};
use offerd_base::telemetry::metrics::{HTTP_CONNECTIONS, HTTP_CONNECTIONS_CLOSED};

/// How often an idle connection is closed for a new one, since another listener may take the slot.
const ATTEMPTS: usize = 8;

const CLOSING: Duration = Duration::from_millis(250);

/// The most idle connections that one scan collects: a number, and a share of all that are scanned.
const BATCH: usize = 256;
const BATCH_SHARE: usize = 16;

const NONE_IDLE: Duration = Duration::from_millis(10);

/// The most refusals under way: a number, and a share of all connections. They take descriptors too.
const REFUSALS: usize = 64;
const REFUSALS_SHARE: usize = 16;

/// Connection limits.
#[derive(Debug, Clone)]
pub struct ConnectionRules {
    /// Connections of one address or, for IPv6, one /64 network; 0 means no limit.
    pub per_address: usize,
    /// Networks of trusted proxies, which are exempt from the limit per address.
    pub trusted_proxies: Vec<IpNet>,
    /// Connections of all listeners that share these rules.
    pub total: usize,
}

impl Default for ConnectionRules {
    fn default() -> Self {
        Self { per_address: 0, trusted_proxies: Vec::new(), total: usize::MAX }
    }
}

/// The open connections of all listeners that share one set of rules.
#[derive(Debug)]
pub struct Connections {
    rules: ConnectionRules,
    begun: Instant,
    places: Mutex<ConnectionTable>,
}

#[derive(Debug, Default)]
struct ConnectionTable {
    next: u64,
    open: HashMap<u64, Arc<ConnectionEntry>>,
    of_address: HashMap<IpAddr, HashSet<u64>>,
    of_listener: HashMap<&'static str, usize>,
    idle: HashMap<ConnectionScope, IdleConnections>,
}

#[derive(Debug)]
struct IdleConnections {
    candidates: VecDeque<(Arc<ConnectionEntry>, IdleSince)>,
    none_at: Option<Instant>,
}

/// The closing order: whether the connection is a proxy's, how many its address has, since when it is idle.
type ClosingOrder = (bool, Reverse<usize>, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ConnectionScope {
    Address(IpAddr),
    Listener(&'static str),
    /// The limit of the process's file descriptors.
    Descriptors,
}

impl ConnectionScope {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Address(_) => "address",
            Self::Listener(_) => "listener",
            Self::Descriptors => "descriptors",
        }
    }
}

#[derive(Debug)]
pub(super) struct ConnectionEntry {
    id: u64,
    listener: &'static str,
    address: IpAddr,
    trusted: bool,
    activity: Arc<Activity>,
    leave: Notify,
    left: Notify,
}

/// Holds a connection's slot until it ends, however it ends, and counts it in `offerd_http_connections`.
#[derive(Debug)]
pub(super) struct OpenConnection {
    entry: Arc<ConnectionEntry>,
    connections: Arc<Connections>,
}

impl Connections {
    /// No connections yet, under these rules.
    pub fn new(rules: ConnectionRules) -> Arc<Self> {
        Arc::new(Self { rules, begun: Instant::now(), places: Mutex::default() })
    }

    pub(super) fn refusals(&self) -> usize {
        (self.rules.total / REFUSALS_SHARE).clamp(1, REFUSALS)
    }

    /// Takes a slot for a connection of a listener that may have `most`; closes an idle one if a limit is
    /// reached. The error is that limit, if no connection is idle.
    pub(super) async fn admit(
        self: &Arc<Self>,
        listener: &'static str,
        most: usize,
        peer: Peer,
    ) -> Result<OpenConnection, ConnectionScope> {
        let mut full = ConnectionScope::Listener(listener);
        for _ in 0..ATTEMPTS {
            full = match self.try_admit(listener, most, peer) {
                Ok(open) => return Ok(open),
                Err(full) => full,
            };
            if !self.close_one(full).await {
                return Err(full);
            }
        }
        Err(full)
    }

    /// Closes the longest idle connection and waits until it is gone; `false` when none is idle.
    pub(super) async fn close_one(&self, within: ConnectionScope) -> bool {
        let Some(entry) = self.places.lock().take_idle(within) else { return false };
        let (listener, reason) = (entry.listener, within.reason());
        metrics::counter!(HTTP_CONNECTIONS_CLOSED, "listener" => listener, "reason" => reason).increment(1);
        entry.leave.notify_one();
        tokio::time::timeout(CLOSING, entry.left.notified()).await.is_ok()
    }

    fn try_admit(
        self: &Arc<Self>,
        listener: &'static str,
        most: usize,
        peer: Peer,
    ) -> Result<OpenConnection, ConnectionScope> {
        let address = household(peer.0.ip().to_canonical());
        let trusted = is_in(&self.rules.trusted_proxies, peer.0.ip().to_canonical());
        let mut places = self.places.lock();
        let per_address = if trusted { 0 } else { self.rules.per_address };
        if per_address > 0 && places.crowd(address) >= per_address {
            return Err(ConnectionScope::Address(address));
        }
        if places.of_listener.get(listener).copied().unwrap_or_default() >= most {
            return Err(ConnectionScope::Listener(listener));
        }
        if places.open.len() >= self.rules.total {
            return Err(ConnectionScope::Descriptors);
        }
        let entry = Arc::new(ConnectionEntry {
            id: places.next,
            listener,
            address,
            trusted,
            activity: Arc::new(Activity::since(self.begun)),
            leave: Notify::new(),
            left: Notify::new(),
        });
        places.next += 1;
        places.add(&entry);
        drop(places);
        metrics::gauge!(HTTP_CONNECTIONS, "listener" => listener).increment(1.0);
        Ok(OpenConnection { entry, connections: Arc::clone(self) })
    }
}

impl ConnectionTable {
    fn crowd(&self, address: IpAddr) -> usize {
        self.of_address.get(&address).map_or(0, HashSet::len)
    }

    fn add(&mut self, entry: &Arc<ConnectionEntry>) {
        self.open.insert(entry.id, Arc::clone(entry));
        self.of_address.entry(entry.address).or_default().insert(entry.id);
        *self.of_listener.entry(entry.listener).or_default() += 1;
    }

    fn remove(&mut self, entry: &ConnectionEntry) {
        self.open.remove(&entry.id);
        if let Some(of_address) = self.of_address.get_mut(&entry.address) {
            of_address.remove(&entry.id);
            if of_address.is_empty() {
                self.of_address.remove(&entry.address);
                self.idle.remove(&ConnectionScope::Address(entry.address));
            }
        }
        if let Some(of_listener) = self.of_listener.get_mut(entry.listener) {
            *of_listener -= 1;
        }
    }

    fn take_idle(&mut self, within: ConnectionScope) -> Option<Arc<ConnectionEntry>> {
        loop {
            if let Some(found) = self.idle.get_mut(&within) {
                while let Some((entry, quiet)) = found.candidates.pop_front() {
                    if entry.activity.close(quiet) {
                        return Some(entry);
                    }
                }
                if found.none_at.is_some_and(|at| at.elapsed() < NONE_IDLE) {
                    return None;
                }
            }
            let candidates = self.look(within);
            let none_at = candidates.is_empty().then(Instant::now);
            self.idle.insert(within, IdleConnections { candidates, none_at });
            if none_at.is_some() {
                return None;
            }
        }
    }

    /// The idle connections, in closing order.
    fn look(&self, within: ConnectionScope) -> VecDeque<(Arc<ConnectionEntry>, IdleSince)> {
        let mut idle: Vec<_> = match within {
            ConnectionScope::Address(address) => {
                let of_address = self.of_address.get(&address).into_iter().flatten();
                of_address.filter_map(|id| self.candidate(self.open.get(id)?)).collect()
            }
            ConnectionScope::Listener(listener) => {
                let of_listener = self.open.values().filter(|entry| entry.listener == listener);
                of_listener.filter_map(|entry| self.candidate(entry)).collect()
            }
            ConnectionScope::Descriptors => {
                self.open.values().filter_map(|entry| self.candidate(entry)).collect()
            }
        };
        let batch = (idle.len() / BATCH_SHARE).clamp(1, BATCH);
        if idle.len() > batch {
            idle.select_nth_unstable_by_key(batch, |(order, ..)| *order);
            idle.truncate(batch);
        }
        idle.sort_unstable_by_key(|(order, ..)| *order);
        idle.into_iter().map(|(_, entry, quiet)| (Arc::clone(entry), quiet)).collect()
    }

    /// A connection and its place in the closing order, if it is idle.
    fn candidate<'p>(
        &self,
        entry: &'p Arc<ConnectionEntry>,
    ) -> Option<(ClosingOrder, &'p Arc<ConnectionEntry>, IdleSince)> {
        let quiet = entry.activity.quiet()?;
        Some(((entry.trusted, Reverse(self.crowd(entry.address)), quiet.since_us), entry, quiet))
    }
}

impl OpenConnection {
    pub(super) fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.entry.activity)
    }

    /// Returns when the connection is to close for another one.
    pub(super) async fn until_displaced(&self) {
        self.entry.leave.notified().await;
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.entry.activity.end();
        self.connections.places.lock().remove(&self.entry);
        self.entry.left.notify_one();
        metrics::gauge!(HTTP_CONNECTIONS, "listener" => self.entry.listener).decrement(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(per_address: usize, total: usize, trusted: &[&str]) -> Arc<Connections> {
        let trusted_proxies = trusted.iter().map(|network| network.parse().unwrap()).collect();
        Connections::new(ConnectionRules { per_address, trusted_proxies, total })
    }

    fn from(address: &str) -> Peer {
        Peer(format!("{address}:5").parse().unwrap())
    }

    fn open(connections: &Arc<Connections>, address: &str) -> OpenConnection {
        connections.try_admit("api", usize::MAX, from(address)).unwrap()
    }

    fn next_to_close(connections: &Arc<Connections>, within: ConnectionScope) -> Option<u64> {
        let mut places = connections.places.lock();
        places.idle.clear();
        places.take_idle(within).map(|entry| entry.id)
    }

    #[test]
    fn the_longest_idle_of_the_address_with_most_goes_first() {
        let connections = connections(0, 8, &[]);
        let _alone = open(&connections, "192.0.2.1");
        let many: Vec<_> = (0..3).map(|_| open(&connections, "192.0.2.2")).collect();
        let busy = many[0].activity().begin().unwrap();
        assert_eq!(
            next_to_close(&connections, ConnectionScope::Descriptors),
            Some(1 + 1),
            "the first of them is at work"
        );
        drop(busy);
        let closed = [(); 2].map(|()| next_to_close(&connections, ConnectionScope::Listener("api")));
        assert_eq!(closed, [Some(3), Some(1)], "what has just been used goes last");
        assert!(many[0].activity().begin().is_none(), "who is told to leave begins nothing");
        assert_eq!(next_to_close(&connections, ConnectionScope::Listener("integrations")), None);
    }

    #[test]
    fn a_proxy_goes_last_and_has_no_limit_of_an_address() {
        let connections = connections(2, 8, &["10.0.0.0/8"]);
        let _proxy: Vec<_> = (0..5).map(|_| open(&connections, "10.1.2.3")).collect();
        let _two: Vec<_> = (0..2).map(|_| open(&connections, "[2001:db8::1]")).collect();
        let neighbour = connections.try_admit("api", 99, from("[2001:db8::2]")).unwrap_err();
        assert_eq!(neighbour.reason(), "address", "a household is one");
        assert_eq!(next_to_close(&connections, ConnectionScope::Descriptors), Some(5));
        assert_eq!(next_to_close(&connections, ConnectionScope::Descriptors), Some(6));
        assert_eq!(next_to_close(&connections, ConnectionScope::Descriptors), Some(0));
    }

    #[test]
    fn who_does_not_read_its_answer_is_as_good_as_idle() {
        let connections = connections(0, 8, &[]);
        let one = open(&connections, "192.0.2.1");
        let _at_work = one.activity().begin().unwrap();
        assert_eq!(next_to_close(&connections, ConnectionScope::Descriptors), None);
        one.activity().stalled();
        one.activity().unstalled();
        assert_eq!(next_to_close(&connections, ConnectionScope::Descriptors), None);
        one.activity().stalled();
        assert_eq!(next_to_close(&connections, ConnectionScope::Descriptors), Some(0));
    }

    #[tokio::test]
    async fn what_is_found_full_is_told_and_what_is_gone_leaves_nothing() {
        let connections = connections(0, 2, &[]);
        let first = open(&connections, "192.0.2.1");
        let busy = first.activity().begin();
        let second = connections.admit("admin", 1, from("192.0.2.1")).await.unwrap();
        let also_busy = second.activity().begin();
        let of_listener = connections.admit("admin", 1, from("192.0.2.1")).await.unwrap_err();
        assert_eq!(of_listener, ConnectionScope::Listener("admin"));
        let of_all = connections.admit("api", 9, from("192.0.2.1")).await.unwrap_err();
        assert_eq!(of_all, ConnectionScope::Descriptors);
        drop((busy, also_busy, first, second));
        let places = connections.places.lock();
        assert!(places.open.is_empty() && places.of_address.is_empty());
    }
}
