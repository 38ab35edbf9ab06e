//! Offers as cards of a page, on a shelf by kind.

use std::collections::HashMap;
use std::fmt::Display;

use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use offerd_base::config::split_scheme;
use offerd_insight::sheet::figures;
use offerd_model::{
    CreditCardOffer, LoanOffer, Money, MortgageOffer, Offer, PendingResponse, Percent, RateTable,
    SavingsOffer, SpecialOffer, TermUnit,
};

/// End times of offers, Unix milliseconds.
#[derive(Debug, Default)]
pub struct OfferEnds {
    /// By UUID; a missing offer has no known end.
    pub at: HashMap<Uuid, i64>,
    /// The time of rendering.
    pub now: i64,
    /// When the page expires. Offers that end later end with it.
    pub page: i64,
}

impl OfferEnds {
    /// Remaining time of an offer, milliseconds, if it ends before the page does; 0 if it has ended.
    fn of(&self, offer: Uuid) -> Option<i64> {
        Some((self.at.get(&offer).filter(|at| **at < self.page)? - self.now).max(0))
    }
}

/// The offers of a table for a page.
#[derive(Debug, Serialize)]
pub struct Shelf {
    status: String,
    complete: bool,
    sections: Vec<OfferSection>,
}

#[derive(Debug, Serialize)]
struct OfferSection {
    id: &'static str,
    heading: &'static str,
    cards: Vec<OfferCard>,
}

