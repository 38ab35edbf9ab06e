//! Reads the rows of an operator's CSV file. A row is read as meant or is a fault with its line.

use std::cmp::Reverse;
use std::io::Read;

use super::csv::begins_formula;
use super::lines::{RECORD_BYTES, TextLines};
use offerd_model::trimmed;

const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// The errors that a spreadsheet writes in place of a value.
const ERRORS: [&str; 7] = ["#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!"];

const UNENDED: &str = "has a quotation mark that begins a field and does not end it on this line; double each that belongs to the field, \
                       and put the field between two";
const STRAY: &str = "has a quotation mark amid a field; double it, and put the field between two";

/// Quotation marks of word processors, curly and angled.
const CURLY: &[char] = &['\u{201c}', '\u{201d}', '\u{201e}', '«', '»', '‹', '›'];

/// Single quotation marks, which are also apostrophes.
const SINGLE: &[char] = &['\'', '`', '\u{b4}', '\u{2018}', '\u{2019}', '\u{201a}', '\u{201b}'];

/// Months as spreadsheets shorten them in English, German, Spanish and French.
const MONTHS: &str = " jan feb mar apr may jun jul aug sep sept oct nov dec mrz mär mai okt dez \
                      ene abr ago dic janv févr mars avr juin juil août déc ";

const MADE_DATE: &str = "is a date that the spreadsheet made from another value, such as `3-Mar` from `3-3`; make the column text, and enter it again";

/// Most lines that are read to find the end of a field.
const ROW_LINES: usize = 100;

/// A row.
#[derive(Debug)]
pub struct CsvRow {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// Its cells, without surrounding blanks and quotation marks.
    pub cells: Result<Vec<String>, CsvFault>,
}

/// The fault of a row.
#[derive(Debug)]
pub struct CsvFault {
    /// The column it concerns, from 0.
    pub column: Option<usize>,
    /// The message, to follow the name of the line or column.
    pub message: String,
}

/// The rows of a text, without empty ones.
pub struct CsvRows<R> {
    lines: TextLines<R>,
    separator: Option<char>,
    /// The number of cells in a row.
    width: Option<usize>,
    named_on: Option<u64>,
    /// Empty cells at the end of the header, which rows may have too.
    surplus: usize,
}

enum Unsplit {
    /// A quoted field continues on the next line.
    Open,
    /// A quotation mark is misplaced.
    Stray,
}

impl<R: Read> CsvRows<R> {
    /// Rows of so many cells, where that is known before the first is read.
    pub fn new(lines: TextLines<R>, width: Option<usize>) -> Self {
        Self { lines, separator: None, width, named_on: None, surplus: 0 }
    }

    /// Reads the header row: its line and the column names, which fix the width of all rows.
    ///
    /// # Errors
    /// The file is empty, or the row is faulty.
    pub fn names(&mut self) -> Result<(u64, Vec<String>), String> {
        let CsvRow { line, cells } = self.next().ok_or("the file is empty; its first line has the names")?;
        let mut names = cells.map_err(|fault| format!("line {line} {}", fault.message))?;
        while names.last().is_some_and(String::is_empty) {
            names.pop();
            self.surplus += 1;
        }
        (self.width, self.named_on) = (Some(names.len()), Some(line));
        Ok((line, names))
    }

    /// Whether the file ended because of a read error.
    pub fn is_broken(&self) -> bool {
        self.lines.is_broken()
    }

