//! Reads the consents of a form's days and company, page by page.

use chrono::NaiveDate;

use crate::command::{store_unread, unavailable};
use crate::consents::noted;
use crate::console::prelude::*;
use offerd_insight::persons::consent_lines::{
    ArrivalDays, ConsentFields, ConsentSummary, STATEMENTS, Summaries, TooMany, each,
};
use offerd_insight::persons::consents::{ConsentFilter, ConsentPage, page};
use offerd_insight::sheet::{ColumnKind, Sheet};

/// Maximum consents to count; takes some seconds.
const COUNTED: usize = 100_000;

/// Maximum rows of a file with one row per consent; the command has no limit.
pub(super) const LINES: usize = 10_000;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ConsentReadCounts {
    pub(super) consents: usize,
    /// Leads that are erased.
    pub(super) gone: u64,
}

/// Each statement with the number of its consents. Fails when the form is invalid, there are too many, or
/// they cannot be read.
pub(super) async fn counted(visit: &ConsoleRequest) -> Result<(Vec<ConsentSummary>, ConsentReadCounts)> {
    let many = |_: TooMany| {
        let told = format!("There are more than {STATEMENTS} different texts, perhaps one per lead");
        Failure::bad_request(format!("{told}: use “Download each lead”."))
    };
    let add = move |summaries: &mut Summaries, page: &ConsentPage| summaries.add(page).map_err(many);
    let (summaries, read) = walked(visit, COUNTED, add).await?;
    Ok((summaries.sorted(), read))
}

/// A row per lead and statement. Fails like [`counted`].
pub(super) async fn listed(visit: &ConsoleRequest) -> Result<Vec<ConsentFields>> {
    let add = |lines: &mut Vec<ConsentFields>, page: &ConsentPage| {
        let line = |consent| each(consent, &page.statements[consent.statement]);
        lines.extend(page.consents.iter().map(line));
        Ok(())
    };
    Ok(walked(visit, LINES, add).await?.0)
}

pub(super) fn sheet(lines: &[ConsentFields]) -> Sheet {
    let names = lines.first().into_iter().flatten().map(|(name, _)| (*name, ColumnKind::Text));
    let row = |line: &ConsentFields| line.iter().map(|(_, text)| text.as_ref().into()).collect();
    Sheet::new(names, lines.iter().map(row))
}

/// Reads at most `most` consents of the form's selection, folding each page with `add`.
async fn walked<T: Default + Send + 'static>(
    visit: &ConsoleRequest,
    most: usize,
    add: impl Fn(&mut T, &ConsentPage) -> Result<()> + Send + 'static,
) -> Result<(T, ConsentReadCounts)> {
    let wanted = wanted(visit)?;
    // It reads all leads of that time.
    let permit = Arc::clone(&visit.app.console.scans).try_acquire_owned();
    let busy = "Another page is reading the store; try again in a moment.";
    let permit = permit.map_err(|_| unavailable(busy))?;
    noted(&visit.app, &visit.actor()).await?;
    let walk = move |app: &AdminState| {
        let _permit = permit;
        walk(app, &wanted, most, add)
    };
    visit.reading(walk).await?
}

fn walk<T: Default>(
    app: &AdminState,
    wanted: &ConsentFilter,
    most: usize,
    add: impl Fn(&mut T, &ConsentPage) -> Result<()>,
) -> Result<(T, ConsentReadCounts)> {
    let (mut made, mut read, mut next) = (T::default(), ConsentReadCounts::default(), None);
    loop {
        let page = page(&app.store, wanted, next).map_err(store_unread)?;
        read.consents += page.consents.len();
        read.gone += page.gone;
        if read.consents > most {
            return Err(Failure::bad_request(format!(
                "This period has more than {most} consents: choose fewer days or one company, or use \
                    `offerd person consents`, which has no limit."
            )));
        }
        add(&mut made, &page)?;
        next = page.next;
        if next.is_none() {
            return Ok((made, read));
        }
    }
}

/// The selection of the form.
fn wanted(visit: &ConsoleRequest) -> Result<ConsentFilter> {
    let day = |name: &'static str| {
        let wrong = |_| Failure::bad_request(format!("`{name}` must be a day such as 2026-01-31."));
        visit.field(name).map(|text| text.parse::<NaiveDate>().map_err(wrong)).transpose()
    };
    let turned = |told| Failure::bad_request(format!("Consents cannot be shown: {told}."));
    let came = ArrivalDays { from: day("from")?, to: day("to")? }.range().map_err(turned)?;
    let unknown = |_| Failure::bad_request("`company` must be a uuid.");
    let company = visit.field("company").map(|text| text.parse::<Uuid>().map_err(unknown)).transpose()?;
    Ok(ConsentFilter { company, came, test: visit.field("leads") == Some("test") })
}
