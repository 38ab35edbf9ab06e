//! The text form of an explanation: a heading per seat, and below it the outcome of its offers with the
//! reasons.

use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Width};

use crate::cli::page::{self, Color};
use offerd_insight::hindsight::judgement::EligibilityObjection;

/// A seat in the outline.
#[derive(Debug)]
pub struct SeatOutline {
    title: String,
    state: (String, Color),
    lines: Vec<OutlineLine>,
}

/// Prints the sections of seats, asked seats first.
pub fn print_all(sections: impl Iterator<Item = (bool, SeatOutline)>) {
    let (asked, others): (Vec<_>, Vec<_>) = sections.partition(|(asked, _)| *asked);
    asked.into_iter().chain(others).for_each(|(_, section)| section.print());
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
    match refusal.found.as_str() {
        "" => refusal.wanted.clone(),
        found => format!("{}, found {found}", refusal.wanted),
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
    fn a_single_reason_against_a_seat_stands_in_its_heading() {
        let mut section = SeatOutline::new("bank", "loan", "not asked", Color::Red);
        section.refused(&[EligibilityObjection::new("not paused", "paused by command")]);
        assert_eq!(section.state.0, "not asked: not paused, found paused by command");
        assert!(!section.has_offers() && section.lines.is_empty());
    }
}
