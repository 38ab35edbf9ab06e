//! What the route table does not know of an operation: its name, what it takes, what it answers.

use hyper::{Method, StatusCode};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::content::{Content, ContentBuilder};
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::path::{
    Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, ParameterStyle,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::server::Server;
use utoipa::openapi::{RefOr, Required, Schema};

use super::headers;
use crate::http::current::api_version::API_VERSION;
use crate::http::routes::ApiRoute;
use crate::model::{ApiError, Components, schema};
use crate::web::{Editions, Failure, Scope};

/// The security scheme of tokens.
pub const TOKEN: &str = "token";

/// The security scheme of signed queries. The schemes of a document stand in the order of their names.
pub const SIGNATURE: &str = "urlSignature";

const JSON: &str = "application/json";

/// An operation, before the route table says the rest.
pub struct Draft {
    method: Method,
    path: &'static str,
    about: Option<&'static str>,
    id: &'static str,
    tag: &'static str,
    parameters: Vec<Parameter>,
    body: Option<RequestBody>,
    answers: Vec<(StatusCode, ResponseBuilder)>,
}

impl Draft {
    /// An operation that takes nothing but what stands in its path. `id` is a verb and its object, which generated
    /// clients name their functions by.
    pub fn new(method: Method, path: &'static str, tag: &'static str, id: &'static str) -> Self {
        Self { method, path, about: None, id, tag, parameters: Vec::new(), body: None, answers: Vec::new() }
    }

    /// Whether this is the draft of a route.
    pub fn is_for(&self, route: &ApiRoute) -> bool {
        self.method == route.method && self.path == route.path
    }

    /// The section that it stands in.
    pub fn tag(&self) -> &'static str {
        self.tag
    }

    /// Adds what a client should know.
    pub fn about(self, about: &'static str) -> Self {
        Self { about: Some(about), ..self }
    }

    /// Takes a parameter of the path, the query or the head.
    pub fn parameter(
        mut self,
        place: ParameterIn,
        name: &str,
        required: Required,
        about: &str,
        schema: impl Into<RefOr<Schema>>,
    ) -> Self {
        let parameter = ParameterBuilder::new().parameter_in(place).name(name).required(required);
        self.parameters.push(parameter.description(Some(about)).schema(Some(schema)).build());
        self
    }

    /// Takes a query parameter that may be left out.
    pub fn query(self, name: &str, about: &str, schema: impl Into<RefOr<Schema>>) -> Self {
        self.parameter(ParameterIn::Query, name, Required::False, about, schema)
    }

    /// Takes a query parameter of values with commas between them, which may be left out.
    pub fn query_list(mut self, name: &str, about: &str, elements: RefOr<Schema>) -> Self {
        let parameter = ParameterBuilder::new().parameter_in(ParameterIn::Query).name(name);
        let parameter = parameter.style(Some(ParameterStyle::Form)).explode(Some(false));
        let list = schema::array(elements);
        self.parameters.push(parameter.description(Some(about)).schema(Some(list)).build());
        self
    }

    /// Takes a header of any text.
    pub fn header(self, name: &str, about: &str) -> Self {
        self.parameter(ParameterIn::Header, name, Required::False, about, text())
    }

    /// Takes the header by which a caller says to know values that the specification lacks.
    pub fn newer_values(self) -> Self {
        let about = "A version, a day such as `2025-04-01` or two numbers such as `1.106`: says that offers may have values that the \
                     specification lacks, of the enumerations named here. Anything else is passed over.";
        self.header(API_VERSION, about)
    }

    /// Takes values with commas between them.
    pub fn list(mut self, name: &str, about: &str, elements: RefOr<Schema>) -> Self {
        let values = utoipa::openapi::ArrayBuilder::new().items(elements).min_items(Some(1));
        self = self.query(name, about, values);
        if let Some(list) = self.parameters.last_mut() {
            list.explode = Some(false);
        }
        self
    }

    /// Takes a JSON body.
    pub fn body<T: ToSchema>(
        mut self,
        required: Required,
        examples: &[(&str, &str)],
        components: &mut Components,
    ) -> Self {
        let examples = examples.iter().map(|(name, json)| {
            let value: Value = serde_json::from_str(json).expect("the sample leads are JSON");
            (*name, ExampleBuilder::new().value(Some(value)).build())
        });
        let content = ContentBuilder::new().schema(Some(schema::reference::<T>(components)));
        let content = content.examples_from_iter(examples).build();
        self.body = Some(RequestBodyBuilder::new().content(JSON, content).required(Some(required)).build());
        self.header(
            "Prefer",
            "`handling=strict` refuses keys of the body that mean nothing, and names the likely ones; also an `API-Version` that is \
             none and, of a test lead, values of the client tag `sandbox` that bring nothing about.",
        )
    }

    /// Answers with a noun.
    pub fn answers<T: ToSchema + Serialize>(
        self,
        status: StatusCode,
        about: &str,
        example: &T,
        components: &mut Components,
    ) -> Self {
        let schema = schema::reference::<T>(components);
        self.answer(status, about, Some((JSON, content(schema, example))))
    }

    /// Answers with an array.
    pub fn answers_all<T: Serialize>(self, about: &str, elements: RefOr<Schema>, example: &[T]) -> Self {
        self.answer(StatusCode::OK, about, Some((JSON, content(schema::array(elements), example))))
    }

    /// Answers with an object that no noun describes.
    pub fn answers_object(self, about: &str) -> Self {
        let object = ObjectBuilder::new().schema_type(Type::Object);
        let content = ContentBuilder::new().schema(Some(object)).build();
        self.answer(StatusCode::OK, about, Some((JSON, content)))
    }

    /// Answers with text or bytes of another type.
    pub fn answers_type(self, content_type: &str, about: &str) -> Self {
        let content = ContentBuilder::new().schema(Some(text())).build();
        self.answer(StatusCode::OK, about, Some((content_type, content)))
    }

    /// Answers with a page for a person, whatever the status.
    pub fn answers_page(self, status: StatusCode, about: &str) -> Self {
        let content = ContentBuilder::new().schema(Some(text())).build();
        self.answer(status, about, Some(("text/html", content)))
    }

    /// Gives the answer named last as a page to who would rather read one.
    pub fn or_page(mut self) -> Self {
        if let Some((status, answer)) = self.answers.pop() {
            let content = ContentBuilder::new().schema(Some(text())).build();
            self.answers.push((status, answer.content("text/html", content)));
        }
        self
    }

    /// Answers with a stream of events, each of which has these fields.
    pub fn answers_events(self, about: &str, fields: &[&str]) -> Self {
        let event = ObjectBuilder::new().schema_type(Type::Object);
        let event = fields.iter().fold(event, |event, field| event.property(*field, text()).required(*field));
        let content = ContentBuilder::new().schema(Some(event)).build();
        self.answer(StatusCode::OK, about, Some(("text/event-stream", content)))
    }

    /// Answers without a body.
    pub fn answers_empty(self, status: StatusCode, about: &str) -> Self {
        self.answer(status, about, None)
    }

    /// Adds a header to the answer named last.
    pub fn with_header(mut self, name: &str) -> Self {
        if let Some((status, answer)) = self.answers.pop() {
            let (name, header) = headers::described(name);
            self.answers.push((status, answer.header(name, header)));
        }
        self
    }

    /// May fail in this way; the example is what the service says then.
    pub fn refuses(self, failure: Failure, about: &str) -> Self {
        let elements = schema::reference::<ApiError>(&mut Components::new());
        let body = content(schema::array(elements), &failure.errors);
        let mut draft = self.answer(failure.status, about, Some((JSON, body)));
        for (name, _) in &failure.headers {
            draft = draft.with_header(name.as_str());
        }
        draft
    }

    /// The whole operation.
    pub fn operation(
        self,
        route: &ApiRoute,
        servers: Option<Server>,
        components: &mut Components,
    ) -> Operation {
        schema::reference::<ApiError>(components);
        let draft = self.with_path_parameters().with_usual_refusals(route);
        let takes_body = draft.body.is_some();
        let mut operation = OperationBuilder::new()
            .operation_id(Some(draft.id))
            .tag(draft.tag)
            .summary(Some(route.about))
            .description(Some(description(draft.about, route)))
            .parameters((!draft.parameters.is_empty()).then_some(draft.parameters))
            .request_body(draft.body)
            .servers(servers.map(|server| [server]))
            .securities(Some(
                scheme(route.scope).map(|scheme| SecurityRequirement::new::<_, _, &str>(scheme, [])),
            ));
        for (status, answer) in draft.answers {
            let (name, id) = headers::described("Request-Id");
            let mut answer = answer.header(name, id);
            if takes_body && status.is_success() {
                let (name, unknown) = headers::described("Unknown-Keys");
                answer = answer.header(name, unknown);
            }
            operation = operation.response(status.as_str(), answer.build());
        }
        operation.build()
    }

    /// What is in braces and not described yet is a UUID.
    fn with_path_parameters(self) -> Self {
        let names = self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        names.fold(self, |draft, name| {
            match draft.parameters.iter().any(|parameter| parameter.name == name) {
                true => draft,
                false => draft
                    .parameter(ParameterIn::Path, name, Required::True, "A UUID with its hyphens.", uuid())
                    .refuses(
                        Failure::bad_attribute(name, format!("Path parameter {name} must be a UUID")),
                        "Malformed.",
                    ),
            }
        })
    }

    /// How any operation may fail, as its route has it.
    fn with_usual_refusals(mut self, route: &ApiRoute) -> Self {
        let undecodable = Failure::bad_request("Query string is not percent-encoded UTF-8");
        self = self.refuses(undecodable, "The request cannot be read.");
        if route.scope != Scope::None {
            self =
                self.refuses(Failure::unauthorized("Access token is missing"), "No token that may do this.");
        }
        if self.body.is_some() {
            self = self.refuses(Failure::timeout(), "The body did not arrive in time.");
            self = self.refuses(Failure::too_large(1 << 20), "The body is too long.");
            self = self.refuses(Failure::unsupported_media(), "The body is not said to be JSON.");
        }
        if route.editions == Editions::CurrentOnly {
            self = self.refuses(Failure::unsupported_edition(), "The v1 edition has no such path.");
        }
        self = self
            .refuses(
                Failure::too_many_requests(1),
                "The company or the address asks too often, or has too much under way.",
            )
            .with_header("RateLimit")
            .with_header("RateLimit-Policy");
        self.refuses(Failure::internal(), "A fault of the service.")
            .refuses(Failure::overloaded(1), "The service is at a limit, or stopping: try again later.")
    }

    /// Adds an answer; of a status that is known already, the first counts.
    fn answer(mut self, status: StatusCode, about: &str, body: Option<(&str, Content)>) -> Self {
        if self.answers.iter().all(|(known, _)| *known != status) {
            let answer = ResponseBuilder::new().description(about);
            let answer = match body {
                Some((content_type, content)) => answer.content(content_type, content),
                None => answer,
            };
            self.answers.push((status, answer));
        }
        self
    }
}

