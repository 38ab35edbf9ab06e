//! `GET /console/funnel`: leads and payouts by days of the first time zone, from [`offerd_insight::reports`].

use std::ops::Range as Places;

use chrono::{Days, Months};

use super::super::reports::{failed, reports};
use super::chart::{Chart, ChartLine, HALF, days};
use super::prelude::*;
use super::reports::address;
use offerd_insight::reports::dimension::DimensionSlot;
use offerd_insight::reports::figures::{Figure, Figures};
use offerd_insight::reports::query::{DayRange, OrderBy, ReportQuery, SortOrder};
use offerd_insight::reports::report::{Report, Row as Counted};
use offerd_insight::reports::{Dimension, Reports};

/// Maximum companies with their own row; the table says when there are more.
const COMPANIES: usize = 200;

/// Selectable ranges: name in the address, label, number of days or months, and whether these are months.
const TIMES: [(&str, &str, u32, bool); 3] =
    [("week", "7 days", 7, false), ("month", "30 days", 30, false), ("year", "12 months", 12, true)];

type FunnelFigure = (&'static str, fn(&Figures) -> f64);

/// All figures; the last is in dollars.
const FIGURES: [FunnelFigure; 8] = [
    ("Leads", |of| of.leads as f64),
    ("Rate tables", |of| of.rate_tables as f64),
    ("With offers", |of| of.with_offers as f64),
    ("Offers", |of| of.shown as f64),
    ("Clicks", |of| of.clicks as f64),
    ("Applied", |of| of.applied.unwrap_or_default() as f64),
    ("Funded", |of| of.funded.unwrap_or_default() as f64),
    ("Payouts", |of| of.payouts.unwrap_or_default()),
];
const PAYOUTS: usize = FIGURES.len() - 1;

/// The charts: id, title, source of the counts, and the range of its lines in the figures.
const CHARTS: [(&str, &str, &str, Places<usize>); 4] = [
    ("leads", "Leads and rate tables", "lead_events", 0..3),
    ("offered", "Offers shown", "answers of complete rate_tables", 3..4),
    ("steps", "Clicks, applications and fundings", "lead_events", 4..PAYOUTS),
    ("payouts", "Payouts", "lead_payouts", PAYOUTS..FIGURES.len()),
];

const PAGE: ConsolePage = ConsolePage::new(Section::Funnel, "funnel.html");

/// A table row: its name, a link that filters by it, and its figures.
type FunnelRow = (String, String, [String; FIGURES.len()]);

/// A table: id, caption, row heading, rows, and a note.
type FunnelTable = (&'static str, &'static str, &'static str, Vec<FunnelRow>, Option<String>);

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    let counted = reports(&request.app)?;
    let query = asked_for(request, &counted)?;
    let (wish, test) = (query.clone(), query.test);
    let read = request.reading(move |_| {
        let by = |by, test| counted.report_or_empty(&ReportQuery { by, test, ..wish.clone() });
        let (by_time, by_product) = (by(wish.by.clone(), test)?, by(vec![product()], test)?);
        let (by_company, others) = (by(vec![Dimension::Company], test)?, by(Vec::new(), !test)?.total.leads);
        Ok((counted.companies(), by_time, by_product, by_company, others))
    });
    let (companies, by_time, by_product, by_company, others) = read.await?.map_err(failed)?;
    let mut companies: Vec<_> = companies.into_iter().map(|(uuid, name)| (uuid.to_string(), name)).collect();
    companies.sort_by(|one, other| one.1.cmp(&other.1));
    let sum = by_time.total;
    let payouts = sum.payouts.unwrap_or_default();
    let is_elsewhere = by_time.rows.is_empty() && others > 0;
    request.view(PAGE, fields! {
        times => choices(TIMES.map(|(value, words, ..)| (value, words)), Some(time(request).0)),
        companies => choices(companies.iter().cloned(), query.only(|by| *by == Dimension::Company)),
        products => products(query.only(|by| *by == product()).and_then(ProductType::from_wire)),
        test, first => query.range.first.to_string(), last => query.range.last.to_string(),
        zone => query.zone.name(), stages => stages(&sum), offers => sum.shown,
        offers_per_table => ratio(sum.shown as f64, sum.with_offers),
        suppressed => sum.suppressed, payouts,
        payout_per_lead => ratio(payouts, sum.leads),
        charts => charts(&query, &by_time)?,
        columns => FIGURES.map(|(name, _)| name),
        tables => tables(request, [&by_product, &by_company], &companies),
        behind => by_time.uncounted_from,
        elsewhere => is_elsewhere.then(|| (others, with(request, "leads", if test { "live" } else { "test" }))),
    })
}

/// The selected range; by default the second.
fn time(request: &ConsoleRequest) -> (&'static str, &'static str, u32, bool) {
    let wanted = request.query_value("time");
    TIMES.into_iter().find(|(name, ..)| wanted == Some(name)).unwrap_or(TIMES[1])
}

fn product() -> Dimension {
    Dimension::Stored(DimensionSlot::PRODUCT, "product".to_owned())
}

fn asked_for(request: &ConsoleRequest, counted: &Reports) -> Result<ReportQuery> {
    let zone = counted.rules.usual_zone();
    let wrong = |_| Failure::bad_request("`company` is not a choice on this page");
    let mut filters = Vec::new();
    if let Some(company) = request.query_value("company") {
        let company: Uuid = company.parse().map_err(wrong)?;
        filters.push((Dimension::Company, company.to_string()));
    }
    if let Some(wanted) = product_named(request.query_value("product"))? {
        filters.push((product(), wanted.to_string()));
    }
    let last = Utc::now().with_timezone(&zone).date_naive();
    let (_, _, count, is_months) = time(request);
    let (by, first) = match is_months {
        true => (Dimension::Month, Dimension::Month.period(last) - Months::new(count - 1)),
        false => (Dimension::Day, last - Days::new((count - 1).into())),
    };
    let test = request.query_value("leads") == Some("test");
    let order = SortOrder { by: OrderBy::Figure(Figure::Leads), descending: true };
    let range = DayRange { first, last };
    Ok(ReportQuery {
        range,
        by: vec![by],
        filters,
        zone,
        test,
        compare: false,
        order,
        limit: COMPANIES,
        in_force: Vec::new(),
    })
}

fn tables(
    request: &ConsoleRequest,
    reports: [&Report; 2],
    companies: &[(String, String)],
) -> [FunnelTable; 2] {
    let [by_product, by_company] = reports;
    let of_product = |product: &ProductType| {
        let counted = by_product.rows.iter().find(|counted| counted.by[0] == product.as_str())?;
        Some((words(*product), with(request, "product", product.as_str()), written(&counted.figures)))
    };
    let of_company = |counted: &Counted| {
        let name = &counted.by[0];
        // A company without a name is named by its UUID.
        let uuid = companies.iter().find(|(_, known)| known == name).map_or(name, |(uuid, _)| uuid);
        (name.clone(), with(request, "company", uuid), written(&counted.figures))
    };
    let note = "A lead that asks for several products counts in each of their rows, and once above. A rate \
        table counts in the row of a product when it has a partner for that product.";
    let cut = format!("Only the {COMPANIES} companies with the most leads; choose one above to see another.");
    let products = ProductType::ALL.iter().filter_map(of_product).collect();
    let companies = by_company.rows.iter().map(of_company).collect();
    let more = (by_company.rows_left_out > 0).then_some(cut);
    [
        ("by-product", "By product type", "Product", products, Some(note.to_owned())),
        ("by-company", "By company", "Company", companies, more),
    ]
}

fn stages(sum: &Figures) -> Vec<Value> {
    let of_leads = Some((sum.leads, ("leads", "lead")));
    let of_clicks = Some((sum.clicks, ("clicks", "click")));
    let counts = [
        ("Leads", "leadCreated in lead_events", Some(sum.leads), None),
        ("Rate tables", "appSubmitted in lead_events", Some(sum.rate_tables), of_leads),
        ("With offers", "answers of complete rate_tables", Some(sum.with_offers), of_leads),
        ("Clicks", "offerClicked in lead_events", Some(sum.clicks), of_leads),
        ("Applied", "applied in lead_events, without reversed ones", sum.applied, of_clicks),
        ("Funded", "funded in lead_events, without reversed ones", sum.funded, of_clicks),
    ];
    let most = counts.iter().filter_map(|(_, _, count, _)| *count).max().unwrap_or_default();
    let stage = |(name, source, count, of): (_, _, Option<i64>, Option<(i64, _)>)| {
        let count = count.map(|count| count.max(0));
        let length = count.and_then(|count| ratio(count as f64 * 1000.0, most)).unwrap_or_default();
        fields! {
            name, source,
            // The count; `None` if no partner ever reported one.
            count,
            // In thousandths.
            length => (length * 10.0).round() / 10.0,
            // The share of leads or clicks, or the ratio, in words.
            share => count.zip(of).and_then(|(count, (whole, words))| share(count, whole, words)),
        }
    };
    counts.into_iter().map(stage).collect()
}

/// A share up to 100 %; above, a ratio per item, since a share cannot exceed the whole.
fn share(count: i64, whole: i64, (all, each): (&str, &str)) -> Option<String> {
    let ratio = ratio(count as f64, whole)?;
    Some(match ratio {
        0.0..=1.0 => format!("{} of {all}", figures::percent(ratio)),
        _ => format!("{ratio:.2} a {each}"),
    })
}

fn ratio(of: f64, by: i64) -> Option<f64> {
    (by > 0).then(|| of / by as f64)
}

fn charts(query: &ReportQuery, report: &Report) -> Result<Vec<(String, Value)>> {
    let by = &query.by[0];
    let (per, label) = if *by == Dimension::Day { ("day", "%b %-d") } else { ("month", "%b %Y") };
    let all = query.range.first.iter_days().take_while(|day| *day <= query.range.last);
    let begins: Vec<_> = all.filter(|day| by.period(*day) == *day).collect();
    let periods: Vec<String> = begins.iter().map(|day| day.format(label).to_string()).collect();
    let row = |day| report.rows.iter().find(|row| row.by[0] == by.value(day));
    let figures: Vec<_> = begins.iter().map(|at| row(*at).map(|of| of.figures).unwrap_or_default()).collect();
    let chart = |(id, title, source, lines): (&str, &str, &str, Places<usize>)| {
        let heading = format!("{title} by {per}");
        let chart = Chart {
            id: id.into(),
            title: heading.clone(),
            description: format!("{title}, each {per} ({}).", query.zone),
            source: format!("{source}, counted into reports"),
            ..Chart::default()
        };
        let line = |(name, of): &FunnelFigure| ChartLine::of_days(*name, figures.iter().map(of));
        let drawn: Vec<ChartLine> = FIGURES[lines.clone()].iter().map(line).collect();
        days(chart, HALF, &periods, &drawn, writing(lines.start)).map(|drawn| (heading, drawn))
    };
    CHARTS.into_iter().map(chart).collect()
}

fn writing(place: usize) -> fn(f64) -> String {
    if place == PAYOUTS { figures::dollars } else { figures::count }
}

fn words(product: ProductType) -> String {
    product.as_str().replace('_', " ")
}

fn written(figures: &Figures) -> [String; FIGURES.len()] {
    std::array::from_fn(|place| writing(place)(FIGURES[place].1(figures)))
}

fn with(request: &ConsoleRequest, name: &str, value: &str) -> String {
    let mut pairs = request.query.clone();
    pairs.retain(|(known, _)| known != name);
    pairs.push((name.to_owned(), value.to_owned()));
    address("/console/funnel", &pairs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn each(sum: &Figures, field: &str) -> Vec<serde_json::Value> {
        let stages = stages(sum).into_iter().map(|stage| serde_json::to_value(stage).unwrap());
        stages.map(|stage| stage[field].clone()).collect()
    }

    #[test]
    fn a_share_is_of_leads_or_clicks_and_nothing_is_more_than_all_of_them() {
        let sum = Figures {
            leads: 200,
            rate_tables: 100,
            with_offers: 50,
            clicks: 390,
            applied: Some(39),
            funded: Some(0),
            ..Figures::default()
        };
        let wanted =
            ["50.0 % of leads", "25.0 % of leads", "1.95 a lead", "10.0 % of clicks", "0 % of clicks"];
        let shares = each(&sum, "share");
        assert_eq!(shares[0], json!(null));
        assert_eq!(shares[1..], wanted.map(|share| json!(share)));
        let lengths = each(&sum, "length");
        assert_eq!((&lengths[3], &lengths[0]), (&json!(1000.0), &json!(512.8)));
        assert!(each(&Figures::default(), "share").iter().all(serde_json::Value::is_null));
    }

    #[test]
    fn what_no_partner_reports_is_not_taken_for_nothing() {
        let sum = Figures { leads: 2, clicks: 1, applied: Some(0), ..Figures::default() };
        assert_eq!(each(&sum, "count")[4..], [json!(0), json!(null)]);
    }
}
