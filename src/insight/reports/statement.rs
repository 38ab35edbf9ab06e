//! A partner's statement, held against the payouts that are booked: by transaction id, a click by its click id
//! and a bid by the lead. A reversed payout counts as zero.

use std::collections::BTreeMap;
use std::io::Read;

use chrono::NaiveDate;
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::sheet;
use crate::sheet::lines::TextLines;
use crate::sheet::rows::{CsvFault, CsvRow, CsvRows, made_date, plain};
use crate::sheet::{Sheet, figures};
use offerd_base::declaration::nearest;
use offerd_engine::records::projection::companies;
use offerd_store::entities::PayoutRecord;
use offerd_store::{ReadResult, Store, Tree};

/// The columns of a statement; it may have others.
pub const COLUMNS: [&str; 2] = ["transaction_id", "amount"];

/// Most lines of a statement.
pub const LINES_MOST: usize = 100_000;

/// The least amount that is refused, in dollars: up to it, sums are exact to the cent.
const DOLLARS_END: f64 = 1e9;

/// Most faults of a statement that are listed.
const FAULTS_TOLD: usize = 100;

/// How far apart amounts may be that are the same, in cents: a statement rounds fractions of them.
const ROUNDED: f64 = 0.500_001;

/// A line of a statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatementLine {
    /// Its number in the file, from 1.
    pub line: u64,
    /// The partner's own id.
    pub transaction_id: String,
    /// The amount, in cents and fractions of them.
    pub cents: f64,
}

/// A statement, and the payouts to hold it against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    /// The partner's key.
    pub partner: String,
    /// The first day on which payouts count.
    pub from: Option<NaiveDate>,
    /// The last day.
    pub until: Option<NaiveDate>,
    /// Its lines; those of one transaction id are added up.
    pub lines: Vec<StatementLine>,
}

/// How a transaction stands on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Match {
    /// The same amount on both sides.
    Matched,
    /// Not booked on these days.
    MissingHere,
    /// Booked, but not on the statement.
    MissingThere,
    /// Another amount is booked.
    OtherAmount,
}

/// The transactions that stand alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchSum {
    /// Their number.
    pub count: usize,
    /// What is booked for them, in cents.
    pub here_in_cents: f64,
    /// What the statement says, in cents.
    pub there_in_cents: f64,
}

/// A transaction that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// How it stands.
    pub result: Match,
    /// The transaction id, else the click id, else the lead.
    pub transaction_id: String,
    /// Its lines in the file.
    pub lines: Vec<u64>,
    /// What is booked, in cents.
    pub here_in_cents: Option<f64>,
    /// What the statement says, in cents.
    pub there_in_cents: Option<f64>,
    /// The day on which it counts, also beyond those that were asked for.
    pub counts_on: Option<NaiveDate>,
    /// The lead.
    pub lead_uuid: Option<Uuid>,
}

/// A statement held against what is booked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reconciliation {
    /// The partner's key.
    pub partner: String,
    /// The time zone of the days.
    pub zone: String,
    /// How many payouts of the partner are booked, on whatever day.
    pub booked: usize,
    /// Those that match.
    pub matched: MatchSum,
    /// Those that are only on the statement.
    pub missing_here: MatchSum,
    /// Those that are only booked.
    pub missing_there: MatchSum,
    /// Those with another amount.
    pub other_amount: MatchSum,
    /// All that do not match.
    pub differences: Vec<Difference>,
}

#[derive(Default)]
struct Sides {
    here: Option<f64>,
    there: Option<f64>,
    lines: Vec<u64>,
    day: Option<NaiveDate>,
    lead: Option<Uuid>,
}

/// Reads the lines of a statement.
///
/// # Errors
/// Its faults, each with its line. A statement is held against nothing unless all of it can be read.
pub fn read(text: TextLines<impl Read>) -> Result<Vec<StatementLine>, Vec<String>> {
    let mut rows = CsvRows::new(text, None);
    let (line, names) = rows.names().map_err(|fault| vec![fault])?;
    let places = COLUMNS.map(|wanted| names.iter().position(|name| name == wanted));
    let [Some(id), Some(amount)] = places else {
        let missing = COLUMNS.into_iter().zip(places).filter(|(_, place)| place.is_none());
        return Err(missing.map(|(wanted, _)| without(line, wanted, &names)).collect());
    };
    if let Some(twice) = COLUMNS.iter().find(|wanted| names.iter().filter(|name| name == wanted).count() > 1)
    {
        return Err(vec![format!(
            "line {line} is the header, and it has the column `{twice}` twice; leave one out"
        )]);
    }
    let (mut lines, mut faults) = (Vec::new(), Vec::new());
    for CsvRow { line, cells } in rows {
        let told = |CsvFault { column, message }: CsvFault| match column {
            Some(nth) => format!("`{}` {message}", names[nth]),
            None => message,
        };
        if lines.len() == LINES_MOST {
            faults.push(too_long());
            break;
        }
        match cells.map_err(told).and_then(|cells| statement_line(line, &cells[id], &cells[amount])) {
            Ok(line) => lines.push(line),
            Err(_) if faults.len() == FAULTS_TOLD => {
                faults.push("further lines have faults too".to_owned());
                break;
            }
            Err(fault) => faults.push(format!("line {line} {fault}")),
        }
    }
    if faults.is_empty() { Ok(lines) } else { Err(faults) }
}

