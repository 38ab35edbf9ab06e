//! `offerd explain FILE`: the prospective outcome of a lead.

use super::ExplainArguments;
use super::outline::{SeatOutline, print_all};
use crate::cli::lead::read_lead;
use crate::cli::prelude::*;
use offerd_engine::experiments::{ExperimentRule, ExperimentRules as Experiments, RuleState};
use offerd_insight::hindsight::dry_run::dry_run;
use offerd_insight::hindsight::judgement::SeatJudgement;
use offerd_model::Lead;

/// Explains the lead of a file.
pub async fn explain(settings: &Settings, book: &Book, arguments: &ExplainArguments) -> Result<(), String> {
    let (_, lead) = read_lead(Path::new(&arguments.lead))?;
    arguments.check_partner(book)?;
    let (mut statuses, mut on_lists) = (Vec::new(), None);
    if let Some(daemon) = AdminClient::of_daemon(settings).await? {
        statuses = daemon.ask(Method::GET, "/partners").await?;
        on_lists = Some(daemon.post("/suppressions/naming", &lead).await?);
    }
    let most = settings.matching.partners_per_lead;
    let seats = dry_run(book, &statuses, on_lists.as_ref(), most, &lead, Utc::now());
    let wanted = seats.iter().filter(|seat| arguments.wants(&seat.partner));
    if arguments.json {
        page::print_json(&wanted.collect::<Vec<_>>())?;
    } else {
        let is_far = |seat: &SeatJudgement| !seat.wanted || seat.refusals.len() > 1;
        let sections = wanted.map(|seat| (seat.asked, is_far(seat), section(seat, arguments.matched)));
        let sections = sections.filter(|(.., section)| !arguments.matched || section.has_offers());
        print_all(sections, arguments.shows_all());
        page::print(summary(&seats));
        let told = |faults: Vec<Fault>| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let experiments = Experiments::load(settings, Some(book), None).map_err(told)?;
        experiments.all().iter().filter_map(|rule| drawn(rule, &lead)).for_each(page::print);
    }
    Ok(())
}

/// The variants that such leads draw of a running rule; the submitting company is unknown.
fn drawn(rule: &ExperimentRule, lead: &Lead) -> Option<String> {
    let company = rule.companies.keys().next().copied().unwrap_or_default();
    let is_drawn =
        rule.state(Utc::now()) == RuleState::Running && rule.holds_for(company, lead.client_tags.as_ref());
    let of = match rule.companies.is_empty() {
        true => String::new(),
        false => format!(" of {}", rule.companies.values().cloned().collect::<Vec<_>>().join(", ")),
    };
    let variants = rule.variants.iter().map(|variant| {
        let changes: Vec<String> = variant.changes.iter().map(ToString::to_string).collect();
        format!("{} ({}) {} %", variant.name, changes.join("; "), variant.percent)
    });
    let variants: Vec<String> = variants.collect();
    is_drawn.then(|| format!("experiment {}: of such leads{of} draw {}", rule.name, variants.join(", ")))
}

fn section(seat: &SeatJudgement, matched_only: bool) -> SeatOutline {
    // Second-look seats are asked only without a loan offer, and one offer per product sub-type wins.
    let (state, color) = match (seat.asked, seat.second_look) {
        (true, false) => ("asked", Color::Green),
        (true, true) => ("asked at second look", Color::Green),
        (false, _) => ("not asked", Color::Red),
    };
    let mut section = SeatOutline::new(&seat.partner, seat.product_type.as_str(), state, color);
    if !matched_only {
        section.refused(&seat.refusals);
    }
    for offer in &seat.offers {
        if offer.matched {
            let score = offer.score.map(|score| format!("score {score:.2}"));
            let score = score.unwrap_or_else(|| "terms come from the partner".to_owned());
            section.offer(&offer.name, ("matched", Color::Green), vec![score]);
        } else if !matched_only && !offer.refusals.is_empty() {
            section.unmet(&offer.name, &offer.refusals);
        }
    }
    section
}

fn summary(seats: &[SeatJudgement]) -> String {
    let asked = seats.iter().filter(|seat| seat.asked).count();
    let matched: usize = seats.iter().map(SeatJudgement::matched).sum();
    let matched = match matched {
        1 => "1 offer matches".to_owned(),
        matched => format!("{matched} offers match"),
    };
    format!("{asked} of {} partner products are asked, {matched}", seats.len())
}
