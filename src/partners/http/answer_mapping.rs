//! The compiled `answer` of a partner file.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::value::{Value as Mapped, ValueKind};
use serde_json::Value;

use super::absent::{AbsentMapping, LookedUp};
use super::document::leaf;
use super::expression::Expression;
use super::mapping_error::{MappingError, MappingResult};
use super::truth::own_text;
use super::work;
use crate::Facts;
use crate::catalog::{AnsweredFigure, AnsweredFigures, MoneyRules, Unfit};
use offerd_model::RejectReason;

/// The compiled `answer` of a partner file.
#[derive(Debug)]
pub struct AnswerMapping {
    pub(super) error: Option<Expression>,
    pub(super) declined: Option<Expression>,
    /// The API's decline reasons by the partner's own.
    pub(super) reasons: BTreeMap<String, RejectReason>,
    pub(super) offers: Expression,
    /// Maximum number of offers read of one answer.
    pub(super) max_offers: usize,
    /// Whether an answer without a list of offers is a decline.
    pub(super) empty_declines: bool,
    pub(super) inner: Option<Expression>,
    pub(super) offer: Vec<FigureMapping>,
    pub(super) keys: Vec<String>,
    /// The plausibility rules for figures.
    pub(super) money: Arc<MoneyRules>,
}

/// A figure, and the expression that gives it.
pub(super) type FigureMapping = (AnsweredFigure, Expression);

/// Why a rate is not shown.
const NO_RATE: &str =
    "makes a rate of 0 from an answer that has no 0 there: without a default, the offer lacks its rate";

/// An offer in an answer, and its enclosing element in nested lists.
pub(super) type ListedOffer = (Mapped, Option<Mapped>);

impl AnswerMapping {
    pub(super) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let said = [self.error.as_ref(), self.declined.as_ref(), Some(&self.offers), self.inner.as_ref()];
        said.into_iter().flatten().chain(self.offer.iter().map(|(_, expression)| expression))
    }

    /// The offers of an answer, XML or not; empty if the partner has none, and one more than may be read if
    /// it has too many. The inner error describes what stands in place of the list, so that the answer's
    /// meaning is unknown.
    pub(super) fn listed(&self, context: &Mapped, xml: bool) -> LookedUp<Vec<ListedOffer>> {
        let most = self.max_offers + 1;
        let outermost = match elements(&self.offers, context, xml, most)? {
            Ok(elements) => elements,
            Err(absent) => return Ok(Err(absent)),
        };
        let Some(inner) = &self.inner else {
            return Ok(Ok(outermost.into_iter().map(|offer| (offer, None)).collect()));
        };
        let mut offers = Vec::new();
        for (nth, outer) in outermost.into_iter().enumerate() {
            let context = minijinja::context! { offer => outer.clone(), ..context.clone() };
            if offers.len() >= most {
                break;
            }
            match elements(inner, &context, xml, most - offers.len())? {
                Ok(elements) => {
                    offers.extend(elements.into_iter().map(|offer| (offer, Some(outer.clone()))));
                }
                Err(absent) if self.empty_declines && absent.says_none => {}
                Err(absent) => return Ok(Err(absent.in_offer(nth))),
            }
        }
        Ok(Ok(offers))
    }

    pub(super) fn figures<'f>(
        &self,
        position: usize,
        context: &Mapped,
        facts: &'f Facts<'f>,
        absent: &mut Vec<AbsentMapping>,
    ) -> MappingResult<AnsweredFigures<'f>> {
        let mut figures = AnsweredFigures::under(Arc::clone(&self.money), facts);
        for (figure, expression) in &self.offer {
            let value = expression.run(context)?;
            let paid = work::charge_figure(context, &value);
            paid.map_err(|error| MappingError::of(&expression.key, &error, &[]))?;
            // A computed value may be undefined on purpose; a plain lookup was expected to find something.
            let is_new = !absent.iter().any(|known| known.key == expression.key);
            if value.is_undefined() && expression.path().is_some() && is_new {
                absent.push(AbsentMapping::of(expression, context).in_offer(position));
            }
            if let Some(value) = given(&value) {
                if figure.is_rate_of_zero(&value) && expression.makes_up(context) {
                    return Err(MappingError::new(&expression.key, NO_RATE));
                }
                figures.set(*figure, &value).map_err(|Unfit { reason, detail, .. }| MappingError {
                    key: expression.key.clone(),
                    cause: reason,
                    detail,
                })?;
            }
        }
        Ok(figures)
    }
}

/// The answered value; `None` if absent or empty.
pub(super) fn given(value: &Mapped) -> Option<Value> {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => None,
        ValueKind::String if value.as_str() == Some("") => None,
        _ => match serde_json::to_value(value) {
            Ok(value) => Some(leaf(value)).filter(|value| !value.is_null()),
            Err(_) => Some(value.to_string().into()),
        },
    }
}

/// At most so many elements of the list that an expression yields, or a description of the missing list.
fn elements(expression: &Expression, context: &Mapped, xml: bool, most: usize) -> LookedUp<Vec<Mapped>> {
    let list = expression.run(context)?;
    Ok(Ok(match list.kind() {
        ValueKind::Undefined if xml && stands_in_empty(expression, context) => Vec::new(),
        ValueKind::Undefined => return Ok(Err(AbsentMapping::of(expression, context))),
        ValueKind::None => Vec::new(),
        ValueKind::String if xml && list.as_str() == Some("") => Vec::new(),
        ValueKind::Map if own_text(&list).is_some_and(|text| text.as_str() == Some("")) => Vec::new(),
        // In XML a list of one is no list.
        ValueKind::Map => vec![list],
        ValueKind::Seq | ValueKind::Iterable => list.try_iter().into_iter().flatten().take(most).collect(),
        _ => return Err(MappingError::new(&expression.key, "is no list")),
    }))
}

/// Whether the path's parent element exists but has no child elements: `<Offers/>`.
fn stands_in_empty(expression: &Expression, context: &Mapped) -> bool {
    let Some((parent, _)) = expression.path().and_then(|path| path.rsplit_once('.')) else { return false };
    let found = parent.split('.').try_fold(context.clone(), |value, name| value.get_attr(name));
    found.is_ok_and(|element| match element.kind() {
        ValueKind::String => element.as_str() == Some(""),
        ValueKind::Map => element
            .try_iter()
            .is_ok_and(|mut names| names.all(|name| name.as_str().is_some_and(|name| name.starts_with('@')))),
        _ => false,
    })
}
