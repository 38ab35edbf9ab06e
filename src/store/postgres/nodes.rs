//! The nodes: processes that share the database. A node is a row with an id and a lease by the database's
//! clock, which it renews. Any other node ends one with an expired lease, for good. Each transaction locks
//! the row of its node and checks it, so an ended node writes nothing more.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use tokio::time::{MissedTickBehavior, interval, timeout};
use uuid::Uuid;

use super::client::{Client, Connection, DatabaseFailure, DatabaseResult};
use super::statements::{
    ALIVE, CLOCK, END_LAPSED, END_NODE, FOLLOW, FORGET_NODES, HELD, JOIN, LEADER, NODES, RENEW,
    TOPICS_CHANGED, VANISHED,
};
use crate::cluster::{Cluster, DatabaseStatus, NodeRow};
use crate::health::FailureLatch;
use crate::topics::{TOPICS, Topic, Topics};

/// Upper bound on noticing the changes of other nodes.
const POLL: Duration = Duration::from_millis(200);

/// An answer later than this is reported.
const LATE: Duration = Duration::from_millis(500);

const RENEWALS: u32 = 5;

#[derive(Clone)]
pub(super) struct LeasedNode {
    pub(super) cluster: Arc<Cluster>,
    pub(super) topics: Arc<Topics>,
    pub(super) directory_id: Uuid,
    /// How long it counts as alive without a renewal.
    lease: Duration,
}

/// How often each topic has changed; `None` before the first poll.
type TopicCounts = Option<[i64; TOPICS.len()]>;

#[derive(Default)]
struct DatabaseObservations {
    changed: TopicCounts,
    renewed: Option<Instant>,
    answers_since: Option<Instant>,
}

impl LeasedNode {
    /// Joins the nodes and ends the previous node of the same directory.
    pub(super) fn join(client: &Client, directory_id: Uuid, lease: Duration) -> DatabaseResult<Self> {
        let node =
            Self { cluster: Arc::new(Cluster::among_others()), topics: Arc::default(), directory_id, lease };
        let joining = node.clone();
        client.ask(|connection| async move {
            let directory_id = joining.directory_id.as_bytes().as_slice();
            connection.change(VANISHED, &[&directory_id]).await?;
            let (me, figures) = (joining.me(), joining.cluster.status.read().clone());
            connection.change(JOIN, &[&me, &directory_id, &joining.lease.as_secs_f64(), &figures]).await?;
            joining.look_around(&connection).await
        })?;
        Ok(node)
    }

    fn me(&self) -> Vec<u8> {
        self.cluster.me.as_bytes().to_vec()
    }

    pub(super) fn keep(&self, client: &Client, latch: &Arc<FailureLatch>) {
        let (node, latch, is_hung) = (self.clone(), Arc::clone(latch), Arc::clone(&client.is_hung));
        let pool = client.pool.clone();
        client.meanwhile(async move {
            let mut ticks = interval(POLL.min(node.lease / RENEWALS));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut seen = DatabaseObservations::default();
            loop {
                ticks.tick().await;
                match node.tick_in_time(&pool, &mut seen).await {
                    Ok(()) => {
                        node.cluster.note_answer();
                        is_hung.store(false, Ordering::Release);
                        seen.answers_since.get_or_insert_with(Instant::now);
                    }
                    Err(failure @ DatabaseFailure::Lost) => return latch.fail_for_good(&failure.to_string()),
                    Err(failure) => {
                        seen.answers_since = None;
                        node.cluster.note_silence(failure.to_string());
                        tracing::debug!(%failure, "could not renew the lease of the database");
                    }
                }
            }
        });
    }

    /// One tick, bounded by the lease. Reports a late answer earlier.
    async fn tick_in_time(&self, pool: &Pool, seen: &mut DatabaseObservations) -> DatabaseResult<()> {
        let hangs = || DatabaseFailure::of("it does not answer");
        let mut ticking = pin!(timeout(self.lease, self.tick(pool, seen)));
        let ticked = match timeout(LATE, &mut ticking).await {
            Ok(ticked) => ticked,
            Err(_) => {
                self.cluster.note_silence(hangs().to_string());
                ticking.await
            }
        };
        ticked.unwrap_or_else(|_| Err(hangs()))
    }

    async fn tick(&self, pool: &Pool, seen: &mut DatabaseObservations) -> DatabaseResult<()> {
        let connection = Client::connection(pool).await?;
        self.note_changes(&connection, &mut seen.changed).await?;
        let is_due = |at: Instant| at.elapsed() >= self.lease / RENEWALS;
        if seen.renewed.is_none_or(is_due) {
            seen.renewed = Some(Instant::now());
            // After an outage, every node gets the length of a lease to come back.
            let may_end_others = seen.answers_since.is_some_and(|since| since.elapsed() >= self.lease);
            return self.renew(&connection, may_end_others).await;
        }
        if self.cluster.may_lead() { self.look_around(&connection).await } else { Ok(()) }
    }

