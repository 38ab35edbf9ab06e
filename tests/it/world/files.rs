//! Files that people bring: every row is read as it is meant, or its line is named. And files that we write for them.

use std::fs;
use std::process::Output;

use offerd::sheet::lines::{TextLines, decoded, encoding};
use offerd::sheet::rows::{CsvRow, CsvRows};
use offerd::sheet::{ColumnKind, Sheet};
use serde_json::{Value, json};

use crate::kit::Daemon;
use crate::kit::partners::partner;

const CLICK: &str = "0198c1f2-7d5e-7a11-9f3c-2b7d4e6a8001";

/// A file of the columns `a` and `b`; what is read of it, as `line: cells` or as `line! words of the fault`; where such a file was seen.
struct File {
    bytes: Vec<u8>,
    /// The encoding that a person names for it.
    named: Option<&'static str>,
    read: &'static [&'static str],
    seen: &'static str,
}

fn file(text: &str, read: &'static [&'static str], seen: &'static str) -> File {
    File { bytes: format!("a,b\n{text}").into_bytes(), named: None, read, seen }
}

/// A file that is not what [`file`] would make of it.
fn whole(bytes: impl AsRef<[u8]>, read: &'static [&'static str], seen: &'static str) -> File {
    File { bytes: bytes.as_ref().to_vec(), named: None, read, seen }
}

fn utf_16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

fn quotation_marks() -> Vec<File> {
    vec![
        file(
            "1,x\n2,\"y\n3,z\n4,w\n",
            &["2: 1|x", "3! quotation mark", "4: 3|z", "5: 4|w"],
            "OpenRefine 690: one mark put thousands of rows into one cell",
        ),
        file(
            "1,5\" pipe\n2,y\n",
            &["2! quotation mark amid a field", "3: 2|y"],
            "inches in a catalog; a school's importer of notes stopped at them",
        ),
        file(
            "1,\"low\n2,y\n3,high\"\n4,w\n",
            &["2! quotation mark", "3: 2|y", "4! quotation mark", "5: 4|w"],
            "an ambulance service lost 1,000 of 7,000 rows between quoted words",
        ),
        file("1,\"a \"\"b\"\", c\"\n", &["2: 1|a \"b\", c"], "a password keeper halved doubled marks"),
        file("1, \"x, y\"\n", &["2: 1|x, y"], "scripts that write a blank behind each comma"),
        file("\"1\",\"x\"\n", &["2: 1|x"], "whatever quotes every field"),
        file(
            "1,\"x\ny\"\n2,z\n",
            &["2! quotation mark", "3! ", "4: 2|z"],
            "an address of two lines in a cell",
        ),
        file("1,\"x\n\"\n2,z\n", &["2: 1|x", "4: 2|z"], "a line break typed behind the last word of a cell"),
    ]
}

const UTF_8_NAMED_OTHERWISE: &[&str] = &["2! is UTF-8, not ", "3: 2|y"];