/// The refusal of a statement with too many lines.
pub fn too_long() -> String {
    format!("a statement may have {LINES_MOST} lines; split it by days, and give the days of each part")
}

fn without(line: u64, wanted: &str, names: &[String]) -> String {
    let plain: Vec<(String, &String)> = names.iter().map(|name| (plain(name), name)).collect();
    let near = nearest(&self::plain(wanted), plain.iter().map(|(plain, _)| plain.as_str()));
    let near = near.and_then(|near| plain.iter().find(|(plain, _)| plain == near));
    let near = near.map_or_else(String::new, |(_, name)| format!("; if `{name}` is it, rename that"));
    format!("line {line} is the header, and it has no column `{wanted}`{near}")
}

fn statement_line(line: u64, id: &str, amount: &str) -> Result<StatementLine, String> {
    if id.is_empty() {
        return Err("has no `transaction_id`".to_owned());
    }
    if let Some(message) = made_date(id) {
        return Err(format!("`transaction_id` {message}"));
    }
    let wanted =
        || format!("`amount` must be dollars below a billion, such as 12.50 or $1,234.50, got `{amount}`");
    Ok(StatementLine { line, transaction_id: id.to_owned(), cents: cents(amount).ok_or_else(wanted)? })
}

/// Dollars as cents: `12.50`, `$1,234.50`; negative with a minus or between brackets.
fn cents(text: &str) -> Option<f64> {
    let bracketed = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let signed = bracketed.or_else(|| text.strip_prefix(['-', '−']));
    let number = signed.unwrap_or(text).trim();
    let number = number.strip_prefix('$').unwrap_or(number).trim_start();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split(',');
    let first = groups.next().filter(|first| are_digits(first) && (first.len() <= 3 || !whole.contains(',')));
    let is_number = first.is_some() && groups.all(|group| group.len() == 3 && are_digits(group));
    let is_money = is_number && are_digits(fraction) && fraction.len() <= 4;
    let dollars = format!("{}.{fraction}", whole.replace(',', "")).parse::<f64>().ok();
    let dollars = dollars.filter(|dollars| is_money && *dollars < DOLLARS_END)?;
    // The product of a decimal fraction may lie beside the cent.
    let cents = (dollars * 1e4).round() / 100.0;
    Some(if signed.is_some() { -cents } else { cents })
}

/// Holds a statement against what is booked. Blocks: it reads all payouts.
///
/// # Errors
/// The store cannot be read.
pub fn reconcile(store: &Store, statement: Statement, zone: Tz) -> ReadResult<Reconciliation> {
    let Statement { partner, from, until, lines } = statement;
    let mut sides: BTreeMap<String, Sides> = BTreeMap::new();
    for StatementLine { line, transaction_id, cents } in lines {
        let side = sides.entry(transaction_id).or_default();
        *side.there.get_or_insert(0.0) += cents;
        side.lines.push(line);
    }
    let mut booked = 0;
    for company in companies(store) {
        for record in store.feed_from::<PayoutRecord>(Tree::LeadPayouts, company, 0) {
            for payout in record?.1.into_iter().filter(|it| it.partner == partner && !it.test) {
                booked += usize::from(payout.takes_back.is_none());
                let day = figures::day(payout.counts_at(), zone);
                let is_asked_for =
                    from.is_none_or(|from| from <= day) && until.is_none_or(|until| day <= until);
                let reference = payout.reference();
                if !is_asked_for && !sides.contains_key(&reference) {
                    continue;
                }
                let side = sides.entry(reference).or_default();
                (side.day, side.lead) = (Some(day), Some(payout.lead));
                if is_asked_for {
                    *side.here.get_or_insert(0.0) += payout.cents;
                }
            }
        }
    }
    let zone = zone.name().to_owned();
    Ok(sides.into_iter().fold(Reconciliation::begin(partner, zone, booked), Reconciliation::with))
}

impl Reconciliation {
    /// Whether all of the statement is booked, and nothing else.
    pub fn is_whole(&self) -> bool {
        self.differences.is_empty()
    }

