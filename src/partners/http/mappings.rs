//! The mappings of a declared HTTP source, compiled one by one; what is wrong with one is reported with its key.

use std::collections::BTreeMap;

use hyper::Method;
use hyper::header::HeaderName;
use minijinja::AutoEscape;
use serde_json::Value;

use super::answer_mapping::AnswerMapping;
use super::body::{Body, Shape};
use super::declared::{self, Http};
use super::expression::{Expression, Template};
use super::names::{self, Stage, no_mapping};
use super::places::Places;
use super::request::header_name;
use super::source::Auth;
use super::specimen;
use crate::declaration::{did_you_mean, nearest, quoted};
use crate::model::{ProductType, RejectReason};
use crate::partners::catalog::Figures;
use crate::partners::checker::{Checker, is_absolute_url};

/// Compiles mappings, and looks at what they name.
pub(super) struct Mappings<'m, 'c> {
    pub(super) check: &'m mut Checker<'c>,
    /// The names of the secrets.
    pub(super) secrets: &'m [&'m str],
    /// Where those that were compiled stand.
    pub(super) places: Places,
}

impl Mappings<'_, '_> {
    pub(super) fn method(&mut self, method: Option<&str>) -> Option<Method> {
        let known = [Method::POST, Method::GET, Method::PUT, Method::PATCH];
        let wanted = method.unwrap_or("POST");
        let found = known.into_iter().find(|method| method.as_str() == wanted);
        if found.is_none() {
            self.check.at("method", format!("must be POST, GET, PUT or PATCH, got `{wanted}`"));
        }
        found
    }

    pub(super) fn url(&mut self, key: &str, url: &str) -> Option<Template> {
        self.check.url(key, url);
        self.template(key, url, AutoEscape::None)
    }

    fn template(&mut self, key: &str, text: &str, escape: AutoEscape) -> Option<Template> {
        match Template::compile(text, escape) {
            Ok(template) => {
                self.names(key, text, template.variables(), Stage::Request);
                Some(template)
            }
            Err(fault) => {
                self.check.at(key, no_mapping(key, fault));
                None
            }
        }
    }

    fn expression(&mut self, key: &str, text: &str, stage: Stage) -> Option<Expression> {
        match Expression::compile(text) {
            Ok(expression) => {
                self.names(key, text, expression.variables(), stage);
                Some(expression)
            }
            Err(fault) => {
                self.check.at(key, no_mapping(key, fault));
                None
            }
        }
    }

    pub(super) fn fields(
        &mut self,
        key: &str,
        fields: &BTreeMap<String, String>,
    ) -> Vec<(String, Expression)> {
        let compiled = fields.iter().filter_map(|(name, text)| {
            let key = format!("{key}.{}", quoted(name));
            Some((name.clone(), self.expression(&key, text, Stage::Request)?))
        });
        compiled.collect()
    }

    pub(super) fn headers(&mut self, headers: &BTreeMap<String, String>) -> Vec<(HeaderName, Expression)> {
        let mut compiled = Vec::new();
        for (name, text) in headers {
            let key = format!("headers.{}", quoted(name));
            match header_name(name) {
                Some(name) => compiled
                    .extend(self.expression(&key, text, Stage::Request).map(|expression| (name, expression))),
                None => self.check.at(&key, "is no name of a header"),
            }
        }
        compiled
    }

    pub(super) fn body(&mut self, http: &Http) -> Option<Body> {
        match (&http.json, &http.form, &http.xml) {
            (None, None, None) => Some(Body::Empty),
            (Some(json), None, None) => {
                let table = toml::Value::Table(json.clone());
                self.shape("json", &table).map(Body::Json)
            }
            (None, Some(form), None) => Some(Body::Form(self.fields("form", form))),
            (None, None, Some(xml)) => self.xml(xml).map(Body::Xml),
            _ => {
                self.check.at("json", "stands beside `form` or `xml`; a request has one body");
                None
            }
        }
    }

    /// A template that makes XML at least where everything is given.
    fn xml(&mut self, text: &str) -> Option<Template> {
        let template = self.template("xml", text, AutoEscape::Html)?;
        let made = template.run("xml", &specimen::context_with(self.secrets));
        // What fails for want of better values may still be right for a real lead.
        if let Ok(made) = made
            && let Err(error) = roxmltree::Document::parse(made.trim())
        {
            self.check.at("xml", format!("makes no XML of a lead in which everything is given: {error}"));
            return None;
        }
        Some(template)
    }

    fn shape(&mut self, key: &str, value: &toml::Value) -> Option<Shape> {
        Some(match value {
            toml::Value::String(text) => {
                Shape::Of(key.to_owned(), self.expression(key, text, Stage::Request)?)
            }
            toml::Value::Integer(number) => Shape::Fixed(Value::from(*number)),
            toml::Value::Float(number) => Shape::Fixed(Value::from(*number)),
            toml::Value::Boolean(flag) => Shape::Fixed(Value::from(*flag)),
            toml::Value::Datetime(time) => Shape::Fixed(Value::from(time.to_string())),
            toml::Value::Array(elements) => {
                let shapes = elements.iter().enumerate();
                let shapes = shapes.map(|(nth, element)| self.shape(&format!("{key}[{nth}]"), element));
                Shape::Array(shapes.collect::<Vec<_>>().into_iter().flatten().collect())
            }
            toml::Value::Table(table) => {
                let entries = table.iter().map(|(name, value)| {
                    let shape = self.shape(&format!("{key}.{}", quoted(name)), value)?;
                    Some((name.clone(), shape))
                });
                Shape::Object(entries.collect::<Vec<_>>().into_iter().flatten().collect())
            }
        })
    }

