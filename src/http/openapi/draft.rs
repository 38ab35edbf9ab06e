//! Descriptions of operations: what they take and answer, beyond what follows from their row.

use std::ops::Deref;

use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::content::{Content, ContentBuilder};
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{
    Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, ParameterStyle,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{AnyOfBuilder, ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::server::Server;
use utoipa::openapi::{RefOr, Required, Schema};
use uuid::Uuid;

use super::examples::Example;
use crate::ApiState;
use crate::current::api_version::API_VERSION;
use crate::current::submission::KEY_BYTES;
use offerd_model::{ApiError, Components, ErrorType, schema};
use offerd_web::{Editions, Failure, Handler, Route, Scope};

/// The security scheme of tokens.
pub const TOKEN: &str = "token";

/// The security scheme of signed queries. A document lists its schemes by name.
pub const SIGNATURE: &str = "urlSignature";

/// Content type of most answers.
pub const JSON: &str = "application/json";

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Pattern of an `Idempotency-Key`: visible characters, with blanks inside.
const KEY: &str = "^[!-~]([ -~]*[!-~])?$";

/// A row of the route table, with its description for the document.
#[derive(Debug)]
pub struct ApiRoute {
    /// The route, as served by the listener.
    pub route: Route<Handler<ApiState>>,
    pub(crate) section: &'static str,
    /// Operation id, a verb and its object; generated clients name their functions by it.
    pub(crate) id: &'static str,
    pub(crate) draft: for<'c> fn(OperationDraft<'c>) -> OperationDraft<'c>,
}

impl Deref for ApiRoute {
    type Target = Route<Handler<ApiState>>;

    fn deref(&self) -> &Self::Target {
        &self.route
    }
}

/// An operation in the making. A new one takes only its path parameters, and answers nothing.
pub struct OperationDraft<'c> {
    components: &'c mut Components,
    about: &'static str,
    parameters: Vec<Parameter>,
    body: Option<RequestBody>,
    answers: Vec<(u16, Response)>,
}

impl<'c> OperationDraft<'c> {
    /// An empty draft, whose schemas are added to these components.
    pub fn new(components: &'c mut Components) -> Self {
        Self { components, about: "", parameters: Vec::new(), body: None, answers: Vec::new() }
    }

    /// Adds a part that several operations share.
    pub fn with(self, part: fn(Self) -> Self) -> Self {
        part(self)
    }

    /// Adds a description for clients.
    pub fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// Adds a parameter of the path, the query or the headers. Path parameters are required, others optional.
    pub fn parameter(mut self, place: ParameterIn, name: &str, about: &str, schema: RefOr<Schema>) -> Self {
        let parameter = ParameterBuilder::new().parameter_in(place).name(name).required(Required::False);
        self.parameters.push(parameter.description(Some(about)).schema(Some(schema)).build());
        self
    }

    /// Describes a path parameter that is not a UUID, or that is not refused for being malformed.
    pub fn path(self, name: &str, about: &str, schema: RefOr<Schema>) -> Self {
        self.parameter(ParameterIn::Path, name, about, schema)
    }

    /// Adds a query parameter.
    pub fn query(self, name: &str, about: &str, schema: RefOr<Schema>) -> Self {
        self.parameter(ParameterIn::Query, name, about, schema)
    }

    /// Adds a query parameter of a model type.
    pub fn query_of<T: ToSchema>(self, name: &str, about: &str) -> Self {
        let noun = schema::reference::<T>(self.components);
        self.query(name, about, noun)
    }

    /// Adds a query parameter with a comma-separated list of a model type.
    pub fn list_of<T: ToSchema>(
        mut self,
        name: &str,
        about: &str,
        least: Option<usize>,
        style: Option<ParameterStyle>,
    ) -> Self {
        let list = ArrayBuilder::new().items(schema::reference::<T>(self.components)).min_items(least);
        self = self.query(name, about, list.into());
        if let Some(parameter) = self.parameters.last_mut() {
            (parameter.explode, parameter.style) = (Some(false), style);
        }
        self
    }

    /// Adds a header with any text.
    pub fn header(self, name: &str, about: &str) -> Self {
        self.parameter(ParameterIn::Header, name, about, text())
    }

    /// Makes the last parameter required.
    pub fn required(mut self) -> Self {
        if let Some(parameter) = self.parameters.last_mut() {
            parameter.required = Required::True;
        }
        self
    }

