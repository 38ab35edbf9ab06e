//! What clients have of several nodes: those that are there, and a model of what any of them told, against which all are held.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;
use hyper::Method;
use offerd::analytics::Events;
use serde_json::json;
use tokio::sync::{RwLock, watch};

use super::nodes;
use crate::crash::campaign::{accepted, body, each, heard, poll};
use crate::crash::model::Model;
use crate::kit::{Answer, Daemon, PATIENCE, Plan};

/// Clients at once.
pub const CLIENTS: usize = 6;

/// The nodes, as a balancer in front of them knows them.
pub struct Front {
    /// One that is away is not there.
    nodes: RwLock<Vec<Option<Arc<Daemon>>>>,
    model: Model,
    unanswered: AtomicUsize,
}

/// A node that nobody uses any more.
pub fn alone(node: Arc<Daemon>) -> Daemon {
    Arc::into_inner(node).expect("its clients have ended")
}

impl Front {
    /// Some nodes on a database, used by a live company.
    pub async fn of(count: usize, plan: Plan) -> Option<Self> {
        let mut started = nodes(count, plan).await?;
        let first = started.remove(0).with_live_company();
        for node in &mut started {
            node.publishable.clone_from(&first.publishable);
            node.confidential.clone_from(&first.confidential);
        }
        let nodes = std::iter::once(first).chain(started).map(|node| Some(Arc::new(node))).collect();
        Some(Self { nodes: RwLock::new(nodes), model: Model::default(), unanswered: AtomicUsize::new(0) })
    }

    /// Sends nobody to a node any more.
    pub async fn take(&self, place: usize) -> Arc<Daemon> {
        self.nodes.write().await[place].take().expect("it was there")
    }

    /// Sends clients to it again.
    pub async fn put(&self, place: usize, node: Daemon) {
        self.nodes.write().await[place] = Some(Arc::new(node));
    }

    /// How many requests got no answer.
    pub fn unanswered(&self) -> usize {
        self.unanswered.load(Ordering::SeqCst)
    }

    /// Does something while clients go about their business, until it is done and each of them has ended.
    pub async fn under_load<T>(&self, rng: &mut Rng, doing: impl Future<Output = T>) -> T {
        let (over, is_over) = watch::channel(false);
        let draws: Vec<Rng> = (0..CLIENTS).map(|_| rng.fork()).collect();
        let clients = draws.into_iter().map(|rng| self.client(rng, is_over.clone()));
        let (_, done) = tokio::join!(join_all(clients), async {
            let done = doing.await;
            over.send_replace(true);
            done
        });
        done
    }

    /// Goes about its business on whichever node is there.
    async fn client(&self, mut rng: Rng, is_over: watch::Receiver<bool>) {
        while !*is_over.borrow() {
            let lead = uuid::Uuid::new_v4().to_string();
            let body = body(&lead, &mut rng);
            if rng.u8(0..4) == 0 {
                self.of_two_one_wins(&mut rng, &lead, &body).await;
                continue;
            }
            let blocks = rng.bool();
            let submitted =
                self.anywhere(&mut rng, async |node| submit(node, &body, Some(&lead), blocks).await);
            let table = accepted(&self.model, &lead, &submitted.await);
            self.model.key(&lead, &body, &table);
            for _ in 0..rng.usize(0..4) {
                self.model.shown(&self.polled(&mut rng, &table).await);
            }
            let Some(offer) = self.model.an_offer(&table) else { continue };
            let clicked = self.anywhere(&mut rng, async |node| {
                node.try_request(Method::GET, &format!("{}/click/{offer}", node.api), "", &[], "").await
            });
            assert_eq!(clicked.await.status, 302);
            self.model.clicked(&lead);
        }
    }

    /// Submits a lead to two nodes at once. Where one of them goes away nothing is known, and nothing is noted.
    async fn of_two_one_wins(&self, rng: &mut Rng, lead: &str, body: &str) {
        let (Some(one), Some(other)) = (self.some_node(rng).await, self.some_node(rng).await) else { return };
        let both = tokio::join!(submit(&one, body, None, false), submit(&other, body, None, false));
        let (Some(first), Some(second)) = both else { return };
        let (won, lost): (Vec<Answer>, Vec<Answer>) =
            [first, second].into_iter().partition(|answer| answer.status == 200);
        assert!(won.len() <= 1, "of submits of one lead, one wins");
        assert!(lost.iter().all(|answer| matches!(answer.status, 409 | 503)), "{lost:?}");
        won.iter().for_each(|answer| drop(accepted(&self.model, lead, answer)));
    }

