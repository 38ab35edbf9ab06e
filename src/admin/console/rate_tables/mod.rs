//! `GET /console/rateTables`, `GET /console/rateTables/{uuid}`, and the form that reveals personal data.
//! Tables are found by the UUID of a lead, a rate table or an offer, as `find` or `uuid`; or page by page by
//! company, product, partner, outcome and time.

mod counted;
mod filters;
mod found;
mod money;
mod offers;
mod person;
mod search;
mod table;
mod timeline;
pub(super) mod transcript;

pub(super) use self::counted::COUNTED;
use self::found::{UuidLookup, find, rows};
pub(super) use self::person::words;
use self::table::TablePage;
use super::prelude::*;
use offerd_engine::records::RecordUnavailable;

/// Seconds after which a page with unreadable records may be requested again.
const RETRY_AFTER_S: u32 = 5;

const PAGE: ConsolePage = ConsolePage::new(Section::RateTables, "rate_tables.html");

/// Shows the latest tables. A UUID of a table or offer redirects to its page; one of a lead lists its tables.
pub(super) async fn list(request: &ConsoleRequest) -> Result<View> {
    let wanted = request.query_value("find").or_else(|| request.query_value("uuid"));
    let Some(wanted) = wanted.map(|wanted| wanted.trim().to_owned()) else {
        return sought(request).await;
    };
    let nothing = |trouble: &str| {
        let (lead, filters) = (None::<Uuid>, None::<Value>);
        request.view(PAGE, fields! { wanted, trouble, lead, rows => Vec::<Value>::new(), filters })
    };
    let Ok(uuid) = wanted.parse::<Uuid>() else {
        return nothing("This is not a uuid: 32 hexadecimal digits, with or without hyphens.");
    };
    let found = request.reading(move |app| find(&app.engine, uuid)).await?;
    match found.map_err(|_| Failure::overloaded(RETRY_AFTER_S))? {
        UuidLookup::Table(table) => View::at(&path_of(table)),
        // The page opens and highlights the offer of the fragment.
        UuidLookup::Offer(table) => View::at(&format!("{}#offer-{uuid}", path_of(table))),
        UuidLookup::Lead(rows) => {
            let trouble = rows.is_empty().then_some("The lead has no rate table.");
            request.view(PAGE, fields! { wanted, trouble, lead => uuid, rows, filters => None::<Value> })
        }
        UuidLookup::Erased => nothing("This lead was erased; its data is gone."),
        UuidLookup::Nothing => nothing("No lead, rate table or offer has this uuid."),
    }
}

async fn sought(request: &ConsoleRequest) -> Result<View> {
    let asked = request.query.clone();
    let read = request.reading(move |app| {
        let (found, filters) = filters::sought(&app.engine, &app.settings(), &asked)?;
        Ok((rows(&app.engine, found), filters))
    });
    let (rows, filters) = read.await?.map_err(|_: RecordUnavailable| Failure::overloaded(RETRY_AFTER_S))?;
    let (wanted, trouble, lead) = (None::<String>, None::<String>, None::<Uuid>);
    request.view(PAGE, fields! { wanted, trouble, lead, rows, filters })
}

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    page(request, request.params.uuid("uuid")?, Vec::new()).await?.view(request, None)
}

/// Redirects the target of the reveal form, opened as an address, to the masked table.
pub(super) async fn masked(request: &ConsoleRequest) -> Result<View> {
    View::at(&path_of(request.params.uuid("uuid")?))
}

pub(super) async fn reveal(request: &ConsoleRequest) -> Result<View> {
    let uuid = request.params.uuid("uuid")?;
    let revealed = request.reveal(page(request, uuid, Vec::new()).await?.lead).await?;
    page(request, uuid, revealed).await?.view(request, request.field("reason").map(str::to_owned))
}

fn path_of(table: Uuid) -> String {
    format!("/console/rateTables/{table}")
}

async fn page(request: &ConsoleRequest, uuid: Uuid, revealed: Vec<&'static str>) -> Result<TablePage> {
    let read = request
        .reading(move |app| TablePage::read(&app.engine, uuid, (&revealed, &app.settings().reports.tags)));
    let page = read.await?.map_err(|_| Failure::overloaded(RETRY_AFTER_S))?;
    page.ok_or_else(|| Failure::unknown_uuid("Rate table", uuid))
}