    /// Adds the header by which a client accepts values beyond the specification.
    pub fn newer_values(self) -> Self {
        self.header(
            API_VERSION,
            "The version that the client knows, as a day (`2025-04-01`) or two numbers (`1.106`): offers may \
                then use newer values, which the specification lacks. Without it, such offers are left out, \
                unless the lead's `productTypes` or `requestedLoanTerms` names such a value. Anything else \
                is ignored.",
        )
    }

    /// Adds a JSON body, with examples.
    pub fn body<T: ToSchema>(mut self, examples: &[(&str, &str)]) -> Self {
        let examples = examples.iter().map(|(name, json)| {
            let value: Value = serde_json::from_str(json).expect("the sample bodies are JSON");
            (*name, ExampleBuilder::new().value(Some(value)).build())
        });
        let content = ContentBuilder::new().schema(Some(schema::reference::<T>(self.components)));
        let content = content.examples_from_iter(examples).build();
        self.body =
            Some(RequestBodyBuilder::new().content(JSON, content).required(Some(Required::True)).build());
        self.header(
            "Prefer",
            "`handling=strict` rejects unknown keys of the body and suggests known ones; it also rejects an \
                invalid `API-Version`, whatever is otherwise read as meant and, for a test lead, unknown values of the \
                client tag `sandbox`. `handling=lenient` reads values of enumerations in any case and with blanks, and \
                numbers as zipcodes, phones and social security numbers.",
        )
    }

    /// Adds the header by which a query is read leniently.
    pub fn lenient(self) -> Self {
        self.header("Prefer", "`handling=lenient` reads values of enumerations in any case and with blanks.")
    }

    /// Adds the header by which a repeated call takes effect once, for this time.
    pub fn repeatable(self, time: &str) -> Self {
        let key =
            ObjectBuilder::new().schema_type(Type::String).pattern(Some(KEY)).max_length(Some(KEY_BYTES));
        let about = format!(
            "A name for this call: {time}, a repeat with the same name and content takes effect once and gets the same \
                answer, with the header `Idempotent-Replayed`."
        );
        self.parameter(ParameterIn::Header, IDEMPOTENCY_KEY, &about, key.into())
    }

    /// Adds to the description of the header `Prefer`.
    pub fn prefers(mut self, also: &str) -> Self {
        let prefer = self.parameters.iter_mut().find(|parameter| parameter.name == "Prefer");
        if let Some(about) = prefer.and_then(|prefer| prefer.description.as_mut()) {
            *about = format!("{about} {also}");
        }
        self
    }

    /// Makes the body optional.
    pub fn body_optional(mut self) -> Self {
        self.body.iter_mut().for_each(|body| body.required = Some(Required::False));
        self
    }

    /// Adds an answer of a model type.
    pub fn answers<T: Example + ToSchema>(self, status: u16, about: &str) -> Self {
        let content = content(schema::reference::<T>(self.components), Some(T::example()));
        self.answer(status, about, Some((JSON, content)))
    }

    /// Adds an answer with an array of a model type.
    pub fn answers_each<T: Example + ToSchema>(self, about: &str) -> Self {
        let elements = schema::reference::<T>(self.components);
        self.answers_all(about, elements, T::example())
    }

    /// Adds an answer with an array, with one example element.
    pub fn answers_all(self, about: &str, elements: RefOr<Schema>, example: impl Into<Value>) -> Self {
        let example = Value::Array(vec![example.into()]);
        self.answer(200, about, Some((JSON, content(schema::array(elements), Some(example)))))
    }

    /// Adds an answer of another content type.
    pub fn answers_as(self, status: u16, content_type: &str, about: &str, schema: RefOr<Schema>) -> Self {
        self.answer(status, about, Some((content_type, content(schema, None))))
    }

    /// Adds an answer with an HTML page.
    pub fn answers_page(self, status: u16, about: &str) -> Self {
        self.answers_as(status, "text/html", about, text())
    }

    /// Adds an HTML variant of the last answer, for clients that accept one.
    pub fn or_page(mut self) -> Self {
        if let Some((_, answer)) = self.answers.last_mut() {
            answer.content.insert("text/html".to_owned(), content(text(), None).into());
        }
        self
    }

    /// Adds an answer with a stream of server-sent events, each with a model type as its data. A client that reads no
    /// streams gets the text of all.
    pub fn answers_events<T: ToSchema>(self, about: &str) -> Self {
        let event = schema::reference::<T>(self.components);
        let event = AnyOfBuilder::new().item(event).item(text());
        self.answers_as(200, "text/event-stream", about, event.into())
    }

