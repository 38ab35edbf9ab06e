//! `GET /leads/vehicles/years`, `GET /leads/vehicles/makes`, `GET /leads/vehicles/models`, `GET /leads/vehicles/trims`
//!
//! No parameter has to be given; each narrows the list. What does not fit is a 400 here, each fault with what was found.

use std::sync::Arc;

use hyper::StatusCode;
use metrics::counter;
use serde::Serialize;

use crate::http::App;
use crate::model::{ApiError, ErrorType};
use crate::reference::{Vehicles, Wanted};
use crate::telemetry::metrics::HTTP_REQUESTS_REFUSED;
use crate::web::query::{self, Query};
use crate::web::{Context, Failure, Reply, Request};

/// Lists the model years, the earliest first.
pub async fn years(context: Context<App>) -> Result<Reply, Failure> {
    let (least, most) = read(&context.request, |query| (year(query, "minYear"), year(query, "maxYear")))?;
    let within =
        |year: &i32| least.is_none_or(|least| least <= *year) && most.is_none_or(|most| *year <= most);
    Reply::json(&vehicles(&context.app).years().into_iter().filter(within).collect::<Vec<_>>())
}

/// Lists the makes.
pub async fn makes(context: Context<App>) -> Result<Reply, Failure> {
    let year = read(&context.request, |query| year(query, "year"))?;
    let vehicles = vehicles(&context.app);
    answer(&context.app, &vehicles.makes(Wanted { year, ..Wanted::default() }), &["year"])
}

/// Lists the models.
pub async fn models(context: Context<App>) -> Result<Reply, Failure> {
    let wanted = read(&context.request, |query| Wanted {
        year: year(query, "year"),
        make: name(query, "make"),
        model: None,
    })?;
    let vehicles = vehicles(&context.app);
    answer(&context.app, &vehicles.models(wanted), &["year", "make"])
}

/// Lists the cars with their trims and ids.
pub async fn trims(context: Context<App>) -> Result<Reply, Failure> {
    let wanted = read(&context.request, |query| Wanted {
        year: year(query, "year"),
        make: name(query, "make"),
        model: name(query, "model"),
    })?;
    let vehicles = vehicles(&context.app);
    answer(&context.app, &vehicles.trims(wanted).collect::<Vec<_>>(), &["year", "make", "model"])
}

/// The list as of now.
fn vehicles(app: &App) -> Arc<Vehicles> {
    Arc::clone(&app.vehicles.borrow())
}

fn year(query: &mut Query, name: &str) -> Option<i32> {
    let bounds = i64::from(i32::MIN)..=i64::from(i32::MAX);
    let year = query.optional(name, query::integer(bounds));
    year.map(|year| i32::try_from(year).expect("it is within the bounds"))
}

/// A name; an empty one is none, as forms send it.
fn name<'q>(query: &mut Query<'q>, name: &str) -> Option<&'q str> {
    query.optional(name, query::text).filter(|name| !name.is_empty())
}

/// Reads the parameters, or answers 400 with every fault and what was found there.
fn read<'q, T>(request: &'q Request, take: impl FnOnce(&mut Query<'q>) -> T) -> Result<T, Failure> {
    query::read(request, |query| Some(take(query))).map_err(|mut refused| {
        for error in &mut refused.errors {
            let found = request.query.iter().find(|(name, _)| error.attribute.as_ref() == Some(name));
            error.details.extend(found.map(|(_, value)| ("specified".to_owned(), value.clone())));
        }
        refused.with_status(StatusCode::BAD_REQUEST)
    })
}

/// The list, if it is not too long; `by` names what would narrow it.
fn answer<T: Serialize>(app: &App, list: &[T], by: &[&str]) -> Result<Reply, Failure> {
    let most = app.vehicles_per_answer;
    if list.len() <= most {
        return Reply::json(list);
    }
    counter!(HTTP_REQUESTS_REFUSED, "reason" => "vehicles_per_answer").increment(1);
    let narrow = |name: &&str| {
        let message =
            format!("Query parameter {name} must narrow the {} that are found to at most {most}", list.len());
        ApiError::at(*name, ErrorType::Malformed, message).with("found", list.len().to_string())
    };
    Err(Failure::malformed(by.iter().map(narrow).collect()).with_status(StatusCode::BAD_REQUEST))
}
