//! The specification, section by section: a file a section, a test a sentence.
//!
//! The shapes of all answers are drawn up in `tests/specification` ([`schema`]), and every answer is held against them
//! ([`round_trip`]). Sentences that tests of single subjects hold are listed in [`elsewhere`].

mod authentication;
mod elsewhere;
mod endpoints;
mod enumerations;
mod errors;
mod events;
mod generated;
mod limits;
pub mod places;
mod resources;
mod round_trip;
pub mod schema;
mod states;
mod strictness;
mod versioning;
mod what_the_service_does;

use hyper::Method;
use serde_json::Value;

use self::schema::Edition;
use crate::kit::{Answer, Daemon};

/// The arrays of offers in a rate table.
const OFFERS: [&str; 5] =
    ["creditCardOffers", "loanOffers", "mortgageOffers", "savingsOffers", "specialOffers"];

/// A uuid that names nothing unless a test makes it.
const UNKNOWN: &str = "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77";

/// Asks the api listener as a client of an edition, with the confidential token.
async fn ask(daemon: &Daemon, edition: Edition, method: Method, path: &str, body: &str) -> Answer {
    let url = format!("{}{path}", daemon.api);
    let accept = [("accept", edition.accept())];
    daemon.request_with(method, &url, &daemon.confidential, &accept, body.to_owned()).await
}

/// The uuid of a record.
fn uuid_of(record: &Value) -> &str {
    record["uuid"].as_str().unwrap()
}

/// The path of the lead that a rate table belongs to.
fn lead_path(table: &Value) -> String {
    format!("/leads/{}", table["leadUuid"].as_str().unwrap())
}

/// A lead without one of its fields.
fn without(lead: &Value, field: &str) -> Value {
    let mut lead = lead.clone();
    lead.as_object_mut().unwrap().remove(field).unwrap_or_else(|| panic!("the lead has {field}"));
    lead
}