    /// Adds an answer without a body.
    pub fn answers_empty(self, status: u16, about: &str) -> Self {
        self.answer(status, about, None)
    }

    /// Adds a header to the last answer.
    pub fn with_header(mut self, name: &str) -> Self {
        self.answers.last_mut().into_iter().for_each(|(_, answer)| add_header(answer, name));
        self
    }

    /// Adds a failure; its errors are the example.
    pub fn refuses(self, failure: Failure, about: &str) -> Self {
        let elements = schema::reference::<ApiError>(self.components);
        let body = content(schema::array(elements), Some(json!(failure.errors)));
        let draft = self.answer(failure.status.as_u16(), about, Some((JSON, body)));
        failure.headers.iter().fold(draft, |draft, (name, _)| draft.with_header(name.as_str()))
    }

    /// Adds the failure of an unknown UUID.
    pub fn unknown(self, noun: &str, about: &str) -> Self {
        self.refuses(Failure::unknown_uuid(noun, Uuid::nil()), about)
    }

    /// Adds the failure of a faulty attribute.
    pub fn faults(self, attribute: &str, error_type: ErrorType, message: &str, about: &str) -> Self {
        self.refuses(Failure::fault(attribute, error_type, message), about)
    }

    /// Builds the operation.
    pub fn operation(self, row: &ApiRoute, servers: Option<Server>) -> Operation {
        let draft = self.with_path_parameters(row.path).with_usual_refusals(row);
        let takes_body = draft.body.is_some();
        let prefers = draft.parameters.iter().any(|it| {
            it.name == "Prefer" && it.description.as_ref().is_some_and(|about| about.contains("handling"))
        });
        let is_repeatable = draft.parameters.iter().any(|parameter| parameter.name == IDEMPOTENCY_KEY);
        let (scheme, token) = asked(row.scope);
        let edition = match row.editions {
            Editions::All => "In both editions.",
            Editions::CurrentOnly => "Not in the v1 edition.",
        };
        let mut operation = OperationBuilder::new()
            .operation_id(Some(row.id))
            .tag(row.section)
            .summary(Some(row.about))
            .description(Some([draft.about, token, edition].join(" ").trim_start()))
            .parameters((!draft.parameters.is_empty()).then_some(draft.parameters))
            .request_body(draft.body)
            .servers(servers.map(|server| [server]))
            .securities(Some(
                scheme
                    .map(|scheme| SecurityRequirement::new::<_, _, &str>(scheme, []))
                    .into_iter()
                    .chain((row.scope == Scope::PublishableOrSecret).then(SecurityRequirement::default)),
            ));
        for (status, mut answer) in draft.answers {
            add_header(&mut answer, "Request-Id");
            if takes_body && (200..300).contains(&status) {
                add_header(&mut answer, "Unknown-Keys");
            }
            if prefers && (200..300).contains(&status) {
                add_header(&mut answer, "Changed-Values");
                add_header(&mut answer, "Preference-Applied");
            }
            if is_repeatable && (200..300).contains(&status) {
                add_header(&mut answer, "Idempotent-Replayed");
            }
            operation = operation.response(status.to_string(), answer);
        }
        operation.build()
    }

    fn with_path_parameters(self, path: &str) -> Self {
        let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        names.fold(self, |draft, name| {
            if draft.parameters.iter().any(|parameter| parameter.name == name) {
                return draft;
            }
            let malformed = Failure::bad_attribute(name, format!("Path parameter {name} must be a UUID"));
            draft.path(name, "A UUID with its hyphens.", uuid()).refuses(malformed, "Malformed.")
        })
    }

    fn with_usual_refusals(mut self, row: &ApiRoute) -> Self {
        let undecodable = Failure::bad_request("Query string is not percent-encoded UTF-8");
        self = self.refuses(undecodable, "The request cannot be read.");
        if row.scope != Scope::None {
            let missing = Failure::unauthorized("Access token is missing");
            self = self.refuses(missing, "The token does not permit this.");
        }
        if self.body.is_some() {
            self = self
                .refuses(Failure::timeout(), "The body did not arrive in time.")
                .refuses(Failure::too_large(1 << 20), "The body is too long.")
                .refuses(Failure::unsupported_media(), "`Content-Type` is not JSON.");
        }
        if row.editions == Editions::CurrentOnly {
            self = self.refuses(Failure::unsupported_edition(), "The v1 edition has no such path.");
        }
        self.refuses(
            Failure::too_many_requests(1),
            "The company or the address sends too many requests, or has too many in progress.",
        )
        .with_header("RateLimit")
        .with_header("RateLimit-Policy")
        .refuses(Failure::internal(), "An internal error.")
        .refuses(Failure::overloaded(1), "The service is at a limit, or stopping: try again later.")
    }

