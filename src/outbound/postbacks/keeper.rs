//! The keeper: one thread with a task for each active subscription.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, gauge};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until};
use tracing::{error, warn};

use super::beginning::forget_vanished;
use super::follower::{Follower, Queueing};
use super::ledger::PostbackLedger;
use super::subscription::Subscription;
use super::subscriptions::Subscriptions;
use crate::outbox::{Worker, wire};
use offerd_base::config::PostbackSettings;
use offerd_base::telemetry::metrics::{POSTBACK_LAG, POSTBACKS, POSTBACKS_DEAD, POSTBACKS_OUTSTANDING};
use offerd_store::{CommitError, Store};
use offerd_wire::Wire;

const SWEEP_EVERY: Duration = Duration::from_secs(20);

/// Runs the active subscriptions.
pub struct PostbackKeeper {
    store: Store,
    wire: Wire,
    queueing: Queueing,
    tasks: BTreeMap<String, (Arc<Subscription>, PostbackSettings, JoinHandle<()>)>,
}

impl PostbackKeeper {
    /// Starts the thread. It throttles itself while new work is `queueing`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        store: Store,
        subscriptions: watch::Receiver<Arc<Subscriptions>>,
        queueing: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Result<Worker, String> {
        let keeper = Self { store, wire: wire(false), queueing: Arc::new(queueing), tasks: BTreeMap::new() };
        Worker::start("postbacks", move || keeper.run(subscriptions))
    }

    async fn run(mut self, mut subscriptions: watch::Receiver<Arc<Subscriptions>>) {
        // The previous leader's outstanding deliveries are read only then.
        self.store.until_leader().await;
        let mut sweep_at = Instant::now();
        loop {
            let in_force = Arc::clone(&subscriptions.borrow_and_update());
            self.take_in(&in_force).await;
            tokio::select! {
                changed = subscriptions.changed() => if changed.is_err() { return },
                () = sleep_until(sweep_at) => {
                    self.sweep(&in_force).await;
                    sweep_at = Instant::now() + SWEEP_EVERY;
                }
            }
        }
    }

    async fn take_in(&mut self, in_force: &Subscriptions) {
        let running: Vec<String> = self.tasks.keys().cloned().collect();
        for name in running {
            let (subscription, settings, task) = &self.tasks[&name];
            let same = in_force.active().any(|one| one == subscription) && *settings == in_force.settings;
            if !same || task.is_finished() {
                self.end(&name).await;
            }
        }
        for subscription in in_force.active() {
            if !self.tasks.contains_key(&subscription.name) {
                self.begin(subscription, &in_force.settings).await;
            }
        }
    }

    async fn begin(&mut self, subscription: &Arc<Subscription>, settings: &PostbackSettings) {
        let name = &subscription.name;
        // Counters start at 0, so that their growth is visible.
        for result in ["ok", "failed", "dead", "gone", "dropped"] {
            counter!(POSTBACKS, "subscription" => name.clone(), "result" => result).increment(0);
        }
        let declared = Arc::clone(subscription);
        let queueing = Arc::clone(&self.queueing);
        match Follower::of(&self.store, &self.wire, declared, settings, queueing).await {
            Ok(follower) => {
                let task = tokio::spawn(follower.run());
                self.tasks.insert(name.clone(), (Arc::clone(subscription), settings.clone(), task));
            }
            Err(cause) => error!(subscription = name, cause, "cannot send postbacks; will retry"),
        }
    }

    /// Deliveries in progress are repeated by the next task.
    async fn end(&mut self, name: &str) {
        let Some((_, _, task)) = self.tasks.remove(name) else { return };
        task.abort();
        let _ = task.await;
        for metric in [POSTBACK_LAG, POSTBACKS_OUTSTANDING, POSTBACKS_DEAD] {
            gauge!(metric, "subscription" => name.to_owned()).set(0.0);
        }
    }

    /// Removes expired records, on a thread that may block; failures are retried by the next sweep.
    async fn sweep(&self, in_force: &Arc<Subscriptions>) {
        let (store, in_force, runtime) = (self.store.clone(), Arc::clone(in_force), Handle::current());
        let sweeping = spawn_blocking(move || runtime.block_on(sweep(&store, &in_force)));
        if let Ok(Err(error)) = sweeping.await {
            warn!(%error, "could not scan the stored postbacks");
        }
    }
}

async fn sweep(store: &Store, in_force: &Subscriptions) -> Result<(), CommitError> {
    let PostbackSettings { dead_letters, dead_letters_kept, .. } = in_force.settings;
    for subscription in in_force.all() {
        let name = subscription.name.clone();
        let (removed, left) =
            PostbackLedger::of(store, subscription).sweep(dead_letters, dead_letters_kept).await?;
        gauge!(POSTBACKS_DEAD, "subscription" => name.clone()).set(left as f64);
        counter!(POSTBACKS, "subscription" => name, "result" => "dropped").increment(removed as u64);
    }
    forget_vanished(store, in_force).await
}
