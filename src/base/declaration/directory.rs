//! Directories of declarations, one per file.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::edit::FileEdit;
use super::fault::Fault;
use super::source::Source;
use crate::regular_file;

const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The TOML files of a directory, by name. Skips hidden files, which editors leave behind.
///
/// # Errors
/// If the directory cannot be read.
pub fn files_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let is_toml = |path: &PathBuf| {
        path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml")) && !is_hidden(path)
    };
    let mut files: Vec<PathBuf> = paths.into_iter().filter(is_toml).collect();
    files.sort();
    Ok(files)
}

/// Like [`files_in`], but empty if the directory does not exist.
fn files_if_any(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match files_in(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        files => files,
    }
}

/// Reads the declarations of a directory, which may be missing: the result of `read` for each name and text,
/// and every fault. `key` is the setting that names the directory; `edit` changes a file, if any.
pub fn declared_in<T>(
    directory: &Path,
    key: &str,
    edit: Option<&FileEdit>,
    read: impl Fn(&str, &Source) -> Result<T, Vec<Fault>>,
) -> (Vec<T>, Vec<Fault>) {
    let unread = |file: &Path, key: &str, error: io::Error| {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        Fault::new(Some(file), key, format!("cannot be read: {error}"))
    };
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    let mut files = files_if_any(directory).unwrap_or_else(|error| {
        faults.push(unread(directory, key, error));
        Vec::new()
    });
    edit.iter().for_each(|edit| edit.amend(directory, &mut files));
    for file in files {
        let text = FileEdit::text_under(edit, &file).map_err(|error| vec![unread(&file, "", error)]);
        let source = text.and_then(|text| Source::parse(&file, &text).map_err(|fault| vec![fault]));
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        match source.and_then(|source| read(&name, &source)) {
            Ok(one) => all.push(one),
            Err(found) => faults.extend(found),
        }
    }
    (all, faults)
}

/// The text of a file. Anything else, such as a pipe without a writer, is refused without waiting.
///
/// # Errors
/// If it cannot be read, is not a regular file, is too large or is not UTF-8.
pub fn text_of(file: &Path) -> io::Result<String> {
    regular_file::text_of(file, BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declarations_of_a_directory_are_its_toml_files_but_for_hidden_ones() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["good.toml", "also.toml", ".good.toml", "good.txt"] {
            fs::write(at(name), "a = 1").unwrap();
        }
        assert_eq!(files_in(directory.path()).unwrap(), ["also.toml", "good.toml"].map(at));
        assert_eq!(text_of(&at("good.toml")).unwrap(), "a = 1");
        assert!(files_if_any(&at("none")).unwrap().is_empty());
    }
}
