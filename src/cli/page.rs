//! Tables and figures on a terminal.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, Width};
use serde::Serialize;
use uuid::Uuid;

pub use offerd_insight::sheet::Color;
pub use offerd_insight::sheet::figures::{counted, minute};
use offerd_insight::sheet::{Sheet, SheetColumn, SheetValue, figures};

/// A sheet as a table that fits the terminal, with a rule under its header and right-aligned figures. In a
/// file or a pipe rows keep their full width, one line per row.
pub fn table(sheet: &Sheet) -> Table {
    let mut table = list();
    table.load_style(NOTHING.header_separator(LineStyle::none().fill('─').junction('─')));
    table.set_header(sheet.columns.iter().map(|column| &column.name));
    for row in &sheet.rows {
        let one = |(column, value): (&SheetColumn, &SheetValue)| toned(value.words(column.kind), value.color);
        table.add_row(sheet.columns.iter().zip(row).map(one));
    }
    for (shown, column) in table.column_iter_mut().zip(&sheet.columns) {
        if column.kind.is_figure() {
            shown.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The colours, each with a zero-width marker character and its escape sequence. The marker stands for the
/// colour until the table is laid out, because an escape sequence would count towards the width of a word.
const COLOURS: [(Color, char, &str); 3] = [
    (Color::Green, '\u{2061}', "\x1b[32m"),
    (Color::Yellow, '\u{2062}', "\x1b[33m"),
    (Color::Red, '\u{2063}', "\x1b[31m"),
];

const END: char = '\u{2064}';

fn is_mark(letter: char) -> bool {
    letter == END || COLOURS.iter().any(|(_, mark, _)| *mark == letter)
}

/// A coloured cell; plain when output is not a terminal or `NO_COLOR` is set.
pub fn toned(text: impl ToString, color: Color) -> Cell {
    Cell::new(tinted(&text.to_string(), color))
}

/// A coloured text, where colours are enabled. Marks within the text itself colour nothing.
pub fn tinted(text: &str, color: Color) -> String {
    let text = text.replace(is_mark, "");
    if wants_colours() { marked(&text, color) } else { text }
}

/// Marks each word separately, since a line break may follow any of them.
fn marked(text: &str, color: Color) -> String {
    let Some((_, mark, _)) = COLOURS.iter().find(|(known, ..)| *known == color) else {
        return text.to_owned();
    };
    text.split(' ').map(|word| format!("{mark}{word}{END}")).collect::<Vec<_>>().join(" ")
}

fn coloured(text: &str) -> String {
    let begun = COLOURS.iter().fold(text.to_owned(), |text, (_, mark, escape)| text.replace(*mark, escape));
    begun.replace(END, "\x1b[0m")
}

fn wants_colours() -> bool {
    colours(std::env::var_os("NO_COLOR").as_deref(), std::io::stdout().is_terminal())
}

fn colours(no_color: Option<&OsStr>, terminal: bool) -> bool {
    terminal && no_color.is_none_or(OsStr::is_empty)
}

/// An empty table without a header.
pub fn list() -> Table {
    let mut list = Table::new();
    list.load_style(NOTHING);
    match terminal_width() {
        Some(width) => list.set_width(width).set_content_arrangement(ContentArrangement::Dynamic),
        None => list.set_content_arrangement(ContentArrangement::Disabled),
    };
    list
}

/// Columns of the terminal on standard output; `None` when it is not a terminal.
fn terminal_width() -> Option<u16> {
    let stdout = std::io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

/// A longer word may be broken on a narrow terminal: it is a path, or a list without spaces. A UUID always
/// stays whole, since people copy it.
const LONGEST_WHOLE_WORD: usize = 26;

/// Escapes untrusted text for a terminal: characters that move the cursor, set colours, end a line or change
/// the direction of text.
pub fn foreign(text: &str) -> String {
    let is_plain = |letter: char| !moves(letter) && !is_mark(letter);
    written_out(text, is_plain, escaped)
}

/// Escapes untrusted text of several lines, like [`foreign`] but for ends of lines and tabs.
pub fn foreign_lines(text: &str) -> String {
    without_moves(&text.replace(is_mark, ""), escaped)
}

fn written_out(text: &str, is_plain: impl Fn(char) -> bool, escape: impl Fn(char) -> String) -> String {
    text.chars().map(|letter| if is_plain(letter) { letter.to_string() } else { escape(letter) }).collect()
}

fn escaped(letter: char) -> String {
    letter.escape_default().to_string()
}

/// Whether a character controls the terminal instead of being printed.
fn moves(letter: char) -> bool {
    letter.is_control() || TURNS_AROUND.contains(&letter)
}

/// Escapes control characters with `escape`, except for line ends and tabs.
fn without_moves(text: &str, escape: impl Fn(char) -> String) -> String {
    let is_plain = |letter: char| !moves(letter) || matches!(letter, '\n' | '\t');
    written_out(text, is_plain, escape)
}

/// Escapes JSON so that it means the same and does not control the terminal.
pub fn json(text: &str) -> String {
    without_moves(text, |letter| format!("\\u{:04x}", u32::from(letter)))
}

const TURNS_AROUND: [char; 12] = [
    '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}',
    '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
];

/// Prints a sheet. On a terminal too narrow for its rows, cells wrap between words, not within them; a table
/// with more words than fit side by side exceeds the terminal's width.
pub fn print_sheet(sheet: &Sheet) {
    let mut table = table(sheet);
    if let Some(width) = table.width() {
        keep_words_whole(&mut table, width);
    }
    print(table);
}

fn keep_words_whole(table: &mut Table, width: u16) {
    const PADDING: u16 = 2;
    let least: Vec<u16> = table.column_iter().map(|it| longest_word(table, it.index) + PADDING).collect();
    table.set_width(width.max(least.iter().sum()));
    for (column, least) in table.column_iter_mut().zip(least) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
    }
}

fn longest_word(table: &Table, column: usize) -> u16 {
    let header = table.header().into_iter();
    let cells = header.chain(table.row_iter()).filter_map(|row| row.cell_iter().nth(column));
    let words = |cell: &Cell| cell.content().split_whitespace().map(whole_letters).max();
    cells.filter_map(words).max().unwrap_or_default() as u16
}

fn whole_letters(word: &str) -> usize {
    let word = word.trim_matches(is_mark);
    let letters = word.chars().count();
    if Uuid::try_parse(word).is_ok() { letters } else { letters.min(LONGEST_WHOLE_WORD) }
}

/// Whether the command was marked as failed.
static FAILED: AtomicBool = AtomicBool::new(false);

/// Prints `why` and marks the command as failed, whatever it returns.
pub fn fail(why: impl std::fmt::Display) {
    FAILED.store(true, Ordering::Relaxed);
    tell!("offerd: {why}");
}

/// Whether the command was marked as failed, for example because its output was cut.
pub fn has_failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// Prints a line on standard error, escaped. A failed write does not change the exit code.
pub fn tell(line: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "{}", without_moves(&line.to_string(), escaped));
}

/// Checks that standard output can be written. Call it before creating something that is shown only once.
pub fn can_print() -> Result<(), String> {
    let why = unwritable().map_or(Ok(()), Err);
    why.map_err(|why| format!("standard output cannot be written: {why}; nothing was done"))
}

/// Why standard output cannot be written, where this can be detected before the first byte.
fn unwritable() -> Option<String> {
    use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, fstatvfs, stat};
    let stdout = std::io::stdout();
    let found = fstat(&stdout).ok()?;
    let is_read_too = fcntl_getfl(&stdout).is_ok_and(|flags| flags & OFlags::RWMODE == OFlags::RDWR);
    // Rust opens `/dev/null` for reading and writing in place of a closed descriptor; `>/dev/null` opens it
    // write-only.
    if is_read_too && stat("/dev/null").is_ok_and(|null| null.st_rdev == found.st_rdev) {
        return Some("it is closed".to_owned());
    }
    let is_file = FileType::from_raw_mode(found.st_mode).is_file();
    if is_file && fstatvfs(&stdout).is_ok_and(|disk| disk.f_blocks > 0 && disk.f_bfree == 0) {
        return Some("the disk of its file is full".to_owned());
    }
    // Writes nothing; `/dev/full` and a read-only descriptor fail even then.
    rustix::io::write(&stdout, &[]).err().map(|error| std::io::Error::from(error).to_string())
}

/// Prints a text and a line end, escaped. A closed pipe (`| head`) is not a failure.
pub fn print(text: impl std::fmt::Display) {
    use std::io::{ErrorKind, Write};
    let text = without_moves(&text.to_string(), escaped);
    let text = if wants_colours() { coloured(&text) } else { text };
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe && !has_failed() => {
            fail(format_args!("standard output cannot be written: {error}; what was printed is not whole"));
        }
        _ => {}
    }
}

