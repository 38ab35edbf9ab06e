//! `GET /leads/universities`, `GET /uiUtil/featuredFinancialInstitutions`

use crate::ApiState;
use offerd_insight::reference;
use offerd_web::{Answer, Context, Reply, query};

/// Maximum names in an answer.
pub const UNIVERSITIES_MAX: i64 = 100;

/// Lists the universities whose name contains a text, page by page.
pub async fn universities(context: Context<ApiState>) -> Answer {
    let (name, offset, limit) = query::read(&context.request, |query| {
        let name = query.optional("name", query::text);
        let offset = query.optional("offset", query::integer(0..=i64::MAX)).unwrap_or(0);
        let limit = query.required("limit", query::integer(1..=UNIVERSITIES_MAX));
        Some((name, offset, limit?))
    })?;
    Ok(Reply::json(&context.app.universities.search(name, offset, limit).collect::<Vec<_>>())?.compressible())
}

/// Lists the featured institutions of the current partners.
pub async fn featured_institutions(context: Context<ApiState>) -> Answer {
    let engine = context.app.engine();
    Ok(Reply::json(&reference::featured_institutions(&engine.book(), &engine.base_url))?.compressible())
}
