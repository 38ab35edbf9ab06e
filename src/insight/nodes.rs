//! The nodes that share a store: the status that each publishes, and warnings where nodes differ.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use offerd_base::config::Settings;
use offerd_base::telemetry::metrics::{
    DATABASE_CLOCK_AHEAD_SECONDS, DATABASE_ROUND_TRIP_SECONDS, NODE_IS_LEADER, NODES_ALIVE,
};
use offerd_partners::Book;
use offerd_store::{NodeRow, ReadError, Store};

/// Largest tolerated offset between a node's clock and the database's, in ms.
const CLOCK_OFF_MS: i64 = 1000;

/// The sections of the settings that decide the fate of a lead or its notifications. All nodes need the same.
const ALIKE: [&str; 11] = [
    "alerts",
    "analytics",
    "approval",
    "engine",
    "experiments",
    "limits",
    "matching",
    "offer_pages",
    "postbacks",
    "ranking",
    "reports",
];

const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// The status that a node publishes to the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// `store.postgres.node_name`, or the machine's host name.
    pub name: String,
    /// The version of its offerd.
    pub version: String,
    /// The address of its client listener.
    pub api: String,
    /// Leads per second, averaged over the last minute.
    pub leads_per_second: f64,
    /// How far its clock is ahead of the database's, in ms.
    pub clock_ahead_ms: i64,
    /// The round trip of the database's last answer, in µs.
    pub round_trip_us: u64,
    /// The fingerprint of the partner files in force; empty until it is known.
    pub book: String,
    /// The fingerprint of `api.base_url`, which all nodes must share.
    pub settings: String,
    /// Whether `api.base_url` is set.
    pub has_base_url: bool,
    /// Fingerprints of everything else that all nodes must share, by name.
    pub alike: BTreeMap<String, String>,
    /// Why the node asks no partners, if it does not.
    pub asks_nobody: Option<String>,
}

/// A node as the console and `offerd nodes` show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    /// The node's id: a new one each time it opens the store.
    pub id: Uuid,
    /// When it opened the store, in Unix milliseconds of the database; `None` for a store in files.
    pub since: Option<i64>,
    /// The time left of its lease, in ms; negative once the lease has run out.
    pub lease_left_ms: Option<i64>,
    /// When it ended, in Unix milliseconds, if it has.
    pub ended: Option<i64>,
    /// Whether it is the leader.
    pub leader: bool,
    /// Whether it is the node that answers this request.
    pub is_this: bool,
    /// Its last status; `None` for a command, which runs only for a moment.
    pub told: Option<NodeStatus>,
}

/// All nodes, with warnings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeList {
    /// Whether nodes can share this store.
    pub shared: bool,
    /// The live nodes in order of arrival, then those that ended within a day, the latest first.
    pub nodes: Vec<NodeView>,
    /// What is wrong, one sentence each.
    pub warnings: Vec<String>,
}

impl NodeStatus {
    /// The status of a node that has just opened the store.
    pub fn of(settings: &Settings) -> Self {
        let named = settings.store.postgres.as_ref().and_then(|database| database.node_name.clone());
        let base_url = settings.api.base_url.as_deref();
        Self {
            name: named.unwrap_or_else(host_name),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: fingerprint(&format!("api.base_url = {}", base_url.unwrap_or_default())),
            has_base_url: base_url.is_some(),
            alike: sections(settings),
            ..Self::default()
        }
    }

    /// The settings in which another status differs, by name.
    pub fn unlike(&self, other: &Self) -> Vec<String> {
        let base_url = (self.settings != other.settings).then(|| "`api.base_url`".to_owned());
        let alike = self.alike.iter().filter(|(name, of)| other.alike.get(*name) != Some(of));
        base_url.into_iter().chain(alike.map(|(name, _)| name.clone())).collect()
    }

    /// The fingerprint of partner files, as a status has it.
    pub fn fingerprint_of(book: &Book) -> String {
        format!("{:?}", book.fingerprint).chars().take(12).collect()
    }

    /// Adds the fingerprint of a set of declared files, such as the experiments.
    pub fn declaring(mut self, what: &str, declared: &str) -> Self {
        self.alike.insert(what.to_owned(), fingerprint(declared));
        self
    }