#[derive(Debug, Default, Serialize)]
struct OfferCard {
    uuid: Uuid,
    url: String,
    institution: String,
    initials: String,
    tone: u32,
    title: String,
    /// Firmness, and other highlights.
    badges: Vec<&'static str>,
    about: Option<String>,
    /// Costs or yields: labels and figures.
    figures: Vec<(&'static str, String)>,
    /// Features that must be shown.
    features: Vec<String>,
    /// Features that may be collapsed.
    more: Vec<String>,
    /// Disclaimers that must be shown.
    disclaimers: Vec<String>,
    rates_url: Option<String>,
    /// Remaining time, milliseconds, if it ends before the page does; 0 if it has ended.
    ends_in: Option<i64>,
}

impl Shelf {
    /// Whether an offer will end while the page is open.
    pub fn has_ends(&self) -> bool {
        let mut cards = self.sections.iter().flat_map(|section| &section.cards);
        cards.any(|card| card.ends_in.is_some_and(|ends_in| ends_in > 0))
    }
}

/// The shelf of a table, with the end times of its offers.
pub fn shelf(table: RateTable, ends: &OfferEnds) -> Shelf {
    let (offers, complete) = (table.offer_count(), table.is_complete());
    let pending = table.pending_responses;
    let sections = [
        section("loans", "Loans", table.loan_offers, loan),
        section("cards", "Credit cards", table.credit_card_offers, credit_card),
        section("savings", "Savings", table.savings_offers, savings),
        section("mortgages", "Mortgages", table.mortgage_offers, mortgage),
        section("more", "More for you", table.special_offers, special),
    ];
    let mut sections: Vec<OfferSection> = sections.into_iter().filter(|it| !it.cards.is_empty()).collect();
    for card in sections.iter_mut().flat_map(|section| &mut section.cards) {
        card.ends_in = ends.of(card.uuid);
    }
    let cards = sections.iter().flat_map(|section| &section.cards);
    let ended = cards.filter(|card| card.ends_in == Some(0)).count();
    Shelf { status: status(offers - ended, ended, &pending), complete, sections }
}

fn section<O>(id: &'static str, heading: &'static str, of: Vec<O>, card: fn(O) -> OfferCard) -> OfferSection {
    OfferSection { id, heading, cards: of.into_iter().map(card).collect() }
}

/// The number of offers, and the outstanding institutions. The page's script uses the same wording.
fn status(standing: usize, ended: usize, pending: &[PendingResponse]) -> String {
    let found = match (standing, ended) {
        (0, ended) if ended > 0 && pending.is_empty() => "No offers any more".to_owned(),
        (0, _) => "No offers".to_owned(),
        (1, _) => "1 offer".to_owned(),
        (many, _) => format!("{many} offers"),
    };
    match (pending.len(), standing + ended) {
        (0, 0) => "No institution has an offer for you this time.".to_owned(),
        (0, _) => format!("{found}. Every institution has answered."),
        (1, _) => format!("{found} so far. One institution is still deciding."),
        (many, _) => format!("{found} so far. {many} institutions are still deciding."),
    }
}

fn loan(offer: LoanOffer) -> OfferCard {
    let monthly = offer.min_monthly_payment.or(offer.monthly_payment);
    let fee = range(offer.min_fee_rate, offer.max_fee_rate, percent)
        .filter(|_| offer.max_fee_rate.or(offer.min_fee_rate).is_some_and(|fee| fee.thousandths() > 0));
    let firm = firmness(offer.pre_approved, offer.pre_qualified, false);
    let amount = |amount: i32| money(Money::from_dollars(amount));
    OfferCard {
        uuid: offer.uuid,
        url: offer.url.unwrap_or_default(),
        title: words(offer.product_sub_type.as_str()),
        badges: firm.into_iter().chain(offer.sponsored.then_some("Sponsored")).collect(),
        figures: figures([
            ("APR", range(offer.min_apr, offer.max_apr, percent)),
            ("Monthly payment", range(monthly, offer.max_monthly_payment.or(offer.monthly_payment), money)),
            ("Amount", range(offer.min_amount, Some(offer.max_amount), amount)),
            ("Term", offer.term_description.or_else(|| term(offer.term_length, offer.term_unit))),
            ("Origination fee", fee),
        ]),
        disclaimers: said([offer.product_sub_type_disclaimer, offer.terms, offer.originator.disclaimer]),
        ..of(offer.originator.name)
    }
}

fn with_details<D>(offer: Offer<D>) -> (OfferCard, D) {
    let notes = said([offer.disclaimer, offer.product_sub_type_disclaimer, Some(offer.partner.disclaimer)]);
    let title = words(offer.product_sub_type.as_str());
    (
        OfferCard { uuid: offer.uuid, url: offer.url, title, disclaimers: notes, ..of(offer.partner.name) },
        offer.details,
    )
}

fn credit_card(offer: CreditCardOffer) -> OfferCard {
    let (card, details) = with_details(offer);
    let fee = range(details.min_annual_fee, details.max_annual_fee, money);
    let purchase = range(details.min_purchase_apr, details.max_purchase_apr, percent);
    let transfer = details.balance_transfer_intro_apr_text.or(details.balance_transfer_apr_text);
    let firm = firmness(details.pre_approved, details.pre_qualified, details.pre_selected);
    OfferCard {
        title: details.card_name.unwrap_or(card.title),
        badges: firm.into_iter().collect(),
        about: details.intro_offer_text,
        figures: figures([
            ("Purchase APR", details.purchase_apr_text.or(purchase)),
            ("Intro APR", details.purchase_intro_apr_text),
            ("Balance transfers", transfer),
            ("Annual fee", fee),
        ]),
        features: details.details.unwrap_or_default(),
        more: details.additional_details.unwrap_or_default(),
        rates_url: details.rates_url.filter(|url| split_scheme(url).is_some()),
        ..card
    }
}

fn savings(offer: SavingsOffer) -> OfferCard {
    let (card, details) = with_details(offer);
    let as_of = DateTime::from_timestamp_millis(details.effective_as_of.millis()).as_ref().map(day);
    let introductory = details.introductory_rate.zip(details.introductory_period_months);
    let introductory = introductory.map(|(rate, months)| format!("{} for {months} months", percent(rate)));
    OfferCard {
        title: details.name.unwrap_or(card.title),
        about: details.description,
        figures: figures([
            ("APY", Some(percent(details.annual_percent_yield))),
            ("Intro rate", introductory),
            ("Minimum deposit", Some(money(details.minimum_deposit))),
            ("Monthly fee", Some(money(details.monthly_fee))),
            ("As of", as_of),
        ]),
        features: details.details.into_iter().collect(),
        ..card
    }
}

fn mortgage(offer: MortgageOffer) -> OfferCard {
    let (card, details) = with_details(offer);
    OfferCard {
        title: words(details.loan_type.as_str()),
        figures: figures([
            ("APR", Some(percent(details.apr))),
            ("Rate", Some(percent(details.interest_rate))),
            ("Monthly payment", Some(money(details.monthly_payment))),
            ("Closing costs", Some(money(details.net_closing_costs))),
        ]),
        ..card
    }
}

fn special(offer: SpecialOffer) -> OfferCard {
    OfferCard {
        uuid: offer.uuid,
        url: offer.url,
        title: offer.name,
        about: Some(offer.desc),
        disclaimers: said([offer.disclaimer]),
        ..of(offer.partner_name)
    }
}

fn of(institution: String) -> OfferCard {
    let firsts = institution.split_whitespace().take(2).filter_map(|word| word.chars().next());
    OfferCard {
        initials: firsts.collect(),
        tone: institution.chars().map(u32::from).fold(0, u32::wrapping_add) % 6,
        institution,
        ..OfferCard::default()
    }
}

fn firmness(approved: bool, qualified: bool, selected: bool) -> Option<&'static str> {
    match (approved, qualified, selected) {
        (true, ..) => Some("Pre-approved"),
        (_, true, _) => Some("Pre-qualified"),
        (.., true) => Some("Selected for you"),
        _ => None,
    }
}

