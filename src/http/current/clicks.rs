//! `GET /click/{id}`

use hyper::header::{HeaderValue, LOCATION};
use hyper::{Method, StatusCode};

use crate::http::App;
use crate::matching::click::{Click, click};
use crate::web::{Context, Failure, Reply};

/// Seconds after which a person may try again when the store cannot be read or written.
const RETRY_AFTER_S: u32 = 5;

/// Sends a person on to the partner whose offer they opened. `HEAD` only asks where it leads, and records nothing.
pub async fn open(context: Context<App>) -> Result<Reply, Failure> {
    let unknown = || Failure::unknown("Offer does not exist");
    let offer = context.params.uuid("id").map_err(|_| unknown())?;
    let record = context.request.method == Method::GET;
    let clicked = click(context.app.matchmaker.engine(), offer, record).await;
    match clicked.map_err(|_| Failure::overloaded(RETRY_AFTER_S))? {
        Click::Redirect(url) => {
            let location = HeaderValue::try_from(url).map_err(|_| unknown())?;
            Ok(Reply::empty(StatusCode::FOUND).header(LOCATION, location))
        }
        Click::Unknown => Err(unknown()),
        Click::Expired => Err(Failure::gone("Offer has expired")),
    }
}