    /// Adds the database's clock offset and round trip.
    pub fn measured(mut self, store: &Store) -> Self {
        if let Some(status) = store.database_status() {
            self.clock_ahead_ms = status.clock_ahead_ms;
            self.round_trip_us = u64::try_from(status.round_trip.as_micros()).unwrap_or(u64::MAX);
        }
        self
    }

    /// The status as JSON.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("text and figures are JSON")
    }
}

impl NodeList {
    /// Reads the nodes of a store. May wait for the database. `own` is this node's current status: the one it
    /// last published may be a second old.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn of(
        store: &Store,
        settings: &Settings,
        own: impl FnOnce() -> NodeStatus,
    ) -> Result<Self, ReadError> {
        let shared = settings.store.database().is_some();
        let this = store.node();
        let mut nodes: Vec<NodeView> =
            store.nodes()?.into_iter().map(|figures| NodeView::of(figures, this, shared)).collect();
        if let Some(this) = nodes.iter_mut().find(|node| node.is_this && node.told.is_some()) {
            this.told = Some(own());
        }
        nodes.sort_by_key(|node| node.ended.map(Reverse));
        let warnings = if shared { warnings(&nodes) } else { Vec::new() };
        Ok(Self { shared, nodes, warnings })
    }
}

impl NodeView {
    fn of(row: NodeRow, this: Uuid, shared: bool) -> Self {
        let NodeRow { id, since_ms, left_ms, ended_ms, is_leader, status } = row;
        Self {
            id,
            since: shared.then_some(since_ms),
            lease_left_ms: (shared && ended_ms.is_none()).then_some(left_ms),
            ended: ended_ms,
            leader: is_leader && ended_ms.is_none(),
            is_this: id == this,
            told: serde_json::from_str(&status).ok(),
        }
    }

    /// The name that the warnings and pages use.
    pub fn name(&self) -> &str {
        self.told.as_ref().map_or("a command", |told| &told.name)
    }
}

fn warnings(nodes: &[NodeView]) -> Vec<String> {
    let alive = nodes.iter().filter(|node| node.ended.is_none());
    let alive: Vec<LiveNode<'_>> = alive.filter_map(|node| Some((node, node.told.as_ref()?))).collect();
    let differing = differences(&alive).into_iter().chain(same_names(&alive));
    differing.chain(alive.iter().copied().flat_map(troubles)).collect()
}

type LiveNode<'a> = (&'a NodeView, &'a NodeStatus);

/// What to report when nodes differ in a value, how to read the value, and what to do about it.
type NodeComparison = (&'static str, fn(&NodeStatus) -> &str, &'static str);

/// Other values that must agree; `NodeStatus::alike` adds the declared files and settings.
const COMPARED: [NodeComparison; 3] = [
    (
        "nodes have different partner files",
        |told| &told.book,
        "give all nodes the same files, and run `offerd reload` on each",
    ),
    ("nodes run different versions", |told| &told.version, "finish the upgrade"),
    (
        "nodes differ in `api.base_url`",
        |told| &told.settings,
        "set the same on all, so that their answers contain the same addresses",
    ),
];