fn figures<const N: usize>(given: [(&'static str, Option<String>); N]) -> Vec<(&'static str, String)> {
    let given = given.into_iter().filter_map(|(name, figure)| Some((name, figure?)));
    given.filter(|(_, figure)| !figure.is_empty()).collect()
}

fn said<const N: usize>(given: [Option<String>; N]) -> Vec<String> {
    given.into_iter().flatten().filter(|words| !words.trim().is_empty()).collect()
}

fn range<F: PartialEq + Copy, T: Display>(
    least: Option<F>,
    greatest: Option<F>,
    figure: impl Fn(F) -> T,
) -> Option<String> {
    Some(match (least, greatest) {
        (Some(least), Some(greatest)) if least != greatest => {
            format!("{}–{}", figure(least), figure(greatest))
        }
        (Some(one), _) => figure(one).to_string(),
        (None, greatest) => format!("up to {}", figure(greatest?)),
    })
}

fn term(length: i32, unit: TermUnit) -> Option<String> {
    let of_unit = match unit {
        TermUnit::Open => return Some("Open".to_owned()),
        unit => unit.as_str(),
    };
    let plural = if length == 1 { "" } else { "s" };
    (length > 0).then(|| format!("{length} {of_unit}{plural}"))
}

/// A day, as pages show it.
pub fn day(at: &DateTime<Utc>) -> String {
    at.format("%B %-d, %Y").to_string()
}

fn percent(percent: Percent) -> String {
    let decimals = if percent.thousandths() % 10 == 0 { 2 } else { 3 };
    format!("{:.decimals$}%", percent.to_f64())
}

fn money(amount: Money) -> String {
    figures::dollars(amount.to_f64())
}

fn words(name: &str) -> String {
    let mut words = name.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_people_write_them() {
        let of_cents = |cents: i64| money(Money::from_f64(cents as f64 / 100.0).unwrap());
        assert_eq!(of_cents(123_456_789), "$1,234,567.89");
        assert_eq!(
            [0, 5, 95_000, 100_000, -123_400].map(of_cents),
            ["$0", "$0.05", "$950", "$1,000", "−$1,234"]
        );
        let of_thousandths =
            |thousandths: i32| percent(Percent::from_f64(f64::from(thousandths) / 1000.0).unwrap());
        assert_eq!([7_000, 7_250, 6_125, 0].map(of_thousandths), ["7.00%", "7.25%", "6.125%", "0.00%"]);
        assert_eq!(words("line_of_credit"), "Line of credit");
        assert_eq!(
            [(36, TermUnit::Month), (1, TermUnit::Year)].map(|(of, unit)| term(of, unit).unwrap()),
            ["36 months", "1 year"]
        );
        assert_eq!((term(0, TermUnit::Open).as_deref(), term(0, TermUnit::Month)), (Some("Open"), None));
    }

    #[test]
    fn an_offer_that_is_a_range_is_shown_as_one() {
        let of = |least, greatest| range(least, greatest, |figure: i32| figure.to_string());
        assert_eq!(of(Some(1), Some(2)).as_deref(), Some("1–2"));
        assert_eq!(of(Some(2), Some(2)).as_deref(), Some("2"));
        assert_eq!(of(Some(1), None).as_deref(), Some("1"));
        assert_eq!(of(None, Some(2)).as_deref(), Some("up to 2"));
        assert_eq!(of(None, None), None);
    }

    #[test]
    fn the_status_says_how_far_the_table_is() {
        let example = include_str!("../../openapi/examples/rate_table.json");
        let pending = serde_json::from_str::<RateTable>(example).unwrap().pending_responses;
        let two = [&pending[..1], &pending[..1]].concat();
        assert_eq!(status(0, 0, &[]), "No institution has an offer for you this time.");
        assert_eq!(status(0, 0, &pending[..1]), "No offers so far. One institution is still deciding.");
        assert_eq!(status(1, 0, &two), "1 offer so far. 2 institutions are still deciding.");
        assert_eq!(status(3, 0, &[]), "3 offers. Every institution has answered.");
        assert_eq!(status(2, 1, &[]), "2 offers. Every institution has answered.");
        assert_eq!(status(0, 2, &pending[..1]), "No offers so far. One institution is still deciding.");
        assert_eq!(status(0, 2, &[]), "No offers any more. Every institution has answered.");
    }

    /// A card shows everything that its kind of offer requires: its disclaimers and its institution.
    #[test]
    fn every_offer_has_a_card_with_what_must_be_shown() {
        let example = include_str!("../../openapi/examples/rate_table.json");
        let table: RateTable = serde_json::from_str(example).unwrap();
        let (offers, card) = (table.offer_count(), table.credit_card_offers[0].clone());
        let shelf = shelf(table, &OfferEnds::default());
        let cards: Vec<&OfferCard> = shelf.sections.iter().flat_map(|section| &section.cards).collect();
        assert_eq!(cards.len(), offers);
        assert!(cards.iter().all(|card| !card.institution.is_empty() && !card.title.is_empty()));
        let shown = cards.iter().find(|shown| shown.uuid == card.uuid).unwrap();
        assert_eq!(shown.disclaimers, ["Terms apply."]);
        assert_eq!(shown.features, card.details.details.unwrap_or_default());
    }
}
