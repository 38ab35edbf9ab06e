//! Expressions and templates of the mapping language, compiled once and run under a bound.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::LazyLock;

use chrono::{NaiveDate, format::StrftimeItems};
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};

use crate::model::Timestamp;

/// Instructions that one run may take.
const FUEL: u64 = 50_000;

/// Calls within calls within one expression.
const RECURSION: usize = 32;

/// Longest text that a template may make, bytes.
const TEXT_BYTES: usize = 1024 * 1024;

/// The name of a template within its environment.
const NAME: &str = "template";

/// An expression: `lead.financialInformation.annualIncome / 12`.
pub struct Expression {
    text: String,
    compiled: minijinja::Expression<'static, 'static>,
}

/// A text with expressions in it: `<Amount>{{ lead.loanInformation.loanAmount }}</Amount>`.
pub struct Template {
    environment: Environment<'static>,
}

/// Why a mapping could not be run: the kind of failure, without what was being mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingError {
    /// Where it stands in the partner file.
    pub key: String,
    /// What went wrong, in general words.
    pub cause: String,
    /// What went wrong, with the values at hand: for whoever may see them.
    pub detail: String,
}

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(environment);

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    /// What is wrong with it, to follow its key.
    pub fn compile(text: &str) -> Result<Self, String> {
        let compiled = ENVIRONMENT.compile_expression_owned(text.to_owned()).map_err(syntax)?;
        let expression = Self { text: text.to_owned(), compiled };
        unknown_words(&expression.compiled.eval(empty()).err())?;
        Ok(expression)
    }

    /// What it is made of: variables with their paths.
    pub fn variables(&self) -> BTreeSet<String> {
        sorted(self.compiled.undeclared_variables(true))
    }

    /// Runs it. `key` is told when it fails.
    ///
    /// # Errors
    /// [`MappingError`]
    pub fn run(&self, key: &str, context: &Value) -> Result<Value, MappingError> {
        self.compiled.eval(context.clone()).map_err(|error| MappingError::of(key, &error))
    }
}

impl Template {
    /// Compiles a template, whose values are escaped as `escape` says.
    ///
    /// # Errors
    /// What is wrong with it, to follow its key.
    pub fn compile(text: &str, escape: AutoEscape) -> Result<Self, String> {
        let mut environment = environment();
        environment.set_auto_escape_callback(move |_| escape.clone());
        environment.add_template_owned(NAME, text.to_owned()).map_err(syntax)?;
        let template = Self { environment };
        unknown_words(&template.render(empty()).err())?;
        Ok(template)
    }

    /// What it is made of: variables with their paths.
    pub fn variables(&self) -> BTreeSet<String> {
        let template = self.environment.get_template(NAME);
        template.map(|template| sorted(template.undeclared_variables(true))).unwrap_or_default()
    }

    /// Fills it in. `key` is told when that fails.
    ///
    /// # Errors
    /// [`MappingError`]
    pub fn run(&self, key: &str, context: &Value) -> Result<String, MappingError> {
        let text = self.render(context.clone()).map_err(|error| MappingError::of(key, &error))?;
        if text.len() > TEXT_BYTES {
            return Err(MappingError::new(key, format!("makes more than {TEXT_BYTES} bytes")));
        }
        Ok(text)
    }

    fn render(&self, context: Value) -> Result<String, Error> {
        self.environment.get_template(NAME)?.render(context)
    }
}

impl MappingError {
    /// A failure that tells nothing of what was being mapped.
    pub fn new(key: &str, cause: impl Into<String>) -> Self {
        let cause = cause.into();
        Self { key: key.to_owned(), detail: cause.clone(), cause }
    }

    fn of(key: &str, error: &Error) -> Self {
        Self { key: key.to_owned(), cause: error.kind().to_string(), detail: error.to_string() }
    }
}

impl fmt::Display for MappingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.key, self.cause)
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({})", self.text)
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Template")
    }
}

/// What every mapping may use beside Jinja's own words.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(RECURSION);
    // What is not given is left out, however deep it would stand.
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.add_filter("digits", digits);
    environment.add_filter("date", date);
    environment
}

/// `"(206) 555-0100"|digits` is `2065550100`.
fn digits(text: &Value) -> Value {
    match text.as_str() {
        Some(text) => Value::from(text.chars().filter(char::is_ascii_digit).collect::<String>()),
        None => text.clone(),
    }
}

