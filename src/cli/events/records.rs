//! The records of a file: CSV or NDJSON.

use std::io::{BufRead, Read};

use crate::cli::files::SAVE_AS_UTF_8;
use crate::cli::prelude::*;
use offerd_admin::partner_events::{self, Imported};
use offerd_insight::sheet::lines::{Decoded, Encoding, TextLines, decoded};
use offerd_insight::sheet::rows::{CsvFault, CsvRow, CsvRows, made_date};
use offerd_model::{ApiError, ErrorType, KnownKeys, PartnerReport, PartnerReportFields, Timestamp, trimmed};

/// Attribute with the partner of a record.
const PARTNER: &str = PartnerReport::PARTNER;

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EventFileFormat {
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Ndjson,
}

/// One record of a file.
#[derive(Debug)]
pub struct EventRecord {
    /// Number of its first line, from 1.
    pub line: u64,
    /// The record, or all its faults.
    pub imported: Result<Imported, Vec<ApiError>>,
}

/// Reads the records of a file. `partner` is the partner of records that name none.
///
/// # Errors
/// Returns a sentence when the file cannot be read at all.
pub fn read<'f>(
    input: impl Read + 'f,
    (format, encoding): (Option<EventFileFormat>, Option<Encoding>),
    partner: Option<&'f str>,
) -> Result<Box<dyn Iterator<Item = EventRecord> + 'f>, String> {
    let mut input = decoded(input, encoding);
    let format = match format {
        Some(format) => format,
        None => guess(&mut input)?,
    };
    match format {
        EventFileFormat::Csv => csv_records(input, partner),
        EventFileFormat::Ndjson if is_one_document(&mut input)? => Err(
            "it is one JSON document, neither CSV nor NDJSON (one object per line); `jq -c .` converts an \
                object, `jq -c '.[]'` an array"
                .to_owned(),
        ),
        EventFileFormat::Ndjson => {
            let known = KnownKeys::of::<PartnerReportFields>().and(PARTNER);
            Ok(Box::new(TextLines::new(input, SAVE_AS_UTF_8).map(move |(line, text)| {
                let wrong = |message: String| vec![ApiError::new(ErrorType::Malformed, message)];
                let report = text.map_err(wrong).and_then(|text| {
                    let report = object(&text).map_err(wrong)?;
                    let faults = faults_of_text(&known, text.as_bytes());
                    if faults.is_empty() { Ok(report) } else { Err(faults) }
                });
                EventRecord::new(line, report, partner)
            })))
        }
    }
}

/// Whether the file is one JSON document: its first line ends inside an object, or it begins with an array.
/// Otherwise this one mistake would be reported for every line.
fn is_one_document(input: &mut impl BufRead) -> Result<bool, String> {
    let start = beginning(input)?;
    let Some(end) = start.iter().position(|byte| *byte == b'\n') else { return Ok(start.starts_with(b"[")) };
    let amid = |error: serde_json::Error| error.is_eof();
    Ok(start.starts_with(b"[") || serde_json::from_slice::<Value>(&start[..end]).is_err_and(amid))
}

/// The first bytes of a file, without leading white space.
fn beginning(input: &mut impl BufRead) -> Result<&[u8], String> {
    Ok(input.fill_buf().map_err(|error| format!("the file cannot be read: {error}"))?.trim_ascii_start())
}

/// Detects the format: an object begins with a brace and an array with a bracket; no attribute name does.
fn guess(input: &mut impl BufRead) -> Result<EventFileFormat, String> {
    let start = beginning(input)?;
    Ok(if start.starts_with(b"{") || start.starts_with(b"[") {
        EventFileFormat::Ndjson
    } else {
        EventFileFormat::Csv
    })
}

