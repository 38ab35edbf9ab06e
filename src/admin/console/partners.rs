//! `GET /console/partners`: all partners, one row each, worst first.

use std::cmp::Reverse;
use std::time::Instant;

use chrono::Days;
use parking_lot::Mutex;

use super::history;
use super::prelude::*;
use super::seat_view::{Pill, SeatView, of_seats};
use offerd_base::partner_health::Health;
use offerd_engine::matching::ask_statistics::{ASKS_SHOWN, AskTally};
use offerd_engine::matching::late_asks::LateAsk;
use offerd_insight::reports::Reports;

const PAGE: ConsolePage = ConsolePage::new(Section::Partners, "partners.html").fresh(history::EVERY);

/// How long the stored counts of a week are shown before they are read again.
const WEEK_FOR: Duration = Duration::from_secs(60);

/// Asks and offers of each partner over seven days, from the reports, which a restart does not begin anew.
#[derive(Default)]
pub(super) struct StoredWeek(Mutex<Option<(Instant, Arc<WeekByPartner>)>>);

type WeekByPartner = BTreeMap<String, (i64, i64)>;

impl StoredWeek {
    /// Blocks on the store. Nothing while the counts cannot be read.
    fn read(&self, reports: Option<&Reports>) -> Arc<WeekByPartner> {
        let mut known = self.0.lock();
        match &*known {
            Some((at, week)) if at.elapsed() < WEEK_FOR => Arc::clone(week),
            old => {
                let old = old.as_ref().map(|(_, week)| Arc::clone(week));
                let week = reports.and_then(read_week).map(Arc::new).or(old).unwrap_or_default();
                *known = Some((Instant::now(), Arc::clone(&week)));
                week
            }
        }
    }
}

fn read_week(reports: &Reports) -> Option<WeekByPartner> {
    let today = Utc::now().with_timezone(&reports.rules.usual_zone()).date_naive();
    let mut week = WeekByPartner::new();
    for leads in ["live", "test"] {
        let from = today.checked_sub_days(Days::new(6))?.to_string();
        let pairs =
            [("from", from), ("to", today.to_string()), ("by", "partner".into()), ("leads", leads.into())];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
        for row in reports.report(&reports.query(&pairs).ok()?).ok()?.rows {
            let (asks, offers) = week.entry(row.by.concat()).or_default();
            (*asks, *offers) = (*asks + row.figures.asks, *offers + row.figures.offers);
        }
    }
    Some(week)
}

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
    let week = app.console.week.read(app.reports.as_ref());
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
            health => worst.health, week => week.get(&identity.key),
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