    /// Adds an answer; the first one of a status counts.
    fn answer(mut self, status: u16, about: &str, body: Option<(&str, Content)>) -> Self {
        if self.answers.iter().all(|(known, _)| *known != status) {
            let mut answer = Response::new(about);
            answer.content.extend(body.map(|(kind, content)| (kind.to_owned(), content.into())));
            self.answers.push((status, answer));
        }
        self
    }
}

type HeaderRow = (&'static str, &'static str, fn() -> RefOr<Schema>);

const HEADERS: &[HeaderRow] = &[
    ("ETag", "The version of the answer, for `If-None-Match`.", text),
    ("Location", "The redirect target.", text),
    ("Request-Id", "The id of the request, also in the log.", uuid),
    (
        "RateLimit",
        "What is left of each limit, and the seconds until it is full again, as in `\"company\";r=1999;t=1`.",
        text,
    ),
    (
        "RateLimit-Policy",
        "Each limit: the requests of a burst, and the seconds in which it refills, as in `\"company\";q=2000;w=2`.",
        text,
    ),
    ("Retry-After", "Seconds until a retry makes sense.", || integer(0, i32::MAX)),
    (
        "Table-Events",
        "The address of the table's stream for a browser's `EventSource`, with a secret, if the table is pending.",
        text,
    ),
    ("Table-Deadline", "When the rate table will be complete at the latest, while it is pending.", || {
        schema::text("date-time")
    }),
    (
        "Unknown-Keys",
        "The number of unknown keys in the body and, for a test lead, of unknown values of its tag `sandbox`, if any.",
        || integer(1, i32::MAX),
    ),
    (
        "Idempotent-Replayed",
        "`true` where the call repeats an earlier one with the same `Idempotency-Key`.",
        || one_of(&["true"]),
    ),
    ("Changed-Values", "The number of values that were not as specified and read as meant, if any.", || {
        integer(1, i32::MAX)
    }),
    ("Preference-Applied", "The handling that `Prefer` asks for.", || {
        one_of(&["handling=strict", "handling=lenient"])
    }),
    ("Accept-Encoding", "The accepted codings of a body: none.", text),
    ("WWW-Authenticate", "The scheme of the token: `Bearer`.", text),
    ("Allow", "The methods of the path.", text),
];

fn add_header(answer: &mut Response, name: &str) {
    let known = HEADERS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
    let (name, about, schema) = known.expect("a header of an answer is described here");
    let header = HeaderBuilder::new().description(Some(*about)).schema(Some(schema())).build();
    answer.headers.insert((*name).to_owned(), header.into());
}

fn asked(scope: Scope) -> (Option<&'static str>, &'static str) {
    match scope {
        Scope::None => (None, "Needs no token."),
        Scope::Publishable => (Some(TOKEN), "Needs a token of either kind."),
        Scope::PublishableOrSecret => (Some(TOKEN), "Needs a token of either kind, or the secret."),
        Scope::Confidential => (Some(TOKEN), "Needs a confidential token."),
        Scope::Partner => (Some(TOKEN), "Needs a partner's token."),
        Scope::Signed => (
            Some(SIGNATURE),
            "Needs a signature: the HMAC-SHA256, in hexadecimal, keyed with the signing key, over the other \
                parameters as \
             `name=value`, sorted, a line feed after each.",
        ),
    }
}

/// Any text.
pub fn text() -> RefOr<Schema> {
    typed(Type::String)
}

/// A UUID.
pub fn uuid() -> RefOr<Schema> {
    schema::text("uuid")
}

/// Any value of a JSON type.
pub fn typed(kind: Type) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(kind).into()
}

/// One of these texts.
pub fn one_of(texts: &[&str]) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(texts.to_vec())).into()
}

/// An integer in a range, both ends included.
pub fn integer(least: impl Into<i64>, most: impl Into<i64>) -> RefOr<Schema> {
    let (least, most) = (least.into(), most.into());
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(least)).maximum(Some(most)).into()
}

fn content(schema: RefOr<Schema>, example: Option<Value>) -> Content {
    ContentBuilder::new().schema(Some(schema)).example(example).build()
}
