//! Estimates from partners' own rules how likely they are to lend to a person with few known attributes.
//!
//! Experimental, and limited to what the catalog declares: no partner is asked, no credit file is read.
//!
//! The **bands** of an offer are its rows of terms, each for some ratings and amounts, counted once per term
//! of the offer. Within an institution and a kind of loan:
//!
//! - A band is *in reach* if its offer is for the state, the purpose and the amount, regardless of the
//!   person's standing. An attribute that is not given does not count against anyone.
//! - It *fits* if the offer's conditions on income, rating, score, debt and debt to income hold as well.
//!   Nobody is refused for being better than required: only the lower bound of an income range counts, only
//!   the upper bound of a debt range, and a rating also satisfies conditions on each rating below it
//!   (`limited` and `unknown` are not compared).
//! - A fitting band counts by the firmness of its offer: 0.95 pre-approved, 0.80 pre-qualified, 0.50 static.
//!
//! ```text
//! probability = sum of the bands that fit / number of bands in reach × debt × derogatories
//! debt         = 1 - min(totalDebt / annualIncome, 1) / 2
//! derogatories = 0.8 ^ countOfDerogatories
//! ```
//!
//! rounded to four places. For rules on monthly debt, a sixtieth of the total debt is assumed due each month.
//! APR and terms are those of the fitting bands for the person's rating, or else for the next lower one.
//!
//! The estimate is monotonic: more income or a better rating never lowers a probability, more debt or another
//! derogatory mark never raises it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::catalog::loan::LoanCost;
use super::catalog::{CatalogOffer, Pricing};
use super::eligibility::{ConditionTest, EligibilityCondition};
use super::facts::{Facts, Subject};
use super::offer_json::percent;
use super::quote::Spread;
use super::seat::Seat;
use offerd_model::{
    AttributeValue, CreditBands, FinancialInstitutionLoanReport, Lead, LeadCreditInformation,
    LeadFinancialInformation, LeadLoanInformation, LeadPersonalInformation, LoanProbability,
    LoanReportCreateData, ProductSubType, ProductType, ProvidedCreditRating,
};

const DEBT_MONTHS: i32 = 60;

/// How much a debt of at least a year's income lowers the probability.
const DEBT_WEIGHT: f64 = 0.5;

const DEROGATORY: f64 = 0.8;

/// Approval probabilities by kind of loan: for each institution, the likeliest first, and for the network.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalEstimate {
    /// Estimates by institution.
    pub institutions: Vec<FinancialInstitutionLoanReport>,
    /// Estimates over all institutions.
    pub network: Vec<LoanProbability>,
}

/// Estimates probabilities for a person as of `now`. Ignores seats of other products, second-look seats,
/// paused seats, and offers whose prices only the partner knows.
pub fn estimate<'s>(
    seats: impl IntoIterator<Item = &'s Seat>,
    asked: &LoanReportCreateData,
    now: DateTime<Utc>,
) -> ApprovalEstimate {
    let lead = lead_of(asked);
    let facts = Facts::new(&lead, now, CreditBands::Current);
    let mut institutions: BTreeMap<Uuid, (&Seat, BandTallies)> = BTreeMap::new();
    let lends = |seat: &&Seat| seat.product_type == ProductType::Loan && !seat.paused && !seat.second_look;
    for seat in seats.into_iter().filter(lends) {
        let (_, tallies) = institutions.entry(seat.identity.institution).or_insert((seat, BTreeMap::new()));
        for offer in &seat.offers {
            if let Some(sub_type) = offer.sub_type {
                tallies.entry(sub_type).or_default().count(offer, &facts);
            }
        }
    }
    let weight = weight(asked);
    let mut institutions: Vec<_> =
        institutions.into_values().filter_map(|(seat, tallies)| report(seat, &tallies, weight)).collect();
    let likeliest = |one: &FinancialInstitutionLoanReport| {
        one.probabilities.iter().map(|one| one.probability).fold(0.0, f64::max)
    };
    institutions.sort_by(|one, two| likeliest(two).total_cmp(&likeliest(one)).then(one.name.cmp(&two.name)));
    ApprovalEstimate { network: network(&institutions), institutions }
}

