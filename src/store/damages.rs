//! The known damage of a store: met since it was opened, or met earlier and not read intact since.
//!
//! It is saved in the file `damage`, so that a damaged store is known as such before the
//! [scrub](super::scrub) gets there. Damage that each start detects by itself is not saved.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io, mem};

use parking_lot::Mutex;

use super::damage::{DamageKind, FileDamage};
use super::disk;
use super::volume_number::VolumeNumber;
use offerd_base::telemetry::metrics::STORE_DAMAGE;

const NAME: &str = "damage";

/// Upper bound on remembered damage; further damage is dropped.
const REMEMBERED: usize = 1000;

/// The known damage; each item is logged and counted once. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Damages(Arc<KnownDamages>);

#[derive(Debug, Default)]
struct KnownDamages {
    noted: Mutex<Vec<FileDamage>>,
    /// The directory to save to, if any.
    store: Option<PathBuf>,
    /// Whether the saved part has changed since the last write.
    changed: AtomicBool,
    writing: Mutex<()>,
}

impl Damages {
    pub(super) fn kept_in(store: &Path) -> Self {
        let kept = match fs::read(store.join(NAME)) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot read the list of the store's damage; it is rebuilt");
                Vec::new()
            }),
            Err(_) => Vec::new(),
        };
        let damages =
            Self(Arc::new(KnownDamages { store: Some(store.to_owned()), ..KnownDamages::default() }));
        metrics::gauge!(STORE_DAMAGE).set(0.0);
        kept.into_iter().for_each(|damage| damages.note(damage));
        damages.0.changed.store(false, Ordering::Release);
        damages
    }

    pub(super) fn note_of(&self, volume: Option<VolumeNumber>, file: impl Into<String>, what: DamageKind) {
        self.note(FileDamage { volume, file: file.into(), what });
    }

    /// Logs and counts damage, unless it is known already.
    pub(super) fn note(&self, damage: FileDamage) {
        let mut noted = self.0.noted.lock();
        if noted.iter().any(|known| known.covers(&damage)) || noted.len() >= REMEMBERED {
            return;
        }
        match damage.costs_records() {
            true => {
                tracing::error!(damage = %damage, "the store is damaged: `offerd store check` lists all of it, \
                `offerd store salvage` rebuilds what it can")
            }
            false => tracing::warn!(damage = %damage, "a file of the store is damaged, and nothing is lost"),
        }
        let is_kept = is_kept(&damage);
        noted.push(damage);
        self.have_changed(&noted, is_kept);
    }

    /// Notes the damage found in reading a whole file; forgets damage of its records that was known before.
    /// What another reader met meanwhile stays: this one may have passed the place earlier.
    pub(super) fn has_read(&self, file: &str, before: &[FileDamage], found: Vec<FileDamage>) {
        let is_over =
            |known: &FileDamage| known.file == file && before.contains(known) && !found.contains(known);
        self.forget(|known| is_of_records(known) && is_over(known));
        if self.forget(|known| matches!(known.what, DamageKind::Unreadable { .. }) && is_over(known)) {
            told_readable(file);
        }
        found.into_iter().for_each(|damage| self.note(damage));
    }

    /// Notes that the disk can read a place of a file again.
    pub(super) fn can_be_read(&self, file: &str, place: u64) {
        let is_it =
            |known: &FileDamage| matches!(known.what, DamageKind::Unreadable { at, .. } if at == place);
        if self.forget(|known| known.file == file && is_it(known)) {
            told_readable(file);
        }
    }

    pub(super) fn is_back(&self, file: &str) {
        if self.forget(|known| known.file == file && known.what == DamageKind::Missing) {
            tracing::info!(file, "a missing file of the store is back");
        }
    }

    pub(super) fn are_unreadable(&self, volume: VolumeNumber) -> bool {
        let is_unreadable = |known: &FileDamage| matches!(known.what, DamageKind::Unreadable { .. });
        self.0.noted.lock().iter().any(|known| known.volume == Some(volume) && is_unreadable(known))
    }

    pub(super) fn cost_records_of(&self, volume: VolumeNumber) -> bool {
        self.0.noted.lock().iter().any(|known| known.volume == Some(volume) && known.costs_records())
    }

    /// Forgets the damage of volumes that no longer exist.
    pub(super) fn keep_to(&self, volumes: &[VolumeNumber]) {
        self.forget(|known| known.volume.is_some_and(|volume| !volumes.contains(&volume)));
    }

    pub(super) fn all(&self) -> Vec<FileDamage> {
        self.0.noted.lock().clone()
    }

    pub(super) fn save(&self) {
        let Some(store) = &self.0.store else { return };
        let _writing = self.0.writing.lock();
        if !self.0.changed.swap(false, Ordering::AcqRel) {
            return;
        }
        let kept: Vec<FileDamage> = self.all().into_iter().filter(is_kept).collect();
        if let Err(error) = keep_in(store, &kept) {
            self.0.changed.store(true, Ordering::Release);
            tracing::warn!(%error, "cannot write the list of the store's damage; a restart rebuilds it");
        }
    }

    pub(super) fn forget(&self, is_gone: impl Fn(&FileDamage) -> bool) -> bool {
        let mut noted = self.0.noted.lock();
        let known = mem::take(&mut *noted);
        let (gone, left): (Vec<FileDamage>, Vec<FileDamage>) = known.into_iter().partition(is_gone);
        *noted = left;
        if !gone.is_empty() {
            self.have_changed(&noted, gone.iter().any(is_kept));
        }
        !gone.is_empty()
    }

    fn have_changed(&self, noted: &[FileDamage], is_kept: bool) {
        self.0.changed.fetch_or(is_kept, Ordering::AcqRel);
        // The gauge covers the open store only, not one that is read in passing.
        if self.0.store.is_some() {
            metrics::gauge!(STORE_DAMAGE).set(noted.len() as f64);
        }
    }
}

