//! From a partner's answer to quotes, or to what else it means.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use encoding_rs::mem::decode_latin1;
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, StatusCode};
use minijinja::value::{Value as Mapped, ValueKind};

use super::absent::Absent;
use super::answer_mapping::{AnswerMapping, ListedOffer};
use super::document;
use super::exchange::Exchange;
use super::expression::{Expression, text};
use super::given::Given;
use super::mapping_error::MappingError;
use super::source::HttpSource;
use super::truth::{own_text, truth_of};
use super::undeclared;
use crate::catalog::{CatalogOffer, Unfit};
use crate::{Facts, Quote};
use offerd_model::RejectReason;

/// What an answer means.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    /// Offers to the person; none when there are none, or none that could be shown.
    Offers(Vec<Quote>),
    /// The partner declines the person.
    Declined(Option<RejectReason>),
    /// The partner failed: the cause, without what it sent.
    Failed(String),
}

/// What an answer means, and what whoever wrote the mappings should know of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What it means.
    pub answered: Answered,
    /// Offers that are not shown.
    pub dropped: Vec<Unfit>,
    /// What mappings looked for and did not find, each mapping once.
    pub absent: Vec<Absent>,
    /// A word that says why the partner declines and that its file does not know, as far as it may be shown.
    pub undeclared: Option<String>,
    /// What `answer.error` says, for whoever may see what was answered.
    pub said: Option<String>,
    /// Whether it is an error that the partner tells of, and not one in reading it.
    pub is_error: bool,
}

impl From<Answered> for Reading {
    fn from(answered: Answered) -> Self {
        Self {
            answered,
            dropped: Vec::new(),
            absent: Vec::new(),
            undeclared: None,
            said: None,
            is_error: false,
        }
    }
}

/// An answer as it came.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its body, uncompressed.
    pub body: &'a [u8],
}

impl Received<'_> {
    /// The variables of mappings about it, which name these `attributes` of XML.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn context(self, asked: Mapped, attributes: &BTreeSet<String>) -> Result<Mapped, String> {
        let named = |name: &str| attributes.contains(name);
        let response = match document::read(self.content_type(), self.body, named) {
            Ok(response) => response,
            // Who fails does not always care for its own format.
            Err(_) if !self.status.is_success() => Mapped::UNDEFINED,
            Err(fault) => return Err(format!("the answer {fault}")),
        };
        let of_answer = minijinja::context! {
            status => self.status.as_u16(),
            header => texts_of(self.headers),
            response,
        };
        Ok(minijinja::context! { ..of_answer, ..asked })
    }

    /// Whether its body is XML.
    fn is_xml(self) -> bool {
        document::is_xml(self.content_type(), self.body)
    }

    fn content_type(&self) -> Option<&str> {
        self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok())
    }

    /// That its status says no offers.
    pub(super) fn bad_status(self) -> Answered {
        let later = match self.status {
            StatusCode::ACCEPTED => ": what it has comes later, and no step with `pending` asks for it",
            _ => "",
        };
        Answered::Failed(format!("the answer has status {}{later}", self.status.as_u16()))
    }
}

/// Headers by their lower-case names, as mappings see them: of several lines one, with commas (RFC 9110, 5.3).
pub fn texts_of(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let text = match std::str::from_utf8(value.as_bytes()) {
            Ok(text) => Cow::Borrowed(text),
            // What all but ASCII was meant to be at first.
            Err(_) => decode_latin1(value.as_bytes()),
        };
        match texts.get_mut(name.as_str()) {
            Some(line) => line.extend([", ", &*text]),
            None => drop(texts.insert(name.to_string(), text.into_owned())),
        }
    }
    texts
}

impl Reading {
    /// That the answer lacks what a mapping looks for.
    pub(super) fn lacking(absent: Absent, advice: &str) -> Self {
        let cause = format!("{}{advice}", absent.brief());
        Self { absent: vec![absent], ..Answered::Failed(cause).into() }
    }