fn lead_of(asked: &LoanReportCreateData) -> Lead {
    let (purpose, loan_amount) = (asked.loan_purpose, asked.loan_amount);
    let provided_credit_rating = Some(asked.credit_rating);
    Lead {
        product_types: Some(vec![ProductType::Loan]),
        personal_information: Some(LeadPersonalInformation { state: asked.state, ..Default::default() }),
        loan_information: Some(LeadLoanInformation { purpose, loan_amount }),
        credit_information: Some(LeadCreditInformation { provided_credit_rating, ..Default::default() }),
        financial_information: Some(LeadFinancialInformation {
            // A zero income would leave debt to income undefined and so in the person's favour.
            annual_income: Some(asked.annual_income.max(1)),
            monthly_debt: asked.total_debt.map(|debt| debt / DEBT_MONTHS + i32::from(debt % DEBT_MONTHS > 0)),
            ..Default::default()
        }),
        ..Lead::default()
    }
}

fn weight(asked: &LoanReportCreateData) -> f64 {
    let debt = f64::from(asked.total_debt.unwrap_or(0)) / f64::from(asked.annual_income.max(1));
    (1.0 - debt.min(1.0) * DEBT_WEIGHT) * DEROGATORY.powi(asked.count_of_derogatories.unwrap_or(0))
}

type BandTallies = BTreeMap<ProductSubType, BandTally>;

#[derive(Debug, Clone, Copy, Default)]
struct BandTally {
    in_reach: u32,
    /// Sum of the firmness of the bands that fit.
    firmness: f64,
    terms: Option<BandTerms>,
}

/// APR and terms of the bands for the nearest rating so far.
#[derive(Debug, Clone, Copy)]
struct BandTerms {
    /// Ordinal of the rating; 0 is the best.
    rating: u32,
    apr: Spread,
    months: (u32, u32),
}

impl BandTally {
    fn count(&mut self, offer: &CatalogOffer, facts: &Facts) {
        let Pricing::Loan(loan) = &offer.pricing else { return };
        if !offer.rule.holds_where(|condition| could_be_met(condition, facts, true)) {
            return;
        }
        let fits = offer.rule.holds_where(|condition| could_be_met(condition, facts, false));
        let ratings = facts.rating().map_or(u64::MAX, no_better_than);
        for LoanCost { ratings: of_band, apr, months } in loan.costs(facts.loan_amount()) {
            self.in_reach += 1;
            if fits && of_band & ratings != 0 {
                self.firmness += loan.likelihood();
                let rating = (of_band & ratings).trailing_zeros();
                self.widen(BandTerms { rating, apr, months: (months, months) });
            }
        }
    }

    fn widen(&mut self, terms: BandTerms) {
        self.terms = Some(match self.terms {
            Some(nearest) if nearest.rating < terms.rating => nearest,
            Some(nearest) if nearest.rating == terms.rating => BandTerms {
                apr: Spread::covering([nearest.apr, terms.apr]).unwrap_or(terms.apr),
                months: (nearest.months.0.min(terms.months.0), nearest.months.1.max(terms.months.1)),
                ..terms
            },
            _ => terms,
        });
    }
}

fn report(seat: &Seat, tallies: &BandTallies, weight: f64) -> Option<FinancialInstitutionLoanReport> {
    let probability = |(sub_type, tally): (&ProductSubType, &BandTally)| {
        let terms = tally.terms?;
        let probability = tally.firmness / f64::from(tally.in_reach) * weight;
        Some(LoanProbability {
            probability: (probability * 1e4).round() / 1e4,
            apr_percent_min: percent(terms.apr.min),
            apr_percent_max: percent(terms.apr.max),
            term_months_min: terms.months.0.into(),
            term_months_max: terms.months.1.into(),
            product_sub_type: Some(*sub_type),
        })
    };
    let probabilities: Vec<_> = tallies.iter().filter_map(probability).collect();
    (!probabilities.is_empty()).then(|| FinancialInstitutionLoanReport {
        uuid: seat.identity.institution,
        name: seat.identity.partner.name.clone(),
        logo_url: Some(seat.identity.partner.image_url.clone()),
        probabilities,
    })
}