    /// A table from whichever node is not behind another: what one has written is acknowledged to it a moment after it can be read.
    async fn polled(&self, rng: &mut Rng, table: &str) -> Answer {
        let polling = async {
            loop {
                let answer = self.anywhere(rng, async |node| poll(node, table).await).await;
                if !self.model.is_behind(&answer) {
                    return answer;
                }
            }
        };
        tokio::time::timeout(PATIENCE, polling).await.expect("every node catches up")
    }

    async fn some_node(&self, rng: &mut Rng) -> Option<Arc<Daemon>> {
        let nodes = self.nodes.read().await;
        nodes[rng.usize(0..nodes.len())].clone()
    }

    /// Asks one node after the other until one answers, and does not say that it cannot for now.
    async fn anywhere(&self, rng: &mut Rng, ask: impl AsyncFn(&Daemon) -> Option<Answer>) -> Answer {
        let asking = async {
            loop {
                if let Some(node) = self.some_node(rng).await {
                    match ask(&node).await {
                        Some(answer) if !is_to_be_sent_again(&answer) => return answer,
                        Some(_) => {}
                        None => drop(self.unanswered.fetch_add(1, Ordering::SeqCst)),
                    }
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, asking).await.expect("some node answers in time")
    }

    /// Holds all that was acknowledged against what all nodes show, and the feed once they have ended; says what it was.
    pub async fn hold(self, rng: &mut Rng) -> String {
        let nodes: Vec<Daemon> = self.nodes.into_inner().into_iter().flatten().map(alone).collect();
        hold_against(&nodes, &self.model, rng).await;
        let lead = nodes[0].get(&format!("/leads/{}", self.model.leads()[0])).await.json();
        let company = lead["companyUUID"].as_str().unwrap().to_owned();
        let stopped: Vec<_> = nodes.into_iter().map(|node| node.terminate().1).collect();
        let checked = stopped[0].plan.command(&["store", "check"]).output().expect("the binary runs");
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
        self.model.hold_against_feed(&stopped[0].feed_in_two_hours::<Events>(&company).data);
        self.model.summary()
    }
}

/// Whether a node is too busy, or has no database for now; or whether what was sent before is under way there yet.
fn is_to_be_sent_again(answer: &Answer) -> bool {
    answer.status == 503 || answer.status == 409 && answer.attributes() == ["Idempotency-Key"]
}

/// Everything that was acknowledged, asked of all nodes.
async fn hold_against(nodes: &[Daemon], model: &Model, rng: &mut Rng) {
    let mut seeds = rng.fork();
    let tables = model.tables();
    each(&tables, async |table| {
        for node in nodes {
            node.complete(table).await;
            model.shown(&poll(node, table).await.expect("the node runs"));
        }
    })
    .await;
    let keys: Vec<_> = model.keys().into_iter().collect();
    let place = seeds.usize(0..nodes.len());
    each(&keys, async |(key, (body, table))| {
        let again = heard(async || submit(&nodes[place], body, Some(key), false).await).await;
        assert_eq!((again.status, &again.json()["uuid"]), (200, &json!(table)), "a repeat of {key}");
    })
    .await;
    each(&model.leads(), async |lead| {
        let body = json!({ "uuid": lead }).to_string();
        let again = heard(async || submit(&nodes[place], &body, None, false).await).await;
        assert_eq!(again.status, 409, "of submits of one lead, one wins");
    })
    .await;
    for node in nodes {
        assert!(!node.log().contains("does not fit its table"), "{}", node.log());
    }
}

async fn submit(node: &Daemon, body: &str, key: Option<&str>, blocks: bool) -> Option<Answer> {
    let url = match blocks {
        true => format!("{}/blocking/leads/rateTables", node.integrations),
        false => format!("{}/leads/rateTables", node.api),
    };
    let headers: Vec<(&str, &str)> = key.map(|key| ("idempotency-key", key)).into_iter().collect();
    node.try_request(Method::POST, &url, &node.publishable, &headers, body.to_owned()).await
}
