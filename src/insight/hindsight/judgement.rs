//! Judges a lead by the partner files: why each seat, and each of its offers, does or does not answer it.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use offerd_engine::rate_table::reason::Denied;
use offerd_engine::rate_table::seating::{SeatingPlan, Verdict, verdicts};
use offerd_model::ProductType;
use offerd_partners::catalog::CatalogOffer;
use offerd_partners::eligibility::EligibilityRule;
use offerd_partners::facts::COMPANY;
use offerd_partners::quote::Spread;
use offerd_partners::{Book, Facts, Fit, QuoteTerms, Seat};

/// The judgement of one seat.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SeatJudgement {
    /// The seat.
    #[serde(skip)]
    pub seat: Arc<Seat>,
    /// The partner's key.
    pub partner: String,
    /// The seat's product type.
    pub product_type: ProductType,
    /// Whether it is asked only when no first-look partner had a loan offer.
    pub second_look: bool,
    /// Whether the lead asks for the product type; otherwise no offer is judged.
    #[serde(skip)]
    pub wanted: bool,
    /// Whether it is asked.
    pub asked: bool,
    /// Why it is not asked; empty if it is.
    pub refusals: Vec<EligibilityObjection>,
    /// Every offer; if the seat is not asked, with the offer's own refusals.
    pub offers: Vec<OfferJudgement>,
}

/// The judgement of one offer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfferJudgement {
    /// Its name in the partner's file.
    pub name: String,
    /// Whether the lead matches it and its partner is asked.
    pub matched: bool,
    /// Its score; none if it does not match, or if a remote partner is asked for its terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Its APR range, or for savings its yield, in percent, where it is known.
    #[serde(skip)]
    pub apr: Option<Spread>,
    /// Its range of monthly payments, in dollars.
    #[serde(skip)]
    pub payment: Option<Spread>,
    /// The refusals of the offer, besides those of its seat.
    pub refusals: Vec<EligibilityObjection>,
}

/// What a paused seat lacks; stands as `wanted` in objections and denials.
pub const NOT_PAUSED: &str = Denied::Paused.wanted_and_found().0;

/// What a seat found that wanted a place at the rate table.
pub const NO_PLACE: &str = "none: the limit of partners per lead was reached";

/// A single objection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EligibilityObjection {
    /// The attribute or derived name that a condition tests; `None` if it is not a condition on the lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// What was required.
    pub wanted: String,
    /// What was found instead; never a personal value.
    pub found: String,
}

impl EligibilityObjection {
    /// An objection that is not a condition on the lead.
    pub fn new(wanted: impl Into<String>, found: impl Into<String>) -> Self {
        Self { attribute: None, wanted: wanted.into(), found: found.into() }
    }

    /// Whether it concerns the lead's own data, which the client that submitted it may see.
    pub fn is_of_lead(&self) -> bool {
        self.attribute.as_ref().is_some_and(|attribute| attribute != COMPANY)
    }
}

/// Judges a lead by every seat of the book at a given time; without one no schedule applies. `counted`
/// returns the objections that no file states. At most `most` seats are asked.
pub fn judge(
    book: &Book,
    facts: &Facts,
    at: Option<DateTime<Utc>>,
    most: usize,
    counted: &dyn Fn(&Seat) -> Option<EligibilityObjection>,
) -> Vec<SeatJudgement> {
    let objections = book.seats().iter().map(|seat| objections_to(seat, facts, at, counted));
    let mut objections: Vec<Vec<EligibilityObjection>> = objections.collect();
    seat(book, facts, most, &mut objections);
    book.seats().iter().zip(objections).map(|(seat, found)| SeatJudgement::of(seat, facts, found)).collect()
}