/// Prints a value as indented JSON.
pub fn print_json(what: &(impl Serialize + ?Sized)) -> Result<(), String> {
    print(pretty_json(what)?);
    Ok(())
}

/// The JSON that [`print_json`] prints.
pub fn pretty_json(what: &(impl Serialize + ?Sized)) -> Result<String, String> {
    serde_json::to_string_pretty(what).map(|text| json(&text)).map_err(|error| error.to_string())
}

/// Prints an answer: as JSON for programs, else as `people` does.
pub fn show(answer: &(impl Serialize + ?Sized), json: bool, people: impl FnOnce()) -> Result<(), String> {
    if json {
        return print_json(answer);
    }
    people();
    Ok(())
}

/// Output format of an answer.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum AnswerFormat {
    /// For people
    Table,
    /// For spreadsheets
    Csv,
    /// For programs
    Json,
}

impl AnswerFormat {
    /// Prints an answer: as JSON, as the CSV of its sheet, or as `people` does.
    pub fn show(
        self,
        answer: &(impl Serialize + ?Sized),
        sheet: impl FnOnce() -> Sheet,
        people: impl FnOnce(),
    ) -> Result<(), String> {
        match self {
            Self::Table => people(),
            Self::Csv => print(sheet().csv()?.trim_end()),
            Self::Json => print_json(answer)?,
        }
        Ok(())
    }
}

