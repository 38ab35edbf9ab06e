//! A searchable list of the offers of a book.

use std::sync::Arc;

use super::book::Book;
use super::catalog::CatalogOffer;
use super::seat::Seat;
use offerd_model::ProductType;

/// A search.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Words that must all occur in the partner, name or kind of an offer; case-insensitive.
    pub words: String,
    /// Restricts the search to one product type.
    pub product_type: Option<ProductType>,
}

/// An offer in the list.
#[derive(Debug, Clone)]
pub struct OfferListing {
    /// The seat with this offer in its catalog.
    pub seat: Arc<Seat>,
    nth: usize,
}

impl Book {
    /// The number of matching offers, and one page of them, in file order.
    pub fn listed(&self, search: &Search, skipped: usize, most: usize) -> (usize, Vec<OfferListing>) {
        let words: Vec<String> = search.words.split_whitespace().map(str::to_lowercase).collect();
        let mut found = 0;
        let mut listed = Vec::new();
        let is_wanted = |seat: &&Arc<Seat>| search.product_type.is_none_or(|one| one == seat.product_type);
        for seat in self.seats().iter().filter(is_wanted) {
            let text = format!("{} {} {}", seat.identity.key, seat.identity.partner.name, seat.product_type);
            let text = text.to_lowercase();
            let missing: Vec<&String> = words.iter().filter(|word| !text.contains(*word)).collect();
            for (nth, _) in seat.offers.iter().enumerate().filter(|(_, offer)| holds_all(offer, &missing)) {
                if found >= skipped && listed.len() < most {
                    listed.push(OfferListing { seat: Arc::clone(seat), nth });
                }
                found += 1;
            }
        }
        (found, listed)
    }
}

fn holds_all(offer: &CatalogOffer, words: &[&String]) -> bool {
    let sub_type = offer.sub_type.map_or("", |sub_type| sub_type.as_str());
    words.iter().all(|word| sub_type.contains(*word) || offer.name.to_lowercase().contains(*word))
}

impl OfferListing {
    /// The offer.
    pub fn offer(&self) -> &CatalogOffer {
        &self.seat.offers[self.nth]
    }

    /// The alternatives of its rule in words; a lead must meet every condition of one of them.
    pub fn conditions(&self) -> Vec<Vec<String>> {
        let alternatives = self.offer().rule.alternatives.iter();
        alternatives.map(|all| all.iter().map(ToString::to_string).collect()).collect()
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
        listed.iter().map(|one| format!("{} {}", one.seat.identity.key, one.offer().name)).collect()
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
        assert_eq!((count, listed.len(), listed[0].offer().name.as_str()), (3, 1, "account"));
        assert!(!listed[0].conditions().is_empty() && !listed[0].seat.paused);
    }
}
