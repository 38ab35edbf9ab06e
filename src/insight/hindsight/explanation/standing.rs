//! Explains the rank of an offer: the parts of its score, and what puts it above the next.

use std::collections::HashMap;

use offerd_engine::rate_table::table::Table;
use offerd_engine::records::templates::Templates;
use offerd_model::{ConversionSource, record};
use offerd_partners::Quote;
use offerd_partners::ranking::{ConversionFrom, ObservedClicks, Parts, Ranking, ScoreBreakdown};

record! {
    plain

    /// The rank of an offer, with the reasons.
    Standing {
        /// The ranking in force at that time.
        ranking: Ranking,
        /// Its position in its list, from 1; none if it is not shown.
        rank?: usize,
        /// The parts of its score.
        parts: Parts,
        /// The source of its conversion rate.
        conversion_from: ConversionFrom,
        /// The clicks and conversions seen there.
        seen: ObservedClicks,
        /// The next offer of its list, and why that ranks lower.
        above?: Above,
    }

    /// Why an offer is above the next.
    Above {
        /// The next offer's partner, by its key.
        partner: String,
        /// Its name in the partner's file.
        offer: String,
        /// The reason, for people.
        why: String,
    }
}

/// The standings of the table's shown and ranked offers, by offer number.
pub fn of_table(table: &Table, templates: &Templates) -> HashMap<u16, Standing> {
    let mut standings = HashMap::new();
    for (_, offers) in table.arrays() {
        for (nth, offer) in offers.iter().enumerate() {
            let Some(ranked) = &offer.quote.ranked else { continue };
            let above = offers.get(nth + 1).map(|next| Above {
                partner: table.seats()[usize::from(next.seat)].key.clone(),
                offer: templates.offer_name(next.quote.text),
                why: why(&offer.quote, &next.quote),
            });
            standings.insert(offer.number, Standing { rank: Some(nth + 1), above, ..Standing::of(ranked) });
        }
    }
    standings
}

impl Standing {
    /// The standing of an offer that is not shown.
    pub fn of(ranked: &ScoreBreakdown) -> Self {
        let ScoreBreakdown { ref by, parts, from: conversion_from, seen } = *ranked;
        Self { ranking: (**by).clone(), rank: None, parts, conversion_from, seen, above: None }
    }

    /// The conversion source in the client API.
    pub fn conversion_source(&self) -> ConversionSource {
        match self.conversion_from {
            ConversionFrom::Sold => ConversionSource::Sold,
            ConversionFrom::Click => ConversionSource::Click,
            ConversionFrom::Prior => ConversionSource::Prior,
            _ => ConversionSource::Learnt,
        }
    }

    /// The parts and the reasons, a line each.
    pub fn lines(&self) -> Vec<String> {
        let weights = self.ranking.weights.each();
        let part = |((name, part), weight): ((&str, f64), f64)| match weight {
            0.0 => None,
            1.0 => Some(format!("{name} {}", figure(name, part))),
            weight => Some(format!("{name} {} ^ {weight}", figure(name, part))),
        };
        let parts: Vec<String> = self.parts.named().into_iter().zip(weights).filter_map(part).collect();
        let mut lines = vec![
            format!("{}: {}", self.ranking.name, parts.join(" × ")),
            format!("conversion: {}", conversion(self.conversion_from, self.seen)),
        ];
        if let Some(above) = &self.above {
            lines.push(format!("above {} {}: {}", above.partner, above.offer, above.why));
        }
        lines
    }
}

fn conversion(from: ConversionFrom, seen: ObservedClicks) -> String {
    let ObservedClicks { clicks, conversions } = seen;
    let of = |what: &str| format!("learnt from {conversions:.1} conversions of {clicks:.1} clicks on {what}");
    match from {
        ConversionFrom::Sold => "the partner has bought the lead".to_owned(),
        ConversionFrom::Click => "the click earns the payout".to_owned(),
        ConversionFrom::Prior => "the prior of the settings, since no clicks were seen yet".to_owned(),
        ConversionFrom::Product => of("other partners' offers of the product"),
        ConversionFrom::Partner => of("other offers of the partner"),
        ConversionFrom::Offer => of("the offer by people of other ratings"),
        ConversionFrom::Band => of("the offer by people of this rating"),
    }
}

/// Why one offer is above the next: first the parts in its favour, strongest first, then those against it.
fn why(one: &Quote, next: &Quote) -> String {
    let (Some(ours), Some(theirs)) = (&one.ranked, &next.ranked) else {
        return "the next was not ranked".to_owned();
    };
    if one.score <= next.score {
        return "the same score, and it came first".to_owned();
    }
    let parts = ours.parts.named().into_iter().zip(theirs.parts.named()).zip(ours.by.weights.each());
    let mut factors: Vec<(f64, String)> = parts
        .filter(|(((_, our), (_, their)), weight)| *weight > 0.0 && our != their)
        .map(|(((name, our), (_, their)), weight)| {
            let factor = (our / their).powf(weight);
            let told = if factor.is_finite() { format!(", × {factor:.2}") } else { String::new() };
            (factor, format!("{name} ({} against {}{told})", figure(name, our), figure(name, their)))
        })
        .collect();
    factors.sort_by(|(one, _), (two, _)| two.total_cmp(one));
    let told = |speaks_for: bool| {
        let told = factors.iter().filter(|(factor, _)| (*factor >= 1.0) == speaks_for);
        told.map(|(_, told)| told.clone()).collect::<Vec<_>>().join(", ")
    };
    match (told(true).as_str(), told(false).as_str()) {
        ("", _) => "another ranking".to_owned(),
        (pro, "") => pro.to_owned(),
        (pro, contra) => format!("{pro}, in spite of {contra}"),
    }
}

fn figure(name: &str, part: f64) -> String {
    if name == "payout" { format!("${part:.2}") } else { format!("{part:.4}") }
}
