//! Leases and takeovers of very many nodes: each a store of its own on one database, by a line of its own that is cut at random.
//!
//! All that a node does to a table it appends to one feed: that it works on it, and that it took it over. In the order of that feed
//! nobody may do anything to a table any more once another has taken it over; nor lead once another has.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use futures_util::FutureExt;
use offerd::config::PostgresSettings;
use offerd::records::open_tables::OpenTable;
use offerd::store::{Commit, Store, StoreOptions, Topic, Tree};
use uuid::Uuid;

use crate::crash::campaign::seed;
use crate::kit::database;
use crate::kit::line::Line;

/// Nodes of the test that runs always, and how long they are cut off and come back.
const SAMPLE: (usize, Duration) = (8, Duration::from_secs(10));

/// A node's lease, and of many what it is at least for each: all of them and the database share one machine.
const LEASE: Duration = Duration::from_secs(3);
const LEASE_OF_MANY: Duration = Duration::from_millis(50);

/// Tables that a node begins when it starts, and the time between two things that it does to one of them.
const TABLES: usize = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// The longest that a node is cut off, in leases: some are back before theirs has ended.
const LONGEST_CUT: f64 = 2.0;

/// Of all nodes one tries first to take a table over, and so many times more each time that it is still left.
const MORE: usize = 4;

/// Longest wait until all tables are somebody's who is there, once nobody is cut off any more.
const PATIENCE: Duration = Duration::from_secs(120);

/// The feed, and what stands in the place of a table where a node says that it leads.
const FEED: Uuid = Uuid::from_u128(0xFEED);
const LEAD: Uuid = Uuid::from_u128(0x1EAD);

/// What a node did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Deed {
    node: Uuid,
    table: Uuid,
    took: bool,
}

impl Deed {
    fn to_bytes(self) -> Vec<u8> {
        [self.node.as_bytes(), &self.table.as_bytes()[..], &[u8::from(self.took)]].concat()
    }

    fn parse(bytes: &[u8]) -> Self {
        let uuid = |at: usize| Uuid::from_slice(&bytes[at..at + 16]).expect("a uuid");
        Self { node: uuid(0), table: uuid(16), took: bytes[32] == 1 }
    }
}

/// What was seen from outside of the nodes.
#[derive(Default)]
struct Seen {
    /// The deeds that were acknowledged.
    acknowledged: Mutex<Vec<Deed>>,
    /// When each last did something, and how long after that its tables were taken over.
    last: Mutex<HashMap<Uuid, Instant>>,
    waited: Mutex<Vec<Duration>>,
    starts: Mutex<usize>,
}

#[test]
fn what_nodes_leave_others_take_over_once_and_who_was_ended_does_nothing_more() {
    simulation(SAMPLE.0, SAMPLE.1, seed());
}

/// `OFFERD_SIMULATED_NODES=100 OFFERD_SIMULATED_SECONDS=120 .ci/postgres nodes::simulation --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn of_as_many_nodes_as_one_likes() {
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let seconds = Duration::from_secs(number("OFFERD_SIMULATED_SECONDS", 120));
    simulation(number("OFFERD_SIMULATED_NODES", 100) as usize, seconds, seed());
}

