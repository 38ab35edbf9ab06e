//! Writes a sheet as CSV for spreadsheets. [`rows`](super::rows) reads it back.

use super::{ColumnKind, Content, Sheet, SheetColumn, SheetValue, figures};

impl Sheet {
    /// The sheet as CSV with a header line, each value [`harmless`]. Non-ASCII text begins with the [`MARK`].
    ///
    /// # Errors
    /// It cannot be written.
    pub fn csv(&self) -> Result<String, String> {
        if self.columns.is_empty() {
            return Ok(String::new());
        }
        let names = self.columns.iter().map(|column| column.name.clone()).collect();
        let field = |(column, value): (&SheetColumn, &SheetValue)| value.field(column.kind);
        let rows = self.rows.iter().map(|row| self.columns.iter().zip(row).map(field).collect());
        records(std::iter::once(names).chain(rows)).map(|text| format!("{}{text}", mark_of(&text)))
    }
}

impl SheetValue {
    fn field(&self, kind: ColumnKind) -> String {
        match &self.content {
            Content::Nothing => String::new(),
            Content::Text(text) => harmless(text),
            Content::Number(ms) if kind == ColumnKind::Time => harmless(&figures::instant(*ms as i64)),
            Content::Number(number) => number.to_string(),
        }
    }
}

/// Writes records as lines of CSV.
///
/// # Errors
/// They cannot be written.
pub fn records(records: impl IntoIterator<Item = Vec<String>>) -> Result<String, String> {
    let mut lines = csv::Writer::from_writer(Vec::new());
    records
        .into_iter()
        .try_for_each(|record| lines.write_record(record))
        .map_err(|error| error.to_string())?;
    let lines = lines.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(lines).map_err(|error| error.to_string())
}

/// The byte order mark, by which spreadsheets recognise UTF-8.
pub const MARK: &str = "\u{feff}";

/// The mark for a CSV text; empty if the text is ASCII.
pub fn mark_of(text: &str) -> &'static str {
    if text.is_ascii() { "" } else { MARK }
}

pub(super) fn begins_formula(text: &str) -> bool {
    // The wide forms are read as the usual ones.
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'])
}

/// Escapes a text so that no spreadsheet takes it for a formula and no terminal acts on it. A timestamp is
/// written in UTC in the form that spreadsheets read.
pub fn harmless(value: &str) -> String {
    if let Some((day, time)) = value.strip_suffix('Z').and_then(moment) {
        return format!("{day} {time}");
    }
    let is_formula = begins_formula(value);
    let value = value.replace("\r\n", "\n");
    let does_something = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    let value = value.replace(does_something, "\u{fffd}");
    if is_formula { format!("'{value}") } else { value }
}

fn moment(text: &str) -> Option<(&str, &str)> {
    let shape = text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    shape.eq(*b"0000-00-00T00:00:00.000").then(|| text.split_once('T')).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_and_letters_have_their_mark() {
        let made = |name: &str| {
            Sheet::new(
                [("at", ColumnKind::Time), ("who", ColumnKind::Text)],
                [vec![0_i64.into(), name.into()]],
            )
        };
        assert_eq!(made("Ada").csv().unwrap(), "at,who\n1970-01-01 00:00:00.000,Ada\n");
        assert_eq!(made("Zoë").csv().unwrap(), "\u{feff}at,who\n1970-01-01 00:00:00.000,Zoë\n");
    }

    #[test]
    fn no_value_is_a_formula_or_does_something_to_a_terminal() {
        for formula in ["=1+2", "+1", "-1", "@a", "\t=1", "＝1+2", "＋1", "－1", "＠a"] {
            assert_eq!(harmless(formula), format!("'{formula}"));
        }
        assert_eq!(harmless("\r\n=1"), "'\n=1");
        assert_eq!(harmless("a\x1b[2J\r\nb\tc\u{9b}"), "a\u{fffd}[2J\nb\tc\u{fffd}");
    }
}
