//! The offers of a book as a list to look through.

use serde::Serialize;

use super::book::Book;
use super::catalog::CatalogOffer;
use super::declared::PayoutStep;
use super::partner::Seat;
use crate::model::{ProductSubType, ProductType};

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Words, all of which an offer's partner, name or kind must hold, in upper or lower case.
    pub words: String,
    /// Of one product type only.
    pub product_type: Option<ProductType>,
}

/// An offer in the list.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    /// Key of the partner.
    pub partner: String,
    /// Its name.
    pub partner_name: String,
    /// What the partner is asked about.
    pub product_type: ProductType,
    /// The finer kind, if it has one.
    pub sub_type: Option<ProductSubType>,
    /// Its name in the partner's file.
    pub name: String,
    /// Whether the partner, who lives elsewhere, says what it costs.
    pub by_partner: bool,
    /// Whether it is asked only when no first-look partner had a loan offer.
    pub second_look: bool,
    /// Whether its file has it paused.
    pub paused: bool,
    /// The step that earns a payout.
    pub earned_on: PayoutStep,
    /// Dollars of a payout.
    pub fixed: Option<f64>,
    /// Percent of the amount of a payout.
    pub percent: Option<f64>,
    /// Share of shown offers that earn it.
    pub conversion_probability: f64,
    /// What a lead must meet: one of these lists, all of it.
    pub conditions: Vec<Vec<String>>,
}

impl Book {
    /// The offers that are looked for, in the order of the files: how many there are, and those of a page.
    pub fn listed(&self, search: &Search, skipped: usize, most: usize) -> (usize, Vec<Listed>) {
        let words: Vec<String> = search.words.split_whitespace().map(str::to_lowercase).collect();
        let mut found = 0;
        let mut listed = Vec::new();
        let seats = self.seats().iter();
        for seat in seats.filter(|seat| search.product_type.is_none_or(|wanted| wanted == seat.product_type))
        {
            let of_seat =
                format!("{} {} {}", seat.identity.key, seat.identity.partner.name, seat.product_type);
            let of_seat = of_seat.to_lowercase();
            let missing: Vec<&String> = words.iter().filter(|word| !of_seat.contains(*word)).collect();
            for offer in &seat.offers {
                if !missing.iter().all(|word| holds(offer, word)) {
                    continue;
                }
                if found >= skipped && listed.len() < most {
                    listed.push(Listed::of(seat, offer));
                }
                found += 1;
            }
        }
        (found, listed)
    }
}

fn holds(offer: &CatalogOffer, word: &str) -> bool {
    let sub_type = offer.sub_type.map_or("", |sub_type| sub_type.as_str());
    sub_type.contains(word) || offer.name.to_lowercase().contains(word)
}

impl Listed {
    fn of(seat: &Seat, offer: &CatalogOffer) -> Self {
        let alternatives = offer.rule.alternatives().iter();
        let conditions = alternatives.map(|all| all.iter().map(ToString::to_string).collect());
        Self {
            partner: seat.identity.key.clone(),
            partner_name: seat.identity.partner.name.clone(),
            product_type: seat.product_type,
            sub_type: offer.sub_type,
            name: offer.name.clone(),
            by_partner: seat.http.is_some(),
            second_look: seat.second_look,
            paused: seat.paused,
            earned_on: offer.payout.on,
            fixed: offer.payout.fixed,
            percent: offer.payout.percent,
            conversion_probability: offer.conversion_probability,
            conditions: conditions.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partner_files::partner;
    use std::path::PathBuf;

    fn book() -> Book {
        let files = [partner("bank").loan("").savings(""), partner("lender").loan("paused = true")];
        let named = |(nth, file): (usize, crate::partner_files::PartnerFile)| {
            (PathBuf::from(format!("{}.toml", ["bank", "lender"][nth])), file.text())
        };
        Book::from_texts(files.into_iter().enumerate().map(named)).unwrap()
    }

    fn found(words: &str, product_type: Option<ProductType>) -> Vec<String> {
        let (count, listed) = book().listed(&Search { words: words.to_owned(), product_type }, 0, 10);
        assert_eq!(count, listed.len());
        listed.iter().map(|offer| format!("{} {}", offer.partner, offer.name)).collect()
    }

    #[test]
    fn every_word_must_be_found_in_the_partner_or_the_offer() {
        assert_eq!(found("", None).len(), 3);
        assert_eq!(found("BANK", None), ["bank personal", "bank account"]);
        assert_eq!(found("bank savings", None), ["bank account"]);
        assert_eq!(found("personal_loan", Some(ProductType::Loan)).len(), 2);
        assert!(found("bank nothing", None).is_empty());
    }

    #[test]
    fn a_page_is_a_part_of_what_is_found() {
        let (count, listed) = book().listed(&Search::default(), 1, 1);
        assert_eq!((count, listed.len(), listed[0].name.as_str()), (3, 1, "account"));
        assert!(!listed[0].conditions.is_empty() && !listed[0].paused);
    }
}