/// `"1990-02-28"|date("%m/%d/%Y")` is `02/28/1990`; a date-time has its day in UTC. What is no date stays undefined.
fn date(text: &Value, format: &str) -> Result<Value, Error> {
    let items = StrftimeItems::new(format).parse();
    let items = items.map_err(|_| Error::new(ErrorKind::InvalidOperation, "is no format of a date"))?;
    let day = text.as_str().and_then(|text| {
        let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
        day.or_else(|| Timestamp::parse(text).map(|time| time.to_utc().date_naive()))
    });
    let midnight = day.and_then(|day| day.and_hms_opt(0, 0, 0)).map(|midnight| midnight.and_utc());
    Ok(midnight
        .map_or(Value::UNDEFINED, |time| Value::from(time.format_with_items(items.iter()).to_string())))
}

fn syntax(error: Error) -> String {
    let detail = error.detail().unwrap_or("cannot be read");
    match error.line() {
        Some(line) if line > 1 => format!("is no mapping: {detail}, in its line {line}"),
        _ => format!("is no mapping: {detail}"),
    }
}

/// A run with nothing given finds what there is not at all; what only lacks values is no fault.
fn unknown_words(error: &Option<Error>) -> Result<(), String> {
    use ErrorKind::{UnknownFilter, UnknownFunction, UnknownMethod, UnknownTest};
    match error {
        Some(error)
            if matches!(error.kind(), UnknownFilter | UnknownFunction | UnknownMethod | UnknownTest) =>
        {
            Err(format!("names what there is not: {}", error.detail().unwrap_or_default()))
        }
        _ => Ok(()),
    }
}

fn empty() -> Value {
    Value::from(Serde(serde_json::Map::new()))
}

fn sorted(names: HashSet<String>) -> BTreeSet<String> {
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(text: &str) -> Result<serde_json::Value, MappingError> {
        let context = Value::from(Serde(json!({
            "lead": {"amount": 12_000, "phone": "(206) 555-0100", "born": "1990-02-28", "rating": "good"},
            "now": "2026-11-21T23:30:00.000Z",
        })));
        let value = Expression::compile(text).unwrap().run("key", &context)?;
        Ok(serde_json::to_value(&value).unwrap())
    }

    #[test]
    fn what_lenders_ask_for_can_be_said() {
        for (text, value) in [
            ("lead.amount * 100", json!(1_200_000)),
            ("lead.phone|digits", json!("2065550100")),
            ("lead.born|date('%m/%d/%Y')", json!("02/28/1990")),
            ("now|date('%Y%m%d')", json!("20261121")),
            ("{'good': 'B', 'excellent': 'A'}[lead.rating]", json!("B")),
            ("'Y' if lead.amount > 10000 else 'N'", json!("Y")),
            ("lead.nothing.at.all|default('none')", json!("none")),
        ] {
            assert_eq!(run(text).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn what_is_not_given_is_undefined() {
        let nothing = Expression::compile("lead.nothing.at.all").unwrap().run("key", &empty()).unwrap();
        assert!(nothing.is_undefined());
    }

    #[test]
    fn faults_are_found_when_it_is_compiled() {
        for (text, fault) in [
            ("lead.", "is no mapping"),
            ("lead.amount|dollars", "names what there is not"),
            ("get_env('HOME')", "names what there is not"),
        ] {
            let found = Expression::compile(text).unwrap_err();
            assert!(found.contains(fault), "{text}: {found}");
        }
        assert!(
            Template::compile("<a>{% if %}</a>", AutoEscape::Html).unwrap_err().contains("is no mapping")
        );
    }

    #[test]
    fn a_run_is_bounded() {
        let endless = Template::compile(
            "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
            AutoEscape::None,
        );
        // The run that looks for unknown words is bounded too.
        let error = endless.unwrap().run("key", &empty()).unwrap_err();
        assert_eq!(error.cause, ErrorKind::OutOfFuel.to_string());
        let long = Template::compile("{{ 'x' * 2000000 }}", AutoEscape::None).unwrap();
        assert!(long.run("key", &empty()).unwrap_err().cause.contains("bytes"));
    }

    #[test]
    fn values_cannot_break_out_of_xml() {
        let template = Template::compile("<Name>{{ name }}</Name>", AutoEscape::Html).unwrap();
        let context = Value::from(Serde(json!({"name": "<a>&\"'"})));
        let text = template.run("key", &context).unwrap();
        assert_eq!(roxmltree::Document::parse(&text).unwrap().root_element().text(), Some("<a>&\"'"));
    }

    #[test]
    fn an_error_tells_nothing_of_the_values() {
        let error = run("lead.phone * lead.born").unwrap_err();
        assert!(!error.to_string().contains("555"), "{error}");
    }

    #[test]
    fn variables_are_told_with_their_paths() {
        let expression = Expression::compile("lead.a.b if test else response.c").unwrap();
        let names: Vec<String> = expression.variables().into_iter().collect();
        assert_eq!(names, ["lead.a.b", "response.c", "test"]);
    }
}
