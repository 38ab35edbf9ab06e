//! The records of a file, line by line: CSV or NDJSON.

use std::io::{BufRead, BufReader, Read};

use clap::ValueEnum;
use serde_json::Value;

use crate::admin::partner_events::{self, Imported};
use crate::model::{ApiError, ErrorType, PartnerReport, PartnerReportFields};

/// The attribute that names the partner of a record.
const PARTNER: &str = "partner";

/// Longest record, bytes.
const RECORD_BYTES: usize = 64 * 1024;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Lines of fields, the first of which has the names
    Csv,
    /// An object a line
    Ndjson,
}

/// One record of a file.
#[derive(Debug)]
pub struct Record {
    /// The line that it begins on, from 1.
    pub line: u64,
    /// The record, or all that is wrong with it.
    pub imported: Result<Imported, Vec<ApiError>>,
}

/// Reads the records of a file. `partner` is whose they are that name none.
///
/// # Errors
/// A sentence when the file cannot be read at all.
pub fn read<'f>(
    input: impl Read + 'f,
    format: Option<Format>,
    partner: Option<&'f str>,
) -> Result<Box<dyn Iterator<Item = Record> + 'f>, String> {
    let mut input = BufReader::new(input);
    let format = match format {
        Some(format) => format,
        None => guess(&mut input)?,
    };
    match format {
        Format::Csv => csv_records(input, partner),
        Format::Ndjson if is_one_document(&mut input)? => Err(
            "it is one JSON document over several lines, neither CSV nor NDJSON, which has an object a line; \
             `jq -c .` writes an object so, `jq -c '.[]'` those of an array"
                .to_owned(),
        ),
        Format::Ndjson => Ok(Box::new(Lines::of(input, |_| false).map(move |(line, text)| {
            Record::of(line, text.and_then(|text| object(&text)), partner)
        }))),
    }
}

/// Whether the first line ends amid an object, or the file begins with an array: each of its lines would count as bad for
/// the one mistake that it is.
fn is_one_document(input: &mut impl BufRead) -> Result<bool, String> {
    let start = beginning(input)?;
    let Some(end) = start.iter().position(|byte| *byte == b'\n') else { return Ok(start.starts_with(b"[")) };
    let amid = |error: serde_json::Error| error.is_eof();
    Ok(start.starts_with(b"[") || serde_json::from_slice::<Value>(&start[..end]).is_err_and(amid))
}

/// What there is to see of a file before it is read, without the mark of UTF-8 and the space before its first letter.
fn beginning(input: &mut impl BufRead) -> Result<&[u8], String> {
    let start = input.fill_buf().map_err(|error| format!("the file cannot be read: {error}"))?;
    Ok(start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start).trim_ascii_start())
}

/// An object begins with a brace, an array with a bracket, and no attribute does.
fn guess(input: &mut impl BufRead) -> Result<Format, String> {
    let start = beginning(input)?;
    Ok(if start.starts_with(b"{") || start.starts_with(b"[") { Format::Ndjson } else { Format::Csv })
}

fn csv_records<'f>(
    input: impl BufRead + 'f,
    partner: Option<&'f str>,
) -> Result<Box<dyn Iterator<Item = Record> + 'f>, String> {
    let mut lines = Lines::of(input, has_open_quote);
    let (number, first) = lines.next().ok_or("the file is empty; its first line has the names")?;
    let names = first.and_then(|text| fields(&text)).map_err(|message| format!("line {number} {message}"))?;
    let known = |name: &str| name == PARTNER || PartnerReportFields::WIRE.contains(&name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let wanted = PartnerReportFields::WIRE.join(", ");
        return Err(format!("line {number} names `{unknown}`, which is none of {PARTNER}, {wanted}"));
    }
    Ok(Box::new(lines.map(move |(line, text)| {
        let record = text.and_then(|text| fields(&text)).and_then(|fields| match fields.len() {
            length if length == names.len() => Ok(PartnerReport::json_of(names.iter().zip(&fields))),
            length => Err(format!("has {length} fields, line {number} has {}", names.len())),
        });
        Record::of(line, record, partner)
    })))
}

