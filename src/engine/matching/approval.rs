//! Approval probability ([`estimate`]), without asking partners or storing anything about the person.

use uuid::Uuid;

use super::engine::MatchingEngine;
use offerd_model::{LoanReport, LoanReportCreateData, Timestamp};
use offerd_partners::approval::estimate;
use offerd_partners::base_url::absolute;

/// Builds a report with this id, as of now. Walks every loan of the book.
pub fn report(engine: &MatchingEngine, asked: LoanReportCreateData, uuid: Uuid) -> LoanReport {
    let book = engine.book();
    let seats = book.seats().iter().filter(|seat| !engine.limiter.is_paused(seat));
    let now = engine.now();
    let mut found = estimate(seats.map(AsRef::as_ref), &asked, now);
    for institution in &mut found.institutions {
        institution.logo_url = institution.logo_url.as_deref().map(|logo| absolute(logo, &engine.base_url));
    }
    LoanReport {
        uuid,
        annual_income: asked.annual_income,
        credit_rating: asked.credit_rating,
        network_probabilities: found.network,
        financial_insitutions: found.institutions,
        created_at: Timestamp::at(now.timestamp_millis()),
        total_debt: asked.total_debt,
        count_of_derogatories: asked.count_of_derogatories,
        state: asked.state,
        loan_purpose: asked.loan_purpose,
        loan_amount: asked.loan_amount,
    }
}
