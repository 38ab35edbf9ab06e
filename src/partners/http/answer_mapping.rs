//! What an answer means, compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::value::{Value as Mapped, ValueKind};
use serde_json::Value;

use super::absent::Absent;
use super::expression::Expression;
use super::mapping_error::MappingError;
use crate::model::RejectReason;
use crate::partners::Facts;
use crate::partners::catalog::{Figure, Figures, MoneyRules, Unfit};

/// What an answer means, compiled.
#[derive(Debug)]
pub struct AnswerMapping {
    pub(super) error: Option<Expression>,
    pub(super) declined: Option<Expression>,
    /// Why a partner declines, by its own words.
    pub(super) reasons: BTreeMap<String, RejectReason>,
    pub(super) offers: Expression,
    /// Whether an answer without a list of offers declines.
    pub(super) empty_declines: bool,
    pub(super) inner: Option<Expression>,
    pub(super) offer: Vec<FigureMapping>,
    /// The keys of the catalog's offers.
    pub(super) keys: Vec<String>,
    /// By what the figures are judged.
    pub(super) money: Arc<MoneyRules>,
}

/// A figure of an offer, and what says it.
#[derive(Debug)]
pub(super) struct FigureMapping {
    pub(super) figure: Figure,
    pub(super) expression: Expression,
}

impl AnswerMapping {
    /// Its mappings.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let said = [self.error.as_ref(), self.declined.as_ref(), Some(&self.offers), self.inner.as_ref()];
        said.into_iter().flatten().chain(self.offer.iter().map(|figure| &figure.expression))
    }

    /// The figures of one offer.
    pub(super) fn figures<'f>(
        &self,
        position: usize,
        context: &Mapped,
        facts: &'f Facts<'f>,
        absent: &mut Vec<Absent>,
    ) -> Result<Figures<'f>, MappingError> {
        let mut figures = Figures::under(Arc::clone(&self.money), facts);
        for FigureMapping { figure, expression } in &self.offer {
            let value = expression.run(context)?;
            // What is computed may well come to nothing; what is only looked up was meant to be there.
            let is_new = !absent.iter().any(|known| known.key == expression.key);
            if value.is_undefined() && expression.path().is_some() && is_new {
                absent.push(Absent::of(expression, context).in_offer(position));
            }
            if let Some(value) = given(&value) {
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

/// A value as it was answered; `None` when nothing was.
fn given(value: &Mapped) -> Option<Value> {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => None,
        ValueKind::String if value.as_str() == Some("") => None,
        _ => Some(serde_json::to_value(value).unwrap_or_else(|_| value.to_string().into())),
    }
}
