//! What an answer means, compiled.

use minijinja::value::Value as Mapped;

use super::absent::Absent;
use super::expression::{Expression, text};
use super::mapping_error::MappingError;
use crate::partners::catalog::Figures;

/// What an answer means, compiled.
#[derive(Debug)]
pub struct AnswerMapping {
    pub(super) error: Option<Expression>,
    pub(super) declined: Option<Expression>,
    pub(super) offers: Expression,
    pub(super) offer: Vec<(&'static str, Expression)>,
    /// The keys of the catalog's offers.
    pub(super) keys: Vec<String>,
}

impl AnswerMapping {
    /// What one of the mappings says, if there is one.
    pub(super) fn says(
        &self,
        key: &str,
        expression: &Option<Expression>,
        context: &Mapped,
    ) -> Result<Option<Mapped>, MappingError> {
        expression.as_ref().map(|expression| expression.run(key, context)).transpose()
    }

    /// The figures of one offer.
    pub(super) fn figures(
        &self,
        position: usize,
        context: &Mapped,
        absent: &mut Vec<Absent>,
    ) -> Result<Figures, MappingError> {
        let mut figures = Figures::default();
        for (name, expression) in &self.offer {
            let key = format!("answer.offer.{name}");
            let value = expression.run(&key, context)?;
            // What is computed may well come to nothing; what is only looked up was meant to be there.
            if value.is_undefined()
                && expression.path().is_some()
                && !absent.iter().any(|known| known.key == key)
            {
                absent.push(Absent::of(&key, expression, context).in_offer(position));
            }
            if let Some(text) = text(&value).filter(|text| !text.is_empty()) {
                figures.set(name, &text).map_err(|wanted| MappingError::new(&key, wanted))?;
            }
        }
        Ok(figures)
    }
}
