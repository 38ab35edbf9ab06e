//! What stands in answers as an address, for the browsers of people to open.

use hyper::{Method, StatusCode};
use utoipa::openapi::Required;
use utoipa::openapi::path::ParameterIn;

use super::draft::{Draft, text};
use crate::matching::preview_end::UNTIL;
use crate::model::{Components, schema};
use crate::web::Failure;

/// The section of the document.
pub const TAG: &str = "Opened by browsers";

const PIXEL: &str = "/uiEvent/offerDisplays/{leadUuid}/{rateTableUuid}/{offerUuid}/pixel.gif";

/// The operations.
pub fn operations(_: &mut Components) -> Vec<Draft> {
    vec![
        Draft::new(Method::GET, "/click/{id}", TAG, "openOffer")
            .about(
                "The path stands in the `url` of an offer. `HEAD` is not taken. The first clicks on an offer are kept with its \
                 lead; those beyond lead on as well, and are only counted.",
            )
            .parameter(
                ParameterIn::Path,
                "id",
                Required::True,
                "The uuid of a shown offer.",
                schema::text("uuid"),
            )
            .query(UNTIL, "Stands in the `url` of an offer of a preview: until when it stands, and a proof of that.", text())
            .answers_empty(StatusCode::FOUND, "The way to the partner.")
            .with_header("Location")
            .refuses(Failure::unknown("Offer does not exist"), "No such offer was shown.")
            .refuses(
                Failure::gone("Offer has expired"),
                "The offer's `expiresAt` has passed. Who accepts `text/html` gets a page that says so.",
            )
            .or_page()
            .refuses(Failure::too_many_requests(1), "The address, or whoever opens the offer, clicks too often."),
        pixel(),
        Draft::new(Method::GET, "/samples/{partner}/{name}", TAG, "showSample")
            .about("A sample partner's file names it as `{baseUrl}/samples/…`; of other partners there is nothing.")
            .parameter(ParameterIn::Path, "partner", Required::True, "The key of a sample partner.", text())
            .parameter(
                ParameterIn::Path,
                "name",
                Required::True,
                "`logo.svg`; the key of an offer for its page; that with `.svg` for a picture of the card.",
                text(),
            )
            .query("click", "The click that led there, which the page tells.", text())
            .answers_type("*/*", "The page or the picture.")
            .refuses(Failure::not_found_path(), "No sample partner names it."),
    ]
}

/// Whatever stands in the path, the image is shown.
fn pixel() -> Draft {
    let draft = Draft::new(Method::GET, PIXEL, TAG, "showPixel").answers_type("image/gif", "The pixel.");
    ["leadUuid", "rateTableUuid", "offerUuid"].into_iter().fold(draft, |draft, name| {
        let about = "A uuid; anything else records nothing.";
        draft.parameter(ParameterIn::Path, name, Required::True, about, text())
    })
}
