//! Reads the lines of an operator's file, whatever encoding and line ends the program that saved it uses.

use std::collections::VecDeque;
use std::io::{self, BufRead, ErrorKind, Read};

use encoding_rs::{Decoder, DecoderResult, UTF_8, WINDOWS_1252};
use memchr::memchr2;

/// The longest line, and the longest row over several lines, in bytes.
pub const RECORD_BYTES: usize = 64 * 1024;

/// A character encoding.
pub type Encoding = &'static encoding_rs::Encoding;

/// A line: its number, from 1, and its text or the fault.
pub type NumberedLine = (u64, Result<String, String>);

/// The encoding of a name, as browsers know it: `windows-1252`, `utf-16le`.
pub fn encoding(name: &str) -> Option<Encoding> {
    encoding_rs::Encoding::for_label_no_replacement(name.as_bytes())
}

/// The name of the encoding that a misspelt name means, such as `windows-1252` of `latin-1` and `cp-1252`.
pub fn nearest_encoding(name: &str) -> Option<String> {
    let plain = name.to_lowercase().replace(['-', '_', ' '], "");
    let other = ["windows-1252", "utf-16le", "utf-16be", "utf-8"]
        .into_iter()
        .find(|one| one.replace('-', "") == plain);
    other.or_else(|| Some(encoding(&plain)?.name())).map(str::to_lowercase)
}

/// Stands for bytes that are no letters in the encoding of a file; no text has this noncharacter.
pub const UNREADABLE: char = '\u{ffff}';

/// How files begin that are no text, and what to do about each.
const NO_TEXTS: [(&[u8], &str); 10] = [
    (
        b"PK\x03\x04",
        "it is a workbook (.xlsx) or another ZIP archive; save the sheet as CSV UTF-8, or unpack it",
    ),
    (b"\xd0\xcf\x11\xe0", "it is a workbook (.xls); save the sheet as CSV UTF-8"),
    (b"\x1f\x8b", "it is compressed by gzip; unpack it"),
    (b"\xfd7zXZ\0", "it is compressed by xz; unpack it"),
    (b"\x28\xb5\x2f\xfd", "it is compressed by zstd; unpack it"),
    (b"BZh", "it is compressed by bzip2; unpack it"),
    (b"7z\xbc\xaf\x27\x1c", "it is a 7z archive; unpack it"),
    (b"Rar!\x1a\x07", "it is a RAR archive; unpack it"),
    (b"%PDF-", "it is a PDF document; export its data as CSV UTF-8"),
    (b"{\\rtf", "it is an RTF document; save its data as CSV UTF-8"),
];

/// How pages of HTML and XML begin, which some programs save as `.xls`.
const PAGES: [&[u8]; 5] = [b"<!doctype", b"<html", b"<head", b"<table", b"<?xml"];

const PAGE: &str = "it is a page of HTML or XML, as some programs save a workbook (.xls); open it as a spreadsheet, and save the sheet \
                    as CSV UTF-8";

/// Bytes by which a file is known that is no text.
const BEGINNING: usize = 16;

/// The text of a file in UTF-8: by its mark, or in the caller's encoding, or as UTF-8. Unreadable bytes
/// become [`UNREADABLE`]. A file that is no text, or UTF-16 without a mark, is an error that names it.
pub fn decoded<R: Read>(file: R, encoding: Option<Encoding>) -> Decoded<R> {
    let decoder = encoding.unwrap_or(UTF_8).new_decoder();
    let raw = vec![0; 8 * 1024];
    Decoded { file, decoder, raw, text: String::new(), given: 0, has_begun: false, has_ended: false }
}

/// A file decoded as it is read.
pub struct Decoded<R> {
    file: R,
    decoder: Decoder,
    raw: Vec<u8>,
    /// The decoded text, and how much of it was consumed.
    text: String,
    given: usize,
    has_begun: bool,
    has_ended: bool,
}

impl<R: Read> Decoded<R> {
    fn begin(&mut self) -> io::Result<usize> {
        self.has_begun = true;
        let mut start = Vec::with_capacity(BEGINNING);
        let read = self.file.by_ref().take(BEGINNING as u64).read_to_end(&mut start);
        if let Some(found) = no_text(&start, self.decoder.encoding()) {
            return Err(io::Error::other(found));
        }
        self.raw[..start.len()].copy_from_slice(&start);
        if let Err(error) = read {
            // What was read comes first; the next read fails again.
            return if start.is_empty() { Err(error) } else { Ok(start.len()) };
        }
        Ok(start.len() + self.file.read(&mut self.raw[start.len()..])?)
    }

    fn decode(&mut self, read: usize) {
        let mut from = 0;
        loop {
            let raw = &self.raw[from..read];
            self.text
                .reserve(self.decoder.max_utf8_buffer_length_without_replacement(raw.len()).unwrap_or(0));
            let decoded =
                self.decoder.decode_to_string_without_replacement(raw, &mut self.text, self.has_ended);
            from += decoded.1;
            match decoded.0 {
                DecoderResult::Malformed(..) => self.text.push(UNREADABLE),
                _ => return,
            }
        }
    }
}

