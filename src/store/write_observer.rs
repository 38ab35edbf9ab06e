//! The write observer of a backup: collects applied changes, group by group, until the backup takes them.

use parking_lot::Mutex;

use super::changes::RecordChange;

/// Upper bound on the bytes of changes waiting for a backup.
pub(super) const CHANGES_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Collects changes for one backup; idle while there is none.
#[derive(Debug, Default)]
pub(super) struct WriteObserver(Mutex<Option<ObservedChanges>>);

#[derive(Debug, Default)]
struct ObservedChanges {
    changes: Vec<RecordChange>,
    bytes: usize,
    /// The limit was exceeded; nothing more is collected.
    fell_behind: bool,
}

/// Why a backup cannot begin or finish.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackupError {
    /// The store is in a database, whose own tools take its backups.
    #[error(
        "the store is in a database: back it up with the database's own tools, such as `pg_dump`, and keep \
            the master key elsewhere"
    )]
    InDatabase,
    /// Another backup is in progress.
    #[error("another backup is running")]
    UnderWay,
    /// More was written meanwhile than may wait for the backup.
    #[error("the backup was written too slowly: more than {} MiB changed meanwhile", CHANGES_BYTES_MAX >> 20)]
    FellBehind,
    /// The disk failed.
    #[error("the store cannot be read: {0}")]
    Disk(String),
}

impl WriteObserver {
    /// Begins to collect, for one backup at a time.
    pub(super) fn begin(&self) -> Result<(), BackupError> {
        let mut noted = self.0.lock();
        if noted.is_some() {
            return Err(BackupError::UnderWay);
        }
        *noted = Some(ObservedChanges::default());
        Ok(())
    }

    pub(super) fn note(&self, group: Vec<RecordChange>) {
        let mut noted = self.0.lock();
        let Some(noted) = noted.as_mut().filter(|noted| !noted.fell_behind) else { return };
        let length =
            |change: &RecordChange| change.key.len() + change.value.as_ref().map_or(0, |value| value.len());
        noted.bytes += group.iter().map(length).sum::<usize>();
        if noted.bytes > CHANGES_BYTES_MAX {
            *noted = ObservedChanges { fell_behind: true, ..ObservedChanges::default() };
            return;
        }
        noted.changes.extend(group);
    }

    /// Whether a backup observes writes, so that changes should be kept for [`note`](Self::note).
    pub(super) fn listens(&self) -> bool {
        self.0.lock().is_some()
    }

    pub(super) fn take(&self) -> Result<Vec<RecordChange>, BackupError> {
        match self.0.lock().as_mut() {
            Some(ObservedChanges { fell_behind: true, .. }) | None => Err(BackupError::FellBehind),
            Some(noted) => Ok(std::mem::take(noted).changes),
        }
    }

    pub(super) fn end(&self) {
        self.0.lock().take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_wait_is_bounded_and_nothing_is_kept_of_what_fell_behind() {
        let observer = WriteObserver::default();
        let value = vec![0; CHANGES_BYTES_MAX / 4];
        let group = || vec![RecordChange { volume: 0, key: b"k".to_vec(), value: Some(value.clone()) }];
        observer.begin().unwrap();
        (0..3).for_each(|_| observer.note(group()));
        assert_eq!(observer.take().unwrap().len(), 3);
        (0..4).for_each(|_| observer.note(group()));
        assert_eq!(observer.take(), Err(BackupError::FellBehind), "also for changes that came before");
        observer.end();
        observer.note(group());
        assert!(!observer.listens());
    }
}
