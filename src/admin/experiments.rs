//! `GET /experiments`: the experiment rules; `GET /experiments/{rule}`: a comparison of a rule's variants.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use metrics::counter;

use super::command::{csv_file, wants_csv};
use super::prelude::*;
use super::reports::{failed, reports, run_query};
use offerd_base::telemetry::metrics::EXPERIMENT_COMPARISONS;
use offerd_engine::experiments::{ExperimentRule, RuleState};
use offerd_engine::rate_table::treatment::Treatment;
use offerd_engine::records::projection::Steps;
use offerd_insight::hindsight::comparison::{Comparison, RunningComparison};
use offerd_insight::reports::report::Report;
use offerd_insight::sheet;
use offerd_insight::sheet::{Sheet, figures};
use offerd_model::record;

/// How long before its rule's start a lead may seem to arrive, milliseconds: clocks are set back.
const SLACK_MS: i64 = 60 * 60 * 1000;

/// First day of the counts, before any lead.
const FIRST_DAY: &str = "2000-01-01";

record! { plain
    /// State of a rule.
    RuleStatus {
        /// Its name.
        rule: String,
        /// Whether it draws leads.
        state: RuleState,
        /// When it starts drawing.
        starts?: DateTime<Utc>,
        /// When it stops.
        ends?: DateTime<Utc>,
        /// Names of the companies whose leads it draws; empty for all.
        companies: Vec<String>,
        /// Client tags that the leads must have.
        tags: BTreeMap<String, Vec<String>>,
        /// Its variants, the control first.
        variants: Vec<VariantStanding>,
    }

    /// State of a variant.
    VariantStanding {
        /// Its name.
        variant: String,
        /// Share of the leads, percent; `None` if the rule was removed.
        percent?: f64,
        /// Its changes, in words.
        about: String,
        /// Live leads so far.
        leads: i64,
        /// Test leads so far.
        test_leads: i64,
    }
}

impl RuleStatus {
    /// A rule without a time limit, for leads of all companies.
    fn new(rule: &str, state: RuleState, variants: Vec<VariantStanding>) -> Self {
        let (companies, tags) = (Vec::new(), BTreeMap::new());
        Self { rule: rule.to_owned(), state, starts: None, ends: None, companies, tags, variants }
    }

    /// Its time range; open at an end that its file does not set.
    pub fn time(&self) -> String {
        let minute = |at: DateTime<Utc>| figures::minute(at.timestamp_millis());
        match (self.starts.map(minute), self.ends.map(minute)) {
            (Some(starts), Some(ends)) => format!("{starts} to {ends}"),
            (Some(starts), None) => format!("from {starts}"),
            (None, Some(ends)) => format!("until {ends}"),
            (None, None) => String::new(),
        }
    }

    /// The companies and tags whose leads it draws.
    pub fn whose(&self) -> String {
        let companies =
            if self.companies.is_empty() { "all companies".to_owned() } else { self.companies.join(", ") };
        let tags = self.tags.iter().map(|(tag, values)| format!("{tag} {}", values.join(" or ")));
        [companies].into_iter().chain(tags).collect::<Vec<_>>().join(", ")
    }
}

pub(super) async fn list(context: Context) -> Result<Reply> {
    Reply::json(&statuses(&context.app).await?)
}

/// Compares the variants of a rule, as JSON, or as CSV by `Accept` or `format=csv`.
pub(super) async fn compare(context: Context) -> Result<Reply> {
    let pairs = &context.request.query;
    let query = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| &value[..]);
    if let Some((name, _)) = pairs.iter().find(|(name, _)| name != "leads" && name != "format") {
        return Err(Failure::bad_attribute(name, "is no parameter; `leads` and `format` are".to_owned()));
    }
    let test = is_test(query("leads"))?;
    let is_csv = wants_csv(&context, query("format"))?;
    let comparison = evaluate(&context.app, context.params.get("rule").unwrap_or_default(), test).await?;
    if is_csv { as_csv(&comparison) } else { Reply::json(&comparison) }
}

pub(super) fn is_test(leads: Option<&str>) -> Result<bool> {
    match leads {
        None | Some("" | "live") => Ok(false),
        Some("test") => Ok(true),
        Some(other) => Err(Failure::bad_attribute("leads", format!("must be live or test, got `{other}`"))),
    }
}