/// Seats those without objections, as a table does. Second-look seats are judged separately.
fn seat(book: &Book, facts: &Facts, most: usize, objections: &mut [Vec<EligibilityObjection>]) {
    let fits = book.seats().iter().enumerate().filter(|(nth, _)| objections[*nth].is_empty());
    let fits = fits.map(|(position, seat)| Fit { position, seat: Arc::clone(seat), offers: Vec::new() });
    // A lead without a uuid may draw the places of any other.
    let lead = facts.uuid.unwrap_or_default();
    let judge = |seats: &[&Seat]| verdicts(seats, most, lead, vec![None; seats.len()]);
    let wants_loans = facts.lead.asks_for(ProductType::Loan);
    let SeatingPlan { fits, mut not_seated } =
        SeatingPlan::new(fits.collect(), wants_loans, most, lead, judge);

    let (held, mut asked): (Vec<Fit>, Vec<Fit>) =
        fits.into_iter().partition(|fit| fit.seat.second_look && wants_loans);
    let verdicts = judge(&held.iter().map(|fit| &*fit.seat).collect::<Vec<_>>());
    for (fit, verdict) in held.into_iter().zip(verdicts) {
        match verdict {
            Verdict::Seated => asked.push(fit),
            Verdict::NotSeated(by) => not_seated.push((fit, by)),
        }
    }
    for (fit, by) in not_seated {
        let taker = asked.iter().find(|other| other.seat.takes_from(&fit.seat));
        let taker = taker.map_or("another one", |taker| &taker.seat.identity.key);
        let (wanted, found) = match by {
            None => ("a place at the rate table", NO_PLACE),
            Some(_) => ("no exclusive partner that takes the lead", taker),
        };
        objections[fit.position].push(EligibilityObjection::new(wanted, found));
    }
}

fn objections_to(
    seat: &Seat,
    facts: &Facts,
    at: Option<DateTime<Utc>>,
    counted: &dyn Fn(&Seat) -> Option<EligibilityObjection>,
) -> Vec<EligibilityObjection> {
    let wanted = facts.lead.asks_for(seat.product_type);
    let mut objections = Vec::new();
    if seat.paused {
        objections.push(EligibilityObjection::new(NOT_PAUSED, "paused in its file"));
    }
    let gone = at.filter(|at| !seat.limits.runs_at(*at));
    objections.extend(gone.zip(seat.limits.days()).map(|(at, wanted)| {
        let day = at.with_timezone(&seat.limits.time_zone).date_naive();
        EligibilityObjection::new(wanted, day.to_string())
    }));
    if at.is_some() && facts.uuid.is_some_and(|lead| !seat.is_in_share(lead)) {
        let share = seat.limits.share.unwrap_or(1.0);
        objections
            .push(EligibilityObjection::new(format!("a lead in its share of {share}"), "one outside it"));
    }
    if let Some(at) = at.filter(|at| !seat.limits.open_at(*at)) {
        let opens = seat.limits.next_change(at);
        let opens = opens.map(|opens| format!("closed hours until {}", opens.format("%Y-%m-%d %H:%M UTC")));
        let wanted = format!("hours of its schedule in {}", seat.limits.time_zone);
        objections
            .push(EligibilityObjection::new(wanted, opens.unwrap_or_else(|| "closed hours".to_owned())));
    }
    objections.extend(counted(seat));
    if wanted {
        let unmet = refusals(&seat.rule, facts);
        if unmet.is_empty() && seat.fits_nothing(facts) {
            objections.push(EligibilityObjection::new("an offer of its file that fits the lead", "none"));
        }
        objections.extend(unmet);
    } else {
        let asked_for = facts.lead.product_types.iter().flatten();
        let names: Vec<&str> = asked_for.map(|product| product.as_str()).collect();
        let asks = format!("a lead that asks for {}", seat.product_type);
        objections.push(EligibilityObjection::new(asks, names.join(", ")));
    }
    objections
}

impl SeatJudgement {
    fn of(seat: &Arc<Seat>, facts: &Facts, refusals: Vec<EligibilityObjection>) -> Self {
        let wanted = facts.lead.asks_for(seat.product_type);
        let offers = if wanted { &seat.offers[..] } else { &[] };
        Self {
            seat: Arc::clone(seat),
            partner: seat.identity.key.clone(),
            product_type: seat.product_type,
            second_look: seat.second_look,
            wanted,
            asked: refusals.is_empty(),
            offers: offers.iter().map(|offer| OfferJudgement::of(offer, seat, &refusals, facts)).collect(),
            refusals,
        }
    }

    /// The number of its matching offers.
    pub fn matched(&self) -> usize {
        self.offers.iter().filter(|offer| offer.matched).count()
    }
}

