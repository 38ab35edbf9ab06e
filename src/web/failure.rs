//! Failed requests: a status, headers and an array of [`ApiError`], turned into an answer by one function.

use std::fmt::Display;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use uuid::Uuid;
use warp::reply::Response;

use offerd_base::telemetry::metrics::HTTP_REQUESTS_REFUSED;
use offerd_model::{ApiError, ErrorType};

/// A failed request. Constructors are named by meaning; the status follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Failure {
    /// The status of the answer.
    pub status: StatusCode,
    /// Every fault found, never empty.
    pub errors: Vec<ApiError>,
    /// Headers the status calls for, such as `Allow`.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// Failures with one error each: its status, type and message, the header that the status requires, and
/// behind the arrow the details.
macro_rules! failures {
    ($($(#[$about:meta])* $name:ident($($given:ident: $kind:ty),*)
        $status:ident $error_type:ident $message:expr
        $(, $header:ident $value:expr)? $(=> $($detail:literal $found:expr),+)?;)+) => {$(
        $(#[$about])*
        pub fn $name($($given: $kind),*) -> Self {
            let error = ApiError::new(ErrorType::$error_type, $message);
            $($(let error = error.with($detail, $found.to_string());)+)?
            let failure = Self::of(StatusCode::$status, error);
            $(let failure = failure.header($header, HeaderValue::from($value));)?
            failure
        }
    )+};
}

impl Failure {
    failures! {
        /// 400: the request cannot be parsed.
        bad_request(message: impl Into<String>) BAD_REQUEST Malformed message;
        /// 401, with the challenge that RFC 6750 requires.
        unauthorized(message: impl Into<String>) UNAUTHORIZED Unauthorized message,
            WWW_AUTHENTICATE HeaderValue::from_static("Bearer");
        /// 403: the caller is known, and not allowed to do this.
        forbidden(message: &str) FORBIDDEN Unauthorized message;
        /// 403: a browser prefetches a URL that counts as opened by a person.
        fetched_ahead() FORBIDDEN Unsupported "A prefetch does not count as a click; open the address to follow it";
        /// 404: no resource has this path.
        not_found_path() NOT_FOUND Unsupported "Path does not exist";
        /// 404: a path that clients take for that of another resource.
        path_mistaken(template: &str) NOT_FOUND Unsupported
            format!("Path does not exist; {template} is meant") => "path" template;
        /// 404: another listener serves the path.
        path_elsewhere(listener: &str, template: &str) NOT_FOUND Unsupported
            format!("Path does not exist here; {template} is a path of the {listener} listener (`{listener}.listen`)")
            => "listener" listener, "path" template;
        /// 404: a page or link for people does not exist.
        unknown(message: &str) NOT_FOUND InvalidUuidReference message;
        /// 405: the path exists, but takes only the methods in `allow`.
        method_not_allowed(allow: HeaderValue) METHOD_NOT_ALLOWED Unsupported "Method is not allowed on this path",
            ALLOW allow;
        /// 408: the body did not arrive in time.
        timeout() REQUEST_TIMEOUT Unavailable "Request body did not arrive in time";
        /// 409: the lead exists already.
        conflict(lead: Uuid) CONFLICT Duplicate format!("Lead {lead} exists already, or was erased");
        /// 409: another process on the same database does this; the message names it.
        led_elsewhere(message: String) CONFLICT Unavailable message;
        /// 410: a page or link for people has expired.
        gone(message: &str) GONE Unavailable message;
        /// 413: the body is longer than `limit_bytes`.
        too_large(limit_bytes: usize) PAYLOAD_TOO_LARGE TooLarge
            format!("Request body must be at most {limit_bytes} bytes") => "limit" limit_bytes;
        /// 413: the merged lead would be longer than `limit_bytes`.
        lead_too_large(limit_bytes: usize) PAYLOAD_TOO_LARGE TooLarge
            format!("Lead must be at most {limit_bytes} bytes after the merge; send less, or submit a new lead")
            => "limit" limit_bytes;
        /// 415: the body's type is not JSON.
        unsupported_media() UNSUPPORTED_MEDIA_TYPE Unsupported "Content-Type must be application/json";
        /// 415: the body's type is not that of an HTML form.
        unsupported_form() UNSUPPORTED_MEDIA_TYPE Unsupported
            "Content-Type must be application/x-www-form-urlencoded";
        /// 415: the body is compressed.
        unsupported_coding() UNSUPPORTED_MEDIA_TYPE Unsupported
            "Content-Encoding must be left out: bodies are read as they are, not compressed",
            ACCEPT_ENCODING HeaderValue::from_static("identity");
        /// 415: the path is not part of the edition that `Accept` asks for.
        unsupported_edition() UNSUPPORTED_MEDIA_TYPE Unsupported "Path is not offered in the v1 edition";
        /// 417: `Expect` is something other than `100-continue`.
        unmet_expectation() EXPECTATION_FAILED Unsupported "Expect must be 100-continue, or left out";
        /// 429: the caller exceeds a rate limit.
        too_many_requests(retry_after_s: u32) TOO_MANY_REQUESTS Unavailable
            "Too many requests; try again later", RETRY_AFTER retry_after_s;
        /// 429: an address has as many connections as allowed, each with a request under way.
        too_many_connections(retry_after_s: u32) TOO_MANY_REQUESTS Unavailable
            "Too many connections from this address; reuse connections, or try again later",
            RETRY_AFTER retry_after_s;
        /// 400: the head is not HTTP/1.1, or its `Content-Length` is not a length.
        head_malformed() BAD_REQUEST Malformed
            "Request head must be HTTP/1.1, and its Content-Length one number of fewer than 20 digits";
        /// 431: the head is longer than `limit_bytes`, or has too many headers.
        head_too_large(limit_bytes: usize) REQUEST_HEADER_FIELDS_TOO_LARGE TooLarge
            format!("Request head must be at most {limit_bytes} bytes, with at most 100 headers and fewer than 20 digits in Content-Length")
            => "limit" limit_bytes;
        /// 503: a limit of the service is reached, or it is about to stop.
        overloaded(retry_after_s: u32) SERVICE_UNAVAILABLE Unavailable
            "Service is at its limit; try again later", RETRY_AFTER retry_after_s;
        /// 503: the record exists, but the disk cannot read it, or not all of it.
        unreadable(retry_after_s: u32) SERVICE_UNAVAILABLE Unavailable
            "The record cannot be read; try again later", RETRY_AFTER retry_after_s;
        /// 503: the database of the store does not answer.
        out_of_reach(retry_after_s: u32) SERVICE_UNAVAILABLE Unavailable
            "The service cannot reach its store; try again later", RETRY_AFTER retry_after_s;
        /// 503: the request cannot be stored at the moment, and was not accepted.
        unwritable(retry_after_s: u32) SERVICE_UNAVAILABLE Unavailable
            "Not accepting writes right now; try again later", RETRY_AFTER retry_after_s;
    }

    /// 400: the body is not a JSON object; `error` says where parsing failed.
    pub fn not_json(error: ApiError) -> Self {
        Self::of(StatusCode::BAD_REQUEST, error)
    }

    /// 400 for one attribute or path parameter.
    pub fn bad_attribute(attribute: impl Into<String>, message: impl Into<String>) -> Self {
        Self::of(StatusCode::BAD_REQUEST, ApiError::at(attribute, ErrorType::Malformed, message))
    }

    /// 404: the UUID names no record of the caller's company; `reference_type` is the noun (`RateTable`).
    pub fn unknown_uuid(reference_type: &str, uuid: Uuid) -> Self {
        let error = ApiError { attribute: None, ..ApiError::unknown_uuid("", reference_type, uuid) };
        Self::of(StatusCode::NOT_FOUND, error)
    }

    /// 409: the same request is under way; the client gets its answer by sending it again.
    pub fn under_way() -> Self {
        let message = "A request with this Idempotency-Key is in progress";
        Self::of(StatusCode::CONFLICT, ApiError::at("Idempotency-Key", ErrorType::Duplicate, message))
            .header(RETRY_AFTER, HeaderValue::from(1))
    }

    /// 422: the request was parsed and is invalid; `faults` holds every fault.
    pub fn invalid(faults: Vec<ApiError>) -> Self {
        debug_assert!(!faults.is_empty(), "an invalid request has at least one fault");
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, errors: faults, headers: Vec::new() }
    }

    /// 422 for one attribute, parameter or header.
    pub fn fault(attribute: &str, error_type: ErrorType, message: impl Into<String>) -> Self {
        Self::invalid(vec![ApiError::at(attribute, error_type, message)])
    }

    /// 500: an internal error. The cause goes to the log, never to the client.
    pub fn internal() -> Self {
        let error = ApiError { error_type: None, ..ApiError::new(ErrorType::Unavailable, "Internal error") };
        Self::of(StatusCode::INTERNAL_SERVER_ERROR, error)
    }

    /// The same errors with another status, for an edition that answers differently.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Counts the refusal under `reason`.
    pub fn counted(self, reason: &'static str) -> Self {
        metrics::counter!(HTTP_REQUESTS_REFUSED, "reason" => reason).increment(1);
        self
    }

    /// The messages, joined for people.
    pub fn words(&self) -> String {
        let words: Vec<&str> = self.errors.iter().filter_map(|error| error.message.as_deref()).collect();
        words.join("; ")
    }

    /// Turns a failure into an answer; the only place that does.
    pub fn into_response(self) -> Response {
        self.into_stock().map(Into::into)
    }

    /// The answer, to be cloned for each use.
    pub(super) fn into_stock(self) -> hyper::Response<Bytes> {
        let body = serde_json::to_vec(&self.errors).expect("strings and maps of strings always serialise");
        let mut response = hyper::Response::new(body.into());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.reserve(HEADERS);
        headers.extend(self.headers);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }

    fn of(status: StatusCode, error: ApiError) -> Self {
        Self { status, errors: vec![error], headers: Vec::new() }
    }

    fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// Capacity for all headers of an answer.
pub(super) const HEADERS: usize = 12;

/// An internal error, whose cause is logged with the message `failed`.
pub fn our_fault<E: Display>(failed: &'static str) -> impl FnOnce(E) -> Failure {
    move |error| {
        tracing::error!(%error, "{failed}");
        Failure::internal()
    }
}

/// Runs `work` on a blocking thread; a panic is an internal error, logged as `failed`.
pub async fn blocking<T: Send + 'static>(
    failed: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(our_fault(failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_comes_first_when_no_attribute_does() {
        let failure = Failure::unauthorized("Access token is missing");
        let json = serde_json::to_string(&failure.errors).unwrap();
        assert_eq!(json, r#"[{"message":"Access token is missing","type":"unauthorized"}]"#);
        assert_eq!(failure.headers, [(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))]);
    }

    #[test]
    fn an_unknown_uuid_is_named_with_its_kind() {
        let failure = Failure::unknown_uuid("RateTable", Uuid::nil());
        let json = serde_json::to_value(&failure.errors).unwrap();
        assert_eq!(failure.status, StatusCode::NOT_FOUND);
        assert_eq!(
            json,
            serde_json::json!([{
                "message": "RateTable for UUID 00000000-0000-0000-0000-000000000000 does not exist",
                "type": "invalidUuidReference",
                "details": {"referenceType": "RateTable", "specified": Uuid::nil()},
            }])
        );
    }

    #[test]
    fn an_internal_failure_tells_nothing() {
        let json = serde_json::to_string(&Failure::internal().errors).unwrap();
        assert_eq!(json, r#"[{"message":"Internal error"}]"#);
    }
}
