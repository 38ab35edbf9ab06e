//! Rows of fields as a table, CSV or NDJSON, written as they arrive, so that their number is unlimited.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};

use super::files::{AtomicFile, cannot_make, named};
use super::prelude::*;
use offerd_insight::sheet::{MARK, harmless, mark_of, records};

const ROWS: usize = 1000;

const SHOWN: usize = 60;

/// Bytes of CSV that are buffered to look for non-ASCII characters; a longer output always gets a byte order
/// mark.
const LOOKED_THROUGH: usize = 64 * 1024;

/// The fields of a row with their names; the names are the same in every row.
pub type RowFields = Vec<(&'static str, Option<String>)>;

/// Output format of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// For people: long texts and long lists are cut
    Table,
    /// For spreadsheets
    Csv,
    /// For programs: one object per line
    Json,
}

/// A writer of rows.
pub struct RowWriter {
    format: RowFormat,
    table: Option<Sheet>,
    rows: usize,
    /// The beginning of CSV, buffered until it is known whether a byte order mark is needed.
    held: Option<String>,
    /// `None` once the reader has closed the pipe.
    out: Option<Out>,
    made: Option<(AtomicFile, File, PathBuf)>,
}

type Out = BufWriter<Box<dyn Write>>;

impl RowWriter {
    /// Starts writing to standard output, or to a file that only its owner can read and that appears when it
    /// is complete.
    pub fn begin(format: RowFormat, file: Option<&Path>) -> Result<Self, String> {
        let (made, out): (_, Box<dyn Write>) = match named(file) {
            None => (None, Box::new(io::stdout())),
            Some(file) => {
                let begun =
                    AtomicFile::begin(file).and_then(|(making, made)| Ok((making, made.try_clone()?, made)));
                let (making, made, out) = begun.map_err(|error| cannot_make(file, &error))?;
                (Some((making, made, file.to_owned())), Box::new(out))
            }
        };
        let held = (format == RowFormat::Csv).then(String::new);
        Ok(Self { format, table: None, rows: 0, held, out: Some(BufWriter::new(out)), made })
    }

    /// Whether further rows are ignored: the table is full, or the reader has closed the pipe (`| head`).
    pub fn is_full(&self) -> bool {
        self.out.is_none() || self.format == RowFormat::Table && self.rows > ROWS
    }

    /// Writes a row.
    pub fn add(&mut self, fields: RowFields) -> Result<(), String> {
        self.rows += 1;
        match self.format {
            RowFormat::Table if self.rows > ROWS => Ok(()),
            RowFormat::Table => {
                let columns = names(&fields).map(|name| (name, ColumnKind::Text));
                let table = self.table.get_or_insert_with(|| Sheet::new(columns, []));
                let cell = |text: Option<String>| cut(&page::foreign(text.as_deref().unwrap_or("–"))).into();
                table.rows.push(fields.into_iter().map(|(_, text)| cell(text)).collect());
                Ok(())
            }
            RowFormat::Csv => {
                let header = (self.rows == 1).then(|| names(&fields).map(str::to_owned).collect());
                let texts = fields.iter().map(|(_, text)| harmless(text.as_deref().unwrap_or_default()));
                let text = records(header.into_iter().chain([texts.collect()]))?;
                let Some(held) = &mut self.held else { return self.write(text.as_bytes()) };
                held.push_str(&text);
                if held.is_ascii() && held.len() < LOOKED_THROUGH { Ok(()) } else { self.release(MARK) }
            }
            RowFormat::Json => {
                let value = |text: Option<String>| text.map_or(Value::Null, Value::String);
                let pairs = fields.into_iter().map(|(name, text)| (name.to_owned(), value(text)));
                let line = page::json(&Value::Object(pairs.collect()).to_string()) + "\n";
                self.write(line.as_bytes())
            }
        }
    }

    /// Writes the buffered beginning of CSV after its byte order mark.
    fn release(&mut self, mark: &str) -> Result<(), String> {
        let held = self.held.take().unwrap_or_default();
        self.write(format!("{mark}{held}").as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let Some(out) = &mut self.out else { return Ok(()) };
        let written = out.write_all(bytes);
        self.unless_closed(written)
    }

    /// A closed pipe is not a failure.
    fn unless_closed(&mut self, written: io::Result<()>) -> Result<(), String> {
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.out = None,
            written => written.map_err(|error| format!("the lines cannot be written: {error}"))?,
        }
        Ok(())
    }

    /// Writes the rest and gives a file its final name.
    pub fn end(mut self) -> Result<(), String> {
        self.release(mark_of(self.held.as_deref().unwrap_or_default()))?;
        if let Some(table) = self.table.take() {
            match self.made {
                None => page::print_sheet(&table),
                Some(_) => self.write(format!("{}\n", page::table(&table)).as_bytes())?,
            }
        }
        if self.format == RowFormat::Table && self.rows > ROWS {
            tell!("there are more than {ROWS} lines; `--format csv` writes them all");
        }
        if let Some(mut out) = self.out.take() {
            self.unless_closed(out.flush())?;
        }
        if let Some((making, made, file)) = self.made {
            making.finish(&made).map_err(|error| cannot_make(&file, &error))?;
            tell!("{} is written", file.display());
        }
        Ok(())
    }
}

fn names(fields: &RowFields) -> impl Iterator<Item = &'static str> {
    fields.iter().map(|(name, _)| *name)
}

fn cut(text: &str) -> String {
    let mut letters = text.chars();
    let shown: String = letters.by_ref().take(SHOWN).collect();
    if letters.next().is_some() { shown + "…" } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: RowFormat, lines: &[&str]) -> String {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("lines");
        let mut out = RowWriter::begin(format, Some(&file)).unwrap();
        for text in lines {
            out.add(vec![("name", Some((*text).to_owned())), ("none", None)]).unwrap();
        }
        assert!(!file.exists(), "it has its name when it is whole");
        out.end().unwrap();
        std::fs::read_to_string(file).unwrap()
    }

    #[test]
    fn for_spreadsheets_no_value_is_a_formula() {
        assert_eq!(written(RowFormat::Csv, &["=1+1", "a,\"b\""]), "name,none\n'=1+1,\n\"a,\"\"b\"\"\",\n");
    }

    #[test]
    fn letters_beyond_ascii_have_the_mark_of_utf_8_wherever_they_come() {
        let long = "x".repeat(LOOKED_THROUGH);
        for (lines, has_mark) in
            [(&["Ada"][..], false), (&["Ada", "Zoë"], true), (&["Ada", &long, "Zoë"], true)]
        {
            let text = written(RowFormat::Csv, lines);
            assert_eq!(text.starts_with("\u{feff}name,none"), has_mark, "{lines:?}");
            assert_eq!(text.matches(MARK).count(), usize::from(has_mark));
        }
    }

    #[test]
    fn for_programs_each_line_is_an_object() {
        assert_eq!(written(RowFormat::Json, &["a"]), "{\"name\":\"a\",\"none\":null}\n");
    }

    #[test]
    fn for_people_long_texts_are_cut() {
        let long = "x".repeat(SHOWN + 1);
        let table = written(RowFormat::Table, &[&long]);
        assert!(table.contains(&("x".repeat(SHOWN) + "…")) && !table.contains(&long), "{table}");
    }
}
