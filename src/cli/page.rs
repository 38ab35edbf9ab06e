//! How tables and figures look on a terminal.

use std::ffi::OsStr;
use std::io::IsTerminal;

use chrono::{DateTime, Utc};
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, Color, ColumnConstraint, ContentArrangement, LineStyle, Row, Table};

/// An empty table that fits the terminal, with a line under its header. For a file or another program its rows are as wide
/// as they are, so that a line is a line.
pub fn table(header: impl Into<Row>) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING.header_separator(LineStyle::none().fill('─').junction('─'))).set_header(header);
    let fits =
        if table.width().is_some() { ContentArrangement::Dynamic } else { ContentArrangement::Disabled };
    table.set_content_arrangement(fits);
    table
}

/// A cell whose colour says something, where there are colours: on a terminal, unless `NO_COLOR` asks for none.
pub fn toned(text: impl ToString, color: Color) -> Cell {
    let cell = Cell::new(text);
    let wanted = colours(std::env::var_os("NO_COLOR").as_deref(), std::io::stdout().is_terminal());
    if wanted { cell.fg(color) } else { cell }
}

/// Whether there are colours.
fn colours(no_color: Option<&OsStr>, terminal: bool) -> bool {
    terminal && no_color.is_none_or(OsStr::is_empty)
}

/// Keeps a column from being broken, however narrow the terminal.
pub fn never_break(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
}

/// Prints a text and a line end. A reader that has seen enough (`| head`) is no failure.
pub fn print(text: impl std::fmt::Display) {
    use std::io::{ErrorKind, Write};
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => eprintln!("offerd: cannot print: {error}"),
        _ => {}
    }
}

/// A count and what is counted: `1 offer`, `2 offers`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A moment, to the minute.
pub fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// A moment given as Unix milliseconds, to the minute.
pub fn moment_of(millis: i64) -> String {
    moment(DateTime::from_timestamp_millis(millis).unwrap_or_default())
}

/// Dollars, with cents unless there are none: `$1,234.50`, `$95`.
pub fn dollars(amount: f64) -> String {
    let cents = (amount.abs() * 100.0).round() as u64;
    let whole = (cents / 100).to_string();
    let groups: Vec<&str> = whole
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).expect("digits are text"))
        .collect();
    let sign = if amount < 0.0 { "-" } else { "" };
    let fraction = if cents.is_multiple_of(100) { String::new() } else { format!(".{:02}", cents % 100) };
    format!("{sign}${}{fraction}", groups.join(","))
}

#[cfg(test)]
mod tests {
    use super::{colours, dollars};

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        assert!(colours(None, true) && colours(Some("".as_ref()), true));
        assert!(!colours(Some("1".as_ref()), true) && !colours(None, false));
    }

    #[test]
    fn dollars_are_grouped() {
        let shown = [0.0, 95.0, 342.9, 1_234.5, 75_000.0, 1_234_567.891, -12.0].map(dollars);
        assert_eq!(shown, ["$0", "$95", "$342.90", "$1,234.50", "$75,000", "$1,234,567.89", "-$12"]);
    }
}
