//! A report as a file for spreadsheets.

use super::report::{Report, columns};

/// The rows under the names of their columns, and nothing where a figure is missing. A value that a spreadsheet would take for a
/// formula has an apostrophe before it.
///
/// # Errors
/// That it cannot be written.
pub fn written(report: &Report) -> Result<String, String> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(columns(report)).map_err(|error| error.to_string())?;
    for row in &report.rows {
        let figures =
            row.values().into_iter().map(|value| value.map_or_else(String::new, |value| value.to_string()));
        let record = row.by.iter().map(|value| harmless(value)).chain(figures);
        csv.write_record(record).map_err(|error| error.to_string())?;
    }
    let bytes = csv.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
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
    use crate::reports::figures::Figures;
    use crate::reports::report::Row;

    #[test]
    fn no_value_does_something_to_a_terminal() {
        assert_eq!(harmless("a\x1b[2J\r\nb\tc\u{9b}"), "a\u{fffd}[2J\nb\tc\u{fffd}");
    }

    #[test]
    fn what_is_missing_is_empty_and_no_value_is_a_formula() {
        let day = chrono::NaiveDate::default();
        let figures = Figures { leads: 3, payouts: Some(1.5), ..Figures::default() };
        let row = Row { by: vec!["=1+1, \"x\"".to_owned()], figures, before: None };
        let report = Report {
            from: day,
            to: day,
            before: None,
            zone: "UTC".to_owned(),
            test: false,
            by: vec!["campaign".to_owned()],
            filters: Vec::new(),
            rows: vec![row],
            total: figures,
            total_before: None,
            rows_left_out: 0,
            uncounted_from: None,
        };
        let lines = "campaign,leads,withoutOffers,asks,offers,shown,clicks,applied,funded,takenBack,payouts,payoutsTakenBack,\
                     earningsPerClick,earningsPerLead\n\"'=1+1, \"\"x\"\"\",3,0,0,0,0,0,,,,1.5,,,\n";
        assert_eq!(written(&report).unwrap(), lines);
    }
}
