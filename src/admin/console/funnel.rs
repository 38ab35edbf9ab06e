//! `GET /console/funnel`: how many leads get how far, and what is paid for them.
//!
//! Every figure is a sum of stored tallies ([`crate::hindsight::funnel`]), which are counted from the feeds.

use std::sync::Arc;

use chrono::{NaiveDate, Utc};
use minijinja::value::Value;
use serde::Serialize;
use uuid::Uuid;

use super::super::App;
use super::chart::{Chart, HALF};
use super::days::{Plot, days};
use super::format;
use super::section::Section;
use super::view::{Page, View};
use super::visit::Visit;
use crate::hindsight::funnel;
use crate::hindsight::funnel::{Grain, Scope, Span, Tally};
use crate::model::ProductType;
use crate::reports::Reports;
use crate::reports::figures::Figure;
use crate::store::tokens::Tokens;
use crate::web::Failure;

/// Companies that have a row of their own at most; the table says when there are more.
const COMPANIES: usize = 200;

/// The times that can be looked at: name in the address, words, and length.
const TIMES: [(&str, &str, Length); 3] = [
    ("week", "7 days", Length::Days(7)),
    ("month", "30 days", Length::Days(30)),
    ("year", "12 months", Length::Months(12)),
];

/// How long a time is.
#[derive(Debug, Clone, Copy)]
enum Length {
    Days(u16),
    Months(u16),
}

/// What is looked at.
#[derive(Debug, Clone, Copy)]
struct Wish {
    scope: Scope,
    span: Span,
}

/// What stands on the page.
#[derive(Debug, Serialize)]
struct FunnelPage {
    times: Vec<Choice>,
    companies: Vec<Choice>,
    products: Vec<Choice>,
    test: bool,
    first: String,
    last: String,
    stages: Vec<Stage>,
    offers: u64,
    offers_per_table: Option<f64>,
    suppressed: u64,
    payouts: f64,
    payout_per_lead: Option<f64>,
    /// Each with its heading.
    charts: Vec<(String, Value)>,
    tables: [Table; 2],
    /// The arrival of the first record that is not counted yet, Unix milliseconds.
    behind: Option<i64>,
    /// Where nothing is to be seen, and the leads of the other kind are.
    elsewhere: Option<Elsewhere>,
}

/// Leads of the kind that is not looked at.
#[derive(Debug, Serialize)]
struct Elsewhere {
    leads: u64,
    /// The page that shows them.
    link: String,
}

/// Something to choose.
#[derive(Debug, Serialize)]
struct Choice {
    value: String,
    name: String,
    chosen: bool,
}

/// A stage, as a bar.
#[derive(Debug, Serialize)]
struct Stage {
    name: &'static str,
    source: &'static str,
    /// How many; nothing where no partner ever reported any.
    count: Option<u64>,
    /// Length of its bar out of 1000.
    length: f64,
    /// How many of the leads or clicks, or how many there are to each, in words.
    share: Option<String>,
}

/// Figures of several, beside each other.
#[derive(Debug, Serialize)]
struct Table {
    id: &'static str,
    caption: &'static str,
    /// What each row is.
    each: &'static str,
    rows: Vec<Row>,
    note: Option<String>,
}

/// A row of figures.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    /// What leads to its figures alone.
    link: String,
    tally: Tally,
    payouts: f64,
}

/// What is read of the store.
struct Read {
    series: Vec<(NaiveDate, Tally)>,
    companies: Vec<(Uuid, String)>,
    by_product: Vec<(ProductType, Tally)>,
    by_company: Vec<(Uuid, String, Tally)>,
    behind: Option<i64>,
    /// Leads of the other kind, where there are none of this.
    elsewhere: u64,
    /// What partners report at all.
    reported: Vec<Figure>,
}

impl Page for FunnelPage {
    const SECTION: Section = Section::Funnel;
    const TEMPLATE: &'static str = "funnel.html";
}

