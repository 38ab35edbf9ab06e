//! The headers of answers, each described once.

use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::{RefOr, Schema};

use super::draft::{integer, text, uuid};
use crate::model::schema;

/// The name of a header, what it says, and its schema.
type Row = (&'static str, &'static str, fn() -> RefOr<Schema>);

const HEADERS: &[Row] = &[
    ("ETag", "The version of the rate table, for `If-None-Match`.", text),
    ("Location", "Where to go on.", text),
    ("Request-Id", "The id of the request, which the log names too.", uuid),
    (
        "RateLimit",
        "What is left of each limit, and the seconds until all of it is there again, as in `\"company\";r=1999;t=1`.",
        text,
    ),
    (
        "RateLimit-Policy",
        "Each limit: the requests of a burst, and the seconds in which it refills, as in `\"company\";q=2000;w=2`.",
        text,
    ),
    ("Retry-After", "Seconds until it is worth asking again.", || integer(0, i32::MAX)),
    ("Table-Deadline", "When the rate table will be complete at the latest, while it is pending.", || {
        schema::text("date-time")
    }),
    (
        "Unknown-Keys",
        "How many keys of the body, and of a test values of its tag `sandbox`, mean nothing, where some do.",
        || integer(1, i32::MAX),
    ),
    ("Accept-Encoding", "The codings that a body may come in: none.", text),
    ("WWW-Authenticate", "The scheme of the token: `Bearer`.", text),
    ("Allow", "The methods that the path has.", text),
];

/// A header as the document names it, and what it says.
pub fn described(name: &str) -> (&'static str, Header) {
    let known = HEADERS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
    let (name, about, schema) = known.expect("a header of an answer is described here");
    (name, HeaderBuilder::new().description(Some(*about)).schema(Some(schema())).build())
}
