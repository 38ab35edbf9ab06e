//! `GET /uiUtil/featuredFinancialInstitutions`

use crate::http::App;
use crate::reference::featured_institutions;
use crate::web::{Context, Failure, Reply};

/// Lists the featured institutions of the partners as they are loaded now.
pub async fn list(context: Context<App>) -> Result<Reply, Failure> {
    let engine = context.app.matchmaker.engine();
    Reply::json(&featured_institutions(&engine.book(), &engine.base_url))
}