/// Whether a record of CSV goes on after the text.
fn has_open_quote(text: &[u8]) -> bool {
    text.iter().filter(|byte| **byte == b'"').count() % 2 == 1
}

/// The fields of one record of CSV.
fn fields(text: &[u8]) -> Result<csv::StringRecord, String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(text);
    let record = reader.records().next().and_then(Result::ok);
    record.ok_or_else(|| "cannot be read as CSV in UTF-8".to_owned())
}

/// The object of one line.
fn object(text: &[u8]) -> Result<Value, String> {
    let object = serde_json::from_slice(text).ok().filter(Value::is_object);
    object.ok_or_else(|| "is not a JSON object".to_owned())
}

impl Record {
    fn of(line: u64, report: Result<Value, String>, partner: Option<&str>) -> Self {
        let report = report.map_err(|message| vec![ApiError::new(ErrorType::Malformed, message)]);
        Self { line, imported: report.and_then(|report| imported(report, partner)) }
    }
}

/// The records of a text, each with the line that it begins on; blank lines between them are left out.
struct Lines<R> {
    input: R,
    /// Whether a record goes on after a line.
    goes_on: fn(&[u8]) -> bool,
    line: u64,
    /// Nothing follows what could not be read.
    broken: bool,
}

impl<R: BufRead> Lines<R> {
    fn of(input: R, goes_on: fn(&[u8]) -> bool) -> Self {
        Self { input, goes_on, line: 0, broken: false }
    }

    /// Reads one more line into a record; nothing of it that makes the record too long. Returns whether there was one.
    fn read_line(&mut self, record: &mut Vec<u8>) -> std::io::Result<bool> {
        let mut found = false;
        loop {
            let room = (RECORD_BYTES + 1).saturating_sub(record.len());
            let mut piece = Vec::new();
            let length = self.input.by_ref().take(RECORD_BYTES as u64).read_until(b'\n', &mut piece)?;
            found |= length > 0;
            record.extend_from_slice(&piece[..length.min(room)]);
            if length == 0 || piece.ends_with(b"\n") {
                self.line += u64::from(found);
                return Ok(found);
            }
        }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = (u64, Result<Vec<u8>, String>);

    fn next(&mut self) -> Option<Self::Item> {
        let mut record = Vec::new();
        while record.trim_ascii().is_empty() {
            record.clear();
            match self.read_line(&mut record) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(_) if self.broken => return None,
                Err(error) => {
                    self.broken = true;
                    return Some((self.line + 1, Err(format!("cannot be read: {error}"))));
                }
            }
        }
        let begins = self.line;
        while (self.goes_on)(&record) && record.len() <= RECORD_BYTES {
            if !self.read_line(&mut record).unwrap_or(false) {
                break;
            }
        }
        let fits = record.len() <= RECORD_BYTES;
        let text = record.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&record).to_vec();
        Some((begins, if fits { Ok(text) } else { Err(format!("is longer than {RECORD_BYTES} bytes")) }))
    }
}