/// How a caller shows who it is.
fn scheme(scope: Scope) -> Option<&'static str> {
    match scope {
        Scope::None => None,
        Scope::Publishable | Scope::Confidential | Scope::Partner => Some(TOKEN),
        Scope::Signed => Some(SIGNATURE),
    }
}

/// Any text.
pub fn text() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).into()
}

/// One of these texts.
pub fn one_of(texts: &[&str]) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(texts.to_vec())).into()
}

/// An integer within bounds.
pub fn integer(least: i64, most: i64) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(least)).maximum(Some(most)).into()
}

fn uuid() -> RefOr<Schema> {
    schema::text("uuid")
}

fn content<T: Serialize + ?Sized>(schema: RefOr<Schema>, example: &T) -> Content {
    let example = serde_json::to_value(example).expect("the nouns are JSON");
    ContentBuilder::new().schema(Some(schema)).example(Some(example)).build()
}

fn description(about: Option<&str>, route: &ApiRoute) -> String {
    let token = match route.scope {
        Scope::None => "Asks for no token.",
        Scope::Publishable => "Asks for a token of either kind.",
        Scope::Confidential => "Asks for a confidential token.",
        Scope::Partner => "Asks for a partner's token.",
        Scope::Signed => {
            "Asks for a signature: the HMAC-SHA256, in hexadecimal, keyed with the signing key, over the other parameters as \
             `name=value`, sorted, a line feed after each."
        }
    };
    let edition = match route.editions {
        Editions::All => "In both editions.",
        Editions::CurrentOnly => "Not in the v1 edition.",
    };
    [about.unwrap_or_default(), token, edition].join(" ").trim_start().to_owned()
}