fn csv_records<'f>(
    input: Decoded<impl Read + 'f>,
    partner: Option<&'f str>,
) -> Result<Box<dyn Iterator<Item = EventRecord> + 'f>, String> {
    let mut rows = CsvRows::new(TextLines::new(input, SAVE_AS_UTF_8), None);
    let (line, names) = rows.names()?;
    let known = |name: &str| name == PARTNER || PartnerReportFields::WIRE.contains(&name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let wanted = PartnerReportFields::WIRE.join(", ");
        return Err(format!(
            "line {line} is the header, and its column `{unknown}` is none of {PARTNER}, {wanted}"
        ));
    }
    if let Some((_, twice)) = names.iter().enumerate().find(|(nth, name)| names[..*nth].contains(name)) {
        return Err(format!("line {line} names `{twice}` twice; remove one of the two columns"));
    }
    Ok(Box::new(rows.map(move |CsvRow { line, cells }| {
        let texts = |cells: &[String]| {
            let id = names.iter().position(|name| name == "transactionId").and_then(|nth| cells.get(nth));
            if let Some(message) = id.and_then(|id| made_date(id)) {
                return Err(vec![ApiError::at("transactionId", ErrorType::Malformed, message)]);
            }
            PartnerReport::json_of(names.iter().map(String::as_str).zip(cells.iter().map(String::as_str)))
        };
        let wrong = |CsvFault { column, message }: CsvFault| match column.and_then(|column| names.get(column))
        {
            Some(name) => vec![ApiError::at(name, ErrorType::Malformed, message)],
            None => vec![ApiError::new(ErrorType::Malformed, message)],
        };
        EventRecord::new(line, cells.map_err(wrong).and_then(|cells| texts(&cells)), partner)
    })))
}

/// Parses the object of one line.
fn object(text: &str) -> Result<Value, String> {
    let object = serde_json::from_str(text).ok().filter(Value::is_object);
    object.ok_or_else(|| "is not a JSON object".to_owned())
}

/// The faults of an object as it is written. A misspelt key would leave out what it has, such as a payout.
fn faults_of_text(known: &KnownKeys, text: &[u8]) -> Vec<ApiError> {
    let unknown = known
        .unknown(text)
        .into_iter()
        .map(|key| ApiError::at(key.attribute.clone(), ErrorType::Malformed, key.to_string()));
    unknown.chain(PartnerReport::faults_as_written(text)).collect()
}

impl EventRecord {
    /// Whether its time has no zone.
    pub fn lacks_zone(&self) -> bool {
        let time = self.imported.as_ref().ok().and_then(|one| one.report.get("occurredAt")?.as_str());
        time.is_some_and(Timestamp::lacks_offset)
    }

    fn new(line: u64, report: Result<Value, Vec<ApiError>>, partner: Option<&str>) -> Self {
        Self { line, imported: report.and_then(|report| imported(report, partner)) }
    }
}