impl OfferJudgement {
    fn of(offer: &CatalogOffer, seat: &Seat, objections: &[EligibilityObjection], facts: &Facts) -> Self {
        let mut refusals = refusals(&offer.rule, facts);
        let is_met = refusals.is_empty() && objections.is_empty();
        refusals.retain(|refusal| !objections.contains(refusal));
        let quote = (is_met && seat.http.is_none()).then(|| offer.quote(facts, true));
        let has_no_band = matches!(quote, Some(None));
        if has_no_band {
            let wanted = "a band of terms for this rating, amount and term";
            refusals.push(EligibilityObjection::new(wanted, "none"));
        }
        let quote = quote.flatten();
        let (apr, payment) = quote.as_ref().map(|quote| costs(&quote.terms)).unwrap_or_default();
        let (matched, score) = (is_met && !has_no_band, quote.map(|quote| quote.score));
        Self { name: offer.name.clone(), matched, score, apr, payment, refusals }
    }
}

/// An offer's yearly cost, or yield, and its monthly payment.
fn costs(terms: &QuoteTerms) -> (Option<Spread>, Option<Spread>) {
    match terms {
        QuoteTerms::Loan(loan) => (Some(loan.apr), loan.monthly_payment),
        QuoteTerms::Mortgage(mortgage) => {
            (Some(Spread::exactly(mortgage.apr)), Some(Spread::exactly(mortgage.monthly_payment)))
        }
        QuoteTerms::Savings(savings) => (Some(Spread::exactly(savings.annual_percent_yield)), None),
        QuoteTerms::Card(_) | QuoteTerms::Special(_) => (None, None),
    }
}

fn refusals(rule: &EligibilityRule, facts: &Facts) -> Vec<EligibilityObjection> {
    let failures = rule.failures(facts).into_iter();
    failures
        .map(|condition| EligibilityObjection {
            attribute: Some(condition.subject.path().to_owned()),
            wanted: condition.to_string(),
            found: condition.found(facts),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;
    use crate::partner_files::{PartnerFile, far_lender, partner};
    use offerd_model::{CreditBands, Lead};

    /// A partner, and what an explanation says after "found".
    #[test]
    fn what_was_found_is_a_thing() {
        let lead = r#"{"productTypes":["loan"],"loanInformation":{"loanAmount":5000},
            "creditInformation":{"providedCreditRating":"good"}}"#;
        let (lead, now) =
            (Lead::read(lead.as_bytes()).unwrap(), Utc.timestamp_opt(1_800_000_000, 0).unwrap());
        let mut facts = Facts::new(&lead, now, CreditBands::Current);
        facts.uuid = Some(uuid::Uuid::nil());
        let far = far_lender("far", "https://far.example/", "");
        let without_fit =
            far.replaced("terms = [24, 36]", "terms = [24, 36]\neligibility = { age = { min = 99 } }");
        // A band fits the rating, another the amount.
        let bands = "{ ratings = ['poor'], rate = 7.0 }, \
            { ratings = ['good'], amount = { min = 9000, max = 50000 }, rate = 7.0 }";
        let limits = |limits: &str| partner("bank").loan(&format!("limits = {{ {limits} }}"));
        let cases: [(PartnerFile, &str); 4] = [
            (without_fit, "none"),
            (partner("bank").loan("").replaced("{ rate = 7.0 }", bands), "none"),
            (limits("share = 0.000001"), "one outside it"),
            (limits("schedule = [{ days = ['sun'], from = '01:00', to = '02:00' }]"), "closed hours until "),
        ];
        for (file, wanted) in cases {
            let text = file.text();
            let book = Book::from_texts([("bank.toml".into(), text.clone())]);
            let judged = judge(&book.unwrap(), &facts, Some(now), 9, &|_| None);
            let offers = judged[0].offers.iter().flat_map(|offer| &offer.refusals);
            let found: Vec<&str> = judged[0].refusals.iter().chain(offers).map(|one| &*one.found).collect();
            assert!(found.iter().any(|one| one.starts_with(wanted)), "{wanted}: {found:?}: {text}");
        }
    }
}
