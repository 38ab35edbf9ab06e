//! Reads a partner's answer: quotes, a decline or a failure.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use encoding_rs::mem::decode_latin1;
use hyper::header::{CONTENT_TYPE, LOCATION};
use hyper::{HeaderMap, StatusCode};
use memchr::memmem;
use minijinja::value::{Enumerator, Object, Value as Mapped, ValueKind};

use super::absent::AbsentMapping;
use super::answer_mapping::{AnswerMapping, ListedOffer};
use super::ask_progress::AskProgress;
use super::comparison::described;
use super::conditions::NO_TRUTH;
use super::document::{self, Format};
use super::expression::{self, Expression};
use super::http_partner::{HttpPartner, MappingInput};
use super::mapping_error::{MappingError, MappingResult};
use super::step::BodyMapping;
use super::truth::{plain, truth_of};
use super::{undeclared, work};
use crate::catalog::{CatalogOffer, Unfit};
use crate::truth::says_nothing;
use crate::{Facts, Quote};
use offerd_model::RejectReason;

/// The meaning of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    /// Offers for the person; empty when there are none, or none that can be shown.
    Offers(Vec<Quote>),
    /// The partner declines the person.
    Declined(Option<RejectReason>),
    /// The partner failed. Holds the cause, without anything the partner sent.
    Failed(String),
}

/// A read answer, with diagnostics for the author of the mappings.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerReading {
    /// The meaning of the answer.
    pub answered: Answered,
    /// Offers that are not shown.
    pub dropped: Vec<Unfit>,
    /// Paths that mappings looked up in vain, one entry per mapping.
    pub absent: Vec<AbsentMapping>,
    /// A decline reason that the partner file does not know, redacted for display.
    pub undeclared: Option<String>,
    /// The text of `answer.error`, for readers that may see answers.
    pub said: Option<String>,
    /// Why it declines, where the partner says so without a word.
    pub why: Option<&'static str>,
    /// Whether the partner itself reported the error, rather than reading its answer failed.
    pub is_error: bool,
}

impl From<Answered> for AnswerReading {
    fn from(answered: Answered) -> Self {
        let (dropped, absent, undeclared, said, why, is_error) = Default::default();
        Self { answered, dropped, absent, undeclared, said, why, is_error }
    }
}

/// What is wrong with a value that is no decline.
const NO_WORD: &str = "must be true, a word, or a list of words";

/// What to change where an answer without names has a meaning.
const NO_NAMES: &str = "if that has a meaning, name `status`, or compare `response == ''`";

const PARTIAL: &str = "the answer has status 206: it is a part, and offerd asks for the whole; ask the partner \
    to answer 200, or check what stands between";

/// A raw answer.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// HTTP status.
    pub status: StatusCode,
    /// HTTP headers.
    pub headers: &'a HeaderMap,
    /// Body, uncompressed.
    pub body: &'a [u8],
}