pub(super) async fn statuses(app: &Arc<AdminState>) -> Result<Vec<RuleStatus>> {
    let leads = [count_leads(app, "live").await?, count_leads(app, "test").await?];
    let configuration = app.engine.configuration();
    let declared = configuration.experiments.all().iter().map(|rule| status(rule, &leads));
    let labels = leads.iter().flat_map(BTreeMap::keys).filter_map(|label| label.split_once('/'));
    let mut removed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (rule, variant) in labels.filter(|(rule, _)| configuration.experiments.named(rule).is_none()) {
        removed.entry(rule).or_default().insert(variant);
    }
    let removed = removed.into_iter().map(|(rule, names)| {
        let variants = names.into_iter().map(|name| variant(rule, name, None, String::new(), &leads));
        RuleStatus::new(rule, RuleState::Removed, variants.collect())
    });
    Ok(declared.chain(removed).collect())
}

type VariantCounts = [BTreeMap<String, i64>; 2];

fn status(rule: &ExperimentRule, leads: &VariantCounts) -> RuleStatus {
    let about = |name: &str| {
        let changes = rule.changes(name).unwrap_or_default().to_vec();
        Treatment { rule: rule.name.clone(), variant: name.to_owned(), changes }.about()
    };
    let variants = rule.shares();
    let variants = variants.map(|(name, share)| variant(&rule.name, name, Some(share), about(name), leads));
    RuleStatus {
        starts: rule.starts,
        ends: rule.ends,
        companies: rule.companies.values().cloned().collect(),
        tags: rule.tags.clone(),
        ..RuleStatus::new(&rule.name, rule.state(Utc::now()), variants.collect())
    }
}

fn variant(rule: &str, name: &str, part: Option<f64>, about: String, of: &VariantCounts) -> VariantStanding {
    let label = format!("{rule}/{name}");
    let [leads, test_leads] = of.each_ref().map(|leads| leads.get(&label).copied().unwrap_or(0));
    VariantStanding { variant: name.to_owned(), percent: part, about, leads, test_leads }
}

async fn count_leads(app: &Arc<AdminState>, leads: &str) -> Result<BTreeMap<String, i64>> {
    let reports = reports(app)?;
    let pairs = [("by", "experiment"), ("from", FIRST_DAY), ("leads", leads)];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let query = reports
        .query(&pairs)
        .map_err(|faults| our_fault("leads could not be counted")(format!("{faults:?}")))?;
    let report: Report = run_query(reports, query).await?.map_err(failed)?;
    let all = report.rows.into_iter().filter_map(|row| Some((row.by.into_iter().next()?, row.figures.leads)));
    Ok(all.collect())
}

/// Compares the variants of a rule, one comparison at a time. 404 for a rule that never existed.
pub(super) async fn evaluate(app: &Arc<AdminState>, rule: &str, test: bool) -> Result<Comparison> {
    let Ok(_permit) = Arc::clone(&app.replays).try_acquire_owned() else {
        counter!(EXPERIMENT_COMPARISONS, "result" => "busy").increment(1);
        return Err(unavailable("Another comparison or replay is running; try again"));
    };
    let known = statuses(app).await?.into_iter().find(|status| status.rule == rule);
    let Some(known) = known else { return Err(Failure::unknown("There is no experiment with this name")) };
    let since = known.starts.map_or(0, |starts| starts.timestamp_millis() - SLACK_MS);
    let most = app.settings().experiments.compared_leads;
    let (records, mut steps) = (app.engine.records.clone(), Steps::new(app.yields_to_leads));
    let variants = known.variants.iter().map(|variant| variant.variant.as_str());
    let mut reading = RunningComparison::begin(&records, rule, variants, (since, test), most);
    loop {
        let step = move || {
            let more = reading.step();
            (reading, more)
        };
        let (read, more) =
            steps.take(step).await.map_err(our_fault("an experiment could not be compared"))?;
        if !more {
            let comparison = read.comparison();
            let result = if comparison.cut { "cut" } else { "whole" };
            counter!(EXPERIMENT_COMPARISONS, "result" => result).increment(1);
            return Ok(comparison);
        }
        reading = read;
    }
}

pub(super) fn as_csv(comparison: &Comparison) -> Result<Reply> {
    csv_file(&as_sheet(comparison), &comparison.rule)
}

/// A row per variant and figure.
pub fn as_sheet(comparison: &Comparison) -> Sheet {
    let all = comparison.variants.iter();
    let figures = all.flat_map(|variant| variant.figures.iter().map(move |figure| (variant, figure)));
    sheet!(figures, (variant, figure) => {
        let difference = figure.difference.as_ref();
        "variant" => &variant.variant,
        "until": Time => variant.until,
        "leads": Count => variant.leads,
        "figure" => figure.of.name(),
        "total": Amount => figure.total,
        "value": Amount => figure.value,
        "difference": Amount => difference.map(|difference| difference.value),
        "low": Amount => difference.map(|difference| difference.low),
        "high": Amount => difference.map(|difference| difference.high),
        "differs" => difference.map(|difference| difference.differs.to_string()),
        "leadsMissing": Count => difference.and_then(|difference| difference.leads_missing),
    })
}
