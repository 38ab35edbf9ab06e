//! `offerd experiment list|compare`

use std::path::Path;

use clap::{Subcommand, ValueEnum};
use comfy_table::{CellAlignment, Table};
use hyper::Method;

use super::admin_client::AdminClient;
use super::trouble::Trouble;
use super::{page, progress};
use crate::admin::experiments::{RuleStanding, spreadsheet};
use crate::hindsight::comparison::{Comparison, Figure, LEAST_LEADS, Outcome};
use crate::partners::is_key;

/// What to do with experiments.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the rules, whether they run, their shares and how many leads each variant has so far
    #[command(after_help = "\
Examples:
  offerd experiment list
  offerd experiment list --json | jq -r '.[] | select(.state == \"running\").rule'

Leads are those counted for reports; a rule whose file is gone is listed while leads of it are counted. No daemon need run for this.")]
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare the variants of a rule with its control
    #[command(after_help = "\
Examples:
  offerd experiment compare shorter_deadline
  offerd experiment compare shorter_deadline --format csv > shorter_deadline.csv

Shares of leads are compared by the interval of Newcombe and Wilson, means by that of Welch, both of 95 %. What differs is said to only
where the interval leaves 0 out and both variants have 100 leads; else it says how many more leads each would take. One interval in twenty
leaves 0 out by chance: say beforehand which figure decides, and when.")]
    Compare {
        /// Rule, by the name of its file
        rule: String,
        /// Test leads, rather than live ones
        #[arg(long)]
        test: bool,
        /// As what
        #[arg(long, value_name = "FORMAT", default_value = "table")]
        format: Format,
    },
}

/// As what a comparison is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// For spreadsheets
    Csv,
    /// For programs
    Json,
}

/// Runs `offerd experiment`.
pub async fn run(config: Option<&Path>, command: Command) -> Result<(), Trouble> {
    let settings = super::settings(config)?;
    let admin = AdminClient::find_with_experiments(&settings).await?;
    let done = execute(&admin, command).await;
    admin.close()?;
    done
}

async fn execute(admin: &AdminClient, command: Command) -> Result<(), Trouble> {
    match command {
        Command::List { json } => {
            let rules: Vec<RuleStanding> = admin.ask(Method::GET, "/experiments").await?;
            page::show(&rules, json, || page::print_table(list(&rules)))?;
        }
        Command::Compare { rule, test, format } => {
            let leads = if test { "test" } else { "live" };
            let missing =
                || format!("there is no experiment `{rule}`; `offerd experiment list` shows those there are");
            if !is_key(&rule) {
                return Err(missing().into());
            }
            let waiting = progress::waiting("reading leads");
            let path = format!("/experiments/{rule}?leads={leads}");
            let found: Option<Comparison> = admin.find_one(Method::GET, &path).await?;
            drop(waiting);
            show(&found.ok_or_else(missing)?, format)?;
        }
    }
    Ok(())
}

fn show(comparison: &Comparison, format: Format) -> Result<(), String> {
    match format {
        Format::Json => page::print_json(comparison)?,
        Format::Csv => page::print(spreadsheet(comparison)?.trim_end()),
        Format::Table => {
            page::print_table(table(comparison));
            page::print(notes(comparison));
        }
    }
    Ok(())
}

fn list(rules: &[RuleStanding]) -> Table {
    let mut table =
        page::table(vec!["rule", "state", "of", "variant", "percent", "leads", "tests", "what is different"]);
    for rule in rules {
        for (nth, variant) in rule.variants.iter().enumerate() {
            let once = |text: String| if nth == 0 { text } else { String::new() };
            let percent = variant.percent.map(|percent| format!("{}", (percent * 100.0).round() / 100.0));
            let state = match rule.time() {
                time if time.is_empty() => rule.state.words().to_owned(),
                time => format!("{}, {time}", rule.state.words()),
            };
            table.add_row(vec![
                once(rule.rule.clone()),
                once(state),
                once(rule.whose()),
                variant.variant.clone(),
                percent.unwrap_or_default(),
                variant.leads.to_string(),
                variant.test_leads.to_string(),
                variant.about.clone(),
            ]);
        }
    }
    for column in table.column_iter_mut().skip(4).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn table(comparison: &Comparison) -> Table {
    let headings = Outcome::ALL.map(|of| of.heading().to_lowercase());
    let mut table =
        page::table(["variant", "leads"].map(str::to_owned).into_iter().chain(headings).collect::<Vec<_>>());
    for variant in &comparison.variants {
        let cells = variant.figures.iter().map(cell);
        table.add_row(
            [variant.variant.clone(), variant.leads.to_string()].into_iter().chain(cells).collect::<Vec<_>>(),
        );
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A figure, and below it how it differs from that of the control.
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
        "{of}; differences from the control with their intervals of 95 %, told from {LEAST_LEADS} leads of both on"
    );
    if comparison.cut {
        notes.push_str(
            "\nthere are more leads than are read (`experiments.compared_leads`): these are the first",
        );
    }
    notes
}