fn encodings() -> Vec<File> {
    let mut marked = vec![0xff, 0xfe];
    marked.extend(utf_16("a\tb\r\n1\tZoë\r\n", u16::to_le_bytes));
    let mut other_end = vec![0xfe, 0xff];
    other_end.extend(utf_16("a,b\n1,Zoë\n", u16::to_be_bytes));
    let unmarked = utf_16("a,b\n1,Zoë\n", u16::to_le_bytes);
    let named = |name, file: File| File { named: Some(name), ..file };
    let utf_8 =
        || file("1,Zoë\n2,y\n", UTF_8_NAMED_OTHERWISE, "CSV UTF-8, for which our own error named another");
    vec![
        whole(b"\xef\xbb\xbfa,b\n1,Zo\xc3\xab\n", &["2: 1|Zoë"], "CSV UTF-8 of a spreadsheet; listmonk 65"),
        whole(b"a,b\n1,Zo\xeb\n2,y\n", &["2! cannot be read", "3: 2|y"], "CSV of a spreadsheet in the West"),
        named("cp1252", whole(b"a,b\n1,Zo\xeb\n", &["2: 1|Zoë"], "the same, and the encoding is named")),
        named("windows-1252", utf_8()),
        named("macintosh", utf_8()),
        named(
            "windows-1252",
            whole(b"\xef\xbb\xbfa,b\n1,Zo\xc3\xab\n", &["2: 1|Zoë"], "the same with its mark"),
        ),
        file(
            "1,Zo\u{c3}\u{ab}\n2,y\n",
            &["2! garbled", "3: 2|y"],
            "an export of an export; MÃ¼ller in address books",
        ),
        file(
            "1,\u{c3}\u{89}lan\n2,\u{c9}lan\n",
            &["2! garbled", "3: 2|\u{c9}lan"],
            "the same by way of Latin-1",
        ),
        file(
            "JosÃ©,Müller\nJÃ¶rg,O’Neil\nJosÃ© Müller,x\nMUÃ‘OZ,É\nMÜLLER’S,“der Strauß”\nle «CAFÉ» É,Œuvre\n",
            &[
                "2! garbled",
                "3! garbled",
                "4! garbled",
                "5! garbled",
                "6: MÜLLER’S|der Strauß",
                "7: le «CAFÉ» É|Œuvre",
            ],
            "two exports in one sheet, of which one was spoilt",
        ),
        whole(&marked, &["2: 1|Zoë"], "Unicode text of a spreadsheet, and what PowerShell redirects"),
        whole(&other_end, &["2: 1|Zoë"], "the same of an older machine"),
        named(
            "utf-16le",
            whole(&unmarked, &["2: 1|Zoë"], "the same without a mark, and the encoding is named"),
        ),
        file(
            "1,Zo\u{fffd}\n2,y\n",
            &["2! lost letters", "3: 2|y"],
            "a list that went through a program that guessed",
        ),
        whole(b"a,b\r1,x\r2,y\r", &["2: 1|x", "3: 2|y"], "CSV (Macintosh)"),
        whole(b"a,b\r\n1,\"x\r\n\"\r\n2,y\r\n", &["2: 1|x", "4: 2|y"], "line ends of Windows within a cell"),
    ]
}

fn control_characters() -> Vec<File> {
    vec![
        file(
            "1,O\u{92}Neil\n2,a\u{7f}\n3,a\u{1a}\n4,y\n",
            &[
                "2! control characters, as programs make of `’`",
                "3! the control character U+007F, which is no letter",
                "4! the control character U+001A",
                "5: 4|y",
            ],
            "windows-1252 that was saved as Latin-1, and a dump of a terminal",
        ),
        file("1,\0\n2,y\n", &["2! zero bytes", "3: 2|y"], "a dump of a database"),
    ]
}

