//! The headers of answers, each described once.

use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::{RefOr, Schema};

use super::draft::{integer, text};
use crate::model::schema;

/// A header as the document names it, and what it says.
pub fn described(name: &str) -> (&'static str, Header) {
    let (name, about, schema): (_, _, RefOr<Schema>) = match name.to_ascii_lowercase().as_str() {
        "etag" => ("ETag", "The version of the rate table, for `If-None-Match`.", text()),
        "location" => ("Location", "Where to go on.", text()),
        "request-id" => {
            ("Request-Id", "The id of the request, which the log names too.", schema::text("uuid"))
        }
        "ratelimit" => {
            let about = "What is left of each limit, and the seconds until all of it is there again, as in `\"company\";r=1999;t=1`.";
            ("RateLimit", about, text())
        }
        "ratelimit-policy" => {
            let about = "Each limit: the requests of a burst, and the seconds in which it refills, as in `\"company\";q=2000;w=2`.";
            ("RateLimit-Policy", about, text())
        }
        "retry-after" => {
            ("Retry-After", "Seconds until it is worth asking again.", integer(0, i32::MAX.into()))
        }
        "table-deadline" => {
            let about = "When the rate table will be complete at the latest, while it is pending.";
            ("Table-Deadline", about, schema::text("date-time"))
        }
        "unknown-keys" => {
            let about = "How many keys of the body, and of a test values of its tag `sandbox`, mean nothing, where some do.";
            ("Unknown-Keys", about, integer(1, i32::MAX.into()))
        }
        "accept-encoding" => ("Accept-Encoding", "The codings that a body may come in: none.", text()),
        "www-authenticate" => ("WWW-Authenticate", "The scheme of the token: `Bearer`.", text()),
        "allow" => ("Allow", "The methods that the path has.", text()),
        _ => ("", "", text()),
    };
    debug_assert!(!name.is_empty(), "a header of an answer is described here");
    (name, HeaderBuilder::new().description(Some(about)).schema(Some(schema)).build())
}