/// Shows the page.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let wish = Wish::of(&visit)?;
    let read = visit.reading(move |app| Read::of(app, wish)).await?;
    let sum = read.series.iter().fold(Tally::default(), |sum, (_, tally)| sum.plus(*tally));
    let mut periods = read.series.iter().map(|(period, _)| *period);
    let (first, last) = (periods.clone().next(), periods.next_back());
    visit.view(&FunnelPage {
        times: times(&visit),
        companies: companies(&read.companies, wish.scope.company),
        products: products(wish.scope.product_type),
        test: wish.scope.test,
        first: first.map(|day| day.to_string()).unwrap_or_default(),
        last: last.max(Some(wish.span.last)).map(|day| day.to_string()).unwrap_or_default(),
        stages: stages(&sum, |figure| read.reported.contains(&figure)),
        offers: sum.offers,
        offers_per_table: ratio(sum.offers as f64, sum.with_offers),
        suppressed: sum.suppressed,
        payouts: sum.payout_dollars(),
        payout_per_lead: ratio(sum.payout_dollars(), sum.leads),
        charts: charts(&read.series, wish.span.grain)?,
        tables: [of_products(&visit, &read), of_companies(&visit, &read)],
        behind: read.behind,
        elsewhere: (read.elsewhere > 0).then(|| Elsewhere {
            leads: read.elsewhere,
            link: with(&visit, "leads", if wish.scope.test { "live" } else { "test" }),
        }),
    })
}

impl Wish {
    fn of(visit: &Visit) -> Result<Self, Failure> {
        let wrong = |name: &str| Failure::bad_request(format!("`{name}` is not what this page offers"));
        let company = visit.query_value("company").map(str::parse::<Uuid>).transpose();
        let product_type = match visit.query_value("product") {
            Some(name) => Some(ProductType::from_wire(name).ok_or_else(|| wrong("product"))?),
            None => None,
        };
        let test = visit.query_value("leads") == Some("test");
        let scope = Scope { test, company: company.map_err(|_| wrong("company"))?, product_type };
        let today = Utc::now().date_naive();
        let span = match time(visit).2 {
            Length::Days(days) => Span::days(days, today),
            Length::Months(months) => Span::months(months, today),
        };
        Ok(Self { scope, span })
    }
}

/// The time that is looked at: the one asked for, or else the second.
fn time(visit: &Visit) -> (&'static str, &'static str, Length) {
    let wanted = visit.query_value("time");
    TIMES.into_iter().find(|(name, ..)| wanted == Some(name)).unwrap_or(TIMES[1])
}

impl Read {
    fn of(app: &App, Wish { scope, span }: Wish) -> Self {
        let store = &app.engine.records.store;
        let mut companies: Vec<(Uuid, String)> = Tokens::of(store.clone())
            .companies()
            .into_iter()
            .map(|company| (company.uuid, company.name))
            .collect();
        companies.sort_by(|one, other| one.1.cmp(&other.1));
        let of = |scope| funnel::total(store, scope, span);
        let by_product = ProductType::ALL
            .iter()
            .map(|product_type| (*product_type, of(Scope { product_type: Some(*product_type), ..scope })));
        let shown = companies.iter().filter(|(uuid, _)| scope.company.is_none_or(|wanted| wanted == *uuid));
        let mut by_company: Vec<(Uuid, String, Tally)> = shown
            .take(COMPANIES)
            .map(|(uuid, name)| (*uuid, name.clone(), of(Scope { company: Some(*uuid), ..scope })))
            .filter(|(.., tally)| !tally.is_empty())
            .collect();
        by_company.sort_by_key(|(.., tally)| std::cmp::Reverse((tally.leads, tally.payout_thousandths)));
        let elsewhere = Scope { test: !scope.test, ..scope };
        Self {
            elsewhere: if of(scope).is_empty() { of(elsewhere).leads } else { 0 },
            series: funnel::series(store, scope, span),
            by_product: by_product.filter(|(_, tally)| !tally.is_empty()).collect(),
            by_company,
            companies,
            behind: funnel::behind(store).map(|at| at.millis()),
            reported: app.reports.as_ref().map_or_else(Vec::new, Reports::reported),
        }
    }
}

fn of_products(visit: &Visit, read: &Read) -> Table {
    let note = "A lead that asks for several products counts in each of their rows, and once above. A rate table counts in the \
                row of a product when a partner for it had a place at the table.";
    let row = |(product, tally): &(ProductType, Tally)| Row::of_product(visit, *product, *tally);
    Table {
        id: "by-product",
        caption: "By product type",
        each: "Product",
        rows: read.by_product.iter().map(row).collect(),
        note: Some(note.to_owned()),
    }
}