fn spreadsheets() -> Vec<File> {
    vec![
        whole("a;b\n1;x, y\n", &["2: 1|x, y"], "where commas are decimal, semicolons separate"),
        whole("sep=;\na;b\n1;x\n", &["3: 1|x"], "the line by which a file tells a spreadsheet its separator"),
        whole("a\tb\n1\tx\n", &["2: 1|x"], "cells that were copied and pasted"),
        whole("a,b,,\n1,x,,\n,,,\n2,y,,\n", &["2: 1|x", "4: 2|y"], "columns and rows that were used once"),
        file("1,\"=\"\"0123\"\"\"\n2,=\"0123\"\n", &["2: 1|0123", "3: 2|0123"], "a formula that keeps zeros"),
        file(
            "1,'+12065550100\n",
            &["2: 1|+12065550100"],
            "our own apostrophe before what would be a formula",
        ),
        file("1,1.23457E+15\n", &["2! shortened"], "card and transaction numbers; react-csv 136"),
        file("1,8.96529e+19\n", &["2! shortened"], "serial numbers of SIM cards, in lower case"),
        whole("a;b\n1;4,687E+11\n", &["2! shortened"], "the same where commas are decimal"),
        whole("a;b\n1;1.000\n", &["2! thousands"], "one thousand, or one"),
        whole("a\tb\n1\t12.000\n", &["2! thousands"], "the same, copied and pasted from a spreadsheet"),
        file("1,1.000\n", &["2: 1|1.000"], "where points are decimal it is one"),
        file(
            "1,#N/A\n2,#####\n",
            &["2! error of the spreadsheet", "3! error of the spreadsheet"],
            "look-ups in vain",
        ),
        file(
            "1,x,y\n1\n2,y\n",
            &["2! has 3 fields, line 1 has 2", "3! has 1 fields", "4: 2|y"],
            "a comma in a name",
        ),
        file(
            "1,“Müller”\n2,„x“\n3,“x\n4,a “b”\n",
            &["2: 1|Müller", "3: 2|x", "4! curly or angled quotation mark", "5: 4|a “b”"],
            "names that went through a word processor",
        ),
        file(
            "'1',‘Ann’\n`2`,« Ann »\n3,’t Hooft\n4,‹Ann\n5,Ann’\n",
            &["2: 1|Ann", "3: 2|Ann", "4: 3|’t Hooft", "5! curly or angled quotation mark", "6: 5|Ann’"],
            "dumps of databases, and word processors of other countries",
        ),
        file(
            "1,3-Mar\n2,Mar-26\n3,12-Marsh\n4,3-3\n",
            &["2! is a date", "3! is a date", "4: 3|12-Marsh", "5: 4|3-3"],
            "a Saab 9-3, and ids such as 3-3",
        ),
        file(
            "1,10-Dez\n2,3. Mrz\n3,03-mars\n4,mar-26\n5,3-ene\n6,3.3\n7,Mar-Mar\n",
            &[
                "2! is a date",
                "3! is a date",
                "4! is a date",
                "5! is a date",
                "6! is a date",
                "7: 6|3.3",
                "8: 7|Mar-Mar",
            ],
            "the same in German, French and Spanish",
        ),
        file("1,\u{a0}x\u{a0}\n", &["2: 1|x"], "cells copied from a page of the web"),
    ]
}

fn told(row: CsvRow) -> String {
    match row.cells {
        Ok(cells) => format!("{}: {}", row.line, cells.join("|")),
        Err(fault) => format!("{}! {}", row.line, fault.message),
    }
}

#[test]
fn every_row_is_read_as_it_is_meant_or_named_by_its_line() {
    for File { bytes, named, read, seen } in
        [quotation_marks(), encodings(), control_characters(), spreadsheets()].into_iter().flatten()
    {
        let named = named.map(|name| encoding(name).unwrap());
        let mut rows = CsvRows::new(TextLines::new(decoded(&bytes[..], named), "save it as UTF-8"), None);
        assert_eq!(rows.names().unwrap().1, ["a", "b"], "{seen}");
        let found: Vec<String> = rows.map(told).collect();
        assert_eq!(found.len(), read.len(), "{seen}: {found:?}");
        for (found, wanted) in found.iter().zip(read) {
            match wanted.split_once("! ") {
                Some((line, words)) => {
                    assert!(
                        found.starts_with(&format!("{line}! ")) && found.contains(words),
                        "{seen}: {found}"
                    );
                }
                None => assert_eq!(found, wanted, "{seen}"),
            }
        }
    }
}

