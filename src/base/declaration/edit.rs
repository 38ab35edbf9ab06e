//! A declared file as it is to be: checked before it is written, and written as a whole.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use super::directory::text_of;
use crate::private_file;

/// Mode of a file that did not exist.
const MODE: u32 = 0o640;

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// The file.
    pub file: PathBuf,
    /// Its new text; `None` to remove it.
    pub text: Option<String>,
}

impl FileEdit {
    /// The text of a file under an edit, if any.
    pub(crate) fn text_under(edit: Option<&Self>, file: &Path) -> io::Result<String> {
        match edit.filter(|edit| edit.is_of(file)) {
            Some(edit) => edit.text.clone().ok_or_else(|| ErrorKind::NotFound.into()),
            None => text_of(file),
        }
    }

    /// The files of a directory under this edit, by name.
    pub(super) fn amend(&self, directory: &Path, files: &mut Vec<PathBuf>) {
        if self.file.parent().is_some_and(|parent| same(parent, directory)) {
            files.retain(|file| !self.is_of(file));
            files.extend(self.text.is_some().then(|| self.file.clone()));
            files.sort();
        }
    }

    fn is_of(&self, file: &Path) -> bool {
        same(&self.file, file)
    }

    /// Whether the file is as this says.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn is_in_place(&self) -> io::Result<bool> {
        match text_of(&self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(self.text.is_none()),
            text => Ok(Some(text?) == self.text),
        }
    }

    /// Writes or removes the file as a whole. It keeps its owner and mode; a link to it stays a link.
    ///
    /// # Errors
    /// If the directory cannot be written, or the owner cannot be kept. The file is unchanged then.
    pub fn write(&self) -> io::Result<()> {
        let file = fs::canonicalize(&self.file).unwrap_or_else(|_| self.file.clone());
        let Some(text) = &self.text else { return fs::remove_file(file) };
        let before = match fs::metadata(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            before => Some(before?),
        };
        let keep = |fresh: &File| match &before {
            Some(before) => {
                fchown(fresh, Some(before.uid()), Some(before.gid()))?;
                fresh.set_permissions(before.permissions())
            }
            None => fresh.set_permissions(Permissions::from_mode(MODE)),
        };
        private_file::write(&file, text.as_bytes(), keep).map(drop)
    }
}

fn same(one: &Path, other: &Path) -> bool {
    let absolute = |path| std::path::absolute(path).ok();
    absolute(one) == absolute(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_written_file_keeps_its_mode_and_the_link_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("real.toml"), "a = 1").unwrap();
        fs::set_permissions(at("real.toml"), Permissions::from_mode(0o604)).unwrap();
        symlink(at("real.toml"), at("link.toml")).unwrap();
        let edit = |text: Option<&str>| FileEdit { file: at("link.toml"), text: text.map(str::to_owned) };
        edit(Some("a = 2")).write().unwrap();
        assert_eq!(fs::read_to_string(at("real.toml")).unwrap(), "a = 2");
        assert!(fs::symlink_metadata(at("link.toml")).unwrap().is_symlink());
        assert_eq!(fs::metadata(at("real.toml")).unwrap().permissions().mode() & 0o777, 0o604);

        // Something stands where the new text would be written.
        fs::create_dir(at("real.toml.new")).unwrap();
        assert!(edit(Some("a = 3")).write().is_err());
        assert_eq!(fs::read_to_string(at("real.toml")).unwrap(), "a = 2");
        edit(None).write().unwrap();
        assert!(!at("real.toml").exists());
    }

    #[test]
    fn a_directory_is_read_as_it_would_be() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("one.toml"), "").unwrap();
        let amended = |name: &str, text: Option<&str>| {
            let mut files = vec![at("one.toml")];
            FileEdit { file: at(name), text: text.map(str::to_owned) }.amend(directory.path(), &mut files);
            files
        };
        assert_eq!(amended("added.toml", Some("a = 1")), ["added.toml", "one.toml"].map(at));
        assert!(amended("one.toml", None).is_empty());
        assert_eq!(amended("elsewhere/two.toml", Some("")), [at("one.toml")]);
    }
}
