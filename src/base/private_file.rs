//! Small owner-only files: the run file and the digest of the console's secret. Access to one proves that the
//! process is its user's. A file is not followed through a link, nor trusted if others may write it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::process::geteuid;

const BYTES_MAX: u64 = 64 * 1024;

const OTHERS: u32 = 0o077;

const OWN: u32 = 0o600;

/// Writes or replaces a file as a whole and returns it open. `before` runs before it gets its name.
pub fn write(path: &Path, bytes: &[u8], before: impl FnOnce(&File) -> io::Result<()>) -> io::Result<File> {
    let fresh = beside(path);
    // A leftover of an interrupted write, or a file that someone else has put there.
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(OWN).open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    before(&file).inspect_err(|_| drop(fs::remove_file(&fresh)))?;
    fs::rename(&fresh, path)?;
    Ok(file)
}

/// Reads a file and returns it open; `None` if it does not exist.
///
/// # Errors
/// A sentence: this user may not read it, or it cannot be trusted.
pub fn read(path: &Path) -> Result<Option<(File, Vec<u8>)>, String> {
    let place = path.display();
    // Opening a pipe would block.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = match open(path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP) => {
            return Err(format!("`{place}` is a symbolic link, which offerd never creates; {AGAIN}"));
        }
        Err(Errno::ACCESS | Errno::PERM) => {
            return Err(format!(
                "only the user that the daemon runs as can read `{place}`; run this as that user"
            ));
        }
        Err(error) => return Err(format!("`{place}` cannot be read: {error}")),
    };
    let found = fstat(&file).map_err(|error| format!("`{place}` cannot be read: {error}"))?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(format!("`{place}` is not a file, so offerd did not create it; {AGAIN}"));
    }
    let (user, owner) = (geteuid().as_raw(), found.st_uid);
    if !may_be_of(owner, user, path) {
        return Err(format!(
            "`{place}` belongs to another user (uid {owner}) than this command's (uid {user}), who may have \
                forged it; run this as the user that the daemon runs as, or {AGAIN}"
        ));
    }
    if found.st_mode & OTHERS != 0 {
        let mode = found.st_mode & 0o777;
        return Err(format!(
            "`{place}` is open to other users (mode {mode:o}, wanted {OWN:o}), so it cannot be trusted; \
                {AGAIN}"
        ));
    }
    let (file, mut bytes) = (File::from(file), Vec::new());
    let read = (&file).take(BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| format!("`{place}` cannot be read: {error}"))?;
    Ok(Some((file, bytes)))
}

const AGAIN: &str = "remove it and restart the daemon, which recreates it";

/// Whether the user owns the file. Root also accepts files of the owner of the directory.
fn may_be_of(owner: u32, user: u32, path: &Path) -> bool {
    let of_the_directory =
        || path.parent().and_then(|directory| fs::metadata(directory).ok()).map(|there| there.uid());
    owner == user || (user == 0 && of_the_directory() == Some(owner))
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn refused(path: &Path) -> String {
        read(path).unwrap_err()
    }

    #[test]
    fn what_was_written_is_read_and_is_nobody_elses() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("own");
        assert!(read(&path).unwrap().is_none() && read(&path.join("below")).unwrap().is_none());
        for text in ["one", "another"] {
            write(&path, text.as_bytes(), |_| Ok(())).unwrap();
            assert_eq!(read(&path).unwrap().unwrap().1, text.as_bytes());
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_file_that_others_may_read_or_write_proves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("own");
        write(&path, b"secret", |_| Ok(())).unwrap();
        for mode in [0o640, 0o604, 0o620, 0o602, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let told = refused(&path);
            assert!(
                told.contains(&format!("mode {mode:o}, wanted 600")) && told.contains("start the daemon"),
                "{told}"
            );
        }
    }

    #[test]
    fn neither_a_link_nor_a_directory_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("own"), directory.path().join("link"));
        write(&path, b"secret", |_| Ok(())).unwrap();
        symlink(&path, &link).unwrap();
        assert!(refused(&link).contains("symbolic link"), "{}", refused(&link));
        assert!(refused(directory.path()).contains("is not a file"), "{}", refused(directory.path()));
        // Writing replaces the link itself, not its target.
        write(&link, b"new", |_| Ok(())).unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&link).unwrap()),
            (b"secret".to_vec(), b"new".to_vec())
        );
    }

    #[test]
    fn only_root_reads_what_belongs_to_the_directorys_user() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("own");
        let us = geteuid().as_raw();
        assert!(may_be_of(us, us, &path) && may_be_of(us, 0, &path));
        assert!(
            !may_be_of(us + 1, us, &path) && !may_be_of(us + 1, 0, &path) && !may_be_of(us, us + 1, &path)
        );
    }
}