/// Dollars, with cents unless they are zero: `$1,234.50`, `-$95`.
pub fn dollars(amount: f64) -> String {
    figures::dollars(amount).replace('−', "-")
}

#[cfg(test)]
mod tests {
    use comfy_table::ContentArrangement;

    use super::{
        Color, Sheet, Table, coloured, colours, dollars, escaped, foreign, foreign_lines, json,
        keep_words_whole, marked, tinted, without_moves,
    };
    use offerd_insight::sheet::ColumnKind;

    fn table<const N: usize>(header: [&str; N]) -> Table {
        super::table(&Sheet::new(header.map(|name| (name, ColumnKind::Text)), []))
    }

    #[test]
    fn what_others_have_written_moves_no_cursor_and_begins_no_line() {
        assert_eq!(foreign("Ärger, 5 €"), "Ärger, 5 €");
        assert_eq!(foreign_lines("a\u{2063}\x1b[2J\n\tb\u{2064}\r"), "a\\u{1b}[2J\n\tb\\r");
        assert_eq!(tinted("a\u{2063}b\u{2064}", Color::Plain), "ab");
        assert_eq!(foreign("\u{202e}a\x1b[2J\r\nb\0"), r"\u{202e}a\u{1b}[2J\r\nb\u{0}");
    }

    #[test]
    fn json_means_the_same_and_moves_no_cursor() {
        let text = "{\n  \"a\": \"\u{9b}2J\u{202e}\u{7f}\"\n}";
        assert_eq!(json(text), "{\n  \"a\": \"\\u009b2J\\u202e\\u007f\"\n}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&json(text)), read(text));
        assert_eq!(without_moves("a\tb\n\x1b[2J\r", escaped), "a\tb\n\\u{1b}[2J\\r");
    }

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

    #[test]
    fn a_uuid_is_never_broken() {
        let uuid = "01a1fcce-e71a-773e-b126-2445db4ef9dc";
        let mut rows = table(["id", "holder", "kind", "created"]);
        rows.add_row([uuid, "Sandbox", "confidential, test", "2026-11-20 10:00 UTC"]);
        rows.set_content_arrangement(ContentArrangement::Dynamic).set_width(80);
        keep_words_whole(&mut rows, 80);
        let shown = rows.to_string();
        assert!(shown.contains(uuid), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }

    #[test]
    fn colours_are_no_part_of_a_width_and_end_with_their_line() {
        let mut rows = table(["partner", "health", "asked"]);
        rows.add_row([&marked("not well since noon", Color::Red), "-", "4"]);
        rows.set_content_arrangement(ContentArrangement::Dynamic).set_width(30);
        keep_words_whole(&mut rows, 30);
        let (plain, shown) = (rows.to_string().replace(super::is_mark, ""), coloured(&rows.to_string()));
        assert!(plain.lines().all(|line| line.chars().count() <= 30), "{plain}");
        assert!(shown.contains("\x1b[31mnot\x1b[0m \x1b[31mwell\x1b[0m"), "{shown}");
        assert!(
            shown.lines().all(|line| line.matches("[31m").count() == line.matches("[0m").count()),
            "{shown}"
        );
    }

    #[test]
    fn a_narrow_terminal_breaks_rows_between_words() {
        let mut rows = table(["institution", "offer"]);
        rows.add_row(["Wrenfold Credit", "up to $15,000, 36 months, debt_consolidation"]);
        rows.set_content_arrangement(ContentArrangement::Dynamic).set_width(34);
        keep_words_whole(&mut rows, 34);
        let shown = rows.to_string();
        for whole in ["Wrenfold", "Credit", "$15,000,", "months,", "debt_consolidation"] {
            assert!(shown.contains(whole), "{whole}: {shown}");
        }
        assert!(shown.lines().all(|line| line.chars().count() <= 34), "{shown}");
    }
}