    /// The sums, with how their transactions stand.
    pub fn sums(&self) -> [(&'static str, MatchSum); 4] {
        [
            (Match::Matched, self.matched),
            (Match::MissingHere, self.missing_here),
            (Match::MissingThere, self.missing_there),
            (Match::OtherAmount, self.other_amount),
        ]
        .map(|(result, sum)| (result.words(), sum))
    }

    /// The differences, for a table and a file.
    pub fn sheet(&self) -> Sheet {
        let dollars = |cents: Option<f64>| cents.map(|cents| format!("{:.2}", cents / 100.0));
        sheet!(&self.differences, one => {
            "result" => one.result.words(),
            "transaction_id" => &one.transaction_id,
            "here": Figure => dollars(one.here_in_cents),
            "there": Figure => dollars(one.there_in_cents),
            "counts_on" => one.counts_on.map(|day| day.to_string()),
            "lines" => one.lines.iter().map(u64::to_string).collect::<Vec<_>>().join(" "),
            "lead" => one.lead_uuid.map(|lead| lead.to_string()),
        })
    }

    fn begin(partner: String, zone: String, booked: usize) -> Self {
        let none = MatchSum::default();
        let (matched, missing_here, missing_there, other_amount) = (none, none, none, none);
        let differences = Vec::new();
        Self { partner, zone, booked, matched, missing_here, missing_there, other_amount, differences }
    }

    fn with(mut self, (transaction_id, side): (String, Sides)) -> Self {
        let Sides { here, there, lines, day: counts_on, lead: lead_uuid } = side;
        let is_same = (here.unwrap_or(0.0) - there.unwrap_or(0.0)).abs() <= ROUNDED;
        let (result, sum) = match (here, there) {
            // Booked and reversed: nothing to state.
            (_, None) if is_same => return self,
            _ if is_same => (Match::Matched, &mut self.matched),
            (None, _) => (Match::MissingHere, &mut self.missing_here),
            (_, None) => (Match::MissingThere, &mut self.missing_there),
            _ => (Match::OtherAmount, &mut self.other_amount),
        };
        sum.count += 1;
        sum.here_in_cents += here.unwrap_or(0.0);
        sum.there_in_cents += there.unwrap_or(0.0);
        if result != Match::Matched {
            let (here_in_cents, there_in_cents) = (here, there);
            self.differences.push(Difference {
                result,
                transaction_id,
                lines,
                here_in_cents,
                there_in_cents,
                counts_on,
                lead_uuid,
            });
        }
        self
    }
}

impl Match {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::MissingHere => "missing here",
            Self::MissingThere => "missing there",
            Self::OtherAmount => "other amount",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::lines::decoded;

    fn lines(text: &str) -> Result<Vec<StatementLine>, Vec<String>> {
        read(TextLines::new(decoded(text.as_bytes(), None), ""))
    }

    #[test]
    fn amounts_are_dollars_as_statements_write_them() {
        let read = [
            "12.50",
            "$1,234.50",
            "-12.5",
            "($1,000.00)",
            "-$0.29",
            "$-3",
            "7",
            "0.005",
            "1234567.89",
            "1000000000",
        ];
        let cents = read.map(super::cents);
        let wanted = [1250.0, 123_450.0, -1250.0, -100_000.0, -29.0].map(Some);
        assert_eq!(cents[..5], wanted);
        assert_eq!(cents[5..], [None, Some(700.0), Some(0.5), Some(123_456_789.0), None]);
        for wrong in
            ["", "$", "12,50", "1,2345.00", "1234,567.00", "12.", ".5", "1.23456", "12.50 USD", "1e3"]
        {
            assert_eq!(super::cents(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_statement_is_read_with_its_line_numbers_and_other_columns() {
        let read =
            lines("day,amount,transaction_id\n2026-11-20,\"$1,000.00\",T-1\n\n2026-11-21,2,T-2\n").unwrap();
        let line = |line, id: &str, cents| StatementLine { line, transaction_id: id.to_owned(), cents };
        assert_eq!(read, [line(2, "T-1", 100_000.0), line(4, "T-2", 200.0)]);
    }

    #[test]
    fn every_fault_is_told_with_its_line_and_a_near_name_of_a_column() {
        let header = lines("Transaction ID,Amount\nT-1,1\n").unwrap_err();
        assert_eq!(
            header,
            [
                "line 1 is the header, and it has no column `transaction_id`; if `Transaction ID` is it, rename that",
                "line 1 is the header, and it has no column `amount`; if `Amount` is it, rename that",
            ]
        );
        let faults = lines("transaction_id,amount\nT-1,\"12,50\"\n,1\nT-3,#N/A\nT-4,1,2\n").unwrap_err();
        let begin = [
            "line 2 `amount` must be dollars",
            "line 3 has no `transaction_id`",
            "line 4 `amount` is an error",
        ];
        assert!(faults.iter().zip(begin).all(|(told, wanted)| told.starts_with(wanted)), "{faults:?}");
        assert_eq!((faults.len(), &*faults[3]), (4, "line 5 has 3 fields, line 1 has 2"));
        assert_eq!(lines("").unwrap_err(), ["the file is empty; its first line has the names"]);
    }
}