/// The beginning of a file that is no text, and what is said of it.
///
/// Seen with every importer: the workbook itself is uploaded, or what a download manager has packed.
#[test]
fn a_file_that_is_no_text_is_named_with_what_to_do() {
    let (little, big) = (utf_16("a,b\n", u16::to_le_bytes), utf_16("a,b\n", u16::to_be_bytes));
    let files: [(&[u8], &str); 16] = [
        (b"PK\x03\x04\x14\0", "a workbook (.xlsx) or another ZIP archive; save the sheet as CSV UTF-8"),
        (b"\xd0\xcf\x11\xe0\xa1", "a workbook (.xls); save the sheet as CSV UTF-8"),
        (b"\x1f\x8b\x08", "compressed by gzip; unpack it"),
        (b"\xfd7zXZ\0\0\x04", "compressed by xz; unpack it"),
        (b"\x28\xb5\x2f\xfd\x24", "compressed by zstd; unpack it"),
        (b"BZh91AY&SY", "compressed by bzip2; unpack it"),
        (b"7z\xbc\xaf\x27\x1c\0", "a 7z archive; unpack it"),
        (b"Rar!\x1a\x07\0", "a RAR archive; unpack it"),
        (b"%PDF-1.7\n", "a PDF document; export its data as CSV UTF-8"),
        (b"{\\rtf1\\ansi", "an RTF document; save its data as CSV UTF-8"),
        (b"<html><body><table>", "a page of HTML or XML"),
        (b"\xef\xbb\xbf\r\n<!DOCTYPE html>", "a page of HTML or XML"),
        (b"<TABLE><tr>", "a page of HTML or XML"),
        (b"<?xml version=", "a page of HTML or XML"),
        (&little, "UTF-16 without a mark; save it as UTF-8, or give `--encoding utf-16le`"),
        (&big, "UTF-16 without a mark; save it as UTF-8, or give `--encoding utf-16be`"),
    ];
    for (bytes, words) in files {
        for named in [None, encoding("windows-1252")] {
            let mut rows = CsvRows::new(TextLines::new(decoded(bytes, named), "advice"), None);
            let told = rows.names().unwrap_err();
            assert!(told.contains(words) && !told.contains("advice") && rows.is_broken(), "{told}");
        }
    }
}

/// However the bytes of a file come, its rows are the same.
#[test]
fn a_file_that_comes_byte_by_byte_is_the_same() {
    struct Slow<'b>(&'b [u8]);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            std::io::Read::read(&mut self.0, &mut out[..1])
        }
    }
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend(utf_16("a,b\r\n1,\"Zoë 🚗\r\n\"\r\n2,y", u16::to_le_bytes));
    let rows = CsvRows::new(TextLines::new(decoded(Slow(&bytes), None), ""), Some(2));
    assert_eq!(rows.map(told).collect::<Vec<_>>(), ["1: a|b", "2: 1|Zoë 🚗", "4: 2|y"]);
}

/// Seen with exports on network drives: the rest is not there, and a list of half the people is taken for the whole.
#[test]
fn a_file_that_breaks_off_is_not_taken_for_its_end() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the drive is gone"))
        }
    }
    let begun = &b"1,x\n2,"[..];
    let mut broken =
        CsvRows::new(TextLines::new(decoded(std::io::Read::chain(begun, Broken), None), ""), Some(2));
    let read: Vec<String> = broken.by_ref().map(told).collect();
    assert_eq!(read, ["1: 1|x", "2! cannot be read: the drive is gone"]);
    let mut whole = CsvRows::new(TextLines::new(decoded(begun, None), ""), Some(2));
    assert_eq!(whole.by_ref().count(), 2);
    assert!(broken.is_broken() && !whole.is_broken());
}

/// A row that is too long costs itself alone, and so does a mark behind which no other comes for long.
#[test]
fn what_is_too_long_is_one_row() {
    let long = "x".repeat(offerd::sheet::lines::RECORD_BYTES + 1);
    let many = "3,z\n".repeat(40_000);
    for text in [format!("1,{long}\n2,y\n"), format!("1,\"x\n2,y\n{many}")] {
        let mut rows = CsvRows::new(TextLines::new(decoded(text.as_bytes(), None), ""), Some(2)).map(told);
        assert!(rows.next().unwrap().starts_with("1! "));
        assert_eq!(rows.next().unwrap(), "2: 2|y");
        assert_eq!(rows.count(), if text.contains(&long) { 0 } else { 40_000 });
    }
}