/// A record with its partner, checked as far as that can be without asking anybody.
fn imported(mut report: Value, partner: Option<&str>) -> Result<Imported, Vec<ApiError>> {
    let named = report.as_object_mut().and_then(|attributes| attributes.remove(PARTNER));
    let named = named.as_ref().and_then(Value::as_str).filter(|named| !named.is_empty()).or(partner);
    let missing = named
        .is_none()
        .then(|| ApiError::at(PARTNER, ErrorType::Missing, "must be given in the record, or by --partner"));
    let mut faults: Vec<ApiError> = missing.into_iter().collect();
    faults.extend(partner_events::read(&report).err().into_iter().flatten());
    match named {
        Some(partner) if faults.is_empty() => Ok(Imported { partner: partner.to_owned(), report }),
        _ => Err(faults),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLICK: &str = "0198c1f2-7d5e-7a11-9f3c-2b7d4e6a8001";

    /// Per record its line, and the attributes or messages of what is wrong.
    fn faults(text: &str, partner: Option<&str>) -> Vec<(u64, Vec<String>)> {
        let records = read(text.as_bytes(), None, partner).unwrap();
        let told = |error: ApiError| error.attribute.or(error.message).unwrap_or_default();
        let faults = |record: Record| record.imported.err().into_iter().flatten().map(told).collect();
        records.map(|record| (record.line, faults(record))).collect()
    }

    #[test]
    fn csv_and_ndjson_say_the_same() {
        let csv = format!(
            "\u{feff}partner, transactionId ,eventType,clickId,amountInCents,occurredAt\r\n\
             bank,\"T,1\",funded,{CLICK},1200,\r\nbank,007,applied,{CLICK},,2026-11-20 10:00:00\r\n"
        );
        let ndjson = format!(
            "{{\"partner\":\"bank\",\"transactionId\":\"T,1\",\"eventType\":\"funded\",\"clickId\":\"{CLICK}\",\
             \"amountInCents\":1200}}\n\n{{\"partner\":\"bank\",\"transactionId\":\"007\",\"eventType\":\"applied\",\
             \"clickId\":\"{CLICK}\",\"occurredAt\":\"2026-11-20T10:00:00Z\"}}"
        );
        let reports = |text: &str| -> Vec<(String, PartnerReport)> {
            let records = read(text.as_bytes(), None, None).unwrap();
            let good = records.map(|record| record.imported.unwrap());
            good.map(|one| (one.partner, partner_events::read(&one.report).unwrap())).collect()
        };
        assert_eq!(reports(&csv), reports(&ndjson));
        assert_eq!(reports(&csv).len(), 2);
    }

    #[test]
    fn every_bad_line_of_csv_is_told_by_its_number() {
        let csv = format!(
            "transactionId,eventType,clickId\nT-1,funded,{CLICK}\nT-2,fundet,nonsense\nT-3,funded\n\n\"\n\",applied,{CLICK}\nT-4,,{CLICK}"
        );
        let told = [
            (2, vec![]),
            (3, vec!["eventType".to_owned(), "clickId".to_owned()]),
            (4, vec!["has 2 fields, line 1 has 3".to_owned()]),
            (6, vec!["transactionId".to_owned()]),
            (8, vec!["eventType".to_owned()]),
        ];
        assert_eq!(faults(&csv, Some("bank")), told);
    }

    #[test]
    fn every_bad_line_of_ndjson_is_told_by_its_number() {
        let ndjson = "{\"transactionId\":\"T\",\"revoked\":true}\n[1]\n{\"transactionId\":\n";
        let object = vec!["is not a JSON object".to_owned()];
        assert_eq!(faults(ndjson, Some("bank")), [(1, Vec::new()), (2, object.clone()), (3, object)]);
        assert_eq!(faults(ndjson, None)[0], (1, vec!["partner".to_owned()]));
    }

    #[test]
    fn one_document_of_json_is_told_once() {
        for text in ["{\n  \"partner\": \"bank\"\n}\n", "[\n  {}\n]\n", "[{}]"] {
            let Err(told) = read(text.as_bytes(), None, None) else { panic!("read {text}") };
            assert!(told.contains("one JSON document") && told.contains("jq -c"), "{told}");
        }
    }

    #[test]
    fn a_misspelt_column_is_told_before_anything_is_read() {
        let Err(told) = read(&b"transactionID,eventType\n"[..], None, None) else { panic!("read") };
        assert!(told.contains("`transactionID`"), "{told}");
    }

    #[test]
    fn a_line_that_is_too_long_is_one_line() {
        let long = " ".repeat(3 * RECORD_BYTES);
        let ndjson = format!("{{\"a\":\"{long}\"}}\n{{\"transactionId\":\"T\",\"revoked\":true}}\n");
        let told = vec![format!("is longer than {RECORD_BYTES} bytes")];
        assert_eq!(faults(&ndjson, Some("bank")), [(1, told), (2, vec![])]);
    }

    #[test]
    fn a_file_that_breaks_off_is_told() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("gone"))
            }
        }
        let input = (&b"{\"transactionId\":\"T\",\"revoked\":true}\n"[..]).chain(Broken);
        let mut records = read(input, Some(Format::Ndjson), Some("bank")).unwrap();
        assert!(records.next().is_some_and(|record| record.imported.is_ok()));
        assert!(records.next().is_some_and(|record| record.imported.is_err()));
        assert!(records.next().is_none());
    }
}
