//! The files of a directory that hold declarations, one a file.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Bytes of a file at most.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The TOML files of a directory, by name. Hidden ones are what editors leave, and are none.
///
/// # Errors
/// That the directory cannot be read.
pub fn files_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|end| end == "toml") && !is_hidden(path);
    let mut files: Vec<PathBuf> = paths.into_iter().filter(is_toml).collect();
    files.sort();
    Ok(files)
}

/// The same, and none where there is no such directory.
///
/// # Errors
/// That it is there and cannot be read.
pub fn files_if_any(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match files_in(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        files => files,
    }
}

/// The text of a file. What is no file, such as a pipe that nobody writes into, is refused rather than waited for.
///
/// # Errors
/// That it cannot be read, is no regular file, too large or no UTF-8.
pub fn text_of(file: &Path) -> io::Result<String> {
    let invalid = |message: String| io::Error::new(ErrorKind::InvalidInput, message);
    let opened =
        OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(file)?;
    if !opened.metadata()?.is_file() {
        return Err(invalid("it is no regular file".to_owned()));
    }
    let mut text = String::new();
    if opened.take(BYTES_MAX + 1).read_to_string(&mut text)? as u64 > BYTES_MAX {
        return Err(invalid(format!("it has more than {BYTES_MAX} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_refused_and_never_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe.toml"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero.toml")).unwrap();
        fs::create_dir(at("room.toml")).unwrap();
        fs::write(at("good.toml"), "a = 1").unwrap();
        fs::write(at(".good.toml"), "left by an editor").unwrap();
        let files = files_in(directory.path()).unwrap();
        assert_eq!(files, ["good.toml", "pipe.toml", "room.toml", "zero.toml"].map(at));
        let refused = |name: &str| text_of(&at(name)).unwrap_err().to_string();
        for name in ["pipe.toml", "room.toml", "zero.toml"] {
            assert_eq!(refused(name), "it is no regular file", "{name}");
        }
        assert_eq!(text_of(&at("good.toml")).unwrap(), "a = 1");
        assert!(files_if_any(&at("none")).unwrap().is_empty());
    }
}
