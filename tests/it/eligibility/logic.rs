//! A rule as JSONLogic, and, as JSONLogic over a lead's body, what each subject of a rule says, so that what follows from
//! attributes is worked out there too. Written from the specification and the words of partner files, with nothing of the
//! crate in it.

use serde_json::{Value, json};

use super::TODAY;
use super::drawn::{Kind, SUBJECTS};

/// The logic of a partner of savings with this `eligibility`, over what the [`subjects`] say. Who names no product types
/// asks for all.
pub fn of(rule: &Value) -> Value {
    let asks = met("productTypes", &json!({ "any_of": ["savings"], "or_missing": true }));
    json!({ "and": [asks, conjunction(rule)] })
}

/// The logic of conditions, and of alternatives beside them.
fn conjunction(rule: &Value) -> Value {
    let rule = rule.as_object().expect("a rule is a table");
    let mut all = vec![json!(true)];
    for (path, condition) in rule.iter().filter(|(path, _)| *path != "any") {
        all.push(met(path, condition));
    }
    if let Some(any) = rule.get("any").and_then(Value::as_array) {
        let any: Vec<Value> = any.iter().map(conjunction).collect();
        all.push(json!({ "or": any }));
    }
    json!({ "and": all })
}

fn met(path: &str, condition: &Value) -> Value {
    let kind = SUBJECTS.iter().find(|(known, _)| *known == path).expect("a subject of the test").1;
    let value = var(&name(path));
    let mut tests = vec![json!(true)];
    for (word, wanted) in condition.as_object().expect("a condition is a table") {
        tests.extend(match (word.as_str(), kind) {
            ("in", Kind::Text) => Some(among(&lower(&value), wanted)),
            ("not_in", Kind::Text) => Some(json!({ "!": among(&lower(&value), wanted) })),
            ("in", _) => Some(json!({ "in": [value, wanted] })),
            ("not_in", _) => Some(json!({ "!": { "in": [value, wanted] } })),
            ("any_of", _) => Some(json!({ "some": [value, { "in": [{ "var": "" }, wanted] }] })),
            ("none_of", _) => Some(json!({ "none": [value, { "in": [{ "var": "" }, wanted] }] })),
            ("is", _) => Some(json!({ "===": [value, wanted] })),
            ("min", _) => Some(json!({ ">=": [value, wanted] })),
            ("max", _) => Some(json!({ "<=": [value, wanted] })),
            _ => None,
        });
    }
    let missing = json!({ "!": given(&value) });
    match condition.get("or_missing") {
        Some(Value::Bool(true)) => json!({ "or": [missing, { "and": tests }] }),
        _ => json!({ "if": [missing, false, { "and": tests }] }),
    }
}

/// The logic of what each subject says of a body, in their order.
pub fn subjects() -> Value {
    SUBJECTS.iter().map(|(path, _)| value(path)).collect()
}

/// What the subjects say, by their names.
pub fn named(said: Vec<Value>) -> Value {
    SUBJECTS.iter().map(|(path, _)| name(path)).zip(said).collect()
}

/// A subject's path as one name.
fn name(path: &str) -> String {
    path.replace('.', "_")
}

/// Whether there is a value that says something.
fn given(value: &Value) -> Value {
    json!({ "and": [{ "!==": [value, null] }, { "!==": [value, ""] }, { "!==": [value, []] }] })
}

fn among(value: &Value, wanted: &Value) -> Value {
    let wanted: Vec<Value> = wanted.as_array().expect("a list").iter().map(lower).collect();
    json!({ "or": wanted.iter().map(|wanted| json!({ "===": [value, wanted] })).collect::<Vec<_>>() })
}

fn lower(text: &Value) -> Value {
    json!({ "lower": [text] })
}

fn var(path: &str) -> Value {
    json!({ "var": path })
}

