//! `offerd ranking`: the conversion rates learned from clicks, and how offers are ranked.

use super::prelude::*;
use offerd_engine::ranking::report::{RankingReport, Row};
use offerd_partners::ranking::ConversionFrom;

/// `offerd ranking`.
#[derive(Debug, Args)]
pub struct RankingArguments {
    /// Only this company, by its name
    #[arg(long, value_name = "NAME")]
    company: Option<String>,
    /// Only this partner, by its key
    #[arg(long, value_name = "KEY")]
    partner: Option<String>,
    /// Show test leads instead of live ones
    #[arg(long)]
    test: bool,
    /// Also show what was learned per rating
    #[arg(long)]
    ratings: bool,
    /// Print JSON: `rankings`, `prior`, `learntAt` and `rows`, including those of ratings
    #[arg(long)]
    json: bool,
}

/// Runs `offerd ranking`.
pub async fn run(admin: &AdminClient, arguments: &RankingArguments) -> Result<(), CommandError> {
    let RankingArguments { company, partner, test, .. } = arguments;
    let query = [("company", company.clone()), ("partner", partner.clone()), ("leads", values::tests(*test))];
    let report: RankingReport = admin.ask(Method::GET, &values::query("/ranking", query)).await?;
    if arguments.json {
        return Ok(page::print_json(&report)?);
    }
    page::print(rankings(&report));
    let rows: Vec<&Row> = report.rows.iter().filter(|it| arguments.ratings || it.rating.is_none()).collect();
    if !rows.is_empty() {
        page::print_sheet(&sheet(&rows));
    }
    page::print(summary(&report, rows.is_empty()));
    Ok(())
}

fn rankings(report: &RankingReport) -> String {
    if report.rankings.is_empty() {
        return "no ranking is set: offers are sorted by the expected value from the partner files"
            .to_owned();
    }
    let line = |(name, ranking): (&String, &offerd_engine::ranking::report::Named)| {
        let weights = ranking.weights;
        let whose = match (report.default.as_ref() == Some(name), &ranking.companies[..]) {
            (true, []) => "of all companies".to_owned(),
            (true, own) => format!("of all companies that no other names, and of {}", own.join(", ")),
            (false, []) => "of no company".to_owned(),
            (false, own) => format!("of {}", own.join(", ")),
        };
        format!(
            "{name}: interest ^ {} × conversion ^ {} × payout ^ {} × consumer rating ^ {}, {whose}",
            weights.interest, weights.conversion, weights.payout, weights.consumer_rating
        )
    };
    report.rankings.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn sheet(rows: &[&Row]) -> Sheet {
    sheet!(rows, row => {
        let all = |part: &Option<String>| part.clone().unwrap_or_else(|| "all".to_owned());
        "company" => &row.company,
        "product" => row.product_type.to_string(),
        "partner" => &row.partner,
        "offer" => all(&row.offer),
        "rating" => all(&row.rating),
        "clicks": Figure => format!("{:.1}", row.clicks),
        "conversions": Figure => format!("{:.1}", row.conversions),
        "estimate": Figure => percent(row.estimate),
        "90 %": Figure => format!("{} to {}", percent(row.low), percent(row.high)),
        "from" => from(row.from),
    })
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// Main source of a row's conversion rate.
fn from(from: ConversionFrom) -> &'static str {
    match from {
        ConversionFrom::Sold => "sold",
        ConversionFrom::Click => "the click",
        ConversionFrom::Prior => "the prior",
        ConversionFrom::Product => "the product",
        ConversionFrom::Partner => "the partner",
        ConversionFrom::Offer => "the offer",
        ConversionFrom::Band => "the rating",
    }
}

fn summary(report: &RankingReport, is_empty: bool) -> String {
    let prior = report.prior;
    let mut lines = Vec::new();
    if is_empty && report.learnt_at.is_some() {
        lines.push("no data yet: no click is old enough (`ranking.matures_after`)".to_owned());
    }
    let [rate, least, most] = [prior.rate, prior.least, prior.most].map(percent);
    let weight = prior.strength;
    lines.push(format!("prior: {rate}, weight {weight} clicks; estimates stay between {least} and {most}"));
    if let Some(at) = report.learnt_at {
        lines.push(format!("summed up {}", page::minute(at.millis())));
    }
    if report.rows_cut > 0 {
        let more = page::counted(report.rows_cut, "more row");
        lines.push(format!("{more}; filter with `--company` and `--partner`"));
    }
    lines.join("\n")
}