fn simulation(nodes: usize, lasting: Duration, seed: u64) {
    let Some(url) = database::schema() else {
        return eprintln!("SKIPPED: OFFERD_TEST_POSTGRES names no database");
    };
    println!("OFFERD_CRASH_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let lease = LEASE.max(LEASE_OF_MANY * nodes as u32);
    let directory = tempfile::tempdir().unwrap();
    // The first makes the master key and the tables.
    let key = directory.path().join("first.key");
    let of_first = options(&url, &directory.path().join("first"), None, lease);
    drop(Store::open_inline_with(&of_first).unwrap());
    let places: Vec<_> = (0..nodes).map(|nth| directory.path().join(format!("node{nth}"))).collect();
    let lines: Vec<_> = places.iter().map(|_| Line::to(&url)).collect();
    let (seen, is_over) = (Seen::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        let running: Vec<_> = places
            .iter()
            .zip(&lines)
            .map(|(place, line)| {
                let (options, seen, is_over) =
                    (options(&line.url, place, Some(&key), lease), &seen, &is_over);
                scope.spawn(move || live(&options, seen, is_over))
            })
            .collect();
        // Each tenth of a node's lease somebody is cut off, so that at any time a part of them is.
        let begun = Instant::now();
        let mut cut: Vec<(Instant, usize)> = Vec::new();
        while begun.elapsed() < lasting {
            thread::park_timeout(lease.mul_f64(2.0 / nodes as f64));
            let victim = rng.usize(..nodes);
            if cut.len() <= nodes / 3 && cut.iter().all(|(_, other)| *other != victim) {
                lines[victim].cut(true);
                cut.push((Instant::now() + lease.mul_f64(LONGEST_CUT * rng.f64()), victim));
            }
            cut.retain(|(until, victim)| {
                let goes_on = *until > Instant::now();
                if !goes_on {
                    lines[*victim].cut(false);
                }
                goes_on
            });
        }
        cut.iter().for_each(|(_, victim)| lines[*victim].cut(false));
        let seen_to = until_all_are_seen_to(&of_first, &seen);
        is_over.store(true, Ordering::SeqCst);
        running.into_iter().for_each(|node| node.join().unwrap());
        // Only now, since the nodes would go on for ever.
        seen_to.unwrap();
    });
    hold_against_feed(&of_first, &seen);
    let (starts, mut waited) = (*seen.starts.lock().unwrap(), seen.waited.into_inner().unwrap());
    waited.sort();
    let share = |share: f64| waited.get((waited.len() as f64 * share) as usize).map(Duration::as_secs_f32);
    println!(
        "{nodes} nodes, {starts} starts, {} tables taken over, half of them {:?} s after the last that their node did, 99 % within {:?} s; the lease is {lease:?}",
        waited.len(),
        share(0.5),
        share(0.99),
    );
}

fn options(url: &str, place: &Path, key: Option<&Path>, lease: Duration) -> StoreOptions {
    let database = PostgresSettings {
        connections: 2,
        answer_within: Duration::from_secs(2),
        lease,
        ..database::options(url)
    };
    let options = StoreOptions::new(place);
    let master_key_file = key.map(Path::to_path_buf);
    StoreOptions { database: Some(database), master_key_file, lock_wait: PATIENCE, ..options }
}

/// A place's processes, one after the other: who was ended is started again, as a service manager does.
fn live(options: &StoreOptions, seen: &Seen, is_over: &AtomicBool) {
    while !is_over.load(Ordering::SeqCst) {
        let Ok(store) = Store::open_inline_with(options) else {
            thread::park_timeout(Duration::from_millis(50));
            continue;
        };
        *seen.starts.lock().unwrap() += 1;
        store.become_candidate(String::new());
        process(&store, seen, is_over);
        let _ = store.close();
    }
}