fn of_companies(visit: &Visit, read: &Read) -> Table {
    let note = format!(
        "Only the first {COMPANIES} companies by name are looked at; choose one above to see another."
    );
    let row = |(uuid, name, tally): &(Uuid, String, Tally)| Row::of_company(visit, *uuid, name, *tally);
    Table {
        id: "by-company",
        caption: "By company",
        each: "Company",
        rows: read.by_company.iter().map(row).collect(),
        note: (read.companies.len() > COMPANIES).then_some(note),
    }
}

/// The stages, where `is_reported` says whether any partner ever reports one.
fn stages(sum: &Tally, is_reported: impl Fn(Figure) -> bool) -> Vec<Stage> {
    const LEADS: (&str, &str) = ("leads", "lead");
    const CLICKS: (&str, &str) = ("clicks", "click");
    let (of_leads, of_clicks) = (Some((sum.leads, LEADS)), Some((sum.clicks, CLICKS)));
    let counts = [
        ("Leads", "leadCreated in lead_events", sum.leads, None, None),
        ("Rate tables", "appSubmitted in lead_events", sum.rate_tables, of_leads, None),
        ("With offers", "answers of complete rate_tables", sum.with_offers, of_leads, None),
        ("Clicks", "offerClicked in lead_events", sum.clicks, of_leads, None),
        (
            "Applied",
            "applied in lead_events, less those taken back",
            sum.applied.max(0).cast_unsigned(),
            of_clicks,
            Some(Figure::Applied),
        ),
        (
            "Funded",
            "funded in lead_events, less those taken back",
            sum.funded.max(0).cast_unsigned(),
            of_clicks,
            Some(Figure::Funded),
        ),
    ];
    let most = counts.iter().map(|(_, _, count, ..)| *count).max().unwrap_or_default();
    let stage = |(name, source, count, of, reported): (_, _, u64, Option<(u64, _)>, Option<Figure>)| {
        let is_told = count > 0 || reported.is_none_or(&is_reported);
        let length = ratio(count as f64 * 1000.0, most).unwrap_or_default();
        Stage {
            name,
            source,
            count: is_told.then_some(count),
            length: (length * 10.0).round() / 10.0,
            share: of.filter(|_| is_told).and_then(|(whole, words)| share(count, whole, words)),
        }
    };
    counts.into_iter().map(stage).collect()
}

/// A share of what there are as many of or more; else how many there are to each, since nothing has more than all of it.
fn share(count: u64, whole: u64, (all, each): (&str, &str)) -> Option<String> {
    let ratio = ratio(count as f64, whole)?;
    Some(match ratio {
        0.0..=1.0 => format!("{} of {all}", format::percent(&Value::from(ratio))),
        _ => format!("{ratio:.2} a {each}"),
    })
}

/// One by the other; `None` by nothing.
fn ratio(of: f64, by: u64) -> Option<f64> {
    (by > 0).then(|| of / by as f64)
}

/// Each with its heading.
fn charts(series: &[(NaiveDate, Tally)], grain: Grain) -> Result<Vec<(String, Value)>, Failure> {
    const EVENTS: &str = "lead_events, folded into funnel";
    let per = if grain == Grain::Day { "day" } else { "month" };
    let periods: Vec<String> = series.iter().map(|(day, _)| written(*day, grain)).collect();
    let line = |name: &'static str, of: fn(&Tally) -> f64| Plot {
        name: name.into(),
        values: series.iter().map(|(_, tally)| of(tally)).collect(),
    };
    let chart = |id: &str, title: &str, source: &str, lines: &[Plot], write: fn(&Value) -> String| {
        let heading = format!("{title} by {per}");
        let chart = Chart {
            id: id.into(),
            title: heading.clone(),
            description: format!("{title}, each {per} (UTC)."),
            source: source.to_owned(),
            ..Chart::default()
        };
        days(chart, HALF, &periods, lines, write).map(|drawn| (heading, drawn))
    };
    let tables = [
        line("Leads", |tally| tally.leads as f64),
        line("Rate tables", |tally| tally.rate_tables as f64),
        line("With offers", |tally| tally.with_offers as f64),
    ];
    let offers = [line("Offers", |tally| tally.offers as f64)];
    let steps = [
        line("Clicks", |tally| tally.clicks as f64),
        line("Applied", |tally| tally.applied as f64),
        line("Funded", |tally| tally.funded as f64),
    ];
    let payouts = [line("Payouts", Tally::payout_dollars)];
    Ok(vec![
        chart("leads", "Leads and rate tables", EVENTS, &tables, format::count)?,
        chart(
            "offered",
            "Offers shown",
            "answers of complete rate_tables, folded into funnel",
            &offers,
            format::count,
        )?,
        chart("steps", "Clicks, applications and fundings", EVENTS, &steps, format::count)?,
        chart("payouts", "Payouts", "lead_payouts, folded into funnel", &payouts, format::dollars)?,
    ])
}