    pub(super) fn auth(&mut self, auth: &declared::Auth) -> Option<Auth> {
        match (&auth.basic, &auth.oauth2) {
            (Some(basic), None) => {
                let user = self.expression("auth.basic.user", &basic.user, Stage::Request);
                let password = self.expression("auth.basic.password", &basic.password, Stage::Request);
                Some(Auth::Basic { user: user?, password: password? })
            }
            (None, Some(oauth2)) => self.oauth2(oauth2),
            _ => {
                self.check.at("auth", "must have one of basic, oauth2");
                None
            }
        }
    }

    fn oauth2(&mut self, declared: &declared::OAuth2) -> Option<Auth> {
        let declared::OAuth2 { token_url, sandbox_token_url, client_id, client_secret, scope } = declared;
        let client_id = self.expression("auth.oauth2.client_id", client_id, Stage::Request);
        let client_secret = self.expression("auth.oauth2.client_secret", client_secret, Stage::Request);
        for (name, url) in [("token_url", Some(token_url)), ("sandbox_token_url", sandbox_token_url.as_ref())]
        {
            if url.is_some_and(|url| !is_absolute_url(url)) {
                self.check.at(&format!("auth.oauth2.{name}"), "must be an absolute http or https URL");
            }
        }
        Some(Auth::OAuth2 {
            token_url: token_url.clone(),
            sandbox_token_url: sandbox_token_url.clone(),
            client_id: client_id?,
            client_secret: client_secret?,
            scope: scope.clone(),
        })
    }

    pub(super) fn answer(
        &mut self,
        http: &Http,
        product_type: ProductType,
        keys: Vec<String>,
    ) -> Option<AnswerMapping> {
        let declared = &http.answer;
        let mut of = |key: &str, text: &Option<String>| {
            text.as_ref().and_then(|text| self.expression(key, text, Stage::Answer))
        };
        let error = of("answer.error", &declared.error);
        let declined = of("answer.declined", &declared.declined);
        for word in declined.iter().flat_map(Expression::literals) {
            if RejectReason::from_wire(word).is_none() {
                let known = crate::model::one_of(RejectReason::WIRE);
                let hint = did_you_mean(nearest(word, RejectReason::WIRE.iter().copied()));
                self.check.at("answer.declined", format!("must be {known}, got `{word}`{hint}"));
            }
        }
        if http.xml.is_some() && declared.offers.is_none() {
            let message = "is missing: where its offers stand in the answer, such as `response.Offers.Offer`";
            self.check.at("answer.offers", message);
        }
        let offers = declared.offers.as_deref().unwrap_or("response.offers");
        let offers = self.expression("answer.offers", offers, Stage::Answer);
        let offer = self.figures(&declared.offer, product_type, &keys);
        Some(AnswerMapping { error, declined, offers: offers?, offer, keys })
    }

    fn figures(
        &mut self,
        declared: &BTreeMap<String, String>,
        product_type: ProductType,
        keys: &[String],
    ) -> Vec<(&'static str, Expression)> {
        let mut figures = Vec::new();
        for (name, text) in declared {
            let key = format!("answer.offer.{}", quoted(name));
            let compiled = self.expression(&key, text, Stage::Offer);
            for word in compiled.iter().filter(|_| name == "key").flat_map(Expression::literals) {
                if !keys.iter().any(|key| key == word) {
                    let hint = did_you_mean(nearest(word, keys.iter().map(String::as_str)));
                    self.check.at(&key, format!("`{word}` is no offer of the file{hint}"));
                }
            }
            match Figures::named(name, product_type) {
                Some(name) => figures.extend(compiled.map(|expression| (name, expression))),
                None => {
                    let known: Vec<&str> = Figures::names(product_type).collect();
                    let hint = did_you_mean(nearest(name, known.iter().copied()));
                    let known = known.join(", ");
                    self.check.at(&key, format!("is no figure of such an offer; there are {known}{hint}"));
                }
            }
        }
        let required = Figures::required(product_type);
        if !required.is_empty() && !required.iter().any(|name| declared.contains_key(*name)) {
            let wanted = required.join(" or ");
            self.check.at("answer.offer", format!("must have {wanted}; without it no offer can be shown"));
        }
        figures
    }

    /// Notes where a mapping stands, and looks at every name that it uses.
    fn names(&mut self, key: &str, text: &str, variables: impl IntoIterator<Item = String>, stage: Stage) {
        self.places.note(key, self.check.line_of(key));
        for variable in variables {
            if let Some(fault) = names::fault(key, text, &variable, stage, self.secrets) {
                self.check.at(key, fault);
            }
        }
    }
}