#[test]
fn what_we_export_we_import() {
    let texts = ["=1+1", "+12065550100", "-5", "@x", "Zoë", "a \"b\", c", "O'Neil", "", "007"];
    let rows = texts.map(|text| vec![text.into(), 0_i64.into(), 1234.5_f64.into()]);
    let sheet = Sheet::new(
        [("text", ColumnKind::Text), ("at", ColumnKind::Time), ("amount", ColumnKind::Amount)],
        rows,
    );
    let csv = sheet.csv().unwrap();
    let rows = CsvRows::new(TextLines::new(decoded(csv.as_bytes(), None), ""), Some(3))
        .map(|row| row.cells.unwrap());
    let read: Vec<Vec<String>> = rows.skip(1).collect();
    for (read, text) in read.iter().zip(texts) {
        assert_eq!(read, &[text, "1970-01-01 00:00:00.000", "1234.5"]);
        assert!(offerd::model::Timestamp::parse(&read[1]).is_some_and(|at| at.millis() == 0));
    }
    assert_eq!(read.len(), texts.len());
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

#[test]
fn a_stray_mark_among_200_reports_costs_its_own() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    let row = |nth: usize| {
        let mark = if nth == 3 { "\"" } else { "" };
        format!("bank,{mark}T-{nth},applied,{CLICK},TRUE\n")
    };
    let rows: String = (0..200).map(row).collect();
    let path = plan.directory().join("reports.csv");
    fs::write(&path, format!("partner,transactionId,eventType,clickId,revoked\n{rows}")).unwrap();
    let output = plan.command(&["events", "import", "--dry-run", "--json", path.to_str().unwrap()]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary, json!({"read": 200, "imported": 199, "known": 0, "bad": 1, "dryRun": true}));
    assert!(said(&output).contains("reports.csv:5: has a quotation mark"), "{}", said(&output));
}

/// Each column of a report by what a spreadsheet makes of it, and the word by which the line is refused; nothing where it is taken.
const COLUMNS: [(&str, &str, Option<&str>); 31] = [
    ("revoked", "TRUE", None),
    ("revoked", "WAHR", Some("`revoked` must be `true` or `false`")),
    ("transactionId", "3-Mar", Some("`transactionId` is a date that the spreadsheet made")),
    ("transactionId", "3-Mar-26", Some("`transactionId` is a date that the spreadsheet made")),
    ("transactionId", "3/3/2026", Some("`transactionId` is a date that the spreadsheet made")),
    ("transactionId", "03.03.2026", Some("`transactionId` is a date that the spreadsheet made")),
    ("transactionId", "2026-03-03", None),
    ("transactionId", "1.2.26", None),
    ("transactionId", "\u{200b}T-9\u{a0}\u{feff}", None),
    ("transactionId", "T\u{200b}9", Some("`transactionId` must not have U+200B in it")),
    ("transactionId", "T\u{a0}9", Some("`transactionId` must not have U+00A0 in it")),
    ("transactionId", "1.23457E+15", Some("`transactionId` is a number that the spreadsheet has shortened")),
    ("amountInCents", "1.2E+06", Some("`amountInCents` is a number that the spreadsheet has shortened")),
    ("amountInCents", "1e3", Some("`amountInCents` must not have an exponent")),
    ("amountInCents", "1.2E6", Some("`amountInCents` must not have an exponent")),
    ("amountInCents", "\"1,200\"", Some("`amountInCents` must be a whole number of cents")),
    ("amountInCents", "1.200.000", Some("must be a whole number of cents without separators")),
    ("amountInCents", "1200.0", None),
    ("amountInCents", "12000.00", Some("`amountInCents` must be in whole cents, got a number with decimals")),
    ("amountInCents", "12000.50", Some("`amountInCents` must be in whole cents, got a number with decimals")),
    ("amountInCents", "12.5", Some("multiply all of it by 100")),
    ("payoutInCents", "\"12,5\"", Some("`payoutInCents` must be a whole number of cents")),
    ("payoutInCents", "12.5", Some("`payoutInCents` must be in whole cents, got a number with decimals")),
    ("payoutInCents", "75.00", Some("`payoutInCents` must be in whole cents, got a number with decimals")),
    ("payoutInCents", "7500.0", None),
    ("payoutInCents", "7500", None),
    ("payoutInCents", "1E3", Some("`payoutInCents` must not have an exponent")),
    ("occurredAt", "2026-11-20 10:00:00", None),
    ("occurredAt", "2026-11-20 10:00:00 02:00", None),
    ("occurredAt", "46346.4166", Some("`occurredAt` must be an ISO 8601 date-time, such as `2026-")),
    ("occurredAt", "11/20/2026 10:00", Some("`occurredAt`")),
];

