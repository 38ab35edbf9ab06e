//! Compiles the figures of answered offers and their plausibility rules.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::Value;

use super::answer_mapping::{FigureMapping, given};
use super::expression::Expression;
use super::mappings::Mappings;
use super::names::ExpressionPlace;
use crate::catalog::{AnsweredFigure, AnsweredFigures, MoneyRules, range_shown};
use crate::declared::{Offer, Range};
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
                    let constant = compiled.as_ref().and_then(Expression::constant);
                    let fault = constant.and_then(|value| self.never_fits(name, figure, &given(&value)?));
                    fault.into_iter().for_each(|fault| self.check.at(&key, fault));
                    figures.extend(compiled.map(|expression| (figure, expression)))
                }
                None => self.check.at(&key, no_figure(name, product_type)),
            }
        }
        let required = AnsweredFigures::required(product_type);
        if !required.is_empty() && !required.iter().any(|name| declared.contains_key(*name)) {
            let wanted = required.join(" or ");
            self.check.at("answer.offer", format!("must have {wanted}; without it no offer can be shown"));
        }
        let has_terms = |offer: &&Offer| product_type == ProductType::Loan && offer.terms.len() > 1;
        let is_of_catalog = self.http.answer.own.is_none() || declared.contains_key("key");
        let of_terms = self.product.offers.iter().find(has_terms).filter(|_| is_of_catalog);
        if let Some(offer) = of_terms.filter(|_| !declared.contains_key("term")) {
            let (offer, terms) = (&offer.key, &offer.terms);
            let fault = format!("must have `term`: offer `{offer}` has several `terms`, {terms:?}");
            self.check.at("answer.offer", fault);
        }
        figures
    }

    /// Why a figure that is the same in every answer fits no offer of the file.
    fn never_fits(&self, name: &str, figure: AnsweredFigure, value: &Value) -> Option<String> {
        let number = match figure.number_in(value) {
            Ok(number) => number?,
            Err(fault) => return Some(fault),
        };
        let offers = self.product.offers.iter().filter(|_| self.http.answer.own.is_none());
        let exactly = |term: &i32| (f64::from(*term), f64::from(*term));
        let bounded = if name.ends_with("_apr") { "apr" } else { name };
        let of_bounds = self.http.answer.bounds.get(bounded).copied().map(ends);
        let (key, ranges): (_, Vec<(f64, f64)>) = match name {
            "term" => ("terms", offers.flat_map(|offer| &offer.terms).map(exactly).collect()),
            "min_amount" | "max_amount" => {
                ("amount", offers.filter_map(|offer| offer.amount).map(ends).collect())
            }
            _ => ("answer.bounds", of_bounds.into_iter().collect()),
        };
        let fits = ranges.is_empty() || ranges.iter().any(|(least, most)| (least..=most).contains(&&number));
        let wanted = || ranges.iter().map(|range| range_shown(*range)).collect::<Vec<_>>().join(", or ");
        (!fits).then(|| format!("must be within `{key}`, {}, got {number}", wanted()))
    }

    pub(super) fn money_rules(&mut self) -> MoneyRules {
        let (declared, product_type) = (&self.http.answer, self.product_type);
        let mut bounds = BTreeMap::new();
        for (name, range) in &declared.bounds {
            let key = format!("answer.bounds.{}", quoted(name));
            let (least, most) = ends(*range);
            let is_empty = !matches!(least.partial_cmp(&most), Some(Ordering::Less | Ordering::Equal));
            match AnsweredFigure::named(name, product_type) {
                None => self.check.at(&key, no_figure(name, product_type)),
                Some(figure) if !figure.is_number() => {
                    self.check.at(&key, "is not a number, so it cannot have bounds")
                }
                Some(_) if is_empty => self.check.at(
                    &key,
                    format!("must have its lowest at or below its highest, got {least} and {most}"),
                ),
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

fn ends(range: Range) -> (f64, f64) {
    (range.min.unwrap_or(f64::NEG_INFINITY), range.max.unwrap_or(f64::INFINITY))
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
