//! `offerd person consents`: which consents were given, and when.

use std::ops::Range;

use chrono::NaiveDate;

use super::lines::{RowFormat, RowWriter};
use super::prelude::*;
use offerd_insight::persons::consent_lines::{ArrivalDays, STATEMENTS, Summaries, TooMany, each};
use offerd_insight::persons::consents::{ConsentPage, Place};

/// `offerd person consents`.
#[derive(Debug, Args)]
pub struct ConsentsArguments {
    /// First day of arrival of the leads (UTC), such as 2026-01-01
    #[arg(long, value_name = "DAY")]
    from: Option<NaiveDate>,
    /// Last day
    #[arg(long, value_name = "DAY")]
    to: Option<NaiveDate>,
    /// Only leads of this company, by its name or uuid
    #[arg(long, value_name = "NAME")]
    company: Option<String>,
    /// List test leads instead of live ones
    #[arg(long)]
    test: bool,
    /// One row per lead and statement; default: one row per statement
    #[arg(long)]
    each: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: RowFormat,
    /// File to create, readable by its owner only; default: standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs `offerd person consents`.
pub async fn run(admin: &AdminClient, arguments: &ConsentsArguments) -> Result<(), CommandError> {
    let mut lines = RowWriter::begin(arguments.format, arguments.out.as_deref())?;
    let bar = StepProgressBar::begin("{human_pos} consents read");
    let came = ArrivalDays { from: arguments.from, to: arguments.to }.range().map_err(CommandError::Other)?;
    let (mut summaries, mut read, mut gone) = (Summaries::default(), 0, 0);
    let mut next = None;
    loop {
        let page: ConsentPage = admin.ask(Method::GET, &arguments.query(&came, next)).await?;
        read += page.consents.len() as u64;
        gone += page.gone;
        bar.show(read, read);
        if arguments.each {
            for consent in &page.consents {
                lines.add(each(consent, &page.statements[consent.statement]))?;
            }
        } else {
            summaries.add(&page).map_err(too_many)?;
        }
        next = page.next;
        if next.is_none() || lines.is_full() {
            break;
        }
    }
    match (read, arguments.test) {
        (0, true) => tell!("no test lead states a consent here"),
        (0, false) => tell!("no live lead states a consent here; `--test` lists test leads"),
        _ => {}
    }
    summaries.sorted().iter().try_for_each(|summary| lines.add(summary.fields()))?;
    drop(bar);
    lines.end()?;
    if gone > 0 {
        tell!("{gone} leads are erased or removed, and not counted");
    }
    Ok(())
}

fn too_many(_: TooMany) -> CommandError {
    CommandError::Other(format!(
        "there are more than {STATEMENTS} different texts, perhaps one per lead: use `--each` for a line per lead"
    ))
}

impl ConsentsArguments {
    fn query(&self, came: &Range<u64>, next: Option<Place>) -> String {
        let wanted = [
            ("from", self.from.map(|_| came.start.to_string())),
            ("until", self.to.map(|_| came.end.to_string())),
            ("company", self.company.clone()),
            ("leads", values::tests(self.test)),
            ("nextCompany", next.map(|next| next.company.to_string())),
            ("nextUs", next.map(|next| next.from_us.to_string())),
        ];
        values::query("/consents", wanted)
    }
}
