//! The owner of a store, who alone opens it: the daemon could not read the files that another user, such as root, makes in it.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use super::{error::StoreError, user::ROOT};

/// The file that the first process to open a store makes.
const MADE_FIRST: &str = "lock";

/// Whether this user may open the store of a directory, or make one there.
///
/// # Errors
/// That it is another one's.
pub(super) fn check(store: &Path) -> Result<(), StoreError> {
    let user = rustix::process::geteuid().as_raw();
    match owner(store, user) {
        Some(owner) if owner != user => Err(StoreError::Owner { path: store.to_owned(), owner, user }),
        _ => Ok(()),
    }
}

/// Whose it is, as far as that matters to a user: into a directory without a store others may write as its owner lets them, and of
/// one that cannot be looked into nothing is known.
fn owner(store: &Path, user: u32) -> Option<u32> {
    let made = fs::metadata(store.join(MADE_FIRST)).ok();
    let made = made.or_else(|| fs::metadata(store).ok().filter(|_| user == ROOT));
    made.map(|made| made.uid())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store's own file shows whose it is; a directory without one concerns root alone, since who may write there was let.
    #[test]
    fn who_made_the_store_owns_it() {
        let directory = tempfile::tempdir().unwrap();
        let own = fs::metadata(directory.path()).unwrap().uid();
        assert_eq!(owner(directory.path(), ROOT), Some(own));
        assert_eq!(owner(directory.path(), 1234), None);
        fs::write(directory.path().join("lock"), "").unwrap();
        assert_eq!(owner(directory.path(), 1234), Some(own));
        assert_eq!(owner(&directory.path().join("none"), ROOT), None);
    }
}