impl Received<'_> {
    /// The answer as mappings see it, which use these `attributes` of XML.
    ///
    /// # Errors
    /// Why the answer cannot be read.
    pub(super) fn context(
        self,
        asked: Mapped,
        attributes: &BTreeSet<String>,
    ) -> Result<AnswerContext, String> {
        if self.status == StatusCode::PARTIAL_CONTENT {
            return Err(PARTIAL.to_owned());
        }
        let named = |name: &str| attributes.contains(name);
        let response = match document::read(self.content_type(), self.body, named) {
            Ok(response) => response,
            // A failing partner often answers in another format.
            Err(_) if !self.status.is_success() => Mapped::UNDEFINED,
            Err(fault) => return Err(format!("the answer, with status {}, {fault}", self.status.as_u16())),
        };
        let is_good = self.status.is_success();
        let no_table = match response.kind() {
            ValueKind::Map => None,
            // An element without others, such as `<R/>`, is a document too.
            _ if self.is_xml() => None,
            ValueKind::String if !self.body.is_empty() => Some("a text"),
            _ => Some(described(&response)),
        };
        let of_answer = minijinja::context! {
            status => self.status.as_u16(),
            header => texts_of(self.headers),
            response,
        };
        Ok(AnswerContext { values: minijinja::context! { ..of_answer, ..asked }, is_good, no_table })
    }

    fn is_xml(self) -> bool {
        document::format(self.content_type(), self.body) == Format::Xml
    }

    /// That the answer to a request lacks what a mapping looks for, or that what it is hides it.
    pub(super) fn lacking(self, absent: AbsentMapping, asked: &BodyMapping, advice: &str) -> AnswerReading {
        let format = match (document::format(self.content_type(), self.body), asked) {
            (Format::Nothing, _) => "; the answer is empty",
            (Format::Text, _) => "; the answer is a text, neither JSON nor XML",
            (Format::Json, BodyMapping::Xml(_)) => {
                "; the answer is JSON, and the request was XML: check the URL and the header `Accept`"
            }
            (Format::Xml, BodyMapping::Json(_)) => {
                "; the answer is XML, and the request was JSON: check the URL and the header `Accept`"
            }
            _ => "",
        };
        let brief = || format!("{}{format}{advice}", absent.brief());
        let cause = absent.wrapping().unwrap_or_else(brief);
        AnswerReading { absent: vec![absent], ..Answered::Failed(cause).into() }
    }

    fn content_type(&self) -> Option<&str> {
        self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok())
    }

    pub(super) fn bad_status(self) -> Answered {
        let more = match self.status.as_u16() {
            202 => ": the result comes later, and no step with `pending` asks for it",
            301..=303 | 307 | 308 if self.wants_login() => {
                ": it is a redirect to a page for signing in; check the URL, `auth` and `secrets`"
            }
            301..=303 | 307 | 308 if self.headers.contains_key(LOCATION) => {
                ": it is a redirect, which offerd does not follow; use the address in its `Location` as the \
                    URL"
            }
            301..=303 | 307 | 308 => {
                ": it is a redirect, which offerd does not follow, without a `Location`; ask the partner \
                    for the right URL"
            }
            400 if self.wants_tls() => ": the port expects TLS; use `https://` in the URL",
            _ if document::is_page_of(self.content_type(), self.body) => {
                ": it is an HTML page, such as a login page or a proxy's error; check the URL"
            }
            _ if self.is_xml() && memmem::find(self.body, b"Fault>").is_some() => {
                ": it is a SOAP fault; for its words, set `error` to the path of its `faultstring`"
            }
            status => of_status(status),
        };
        Answered::Failed(format!("the answer has status {}{more}", self.status.as_u16()))
    }

    /// Whether it redirects to where people sign in.
    fn wants_login(self) -> bool {
        let location = self.headers.get(LOCATION).and_then(|value| value.to_str().ok());
        let location = location.unwrap_or_default().to_ascii_lowercase();
        ["login", "logon", "signin", "sign-in", "sign_in", "/sso"].iter().any(|word| location.contains(word))
    }

    /// Whether it is what nginx, Apache and Go say to plain HTTP where they speak TLS.
    fn wants_tls(self) -> bool {
        let words = ["sent to HTTPS port", "plain HTTP to an SSL-enabled", "HTTP request to an HTTPS server"];
        words.iter().any(|words| memmem::find(self.body, words.as_bytes()).is_some())
    }
}

/// What to do about a status, to follow it.
fn of_status(status: u16) -> &'static str {
    match status {
        400 | 422 => ": it refuses the request; `offerd partners try --send` shows its words",
        401 => ": it does not accept our key; check `auth`, `headers` and `secrets`",
        403 => ": it does not let us in; check the key, and ask it to admit this machine's address",
        404 | 410 => ": check the path of the URL",
        405 => ": it does not take this method there; check `method` and the URL",
        406 => ": check the header `Accept`",
        415 => ": it does not take this kind of body; check `json`, `form` or `xml`, and `Content-Type`",
        429 => ": it takes fewer calls; lower `limits.per_minute`, or ask it for more",
        _ => "",
    }
}

/// Why `answer.empty` does not make a decline of an answer.
const NOT_EMPTY: &str = "; `answer.empty` declines only for what is empty; for this, set `answer.declined`";

/// How a file says that the offers come later.
const NOT_YET: &str = "; status 202 says that the result comes later: let `pending` name `status == 202`";

/// How a file says that an answer without a list means none.
const MAY_BE_EMPTY: &str = "; if that means no offers, set `answer.empty = \"declines\"`";

/// The variables of answer mappings, and which of these mappings may judge the answer.
pub(super) struct AnswerContext {
    pub(super) values: Mapped,
    /// Whether the HTTP status is 2xx.
    is_good: bool,
    /// What the document is if it is no table, so that it has no names.
    no_table: Option<&'static str>,
}

impl AnswerContext {
    /// The verdict that `read` takes from a mapping, if any. Only a mapping that names `status` judges an
    /// answer outside 2xx.
    ///
    /// # Errors
    /// [`MappingError`], also of a verdict that comes only from a missing document.
    pub(super) fn verdict<T>(
        &self,
        by: Option<&Expression>,
        read: impl FnOnce(&Expression, &Mapped) -> MappingResult<Option<T>>,
    ) -> MappingResult<Option<T>> {
        let Some(by) = by.filter(|by| self.is_good || by.names_status) else { return Ok(None) };
        match (read(by, &self.values)?, self.no_table.filter(|_| by.needs_table)) {
            (Some(_), Some(found)) => {
                let cause = format!("looks for names in `response`, but the answer is {found}; {NO_NAMES}");
                Err(MappingError::new(&by.key, cause))
            }
            (verdict, _) => Ok(verdict),
        }
    }
}

