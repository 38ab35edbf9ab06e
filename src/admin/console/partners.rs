//! `GET /console/partners`: everybody who may be asked, a row each, the worst first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::history;
use super::prelude::*;
use super::standing::{Breaker, Cap, Pill, SeatLook, of_seats};
use crate::matching::ask_statistics::{ASKS_SHOWN, AskTally, Summary};
use crate::matching::late_asks::LateAsk;
use crate::partner_health::Health;

const PAGE: Page = Page::new(Section::Partners, "partners.html").fresh(history::EVERY);

#[derive(Debug, Serialize)]
struct Row {
    key: String,
    name: String,
    products: Vec<&'static str>,
    states: Vec<Pill>,
    /// How well its worst seat is, and what of it is not as usual.
    health: Pill,
    cause: Option<String>,
    /// How bad that is.
    #[serde(skip)]
    badness: u8,
    summary: Summary,
    /// The worst of its breakers; nothing where nobody is called.
    breaker: Option<Breaker>,
    /// The cap that is used most.
    cap: Option<Cap>,
}

/// Shows the page.
pub(super) async fn show(visit: &Visit) -> Result<View, Failure> {
    let wanted = visit.query_value("q").map(str::to_owned);
    let looked_for = wanted.as_deref().unwrap_or_default().to_lowercase();
    let all = visit.reading(rows).await?;
    let mut states: BTreeMap<Pill, usize> = BTreeMap::new();
    for state in all.iter().flat_map(|row| row.states.iter()) {
        *states.entry(state.clone()).or_default() += 1;
    }
    let partners = all.len();
    let fits = |row: &Row| {
        row.key.to_lowercase().contains(&looked_for)
            || row.name.to_lowercase().contains(&looked_for)
            || row.states.iter().chain([&row.health]).any(|state| state.words.contains(&looked_for))
    };
    let rows: Vec<Row> = all.into_iter().filter(fits).collect();
    let states: Vec<_> = states.into_iter().collect();
    visit.view(PAGE, fields! { wanted, partners, states, asks_shown => ASKS_SHOWN, rows })
}

fn rows(app: &App) -> Vec<Row> {
    let mut partners: Vec<Row> = Vec::new();
    let seats = of_seats(&app.engine);
    for of_partner in seats.chunk_by(|one, other| one.seat.identity.key == other.seat.identity.key) {
        let identity = &of_partner[0].seat.identity;
        let asks_of =
            |seat: &SeatLook| app.engine.statistics.lately(&identity.key, seat.seat.product_type).asks;
        let mut states: Vec<Pill> = of_partner.iter().map(|seat| seat.state.clone()).collect();
        states.sort();
        states.dedup();
        let badness_of = |seat: &&SeatLook| seat.standing.health.health.badness();
        // Of those that are as bad, the first: where all are well, not one of which nothing is known, if there is another.
        let known = |seat: &&SeatLook| seat.standing.health.health == Health::Healthy;
        let worst = of_partner.iter().rev().max_by_key(|seat| (badness_of(seat), known(seat)));
        let worst = worst.unwrap_or(&of_partner[0]);
        let caps = of_partner.iter().flat_map(|seat| seat.caps.iter());
        partners.push(Row {
            key: identity.key.clone(),
            name: identity.partner.name.clone(),
            products: of_partner.iter().map(|seat| seat.seat.product_type.as_str()).collect(),
            states,
            health: worst.health.clone(),
            cause: worst.standing.health.cause.clone(),
            badness: badness_of(&worst),
            summary: {
                let tally: AskTally = of_partner.iter().flat_map(asks_of).collect();
                let late = of_partner.iter().flat_map(|seat| &seat.late);
                tally.summary_of(&tally.survival(late.map(LateAsk::observed)))
            },
            breaker: of_partner
                .iter()
                .filter_map(|seat| seat.breaker.clone())
                .max_by_key(|breaker| breaker.rank),
            cap: caps.max_by(|one, other| one.share.total_cmp(&other.share)).cloned(),
        });
    }
    partners.sort_by_key(|row| Reverse(row.badness));
    partners
}
