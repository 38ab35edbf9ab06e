//! `offerd experiment list|compare`

use super::page::AnswerFormat;
use super::prelude::*;
use offerd_admin::experiments::{RuleStatus, as_sheet};
use offerd_engine::experiments::ExperimentRules;
use offerd_insight::hindsight::comparison::{Comparison, Figure, LEAST_LEADS, Outcome};
use offerd_partners::is_key;

/// Actions on experiments.
#[derive(Debug, Subcommand)]
pub enum ExperimentCommand {
    /// Show the rules, whether they run, their shares and the number of leads per variant
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare the variants of a rule with its control
    Compare {
        /// Rule, by its file name
        rule: String,
        /// Compare test leads instead of live ones
        #[arg(long)]
        test: bool,
        /// Output format
        #[arg(long, value_name = "FORMAT", default_value = "table")]
        format: AnswerFormat,
    },
}

/// Runs `offerd experiment`.
pub async fn run(settings: &Settings, command: ExperimentCommand) -> Result<(), CommandError> {
    let load = || {
        let book = Book::load(&settings.partners.path)?;
        ExperimentRules::load(settings, Some(&book), None).map(|_| book)
    };
    let admin = AdminClient::find_with(settings, load).await?;
    match command {
        ExperimentCommand::List { json } => {
            let rules: Vec<RuleStatus> = admin.ask(Method::GET, "/experiments").await?;
            page::show(&rules, json, || page::print_sheet(&list(&rules)))?;
        }
        ExperimentCommand::Compare { rule, test, format } => {
            let leads = if test { "test" } else { "live" };
            let missing = || format!("there is no experiment `{rule}`; `offerd experiment list` lists them");
            if !is_key(&rule) {
                return Err(missing().into());
            }
            let path = format!("/experiments/{rule}?leads={leads}");
            let found = progress::during("reading leads", admin.lookup(Method::GET, &path)).await?;
            let comparison: Comparison = found.ok_or_else(missing)?;
            format.show(
                &comparison,
                || as_sheet(&comparison),
                || {
                    page::print_sheet(&sheet(&comparison));
                    page::print(notes(&comparison));
                },
            )?;
        }
    }
    Ok(())
}

fn list(rules: &[RuleStatus]) -> Sheet {
    let variants = rules.iter().flat_map(|rule| {
        rule.variants.iter().zip(std::iter::once(Some(rule)).chain(std::iter::repeat(None)))
    });
    sheet!(variants, (variant, rule) => {
        "rule" => rule.map(|rule| &rule.rule),
        "state" => rule.map(|rule| match rule.time() {
            time if time.is_empty() => rule.state.words().to_owned(),
            time => format!("{}, {time}", rule.state.words()),
        }),
        "of" => rule.map(RuleStatus::whose),
        "variant" => &variant.variant,
        "percent": Figure => variant.percent.map(|percent| (percent * 100.0).round() / 100.0),
        "leads": Count => variant.leads,
        "tests": Count => variant.test_leads,
        "changes" => &variant.about,
    })
}

fn sheet(comparison: &Comparison) -> Sheet {
    let figures = Outcome::ALL.map(|of| (of.heading().to_lowercase(), ColumnKind::Figure));
    let columns = [("variant".to_owned(), ColumnKind::Text), ("leads".to_owned(), ColumnKind::Count)];
    let rows = comparison.variants.iter().map(|variant| {
        let cells = variant.figures.iter().map(|figure| cell(figure).into());
        [variant.written().into(), variant.leads.into()].into_iter().chain(cells).collect()
    });
    Sheet::new(columns.into_iter().chain(figures), rows)
}

fn cell(figure: &Figure) -> String {
    let value = figure.value.map_or_else(|| "–".to_owned(), |value| figure.of.written(value));
    match &figure.difference {
        None => value,
        Some(difference) => {
            format!("{value}\n{}\n{}", difference.written(figure.of), difference.verdict())
        }
    }
}

fn notes(comparison: &Comparison) -> String {
    let of = if comparison.test { "test leads" } else { "live leads" };
    let mut notes = format!(
        "{of}; differences from the control with 95 % intervals, judged from {LEAST_LEADS} leads per variant"
    );
    if comparison.variants.iter().any(|variant| variant.until.is_some()) {
        notes.push_str(
            "\nthe default ranking or settings changed: leads before stand apart, with their own control",
        );
    }
    if comparison.cut {
        notes.push_str("\nonly the first leads are compared, up to `experiments.compared_leads`");
    }
    notes
}