/// Over all institutions: the highest probability of each kind, and the widest ranges of APR and terms.
fn network(institutions: &[FinancialInstitutionLoanReport]) -> Vec<LoanProbability> {
    let mut network: BTreeMap<Option<ProductSubType>, LoanProbability> = BTreeMap::new();
    for one in institutions.iter().flat_map(|institution| &institution.probabilities) {
        let all = network.entry(one.product_sub_type).or_insert_with(|| one.clone());
        all.probability = all.probability.max(one.probability);
        all.apr_percent_min = all.apr_percent_min.min(one.apr_percent_min);
        all.apr_percent_max = all.apr_percent_max.max(one.apr_percent_max);
        all.term_months_min = all.term_months_min.min(one.term_months_min);
        all.term_months_max = all.term_months_max.max(one.term_months_max);
    }
    network.into_values().collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Improvement {
    More,
    Less,
    Rated,
}

static STANDING: LazyLock<[(Subject, Improvement); 10]> = LazyLock::new(|| {
    [
        (Subject::of("financialInformation.annualIncome"), Improvement::More),
        (Subject::of("financialInformation.monthlyDebt"), Improvement::Less),
        (Subject::of("debtToIncome"), Improvement::Less),
        (Subject::of("loanToIncome"), Improvement::Less),
        (Subject::of("mortgageToIncome"), Improvement::Less),
        (Subject::of("paymentToIncome"), Improvement::Less),
        (Subject::of("unsecuredDebtToIncome"), Improvement::Less),
        (Subject::of("creditScore"), Improvement::More),
        (Subject::of("creditInformation.providedNumericCreditScore"), Improvement::More),
        (Subject::of("creditInformation.providedCreditRating"), Improvement::Rated),
    ]
});

/// Whether a condition could be met if the person gave more attributes. A better standing than required is
/// accepted: the best possible one if `is_ideal`, else the person's own.
fn could_be_met(condition: &EligibilityCondition, facts: &Facts, is_ideal: bool) -> bool {
    use Improvement::{Less, More, Rated};
    let Some(value) = facts.get(&condition.subject) else { return true };
    let better = STANDING.iter().find(|(known, _)| *known == condition.subject).map(|(_, better)| *better);
    match (better, &condition.test, value) {
        (None, test, value) => test.accepts(value),
        (Some(_), ..) if is_ideal => true,
        (Some(More), ConditionTest::Range { min, .. }, AttributeValue::Number(number)) => *min <= number,
        (Some(Less), ConditionTest::Range { max, .. }, AttributeValue::Number(number)) => number <= *max,
        (Some(Rated), ConditionTest::Category(wanted), AttributeValue::Category(_)) => {
            facts.rating().is_none_or(|rating| wanted & no_better_than(rating) != 0)
        }
        (Some(_), test, value) => test.accepts(value),
    }
}

/// A bit for the rating and each one below it; a rating that is not compared has only its own.
fn no_better_than(rating: ProvidedCreditRating) -> u64 {
    const COMPARED: u64 = 1 << ProvidedCreditRating::Limited.ordinal();
    let own = 1 << rating.ordinal();
    if own < COMPARED { (COMPARED - 1) & !(own - 1) } else { own }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Book;
    use crate::partner_files::partner;

    fn book() -> Book {
        Book::load(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../partners"))).unwrap()
    }

    fn estimated(book: &Book, asked: &LoanReportCreateData) -> ApprovalEstimate {
        estimate(book.seats().iter().map(AsRef::as_ref), asked, DateTime::default())
    }

    fn asked(annual_income: i32, credit_rating: ProvidedCreditRating) -> LoanReportCreateData {
        LoanReportCreateData {
            annual_income,
            credit_rating,
            total_debt: None,
            count_of_derogatories: None,
            state: None,
            loan_purpose: None,
            loan_amount: None,
        }
    }

    /// Every probability by institution and kind; `None` is the network.
    fn probabilities(estimate: &ApprovalEstimate) -> BTreeMap<(Option<Uuid>, Option<ProductSubType>), f64> {
        let of = |institution: Option<Uuid>, all: &[LoanProbability]| -> Vec<_> {
            all.iter().map(|one| ((institution, one.product_sub_type), one.probability)).collect()
        };
        let institutions = estimate.institutions.iter();
        let mut found: BTreeMap<_, _> =
            institutions.flat_map(|one| of(Some(one.uuid), &one.probabilities)).collect();
        found.extend(of(None, &estimate.network));
        found
    }

    const RATINGS: [ProvidedCreditRating; 4] = [
        ProvidedCreditRating::Excellent,
        ProvidedCreditRating::Good,
        ProvidedCreditRating::Fair,
        ProvidedCreditRating::Poor,
    ];

    fn profiles() -> impl Strategy<Value = LoanReportCreateData> {
        let debts =
            proptest::option::of(prop_oneof![0..200_000_i32, any::<i32>().prop_map(|debt| debt.max(0))]);
        let purposes = proptest::option::of(proptest::sample::select(offerd_model::LoanPurpose::ALL));
        let states = proptest::option::of(proptest::sample::select(offerd_model::State::ALL));
        (
            prop_oneof![0..300_000_i32, Just(i32::MAX)],
            proptest::sample::select(&RATINGS[..]),
            debts,
            proptest::option::of(0..50_i32),
            states,
            purposes,
            proptest::option::of(0..120_000_i32),
        )
            .prop_map(|(income, rating, debt, marks, state, purpose, amount)| LoanReportCreateData {
                total_debt: debt,
                count_of_derogatories: marks,
                state,
                loan_purpose: purpose,
                loan_amount: amount,
                ..asked(income, rating)
            })
    }

    proptest! {
        #![proptest_config(crate::cases::cases(200))]

        #[test]
        fn who_is_better_off_is_no_less_likely_to_get_a_loan(
            worse in profiles(),
            income in 0..100_000_i32,
            steps in 0..4_u16,
            debt in 0..100_000_i32,
            marks in 0..10_i32,
        ) {
            static BOOK: LazyLock<Book> = LazyLock::new(book);
            let rating = worse.credit_rating.ordinal().saturating_sub(steps);
            let better = LoanReportCreateData {
                annual_income: worse.annual_income.saturating_add(income),
                credit_rating: ProvidedCreditRating::ALL[usize::from(rating)],
                total_debt: worse.total_debt.map(|owed| (owed - debt).max(0)),
                count_of_derogatories: worse.count_of_derogatories.map(|count| (count - marks).max(0)),
                ..worse.clone()
            };
            let (worse, better) = (estimated(&BOOK, &worse), estimated(&BOOK, &better));
            let better = probabilities(&better);
            for (place, probability) in probabilities(&worse) {
                prop_assert!((0.0..=1.0).contains(&probability));
                prop_assert!(better.get(&place).is_some_and(|better| *better >= probability), "{place:?}");
            }
        }
    }

    #[test]
    fn the_same_is_estimated_every_time_and_costs_what_the_offers_cost() {
        let asked = LoanReportCreateData {
            loan_amount: Some(10_000),
            ..asked(90_000, ProvidedCreditRating::Excellent)
        };
        let estimate = estimated(&book(), &asked);
        assert_eq!(estimate, estimated(&book(), &asked));
        assert!(!estimate.institutions.is_empty() && !estimate.network.is_empty());
        for one in estimate.institutions.iter().flat_map(|one| &one.probabilities).chain(&estimate.network) {
            assert!(one.apr_percent_min <= one.apr_percent_max && one.term_months_min <= one.term_months_max);
        }
    }

    /// Checks the formula by hand on the bands of one partner of the kit.
    #[test]
    fn a_probability_is_the_share_of_the_bands_that_fit() {
        let files = vec![partner("lender").loan("")];
        let texts = files.into_iter().map(|file| (std::path::PathBuf::from("lender.toml"), file.text()));
        let book = Book::from_texts(texts).unwrap();
        let without_debt = asked(60_000, ProvidedCreditRating::Good);
        let plain = estimated(&book, &without_debt).network[0].probability;
        assert!(plain > 0.0);
        let owing =
            LoanReportCreateData { total_debt: Some(30_000), count_of_derogatories: Some(1), ..without_debt };
        let refined = estimated(&book, &owing).network[0].probability;
        assert!((refined - plain * 0.75 * 0.8).abs() < 1e-4, "{plain} {refined}");
    }
}