    /// Splits the row that begins with `line`, over several lines if a quoted field continues.
    fn split(&mut self, line: String, separator: char) -> Result<Vec<String>, &'static str> {
        let (mut text, mut more) = (line, 0);
        loop {
            match split(&text, separator) {
                // No column holds line breaks, so one in a cell comes from two stray quotation marks.
                Ok(cells) if cells.iter().any(|cell| cell.contains('\n')) => return Err(UNENDED),
                Ok(cells) => {
                    self.lines.skip_looked_at(more);
                    return Ok(cells);
                }
                Err(Unsplit::Stray) => return Err(if more == 0 { STRAY } else { UNENDED }),
                Err(Unsplit::Open) => {}
            }
            let mut is_open = true;
            while is_open {
                let next = self.lines.peek(more);
                let next = next.filter(|next| more < ROW_LINES && text.len() + next.len() < RECORD_BYTES);
                let next = next.ok_or(UNENDED)?;
                text.push('\n');
                text.push_str(next);
                (is_open, more) = (!next.contains('"'), more + 1);
            }
        }
    }

    /// Checks the width of a row, and that no spreadsheet has spoilt a value.
    fn checked(&self, mut cells: Vec<String>, separator: char) -> Result<Vec<String>, CsvFault> {
        let width = self.width.unwrap_or(cells.len());
        // One cell more than the header may come from a comma within a value: `12,50`.
        let may_drop = self.named_on.is_none() || cells.len() <= width + self.surplus;
        while may_drop && cells.len() > width && cells.last().is_some_and(String::is_empty) {
            cells.pop();
        }
        if cells.len() != width {
            let found = cells.len();
            return Err(CsvFault::of_row(match self.named_on {
                Some(line) => format!("has {found} fields, line {line} has {width}"),
                None => format!("has {found} fields, wants {width}"),
            }));
        }
        let mut spoilt = cells.iter().map(|cell| spoilt(cell, separator)).enumerate();
        match spoilt.find_map(|(column, why)| Some((column, why?))) {
            Some((column, why)) => Err(CsvFault { column: Some(column), message: why.to_owned() }),
            None => Ok(cells),
        }
    }
}

impl<R: Read> Iterator for CsvRows<R> {
    type Item = CsvRow;

    fn next(&mut self) -> Option<CsvRow> {
        loop {
            let (line, text) = self.lines.next()?;
            let text = match text {
                Ok(text) => text,
                Err(message) => return Some(CsvRow { line, cells: Err(CsvFault::of_row(message)) }),
            };
            if self.separator.is_none() {
                let declared = declared(&text);
                self.separator = declared.or_else(|| Some(guessed(&text)));
                if declared.is_some() {
                    continue;
                }
            }
            let separator = self.separator.unwrap_or(',');
            let cells = match self.split(text, separator) {
                Ok(cells) if cells.iter().all(String::is_empty) => continue,
                Ok(cells) => self.checked(cells, separator),
                Err(message) => Err(CsvFault::of_row(message)),
            };
            return Some(CsvRow { line, cells });
        }
    }
}

impl CsvFault {
    fn of_row(message: impl Into<String>) -> Self {
        Self { column: None, message: message.into() }
    }

    /// The message, after the column's number.
    pub fn told(self) -> String {
        let Self { column, message } = self;
        match column {
            Some(nth) => format!("column {} {message}", nth + 1),
            None => message,
        }
    }
}

/// The separator that a first line such as `sep=;` declares, as spreadsheets read it.
fn declared(line: &str) -> Option<char> {
    let named = line.trim_matches(['"', ' ']).strip_prefix("sep=")?;
    SEPARATORS.into_iter().find(|separator| named.chars().eq([*separator]))
}

/// The separator most frequent in a line outside of quotation marks.
fn guessed(line: &str) -> char {
    let outside: Vec<&str> = line.split('"').step_by(2).collect();
    let count = |separator: char| outside.iter().map(|text| text.matches(separator).count()).sum::<usize>();
    let most = (0..SEPARATORS.len()).max_by_key(|nth| (count(SEPARATORS[*nth]), Reverse(*nth)));
    SEPARATORS[most.unwrap_or(0)]
}

fn split(text: &str, separator: char) -> Result<Vec<String>, Unsplit> {
    let is_blank = |letter: char| letter != separator && letter.is_whitespace();
    let (mut cells, mut rest) = (Vec::new(), text);
    loop {
        let begun = rest.trim_start_matches(is_blank);
        let (found, after) = match begun.strip_prefix('"').or_else(|| begun.strip_prefix("=\"")) {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let (found, after) = begun.split_at(begun.find(separator).unwrap_or(begun.len()));
                if found.contains('"') {
                    return Err(Unsplit::Stray);
                }
                (found.to_owned(), after)
            }
        };
        cells.push(value(&found).to_owned());
        let after = after.trim_start_matches(is_blank);
        match after.strip_prefix(separator) {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(cells),
            None => return Err(Unsplit::Stray),
        }
    }
}