/// What a file is that begins so, where that is no text of this encoding.
fn no_text(start: &[u8], encoding: Encoding) -> Option<&'static str> {
    let unmarked = match start {
        [0, 1..=127, ..] => {
            Some("it is UTF-16 without a mark; save it as UTF-8, or give `--encoding utf-16be`")
        }
        [1..=127, 0, ..] => {
            Some("it is UTF-16 without a mark; save it as UTF-8, or give `--encoding utf-16le`")
        }
        _ => None,
    };
    let archive = NO_TEXTS.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, found)| *found);
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start().to_ascii_lowercase();
    let page = PAGES.iter().any(|tag| text.starts_with(tag)).then_some(PAGE);
    archive.or(page).or(unmarked.filter(|_| encoding.is_ascii_compatible()))
}

impl<R: Read> BufRead for Decoded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.given == self.text.len() && !self.has_ended {
            let read = if self.has_begun { self.file.read(&mut self.raw)? } else { self.begin()? };
            (self.given, self.has_ended) = (0, read == 0);
            self.text.clear();
            self.decode(read);
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
pub struct TextLines<R> {
    text: Decoded<R>,
    number: u64,
    /// Whether the last line ended with a carriage return, which a line feed may follow.
    after_return: bool,
    /// Whether a read failed; nothing follows then.
    is_broken: bool,
    ahead: VecDeque<NumberedLine>,
    /// What to do about unreadable letters.
    advice: &'static str,
}

impl<R: Read> TextLines<R> {
    /// The lines of a [decoded] text. `advice` ends the sentence about letters that cannot be read.
    pub fn new(text: Decoded<R>, advice: &'static str) -> Self {
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

    pub(super) fn skip_looked_at(&mut self, count: usize) {
        self.ahead.drain(..count);
    }

    fn read(&mut self) -> Option<NumberedLine> {
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
            () => self.checked(text.into_owned()),
        };
        Some((self.number, checked))
    }

    /// A line, if its letters are those that were written.
    fn checked(&self, text: String) -> Result<String, String> {
        let encoding = self.text.decoder.encoding();
        let named = encoding.name();
        if text.contains(UNREADABLE) {
            Err(format!("has letters that cannot be read as {named}; {}", self.advice))
        } else if text.contains('\u{fffd}') {
            Err("lost letters earlier, when it was saved or sent; export it again, as UTF-8".to_owned())
        } else if text.contains('\0') {
            Err("has zero bytes, so it is not text; save the file as CSV UTF-8".to_owned())
        } else if encoding.is_single_byte() && was_utf_8(&text, encoding) {
            Err(format!("is UTF-8, not {named}; leave out `--encoding`"))
        } else if !encoding.is_single_byte() && was_utf_8(&text, WINDOWS_1252) {
            Err("has letters garbled by a program that read UTF-8 as windows-1252 (`ü` becomes `Ã¼`); \
                export it again, as UTF-8"
                .to_owned())
        } else if let Some(letter) = text.chars().find(|letter| letter.is_ascii_control() && *letter != '\t')
        {
            Err(format!(
                "has the control character U+{:04X}, which is no letter; take it out, or export it again",
                u32::from(letter)
            ))
        } else if text.contains(|letter: char| letter.is_control() && letter != '\t') {
            Err("has control characters, as programs make of `’` when they read windows-1252 as Latin-1; \
                export it again, as UTF-8"
                .to_owned())
        } else {
            Ok(text)
        }
    }

    /// The bytes of one more line without its end; of a line that is too long, one byte beyond the limit.
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

/// Letters that words end with, before a mark; in windows-1252 the two are also UTF-8, of unused letters.
const LAST: &str = "ÆÇÈÉÊËÌÍÒÓÔÕÖÚÛÜÝÞß";

/// Marks behind a word, or within it.
const MARKS: &str = "‘’“”»–—…";

/// Whether a text was UTF-8 before it was read in an encoding. Each word is judged for itself; in encodings
/// other than windows-1252, words with quotation marks can be both, so the line is judged.
fn was_utf_8(text: &str, encoding: Encoding) -> bool {
    if encoding != WINDOWS_1252 {
        return is_utf_8(text, encoding);
    }
    let mut before = ' ';
    let mut words = text.split(|letter: char| {
        let is_mark = MARKS.contains(letter) && LAST.contains(before);
        before = letter;
        is_mark || letter.is_ascii() && !letter.is_ascii_alphanumeric()
    });
    words.any(|word| is_utf_8(word, encoding))
}

/// Whether a text is UTF-8 read in a wrong encoding: its bytes are UTF-8 beyond ASCII.
fn is_utf_8(text: &str, encoding: Encoding) -> bool {
    if text.is_ascii() {
        return false;
    }
    let byte = |letter: char| match u8::try_from(letter) {
        // Those of Latin-1 that Windows has no letter for.
        Ok(byte @ ..0xa0) => Some(byte),
        _ => match encoding.encode(letter.encode_utf8(&mut [0; 4])) {
            (bytes, _, false) => bytes.first().copied(),
            _ => None,
        },
    };
    let bytes: Option<Vec<u8>> = text.chars().map(byte).collect();
    bytes.is_some_and(|bytes| std::str::from_utf8(&bytes).is_ok())
}

impl<R: Read> Iterator for TextLines<R> {
    type Item = NumberedLine;

    fn next(&mut self) -> Option<NumberedLine> {
        loop {
            let line = self.ahead.pop_front().or_else(|| self.read())?;
            if line.1.as_deref().map_or(true, |text| !text.trim().is_empty()) {
                return Some(line);
            }
        }
    }
}
