//! `GET /supplyAnalytics/leadEvents`, `GET /supplyAnalytics/leadPayouts`, `GET /supplyAnalytics/leadClientTags`

use std::sync::Arc;

use serde::Serialize;
use tracing::error;

use crate::analytics::{ClientTags, Events, Feed, Payouts, Refused};
use crate::http::App;
use crate::web::{Context, Failure, Reply};

/// Seconds after which a client may try again when the store cannot be read.
const RETRY_AFTER_S: u32 = 5;

/// Shows a page of what happened to the leads of the caller's company.
pub async fn lead_events(context: Context<App>) -> Result<Reply, Failure> {
    page::<Events>(context).await
}

/// Shows a page of what they earned.
pub async fn lead_payouts(context: Context<App>) -> Result<Reply, Failure> {
    page::<Payouts>(context).await
}

/// Shows a page of how they were tagged.
pub async fn lead_client_tags(context: Context<App>) -> Result<Reply, Failure> {
    page::<ClientTags>(context).await
}

/// Reads on a thread that may block: a page can be long.
async fn page<F: Feed<Record: Serialize> + 'static>(context: Context<App>) -> Result<Reply, Failure> {
    let company = context.caller()?.company;
    let timestamp = context.request.query_value("timestamp").map(str::to_owned);
    let app = Arc::clone(&context.app);
    let reading = tokio::task::spawn_blocking(move || {
        let page = app.feeds.page::<F>(company, timestamp.as_deref()).map_err(failure)?;
        Reply::json(&page)
    });
    reading.await.unwrap_or_else(|error| {
        error!(%error, "feed page could not be read");
        Err(Failure::internal())
    })
}

fn failure(refused: Refused) -> Failure {
    match refused {
        Refused::Start(fault) => Failure::malformed(vec![fault]),
        Refused::StoreFailed => Failure::overloaded(RETRY_AFTER_S),
    }
}
