//! Expressions and templates of the mapping language: compiled once, run within bounds.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};

use super::absent::{AbsentMapping, LookedUp};
use super::bounds::{self, BoundedText};
use super::conditions::{self, NO_TRUTH};
use super::mapping_error::{FUEL, MappingError, MappingResult, TEMPLATE};
use super::plain::Plain;
use super::truth::{plain, says_nothing, truth_of};
use super::work::{self, TEXT_BYTES};
use super::xml::{self, sent};
use super::{comparison, filters, jws, moment, signing, specimen};
use offerd_base::declaration::{did_you_mean, nearest};

const RECURSION: usize = 32;

/// Errors that no input avoids, in the filters' own words: they are faults of the file.
const FAULTS: [&str; 6] = [
    moment::NO_FORMAT,
    moment::NO_ZONE,
    signing::NO_DIGEST,
    signing::NO_TEXT,
    jws::NO_ALGORITHM,
    filters::ADDS_TEXT,
];

/// The fault of a filter call with the wrong number of arguments.
const ARGUMENTS: &str = "passes too few or too many arguments to a filter or a function";

/// An expression: `lead.financialInformation.annualIncome / 12`.
#[derive(Debug)]
pub struct Expression {
    /// Full key in the partner file, which errors name.
    pub(super) key: String,
    pub(super) text: String,
    /// Whether it names `status`.
    pub(super) names_status: bool,
    /// Whether all that it takes of an answer are names in `response`.
    pub(super) needs_table: bool,
    compiled: minijinja::Expression<'static, 'static>,
    plain: Option<Plain>,
}

/// A text with embedded expressions: `<Amount>{{ lead.loanInformation.loanAmount }}</Amount>`.
#[derive(Debug)]
pub struct TextTemplate {
    /// Full key in the partner file, which errors name.
    pub(super) key: String,
    environment: Environment<'static>,
    /// Its text, if nothing in it is evaluated.
    fixed: Option<String>,
}

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(environment);

