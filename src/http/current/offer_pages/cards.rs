//! Offers on a shelf by kind, one card for each institution.

use std::collections::HashMap;
use std::fmt::Display;
use std::mem::take;

use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use offerd_base::config::split_scheme;
use offerd_insight::sheet::figures;
use offerd_model::{
    BaseUrl, CreditCardOffer, LoanOffer, Money, MortgageOffer, Offer, PendingResponse, Percent, RateTable,
    SavingsOffer, SpecialOffer, TermUnit,
};
use offerd_partners::finance;

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
    cards: Vec<InstitutionCard>,
}

/// The offers of one kind of an institution.
#[derive(Debug, Serialize)]
struct InstitutionCard {
    id: String,
    institution: String,
    /// Path of its logo, if this host serves it; else the card shows the initials.
    logo: Option<String>,
    initials: String,
    tone: u32,
    offers: Vec<ShownOffer>,
    /// Disclaimers that must be shown with each of its offers.
    disclaimers: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
struct ShownOffer {
    uuid: Uuid,
    url: String,
    #[serde(skip)]
    institution: String,
    #[serde(skip)]
    logo_url: String,
    title: String,
    /// The monthly payment, and the amount and term that it is for.
    payment: Option<(String, String)>,
    term: Option<String>,
    keys: SortKeys,
    /// Whether the institution has already judged the person.
    firm: bool,
    /// Firmness, and other highlights.
    badges: Vec<&'static str>,
    about: Option<String>,
    /// Costs or yields: labels and figures.
    figures: Vec<(&'static str, String)>,
    /// Features that must be shown.
    features: Vec<String>,
    /// Features that may be collapsed.
    more: Vec<String>,
    /// Further disclaimers that must be shown.
    disclaimers: Vec<String>,
    rates_url: Option<String>,
    /// Remaining time, milliseconds, if it ends before the page does; 0 if it has ended.
    ends_in: Option<i64>,
}

/// Figures that the page's script sorts by; the lowest comes first.
#[derive(Debug, Default, Serialize)]
struct SortKeys {
    payment: Option<f64>,
    rate: Option<f64>,
    months: Option<f64>,
}

/// The shelf of a table, with the end times of its offers.
pub fn shelf(table: RateTable, ends: &OfferEnds, base_url: &BaseUrl) -> Shelf {
    let (offers, complete) = (table.offer_count(), table.is_complete());
    let (requested, pending) = (table.loan_amount, table.pending_responses);
    let loans = table.loan_offers.into_iter().map(|offer| loan(offer, requested));
    let mut sections = [
        section("loans", "Loans", loans),
        section("cards", "Credit cards", table.credit_card_offers.into_iter().map(credit_card)),
        section("savings", "Savings", table.savings_offers.into_iter().map(savings)),
        section("mortgages", "Mortgages", table.mortgage_offers.into_iter().map(mortgage)),
        section("more", "More for you", table.special_offers.into_iter().map(special)),
    ];
    let mut ended = 0;
    for card in sections.iter_mut().flat_map(|section| &mut section.cards) {
        card.logo = card.logo.take().and_then(|url| sample_logo(&url, base_url));
        for offer in &mut card.offers {
            offer.ends_in = ends.of(offer.uuid);
            ended += usize::from(offer.ends_in == Some(0));
        }
    }
    let sections = sections.into_iter().filter(|section| !section.cards.is_empty()).collect();
    Shelf { status: status(offers - ended, ended, &pending), complete, sections }
}

/// A section with a card for each institution, in the order of their first offers.
fn section(
    id: &'static str,
    heading: &'static str,
    offers: impl Iterator<Item = ShownOffer>,
) -> OfferSection {
    let mut cards: Vec<InstitutionCard> = Vec::new();
    for mut offer in offers {
        let known = cards.iter().position(|card| card.institution == offer.institution);
        let place = known.unwrap_or_else(|| {
            cards.push(InstitutionCard::new(id, &mut offer));
            cards.len() - 1
        });
        cards[place].offers.push(offer);
    }
    cards.iter_mut().for_each(InstitutionCard::share_disclaimers);
    OfferSection { id, heading, cards }
}

impl InstitutionCard {
    fn new(section: &str, first: &mut ShownOffer) -> Self {
        let institution = first.institution.clone();
        let words = || institution.split_whitespace();
        Self {
            id: format!("{section}-{}", words().collect::<Vec<_>>().join("-")),
            initials: words().take(2).filter_map(|word| word.chars().next()).collect(),
            tone: institution.chars().map(u32::from).fold(0, u32::wrapping_add) % 6,
            logo: Some(take(&mut first.logo_url)),
            offers: Vec::new(),
            disclaimers: Vec::new(),
            institution,
        }
    }

