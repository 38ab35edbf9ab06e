//! `GET /leads/vehicles/years`, `GET /leads/vehicles/makes`, `GET /leads/vehicles/models`,
//! `GET /leads/vehicles/trims`
//!
//! Each parameter narrows the list; `limit` and `offset` read it in parts. Invalid ones are a 400 here.

use serde::Serialize;

use crate::prelude::*;
use offerd_insight::reference::{VehicleFilter, Vehicles};
use offerd_web::query::{self, Query};

/// Largest accepted `limit`, whatever the settings: no setting is below it.
pub const LIMIT_TAKEN: i64 = 1_000;

/// Lists the model years, earliest first.
pub async fn years(context: Context<ApiState>) -> Answer {
    let (least, most) = read(&context.request, |query| (year(query, "minYear"), year(query, "maxYear")))?;
    let within = |it: &i32| least.is_none_or(|least| least <= *it) && most.is_none_or(|most| *it <= most);
    Ok(Reply::json(&vehicles(&context.app).years().iter().filter(|year| within(year)).collect::<Vec<_>>())?
        .compressible())
}

/// Lists the makes.
pub async fn makes(context: Context<ApiState>) -> Answer {
    let (app, (VehicleFilter { year, .. }, part)) = (&context.app, wanted(&context.request)?);
    answer(app, vehicles(app).makes(year), part, &["year"])
}

/// Lists the models.
pub async fn models(context: Context<ApiState>) -> Answer {
    let (app, (VehicleFilter { year, make, .. }, part)) = (&context.app, wanted(&context.request)?);
    answer(app, vehicles(app).models(year, make), part, &["year", "make"])
}

/// Lists the cars with their trims and ids.
pub async fn trims(context: Context<ApiState>) -> Answer {
    let (app, (wanted, part)) = (&context.app, wanted(&context.request)?);
    answer(app, vehicles(app).trims(wanted), part, &["year", "make", "model"])
}

struct ListSlice {
    offset: usize,
    /// `None` for the whole rest.
    limit: Option<usize>,
}

fn vehicles(app: &ApiState) -> Arc<Vehicles> {
    Arc::clone(&app.vehicles.borrow())
}

fn year(query: &mut Query, name: &str) -> Option<i32> {
    query.optional(name, query::integer(i32::MIN.into()..=i32::MAX.into()))
}

fn wanted(request: &Request) -> Result<(VehicleFilter<'_>, ListSlice), Failure> {
    read(request, |query| {
        let year = year(query, "year");
        let [make, model] =
            ["make", "model"].map(|name| query.optional(name, query::text).filter(|text| !text.is_empty()));
        let offset = query.optional("offset", query::integer(0..=i64::MAX)).unwrap_or(0);
        let limit = query.optional("limit", query::integer(1..=LIMIT_TAKEN));
        (VehicleFilter { year, make, model }, ListSlice { offset, limit })
    })
}

fn read<'q, T>(request: &'q Request, take: impl FnOnce(&mut Query<'q>) -> T) -> Result<T, Failure> {
    query::read(request, |query| Some(take(query))).map_err(|mut refused| {
        for error in &mut refused.errors {
            let found = request.query.iter().find(|(name, _)| error.attribute.as_ref() == Some(name));
            error.details.extend(found.map(|(_, value)| ("specified".to_owned(), value.clone())));
        }
        refused.with_status(StatusCode::BAD_REQUEST)
    })
}

/// The requested part, unless it is too long; `by` names the parameters that would narrow it.
fn answer<T: Serialize>(
    app: &ApiState,
    list: impl ExactSizeIterator<Item = T>,
    part: ListSlice,
    by: &[&str],
) -> Answer {
    let most = app.settings.reference.vehicles_per_answer;
    let found = list.len().saturating_sub(part.offset);
    let wanted = part.limit.unwrap_or(found);
    if wanted <= most {
        return Ok(Reply::json(&list.skip(part.offset).take(wanted).collect::<Vec<_>>())?.compressible());
    }
    let narrow = |name: &&str| {
        let message = format!(
            "Query parameter {name} must narrow the {found} results to at most {most}, or use limit and offset"
        );
        ApiError::at(*name, ErrorType::Malformed, message).with("found", found.to_string())
    };
    let refused = Failure::invalid(by.iter().map(narrow).collect()).with_status(StatusCode::BAD_REQUEST);
    Err(refused.counted("vehicles_per_answer"))
}
