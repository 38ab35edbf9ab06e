//! The lease: which process writes to the database. Another waits until it has ended, by the database's own clock, and whoever has lost
//! it writes nothing any more, since each transaction begins by looking whether it is still held.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::time::{MissedTickBehavior, interval};

use super::client::{Client, Failure};
use super::statements::{END_LEASE, HOLD_LEASE, TAKE_LEASE};

/// How often it is renewed within that time.
const RENEWALS: u32 = 5;

/// The lease of this process.
#[derive(Debug, Clone)]
pub(super) struct Lease {
    holder: Arc<Vec<u8>>,
    /// How long it lasts without being renewed.
    lasts: Duration,
}

impl Lease {
    /// Takes it; nothing while another process has it.
    pub(super) fn take(client: &Client, lasts: Duration) -> Result<Option<Self>, Failure> {
        let lease = Self { holder: Arc::new(crate::ids::random().as_bytes().to_vec()), lasts };
        let taken = lease.clone();
        let is_taken =
            client.ask(|pool| async move { taken.renew(&Client::connection(&pool).await?).await })?;
        Ok(is_taken.then_some(lease))
    }

    /// Has it be renewed for as long as the client is there.
    pub(super) fn keep(&self, client: &Client) {
        let lease = self.clone();
        client.meanwhile(|pool| async move {
            let mut ticks = interval(lease.lasts / RENEWALS);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let renewed = async { lease.renew(&Client::connection(&pool).await?).await };
                // The writer finds out whether it is still held.
                if let Err(failure) = renewed.await {
                    tracing::warn!(%failure, "the lease of the database could not be renewed");
                }
            }
        });
    }

    async fn renew(&self, connection: &Object) -> Result<bool, Failure> {
        let rows = connection.execute(TAKE_LEASE, &[&*self.holder, &self.lasts.as_secs_f64()]).await?;
        Ok(rows > 0)
    }

    /// Whether it is held until the transaction of the connection ends.
    pub(super) async fn is_held(&self, connection: &Object) -> Result<bool, Failure> {
        let statement = connection.prepare_cached(HOLD_LEASE).await?;
        Ok(connection.query_opt(&statement, &[&*self.holder]).await?.is_some())
    }

    /// Gives it up, so that nobody waits for its end.
    pub(super) fn end(&self, client: &Client) -> Result<(), Failure> {
        let holder = Arc::clone(&self.holder);
        client.ask(|pool| async move {
            Client::connection(&pool).await?.execute(END_LEASE, &[&*holder]).await?;
            Ok(())
        })
    }
}