    /// Moves the disclaimers that all offers have to the card, which shows them once.
    fn share_disclaimers(&mut self) {
        let have = |disclaimer: &String| self.offers.iter().all(|it| it.disclaimers.contains(disclaimer));
        let shared = self.offers[0].disclaimers.iter().filter(|it| have(it)).cloned().collect::<Vec<_>>();
        for offer in &mut self.offers {
            offer.disclaimers.retain(|disclaimer| !shared.contains(disclaimer));
        }
        self.disclaimers = shared;
    }
}

/// The path of a sample partner's logo. Pages load nothing from other hosts.
fn sample_logo(url: &str, base_url: &BaseUrl) -> Option<String> {
    let path = url.strip_prefix(&base_url.absolute("/samples/"))?;
    Some(base_url.on_host(format_args!("/samples/{path}")))
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

/// `requested` is the amount that the lead asks for; an offer of less is priced at its own.
fn loan(offer: LoanOffer, requested: Option<i32>) -> ShownOffer {
    let monthly = offer.min_monthly_payment.or(offer.monthly_payment);
    let fee = range(offer.min_fee_rate, offer.max_fee_rate, percent)
        .filter(|_| offer.max_fee_rate.or(offer.min_fee_rate).is_some_and(|fee| fee.thousandths() > 0));
    let firm = firmness(offer.pre_approved, offer.pre_qualified, false);
    let greatest = offer.max_monthly_payment.or(offer.monthly_payment);
    let amount = |amount: i32| money(Money::from_dollars(amount));
    let priced = requested.map_or(offer.max_amount, |requested| requested.min(offer.max_amount));
    let term = term(offer.term_length, offer.term_unit);
    let payment = payment(monthly, greatest, Some(amount(priced)), term.as_deref());
    let shown_term = offer.term_description.or_else(|| term.clone()).filter(|_| payment.is_none());
    ShownOffer {
        uuid: offer.uuid,
        url: offer.url.unwrap_or_default(),
        keys: SortKeys {
            payment: monthly.or(greatest).map(Money::to_f64),
            rate: offer.min_apr.or(offer.max_apr).map(Percent::to_f64),
            months: months(offer.term_length, offer.term_unit),
        },
        title: words(offer.product_sub_type.as_str()),
        firm: firm.is_some(),
        badges: firm.into_iter().chain(offer.sponsored.then_some("Sponsored")).collect(),
        figures: figures([
            ("APR", range(offer.min_apr, offer.max_apr, percent)),
            ("Amount", range(offer.min_amount, Some(offer.max_amount), amount)),
            ("Term", shown_term),
            ("Origination fee", fee),
        ]),
        disclaimers: said([offer.product_sub_type_disclaimer, offer.terms, offer.originator.disclaimer]),
        institution: offer.originator.name,
        logo_url: offer.originator.images.into_iter().next().map(|image| image.url).unwrap_or_default(),
        payment,
        term,
        ..ShownOffer::default()
    }
}

fn with_details<D>(offer: Offer<D>) -> (ShownOffer, D) {
    let notes = said([offer.disclaimer, offer.product_sub_type_disclaimer, Some(offer.partner.disclaimer)]);
    let shown = ShownOffer {
        uuid: offer.uuid,
        url: offer.url,
        title: words(offer.product_sub_type.as_str()),
        disclaimers: notes,
        institution: offer.partner.name,
        logo_url: offer.partner.image_url,
        ..ShownOffer::default()
    };
    (shown, offer.details)
}

fn credit_card(offer: CreditCardOffer) -> ShownOffer {
    let (card, details) = with_details(offer);
    let fee = range(details.min_annual_fee, details.max_annual_fee, money);
    let purchase = range(details.min_purchase_apr, details.max_purchase_apr, percent);
    let transfer = details.balance_transfer_intro_apr_text.or(details.balance_transfer_apr_text);
    let firm = firmness(details.pre_approved, details.pre_qualified, details.pre_selected);
    let least = details.min_purchase_apr.or(details.max_purchase_apr);
    ShownOffer {
        keys: SortKeys { rate: least.map(Percent::to_f64), ..SortKeys::default() },
        title: details.card_name.unwrap_or(card.title),
        firm: firm.is_some_and(|firm| firm != SELECTED),
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

fn savings(offer: SavingsOffer) -> ShownOffer {
    let (card, details) = with_details(offer);
    let as_of = DateTime::from_timestamp_millis(details.effective_as_of.millis()).as_ref().map(day);
    let introductory = details.introductory_rate.zip(details.introductory_period_months);
    let introductory = introductory.map(|(rate, months)| format!("{} for {months} months", percent(rate)));
    ShownOffer {
        // The best yield is the highest.
        keys: SortKeys { rate: Some(-details.annual_percent_yield.to_f64()), ..SortKeys::default() },
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

/// The offer does not name its amount, which follows from payment, rate and term.
fn mortgage(offer: MortgageOffer) -> ShownOffer {
    let (card, details) = with_details(offer);
    let [paid, rate] = [details.monthly_payment.to_f64(), details.interest_rate.to_f64()];
    let amount = finance::amount_repaid(paid, rate, details.loan_term.unsigned_abs());
    let amount = amount.and_then(Money::from_f64).map(money);
    let term = match details.loan_term {
        months if months % 12 == 0 => term(months / 12, TermUnit::Year),
        months => term(months, TermUnit::Month),
    };
    let loan_type = details.loan_type.as_str();
    let payment = payment(Some(details.monthly_payment), None, amount, term.as_deref());
    let payment = payment.map(|(figure, basis)| match loan_type.ends_with("fixed") {
        true => (figure, basis),
        false => (figure, basis.replacen("a month", "a month at first", 1)),
    });
    ShownOffer {
        payment,
        keys: SortKeys {
            payment: Some(paid),
            rate: Some(details.apr.to_f64()),
            months: months(details.loan_term, TermUnit::Month),
        },
        term,
        title: mortgage_title(loan_type),
        figures: figures([
            ("APR", Some(percent(details.apr))),
            ("Rate", Some(percent(details.interest_rate))),
            ("Closing costs", Some(money(details.net_closing_costs))),
        ]),
        ..card
    }
}

/// `30-year fixed`, `5/1 adjustable`; in words if it is neither.
fn mortgage_title(loan_type: &str) -> String {
    let figure = |word: &str| match word {
        "five" => "5",
        "seven" => "7",
        "ten" => "10",
        "fifteen" => "15",
        "twenty" => "20",
        "thirty" => "30",
        _ => "40",
    };
    match loan_type.split('_').collect::<Vec<_>>()[..] {
        [years, "year", "fixed"] => format!("{}-year fixed", figure(years)),
        [years, "one", "adjustable"] => format!("{}/1 adjustable", figure(years)),
        _ => words(loan_type),
    }
}

fn special(offer: SpecialOffer) -> ShownOffer {
    ShownOffer {
        uuid: offer.uuid,
        url: offer.url,
        title: offer.name,
        about: Some(offer.desc),
        disclaimers: said([offer.disclaimer]),
        institution: offer.partner_name,
        logo_url: offer.partner_image_url,
        ..ShownOffer::default()
    }
}

/// A monthly payment with its basis: `$336.89 to $371.58`, `a month for $10,000 over 36 months`.
fn payment(
    least: Option<Money>,
    greatest: Option<Money>,
    amount: Option<String>,
    term: Option<&str>,
) -> Option<(String, String)> {
    let figure = range(least, greatest, money)?.replace('–', " to ");
    let amount = amount.map(|amount| format!(" for {amount}")).unwrap_or_default();
    let term = term.map(|term| format!(" over {term}")).unwrap_or_default();
    Some((figure, format!("a month{amount}{term}")))
}

fn months(length: i32, unit: TermUnit) -> Option<f64> {
    let length = f64::from(length);
    match unit {
        TermUnit::Open => None,
        TermUnit::Day => Some(length / 30.0),
        TermUnit::Month => Some(length),
        TermUnit::Year => Some(length * 12.0),
    }
}

/// The badge of an offer that was selected for the person, whom its institution has not judged.
const SELECTED: &str = "Selected for you";

fn firmness(approved: bool, qualified: bool, selected: bool) -> Option<&'static str> {
    match (approved, qualified, selected) {
        (true, ..) => Some("Pre-approved"),
        (_, true, _) => Some("Pre-qualified"),
        (.., true) => Some(SELECTED),
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
    use offerd_model::MortgageLoanType;

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
        for (loan_type, title) in [
            (MortgageLoanType::ThirtyYearFixed, "30-year fixed"),
            (MortgageLoanType::FortyYearFixed, "40-year fixed"),
            (MortgageLoanType::FiveOneAdjustable, "5/1 adjustable"),
            (MortgageLoanType::FiveYearIntro, "Five year intro 30 year adjustable"),
        ] {
            assert_eq!(mortgage_title(loan_type.as_str()), title);
        }
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
        let cards = cards_of(table);
        let shown: Vec<&ShownOffer> = cards.iter().flat_map(|card| &card.offers).collect();
        assert_eq!(shown.len(), offers);
        assert!(cards.iter().all(|card| !card.institution.is_empty()));
        assert!(shown.iter().all(|offer| !offer.title.is_empty()));
        let of_card = cards.iter().find(|shown| shown.offers[0].uuid == card.uuid).unwrap();
        assert_eq!(of_card.disclaimers, ["Terms apply."]);
        assert_eq!(of_card.offers[0].features, card.details.details.unwrap_or_default());
    }

    fn cards_of(table: RateTable) -> Vec<InstitutionCard> {
        let sections = shelf(table, &OfferEnds::default(), &BaseUrl::default()).sections;
        sections.into_iter().flat_map(|section| section.cards).collect()
    }

    #[test]
    fn an_institution_has_one_card_with_its_terms_and_says_each_disclaimer_once() {
        let example = include_str!("../../openapi/examples/rate_table.json");
        let mut table: RateTable = serde_json::from_str(example).unwrap();
        let first = &mut table.loan_offers[0];
        first.terms = Some("Rates may change.".to_owned());
        let mut second = LoanOffer { uuid: Uuid::nil(), term_length: 60, ..first.clone() };
        second.product_sub_type_disclaimer = Some("Fees apply.".to_owned());
        let mut other = second.clone();
        other.originator.name = "Other Lender".to_owned();
        table.loan_offers.extend([other, second]);
        let cards = cards_of(table);
        let loans: Vec<_> = cards.iter().filter(|card| card.id.starts_with("loans-")).collect();
        let names = loans.iter().map(|card| (&*card.id, card.offers.len())).collect::<Vec<_>>();
        assert_eq!(names, [("loans-Wrenfold-Credit", 2), ("loans-Other-Lender", 1)]);
        assert_eq!(loans[0].disclaimers, ["Rates may change."]);
        let own = loans[0].offers.iter().map(|offer| offer.disclaimers.join(" ")).collect::<Vec<_>>();
        assert_eq!(own, ["", "Fees apply."], "what holds for one stays with it");
        let terms = loans[0].offers.iter().map(|offer| offer.term.as_deref()).collect::<Vec<_>>();
        assert_eq!(terms, [Some("36 months"), Some("60 months")]);
    }

    #[test]
    fn a_monthly_payment_names_the_amount_and_the_term_that_it_is_for() {
        let example = include_str!("../../openapi/examples/rate_table.json");
        let offer = serde_json::from_str::<RateTable>(example).unwrap().loan_offers.remove(0);
        for (requested, amount) in [(Some(10_000), "$10,000"), (Some(20_000), "$15,000"), (None, "$15,000")] {
            let (figure, basis) = loan(offer.clone(), requested).payment.unwrap();
            assert_eq!(figure, "$336.89 to $371.58");
            assert_eq!(basis, format!("a month for {amount} over 36 months"), "asked for {requested:?}");
        }
        let unpriced = LoanOffer { min_monthly_payment: None, max_monthly_payment: None, ..offer };
        let unpriced = loan(unpriced, Some(10_000));
        assert_eq!(unpriced.payment, None);
        assert!(unpriced.figures.contains(&("Term", "36 months".to_owned())));
    }
}
