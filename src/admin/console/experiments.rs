//! `GET /console/experiments`: how rules stand and, of one, what became of its variants; `GET /console/experiments/download`, the
//! same as a file for spreadsheets.

use std::sync::Arc;

use serde::Serialize;

use super::super::experiments::{RuleStanding, as_csv, compared, is_test, standings};
use super::section::Section;
use super::view::{Page, View, sealed};
use super::visit::Visit;
use crate::experiments::RuleState;
use crate::hindsight::comparison::{Comparison, Difference, LEAST_LEADS, Outcome, VariantFigures};
use crate::web::{Failure, Reply};

#[derive(Debug, Serialize)]
struct Experiments {
    rules: Vec<Row>,
    /// Where the files are.
    path: String,
    shown: Option<Shown>,
    least_leads: u64,
    test: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    standing: RuleStanding,
    /// The class of the style sheet, and the words.
    pill: (&'static str, &'static str),
    time: String,
    of: String,
}

/// A comparison as it is shown.
#[derive(Debug, Serialize)]
struct Shown {
    rule: String,
    headings: Vec<&'static str>,
    rows: Vec<ShownVariant>,
    cut: bool,
}

#[derive(Debug, Serialize)]
struct ShownVariant {
    variant: String,
    leads: u64,
    cells: Vec<Cell>,
}

/// A figure, and how it differs from that of the control.
#[derive(Debug, Serialize)]
struct Cell {
    heading: &'static str,
    value: String,
    /// The difference with its interval.
    difference: Option<String>,
    /// The class of the style sheet, and what is said of it.
    verdict: Option<(&'static str, String)>,
}

impl Page for Experiments {
    const SECTION: Section = Section::Experiments;
    const TEMPLATE: &'static str = "experiments.html";
}

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let test = is_test(visit.query_value("leads"))?;
    let shown = match visit.query_value("rule").filter(|rule| !rule.is_empty()) {
        Some(rule) => Some(Shown::of(&compared(&visit.app, rule, test).await?)),
        None => None,
    };
    let rules = standings(&visit.app).await?.into_iter().map(Row::of).collect();
    let path = visit.app.settings().experiments.path.display().to_string();
    visit.view(&Experiments { rules, path, shown, least_leads: LEAST_LEADS, test })
}

/// Gives a comparison as a file.
pub(super) async fn download(visit: Arc<Visit>) -> Result<Reply, Failure> {
    let test = is_test(visit.query_value("leads"))?;
    let rule = visit.query_value("rule").unwrap_or_default();
    as_csv(&compared(&visit.app, rule, test).await?).map(sealed)
}

impl Row {
    fn of(standing: RuleStanding) -> Self {
        let class = match standing.state {
            RuleState::Running => "good",
            RuleState::NotStarted | RuleState::Ended | RuleState::Removed => "idle",
        };
        Self { pill: (class, standing.state.words()), time: standing.time(), of: standing.whose(), standing }
    }
}

impl Shown {
    fn of(comparison: &Comparison) -> Self {
        Self {
            rule: comparison.rule.clone(),
            headings: Outcome::ALL.map(Outcome::heading).to_vec(),
            rows: comparison.variants.iter().map(ShownVariant::of).collect(),
            cut: comparison.cut,
        }
    }
}

impl ShownVariant {
    fn of(variant: &VariantFigures) -> Self {
        let cell = |figure: &crate::hindsight::comparison::Figure| Cell {
            heading: figure.of.heading(),
            value: figure.value.map_or_else(|| "–".to_owned(), |value| figure.of.written(value)),
            difference: figure.difference.map(|difference| difference.written(figure.of)),
            verdict: figure.difference.map(|difference| (class(&difference), difference.verdict())),
        };
        Self {
            variant: variant.variant.clone(),
            leads: variant.leads,
            cells: variant.figures.iter().map(cell).collect(),
        }
    }
}

fn class(difference: &Difference) -> &'static str {
    if difference.differs { "warn" } else { "idle" }
}
