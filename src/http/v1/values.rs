//! Attributes of a lead and parameters that have fewer values in v1.

use serde_json::Value;

use super::submission::{CARD, CARD_BENEFITS};
use super::{Object, object};
use offerd_model::{
    ApiError, CardPurpose, EducationLevel, EmploymentStatus, Enumeration, ErrorType, LoanPurpose,
    ProductType, one_of,
};

/// Maximum faults in an answer, whatever the length of a hostile array.
pub const MAX_FAULTS: usize = 500;

/// An attribute: its section, if any; its name; whether it is an array; and its values in v1.
type Restricted = (&'static str, &'static str, bool, fn() -> Vec<&'static str>);

/// Every attribute with fewer values in v1, by v1's names, in specification order.
const RESTRICTED: [Restricted; 6] = [
    ("", "productTypes", true, || wire(ProductType::V1)),
    ("personalInformation", "educationLevel", false, || wire(EducationLevel::V1)),
    ("loanInformation", "purpose", false, loan_purposes),
    (CARD, CARD_BENEFITS, true, || wire(CardPurpose::V1)),
    ("financialInformation", "employmentStatus", false, || wire(EmploymentStatus::V1)),
    ("educationInformation", "educationLevel", false, || wire(EducationLevel::V1)),
];

/// Reports every value that v1 lacks, and replaces it by a valid one.
pub fn replace_faulty(lead: &mut Object) -> Vec<ApiError> {
    let mut faults = Vec::new();
    for restricted in &RESTRICTED {
        let section = match restricted.0 {
            "" => Some(&mut *lead),
            name => object(lead, name),
        };
        if let Some(value) = section.and_then(|section| section.get_mut(restricted.1)) {
            check(*restricted, value, &mut faults);
        }
    }
    faults
}

/// Like [`replace_faulty`], for a parameter, whose values are separated by commas if `many`.
pub fn replace_faulty_parameter(
    parameters: &mut [(String, String)],
    name: &str,
    many: bool,
    known: &[&str],
) -> Vec<ApiError> {
    let Some((_, value)) = parameters.iter_mut().find(|(other, _)| other == name) else { return Vec::new() };
    let is_known = |one: &str| known.contains(&one);
    let all_known = if many { value.split(',').all(is_known) } else { is_known(value) };
    if all_known {
        return Vec::new();
    }
    known[0].clone_into(value);
    let message = format!("Query parameter {name} must be {}", one_of(known));
    vec![ApiError::at(name, ErrorType::Malformed, message)]
}

fn check((section, name, many, known): Restricted, value: &mut Value, faults: &mut Vec<ApiError>) {
    let known = known();
    let path = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
    match value {
        Value::Array(elements) if many => {
            for (nth, element) in elements.iter_mut().enumerate() {
                check_one(element, &known, || format!("{path}[{nth}]"), faults);
            }
        }
        // The current edition reports that it must be an array.
        _ if many => {}
        Value::Null => {}
        Value::String(text) if text.trim().is_empty() => {}
        one => check_one(one, &known, || path, faults),
    }
}

fn check_one(value: &mut Value, known: &[&str], path: impl FnOnce() -> String, faults: &mut Vec<ApiError>) {
    if value.as_str().is_some_and(|text| known.contains(&text)) {
        return;
    }
    *value = Value::from(known[0]);
    if faults.len() < MAX_FAULTS {
        faults.push(ApiError::at(path(), ErrorType::Malformed, format!("must be {}", one_of(known))));
    }
}

pub(super) fn loan_purposes() -> Vec<&'static str> {
    [&[LoanPurpose::V1_AUTO], wire(LoanPurpose::V1).as_slice()].concat()
}

pub(super) fn wire<E: Enumeration>(values: &[E]) -> Vec<&'static str> {
    values.iter().map(|value| value.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_value_that_v1_lacks_is_named_and_replaced() {
        let lead = json!({
            "productTypes": ["loan", "insurance", 7, null],
            "personalInformation": {"educationLevel": "PhD"},
            "loanInformation": {"purpose": "auto_refinance"},
            "creditCardInformation": {"cardBenefits": ["cash_back", "improve_credit"]},
            "financialInformation": {"employmentStatus": "employed_full_time"},
            "educationInformation": {"educationLevel": ["doctorate"]},
        });
        let mut lead = lead.as_object().unwrap().clone();
        let faults = replace_faulty(&mut lead);
        let paths: Vec<_> = faults.iter().filter_map(|fault| fault.attribute.as_deref()).collect();
        let expected = [
            "productTypes[1]",
            "productTypes[2]",
            "productTypes[3]",
            "personalInformation.educationLevel",
            "loanInformation.purpose",
            "creditCardInformation.cardBenefits[0]",
            "financialInformation.employmentStatus",
            "educationInformation.educationLevel",
        ];
        assert_eq!(paths, expected);
        assert_eq!(replace_faulty(&mut lead), []);
    }

    #[test]
    fn every_value_of_v1_passes_and_what_is_not_given_too() {
        for restricted in &RESTRICTED {
            for known in (restricted.3)() {
                let value = if restricted.2 { json!([known]) } else { json!(known) };
                let mut kept = value.clone();
                let mut faults = Vec::new();
                check(*restricted, &mut kept, &mut faults);
                assert_eq!((faults, kept), (Vec::new(), value));
            }
            for absent in [json!(null), json!(" ")] {
                let mut faults = Vec::new();
                check(*restricted, &mut absent.clone(), &mut faults);
                assert_eq!(faults, []);
            }
        }
    }

    #[test]
    fn faults_are_bounded() {
        let lead = json!({"productTypes": vec!["yacht"; 2 * MAX_FAULTS]});
        assert_eq!(replace_faulty(&mut lead.as_object().unwrap().clone()).len(), MAX_FAULTS);
    }
}