fn written(day: NaiveDate, grain: Grain) -> String {
    day.format(if grain == Grain::Day { "%b %-d" } else { "%b %Y" }).to_string()
}

fn times(visit: &Visit) -> Vec<Choice> {
    let chosen = time(visit).0;
    let choice = |(value, name, _): (&str, &str, Length)| Choice {
        value: value.to_owned(),
        name: name.to_owned(),
        chosen: value == chosen,
    };
    TIMES.into_iter().map(choice).collect()
}

fn companies(companies: &[(Uuid, String)], wanted: Option<Uuid>) -> Vec<Choice> {
    let choice = |(uuid, name): &(Uuid, String)| Choice {
        value: uuid.to_string(),
        name: name.clone(),
        chosen: Some(*uuid) == wanted,
    };
    companies.iter().map(choice).collect()
}

fn products(wanted: Option<ProductType>) -> Vec<Choice> {
    let choice = |product: &ProductType| Choice {
        value: product.to_string(),
        name: product.as_str().replace('_', " "),
        chosen: Some(*product) == wanted,
    };
    ProductType::ALL.iter().map(choice).collect()
}

impl Row {
    fn of_product(visit: &Visit, product: ProductType, tally: Tally) -> Self {
        let name = product.as_str().replace('_', " ");
        Self { name, link: with(visit, "product", product.as_str()), payouts: tally.payout_dollars(), tally }
    }

    fn of_company(visit: &Visit, uuid: Uuid, name: &str, tally: Tally) -> Self {
        let link = with(visit, "company", &uuid.to_string());
        Self { name: name.to_owned(), link, payouts: tally.payout_dollars(), tally }
    }
}

/// The address of this page with one parameter changed.
fn with(visit: &Visit, name: &str, value: &str) -> String {
    let others = visit.query.iter().filter(|(known, value)| known != name && !value.is_empty());
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(others).append_pair(name, value);
    format!("/console/funnel?{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_leads_or_clicks_and_nothing_is_more_than_all_of_them() {
        let sum = Tally {
            leads: 200,
            rate_tables: 100,
            with_offers: 50,
            clicks: 390,
            applied: 39,
            ..Tally::default()
        };
        let stages = stages(&sum, |_| true);
        let shares: Vec<Option<&str>> = stages.iter().map(|stage| stage.share.as_deref()).collect();
        let wanted =
            ["50.0 % of leads", "25.0 % of leads", "1.95 a lead", "10.0 % of clicks", "0 % of clicks"];
        assert_eq!(shares[0], None);
        assert_eq!(shares[1..], wanted.map(Some));
        assert_eq!((stages[3].length, stages[0].length), (1000.0, 512.8));
        assert!(super::stages(&Tally::default(), |_| true).iter().all(|stage| stage.share.is_none()));
    }

    #[test]
    fn what_no_partner_reports_is_not_taken_for_nothing() {
        let sum = Tally { leads: 2, clicks: 1, ..Tally::default() };
        let stages = stages(&sum, |figure| figure == Figure::Applied);
        let told: Vec<Option<u64>> = stages[4..].iter().map(|stage| stage.count).collect();
        assert_eq!(told, [Some(0), None]);
    }
}
