//! `GET /leads/universities`

use crate::http::App;
use crate::web::{Context, Failure, Reply, query};

/// Most names in an answer.
pub const LIMIT_MAX: i64 = 100;

/// Lists the universities whose name holds a fragment, page by page.
pub async fn list(context: Context<App>) -> Result<Reply, Failure> {
    let (name, offset, limit) = query::read(&context.request, |query| {
        let name = query.optional("name", query::text);
        let offset = query.optional("offset", query::integer_as(0..=i64::MAX)).unwrap_or(0);
        let limit = query.required("limit", query::integer_as(1..=LIMIT_MAX));
        Some((name, offset, limit?))
    })?;
    let universities = context.app.universities.search(name, offset, limit);
    Reply::json(&universities.collect::<Vec<_>>())
}