fn differences(alive: &[LiveNode<'_>]) -> Vec<String> {
    let figure = |(what, figure, why): NodeComparison| {
        let known = alive.iter().map(|(node, told)| (node.name(), figure(told)));
        (what.to_owned(), known.filter(|(_, value)| !value.is_empty()).collect(), why)
    };
    let names: BTreeSet<&String> = alive.iter().flat_map(|(_, told)| told.alike.keys()).collect();
    let declared = |name: &String| {
        let known = alive.iter().filter_map(|(node, of)| Some((node.name(), of.alike.get(name)?.as_str())));
        let why = "give all nodes the same, and run `offerd reload` on each, or restart it";
        (format!("nodes have different {name}"), known.collect(), why)
    };
    let all = COMPARED.into_iter().map(figure).chain(names.into_iter().map(declared));
    all.filter_map(|(what, known, why)| Some(format!("{what}: {}; {why}", unlike(known)?))).collect()
}

/// Each node with its value, unless all are equal.
fn unlike(values: Vec<(&str, &str)>) -> Option<String> {
    let first = values.first()?.1;
    let each = || values.iter().map(|(node, value)| format!("{node} {value}")).collect::<Vec<_>>().join(", ");
    values.iter().any(|(_, value)| *value != first).then(each)
}

fn same_names(alive: &[LiveNode<'_>]) -> Vec<String> {
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for (node, _) in alive {
        *named.entry(node.name()).or_default() += 1;
    }
    let told = |(name, count): (&str, usize)| {
        format!(
            "{count} nodes are called {name}: give each its own `store.postgres.node_name` to tell them apart"
        )
    };
    named.into_iter().filter(|(_, count)| *count > 1).map(told).collect()
}

fn troubles((node, told): LiveNode<'_>) -> Vec<String> {
    let name = node.name();
    let lapsed = node.lease_left_ms.is_some_and(|left| left < 0).then(|| {
        format!("{name} has not renewed its lease: it hangs, is cut off from the database, or the database takes no writes")
    });
    let silent = told.asks_nobody.as_ref().map(|why| format!("{name} asks no partner: {why}"));
    let clock = (told.clock_ahead_ms.abs() > CLOCK_OFF_MS).then(|| {
        let (ms, way) =
            (told.clock_ahead_ms.abs(), if told.clock_ahead_ms > 0 { "ahead of" } else { "behind" });
        format!("the clock of {name} is {ms} ms {way} the database's: check its time service")
    });
    let alone = (!told.has_base_url).then(|| {
        format!(
            "{name} has no `api.base_url`: the addresses in its answers lead only to itself; set the \
            address of all nodes"
        )
    });
    [lapsed, silent, clock, alone].into_iter().flatten().collect()
}

/// The names of the nodes, each with whether its lease has run out without its coming back. May wait for the
/// database.
///
/// # Errors
/// The database cannot be read.
pub fn lost(store: &Store) -> Result<BTreeMap<String, bool>, ReadError> {
    Ok(lost_of(store.nodes()?))
}

/// Of the nodes of a name, in order of arrival, the last counts. A command has no name.
fn lost_of(nodes: Vec<NodeRow>) -> BTreeMap<String, bool> {
    let named = |row: &NodeRow| serde_json::from_str::<NodeStatus>(&row.status).ok().map(|told| told.name);
    nodes.iter().filter_map(|row| Some((named(row)?, row.left_ms < 0))).collect()
}

/// The warning about the settings of a node that is about to start, if any.
pub fn remark(settings: &Settings) -> Option<String> {
    (settings.store.database().is_some() && settings.api.base_url.is_none()).then(|| {
        "`store.engine` is `postgres`, and `api.base_url` is not set: the addresses in this node's answers \
            lead only to itself; set the address at which clients reach all nodes"
            .to_owned()
    })
}

/// Sets the gauges that describe this node's view of the others.
pub fn measure(store: &Store) {
    metrics::gauge!(NODES_ALIVE).set(store.known_alive() as f64);
    metrics::gauge!(NODE_IS_LEADER).set(if store.is_leader() { 1.0 } else { 0.0 });
    if let Some(status) = store.database_status() {
        metrics::gauge!(DATABASE_ROUND_TRIP_SECONDS).set(status.round_trip.as_secs_f64());
        metrics::gauge!(DATABASE_CLOCK_AHEAD_SECONDS).set(status.clock_ahead_ms as f64 / 1000.0);
    }
}

fn host_name() -> String {
    let name = fs::read_to_string(HOST_NAME).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "node".to_owned() } else { name.to_owned() }
}

/// The sections that all nodes must share, each with its fingerprint, without paths.
fn sections(settings: &Settings) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for (key, value, _) in settings.describe() {
        let (section, rest) = key.split_once('.').unwrap_or((key, ""));
        if ALIKE.contains(&section) && rest != "path" {
            let text = texts.entry(format!("settings in `[{section}]`")).or_default();
            text.push_str(&format!("{rest} = {value}\n"));
        }
    }
    texts.into_iter().map(|(section, text)| (section, fingerprint(&text))).collect()
}