    /// That the partner failed, with what it says of that.
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
    /// That the partner declines, where the expression says so, and why: in words that are known, or in others.
    ///
    /// # Errors
    /// It says so in nothing that could be a word, so that something else may be meant.
    pub(super) fn declined(
        &self,
        by: &Option<Expression>,
        context: &Mapped,
    ) -> Result<Option<Reading>, MappingError> {
        let Some(by) = by else { return Ok(None) };
        let said = by.run(context)?;
        let said = &own_text(&said).unwrap_or(said);
        let known = |word: &str| self.reasons.get(word).copied().or_else(|| RejectReason::from_wire(word));
        let is_reason = said.as_str().is_some_and(|word| known(word).is_some());
        if !is_reason && truth_of(said) == Some(false) {
            return Ok(None);
        }
        if !are_words(said) {
            return Err(MappingError::new(&by.key, "must be true, a word, or a list of words"));
        }
        let words: Vec<String> = match said.kind() {
            ValueKind::Bool => Vec::new(),
            ValueKind::String if !is_reason && truth_of(said) == Some(true) => Vec::new(),
            ValueKind::Seq | ValueKind::Iterable => {
                said.try_iter().into_iter().flatten().filter_map(|word| text(&word)).collect()
            }
            _ => text(said).into_iter().collect(),
        };
        let reason = words.iter().find_map(|word| known(word));
        let undeclared = words.iter().find(|word| known(word).is_none()).map(|word| undeclared::shown(word));
        Ok(Some(Reading { undeclared, ..Answered::Declined(reason).into() }))
    }
}

/// Whether a value says in words why a partner declines, or merely that it does.
fn are_words(said: &Mapped) -> bool {
    let is_word = |word: &Mapped| match word.kind() {
        ValueKind::Bool | ValueKind::Number => true,
        ValueKind::String => word.as_str().is_some_and(|word| !word.trim().is_empty()),
        _ => false,
    };
    match said.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            said.try_iter().is_ok_and(|mut words| words.all(|word| is_word(&word)))
        }
        _ => is_word(said),
    }
}

impl HttpSource {
    /// What the last answer of an exchange means, of a lead that mappings see as `given` and rules as `facts`. `offers` are
    /// those of the catalog whose rules fit the lead. A figure that cannot be used costs its offer, and no other.
    ///
    /// # Errors
    /// The first mapping that could not be run, where that cost the whole answer.
    pub fn answer(
        &self,
        exchange: &Exchange,
        received: Received<'_>,
        given: &Given,
        facts: &Facts,
        offers: &[&CatalogOffer],
    ) -> Result<Reading, MappingError> {
        let context = match received.context(self.context(given, exchange), &self.attributes) {
            Ok(context) => context,
            Err(fault) => return Ok(Answered::Failed(fault).into()),
        };
        if let Some(error) = Expression::says(&self.answer.error, &context)? {
            return Ok(Reading::error(received.status, &error));
        }
        if let Some(declined) = self.answer.declined(&self.answer.declined, &context)? {
            return Ok(declined);
        }
        let polls = self.step(exchange).polling.is_some();
        if !received.status.is_success() || (received.status == StatusCode::ACCEPTED && !polls) {
            return Ok(received.bad_status().into());
        }
        match self.answer.listed(&context, received.is_xml())? {
            Ok(list) => self.quotes(list, &context, facts, offers),
            Err(_) if self.answer.empty_declines => Ok(Answered::Declined(None).into()),
            Err(absent) => Ok(Reading::lacking(
                absent,
                "; if that means no offers, `answer.empty = \"declines\"` says so",
            )),
        }
    }

    fn quotes(
        &self,
        list: Vec<ListedOffer>,
        context: &Mapped,
        facts: &Facts,
        offers: &[&CatalogOffer],
    ) -> Result<Reading, MappingError> {
        let mut absent = Vec::new();
        let (mut quotes, mut dropped, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        for (position, (offer, outer)) in list.into_iter().enumerate() {
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
        // Where no offer at all can be read it is the answer that cannot, or the mapping.
        if failures.len() == dropped.len() && quotes.is_empty() && !failures.is_empty() {
            return Err(failures.swap_remove(0));
        }
        let wrong = dropped.iter().find(|dropped| !dropped.for_others).filter(|_| quotes.is_empty());
        let answered = match wrong {
            Some(Unfit { reason, .. }) => {
                Answered::Failed(format!("none of its {} offers can be shown: {reason}", dropped.len()))
            }
            None => Answered::Offers(quotes),
        };
        Ok(Reading { dropped, absent, ..answered.into() })
    }
}
