//! The contact index: finds leads by the contact details they were submitted with.
//!
//! A lead is acknowledged before it is indexed, so that indexing slows down no submit; a look-up first lets
//! the index catch up ([`ContactIndex::catch_up`]). Indexing is idempotent, so a crash only repeats a step.
//! Leads older than the index enter it in the same way.

use std::time::Instant;

use offerd_engine::records::contacts;
use offerd_engine::records::projection::{LOOK_AGAIN, Projection, STEP, blocking, step};
use offerd_model::EventType;
use offerd_store::contacts::PROJECTION;
use offerd_store::entities::{Happening, LeadRecord};
use offerd_store::{Commit, CommitError, ReadResult, Store, Tree, unless_broken};

/// The contact index of a store.
#[derive(Debug, Clone)]
pub struct ContactIndex(pub Store);

impl Projection for ContactIndex {
    const TROUBLE: &'static str = "cannot add leads to the index of persons; will retry";

    async fn begin(&mut self) {
        self.0.until_leader().await;
    }

    async fn fold(&mut self) -> Result<bool, CommitError> {
        step(&self.0, (PROJECTION, STEP), |happenings, moved| self.store_contacts(happenings, moved)).await
    }
}

impl ContactIndex {
    /// Folds the feed until the index is current or `until` has passed; returns whether it is current.
    ///
    /// # Errors
    /// The failure of the store.
    pub async fn catch_up(&mut self, until: Instant) -> Result<bool, CommitError> {
        loop {
            match self.fold().await {
                Ok(false) => return Ok(true),
                // Another process has indexed these leads.
                Ok(true) | Err(CommitError::Guard { .. }) if Instant::now() < until => {}
                Err(CommitError::Busy) if Instant::now() < until => tokio::time::sleep(LOOK_AGAIN).await,
                Ok(true) | Err(CommitError::Busy | CommitError::Guard { .. }) => return Ok(false),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Indexes leads. A lead that cannot be read at the moment fails the step, so that it is retried.
    async fn store_contacts(&self, happenings: Vec<Happening>, moved: Commit) -> Result<(), CommitError> {
        let store = self.0.clone();
        let found = move || -> ReadResult<Vec<Commit>> {
            let mut found = Vec::new();
            for made in happenings.iter().filter(|one| one.event_type == EventType::LeadCreated) {
                // Skips one that is erased or broken.
                let record: Option<LeadRecord> = unless_broken(store.read_json(Tree::Leads, made.lead))?;
                found.extend(record.iter().flat_map(|record| contacts::found_by(&store, record)));
            }
            Ok(found)
        };
        let found = blocking(found).await??;
        // Skips leads that were erased meanwhile.
        self.0.commit_all(found, |failure| matches!(failure, CommitError::Erased)).await?;
        self.0.commit(moved).await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use offerd_engine::records::writing;
    use offerd_model::{CreditBands, Lead};
    use offerd_store::{Clock, StoreOptions};

    #[tokio::test]
    async fn a_lead_that_cannot_be_read_for_the_moment_comes_into_the_index_when_it_can() {
        let directory = tempfile::tempdir().unwrap();
        let options = options(&directory.path().join("store"));
        let now_us = Arc::new(AtomicU64::new(1_700_000_000_000_000));
        let clock = Arc::clone(&now_us);
        let options = StoreOptions { clock: Clock::new(move || clock.load(Ordering::SeqCst)), ..options };
        let store = Store::open_inline_with(&options).unwrap();
        let record = record(store.now_ms());
        store.commit(writing::new_lead(&record, None)).await.unwrap();
        now_us.fetch_add(3_600_000_000, Ordering::SeqCst);
        store.commit(Commit::new().put(Tree::Meta, "later", "value")).await.unwrap();
        assert_eq!(store.volumes().len(), 2);
        store.close().unwrap();
        drop(store);

        let index = ContactIndex(Store::open_inline_with(&options).unwrap());
        let made = writing::LeadReference::of(&record).happening(EventType::LeadCreated, record.created_at);
        let moved = || Commit::new().put(Tree::Meta, "moved", "value");
        let [contact] = contacts::contacts(&index.0, &record.lead)[..] else { panic!("one contact") };
        let file = options.path.join("volumes/1/00000001.records");
        let aside = options.path.join("aside");
        fs::rename(&file, &aside).unwrap();
        fs::create_dir(&file).unwrap();
        let taken = index.store_contacts(vec![made.clone()], moved()).await;
        let Err(CommitError::Unread(cause)) = taken else { panic!("{taken:?}") };
        assert!(cause.starts_with("the store cannot be read: "), "{cause}");
        assert!(cause.contains("00000001.records"), "it names what ails the store: {cause}");
        assert_eq!(index.0.get(Tree::Meta, "moved").unwrap(), None);

        fs::remove_dir(&file).unwrap();
        fs::rename(&aside, &file).unwrap();
        index.store_contacts(vec![made], moved()).await.unwrap();
        assert_eq!(index.0.found_by(&contact).unwrap(), [record.uuid]);
        assert!(index.0.get(Tree::Meta, "moved").unwrap().is_some());
    }

    fn options(path: &std::path::Path) -> StoreOptions {
        StoreOptions { volume_age: Duration::from_secs(3600), ..StoreOptions::new(path) }
    }

    fn record(created_at: i64) -> LeadRecord {
        LeadRecord {
            uuid: Uuid::from_u128(0x1EAD),
            company: Uuid::from_u128(0xC0),
            test: false,
            created_at,
            updated_at: created_at,
            bands: CreditBands::Current,
            newer_values: false,
            first_table: None,
            consents_stated_at: None,
            earlier_consents: Vec::new(),
            earlier_digests: Vec::new(),
            experiments: std::collections::BTreeMap::new(),
            defaults: None,
            lead: Lead::read(br#"{"personalInformation": {"email": "ada@example.com"}}"#).unwrap(),
        }
    }
}
