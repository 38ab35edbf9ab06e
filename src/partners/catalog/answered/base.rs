//! Completes a declared offer with answered values, and checks the result like a declaration.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use super::super::{CatalogOffer, Pricing, common_faults, known_to, variants};
use super::AnsweredFigures;
use super::unfit::Unfit;
use crate::check::checker::PartnerFileChecker;
use crate::declared::{self, Own};
use crate::eligibility::EligibilityRule;
use crate::identity::Institution;
use crate::template::ClickTerms;
use offerd_base::declaration::{Fault, Source};
use offerd_model::ProductType;

static NO_FILE: LazyLock<Source> =
    LazyLock::new(|| Source::parse(Path::new(""), "").expect("nothing is TOML"));

/// Stand-in for a landing URL that answers supply; never visited.
const UNSAID_PLACE: &str = "https://unsaid.invalid/";

/// Required attributes of objects that answers may supply.
const NEEDED: [(&str, [&str; 2]); 2] =
    [("card", ["cardImageUrl", "cardType"]), ("policy", ["policyAmount", "monthlyPremiumAmount"])];

/// Prefixes of faults that quote no value before the found one.
const FAULTS_WITHOUT_VALUES: [&str; 3] = ["is missing", "must be", "is for"];

/// The declaration of a partner's own offers, with stand-ins for what a catalog offer requires.
pub(crate) fn declaration_of_own(
    mut declaration: toml::Table,
    own: &Own,
    product_type: ProductType,
) -> toml::Table {
    declaration.insert("key".to_owned(), own.key.clone().into());
    declaration.entry("landing_url").or_insert_with(|| UNSAID_PLACE.into());
    declaration.extend(stand_ins(product_type));
    declaration
}

impl CatalogOffer {
    /// The offer with its `declaration` completed by answered figures, or why that is not valid.
    pub(super) fn completed(
        &self,
        declaration: &toml::Table,
        figures: &AnsweredFigures<'_>,
    ) -> Result<Self, Unfit> {
        let mut declaration = declaration.clone();
        figures.put_into(&mut declaration);
        if self.product_type == ProductType::Loan {
            let unit = declaration.get("term_unit").and_then(toml::Value::as_str);
            let (is_open, is_monthly) = (unit == Some("open"), matches!(unit, None | Some("month" | "year")));
            let term = self.pricing.term().or_else(|| figures.term());
            let term = term.or(is_open.then_some(0)).ok_or("it has no term")?;
            declaration.insert("terms".to_owned(), vec![term].into());
            if let Some(told) = figures.of_payment().filter(|_| is_monthly) {
                declaration.entry("monthly_payment_description").or_insert_with(|| told.into());
            }
        }
        let institution =
            declaration.remove("institution").and_then(|given| given.try_into::<Institution>().ok());
        let other = institution.map(|institution| Arc::new(self.identity.standing_for(&institution)));
        let identity = other.as_ref().unwrap_or(&self.identity);
        let (offer, pricing) = read(declaration, self.product_type).map_err(|faults| unfit(&faults))?;
        let known = known_to(&offer, &pricing);
        if known.is_some_and(|known| !EligibilityRule::always().and_all(&[known]).holds(figures.facts)) {
            return Err(Unfit::for_others("its kind is only for leads with `newerValues`"));
        }
        let (name, landing_url) = (self.name.clone(), self.declared_url().to_owned());
        let click_terms = ClickTerms { name, landing_url, ..offer.click_terms(None) };
        Ok(Self::for_all(&offer, click_terms, self.product_type, identity, pricing))
    }
}

/// What a partner's own offer lacks and no figure in `answered` supplies: key and fault.
pub(crate) fn lacks(
    own: &Own,
    declaration: &toml::Table,
    product_type: ProductType,
    answered: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let is_answered = |key: &str| {
        let of_key = |name: &String| name == key || name.split_once('.').is_some_and(|(row, _)| row == key);
        answered.keys().any(of_key)
    };
    let missing = |what: &str| {
        ("answer.offer".to_owned(), format!("must have {what}: no offer of the file supplies it"))
    };
    let mut lacks = Vec::new();
    let mut offer = declaration.clone();
    if product_type == ProductType::Loan {
        offer.insert("terms".to_owned(), vec![1].into());
        if !is_answered("term") && !is_answered("term_unit") {
            lacks.push(missing("`term`, or an open `term_unit`"));
        }
    }
    if own.landing_url.as_ref().is_none_or(String::is_empty) && !is_answered("landing_url") {
        lacks.push(missing("`landing_url`, here or in `answer.own`"));
    }
    for (object, attributes) in NEEDED {
        let lacking = attributes.map(|name| format!("{object}.{name}"));
        let lacking = lacking.iter().filter(|name| !answered.contains_key(*name));
        if is_answered(object) && !answered.contains_key(object) {
            lacks.extend(lacking.map(|name| missing(&format!("`\"{name}\"`"))));
        }
    }
    for Fault { key, message, .. } in read(offer, product_type).err().into_iter().flatten() {
        let root = key.split(['.', '[']).next().unwrap_or_default();
        if message.starts_with("is missing") && !is_answered(root) {
            lacks.push(missing(&format!("`{root}`")));
        } else if declaration.contains_key(root) && !stand_ins(product_type).contains_key(root) {
            lacks.push((format!("answer.own.{key}"), message));
        }
    }
    lacks
}

fn read(
    declaration: toml::Table,
    product_type: ProductType,
) -> Result<(declared::Offer, Pricing), Vec<Fault>> {
    let fault = |key: String, message: &str| NO_FILE.fault(&key, message.trim());
    let offer = serde_path_to_error::deserialize::<_, declared::Offer>(declaration)
        .map_err(|error| vec![fault(error.path().to_string(), error.inner().message())])?;
    let mut check = PartnerFileChecker::new(&NO_FILE);
    common_faults(&offer, &mut check);
    let pricing = variants(&offer, product_type, false, &mut check).pop();
    let faults = check.into_faults();
    match pricing {
        Some(pricing) if faults.is_empty() => Ok((offer, pricing)),
        _ if faults.is_empty() => Err(vec![fault(String::new(), "is missing something")]),
        _ => Err(faults),
    }
}

/// Stand-ins for what a catalog requires and answers do not need.
fn stand_ins(product_type: ProductType) -> toml::Table {
    let stand_ins = match product_type {
        ProductType::Loan => "amount = { min = 1, max = 10_000_000 }",
        ProductType::Mortgage => "amount = { min = 1, max = 100_000_000 }\nreference_amount = 1",
        _ => "",
    };
    stand_ins.parse().expect("it is TOML")
}

fn unfit(faults: &[Fault]) -> Unfit {
    let Some(Fault { key, message, .. }) = faults.first() else { return "it is not a complete offer".into() };
    let without_value = message.split(", got ").next().unwrap_or_default();
    let is_known = FAULTS_WITHOUT_VALUES.iter().any(|beginning| without_value.starts_with(beginning));
    let told = if is_known { without_value } else { "does not fit the rest of the offer" };
    Unfit::told(format!("its `{key}` {told}"), format!("its `{key}` {message}"))
}
