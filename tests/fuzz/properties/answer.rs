//! What a partner answers, as the mappings of the sample partners read it.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, Utc};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use offerd::model::{CreditBands, Lead};
use offerd::partners::http::{Answered, AskContext, AskProgress, MappingInput, Received};
use offerd::partners::quote::Spread;
use offerd::partners::{Book, Facts, Quote, QuoteTerms, RecordedSeat, Seat};
use uuid::Uuid;

/// Stands in the corpus for what an answer says of a person: no cause and no reason repeats it.
const CANARY: &str = "canary-4417";

/// Most that a figure of an offer may be, dollars or percent.
const FIGURE_MAX: f64 = 1e9;

struct Sample {
    lead: Lead,
    seats: Vec<Arc<Seat>>,
}

static SAMPLE: LazyLock<Sample> = LazyLock::new(|| {
    let partners = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|above| above.join("partners"));
    let partners = partners.into_iter().find(|partners| partners.join("hazelmoor_lending.toml").exists());
    let book = Book::load(&partners.expect("the sample catalog")).expect("the sample catalog is good");
    let seats = book.seats().iter().filter(|seat| seat.http.is_some()).cloned().collect();
    let lead = Lead::read(include_bytes!("../../leads/everything.json")).expect("a sample lead");
    Sample { lead, seats }
});

/// An answer ends as quotes, a decision or a failure. Quotes name offers of the file and have figures within bounds; what
/// may be logged of the rest repeats nothing. The first byte chooses the partner, the second the status; a line with the
/// type of the content follows, then the body.
pub fn holds(bytes: &[u8]) {
    let [partner, status, rest @ ..] = bytes else { return };
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let (content_type, body) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
    let Ok(content_type) = HeaderValue::from_bytes(content_type) else { return };
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, content_type)]);
    let statuses = [200, 201, 204, 302, 400, 404, 422, 429, 500, 503];
    let status = StatusCode::from_u16(statuses[usize::from(*status) % statuses.len()]).expect("a status");

    let seat = &SAMPLE.seats[usize::from(*partner) % SAMPLE.seats.len()];
    let source = seat.http.as_ref().expect("it is asked over HTTP");
    let facts = facts(&SAMPLE.lead);
    let given = given(&SAMPLE.lead, &asked());
    let offers: Vec<_> = seat.offers.iter().collect();
    let received = Received { status, headers: &headers, body };
    // The first answer of several leads on to a further call, or is the last.
    let mut progress = AskProgress::default();
    if let Err(error) = source.next_after(&mut progress, received, &given) {
        return assert!(!error.to_string().contains(CANARY), "{error}");
    }
    let reading = match source.read_answer(&progress, received, &given, &facts, &offers) {
        Ok(reading) => reading,
        Err(error) => return assert!(!error.to_string().contains(CANARY), "{error}"),
    };
    for dropped in &reading.dropped {
        assert!(!dropped.reason.contains(CANARY), "{}", dropped.reason);
    }
    match reading.answered {
        Answered::Offers(quotes) => {
            assert!(status.is_success(), "who fails offers nothing");
            for quote in quotes {
                let of_the_file = seat.offers.iter().any(|offer| offer.text.fingerprint == quote.text);
                assert!(of_the_file, "a quote is of an offer of the file");
                is_bounded(&quote);
            }
        }
        Answered::Failed(cause) => assert!(!cause.contains(CANARY), "{cause}"),
        Answered::Declined(_) => {}
    }
}

fn is_bounded(quote: &Quote) {
    assert!(quote.score.is_finite(), "{quote:?}");
    let spread = |spread: &Spread| spread.min <= spread.max && is_figure(spread.min) && is_figure(spread.max);
    match &quote.terms {
        QuoteTerms::Loan(terms) => {
            assert!(terms.min_amount <= terms.max_amount, "{quote:?}");
            let spreads = [
                Some(&terms.apr),
                Some(&terms.fee_rate),
                terms.fee_fixed.as_ref(),
                terms.monthly_payment.as_ref(),
            ];
            assert!(spreads.into_iter().flatten().all(spread), "{quote:?}");
        }
        QuoteTerms::Mortgage(terms) => {
            let figures = [terms.interest_rate, terms.monthly_payment, terms.net_closing_costs, terms.apr];
            assert!(figures.into_iter().all(is_figure), "{quote:?}");
        }
        QuoteTerms::Savings(terms) => {
            assert!(is_figure(terms.rate) && is_figure(terms.annual_percent_yield), "{quote:?}")
        }
        QuoteTerms::Card(_) | QuoteTerms::Special(_) => {}
    }
    if let Some(url) = &quote.landing_url {
        assert!(url.starts_with("http://") || url.starts_with("https://"), "{url}");
    }
}

fn is_figure(figure: f64) -> bool {
    figure.abs() <= FIGURE_MAX
}

fn facts(lead: &Lead) -> Facts<'_> {
    Facts::new(lead, asked().now, CreditBands::Current)
}

/// What tables know of a seat of the sample catalog.
pub fn a_seat() -> &'static RecordedSeat {
    &SAMPLE.seats[0].recorded
}

/// What a partner is asked about.
pub fn asked() -> AskContext {
    let now = DateTime::<Utc>::from_timestamp(1_795_262_400, 0).expect("a time");
    AskContext { lead: Uuid::from_u128(1), rate_table: Uuid::from_u128(2), test: false, now }
}

/// A lead as mappings see it.
pub fn given(lead: &Lead, asked: &AskContext) -> MappingInput {
    MappingInput::of(&facts(lead), asked)
}