#[test]
fn what_a_spreadsheet_makes_of_a_report_is_read_or_named_by_its_column() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    for (column, value, refused) in COLUMNS {
        let usual = [("transactionId", "T-1"), ("eventType", "applied"), ("clickId", CLICK)];
        let others = usual.into_iter().filter(|(name, _)| *name != column);
        let (names, values): (Vec<_>, Vec<_>) = others.chain([(column, value)]).unzip();
        let csv = format!("{}\n{}\n", names.join(","), values.join(","));
        let path = plan.directory().join("reports.csv");
        fs::write(&path, csv).unwrap();
        let command = ["events", "import", "--dry-run", "--partner", "bank", path.to_str().unwrap()];
        let output = plan.command(&command).output().unwrap();
        let told = said(&output);
        assert_eq!(output.status.success(), refused.is_none(), "{column} {value}: {told}");
        assert!(told.contains(refused.unwrap_or("1 good, 0 bad")), "{column} {value}: {told}");
    }
}

/// A file of reports in a format, and what is said of it.
const REPORTS: [(&str, &str, &str); 7] = [
    ("csv", "transactionId,eventType\n", "has no record, so nothing is imported"),
    ("csv", "transactionId,eventType\n,\n\n", "has no record, so nothing is imported"),
    ("ndjson", "\n", "has no record, so nothing is imported"),
    ("ndjson", "[{\"transactionId\":\"T\"}]\n", "it is one JSON document, neither CSV nor NDJSON"),
    (
        "ndjson",
        "{\"payoutInCent\":1}",
        ":1: `payoutInCent` is not a known key; did you mean `payoutInCents`?",
    ),
    ("ndjson", "{\"amountInCents\":1,\"amountInCents\":2}", ":1: `amountInCents` is given twice"),
    (
        "csv",
        "transactionId,occurredAt,revoked\nT,2026-11-20 10:00:00,true\nU,2026-11-20 10:00:00Z,true\n",
        "records whose `occurredAt` has no time zone, so that it is taken as UTC: 1",
    ),
];

#[test]
fn what_a_file_of_reports_leaves_out_is_told() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    for (format, text, words) in REPORTS {
        let path = plan.directory().join("reports");
        fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let command = ["events", "import", "--dry-run", "--partner", "bank", "--format", format, path];
        let output = plan.command(&command).output().unwrap();
        assert_eq!(output.status.success(), words.contains("UTC"), "{text}: {}", said(&output));
        assert!(said(&output).contains(words), "{text}: {}", said(&output));
    }
}

/// A list of people, what is said of it, and how many are on the list then; each list is its own.
struct List {
    bytes: &'static [u8],
    words: &'static [&'static str],
    told: &'static [&'static str],
    entries: u64,
}

