//! Reads files that operators name: bounded in size, and never from something that blocks or has no end.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Largest PEM file with certificates or a key, bytes; all public CAs together take a quarter of one MiB.
pub const PEM_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Largest file with a secret, bytes; a secret takes some dozens.
pub const SECRET_BYTES_MAX: u64 = 4096;

/// The bytes of a file, at most `most`. Follows links.
///
/// # Errors
/// If it cannot be read, is not a regular file, or is too large.
pub fn bytes_of(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let opened = open(file)?;
    // Allocated once, so that no reallocation leaves a copy of a secret behind.
    let mut bytes = Vec::with_capacity(usize::try_from(opened.metadata()?.len().min(most)).unwrap_or(0) + 1);
    if opened.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        return Err(refused(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Opens a file for reading. Follows links.
///
/// # Errors
/// If it cannot be opened or is not a regular file.
pub fn open(file: &Path) -> io::Result<File> {
    // Opening a pipe would wait for its writer.
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(nonblocking).open(file)?;
    match opened.metadata()?.is_file() {
        true => Ok(opened),
        false => Err(refused("it is not a regular file".to_owned())),
    }
}

fn refused(message: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, message)
}

/// The text of a file, without the byte order mark that some editors add: it is not part of a secret.
///
/// # Errors
/// Like [`bytes_of`], or if it is not UTF-8.
pub fn text_of(file: &Path, most: u64) -> io::Result<String> {
    let no_text = |_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text");
    let mut text = String::from_utf8(bytes_of(file, most)?).map_err(no_text)?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_no_file_is_refused_and_never_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        fs::create_dir(at("room")).unwrap();
        for name in ["pipe", "room", "zero"] {
            assert_eq!(text_of(&at(name), 9).unwrap_err().to_string(), "it is not a regular file", "{name}");
        }
    }

    #[test]
    fn a_file_is_read_up_to_the_bound_and_none_beyond_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "a = 1").unwrap();
        assert_eq!(
            (bytes_of(&file, 5).unwrap(), text_of(&file, 5).unwrap()),
            (b"a = 1".to_vec(), "a = 1".to_owned())
        );
        assert_eq!(text_of(&file, 4).unwrap_err().to_string(), "it has more than 4 bytes");
        fs::write(&file, "\u{feff}a").unwrap();
        assert_eq!(text_of(&file, 4).unwrap(), "a");
        fs::write(&file, [0xff]).unwrap();
        assert_eq!(text_of(&file, 4).unwrap_err().to_string(), "it is not UTF-8 text");
    }
}
