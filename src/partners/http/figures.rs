//! Compiles the figures of answered offers and their plausibility rules.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::answer_mapping::FigureMapping;
use super::mappings::Mappings;
use super::names::ExpressionPlace;
use crate::catalog::{AnsweredFigure, AnsweredFigures, MoneyRules};
use offerd_base::declaration::{did_you_mean, nearest, quoted};
use offerd_model::ProductType;

impl Mappings<'_, '_> {
    /// The figures of an offer of a product type; `keys` are those of its catalog.
    pub(super) fn figures(&mut self, keys: &[String]) -> Vec<FigureMapping> {
        let (declared, product_type) = (&self.http.answer.offer, self.product_type);
        let mut figures = Vec::new();
        for (name, text) in declared {
            let key = format!("answer.offer.{}", quoted(name));
            let compiled = self.expression(&key, text, ExpressionPlace::Offer);
            for word in compiled.iter().filter(|_| name == "key").flat_map(|compiled| compiled.literals()) {
                if !keys.iter().any(|key| key == word) {
                    let hint = did_you_mean(nearest(word, keys.iter().map(String::as_str)));
                    self.check.at(&key, format!("`{word}` is not an offer of the file{hint}"));
                }
            }
            match AnsweredFigure::named(name, product_type) {
                Some(figure) => {
                    figures.extend(compiled.map(|expression| FigureMapping { figure, expression }))
                }
                None => self.check.at(&key, no_figure(name, product_type)),
            }
        }
        let required = AnsweredFigures::required(product_type);
        if !required.is_empty() && !required.iter().any(|name| declared.contains_key(*name)) {
            let wanted = required.join(" or ");
            self.check.at("answer.offer", format!("must have {wanted}; without it no offer can be shown"));
        }
        figures
    }

    pub(super) fn money_rules(&mut self) -> MoneyRules {
        let (declared, product_type) = (&self.http.answer, self.product_type);
        let mut bounds = BTreeMap::new();
        for (name, range) in &declared.bounds {
            let key = format!("answer.bounds.{}", quoted(name));
            let (least, most) = (range.min.unwrap_or(f64::NEG_INFINITY), range.max.unwrap_or(f64::INFINITY));
            let is_empty = !matches!(least.partial_cmp(&most), Some(Ordering::Less | Ordering::Equal));
            match AnsweredFigure::named(name, product_type) {
                None => self.check.at(&key, no_figure(name, product_type)),
                Some(figure) if !figure.is_number() => {
                    self.check.at(&key, "is not a number, so it cannot have bounds")
                }
                Some(_) if is_empty => self.check.at(&key, format!("is empty: from {least} to {most}")),
                Some(_) => drop(bounds.insert(name.clone(), (least, most))),
            }
        }
        let is_lent = matches!(product_type, ProductType::Loan | ProductType::Mortgage);
        if !declared.rate_caps.is_empty() && !is_lent {
            self.check.at("answer.rate_caps", "is for loans and mortgages");
        }
        for (state, cap) in &declared.rate_caps {
            self.check.between(&format!("answer.rate_caps.{state}"), Some(*cap), 1.0, 400.0);
        }
        MoneyRules {
            low_apr: declared.low_apr,
            bounds,
            rate_caps: declared.rate_caps.clone(),
            payment: declared.payment,
            max_text_bytes: declared.max_text_bytes,
        }
    }
}

/// The fault of an unknown figure, with the known ones.
fn no_figure(name: &str, product_type: ProductType) -> String {
    let names: Vec<&str> = AnsweredFigure::names(product_type).collect();
    let dotted: Vec<String> = AnsweredFigure::dotted_names(product_type).collect();
    let all = names.iter().copied().chain(dotted.iter().map(String::as_str));
    let hint = did_you_mean(nearest(name, all));
    let attributes = match dotted.first() {
        Some(first) => format!("; and each attribute of an object alone, such as `\"{first}\"`"),
        None => String::new(),
    };
    format!("is not a figure of such an offer; known: {}{attributes}{hint}", names.join(", "))
}