/// Renders `value`, and fails when it is undefined by a lookup rather than by an `if` without `else`.
static STRICT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    // The template is valid.
    let _ = environment.add_template(TEMPLATE, "{{ value }}");
    environment
});

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    /// The fault, worded to follow the key.
    pub fn compile(text: &str) -> Result<Self, String> {
        Self::compile_as(text, conditions::marked)
    }

    /// Compiles one that says whether a partner declines or fails.
    ///
    /// # Errors
    /// What is wrong with it, to follow its key.
    pub(super) fn compile_verdict(text: &str) -> Result<Self, String> {
        Self::compile_as(text, conditions::marked_strictly)
    }

    fn compile_as(text: &str, marked: fn(&str) -> String) -> Result<Self, String> {
        let tags = vec![("{{", conditions::tokens(text, 0, None).0)];
        if let Some(fault) = bounds::fault(text, &tags, false) {
            return Err(fault);
        }
        // The original text goes first, so that a fault quotes the words of the file.
        let compiled = |text: String| ENVIRONMENT.compile_expression_owned(text).map_err(syntax);
        compiled(conditions::without_products(text, &tags)).or_else(|_| compiled(text.to_owned()))?;
        let (names_status, needs_table) = conditions::reach(text);
        let (key, compiled_first) = (String::new(), compiled(conditions::bounded(text, tags))?);
        let mut expression = Self {
            key,
            text: text.to_owned(),
            names_status,
            needs_table,
            compiled: compiled_first,
            plain: None,
        };
        // Comparisons of samples are no faults, so the marks come later.
        for context in [empty(), specimen::context()] {
            never_right(&expression.eval(context).err())?;
        }
        expression.compiled = compiled(marked(text))?;
        never_right(&expression.eval(specimen::context()).err())?;
        expression.plain = Plain::of(text, || expression.eval(empty()).ok());
        Ok(expression)
    }

    /// The variables that it uses, with their paths.
    pub fn variables(&self) -> BTreeSet<String> {
        self.compiled.undeclared_variables(true).into_iter().collect()
    }

    /// Its value, if it uses no variable and so has the same value everywhere.
    pub(super) fn constant(&self) -> Option<Value> {
        // Jinja does not see the variables of a slice.
        let of_answer = |word: &str| matches!(word, "response" | "status" | "header");
        let names_none = !conditions::tokens(&self.text, 0, None).0.iter().any(|(_, word)| of_answer(word));
        (names_none && self.variables().is_empty()).then(|| self.run(&empty()).ok()).flatten()
    }

    /// Whether it uses a variable.
    pub fn uses(&self, name: &str) -> bool {
        self.variables().iter().any(|variable| variable.split('.').next() == Some(name))
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// [`MappingError`]
    pub fn run(&self, context: &Value) -> MappingResult<Value> {
        let value = match self.plain.as_ref().and_then(|plain| plain.value(context)) {
            Some(value) => value,
            None => self.run_by_engine(context)?,
        };
        match value.as_str() {
            Some(text) if text.len() > TEXT_BYTES => Err(too_long(&self.key)),
            _ => Ok(value),
        }
    }

    pub(super) fn run_by_engine(&self, context: &Value) -> MappingResult<Value> {
        let failed = |error| MappingError::of(&self.key, &error, &not_given(&self.variables(), context));
        work::charge_run(context).and_then(|()| self.eval(context.clone())).map_err(failed)
    }

    #[cfg(test)]
    pub(super) fn is_plain(&self) -> bool {
        self.plain.is_some()
    }

    /// Its value; `None` if that is false.
    ///
    /// # Errors
    /// [`MappingError`], also of a text that may stand for nothing.
    pub(super) fn says(&self, context: &Value) -> MappingResult<Option<Value>> {
        let said = self.run(context)?;
        match says_nothing(&said) {
            true => Err(MappingError::new(&self.key, NO_TRUTH)),
            false => Ok(Some(said).filter(|said| truth_of(said) != Some(false))),
        }
    }

    /// Evaluates the expression as a condition.
    ///
    /// # Errors
    /// [`MappingError`], also for a text that is neither true nor false.
    pub(super) fn holds(&self, context: &Value) -> MappingResult<bool> {
        truth_of(&self.run(context)?).ok_or_else(|| MappingError::new(&self.key, NO_TRUTH))
    }

    fn eval(&self, context: Value) -> Result<Value, Error> {
        let value = self.compiled.eval(context)?;
        match value.kind() {
            ValueKind::Bytes => Err(Error::new(ErrorKind::InvalidOperation, signing::NO_TEXT)),
            _ => Ok(value),
        }
    }

    /// Whether it has a value for what is missing, and no variable is 0, so that a 0 is of its own making.
    pub(super) fn makes_up(&self, context: &Value) -> bool {
        let has_other =
            ["default(", "d(", "float(", "int(", " or "].iter().any(|word| self.text.contains(word));
        let is_zero = |path: &String| {
            let found = path.split('.').try_fold(context.clone(), |value, name| value.get_attr(name));
            found.is_ok_and(|value| comparison::number(&plain(&value)) == Some(0.into()))
        };
        has_other && !self.variables().iter().any(is_zero)
    }

    /// Evaluates the expression on an answer, which must contain the paths that it uses. `None` where the
    /// mapping allows absence by an `if` without `else`. The inner error describes the missing value.
    ///
    /// # Errors
    /// [`MappingError`]
    pub(super) fn look_up(&self, context: &Value) -> LookedUp<Option<Value>> {
        let value = self.run(context)?;
        Ok(match value.kind() {
            ValueKind::Undefined if !is_left_out(&value) => Err(AbsentMapping::of(self, context)),
            ValueKind::Undefined | ValueKind::None => Ok(None),
            _ => Ok(Some(value)),
        })
    }

    /// The path, if the expression is a single path: `response.offers`.
    pub fn path(&self) -> Option<&str> {
        matches!(self.plain, Some(Plain::Path(_))).then(|| self.text.trim())
    }

    pub(super) fn quoted(&self) -> impl Iterator<Item = &str> {
        let mut rest = self.text.as_str();
        std::iter::from_fn(move || {
            let start = rest.find(['\'', '"'])?;
            let (quote, behind) = rest[start..].split_at(1);
            let (text, behind) = behind.split_once(quote)?;
            rest = behind;
            Some(text)
        })
    }

    /// The text literals that it can evaluate to: both of `'a' if test else 'b'`.
    pub fn literals(&self) -> Vec<&str> {
        let first = literal(&self.text).filter(|(_, rest)| rest.is_empty() || rest.starts_with("if "));
        let last = self.text.rsplit_once(" else ").and_then(|(_, text)| literal(text));
        let last = last.filter(|(_, rest)| rest.is_empty());
        first.into_iter().chain(last).map(|(text, _)| text).collect()
    }
}

