//! Pages of offers, which a person opens.

use hyper::{Method, StatusCode};
use utoipa::openapi::Required;
use utoipa::openapi::path::ParameterIn;

use super::browsers::TAG;
use super::draft::{Draft, integer, text};
use crate::model::{Components, schema};
use crate::web::Failure;

/// The operations.
pub fn operations(_: &mut Components) -> Vec<Draft> {
    vec![
        html("/offers/{page}", "showOfferPage")
            .about("The address stands in the `partnerPageUrl` of a rate table. It opens in a browser, with a script or without."),
        html("/offers/{page}/embed", "showEmbeddedOfferPage").about(
            "The address stands in the `embedUrl` of a rate table. A browser shows it in a frame on the origins of the setting \
             `offer_pages.frame_ancestors` only.",
        ),
        of_page("/offers/{page}/events", "streamOfferPage", page_id())
            .about("Each event `offers` holds the offers as HTML; its id is the version of the table.")
            .query("seen", "The version that the page itself shows.", integer(0, u32::MAX.into()))
            .header("Last-Event-ID", "The version that the page has seen since.")
            .answers_events("The offers, whenever they change.", &["event", "id", "data"])
            .answers_empty(StatusCode::NO_CONTENT, "The table is complete, and the page has seen it so.")
            .refuses(Failure::unknown("Page does not exist"), "There is no such page, or none any more.")
            .refuses(Failure::gone("Page has expired"), "The page has expired."),
        pixel(),
    ]
}

fn html(path: &'static str, id: &'static str) -> Draft {
    of_page(path, id, page_id())
        .answers_type("text/html", "The page.")
        .answers_page(
            StatusCode::NOT_FOUND,
            "A page that says that there are no offers here, or none any more.",
        )
        .answers_page(StatusCode::GONE, "A page that says that the offers have expired.")
}

/// Whatever stands in the path, the image is shown.
fn pixel() -> Draft {
    let about = "The uuid of an offer of the page; anything else records nothing.";
    of_page("/offers/{page}/{offer}/seen.gif", "showOfferPagePixel", text())
        .parameter(ParameterIn::Path, "offer", Required::True, about, text())
        .answers_type("image/gif", "The pixel.")
}

fn page_id() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    schema::text("uuid")
}

fn of_page(
    path: &'static str,
    id: &'static str,
    page: utoipa::openapi::RefOr<utoipa::openapi::Schema>,
) -> Draft {
    let about = "What the address in a rate table has there.";
    Draft::new(Method::GET, path, TAG, id).parameter(ParameterIn::Path, "page", Required::True, about, page)
}
