//! Files that commands read and write.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Error, ErrorKind, IsTerminal, Read, Result, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::page;
use offerd_base::regular_file;
use offerd_store::unusable;

/// Advice for a file with undecodable text.
pub const SAVE_AS_UTF_8: &str =
    "save the file as UTF-8, or name the encoding that it is in, such as `--encoding windows-1252`";

/// A file being written under a temporary name. [`finish`](Self::finish) renames it; dropping it earlier
/// deletes it.
pub struct AtomicFile {
    file: PathBuf,
    /// The temporary path.
    pub part: PathBuf,
}

impl AtomicFile {
    /// Creates a file, readable by its owner only. Never overwrites one.
    pub fn begin(file: &Path) -> Result<(Self, File)> {
        if file.exists() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let mut part = file.as_os_str().to_owned();
        part.push(".part");
        let making = Self { file: file.to_owned(), part: PathBuf::from(part) };
        // Left over from a killed process.
        let _ = fs::remove_file(&making.part);
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&making.part)?;
        Ok((making, made))
    }

    /// Renames the file to its final name. When this returns, the file survives a power failure.
    pub fn finish(self, written: &File) -> Result<()> {
        written.sync_all()?;
        fs::rename(&self.part, &self.file)?;
        let directory = self.file.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // After the rename there is nothing to remove.
        let _ = fs::remove_file(&self.part);
    }
}

/// An open input: a file, or standard input.
pub struct InputFile {
    /// The unread bytes.
    pub read: Box<dyn Read>,
    /// Length in bytes, if known.
    pub bytes: Option<u64>,
    /// `SHA-256 …` of a file, for the audit.
    pub digest: Option<String>,
}

impl InputFile {
    /// Opens a file, or standard input for `-`.
    pub fn open(file: &Path) -> std::result::Result<Self, String> {
        if file == Path::new("-") {
            return Ok(Self { read: Box::new(io::stdin()), bytes: None, digest: None });
        }
        let opened = regular_file::open(file).and_then(|mut file| {
            let digest = digest(&file)?;
            file.rewind()?;
            Ok((file.metadata()?.len(), format!("SHA-256 {digest}"), file))
        });
        let (bytes, digest, read) =
            opened.map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        Ok(Self { read: Box::new(read), bytes: Some(bytes), digest: Some(digest) })
    }

    /// Its progress bar, hidden when standard error is not a terminal.
    pub fn bar(&self) -> ProgressBar {
        let style = |template| ProgressStyle::with_template(template).expect("the template is well-formed");
        match self.bytes {
            _ if !io::stderr().is_terminal() => ProgressBar::hidden(),
            Some(bytes) => ProgressBar::new(bytes)
                .with_style(style("{bar:30} {percent:>3} %  {binary_bytes_per_sec}, {eta} left  {msg}")),
            None => ProgressBar::no_length().with_style(style("{spinner} {binary_bytes}  {msg}")),
        }
    }
}

fn digest(file: &File) -> Result<String> {
    const CHUNK_BYTES: usize = 64 << 10;
    let (mut digest, mut read) = (Sha256::new(), BufReader::with_capacity(CHUNK_BYTES, file));
    loop {
        let chunk = read.fill_buf()?;
        if chunk.is_empty() {
            return Ok(const_hex::encode(digest.finalize()));
        }
        digest.update(chunk);
        let length = chunk.len();
        read.consume(length);
    }
}

/// Checks that [`give`] can print, before its document is gathered.
pub fn can_give(file: Option<&Path>) -> std::result::Result<(), String> {
    if named(file).is_some() { Ok(()) } else { page::can_print() }
}

/// Prints a document, or writes it to a file that only its owner can read; `what` names its content.
pub fn give(file: Option<&Path>, document: &RawValue, what: &str) -> std::result::Result<(), String> {
    let Some(file) = named(file) else {
        page::print(page::json(document.get()));
        return Ok(());
    };
    make(file, &[document.get().as_bytes(), b"\n"].concat())?;
    tell!("{what} is in {}", file.display());
    Ok(())
}

/// Creates a file that only its owner can read. Never overwrites one, and never leaves a partial one.
pub fn make(file: &Path, bytes: &[u8]) -> std::result::Result<(), String> {
    let made = AtomicFile::begin(file).and_then(|(making, mut made)| {
        made.write_all(bytes)?;
        making.finish(&made)
    });
    made.map_err(|error| cannot_make(file, &error))
}

/// The named output file; `None` for standard output, which `-` also names.
pub fn named(file: Option<&Path>) -> Option<&Path> {
    file.filter(|file| *file != Path::new("-"))
}

/// An input file as messages name it.
pub fn shown(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() }
}

/// Why a file cannot be created, and how to go on.
pub fn cannot_make(file: &Path, error: &Error) -> String {
    let shown = file.display();
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    match (error.kind(), directory) {
        (ErrorKind::AlreadyExists, _) => {
            format!("{shown} exists already, and is never overwritten; give another name, or move it away")
        }
        (ErrorKind::NotFound, Some(directory)) if !directory.is_dir() => format!(
            "{shown} cannot be made: the directory {} does not exist; make it first, or give another place",
            directory.display()
        ),
        (ErrorKind::StorageFull, _) => unusable(file, error),
        _ => format!("{shown} cannot be made: {error}; give a place that this user may write to"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_is_told_with_what_to_do() {
        let told = |file: &str, kind: ErrorKind| cannot_make(Path::new(file), &Error::from(kind));
        assert!(told("/no/such/file", ErrorKind::NotFound).contains("directory /no/such does not exist"));
        assert!(told("/proc/file", ErrorKind::NotFound).contains("may write to"), "the directory is there");
        assert!(told("file", ErrorKind::AlreadyExists).contains("exists already"));
        assert!(told("/file", ErrorKind::PermissionDenied).contains("may write to"));
    }
}
