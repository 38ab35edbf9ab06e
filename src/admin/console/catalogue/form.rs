//! The form of a trial lead: its attributes, their initial values, and the lead that it yields.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::console::rate_tables::words;
use offerd_model::{ApiError, Attribute, AttributeKind, Lead, ProductType, UnreadableBody};

/// The fields of the form, one per line: product types, attribute, initial value.
const LINES: &str = include_str!("lead.txt");

/// Stands for the product types of a line when it applies to all.
const ALL: &str = "all";

/// Endings of the names of dollar attributes.
const DOLLARS: [&str; 6] = ["Income", "Debt", "Assets", "Value", "Amount", "Balance"];

/// The field that adds sample personal data, which partners require whatever its values are. Its lines have
/// this word in place of the product types.
pub(super) const WITH_SPECIMEN: &str = "specimen";

#[derive(Debug, Serialize)]
pub(super) struct Field {
    pub(super) path: &'static str,
    label: String,
    /// `choice`, `number`, `date` or `text`.
    kind: &'static str,
    dollars: bool,
    choices: Vec<&'static str>,
    pub(super) value: String,
    pub(super) fault: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct FormSection {
    name: &'static str,
    pub(super) fields: Vec<Field>,
}

/// The fields for a product with the values of `given`: those of the product first, then those of the person.
pub(super) fn sections(product: ProductType, given: impl Fn(&str) -> Option<String>) -> Vec<FormSection> {
    let fields = |is_wanted: &dyn Fn(&str) -> bool| -> Vec<Field> {
        let asked = lines().filter(|[whose, ..]| is_wanted(whose));
        let value = |path: &str, default: &str| given(path).unwrap_or_else(|| default.to_owned());
        asked.filter_map(|[_, path, default]| Field::of(path, value(path, default))).collect()
    };
    let is_of_product = |whose: &str| whose.split(',').any(|one| one == product.as_str());
    let sections = [
        FormSection { name: "Request", fields: fields(&is_of_product) },
        FormSection { name: "Applicant", fields: fields(&|whose| whose == ALL) },
    ];
    sections.into_iter().filter(|section| !section.fields.is_empty()).collect()
}

fn lines() -> impl Iterator<Item = [&'static str; 3]> {
    LINES.lines().map(|line| {
        let mut parts = line.splitn(3, ' ');
        std::array::from_fn(|_| parts.next().unwrap_or_default())
    })
}

impl Field {
    fn of(path: &'static str, value: String) -> Option<Self> {
        let (kind, choices) = match Attribute::named(path)?.kind {
            AttributeKind::Category(names) | AttributeKind::Set(names) => ("choice", names.to_vec()),
            AttributeKind::Flag => ("choice", vec!["true", "false"]),
            AttributeKind::Number => ("number", Vec::new()),
            AttributeKind::Date => ("date", Vec::new()),
            AttributeKind::Text | AttributeKind::Texts | AttributeKind::Uuid => ("text", Vec::new()),
        };
        let (_, name) = path.split_once('.')?;
        let dollars = kind == "number" && DOLLARS.iter().any(|end| name.ends_with(end));
        Some(Self { path, label: words(name), kind, dollars, choices, value, fault: None })
    }
}

/// The lead that the fields yield. Returns the faults that belong to no field.
pub(super) fn lead(of: ProductType, specimen: bool, form: &mut [FormSection]) -> Result<Lead, Vec<String>> {
    let mut body = Map::new();
    body.insert("productTypes".to_owned(), Value::from(vec![of.as_str()]));
    let of_person = lines().filter(|[whose, ..]| specimen && *whose == WITH_SPECIMEN);
    let of_person = of_person.map(|[_, path, value]| (path, value.to_owned()));
    let fields = form.iter().flat_map(|section| &section.fields);
    let of_fields = fields.map(|field| (field.path, field.value.trim().to_owned()));
    for (path, value) in of_person.chain(of_fields).filter(|(_, value)| !value.is_empty()) {
        put(&mut body, path, value);
    }
    let faults = match Lead::read(Value::from(body).to_string().as_bytes()) {
        Ok(lead) => return Ok(lead),
        Err(UnreadableBody::Faults(faults)) => faults,
        Err(UnreadableBody::NotJson(fault)) => vec![fault],
    };
    Err(faults.into_iter().filter_map(|fault| beside(fault, form)).collect())
}

/// Stores a fault with its field; returns its message if no field has it.
fn beside(fault: ApiError, sections: &mut [FormSection]) -> Option<String> {
    let message = fault.message.unwrap_or_default();
    let Some(attribute) = fault.attribute else { return Some(message) };
    // A fault of a list names one of its elements.
    let path = attribute.split('[').next().unwrap_or_default();
    let mut fields = sections.iter_mut().flat_map(|section| &mut section.fields);
    match fields.find(|field| field.path == path) {
        Some(field) => {
            let wanted = if field.dollars { ": a whole number of dollars, such as 10000" } else { "" };
            field.fault = Some(format!("{message}{wanted}"));
            None
        }
        None => Some(format!("{attribute} {message}")),
    }
}

/// Sets the value at a path. A value of another type than its attribute stays text: a fault of the lead.
fn put(body: &mut Map<String, Value>, path: &str, value: String) {
    let kind = Attribute::named(path).map(|attribute| attribute.kind);
    let value = match kind {
        Some(AttributeKind::Number) => {
            let plain = value.trim_start_matches('$').replace(',', "");
            serde_json::from_str(&plain).ok().filter(Value::is_number).unwrap_or(Value::from(value))
        }
        Some(AttributeKind::Flag) => value.parse().map_or(Value::from(value), Value::Bool),
        Some(AttributeKind::Set(_)) => Value::from(vec![value]),
        _ => Value::from(value),
    };
    let (section, name) = path.split_once('.').unwrap_or(("", path));
    if let Some(section) = body.entry(section).or_insert_with(|| Value::Object(Map::new())).as_object_mut() {
        section.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_model::ProductType::Loan;

    fn faulty(sections: &[FormSection]) -> Vec<&'static str> {
        let fields = sections.iter().flat_map(|section| &section.fields);
        fields.filter(|field| field.fault.is_some()).map(|field| field.path).collect()
    }

    #[test]
    fn an_amount_may_be_written_as_people_write_it() {
        let given = |text: &str| {
            let text = text.to_owned();
            let mut sections =
                sections(Loan, move |path| (path == "loanInformation.loanAmount").then(|| text.clone()));
            let amount = |lead: Lead| lead.loan_information.unwrap().loan_amount;
            lead(Loan, false, &mut sections).map(amount).map_err(|_| {
                let mut fields = sections.iter().flat_map(|section| &section.fields);
                fields.find_map(|field| field.fault.clone()).unwrap()
            })
        };
        assert_eq!(given("$10,000"), given("10000"));
        assert!(given("ten grand").unwrap_err().contains("a whole number of dollars, such as 10000"));
    }

    #[test]
    fn what_stands_in_the_form_at_first_is_a_lead_of_every_product() {
        for &product in ProductType::ALL {
            let mut sections = sections(product, |_| None);
            let lead =
                lead(product, true, &mut sections).unwrap_or_else(|faults| panic!("{product}: {faults:?}"));
            assert_eq!(lead.product_types.as_deref(), Some(&[product][..]));
            assert!(faulty(&sections).is_empty(), "{product}");
        }
    }

    #[test]
    fn every_field_names_an_attribute_and_its_choices_hold_what_stands_in_it() {
        let is_known =
            |one: &str| [ALL, WITH_SPECIMEN].contains(&one) || ProductType::from_wire(one).is_some();
        for [whose, path, default] in lines() {
            let field =
                Field::of(path, default.to_owned()).unwrap_or_else(|| panic!("{path} is no attribute"));
            assert!(
                field.kind != "choice" || default.is_empty() || field.choices.contains(&default),
                "{path}"
            );
            assert!(whose.split(',').all(is_known), "{whose}");
        }
    }

    #[test]
    fn a_fault_stands_beside_its_field() {
        let given = |path: &str| match path {
            "loanInformation.loanAmount" => Some("much".to_owned()),
            "personalInformation.zipcode" => Some("none".to_owned()),
            _ => None,
        };
        let mut sections = sections(Loan, given);
        assert_eq!(lead(Loan, false, &mut sections), Err(Vec::new()));
        assert_eq!(faulty(&sections), ["loanInformation.loanAmount", "personalInformation.zipcode"]);
    }
}