/// A quoted field up to its closing mark, and the rest.
fn unquoted(text: &str) -> Result<(String, &str), Unsplit> {
    let (mut field, mut rest) = (String::new(), text);
    loop {
        let (part, after) = rest.split_once('"').ok_or(Unsplit::Open)?;
        field.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                field.push('"');
                rest = after;
            }
            None => return Ok((field, after)),
        }
    }
}

/// The value of a cell, without blanks and invisible characters, the formula `="…"` that keeps a value text,
/// and the apostrophe of [`harmless`](super::harmless).
fn value(cell: &str) -> &str {
    let cell = trimmed(cell);
    let cell = cell.strip_prefix("=\"").and_then(|text| text.strip_suffix('"')).unwrap_or(cell);
    if let Some(text) = cell.strip_prefix('\'').filter(|text| begins_formula(text)) {
        return text;
    }
    let between = |marks: &[char]| Some(cell.strip_prefix(marks)?.strip_suffix(marks)?.trim());
    [CURLY, SINGLE].into_iter().find_map(between).unwrap_or(cell)
}

/// The name of a column without capitals, blanks and marks.
pub fn plain(name: &str) -> String {
    name.to_lowercase().replace(|letter: char| !letter.is_alphanumeric(), "")
}

fn has_digits(text: &str, least: usize, most: usize) -> bool {
    (least..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_month(text: &str) -> bool {
    text.chars().all(char::is_alphabetic) && MONTHS.contains(&format!(" {} ", text.to_lowercase()))
}

/// Whether a spreadsheet writes a day, or the last digits of a year, and a month so.
fn is_date(cell: &str) -> bool {
    let parts = cell.replace(". ", "-");
    let parts = parts.split_once('-').map(|(one, other)| (one, other.trim_end_matches('.')));
    parts.is_some_and(|(one, other)| {
        has_digits(one, 1, 2) && is_month(other) || is_month(one) && has_digits(other, 1, 2)
    })
}

/// Why a value of a column without dates is not what was typed, where it is a date such as `3-Mar-26`.
pub fn made_date(cell: &str) -> Option<&'static str> {
    let parts: Vec<&str> = cell.split(['/', '.', '-', ' ']).filter(|part| !part.is_empty()).collect();
    let &[day, month, year] = &parts[..] else { return None };
    let has_century = has_digits(year, 4, 4) && (year.starts_with("19") || year.starts_with("20"));
    let are_numbers = has_digits(month, 1, 2) && has_century;
    let is_named = is_month(month) && (has_century || has_digits(year, 2, 2));
    (has_digits(day, 1, 2) && (are_numbers || is_named)).then_some(MADE_DATE)
}

/// Why a value is not what was typed, where a spreadsheet has left its trace.
fn spoilt(cell: &str, separator: char) -> Option<&'static str> {
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if ERRORS.contains(&cell) || cell.len() > 2 && cell.bytes().all(|byte| byte == b'#') {
        return Some("is an error of the spreadsheet; put the value there");
    }
    // Java shortens from ten million on, without a plus; without a point it may be an id.
    let is_of_java = |(number, power): &(&str, &str)| {
        number.contains('.') && power.parse::<u32>().is_ok_and(|power| power >= 7)
    };
    let of_java = || cell.split_once('E').filter(is_of_java);
    let shortened = cell.split_once("E+").or_else(|| cell.split_once("e+")).or_else(of_java);
    if shortened
        .is_some_and(|(number, power)| are_digits(&number.replace([',', '.'], "")) && are_digits(power))
    {
        return Some(
            "is a number that the spreadsheet has shortened; make the column text, and enter it again",
        );
    }
    if cell.starts_with(CURLY) {
        return Some(
            "has a curly or angled quotation mark that begins a field and does not end it; put the field between two straight ones",
        );
    }
    if is_date(cell) {
        return Some(MADE_DATE);
    }
    // Where cells are not kept apart by commas, these may be decimal, and points stand between thousands.
    let mut groups = cell.trim_start_matches('-').split('.');
    let first = groups.next().filter(|first| are_digits(first) && first.len() <= 3);
    let mut groups = groups.peekable();
    let are_thousands = groups.peek().is_some() && groups.all(|group| group.len() == 3 && are_digits(group));
    let is_either = separator != ',' && first.is_some() && are_thousands;
    is_either
        .then_some("is a number whose point may stand between thousands or before decimals; leave it out")
}