/// What a subject says of the body; null when it says nothing.
fn value(path: &str) -> Value {
    let (rating, score) =
        (var("creditInformation.providedCreditRating"), var("creditInformation.providedNumericCreditScore"));
    match path {
        "creditInformation.providedCreditRating" => json!({ "if": [
            given(&rating), rating,
            { "!": given(&score) }, null,
            { ">=": [score, 720] }, "excellent",
            { ">=": [score, 660] }, "good",
            { ">=": [score, 620] }, "fair",
            "poor",
        ] }),
        "creditScore" | "creditInformation.providedNumericCreditScore" => json!({ "if": [
            given(&score), score,
            { "===": [rating, "excellent"] }, 720,
            { "===": [rating, "good"] }, 660,
            { "===": [rating, "fair"] }, 620,
            { "===": [rating, "poor"] }, 300,
            null,
        ] }),
        // How many there are.
        "refinanceLoans" => {
            let loans = var(path);
            let count = json!({ "reduce": [loans, { "+": [var("accumulator"), 1] }, 0] });
            only_if(&given(&loans), &count)
        }
        "age" => age(),
        "debtToIncome" => debt_to_income(),
        "loanToValue" => {
            let (value, amount) = (dollars("propertyValue"), mortgage_loan_amount());
            let share = json!({ "*": [{ "/": [amount, value] }, 100] });
            only_if(&json!({ "and": [given(&value), given(&amount)] }), &share)
        }
        "mortgageLoanAmount" => mortgage_loan_amount(),
        "combinedLoanToValue" => {
            let (value, loan) = (dollars("propertyValue"), some_loan());
            let balance = var("mortgageInformation.mortgageBalance");
            let owed = json!({ "+": [{ "if": [given(&balance), balance, 0] }, loan] });
            let share = json!({ "*": [{ "/": [owed, value] }, 100] });
            only_if(&json!({ "and": [given(&value), given(&loan)] }), &share)
        }
        "loanToIncome" => of_income(&some_loan()),
        "mortgageToIncome" => of_income(&mortgage_loan_amount()),
        "paymentToIncome" => {
            let housing = var("financialInformation.monthlyHousingPayment");
            of_income(&only_if(&given(&housing), &json!({ "*": [housing, 12] })))
        }
        path => var(path),
    }
}

fn only_if(condition: &Value, value: &Value) -> Value {
    json!({ "if": [condition, value, null] })
}

/// Years between the day of birth and today.
fn age() -> Value {
    let (born, (year, day)) = (var("personalInformation.dateOfBirth"), TODAY.split_once('-').expect("a day"));
    let year: i32 = year.parse().expect("a year");
    let years = json!({ "-": [year, { "+": [{ "substr": [born, 0, 4] }] }] });
    let had_birthday = json!({ "<=": [{ "substr": [born, 5] }, day] });
    only_if(&given(&born), &json!({ "-": [years, { "if": [had_birthday, 0, 1] }] }))
}

/// A loan that is not nothing.
fn some_loan() -> Value {
    let amount = var("loanInformation.loanAmount");
    only_if(&json!({ "if": [given(&amount), { ">": [amount, 0] }, false] }), &amount)
}

/// Percent of the annual income.
fn of_income(amount: &Value) -> Value {
    let income = var("financialInformation.annualIncome");
    let earns = json!({ "if": [given(&income), { ">": [income, 0] }, false] });
    only_if(&json!({ "and": [earns, given(amount)] }), &json!({ "*": [{ "/": [amount, income] }, 100] }))
}

/// Percent of the monthly income that debt and housing take.
fn debt_to_income() -> Value {
    let of = |name: &str| var(&format!("financialInformation.{name}"));
    let (income, debt, housing) = (of("annualIncome"), of("monthlyDebt"), of("monthlyHousingPayment"));
    let housing = json!({ "if": [given(&housing), housing, 0] });
    let share = json!({ "*": [{ "/": [{ "+": [debt, housing] }, { "/": [income, 12] }] }, 100] });
    let earns = json!({ "if": [given(&income), { ">": [income, 0] }, false] });
    only_if(&json!({ "and": [earns, given(&debt)] }), &share)
}

/// What is asked for, or is refinanced with the cash taken out, or the value less the down payment.
fn mortgage_loan_amount() -> Value {
    let asked = dollars("mortgageAmount");
    let owed = json!({ "or": [dollars("refinanceAmount"), dollars("mortgageBalance")] });
    let cash_out = json!({ "or": [dollars("cashOutAmount"), 0] });
    let refinance = only_if(&owed, &json!({ "+": [owed, cash_out] }));
    let (worth, down) = (dollars("propertyValue"), var("mortgageInformation.downPaymentAmount"));
    let borrowed = json!({ "-": [worth, down] });
    let borrows = json!({ "if": [{ "and": [worth, given(&down)] }, { ">": [borrowed, 0] }, false] });
    let purchase = only_if(&borrows, &borrowed);
    let buys = json!({ "===": [var("mortgageInformation.mortgageType"), "purchase"] });
    json!({ "if": [buys, { "or": [asked, purchase] }, { "or": [asked, refinance, purchase] }] })
}

/// An amount that is not nothing.
fn dollars(name: &str) -> Value {
    let amount = var(&format!("mortgageInformation.{name}"));
    let is_some = json!({ "if": [given(&amount), { ">": [amount, 0] }, false] });
    only_if(&is_some, &amount)
}
