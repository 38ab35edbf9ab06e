//! `offerd explain FILE`: what would become of a lead.

use std::path::Path;

use chrono::Utc;
use comfy_table::Color;
use hyper::Method;

use super::Arguments;
use super::outline::Section;
use crate::cli::admin_client::AdminClient;
use crate::cli::lead::read_lead;
use crate::cli::page;
use crate::config::Settings;
use crate::hindsight::dry_run::{DryRunSeat, dry_run};
use crate::matching::limiter::SeatStanding;
use crate::matching::suppressions::OnLists;
use crate::partners::Book;

/// Explains the lead of a file.
pub async fn explain(settings: &Settings, book: &Book, arguments: &Arguments) -> Result<(), String> {
    let (_, lead) = read_lead(Path::new(&arguments.lead))?;
    arguments.check_partner(book)?;
    let (standings, on_lists): (Vec<SeatStanding>, Option<OnLists>) =
        match AdminClient::of_daemon(settings).await? {
            Some(daemon) => {
                let standings = daemon.ask(Method::GET, "/partners").await?;
                (standings, Some(daemon.post("/suppressions/naming", &lead).await?))
            }
            None => (Vec::new(), None),
        };
    let most = settings.matching.partners_per_lead;
    let seats = dry_run(book, &standings, on_lists.as_ref(), most, &lead, Utc::now());
    if arguments.json {
        let wanted: Vec<&DryRunSeat> = wanted(&seats, arguments).collect();
        page::print_json(&wanted)?;
    } else {
        print(&seats, arguments);
        page::print(summary(&seats));
    }
    Ok(())
}

fn wanted<'s>(seats: &'s [DryRunSeat], arguments: &Arguments) -> impl Iterator<Item = &'s DryRunSeat> {
    seats.iter().filter(|seat| arguments.wants(&seat.partner))
}

/// Who is asked comes first.
fn print(seats: &[DryRunSeat], arguments: &Arguments) {
    let (asked, others): (Vec<_>, Vec<_>) = wanted(seats, arguments).partition(|seat| seat.asked);
    for seat in asked.into_iter().chain(others) {
        let section = section(seat, arguments.matched);
        if !arguments.matched || section.has_offers() {
            section.print();
        }
    }
}

fn section(seat: &DryRunSeat, matched_only: bool) -> Section {
    // Second look is asked only without a loan offer, and one offer per product sub-type wins.
    let (state, color) = match (seat.asked, seat.second_look) {
        (true, false) => ("asked", Color::Green),
        (true, true) => ("asked at second look", Color::Green),
        (false, _) => ("not asked", Color::Red),
    };
    let mut section = Section::new(&seat.partner, seat.product_type.as_str(), state, color);
    if !matched_only {
        section.refused(&seat.refusals);
    }
    for offer in &seat.offers {
        if offer.matched {
            let score = offer.score.map(|score| format!("score {score:.2}"));
            let score = score.unwrap_or_else(|| "the partner is asked for its terms".to_owned());
            section.offer(&offer.name, ("matched", Color::Green), vec![score]);
        } else if !matched_only && !offer.refusals.is_empty() {
            section.unmet(&offer.name, &offer.refusals);
        }
    }
    section
}

fn summary(seats: &[DryRunSeat]) -> String {
    let asked = seats.iter().filter(|seat| seat.asked).count();
    let matched: usize = seats.iter().map(DryRunSeat::matched).sum();
    format!("{asked} of {} seats are asked, {matched} offers match", seats.len())
}
