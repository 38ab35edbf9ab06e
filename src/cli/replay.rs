//! `offerd replay`: runs stored leads against changed partner files.

use super::prelude::*;
use offerd_admin::replay::{ReplayLine, ReplayOrder};
use offerd_insight::hindsight::replay::{Named, OfferCount, ReplayReport, ReplaySelection};

/// `offerd replay`.
#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// Directory of the partner files; default: the configured one
    #[arg(long, value_name = "DIR")]
    partners: Option<PathBuf>,
    /// How far to look back
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = values::time)]
    since: Duration,
    /// Only leads of this company
    #[arg(long, value_name = "NAME")]
    company: Option<String>,
    /// Only the newest N rate tables
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const BAR: &str = "{bar:30} {pos} of {len} rate tables, {eta} left";

/// Runs `offerd replay`.
pub async fn run(settings: &Settings, arguments: &ReplayArguments) -> Result<(), CommandError> {
    let directory = arguments.partners.as_ref().unwrap_or(&settings.partners.path);
    let admin = AdminClient::find(settings).await?;
    // Loaded here, so that faults name their files.
    Book::load(directory)?;
    let report = replayed(&admin, &order(directory, arguments)?).await?;
    Ok(page::show(&report, arguments.json, || print(&report))?)
}

/// Which leads to replay, and with which partner files.
fn order(directory: &Path, arguments: &ReplayArguments) -> Result<ReplayOrder, String> {
    let ReplayArguments { since, company, limit, .. } = arguments;
    let wish = ReplaySelection { since: values::ago(*since), company: company.clone(), limit: *limit };
    let texts = Book::texts_in(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let name = |file: PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let partner_files = texts.into_iter().map(|(file, text)| (name(file), text)).collect();
    Ok(ReplayOrder { partner_files, wish })
}

async fn replayed(admin: &AdminClient, order: &ReplayOrder) -> Result<ReplayReport, String> {
    let bar = StepProgressBar::begin(BAR);
    let ended = |line| match line {
        ReplayLine::Progress(progress) => {
            bar.show(progress.done as u64, progress.total as u64);
            None
        }
        ReplayLine::Report(report) => Some(Ok(report)),
        ReplayLine::Failed(why) => Some(Err(why)),
    };
    admin.follow("/replay", order, "the daemon ended during the replay", ended).await
}

fn print(report: &ReplayReport) {
    let mut lines = Vec::new();
    for seat in &report.seats {
        let product = format!("{}{}", seat.product_type, if seat.over_http { " (HTTP)" } else { "" });
        let asked = [Some(seat.asked_then), Some(seat.asked_now)];
        lines.push((&seat.partner, product.clone(), "", asked, seat.offers));
        let differing = seat.by_offer.iter().filter(|(_, count)| count.changed + count.won + count.lost > 0);
        lines.extend(
            differing.map(|(name, count)| (&seat.partner, product.clone(), &**name, [None; 2], *count)),
        );
    }
    page::print_sheet(&sheet!(lines, (partner, product, offer, asked, count) => {
        "partner" => partner,
        "product" => product,
        "offer" => offer,
        "asked": Count => asked[0],
        "asked now": Count => asked[1],
        "kept": Count => count.kept,
        "changed": Count => count.changed,
        "won": Count => count.won,
        "lost": Count => count.lost,
    }));
    page::print(summary(report));
}

fn summary(report: &ReplayReport) -> String {
    let ReplayReport { rate_tables, skipped, offers, gain_all, lose_all, .. } = report;
    let OfferCount { kept, changed, won, lost } = offers;
    let mut lines = vec![
        format!(
            "{rate_tables} rate tables: {won} offers won, {lost} lost, {kept} kept, of which {changed} changed"
        ),
        format!("leads that had no offer and would have one: {}", named_leads(gain_all)),
        format!("leads that had an offer and would have none: {}", named_leads(lose_all)),
    ];
    if skipped.pending + skipped.grown + skipped.gone > 0 {
        lines.push(format!(
            "not compared: {} pending, {} of leads that have grown since, {} of leads that were erased or cannot be read",
            skipped.pending, skipped.grown, skipped.gone
        ));
    }
    if report.seats.iter().any(|seat| seat.over_http) {
        lines.push(
            "no partner was called: partners asked over HTTP keep their recorded offers if they would still be asked"
                .to_owned(),
        );
    }
    lines.join("\n")
}

fn named_leads(named: &Named) -> String {
    let leads = named.leads.iter().take(3).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match named.count {
        0 => "0".to_owned(),
        count if count > 3 => format!("{count} ({leads}, …)"),
        count => format!("{count} ({leads})"),
    }
}