impl TextTemplate {
    /// Compiles a template; `escape` decides how values are escaped.
    ///
    /// # Errors
    /// The fault, worded to follow the key.
    pub fn compile(text: &str, escape: AutoEscape) -> Result<Self, String> {
        let mut environment = environment();
        environment.set_formatter(xml::format);
        if !matches!(escape, AutoEscape::None) {
            xml::add_to(&mut environment);
        }
        environment.set_auto_escape_callback(move |_| escape.clone());
        let tags = conditions::tags(text);
        if let Some(fault) = bounds::fault(text, &tags, true) {
            return Err(fault);
        }
        let without_products = conditions::without_products(text, &tags);
        environment
            .add_template_owned(TEMPLATE, without_products)
            .or_else(|_| environment.add_template_owned(TEMPLATE, text.to_owned()))
            .map_err(syntax)?;
        environment.add_template_owned(TEMPLATE, conditions::bounded(text, tags)).map_err(syntax)?;
        let mut template = Self { key: String::new(), environment, fixed: None };
        // As for expressions, the marks come later.
        for context in [empty(), specimen::context()] {
            let context = work::of_request(context);
            never_right(&template.render(context, &mut BoundedText::default()).err())?;
        }
        let marked = conditions::marked_template(text);
        template.environment.add_template_owned(TEMPLATE, marked).map_err(syntax)?;
        let context = work::of_request(specimen::context());
        never_right(&template.render(context, &mut BoundedText::default()).err())?;
        template.fixed = (!text.contains('{')).then(|| template.run(&empty()).ok()).flatten();
        Ok(template)
    }

    /// The variables that it uses, with their paths.
    pub fn variables(&self) -> BTreeSet<String> {
        let template = self.environment.get_template(TEMPLATE);
        template.map(|template| template.undeclared_variables(true)).into_iter().flatten().collect()
    }

    /// Whether it uses a variable, with nothing in its place where that is empty.
    pub(super) fn needs(&self, variable: &str) -> bool {
        let has_other = |source: &str| ["default", " if ", "% if"].iter().any(|word| source.contains(word));
        let template = self.environment.get_template(TEMPLATE);
        template.is_ok_and(|template| !has_other(template.source())) && self.variables().contains(variable)
    }

    /// Renders the template.
    ///
    /// # Errors
    /// [`MappingError`]
    pub fn run(&self, context: &Value) -> MappingResult<String> {
        if let Some(fixed) = &self.fixed {
            return Ok(fixed.clone());
        }
        let mut text = BoundedText::default();
        match self.render(context.clone(), &mut text) {
            Ok(()) => Ok(text.into_text()),
            Err(_) if text.is_full => Err(too_long(&self.key)),
            Err(error) => Err(MappingError::of(&self.key, &error, &not_given(&self.variables(), context))),
        }
    }

    fn render(&self, context: Value, text: &mut BoundedText) -> Result<(), Error> {
        self.environment.get_template(TEMPLATE)?.render_captured_to(context, text).map(drop)
    }
}

fn too_long(key: &str) -> MappingError {
    MappingError::new(key, format!("makes more than {TEXT_BYTES} bytes"))
}

/// Whether the value is undefined because of an `if` without `else`.
fn is_left_out(value: &Value) -> bool {
    let template = STRICT.get_template(TEMPLATE);
    template.is_ok_and(|template| template.render(minijinja::context! { value }).is_ok())
}

/// The variables that a context lacks.
fn not_given(variables: &BTreeSet<String>, context: &Value) -> Vec<String> {
    let given = |path: &String| {
        let found = path.split('.').try_fold(context.clone(), |value, name| value.get_attr(name));
        found.is_ok_and(|value| !matches!(value.kind(), ValueKind::Undefined | ValueKind::None))
    };
    variables.iter().filter(|path| !given(path)).cloned().collect()
}