/// Headers by lower-case name, which mappings look up in any case.
#[derive(Debug)]
struct HeaderTexts(BTreeMap<String, String>);

impl Object for HeaderTexts {
    fn get_value(self: &Arc<Self>, name: &Mapped) -> Option<Mapped> {
        self.0.get(&name.as_str()?.to_ascii_lowercase()).map(Mapped::from)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.keys().map(Mapped::from).collect())
    }
}

/// Headers as mappings see them: of several lines one, with commas (RFC 9110, 5.3).
pub fn texts_of(headers: &HeaderMap) -> Mapped {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let text = match std::str::from_utf8(value.as_bytes()) {
            Ok(text) => Cow::Borrowed(text),
            // The original encoding of non-ASCII header values.
            Err(_) => decode_latin1(value.as_bytes()),
        };
        match texts.get_mut(name.as_str()) {
            Some(line) => line.extend([", ", &*text]),
            None => drop(texts.insert(name.to_string(), text.into_owned())),
        }
    }
    Mapped::from_object(HeaderTexts(texts))
}

impl AnswerReading {
    /// A decline without a word of the partner.
    pub(super) fn declining(why: &'static str) -> Self {
        Self { why: Some(why), ..Answered::Declined(None).into() }
    }

    /// A failure that the partner reported, with its text.
    pub(super) fn error(status: StatusCode, said: &Mapped) -> Self {
        let said = said.as_str().map(str::to_owned);
        let cause = match status.is_success() {
            true => "the answer is an error".to_owned(),
            false => format!("the answer is an error, with status {}", status.as_u16()),
        };
        Self { said, is_error: true, ..Answered::Failed(cause).into() }
    }
}

impl AnswerMapping {
    /// The reading of an answer that a file's `error` and `declined` end.
    ///
    /// # Errors
    /// [`MappingError`]
    pub(super) fn ended(
        &self,
        [error, declined]: [&Option<Expression>; 2],
        context: &AnswerContext,
        status: StatusCode,
    ) -> MappingResult<Option<AnswerReading>> {
        if let Some(said) = context.verdict(error.as_ref(), Expression::says)? {
            return Ok(Some(AnswerReading::error(status, &said)));
        }
        context.verdict(declined.as_ref(), |by, values| self.declined(by, values))
    }

    /// The decline that the expression yields, if any, with a known or unknown reason.
    ///
    /// # Errors
    /// The value cannot be a reason, so the mapping may be wrong.
    fn declined(&self, by: &Expression, context: &Mapped) -> MappingResult<Option<AnswerReading>> {
        let said = by.run(context)?;
        let known = |word: &str| self.reasons.get(word).copied().or_else(|| RejectReason::from_wire(word));
        let said = match said.kind() {
            ValueKind::Seq | ValueKind::Iterable => said.try_iter().into_iter().flatten().collect(),
            _ => vec![said],
        };
        let (mut declines, mut words) = (false, Vec::new());
        for said in said {
            let said = plain(&said);
            let is_code = matches!(said.kind(), ValueKind::String | ValueKind::Number);
            let word = word_of(&said).filter(|_| is_code);
            let is_reason = word.as_deref().is_some_and(|word| known(word).is_some());
            match truth_of(&said).filter(|_| !is_reason) {
                Some(false) => {}
                Some(true) if matches!(said.kind(), ValueKind::Bool | ValueKind::String) => declines = true,
                _ => words.push(word.ok_or_else(|| MappingError::new(&by.key, NO_WORD))?),
            }
        }
        if !declines && words.is_empty() {
            return Ok(None);
        }
        let reason = words.iter().find_map(|word| known(word));
        if reason.is_none() && words.iter().any(|word| says_nothing(word)) {
            return Err(MappingError::new(&by.key, NO_TRUTH));
        }
        let undeclared = words.iter().find(|word| known(word).is_none()).map(|word| undeclared::shown(word));
        Ok(Some(AnswerReading { undeclared, ..Answered::Declined(reason).into() }))
    }
}

/// A reason as a word: 17 and 17.0 are the key `17`.
fn word_of(said: &Mapped) -> Option<String> {
    let whole = i64::try_from(said.clone()).ok().filter(|_| said.is_number());
    whole.map_or_else(|| expression::text(said), |whole| Some(whole.to_string()))
}