/// Begins some tables and works on them, and on those that it takes over, until it is ended or all is over.
fn process(store: &Store, seen: &Seen, is_over: &AtomicBool) {
    let me = store.node();
    let mut own: BTreeSet<Uuid> = BTreeSet::new();
    let (mut nodes, mut ranks, mut is_left) = (None, 1_usize, true);
    let do_to = |table: Uuid, took: bool, more: Commit| {
        let deed = Deed { node: me, table, took };
        let done = committed(store, more.append(Tree::LeadEvents, FEED, deed.to_bytes()));
        if done {
            seen.acknowledged.lock().unwrap().push(deed);
            seen.last.lock().unwrap().insert(me, Instant::now());
        }
        done
    };
    for _ in 0..TABLES {
        let table = Uuid::new_v4();
        let begun = OpenTable::new(table, 0, me).to_bytes();
        if do_to(table, true, Commit::new().put(Tree::OpenTables, table, begun)) {
            own.insert(table);
        }
    }
    while !is_over.load(Ordering::SeqCst) && !store.lost().load(Ordering::SeqCst) {
        thread::park_timeout(PAUSE);
        // It does not look whether it may: what it may not, is not written.
        if store.is_leader() {
            do_to(LEAD, true, Commit::new());
        }
        if let Some(table) = own.iter().nth(fastrand::usize(..own.len().max(1))) {
            do_to(*table, false, Commit::new());
        }
        let changed = Some(store.changes_of(Topic::Nodes));
        if nodes == changed && !is_left {
            continue;
        }
        let Ok(open) = OpenTable::all(store).collect::<Result<Vec<_>, _>>() else { continue };
        let Ok(alive) = store.alive() else { continue };
        ranks = if nodes == changed { ranks.saturating_mul(MORE) } else { 1 };
        (nodes, is_left) = (changed, false);
        for table in open {
            if table.node == me || alive.contains(&table.node) {
                continue;
            }
            if table.turn(me, &alive) >= ranks {
                is_left = true;
            } else if do_to(table.uuid, true, table.taken_over_by(me)) {
                own.insert(table.uuid);
                if let Some(last) = seen.last.lock().unwrap().get(&table.node) {
                    seen.waited.lock().unwrap().push(last.elapsed());
                }
            }
        }
    }
}

fn committed(store: &Store, commit: Commit) -> bool {
    store.commit(commit).now_or_never().expect("an inline commit is ready at once").is_ok()
}

/// Waits until every table is seen to by a node that is there.
fn until_all_are_seen_to(options: &StoreOptions, seen: &Seen) -> Result<(), String> {
    let store = Store::open_inline_with(options).unwrap();
    let (begun, before) = (Instant::now(), *seen.starts.lock().unwrap());
    loop {
        let open: Vec<_> = OpenTable::all(&store).map(Result::unwrap).collect();
        let alive = store.alive().unwrap();
        let left = open.iter().filter(|table| !alive.contains(&table.node)).count();
        if left == 0 {
            return Ok(());
        }
        let meanwhile = *seen.starts.lock().unwrap() - before;
        if begun.elapsed() >= PATIENCE {
            let (open, alive) = (open.len(), alive.len());
            return Err(format!(
                "{left} of {open} tables are nobody's; {alive} nodes are alive, {meanwhile} were started meanwhile"
            ));
        }
        thread::park_timeout(Duration::from_millis(50));
    }
}

/// What was acknowledged is in the feed, once; and in its order nobody goes on with what another has taken over.
fn hold_against_feed(options: &StoreOptions, seen: &Seen) {
    let store = Store::open_inline_with(options).unwrap();
    let feed = store.scan(Tree::LeadEvents, FEED).map(|record| Deed::parse(&record.unwrap().1));
    let mut owners: HashMap<Uuid, Uuid> = HashMap::new();
    let mut gone: BTreeSet<(Uuid, Uuid)> = BTreeSet::new();
    let mut count: BTreeMap<(Uuid, Uuid, bool), usize> = BTreeMap::new();
    for Deed { node, table, took } in feed {
        *count.entry((node, table, took)).or_default() += 1;
        assert!(!gone.contains(&(node, table)), "{node} goes on with {table}, which another took over");
        let owner = owners.insert(table, node);
        assert!(took || owner == Some(node), "{node} works on {table}, which it never had");
        if let Some(before) = owner.filter(|before| *before != node) {
            gone.insert((before, table));
        }
    }
    let mut acknowledged: BTreeMap<(Uuid, Uuid, bool), usize> = BTreeMap::new();
    for Deed { node, table, took } in seen.acknowledged.lock().unwrap().iter() {
        *acknowledged.entry((*node, *table, *took)).or_default() += 1;
    }
    for (deed, times) in acknowledged {
        let told = count.get(&deed).copied().unwrap_or(0);
        // One whose answer was lost with the line may be there and not be acknowledged.
        assert!(told >= times, "{deed:?} was acknowledged {times} times, and is told {told} times");
    }
}
