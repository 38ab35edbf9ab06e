//! The text form of an explanation: a heading per seat, and below it the outcome of its offers with the
//! reasons.

use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Width};

use crate::cli::page::{self, Color};
use offerd_insight::hindsight::judgement::{EligibilityObjection, NOT_PAUSED};

/// A seat in the outline.
#[derive(Debug)]
pub struct SeatOutline {
    title: String,
    state: (String, Color),
    lines: Vec<OutlineLine>,
}

/// Number of seats that are printed however far they are from being asked.
const FEW: usize = 12;

/// Prints the sections of seats, asked seats first; of more than a few, the far ones only if `is_all`. Each
/// has whether its seat is asked, and whether it is far from that.
pub fn print_all(sections: impl Iterator<Item = (bool, bool, SeatOutline)>, is_all: bool) {
    let (shown, left_out) = shown(sections.collect(), is_all);
    shown.iter().for_each(SeatOutline::print);
    if left_out > 0 {
        let seats = page::counted(left_out, "more partner product");
        page::print(format!("{seats} not asked, for another product or several reasons; `--all` shows them"));
    }
}

/// The sections to print in their order, and the number of others.
fn shown(sections: Vec<(bool, bool, SeatOutline)>, is_all: bool) -> (Vec<SeatOutline>, usize) {
    let is_all = is_all || sections.len() <= FEW;
    let (asked, others): (Vec<_>, Vec<_>) = sections.into_iter().partition(|(is_asked, ..)| *is_asked);
    let (left_out, near): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, far, _)| *far && !is_all);
    (asked.into_iter().chain(near).map(|(.., section)| section).collect(), left_out.len())
}

/// Offers with the same outcome.
#[derive(Debug, PartialEq, Eq)]
struct OutlineLine {
    offers: Vec<String>,
    state: (String, Color),
    reasons: Vec<String>,
}

const OFFERS_WIDTH: u16 = 26;

/// A longer reason goes below the heading.
const REASON: usize = 100;

/// Maximum line width when standard output is not a terminal: reasons are sentences, and some list fifty
/// states.
const WIDTH: u16 = 160;

impl SeatOutline {
    /// A section of a partner's seat with its outcome.
    pub fn new(partner: &str, product: &str, state: impl Into<String>, color: Color) -> Self {
        Self { title: format!("{partner}, {product}"), state: (state.into(), color), lines: Vec::new() }
    }

    /// Adds why the seat is not asked.
    pub fn refused(&mut self, refusals: &[EligibilityObjection]) {
        let reasons: Vec<String> = refusals.iter().map(reason).collect();
        match &reasons[..] {
            [] => {}
            [only] if only.chars().count() <= REASON => self.state.0.push_str(&format!(": {only}")),
            _ => self.lines.push(OutlineLine {
                offers: Vec::new(),
                state: (String::new(), Color::Plain),
                reasons,
            }),
        }
    }

    /// Adds an offer's outcome and its reasons.
    pub fn offer(&mut self, name: &str, state: (&str, Color), reasons: Vec<String>) {
        let state = (state.0.to_owned(), state.1);
        match self.lines.iter_mut().find(|line| line.state == state && line.reasons == reasons) {
            Some(alike) => alike.offers.push(name.to_owned()),
            None => self.lines.push(OutlineLine { offers: vec![name.to_owned()], state, reasons }),
        }
    }

    /// Adds why an offer does not match.
    pub fn unmet(&mut self, name: &str, refusals: &[EligibilityObjection]) {
        self.offer(name, ("no match", Color::Red), refusals.iter().map(reason).collect());
    }

    /// Whether the section lists any offer.
    pub fn has_offers(&self) -> bool {
        self.lines.iter().any(|line| !line.offers.is_empty())
    }

    fn print(&self) {
        let (state, color) = &self.state;
        page::print(format_args!("{}   {}", self.title, page::tinted(state, *color)));
        if self.lines.is_empty() {
            return;
        }
        let mut table = page::list();
        for line in &self.lines {
            table.add_row([
                Cell::new(line.offers.join(", ")),
                page::toned(&line.state.0, line.state.1),
                Cell::new(line.reasons.join("\n")),
            ]);
        }
        if table.width().is_none() {
            table.set_width(WIDTH).set_content_arrangement(ContentArrangement::Dynamic);
        }
        for (column, width) in [(0, OFFERS_WIDTH), (1, 11)] {
            if let Some(column) = table.column_mut(column) {
                column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
            }
        }
        page::print(table.trim_fmt());
    }
}

fn reason(refusal: &EligibilityObjection) -> String {
    match (refusal.wanted.as_str(), refusal.found.as_str()) {
        (_, "") => refusal.wanted.clone(),
        // "not asked: not paused" would deny itself.
        (NOT_PAUSED, found) => found.to_owned(),
        (_, found) => format!("{}, found {found}", refusal.wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_that_fare_alike_are_told_together() {
        let mut section = SeatOutline::new("bank", "loan", "asked", Color::Green);
        let age = [EligibilityObjection::new("`age` at least 99", "40")];
        section.offer("a/24", ("matched", Color::Green), vec!["score 2.00".to_owned()]);
        section.unmet("b/24", &age);
        section.offer("a/36", ("matched", Color::Green), vec!["score 2.00".to_owned()]);
        section.unmet("b/36", &age);
        let told: Vec<(String, &[String])> =
            section.lines.iter().map(|line| (line.offers.join(" "), &line.reasons[..])).collect();
        assert_eq!(
            told,
            [
                ("a/24 a/36".to_owned(), &["score 2.00".to_owned()][..]),
                ("b/24 b/36".to_owned(), &["`age` at least 99, found 40".to_owned()][..]),
            ]
        );
    }

    #[test]
    fn of_many_seats_those_that_are_asked_or_nearly_are_printed() {
        let sections = |far: usize| {
            let all = [(false, false), (true, false)].into_iter().chain(vec![(false, true); far + 1]);
            let outline = |title: &str| SeatOutline::new(title, "loan", "", Color::Plain);
            all.map(|(asked, far)| (asked, far, outline(&format!("{asked} {far}")))).collect::<Vec<_>>()
        };
        let titles = |(shown, left_out): (Vec<SeatOutline>, usize)| {
            (shown.iter().map(|section| section.title.clone()).collect::<Vec<_>>(), left_out)
        };
        assert_eq!(
            titles(shown(sections(20), false)),
            (vec!["true false, loan".to_owned(), "false false, loan".to_owned()], 21)
        );
        let (all, left_out) = titles(shown(sections(20), true));
        assert_eq!((all.len(), all[0].as_str(), left_out), (23, "true false, loan", 0));
        assert_eq!(shown(sections(9), false).0.len(), 12);
    }

    #[test]
    fn a_single_reason_against_a_seat_stands_in_its_heading() {
        let mut section = SeatOutline::new("bank", "loan", "not asked", Color::Red);
        section.refused(&[EligibilityObjection::new(NOT_PAUSED, "paused by an operator")]);
        assert_eq!(section.state.0, "not asked: paused by an operator");
        assert!(!section.has_offers() && section.lines.is_empty());
    }
}
