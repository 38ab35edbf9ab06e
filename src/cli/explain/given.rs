//! `offerd explain FILE`: what would become of a lead.

use std::path::Path;

use chrono::Utc;
use comfy_table::{Cell, Color, Table};

use super::{Arguments, add_refusal, empty_table};
use crate::cli::lead::read_lead;
use crate::cli::page;
use crate::cli::partners::running_standings;
use crate::config::Settings;
use crate::matching::trial::{SeatTrial, trial};
use crate::partners::Book;

/// Explains the lead of a file.
pub async fn explain(settings: &Settings, book: &Book, arguments: &Arguments) -> Result<(), String> {
    let (_, lead) = read_lead(Path::new(&arguments.lead))?;
    arguments.check_partner(book)?;
    let standings = running_standings(settings).await?;
    let seats = trial(book, &standings, &lead, Utc::now());
    if arguments.json {
        let wanted: Vec<&SeatTrial> = wanted(&seats, arguments).collect();
        page::print(serde_json::to_string_pretty(&wanted).map_err(|error| error.to_string())?);
    } else {
        page::print(table(&seats, arguments));
        page::print(summary(&seats));
    }
    Ok(())
}

fn wanted<'s>(seats: &'s [SeatTrial], arguments: &Arguments) -> impl Iterator<Item = &'s SeatTrial> {
    seats.iter().filter(|seat| arguments.wants(&seat.partner))
}

fn table(seats: &[SeatTrial], arguments: &Arguments) -> Table {
    let mut table = empty_table();
    for seat in wanted(seats, arguments) {
        add_seat(&mut table, seat, arguments.matched);
    }
    table
}

fn add_seat(table: &mut Table, seat: &SeatTrial, matched_only: bool) {
    let (key, product) = (&seat.partner, seat.product_type.as_str());
    // Second look is asked only without a loan offer, and one offer per product sub-type wins.
    let matched = if seat.second_look { "matched at second look" } else { "matched" };
    if !matched_only {
        for refusal in &seat.refusals {
            add_refusal(table, [key, product, "(not asked)"], refusal);
        }
    }
    for offer in &seat.offers {
        if offer.matched {
            let score = offer.score.map(|score| format!("score {score:.2}"));
            let score = score.unwrap_or_else(|| "the partner is asked for its terms".to_owned());
            let matched = page::toned(matched, Color::Green);
            table.add_row([
                Cell::new(key),
                Cell::new(product),
                Cell::new(&offer.name),
                matched,
                Cell::new(score),
                Cell::new(""),
            ]);
        } else if !matched_only && offer.refusals.is_empty() {
            table.add_row([key.as_str(), product, &offer.name, "not asked", "", ""]);
        } else if !matched_only {
            for refusal in &offer.refusals {
                add_refusal(table, [key, product, &offer.name], refusal);
            }
        }
    }
}

fn summary(seats: &[SeatTrial]) -> String {
    let asked = seats.iter().filter(|seat| seat.asked).count();
    let matched: usize = seats.iter().map(SeatTrial::matched).sum();
    format!("{asked} of {} seats are asked, {matched} offers match", seats.len())
}
