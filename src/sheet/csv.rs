//! A sheet for spreadsheets.

use super::{Column, Content, Kind, Sheet, Value, figures};

impl Sheet {
    /// The rows as CSV under the names of their columns: nothing where a value is missing, moments as ISO 8601 has them. A text that a
    /// spreadsheet would take for a formula has an apostrophe before it.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn csv(&self) -> Result<String, String> {
        if self.columns.is_empty() {
            return Ok(String::new());
        }
        let names = self.columns.iter().map(|column| column.name.clone()).collect();
        let field = |(column, value): (&Column, &Value)| value.field(column.kind);
        let rows = self.rows.iter().map(|row| self.columns.iter().zip(row).map(field).collect());
        records(std::iter::once(names).chain(rows))
    }
}

impl Value {
    fn field(&self, kind: Kind) -> String {
        match &self.content {
            Content::Nothing => String::new(),
            Content::Text(text) => harmless(text),
            Content::Number(ms) if kind == Kind::Time => figures::instant(*ms as i64),
            Content::Number(number) => number.to_string(),
        }
    }
}

/// Lines of CSV.
///
/// # Errors
/// That they cannot be written.
pub fn records(records: impl IntoIterator<Item = Vec<String>>) -> Result<String, String> {
    let mut lines = csv::Writer::from_writer(Vec::new());
    records
        .into_iter()
        .try_for_each(|record| lines.write_record(record))
        .map_err(|error| error.to_string())?;
    let lines = lines.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(lines).map_err(|error| error.to_string())
}

/// A text that no spreadsheet takes for a formula, and that does nothing to a terminal: control characters are replaced, but for ends of
/// lines and tabulators.
pub fn harmless(value: &str) -> String {
    let is_formula = value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let value = value.replace("\r\n", "\n");
    let does_something = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    let value = value.replace(does_something, "\u{fffd}");
    if is_formula { format!("'{value}") } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_a_formula_or_does_something_to_a_terminal() {
        assert_eq!(harmless("=1+2"), "'=1+2");
        assert_eq!(harmless("a\x1b[2J\r\nb\tc\u{9b}"), "a\u{fffd}[2J\nb\tc\u{fffd}");
    }
}