/// The quoted text at the start, and the rest.
fn literal(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let quote = text.chars().next().filter(|first| matches!(first, '\'' | '"'))?;
    let (literal, rest) = text[1..].split_once(quote)?;
    (!literal.contains('\\')).then_some((literal, rest.trim_start()))
}

/// The functions and filters of every mapping, on top of Jinja's own.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(RECURSION);
    // Paths through absent values are undefined at any depth, so they are left out.
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    bounds::bound(&mut environment);
    filters::add_to(&mut environment);
    conditions::add_to(&mut environment);
    comparison::add_to(&mut environment);
    moment::add_to(&mut environment);
    signing::add_to(&mut environment);
    work::add_to(&mut environment);
    environment
}

fn syntax(error: Error) -> String {
    let detail = error.detail().unwrap_or("cannot be read");
    match error.line() {
        Some(line) if line > 1 => format!("is not a valid mapping: {detail}, in line {line}"),
        _ => format!("is not a valid mapping: {detail}"),
    }
}

/// Runs on an empty and a full context reveal what fails for every lead; missing values are no fault.
fn never_right(error: &Option<Error>) -> Result<(), String> {
    use ErrorKind::{UnknownFilter, UnknownFunction, UnknownMethod, UnknownTest};
    let Some(error) = error else { return Ok(()) };
    let detail = error.detail().unwrap_or_default();
    match error.kind() {
        UnknownFilter => {
            let name = detail.trim_start_matches("filter ").trim_end_matches(" is unknown");
            let hint = did_you_mean(nearest(name, filters::NAMES));
            Err(format!("filter `{name}` is unknown; known: {}{hint}", filters::NAMES.join(", ")))
        }
        ErrorKind::InvalidOperation if is_fault(detail) => Err(detail.to_owned()),
        ErrorKind::MissingArgument | ErrorKind::TooManyArguments => Err(ARGUMENTS.to_owned()),
        UnknownFunction | UnknownMethod | UnknownTest => Err(format!("uses an unknown name: {detail}")),
        _ => Ok(()),
    }
}

fn is_fault(detail: &str) -> bool {
    FAULTS.iter().any(|fault| detail.starts_with(fault))
}

/// Whether a fault quotes only our own words of a mapping or near misses, so that it cannot leak a secret.
pub(super) fn is_of_known_words(fault: &str) -> bool {
    is_fault(fault) || fault == ARGUMENTS || fault.starts_with("filter `") && fault.contains("did you mean")
}

fn empty() -> Value {
    Value::from(Serde(serde_json::Map::new()))
}

