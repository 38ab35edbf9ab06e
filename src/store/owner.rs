//! The owner of a store: the daemon could not read files created by another user, such as root.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::error::StoreError;
use super::user::ROOT;

/// The first file that opening a store creates.
const MADE_FIRST: &str = "lock";

pub(super) fn check(store: &Path) -> Result<(), StoreError> {
    let user = rustix::process::geteuid().as_raw();
    match owner(store, user) {
        Some(owner) if owner != user => Err(StoreError::Owner { path: store.to_owned(), owner, user }),
        _ => Ok(()),
    }
}

/// The owner, if known and not `user`. In a directory without a store, the permissions decide.
fn owner(store: &Path, user: u32) -> Option<u32> {
    let made = fs::metadata(store.join(MADE_FIRST)).ok();
    let made = made.or_else(|| fs::metadata(store).ok().filter(|_| user == ROOT));
    made.map(|made| made.uid())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lock file shows the owner of a store; a directory without one matters to root alone, since its
    /// permissions allow the others.
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
