//! The specification, section by section: a file a section, a test a sentence.

mod enumerations;
pub mod generated;
mod round_trip;
pub mod schema;
mod strictness;

use hyper::Method;
use serde_json::Value;

use self::schema::Edition;
use crate::kit::{Answer, Daemon};

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