const LISTS: [List; 15] = [
    List {
        bytes: b"Zo\xeb,King,1985-02-21\nWilliam,King,1985-02-21\n",
        words: &["person"],
        told: &[":1: has letters that cannot be read", "--encoding windows-1252"],
        entries: 1,
    },
    List {
        bytes: b"Zo\xeb,King,1985-02-21\n",
        words: &["person", "--encoding", "windows-1252"],
        told: &[],
        entries: 1,
    },
    List {
        bytes: b"\"ada@example.com\"\r\n\"bob@example.com\"\r\n",
        words: &["email"],
        told: &[],
        entries: 2,
    },
    List { bytes: b"\"Lovelace, Jr.\";Ada;1985/12/10\n", words: &["person"], told: &[], entries: 1 },
    List {
        bytes: b"Ada,Lovelace,12/10/1985\nAda,Lovelace,10-12-25\nAda,Lovelace,1985-12-10 00:00:00\n",
        words: &["person"],
        told: &[":1: must be names with a day of birth", ":2: must be names with a day of birth"],
        entries: 1,
    },
    List {
        bytes: b"2.06556E+09\n2065550100\n",
        words: &["phone"],
        told: &[":1: column 1 is a number that the spreadsheet has shortened"],
        entries: 1,
    },
    List {
        bytes: b"email\nada@example.com\n\"bob@example.com\neve@example.com\n",
        words: &["email"],
        told: &[":3: has a quotation mark"],
        entries: 2,
    },
    List {
        bytes: b"name\nada@example.com\n",
        words: &["email"],
        told: &[":1: must be an email address; read as a header, it must name `email`"],
        entries: 1,
    },
    List {
        bytes: b"Zo\xc3\xab,King,1985-02-21\nWilliam,King,1985-02-21\n",
        words: &["person", "--encoding", "windows-1252"],
        told: &[":1: is UTF-8, not windows-1252; leave out `--encoding`"],
        entries: 1,
    },
    List {
        bytes: b"Zo\xc3\x83\xc2\xab,King,1985-02-21\nWilliam,King,1985-02-21\n",
        words: &["person"],
        told: &[":1: has letters garbled by a program"],
        entries: 1,
    },
    List {
        bytes: b"William,King,2985-02-21\n\xe2\x80\x9cWilliam\xe2\x80\x9d,King,1985-02-21\n",
        words: &["person"],
        told: &[":1: must be names with a day of birth that is not in the future"],
        entries: 1,
    },
    List {
        bytes: b"O&#39;Neil,King,1985-02-21\n?ukasz,King,1985-02-21\nWilliam,King,1985-02-21\n",
        words: &["person"],
        told: &[":1: must be names as people write them", ":2: must be names as people write them"],
        entries: 1,
    },
    List {
        bytes: b"William,King,1899-12-31\n'William',King,1985-02-21\nWilliam,King,1985-02-21\n",
        words: &["person"],
        told: &[":1: must be names with a day of birth from 1900-01-01 on"],
        entries: 1,
    },
    List {
        bytes: b"206-555-0100 x12\ntel:+1-206-555-0101\n206/555-0102\n",
        words: &["phone"],
        told: &[":1: must be a phone number of ten digits, without an extension"],
        entries: 2,
    },
    List {
        bytes: b"Last name,FIRST_NAME,dob\nKing,William,1985-02-21\n",
        words: &["person"],
        told: &[],
        entries: 1,
    },
];

#[tokio::test]
async fn a_list_of_people_fails_closed() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let path = daemon.file("list.csv");
    for (nth, List { bytes, words, told, entries }) in LISTS.into_iter().enumerate() {
        fs::write(&path, bytes).unwrap();
        let list = format!("list_{nth}");
        let command =
            [&["suppressions", "add", &list, path.to_str().unwrap(), "--plain", "--json", "--kind"], words];
        let output = daemon.command(&command.concat());
        let all = said(&output);
        assert_eq!(output.status.success(), told.is_empty(), "{nth}: {all}");
        for told in told {
            assert!(all.contains(told), "{nth}: {all}");
        }
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(summary["entries"], entries, "{nth}: {all}");
        assert!(!all.contains("King") && !all.contains("ada@"), "{nth}: {all}");
    }
}

/// Names would be swapped, so that the list lets those pass who are on it.
#[tokio::test]
async fn columns_are_those_that_a_header_names() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let path = daemon.file("list.csv");
    let add = |rows: &str| {
        fs::write(&path, rows).unwrap();
        let list = ["suppressions", "add", "names", path.to_str().unwrap(), "--plain", "--kind", "person"];
        let output = daemon.command(&list);
        (output.status.success(), said(&output))
    };
    for rows in [
        "William,King,1985-02-21\n",
        "lastName,firstName,dateOfBirth\nKing,William,1985-02-21\n",
        "Birthdate;Given name;Surname\n1985-02-21;William;King\n",
    ] {
        let (is_good, told) = add(rows);
        assert!(is_good && told.contains("1 line read, 0 bad; names has 1 entry"), "{rows}: {told}");
    }
    for header in ["Nachname,Vorname,Geburtstag", "name,name,dob"] {
        let (is_good, told) = add(&format!("{header}\nKing,William,1985-02-21\n"));
        let wanted = "read as a header, it must name `firstname`, `lastname`, `dateofbirth`, so nothing is added to `names`";
        assert!(!is_good && told.contains("line 1 must be") && told.contains(wanted), "{header}: {told}");
    }
}

