//! `offerd explain UUID`: the outcome of a stored lead, and why.

use super::ExplainArguments;
use super::outline::{SeatOutline, print_all};
use crate::cli::prelude::*;
use offerd_base::declaration::{did_you_mean, nearest};
use offerd_insight::hindsight::explanation::{
    LeadExplanation, OfferExplanation, OfferReason, Reason, SeatExplanation, Standing, TableExplanation,
    TreatmentExplanation,
};

/// Explains a stored lead, a rate table, or the table of an offer.
pub async fn explain(settings: &Settings, uuid: Uuid, asked: &ExplainArguments) -> Result<(), CommandError> {
    let admin = AdminClient::find_with_partners(settings).await?;
    let waiting = progress::waiting("walking every rule");
    let found = admin.lookup(Method::GET, &format!("/leads/{uuid}/explanation")).await?;
    drop(waiting);
    let Some(mut explained): Option<LeadExplanation> = found else { return Err(unknown(&admin, uuid).await) };
    let keys = explained.rate_tables.iter().flat_map(|table| &table.seats).map(|seat| seat.partner.as_str());
    if let Some(key) = asked.partner.as_deref().filter(|key| !keys.clone().any(|known| known == *key)) {
        let near = did_you_mean(nearest(key, keys));
        return Err(format!("it has no partner `{key}`{near}; without `--partner` all are shown").into());
    }
    for table in &mut explained.rate_tables {
        table.seats.retain(|seat| asked.wants(&seat.partner));
    }
    let summaries: Vec<String> = explained.rate_tables.iter().map(summary).collect();
    if asked.matched {
        for table in &mut explained.rate_tables {
            table.seats.retain(|seat| seat.why == Reason::Offers);
        }
    }
    Ok(page::show(&explained, asked.json, || {
        print(&explained, &summaries, asked);
    })?)
}

async fn unknown(admin: &AdminClient, uuid: Uuid) -> CommandError {
    let lost = "; the store is damaged and may have lost it: `offerd store check` names the losses";
    let damaged = if admin.knows_of_damage().await { lost } else { "" };
    CommandError::Other(format!(
        "no lead, rate table or shown offer has the uuid {uuid}, or its lead is erased{damaged}"
    ))
}

fn print(explained: &LeadExplanation, summaries: &[String], arguments: &ExplainArguments) {
    let outlined = |seat: &SeatExplanation| {
        let is_far = seat.why == Reason::NotWanted || seat.refusals.len() > 1;
        (seat.why.was_asked(), is_far, section(seat, arguments.matched))
    };
    if explained.rate_tables.is_empty() {
        page::print(format!("lead {} has no rate table", explained.lead));
    }
    for (table, summary) in explained.rate_tables.iter().zip(summaries) {
        page::print(heading(explained, table));
        print_all(table.seats.iter().map(outlined), arguments.shows_all());
        page::print(summary);
    }
}

fn heading(explained: &LeadExplanation, table: &TableExplanation) -> String {
    let test = if explained.test { ", a test" } else { "" };
    let pending = if table.pending { ", not complete yet" } else { "" };
    let mut heading =
        format!("rate table {} of lead {}{test}, {}{pending}", table.uuid, explained.lead, table.created_at);
    for TreatmentExplanation { rule, variant, about } in &table.experiments {
        heading.push_str(&format!("\nexperiment {rule}: variant {variant}, {about}"));
    }
    if !table.same_files {
        heading.push_str(
            "\n! the partner files have changed since: the conditions below are the current ones, not those used for it",
        );
    }
    if !table.same_lead {
        heading.push_str(
            "\n! the lead has changed since: the conditions below are checked against its current data",
        );
    }
    heading
}

fn section(seat: &SeatExplanation, matched_only: bool) -> SeatOutline {
    let mut section = opened(seat);
    for offer in &seat.offers {
        if offer.why == OfferReason::Shown {
            section.offer(&offer.name, (offer.why.sentence(), Color::Green), scored(offer));
        } else if !matched_only && offer.why == OfferReason::Unmet {
            section.unmet(&offer.name, &offer.refusals);
        } else if !matched_only {
            section.offer(&offer.name, (offer.why.sentence(), Color::Yellow), Vec::new());
        }
    }
    section
}

/// The score, with its components if a ranking was in use.
fn scored(offer: &OfferExplanation) -> Vec<String> {
    let rank = offer.standing.as_ref().and_then(|standing| standing.rank);
    let rank = rank.map(|rank| format!(", place {rank} of its list")).unwrap_or_default();
    let score = offer.score.map(|score| format!("score {score:.2}{rank}"));
    score.into_iter().chain(offer.standing.iter().flat_map(Standing::lines)).collect()
}

fn opened(seat: &SeatExplanation) -> SeatOutline {
    let (partner, product) = (&seat.partner, seat.product_type.as_str());
    if !seat.why.was_seated() && !seat.refusals.is_empty() {
        let mut section = SeatOutline::new(partner, product, "not asked", Color::Red);
        section.refused(&seat.refusals);
        return section;
    }
    let color = match seat.why {
        Reason::Offers => Color::Green,
        Reason::Pending | Reason::Held | Reason::Declined | Reason::Rejected | Reason::NotNeeded => {
            Color::Yellow
        }
        _ => Color::Red,
    };
    let took = seat.ended_after_ms.map(|took| format!(" after {took} ms")).unwrap_or_default();
    let cause = seat.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
    SeatOutline::new(partner, product, format!("{}{took}{cause}", seat.about), color)
}

fn summary(table: &TableExplanation) -> String {
    let asked = table.seats.iter().filter(|seat| seat.why.was_asked()).count();
    let offers = table.seats.iter().flat_map(|seat| &seat.offers);
    let shown = offers.filter(|offer| offer.why == OfferReason::Shown).count();
    format!(
        "{asked} of {} asked, {} shown\n",
        page::counted(table.seats.len(), "seat"),
        page::counted(shown, "offer")
    )
}
