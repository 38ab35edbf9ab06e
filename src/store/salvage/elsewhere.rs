//! Copies a store to another disk, to open it when its own disk has no room for that.

use super::super::lock::Lock;
use super::super::sealing::key_file::KeyFile;
use super::super::sealing::key_place::KeyPlace as _;
use super::super::staging::StagingDirectory;
use super::source::SalvageSource;
use super::{SalvageError, keys_of};
use crate::{DamageKind, FileDamage, MasterKey, StoreError, StoreOptions, damages, io_error, journal, owner};

/// Copies a store that nobody has open into a directory of a store in the making, which opens with the same
/// master key. The copy records the damage of the original, under its paths. The original is only read.
pub fn copy_elsewhere(
    options: &StoreOptions,
    master: &MasterKey,
    place: &StagingDirectory,
) -> Result<(), SalvageError> {
    let store = &options.path;
    owner::check(store)?;
    let _lock = Lock::take_to_read(store)?;
    let source = SalvageSource::of(store)?;
    let keys = keys_of(store, master)?
        .ok_or_else(|| SalvageError::KeysLost(KeyFile::of(store).path().to_owned()))?;
    let copied = source.copy(place.path(), &mut |_| {})?;
    KeyFile::of(place.path()).restore(&keys).map_err(StoreError::Sealing)?;
    // Under absolute paths, so that none is confused with a file of the copy.
    let named = |volume, file: &str, what| {
        let file = store.join(file).to_string_lossy().into_owned();
        FileDamage { volume, file, what }
    };
    let recovered =
        || DamageKind::Unusable("parts of it are damaged; the intact records were recovered".to_owned());
    let of_files = copied.damages.into_iter().map(|damage| named(damage.volume, &damage.file, damage.what));
    let segments = copied.journal.iter().map(|name| named(None, &format!("journal/{name}"), recovered()));
    let aside = journal::set_aside(store).into_iter();
    let aside = aside.map(|name| named(None, &format!("damaged/{name}"), DamageKind::SetAside));
    let damages: Vec<FileDamage> = of_files.chain(segments).chain(aside).collect();
    Ok(damages::keep_in(place.path(), &damages).map_err(|source| io_error(place.path(), source))?)
}