fn fingerprint(text: &str) -> String {
    const_hex::encode(&Sha256::digest(text)[..6])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, change: impl FnOnce(&mut NodeStatus)) -> NodeView {
        let mut told = NodeStatus {
            name: name.to_owned(),
            version: "1.0".to_owned(),
            book: "b".to_owned(),
            settings: "s".to_owned(),
            has_base_url: true,
            alike: BTreeMap::from([("postbacks".to_owned(), "s".to_owned())]),
            ..NodeStatus::default()
        };
        change(&mut told);
        let (id, told) = (Uuid::nil(), Some(told));
        NodeView {
            id,
            since: Some(0),
            lease_left_ms: Some(1),
            ended: None,
            leader: false,
            is_this: false,
            told,
        }
    }

    type Change = fn(&mut NodeStatus);

    #[test]
    fn nodes_that_are_alike_are_well_and_each_difference_is_named() {
        let same = [node("one", |_| ()), node("two", |_| ())];
        assert_eq!(warnings(&same), Vec::<String>::new());
        let unlike: [(Change, &str); 8] = [
            (|told| told.book = "c".to_owned(), "different partner files: one b, two c"),
            (|told| told.version = "2.0".to_owned(), "different versions: one 1.0, two 2.0"),
            (|told| told.settings = "t".to_owned(), "differ in `api.base_url`"),
            (|told| told.clock_ahead_ms = -1500, "the clock of two is 1500 ms behind the database's"),
            (|told| told.has_base_url = false, "two has no `api.base_url`"),
            (|told| told.name = "one".to_owned(), "2 nodes are called one"),
            (
                |told| drop(told.alike.insert("postbacks".to_owned(), "t".to_owned())),
                "nodes have different postbacks: one s, two t; give all nodes the same",
            ),
            (|told| told.asks_nobody = Some("no key".to_owned()), "two asks no partner: no key"),
        ];
        for (change, wanted) in unlike {
            let mut nodes = vec![node("one", |_| ()), node("two", change)];
            let told = warnings(&nodes);
            assert!(told.len() == 1 && told[0].contains(wanted), "{told:?}");
            // Nodes that have ended and commands cause no warnings.
            nodes[1].ended = Some(7);
            assert_eq!(warnings(&nodes), Vec::<String>::new());
            nodes[1] = NodeView { ended: None, told: None, ..nodes[1].clone() };
            assert_eq!(warnings(&nodes), Vec::<String>::new());
        }
    }

    #[test]
    fn who_has_not_renewed_its_lease_is_named() {
        let nodes = [node("one", |_| ()), NodeView { lease_left_ms: Some(-1), ..node("two", |_| ()) }];
        let told = warnings(&nodes);
        assert!(told.len() == 1 && told[0].starts_with("two has not renewed its lease"), "{told:?}");
    }

    #[test]
    fn a_node_is_lost_when_its_lease_runs_out_and_not_when_it_leaves_or_has_come_back() {
        let row = |name: &str, left_ms, ended_ms| {
            let told = NodeStatus { name: name.to_owned(), ..NodeStatus::default() };
            NodeRow { left_ms, ended_ms, status: told.text(), ..NodeRow::default() }
        };
        let rows = vec![
            row("back", -1, Some(7)),
            row("hangs", -1, None),
            row("killed", -1, Some(8)),
            row("stopped", 900, Some(9)),
            row("back", 900, None),
            NodeRow { left_ms: -1, ..NodeRow::default() },
        ];
        let wanted = [("back", false), ("hangs", true), ("killed", true), ("stopped", false)];
        assert_eq!(lost_of(rows), wanted.map(|(name, is_lost)| (name.to_owned(), is_lost)).into());
    }

    #[test]
    fn a_node_shows_its_own_status_as_it_is_now() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open_inline(directory.path()).unwrap();
        let settings = Settings::from_layers(None, []).unwrap();
        let own = || NodeStatus { book: "reloaded".to_owned(), ..NodeStatus::of(&settings) };
        let told = || NodeList::of(&store, &settings, own).unwrap().nodes[0].told.clone();
        assert_eq!(told(), None, "a command has no status");
        store.become_candidate(NodeStatus::of(&settings).text());
        assert_eq!(told().unwrap().book, "reloaded");
    }

    #[test]
    fn what_a_node_of_another_version_tells_is_read_as_far_as_it_is_known() {
        let told: NodeStatus = serde_json::from_str(r#"{"name":"one","newer":1}"#).unwrap();
        assert_eq!(told.name, "one");
        assert_eq!(serde_json::from_str::<NodeStatus>(&told.text()).unwrap(), told);
    }
}
