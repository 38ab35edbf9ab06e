//! `GET /console/partners`: all partners, one row each, worst first.

use std::cmp::Reverse;

use super::history;
use super::prelude::*;
use super::seat_view::{Pill, SeatView, of_seats};
use offerd_base::partner_health::Health;
use offerd_engine::matching::ask_statistics::{ASKS_SHOWN, AskTally};
use offerd_engine::matching::late_asks::LateAsk;

const PAGE: ConsolePage = ConsolePage::new(Section::Partners, "partners.html").fresh(history::EVERY);

struct PartnerRow {
    badness: u8,
    states: Vec<Pill>,
    /// The text that the search matches.
    words: String,
    fields: Value,
}

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    let wanted = request.query_value("q").map(str::to_owned);
    let looked_for = wanted.as_deref().unwrap_or_default().to_lowercase();
    let all = request.reading(rows).await?;
    let mut states: BTreeMap<Pill, usize> = BTreeMap::new();
    for state in all.iter().flat_map(|row| row.states.iter()) {
        *states.entry(state.clone()).or_default() += 1;
    }
    let partners = all.len();
    let found = all.into_iter().filter(|row| row.words.contains(&looked_for));
    let rows: Vec<Value> = found.map(|row| row.fields).collect();
    let states: Vec<_> = states.into_iter().collect();
    request.view(PAGE, fields! { wanted, partners, states, asks_shown => ASKS_SHOWN, rows })
}

fn rows(app: &AdminState) -> Vec<PartnerRow> {
    let mut partners: Vec<PartnerRow> = Vec::new();
    let seats = of_seats(&app.engine);
    for of_partner in seats.chunk_by(|one, other| one.seat.identity.key == other.seat.identity.key) {
        let identity = &of_partner[0].seat.identity;
        let asks_of = |of: &SeatView| app.engine.statistics.lately(&identity.key, of.seat.product_type).asks;
        let mut states: Vec<Pill> = of_partner.iter().map(|seat| seat.state.clone()).collect();
        states.sort();
        states.dedup();
        let badness_of = |seat: &&SeatView| seat.status.health.health.badness();
        // Of equally bad seats the first; among healthy ones, one with known health.
        let known = |seat: &&SeatView| seat.status.health.health == Health::Healthy;
        let worst = of_partner.iter().rev().max_by_key(|seat| (badness_of(seat), known(seat)));
        let worst = worst.unwrap_or(&of_partner[0]);
        let caps = of_partner.iter().flat_map(|seat| seat.caps.iter());
        let tally: AskTally = of_partner.iter().flat_map(asks_of).collect();
        let late = of_partner.iter().flat_map(|seat| &seat.late);
        let breakers = of_partner.iter().filter_map(|seat| seat.breaker.as_ref());
        let names = [&identity.key, &identity.partner.name].map(|name| name.to_lowercase());
        let words = states.iter().chain([&worst.health]).map(|state| state.words);
        let fields = fields! {
            key => identity.key, name => identity.partner.name,
            products => of_partner.iter().map(|seat| seat.seat.product_type.as_str()).collect::<Vec<_>>(),
            states,
            health => worst.health,
            cause => worst.status.health.cause,
            summary => tally.summary_of(&tally.survival(late.map(LateAsk::observed))),
            // Its worst circuit breaker; none without HTTP seats.
            breaker => breakers.max_by_key(|breaker| breaker.rank),
            // The cap with the highest use.
            cap => caps.max_by(|one, other| one.share.total_cmp(&other.share)),
        };
        let words = names.iter().map(String::as_str).chain(words).collect::<Vec<_>>().join("\n");
        partners.push(PartnerRow { badness: badness_of(&worst), states, words, fields });
    }
    partners.sort_by_key(|row| Reverse(row.badness));
    partners
}
