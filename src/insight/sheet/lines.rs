//! Reads the lines of an operator's file, whatever encoding and line ends the program that saved it uses.

use std::collections::VecDeque;
use std::io::{self, BufRead, ErrorKind, Read};

use encoding_rs::{Decoder, UTF_8};
use memchr::memchr2;

/// The longest line, and the longest row over several lines, in bytes.
pub const RECORD_BYTES: usize = 64 * 1024;

/// A character encoding.
pub type Encoding = &'static encoding_rs::Encoding;

/// A line: its number, from 1, and its text or the fault.
pub type Line = (u64, Result<String, String>);

/// The encoding of a name, as browsers know it: `windows-1252`, `utf-16le`.
pub fn encoding(name: &str) -> Option<Encoding> {
    encoding_rs::Encoding::for_label_no_replacement(name.as_bytes())
}

/// Decodes a file to UTF-8. A byte order mark decides the encoding, else the caller, else UTF-8. Invalid
/// bytes become U+FFFD.
pub fn decoded<R: Read>(file: R, encoding: Option<Encoding>) -> Decoded<R> {
    let decoder = encoding.unwrap_or(UTF_8).new_decoder();
    Decoded { file, decoder, raw: vec![0; 8 * 1024], text: String::new(), given: 0, has_ended: false }
}

/// A file decoded as it is read.
pub struct Decoded<R> {
    file: R,
    decoder: Decoder,
    raw: Vec<u8>,
    /// The decoded text, and how much of it was consumed.
    text: String,
    given: usize,
    has_ended: bool,
}

impl<R: Read> BufRead for Decoded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.given == self.text.len() && !self.has_ended {
            let read = self.file.read(&mut self.raw)?;
            (self.given, self.has_ended) = (0, read == 0);
            self.text.clear();
            self.text.reserve(self.decoder.max_utf8_buffer_length(read).unwrap_or(0));
            let _ = self.decoder.decode_to_string(&self.raw[..read], &mut self.text, self.has_ended);
        }
        Ok(&self.text.as_bytes()[self.given..])
    }

    fn consume(&mut self, bytes: usize) {
        self.given += bytes;
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}

/// The lines of a text, without blank ones.
pub struct Lines<R> {
    text: R,
    number: u64,
    /// Whether the last line ended with a carriage return, which a line feed may follow.
    after_return: bool,
    /// Whether a read failed; nothing follows then.
    is_broken: bool,
    /// Lines read ahead.
    ahead: VecDeque<Line>,
    /// What to do about unreadable letters.
    advice: &'static str,
}

impl<R: BufRead> Lines<R> {
    /// The lines of a [decoded] text. `advice` ends the message about unreadable letters.
    pub fn new(text: R, advice: &'static str) -> Self {
        Self { text, number: 0, after_return: false, is_broken: false, ahead: VecDeque::new(), advice }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Looks at the line `nth` lines ahead, blank ones included.
    pub(super) fn peek(&mut self, nth: usize) -> Option<&str> {
        while self.ahead.len() <= nth {
            let line = self.read()?;
            self.ahead.push_back(line);
        }
        self.ahead[nth].1.as_deref().ok()
    }

    /// Consumes lines that were read ahead.
    pub(super) fn skip_looked_at(&mut self, count: usize) {
        self.ahead.drain(..count);
    }

    fn read(&mut self) -> Option<Line> {
        if self.is_broken {
            return None;
        }
        let line = match self.bytes() {
            Ok(line) => line?,
            Err(error) => {
                self.is_broken = true;
                return Some((self.number + 1, Err(format!("cannot be read: {error}"))));
            }
        };
        let text = String::from_utf8_lossy(&line);
        let checked = match () {
            () if line.len() > RECORD_BYTES => Err(format!("is longer than {RECORD_BYTES} bytes")),
            () if text.contains(['\u{fffd}', '\0']) => {
                Err(format!("has letters that cannot be read, or were lost before; {}", self.advice))
            }
            () => Ok(text.into_owned()),
        };
        Some((self.number, checked))
    }

    /// Reads the bytes of a line without its end; of an overlong line, one byte more than the limit.
    fn bytes(&mut self) -> io::Result<Option<Vec<u8>>> {
        let (mut line, mut found) = (Vec::new(), false);
        loop {
            let buffer = match self.text.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                buffer => buffer?,
            };
            if std::mem::take(&mut self.after_return) && buffer.starts_with(b"\n") {
                self.text.consume(1);
                continue;
            }
            let end = memchr2(b'\n', b'\r', buffer);
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            found |= !buffer.is_empty();
            line.extend_from_slice(&piece[..piece.len().min(RECORD_BYTES + 1 - line.len())]);
            self.after_return = end.is_some_and(|end| buffer[end] == b'\r');
            let (used, is_last) = (piece.len() + usize::from(end.is_some()), buffer.is_empty());
            self.text.consume(used);
            if end.is_some() || is_last {
                self.number += u64::from(found);
                return Ok(found.then_some(line));
            }
        }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        loop {
            let line = self.ahead.pop_front().or_else(|| self.read())?;
            if line.1.as_deref().map_or(true, |text| !text.trim().is_empty()) {
                return Some(line);
            }
        }
    }
}