/// Validates a record with its partner, without asking the store.
fn imported(mut report: Value, partner: Option<&str>) -> Result<Imported, Vec<ApiError>> {
    let named = report.as_object_mut().and_then(|attributes| attributes.remove(PARTNER));
    let named = named.as_ref().and_then(Value::as_str).map(trimmed).filter(|it| !it.is_empty()).or(partner);
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
    use offerd_insight::sheet::lines::RECORD_BYTES;

    const CLICK: &str = "0198c1f2-7d5e-7a11-9f3c-2b7d4e6a8001";

    /// Line number of each record, with the attributes or messages of its faults.
    fn faults(text: &str, partner: Option<&str>) -> Vec<(u64, Vec<String>)> {
        let records = read(text.as_bytes(), (None, None), partner).unwrap();
        let told = |error: ApiError| error.attribute.or(error.message).unwrap_or_default();
        let faults = |record: EventRecord| record.imported.err().into_iter().flatten().map(told).collect();
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
            let records = read(text.as_bytes(), (None, None), None).unwrap();
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
        let money =
            format!("transactionId,eventType,clickId,amountInCents,payoutInCents\nT,funded,{CLICK},12,50,\n");
        let told = vec!["has 6 fields, line 1 has 5".to_owned()];
        assert_eq!(faults(&money, Some("bank")), [(2, told)], "a comma within an amount");
        let spoilt = faults(
            &format!("transactionId,eventType,clickId\n1.23E12,funded,{CLICK}\n1E5,funded,{CLICK}"),
            Some("bank"),
        );
        assert_eq!(
            spoilt,
            [(2, vec!["transactionId".to_owned()]), (3, vec![])],
            "as Java shortens a number, and an id"
        );
    }

    #[test]
    fn every_bad_line_of_ndjson_is_told_by_its_number() {
        let ndjson = "{\"transactionId\":\"T\",\"revoked\":true}\n[1]\n{\"transactionId\":\n";
        let object = vec!["is not a JSON object".to_owned()];
        assert_eq!(faults(ndjson, Some("bank")), [(1, Vec::new()), (2, object.clone()), (3, object)]);
        assert_eq!(faults(ndjson, None)[0], (1, vec!["partner".to_owned()]));
    }

    #[test]
    fn an_amount_of_ndjson_is_in_whole_cents() {
        for (amount, is_good) in
            [("1200", true), ("1200.0", true), ("null", true), ("12000.00", false), ("1e2", false)]
        {
            let line = format!(
                "{{\"transactionId\":\"T\",\"eventType\":\"funded\",\"clickId\":\"{CLICK}\",\"payoutInCents\":12.5,\"amountInCents\":{amount}}}"
            );
            let wanted = if is_good { vec![] } else { vec!["amountInCents".to_owned()] };
            assert_eq!(faults(&line, Some("bank")), [(1, wanted)], "{amount}");
        }
    }

    #[test]
    fn a_key_of_ndjson_that_is_misspelt_or_doubled_is_told_with_the_right_one() {
        for (keys, wanted) in [
            (r#""payoutInCent":100"#, "`payoutInCent` is not a known key; did you mean `payoutInCents`?"),
            (
                r#""amount_in_cents":100"#,
                "`amount_in_cents` is not a known key; did you mean `amountInCents`?",
            ),
            (r#""note":{"payoutInCents":1}"#, "`note` is not a known key"),
            (
                r#""amountInCents":1,"amountInCents":1"#,
                "`amountInCents` is given twice; leave one of the two out",
            ),
            (r#""partner":"other""#, "`partner` is given twice; leave one of the two out"),
            (r#""partnr":"other""#, "`partnr` is not a known key; did you mean `partner`?"),
        ] {
            let line = format!(
                "{{\"partner\":\"bank\",\"transactionId\":\"T\",\"eventType\":\"funded\",\"clickId\":\"{CLICK}\",{keys}}}"
            );
            let record = read(line.as_bytes(), (None, None), None).unwrap().next().unwrap();
            let told = record.imported.unwrap_err().into_iter().map(|fault| {
                format!("`{}` {}", fault.attribute.unwrap_or_default(), fault.message.unwrap_or_default())
            });
            assert_eq!(told.collect::<Vec<_>>(), [wanted], "{keys}");
        }
    }

    #[test]
    fn one_document_of_json_is_told_once() {
        for text in ["{\n  \"partner\": \"bank\"\n}\n", "[\n  {}\n]\n", "[{}]"] {
            let Err(told) = read(text.as_bytes(), (None, None), None) else { panic!("read {text}") };
            assert!(told.contains("one JSON document") && told.contains("jq -c"), "{told}");
        }
    }

    #[test]
    fn a_misspelt_column_is_told_before_anything_is_read() {
        let Err(told) = read(&b"transactionID,eventType\n"[..], (None, None), None) else { panic!("read") };
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
        let mut records = read(input, (Some(EventFileFormat::Ndjson), None), Some("bank")).unwrap();
        assert!(records.next().is_some_and(|record| record.imported.is_ok()));
        assert!(records.next().is_some_and(|record| record.imported.is_err()));
        assert!(records.next().is_none());
    }
}
