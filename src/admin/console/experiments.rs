//! `GET /console/experiments`: rules and the comparison of one; `GET /console/experiments/download`: as CSV.

use super::super::experiments::{RuleStatus, as_csv, evaluate, is_test, statuses};
use super::prelude::*;
use offerd_engine::experiments::RuleState;
use offerd_insight::hindsight::comparison::{
    Comparison, Difference, Figure, LEAST_LEADS, Outcome, VariantFigures,
};

const PAGE: ConsolePage = ConsolePage::new(Section::Experiments, "experiments.html");

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    let test = is_test(request.query_value("leads"))?;
    let shown = match request.query_value("rule").filter(|rule| !rule.is_empty()) {
        Some(rule) => Some(shown(&evaluate(&request.app, rule, test).await?)),
        None => None,
    };
    let rules: Vec<_> = statuses(&request.app).await?.iter().map(rule).collect();
    let path = request.app.settings().experiments.path.display().to_string();
    request.view(PAGE, fields! { rules, path, shown, least_leads => LEAST_LEADS, test })
}

pub(super) async fn download(request: &ConsoleRequest) -> Result<View> {
    let test = is_test(request.query_value("leads"))?;
    as_csv(&evaluate(&request.app, request.query_value("rule").unwrap_or_default(), test).await?)
        .map(View::from)
}

fn rule(status: &RuleStatus) -> Value {
    let class = if status.state == RuleState::Running { "good" } else { "idle" };
    let pill = (class, status.state.words());
    fields! { pill, time => status.time(), of => status.whose(), ..status }
}

fn shown(comparison: &Comparison) -> Value {
    let cell = |figure: &Figure| {
        fields! {
            heading => figure.of.heading(),
            value => known(figure.value, |value| figure.of.written(value)),
            difference => figure.difference.map(|difference| difference.written(figure.of)),
            verdict => figure.difference.map(|difference| (class(&difference), difference.verdict())),
        }
    };
    let row = |variant: &VariantFigures| {
        fields! { name => variant.written(), cells => variant.figures.iter().map(cell).collect::<Vec<_>>(), ..variant }
    };
    fields! {
        headings => Outcome::ALL.map(Outcome::heading),
        rows => comparison.variants.iter().map(row).collect::<Vec<_>>(),
        changed => comparison.variants.iter().any(|variant| variant.until.is_some()),
        ..comparison
    }
}

fn class(difference: &Difference) -> &'static str {
    if difference.differs { "warn" } else { "idle" }
}