fn is_of_records(damage: &FileDamage) -> bool {
    matches!(damage.what, DamageKind::Bytes { at, .. } if at > 0)
}

fn told_readable(file: &str) {
    tracing::info!(file, "the disk can read a file of the store again");
}

/// Whether a start cannot detect it by itself.
fn is_kept(damage: &FileDamage) -> bool {
    is_of_records(damage) || matches!(damage.what, DamageKind::Unusable(_) | DamageKind::Unlisted)
}

/// Saves damage for a store that no process has open.
pub(super) fn keep_in(store: &Path, damages: &[FileDamage]) -> io::Result<()> {
    let file = store.join(NAME);
    match damages {
        [] => disk::remove_file(&file),
        damages => disk::replace(&file, &serde_json::to_vec(damages)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damage(file: &str, what: DamageKind) -> FileDamage {
        FileDamage { volume: Some(1), file: file.to_owned(), what }
    }

    fn bytes(at: u64, bytes: u64) -> DamageKind {
        DamageKind::Bytes { at, bytes, between: [None, None] }
    }

    #[test]
    fn what_another_reader_met_during_a_walk_stays_known() {
        let damages = Damages::kept_in(tempfile::tempdir().unwrap().path());
        let unreadable = DamageKind::Unreadable { at: 50, bytes: 9, why: "gone".to_owned() };
        let before = damages.all();
        damages.note(damage("one", unreadable.clone()));
        damages.has_read("one", &before, Vec::new());
        assert_eq!(damages.all(), [damage("one", unreadable)]);
        damages.has_read("one", &damages.all(), Vec::new());
        assert_eq!(damages.all(), []);
    }

    #[test]
    fn a_place_past_the_end_of_a_file_is_no_damage_of_its_own() {
        let damages = Damages::default();
        let cut = DamageKind::CutShort { bytes: 50, wanted: 90, records: 0 };
        damages.note(damage("one", cut.clone()));
        damages.note(damage("one", bytes(50, 9)));
        damages.note(damage("one", bytes(45, 9)));
        damages.note(damage("other", bytes(50, 9)));
        damages.note(damage("one", bytes(49, 1)));
        let known = [damage("one", cut), damage("other", bytes(50, 9)), damage("one", bytes(49, 1))];
        assert_eq!(damages.all(), known);
    }

    #[test]
    fn what_was_found_is_known_again_until_its_place_is_read_whole() {
        let directory = tempfile::tempdir().unwrap();
        let damages = Damages::kept_in(directory.path());
        let [one, other] = [damage("one", bytes(50, 10)), damage("other", bytes(70, 10))];
        damages.has_read("one", &[], vec![one.clone()]);
        damages.note(other.clone());
        damages.note(damage("one", bytes(52, 4)));
        damages.note(damage("one", DamageKind::Missing));
        damages.save();

        let again = Damages::kept_in(directory.path());
        assert_eq!(again.all(), [one.clone(), other.clone()], "what a start finds by itself is not kept");
        again.has_read("one", &again.all(), Vec::new());
        again.save();
        assert_eq!(Damages::kept_in(directory.path()).all(), [other]);
        again.keep_to(&[2]);
        again.save();
        assert!(!directory.path().join(NAME).exists());

        fs::write(directory.path().join(NAME), "[{").unwrap();
        assert_eq!(Damages::kept_in(directory.path()).all(), []);
    }
}