/// The value as the text that is sent; `None` when it is absent.
pub fn text(value: &Value) -> Option<String> {
    let value = sent(value);
    (!value.is_undefined()).then(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::parsed::Parsed;
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    fn run(text: &str) -> Result<serde_json::Value, MappingError> {
        let context = Value::from(Serde(json!({
            "lead": {"amount": 12_000, "phone": "(206) 555-0100", "born": "1990-02-28", "rating": "good"},
            "now": "2026-11-21T23:30:00.000Z",
        })));
        let value = Expression::compile(text).unwrap().run(&context)?;
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
            ("'Q/7 7&b=..'|urlencode", json!("Q%2F7%207%26b%3D..")),
            ("'..'|urlencode", json!("%2E%2E")),
            ("(lead.amount > 1)|urlencode", json!("true")),
            ("lead.amount|as_list", json!([12_000])),
            ("[1, 2]|as_list", json!([1, 2])),
            ("lead.nothing.at.all|as_list|length", json!(0)),
        ] {
            assert_eq!(run(text).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn the_text_of_an_element_with_attributes_is_its_text() {
        let bid = json!({"#text": "7", "@currency": "USD"});
        let word = json!({"#text": "Ab c", "@lang": "en"});
        let nil = json!({"@nil": "true", "@lang": "en"});
        let document = json!({"response": {"Bid": bid, "Bids": [bid, bid], "Word": word, "Nil": nil}});
        let context = Parsed::deserialize(document).unwrap().0;
        for (expression, made) in [
            ("response.Bid|float * 100", json!(700.0)),
            ("response.Bid|int + 1", json!(8)),
            ("response.Bid|digits", json!("7")),
            ("response.Bids|map('int')|sum", json!(14)),
            ("response.Bid['@currency']", json!("USD")),
            ("response.Bid ~ '-' ~ response.Nil ~ response.Word", json!("7-Ab c")),
            ("response.Word|lower ~ response.Word|upper ~ response.Word|title", json!("ab cAB CAb C")),
            ("response.Word|trim('A') ~ response.Word|string", json!("b cAb c")),
            ("response.Word|replace('b', response.Bid)", json!("A7 c")),
            ("response.Bids|join('/')", json!("7/7")),
            ("response.Word|split(' ')|last", json!("c")),
            ("response.Word|first ~ response.Word|last ~ response.Word|length", json!("Ac4")),
            ("response.Word|reverse", json!("c bA")),
            ("'%s'|format(response.Word)", json!("Ab c")),
            ("response.Bid|tojson", json!("\"7\"")),
            ("response.Word|hex", json!("41622063")),
            ("response.Word|lines|length", json!(1)),
        ] {
            let value = Expression::compile(expression).unwrap().run(&context).unwrap();
            assert_eq!(serde_json::to_value(&value).unwrap(), made, "{expression}");
        }
        assert_eq!(text(&Expression::compile("response.Bid").unwrap().run(&context).unwrap()).unwrap(), "7");
        let template = "<b>{{ response.Bid }}{{ response.Word ~ '-x' }}{{ response.Word|e }}</b>";
        let template = TextTemplate::compile(template, AutoEscape::Html).unwrap();
        assert_eq!(template.run(&context).unwrap(), "<b>7Ab c-xAb c</b>");
    }

    /// `100` and `50` are 150 or a fault, and never 10050.
    #[test]
    fn a_text_is_never_added_or_multiplied() {
        let fee = json!({"#text": "50", "@currency": "USD"});
        let document = json!({"response": {"a": "100", "b": "50", "n": 7, "fee": fee, "list": [1]}});
        let context = Parsed::deserialize(document).unwrap().0;
        let run = |text: &str| Expression::compile(text).unwrap().run(&context);
        for text in [
            "response.a + response.b",
            "1 + response.n + response.b",
            "response.fee + response.fee",
            "response.a * 12",
            "12 * response.a",
            "response.a * response.n",
            "(response.a + response.b) * 2",
            "1 if response.a + response.b > 7 else 2",
            "[response.a + response.b]",
        ] {
            let fault = run(text).unwrap_err().cause;
            assert!(
                fault.starts_with("adds or multiplies a text: make it a number by `|float`"),
                "{text}: {fault}"
            );
        }
        for (text, made) in [
            ("response.a|float + response.b|float", json!(150.0)),
            ("response.a|int * 2 + response.n", json!(207)),
            ("'/' + response.a + response.b", json!("/10050")),
            ("response.a ~ response.b", json!("10050")),
            ("(response.list + [2])|length", json!(2)),
        ] {
            assert_eq!(serde_json::to_value(run(text).unwrap()).unwrap(), made, "{text}");
        }
        let template =
            TextTemplate::compile("<a>{{ response.a + response.b }}</a>", AutoEscape::Html).unwrap();
        assert!(template.run(&context).unwrap_err().cause.contains("adds or multiplies a text"));
    }

    #[test]
    fn what_is_not_given_is_undefined() {
        let nothing = Expression::compile("lead.nothing.at.all").unwrap().run(&empty()).unwrap();
        assert!(nothing.is_undefined());
    }

    #[test]
    fn what_an_answer_lacks_is_told_unless_the_mapping_says_that_it_may() {
        let look_up = |text| Expression::compile(text).unwrap().look_up(&empty()).unwrap();
        for text in
            ["response.bids[0].price if response.status == 'matched'", "none", "response.bid|default(none)"]
        {
            assert_eq!(look_up(text).ok(), Some(None), "{text}");
        }
        for text in
            ["response.price", "response.bids[0].price", "response.a if true", "response.a or response.b"]
        {
            assert!(look_up(text).is_err(), "{text}");
        }
    }

    #[test]
    fn faults_are_found_when_it_is_compiled() {
        for (text, fault) in [
            ("lead.", "is not a valid mapping"),
            ("lead.amount|dollars", "filter `dollars` is unknown; known: abs, "),
            ("lead.amount|roud", "did you mean `round`?"),
            ("'a' if not test else lead.amount|dollars", "filter `dollars` is unknown"),
            ("now|date('%Q')", "has an invalid date format"),
            (
                "lead.personalInformation.firstName + lead.personalInformation.lastName",
                "adds or multiplies a text: make it a number by `|float`, or join texts by `~`",
            ),
            ("response.a + response.b|trim", "adds or multiplies a text"),
            ("response.a + '5'", "adds or multiplies a text"),
            ("get_env('HOME')", "uses an unknown name"),
        ] {
            let found = Expression::compile(text).unwrap_err();
            assert!(found.contains(fault), "{text}: {found}");
        }
        let found = TextTemplate::compile("<a>{% if %}</a>", AutoEscape::Html).unwrap_err();
        assert!(found.contains("is not a valid mapping"), "{found}");
    }

    #[test]
    fn every_filter_that_is_named_is_there() {
        for name in filters::NAMES {
            let unknown = Expression::compile(&format!("lead.amount|{name}")).err();
            assert!(!unknown.is_some_and(|fault| fault.contains("unknown")), "{name}");
        }
    }

    #[test]
    fn a_run_that_lacks_a_value_names_it_once() {
        let error = Expression::compile("lead.a.b * 100").unwrap().run(&empty()).unwrap_err();
        assert!(error.to_string().contains("missing: `lead.a.b` (`needs`"), "{error}");
        assert_eq!(error.in_full().matches("invalid operation").count(), 1, "{}", error.in_full());
        let template = TextTemplate::compile("<a>\n{{ lead.a * 2 }}</a>", AutoEscape::Html).unwrap();
        let error = template.run(&empty()).unwrap_err();
        assert!(error.in_full().contains(", in line 2; missing: `lead.a`"), "{}", error.in_full());
    }

    #[test]
    fn kinds_of_values_that_do_not_fit_are_told_and_no_value() {
        let error = run("lead.phone - 1").unwrap_err();
        assert!(error.cause.contains("- operator on unsupported types string and number"), "{error}");
        assert!(!error.cause.contains("206"), "{error}");
    }

    #[test]
    fn what_is_written_as_it_is_can_be_told() {
        let literals = |text| {
            let expression = Expression::compile(text).unwrap();
            expression.literals().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(literals("'a'"), ["a"]);
        assert_eq!(literals("'a' if lead.x == 'c' else 'b'"), ["a", "b"]);
        assert_eq!(literals("\"a\" if lead.x"), ["a"]);
        assert!(literals("'a' ~ lead.x").is_empty() && literals("lead.x").is_empty());
    }

    #[test]
    fn a_run_is_bounded() {
        let endless = TextTemplate::compile(
            "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
            AutoEscape::None,
        );
        // Trial runs at compile time are bounded, too.
        let error = endless.unwrap().run(&empty()).unwrap_err();
        assert!(error.cause.starts_with("takes more than 50000 instructions"), "{error}");
        let long =
            TextTemplate::compile("{{ range(99999)|join('longer than that') }}", AutoEscape::None).unwrap();
        assert!(long.run(&empty()).unwrap_err().in_full().contains("bytes"));
    }

    #[test]
    fn values_cannot_break_out_of_xml() {
        let template = TextTemplate::compile("<Name>{{ name }}</Name>", AutoEscape::Html).unwrap();
        let context = Value::from(Serde(json!({"name": "<a>&\"' 04/19"})));
        let text = template.run(&context).unwrap();
        assert_eq!(text, "<Name>&lt;a&gt;&amp;&quot;&apos; 04/19</Name>");
        assert_eq!(roxmltree::Document::parse(&text).unwrap().root_element().text(), Some("<a>&\"' 04/19"));
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
