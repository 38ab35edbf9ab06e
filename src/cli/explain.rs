//! `offerd explain FILE`
//!
//! Caps, budgets and pauses are those of the running daemon, if one runs; the rest is what the files say.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chrono::Utc;
use clap::Args;
use comfy_table::{Cell, Color, Table};

use super::lead::read_lead;
use super::page;
use super::partners::{running_standings, told};
use crate::matching::limiter::{SeatStanding, State};
use crate::model::CreditBands;
use crate::partners::explain::{Explanation, Refusal, SeatExplanation, explain};
use crate::partners::{Facts, Seat};

/// `offerd explain`
#[derive(Debug, Args)]
pub struct Arguments {
    /// The lead, as JSON; `-` reads standard input
    file: PathBuf,
    /// Only this partner, by its key
    #[arg(long, value_name = "KEY")]
    partner: Option<String>,
    /// Only what matches
    #[arg(long)]
    matched: bool,
}

/// Runs `offerd explain`.
pub fn run(config: Option<&Path>, arguments: &Arguments) -> ExitCode {
    let (settings, book) = match super::settings_and_book(config) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    let lead = match read_lead(&arguments.file) {
        Ok((_, lead)) => lead,
        Err(message) => return super::fail(message),
    };
    if let Some(key) = &arguments.partner
        && !book.partners().iter().any(|partner| partner.key == *key)
    {
        return super::fail(format!("there is no partner `{key}`"));
    }

    let standings = match super::block_on(running_standings(&settings)) {
        Ok(standings) => standings,
        Err(message) => return super::fail(message),
    };
    let now = Utc::now();
    let facts = Facts::new(&lead, now.date_naive(), CreditBands::CURRENT);
    let explanation = explain(&book, &facts, now, &|seat| counted_against(&standings, seat));
    page::print(table(&explanation, arguments));
    page::print(summary(&explanation));
    ExitCode::SUCCESS
}

/// What the running daemon has counted against a seat. Its schedule and its file tell of themselves.
fn counted_against(standings: &[SeatStanding], seat: &Seat) -> Option<Refusal> {
    let of_seat = |standing: &&SeatStanding| {
        standing.partner == seat.identity.key && standing.product_type == seat.product_type
    };
    let standing = standings.iter().find(of_seat)?;
    let wanted = match standing.state {
        State::Active | State::PausedByFile | State::OutsideSchedule => return None,
        State::PausedByCommand => "not paused",
        State::Capped => "fewer asks than its cap",
        State::OverBudget => "payouts below its budget",
        State::BreakerOpen => "a partner that has not failed too often lately",
    };
    Some(Refusal { wanted: wanted.to_owned(), found: told(standing) })
}

fn table(explanation: &Explanation, arguments: &Arguments) -> Table {
    let mut table = page::table(["partner", "product", "offer", "", "wanted", "found"]);
    let wanted =
        |seat: &&SeatExplanation| arguments.partner.as_ref().is_none_or(|key| seat.seat.identity.key == *key);
    for seat in explanation.seats.iter().filter(wanted) {
        add_seat(&mut table, seat, arguments.matched);
    }
    table
}

fn add_seat(table: &mut Table, seat: &SeatExplanation, matched_only: bool) {
    let key = &seat.seat.identity.key;
    let product = seat.seat.product_type.as_str();
    // Second look is asked only without a loan offer, and one offer per product sub-type wins.
    let matched = if seat.seat.second_look { "matched at second look" } else { "matched" };
    if !matched_only {
        for refusal in &seat.refusals {
            add_refusal(table, [key, product, "(not asked)"], refusal);
        }
    }
    for offer in &seat.offers {
        match &offer.outcome {
            Ok(quote) => {
                let score = format!("score {:.2}", quote.score);
                let matched = Cell::new(matched).fg(Color::Green);
                table.add_row([
                    Cell::new(key),
                    Cell::new(product),
                    Cell::new(offer.name),
                    matched,
                    Cell::new(score),
                    Cell::new(""),
                ]);
            }
            Err(refusals) if !matched_only && refusals.is_empty() => {
                table.add_row([key.as_str(), product, offer.name, "not asked", "", ""]);
            }
            Err(refusals) if !matched_only => {
                for refusal in refusals {
                    add_refusal(table, [key, product, offer.name], refusal);
                }
            }
            Err(_) => {}
        }
    }
}

fn add_refusal(table: &mut Table, place: [&str; 3], refusal: &Refusal) {
    let [key, product, offer] = place.map(Cell::new);
    let failed = Cell::new("failed").fg(Color::Red);
    table.add_row([key, product, offer, failed, Cell::new(&refusal.wanted), Cell::new(&refusal.found)]);
}

fn summary(explanation: &Explanation) -> String {
    let asked = explanation.seats.iter().filter(|seat| seat.refusals.is_empty()).count();
    let offers = explanation.seats.iter().flat_map(|seat| &seat.offers);
    let matched = offers.filter(|offer| offer.outcome.is_ok()).count();
    format!("{asked} of {} seats are asked, {matched} offers match", explanation.seats.len())
}
