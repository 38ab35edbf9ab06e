//! `GET /console/rateTables`, `GET /console/rateTables/{uuid}` and the form that reveals what a lead says of a person.
//!
//! Found by the uuid of a lead, a rate table or an offer; or by company, product, partner, outcome and time, page by page. What is shown is read from the stored records, as
//! `offerd explain` shows it.

mod filters;
mod found;
mod money;
mod offers;
mod person;
mod search;
mod table;
mod timeline;
pub(super) mod transcript;

use std::sync::Arc;

use serde::Serialize;
use uuid::Uuid;

use self::filters::Filters;
use self::found::{Found, Row, find, rows};
pub(super) use self::person::words;
use self::table::TablePage;
use super::section::Section;
use super::view::{Page, View};
use super::visit::Visit;
use crate::records::Unavailable;
use crate::web::Failure;

/// Seconds after which a page may be asked for again whose records could not be read.
const RETRY_AFTER_S: u32 = 5;

/// What is found, or what came last.
#[derive(Debug, Serialize)]
struct List {
    /// What was looked for.
    wanted: Option<String>,
    /// Why nothing is found.
    trouble: Option<String>,
    /// The lead whose tables they are.
    lead: Option<Uuid>,
    rows: Vec<Row>,
    /// By what tables are looked for, where no uuid is.
    filters: Option<Filters>,
}

impl Page for List {
    const SECTION: Section = Section::RateTables;
    const TEMPLATE: &'static str = "rate_tables.html";
}

/// The latest tables or, where a uuid is looked for, what it names: where a table's page is, those of a lead as a list.
pub(super) async fn list(visit: Arc<Visit>) -> Result<View, Failure> {
    let Some(wanted) = visit.query_value("find").map(|wanted| wanted.trim().to_owned()) else {
        return sought(&visit).await;
    };
    let Ok(uuid) = wanted.parse::<Uuid>() else {
        let trouble = Some("That is no uuid: 32 hexadecimal digits, with or without hyphens.".to_owned());
        return visit.view(&List {
            wanted: Some(wanted),
            trouble,
            lead: None,
            rows: Vec::new(),
            filters: None,
        });
    };
    let found = visit.reading(move |app| find(&app.engine, uuid)).await?;
    match found.map_err(|_| Failure::overloaded(RETRY_AFTER_S))? {
        Found::Table(table) => Ok(View::at(path_of(table))),
        // The page opens and marks the offer that its address names.
        Found::Offer { table, offer } => Ok(View::at(format!("{}#offer-{offer}", path_of(table)))),
        Found::Lead(rows) => {
            let trouble = rows.is_empty().then(|| "The lead has no rate table.".to_owned());
            visit.view(&List { wanted: Some(wanted), trouble, lead: Some(uuid), rows, filters: None })
        }
        Found::Erased => {
            let trouble =
                Some("The person of this lead was erased; nothing can be told any more.".to_owned());
            visit.view(&List { wanted: Some(wanted), trouble, lead: None, rows: Vec::new(), filters: None })
        }
        Found::Nothing => {
            let trouble = Some("No lead, rate table or offer has this uuid.".to_owned());
            visit.view(&List { wanted: Some(wanted), trouble, lead: None, rows: Vec::new(), filters: None })
        }
    }
}

/// The tables that fit what is looked for, the latest first.
async fn sought(visit: &Visit) -> Result<View, Failure> {
    let asked = visit.query.clone();
    let read = visit.reading(move |app| {
        let mut filters = Filters::read(&app.engine, &asked);
        let found = filters.search(&app.engine, &app.settings().console)?;
        Ok((rows(&app.engine, found), filters))
    });
    let (rows, filters) = read.await?.map_err(|_: Unavailable| Failure::overloaded(RETRY_AFTER_S))?;
    visit.view(&List { wanted: None, trouble: None, lead: None, rows, filters: Some(filters) })
}

/// One table.
pub(super) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let uuid = visit.params.uuid("uuid")?;
    visit.view(&page(&visit, uuid, Vec::new()).await?)
}

/// Leads to the table, with nothing revealed, whoever opens the form's address as a page.
pub(super) async fn masked(visit: Arc<Visit>) -> Result<View, Failure> {
    Ok(View::at(path_of(visit.params.uuid("uuid")?)))
}

/// One table, with the attributes of its lead that are asked for.
pub(super) async fn reveal(visit: Arc<Visit>) -> Result<View, Failure> {
    let uuid = visit.params.uuid("uuid")?;
    let masked = page(&visit, uuid, Vec::new()).await?;
    let revealed = visit.reveal(masked.lead).await?;
    let reason = visit.field("reason").map(str::to_owned);
    visit.view(&page(&visit, uuid, revealed).await?.because(reason))
}

/// Where a table's page is.
fn path_of(table: Uuid) -> String {
    format!("/console/rateTables/{table}")
}

async fn page(visit: &Visit, uuid: Uuid, revealed: Vec<&'static str>) -> Result<TablePage, Failure> {
    let read = visit
        .reading(move |app| TablePage::read(&app.engine, uuid, (&revealed, &app.settings().reports.tags)));
    let read = read.await?;
    let page = read.map_err(|_| Failure::overloaded(RETRY_AFTER_S))?;
    page.ok_or_else(|| Failure::unknown_uuid("Rate table", uuid))
}