    async fn note_changes(&self, connection: &Connection, changed: &mut TopicCounts) -> DatabaseResult<()> {
        let mut counts = [0; TOPICS.len()];
        for row in connection.rows(TOPICS_CHANGED, &[]).await? {
            let (topic, count): (i16, i64) = (row.get(0), row.get(1));
            if let Some(known) = usize::try_from(topic).ok().and_then(|topic| counts.get_mut(topic)) {
                *known = count;
            }
        }
        // A change before the first poll may have come after a read, so the first poll notes every topic.
        let before = changed.replace(counts);
        for topic in TOPICS {
            let at = topic as usize;
            if before.is_none_or(|before| before[at] != counts[at]) {
                self.topics.note(topic);
            }
        }
        Ok(())
    }

    async fn renew(&self, connection: &Connection, may_end_others: bool) -> DatabaseResult<()> {
        let begun = Instant::now();
        let theirs_ms: i64 = connection.one(CLOCK, &[]).await?.get(0);
        *self.cluster.database.write() = Some(DatabaseStatus::of(begun.elapsed(), theirs_ms));
        let (me, lease, figures) = (self.me(), self.lease.as_secs_f64(), self.cluster.status.read().clone());
        if connection.change(RENEW, &[&me, &lease, &figures]).await? == 0 {
            return Err(DatabaseFailure::Lost);
        }
        if may_end_others && connection.change(END_LAPSED, &[]).await? > 0 {
            tracing::warn!("a node has not renewed its lease: other nodes continue its rate tables");
        }
        connection.change(FORGET_NODES, &[]).await?;
        self.look_around(connection).await
    }

    /// Notes which nodes are alive, and takes the lead if no live node has it.
    async fn look_around(&self, connection: &Connection) -> DatabaseResult<()> {
        let (leader, alive) = tokio::try_join!(connection.one(LEADER, &[]), alive_of(connection))?;
        let leader: Vec<u8> = leader.get(0);
        let is_led = Uuid::from_slice(&leader).is_ok_and(|leader| alive.contains(&leader));
        if self.cluster.note_alive(alive) {
            self.topics.note(Topic::Nodes);
        }
        // A leader leads until it ends, and an ended node never comes back.
        if !is_led && self.cluster.may_lead() && connection.change(FOLLOW, &[&self.me(), &leader]).await? > 0
        {
            tracing::info!("this node is now the leader");
            self.cluster.is_leader.send_replace(true);
        }
        Ok(())
    }

    /// Whether this node has not ended; holds until the connection's transaction ends.
    pub(super) async fn is_held(&self, connection: &Connection) -> DatabaseResult<bool> {
        Ok(connection.row(HELD, &[&self.me()]).await?.is_some())
    }

    /// Ends this node, so that others need not wait for its lease to expire.
    pub(super) fn leave(&self, client: &Client) -> DatabaseResult<()> {
        let me = self.me();
        client.ask(|connection| async move { connection.change(END_NODE, &[&me]).await.map(drop) })
    }
}

pub(super) fn alive(client: &Client) -> DatabaseResult<BTreeSet<Uuid>> {
    client.ask(|connection| async move { alive_of(&connection).await })
}

/// Ends the nodes with expired leases and returns the ids of the live ones.
pub(super) fn alive_by_lease(client: &Client) -> DatabaseResult<BTreeSet<Uuid>> {
    client.ask(|connection| async move {
        connection.change(END_LAPSED, &[]).await?;
        alive_of(&connection).await
    })
}

async fn alive_of(connection: &Connection) -> DatabaseResult<BTreeSet<Uuid>> {
    ids(connection.rows(ALIVE, &[]).await?)
}

pub(super) fn ids(rows: Vec<tokio_postgres::Row>) -> DatabaseResult<BTreeSet<Uuid>> {
    Ok(rows.into_iter().filter_map(|row| Uuid::from_slice(row.get(0)).ok()).collect())
}

pub(super) fn list(client: &Client) -> DatabaseResult<Vec<NodeRow>> {
    client.ask(|connection| async move {
        let rows = connection.rows(NODES, &[]).await?;
        let figures = |row: tokio_postgres::Row| {
            let id = Uuid::from_slice(row.get(0)).unwrap_or_default();
            let (since_ms, left_ms, ended_ms) = (row.get(1), row.get(2), row.get(3));
            let (is_leader, status): (bool, String) = (row.get(4), row.get(5));
            NodeRow { id, since_ms, left_ms, ended_ms, is_leader, status }
        };
        Ok(rows.into_iter().map(figures).collect())
    })
}
