//! From a partner's answer to quotes, or to what else it means.

use std::collections::BTreeMap;

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use minijinja::value::{Value as Mapped, ValueKind};

use super::absent::Absent;
use super::document;
use super::exchange::Exchange;
use super::given::Given;
use super::mapping_error::MappingError;
use super::source::HttpSource;
use crate::model::RejectReason;
use crate::partners::catalog::{CatalogOffer, Unfit};
use crate::partners::{Facts, Quote};

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
    pub dropped: Vec<Dropped>,
    /// What mappings looked for and did not find, each mapping once.
    pub absent: Vec<Absent>,
    /// What `answer.error` says, for whoever may see what was answered.
    pub said: Option<String>,
}

/// An offer of an answer that is not shown, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Its place in the answer, from 0.
    pub position: usize,
    /// Why, without what it says.
    pub reason: String,
    /// Why, with what it says: for whoever may see it.
    pub detail: String,
}

impl From<Answered> for Reading {
    fn from(answered: Answered) -> Self {
        Self { answered, dropped: Vec::new(), absent: Vec::new(), said: None }
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
    /// The variables of mappings about it.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn context(self, given: &Given, kept: &BTreeMap<String, Mapped>) -> Result<Mapped, String> {
        let content_type = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let response = match document::read(content_type, self.body) {
            Ok(response) => response,
            // Who fails does not always care for its own format.
            Err(_) if !self.status.is_success() => Mapped::UNDEFINED,
            Err(fault) => return Err(format!("the answer {fault}")),
        };
        let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
        let header = self.headers.iter().filter_map(|(name, value)| Some((name.to_string(), text(value)?)));
        let of_answer = minijinja::context! {
            status => self.status.as_u16(),
            header => header.collect::<BTreeMap<String, String>>(),
            response,
        };
        Ok(minijinja::context! { ..of_answer, ..given.context(BTreeMap::new(), kept) })
    }

    pub(super) fn bad_status(self) -> Answered {
        Answered::Failed(format!("the answer has status {}", self.status.as_u16()))
    }
}

impl Reading {
    /// That the partner failed, with what it says of that.
    pub(super) fn error(said: &Mapped) -> Self {
        let said = said.as_str().map(str::to_owned);
        Self { said, ..Answered::Failed("the answer is an error".to_owned()).into() }
    }
}

/// That the partner declines: a word of the API's, or just true.
pub(super) fn declined(key: &str, word: &Mapped) -> Result<Answered, MappingError> {
    let unknown = || MappingError::new(key, format!("must be {}", reasons()));
    let reason = word.as_str().map(|word| RejectReason::from_wire(word).ok_or_else(unknown));
    Ok(Answered::Declined(reason.transpose()?))
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
        let context = match received.context(given, &exchange.kept) {
            Ok(context) => context,
            Err(fault) => return Ok(Answered::Failed(fault).into()),
        };
        let error = self.answer.says("answer.error", &self.answer.error, &context)?;
        if let Some(error) = error.filter(Mapped::is_true) {
            return Ok(Reading::error(&error));
        }
        let word = self.answer.says("answer.declined", &self.answer.declined, &context)?;
        if let Some(word) = word.filter(Mapped::is_true) {
            return Ok(declined("answer.declined", &word)?.into());
        }
        if !received.status.is_success() {
            return Ok(received.bad_status().into());
        }
        self.quotes(&context, facts, offers)
    }

    fn quotes(
        &self,
        context: &Mapped,
        facts: &Facts,
        offers: &[&CatalogOffer],
    ) -> Result<Reading, MappingError> {
        let mut absent = Vec::new();
        let list = self.answer.offers.run("answer.offers", context)?;
        let list: Vec<Mapped> = match list.kind() {
            ValueKind::Undefined => {
                absent.push(Absent::of("answer.offers", &self.answer.offers, context));
                Vec::new()
            }
            ValueKind::None => Vec::new(),
            // In XML a list of one is no list.
            ValueKind::Map => vec![list],
            _ => match list.try_iter() {
                Ok(list) => list.collect(),
                Err(_) => return Err(MappingError::new("answer.offers", "is no list")),
            },
        };
        let (mut quotes, mut dropped, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        for (position, offer) in list.into_iter().enumerate() {
            let context = minijinja::context! { offer, ..context.clone() };
            let quote = match self.answer.figures(position, &context, &mut absent) {
                Ok(figures) => figures.quote(facts, offers, &self.answer.keys),
                Err(error) => {
                    let unfit = Unfit { reason: error.to_string(), detail: error.in_full() };
                    failures.push(error);
                    Err(unfit)
                }
            };
            match quote {
                Ok(quote) => quotes.push(quote),
                Err(Unfit { reason, detail }) => dropped.push(Dropped { position, reason, detail }),
            }
        }
        // Where no offer at all can be read it is the answer that cannot, or the mapping.
        if failures.len() == dropped.len() && quotes.is_empty() && !failures.is_empty() {
            return Err(failures.swap_remove(0));
        }
        Ok(Reading { answered: Answered::Offers(quotes), dropped, absent, said: None })
    }
}

fn reasons() -> String {
    crate::model::one_of(RejectReason::WIRE)
}