/// A file in which nobody is named, and what is said of it.
///
/// Seen where an export fails, or a filter finds nothing: the empty list lets everybody pass.
const NOBODY: [(&[u8], &str); 6] = [
    (b"", "has no line with anything on it"),
    (b"\xef\xbb\xbf", "has no line with anything on it"),
    (b"\n \r\n\"\"\n", "has no line with anything on it"),
    (b"email\n", "has no line but its header"),
    (b"PK\x03\x04\x14\0", "line 1 cannot be read: it is a workbook"),
    (b"ada\n\nbob\n", "none of the 2 lines is good"),
];

#[tokio::test]
async fn a_list_of_nobody_is_refused_and_changes_nothing() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    let path = daemon.file("list.csv");
    let add = |list: &str| {
        let path = path.to_str().unwrap();
        daemon.command(&["suppressions", "add", list, path, "--kind", "email", "--plain"])
    };
    fs::write(&path, "eve@example.com\n").unwrap();
    assert!(add("known").status.success());
    for (bytes, words) in NOBODY {
        fs::write(&path, bytes).unwrap();
        for list in ["new", "known", "everywhere"] {
            let output = add(list);
            let all = said(&output);
            assert!(!output.status.success(), "{words}, {list}: {all}");
            assert!(all.contains(words), "{words}, {list}: {all}");
            assert!(all.contains(&format!("so nothing is added to `{list}`")), "{words}, {list}: {all}");
        }
    }
    let lists = daemon.command(&["suppressions", "list", "--json"]);
    let lists: Value = serde_json::from_slice(&lists.stdout).unwrap();
    assert_eq!(lists.as_array().map(Vec::len), Some(1), "{lists}");
    assert_eq!((&lists[0]["name"], &lists[0]["entries"]), (&json!("known"), &json!(1)));
}

/// A name of the command line, and what is said of it.
const PERSONS: [(&str, Option<&str>); 7] = [
    ("\u{201c}Opt\u{201d}, \u{201c}Eleven\u{201d}, 1976-01-05", None),
    ("Opt; Eleven; 1976-01-05", None),
    ("Opt, Eleven", Some("--person has 2 fields, wants 3; it must be first name")),
    ("Opt, Eleven, 2976-01-05", Some("--person must be names with a day of birth that is not in the future")),
    ("Opt, El\u{c3}\u{a9}ven, 1976-01-05", Some("--person has letters garbled by a program")),
    ("Opt, El&eacute;ven, 1976-01-05", Some("--person must be names as people write them")),
    ("Opt, Eleven, 1976-01-05\nAda, King, 1985-12-10", Some("--person must be first name")),
];

/// What a list would refuse names nobody on the command line either.
#[tokio::test]
async fn a_name_of_the_command_line_is_read_as_a_line_of_a_list() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    for (person, refused) in PERSONS {
        let output = daemon.command(&["person", "suppress", "--person", person]);
        let told = said(&output);
        assert_eq!(output.status.success(), refused.is_none(), "{person}: {told}");
        assert!(told.contains(refused.unwrap_or("no partner is asked about them")), "{person}: {told}");
    }
    let garbled = ["person", "find", "--email", "J\u{c3}\u{b6}rg@example.com"];
    let told = said(&daemon.command(&garbled));
    assert!(told.contains("--email has letters garbled by a program"), "{told}");
    for (person, told) in
        [("opt,eleven,1976-01-05", "may be asked"), ("O?, x, 1976-01-05", "were not on the opt-out list")]
    {
        let output = said(&daemon.command(&["person", "unsuppress", "--person", person]));
        assert!(output.contains(told), "{person}: {output}");
    }
}