impl HttpPartner {
    /// Reads the last answer of an ask. `given` is the lead as mappings see it, `facts` as rules see it;
    /// `offers` are the catalog offers whose rules fit it. An invalid figure drops only its own offer.
    ///
    /// # Errors
    /// The first mapping that could not be run, if that made the whole answer unreadable.
    pub fn read_answer(
        &self,
        progress: &AskProgress,
        received: Received<'_>,
        given: &MappingInput,
        facts: &Facts,
        offers: &[&CatalogOffer],
    ) -> MappingResult<AnswerReading> {
        let context = match received.context(self.context(given, progress), &self.attributes) {
            Ok(context) => context,
            Err(fault) => return Ok(Answered::Failed(fault).into()),
        };
        let mapping = &self.answer;
        if let Some(ended) = mapping.ended([&mapping.error, &mapping.declined], &context, received.status)? {
            return Ok(ended);
        }
        let context = &context.values;
        if !received.status.is_success() {
            return Ok(received.bad_status().into());
        }
        let (step, comes_later) = (self.step(progress), received.status == StatusCode::ACCEPTED);
        let listed = mapping.listed(context, received.is_xml())?;
        let has_offers = listed.as_ref().is_ok_and(|list| !list.is_empty());
        if comes_later && step.polling.is_none() && !has_offers {
            return Ok(received.bad_status().into());
        }
        match listed {
            Ok(list) => self.quotes(list, context, facts, offers),
            Err(absent) if mapping.empty_declines && absent.says_none && !comes_later => {
                Ok(AnswerReading::declining("the answer has no list of offers"))
            }
            Err(absent) => {
                let advice = match absent.says_none {
                    _ if comes_later => NOT_YET,
                    _ if mapping.empty_declines => NOT_EMPTY,
                    true => MAY_BE_EMPTY,
                    false => "",
                };
                Ok(received.lacking(absent, &step.body, advice))
            }
        }
    }

    /// The paths of `error` and `declined` that an answer lacks, so that they cannot judge it.
    pub fn lacking_verdicts(
        &self,
        progress: &AskProgress,
        received: Received<'_>,
        given: &MappingInput,
    ) -> Vec<AbsentMapping> {
        let context = received.context(self.context(given, progress), &self.attributes);
        let Ok(values) = context.map(|context| context.values) else { return Vec::new() };
        let step = self.step(progress);
        let is_last = progress.step + 1 == self.steps.len();
        let last = [&self.answer.error, &self.answer.declined];
        let judges = if is_last { last } else { [&step.error, &step.declined] };
        let paths = judges.into_iter().flatten().flat_map(|by| {
            let paths = by.variables().into_iter().filter(|path| path.starts_with("response."));
            paths.filter_map(|path| {
                let mut path = Expression::compile(&path).ok()?;
                path.key.clone_from(&by.key);
                Some(path)
            })
        });
        let absent = paths.filter(|path| path.run(&values).is_ok_and(|value| value.is_undefined()));
        absent.map(|path| AbsentMapping::of(&path, &values)).collect()
    }
    fn quotes(
        &self,
        list: Vec<ListedOffer>,
        context: &Mapped,
        facts: &Facts,
        offers: &[&CatalogOffer],
    ) -> MappingResult<AnswerReading> {
        let mut absent = Vec::new();
        let (mut quotes, mut dropped, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        let most = self.answer.max_offers;
        let is_longer = list.len() > most;
        for (position, (offer, outer)) in list.into_iter().take(most).enumerate() {
            work::charge_run(context).map_err(|error| MappingError::of("answer.offer", &error, &[]))?;
            let context = minijinja::context! { offer, outer, ..context.clone() };
            let quote = match self.answer.figures(position, &context, facts, &mut absent) {
                Ok(figures) => figures.quote(offers, &self.answer.keys),
                Err(error) => {
                    let unfit = Unfit { detail: error.in_full(), ..error.to_string().into() };
                    failures.push(error);
                    Err(unfit)
                }
            };
            match quote {
                Ok(quote) => quotes.push(quote),
                Err(unfit) => dropped.push(Unfit { position, ..unfit }),
            }
        }
        // If no offer can be read, the answer or the mapping is wrong as a whole.
        if failures.len() == dropped.len() && quotes.is_empty() && !failures.is_empty() {
            return Err(failures.swap_remove(0));
        }
        let wrong = dropped.iter().find(|dropped| !dropped.for_others).filter(|_| quotes.is_empty());
        let answered = match wrong {
            Some(Unfit { reason, .. }) => {
                let is_only = dropped.len() == 1;
                let none = if is_only { "its only offer cannot" } else { "none of its offers can" };
                Answered::Failed(format!("{none} be shown: {reason}"))
            }
            None => Answered::Offers(quotes),
        };
        if is_longer {
            let fault = format!("it stands behind the first {most}, and `answer.max_offers` is {most}");
            dropped.push(Unfit { position: most, ..fault.into() });
        }
        Ok(AnswerReading { dropped, absent, ..answered.into() })
    }
}
