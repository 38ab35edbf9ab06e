//! `offerd explain FILE`: what would become of a lead.

use std::path::Path;

use chrono::Utc;
use comfy_table::{Cell, Color, Table};
use serde::Serialize;

use super::{Arguments, add_refusal, empty_table};
use crate::cli::lead::read_lead;
use crate::cli::page;
use crate::cli::partners::{running_standings, told};
use crate::config::Settings;
use crate::matching::limiter::{SeatStanding, State};
use crate::model::{CreditBands, ProductType};
use crate::partners::explain::{self, Explanation, Refusal, SeatExplanation};
use crate::partners::{Book, Facts, Seat};

/// Explains the lead of a file.
pub async fn explain(settings: &Settings, book: &Book, arguments: &Arguments) -> Result<(), String> {
    let (_, lead) = read_lead(Path::new(&arguments.lead))?;
    arguments.check_partner(book)?;
    let standings = running_standings(settings).await?;
    let now = Utc::now();
    let facts = Facts::new(&lead, now.date_naive(), CreditBands::CURRENT);
    let explanation = explain::explain(book, &facts, Some(now), &|seat| counted_against(&standings, seat));
    if arguments.json {
        let seats: Vec<SeatRow> = wanted(&explanation, arguments).map(SeatRow::of).collect();
        page::print(serde_json::to_string_pretty(&seats).map_err(|error| error.to_string())?);
    } else {
        page::print(table(&explanation, arguments));
        page::print(summary(&explanation));
    }
    Ok(())
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
    Some(Refusal::new(wanted, told(standing)))
}

fn wanted<'e, 'b>(
    explanation: &'e Explanation<'b>,
    arguments: &Arguments,
) -> impl Iterator<Item = &'e SeatExplanation<'b>> {
    explanation.seats.iter().filter(|seat| arguments.wants(&seat.seat.identity.key))
}

fn table(explanation: &Explanation, arguments: &Arguments) -> Table {
    let mut table = empty_table();
    for seat in wanted(explanation, arguments) {
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
                let score = quote.as_ref().map(|quote| format!("score {:.2}", quote.score));
                let score = score.unwrap_or_else(|| "the partner is asked for its terms".to_owned());
                let matched = page::toned(matched, Color::Green);
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

fn summary(explanation: &Explanation) -> String {
    let asked = explanation.seats.iter().filter(|seat| seat.refusals.is_empty()).count();
    let offers = explanation.seats.iter().flat_map(|seat| &seat.offers);
    let matched = offers.filter(|offer| offer.outcome.is_ok()).count();
    format!("{asked} of {} seats are asked, {matched} offers match", explanation.seats.len())
}

/// A seat as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SeatRow<'a> {
    partner: &'a str,
    product_type: ProductType,
    second_look: bool,
    asked: bool,
    refusals: &'a [Refusal],
    offers: Vec<OfferRow<'a>>,
}

/// An offer as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfferRow<'a> {
    name: &'a str,
    matched: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    refusals: &'a [Refusal],
}

impl<'a> SeatRow<'a> {
    fn of(seat: &'a SeatExplanation) -> Self {
        let offers = seat.offers.iter().map(|offer| OfferRow {
            name: offer.name,
            matched: offer.outcome.is_ok(),
            score: offer.outcome.as_ref().ok().and_then(|quote| Some(quote.as_ref()?.score)),
            refusals: offer.outcome.as_ref().err().map(Vec::as_slice).unwrap_or_default(),
        });
        Self {
            partner: &seat.seat.identity.key,
            product_type: seat.seat.product_type,
            second_look: seat.seat.second_look,
            asked: seat.refusals.is_empty(),
            refusals: &seat.refusals,
            offers: offers.collect(),
        }
    }
}
