//! The list of keys of partner files, from the source of their types, where a comment describes each key.

use std::fmt::Write;

const FILE: &str = include_str!("../partners/declared.rs");
const LIMITS: &str = include_str!("../partners/limits/declared.rs");
const HTTP: &str = include_str!("../partners/http/declared.rs");

/// Each type: its heading, its source and its name there.
const SHAPES: &[(&str, &str, &str)] = &[
    ("[partner]", FILE, "Identity"),
    ("[products.<type>]", FILE, "Product"),
    ("[[products.<type>.offers]]", FILE, "Offer"),
    ("bands", FILE, "Band"),
    ("payout", FILE, "DeclaredPayout"),
    ("incentive_details", FILE, "Incentive"),
    ("amount and other ranges", FILE, "Range"),
    ("conditions", FILE, "DeclaredCondition"),
    ("[products.<type>.limits]", LIMITS, "Limits"),
    ("schedule", LIMITS, "Window"),
    ("adaptive_timeout", FILE, "AdaptiveTimeout"),
    ("simulate", FILE, "Simulate"),
    ("[products.<type>.http]", HTTP, "Http"),
    ("[[products.<type>.http.steps]]", HTTP, "Step"),
    ("post", HTTP, "Post"),
    ("auth", HTTP, "Auth"),
    ("auth.basic", HTTP, "Basic"),
    ("auth.oauth2", HTTP, "OAuth2"),
    ("answer", HTTP, "Answer"),
    ("answer.own", FILE, "Own"),
    ("wire", HTTP, "ConnectionSettings"),
];

/// What is written for a value, by its type in the source; other types are described by their keys.
const KINDS: &[(&str, &str)] = &[
    ("String", "text"),
    ("bool", "true or false"),
    ("f64", "number"),
    ("i32", "whole number"),
    ("i64", "whole number"),
    ("u32", "whole number"),
    ("usize", "whole number"),
    ("uuid::Uuid", "uuid"),
    ("Duration", "time"),
    ("NaiveDate", "date"),
    ("Vec<String>", "list of texts"),
    ("Vec<RequiredConsent>", "list of `fcra`, `tcpa`, `sms`"),
    ("Vec<i32>", "list of whole numbers"),
    ("Vec<u8>", "path"),
];

/// All keys with their kinds and descriptions, by type, as definition lists.
pub fn markdown() -> String {
    let mut text = String::from("## Every key\n\n");
    for (heading, source, name) in SHAPES {
        // Writing to a string never fails.
        let _ = write!(text, "### `{heading}`\n\n");
        for (key, about) in keys(source, name) {
            let _ = write!(text, "`{key}`\n: {about}\n\n");
        }
    }
    text
}

/// The public fields of a type with their comments, in order.
fn keys<'s>(source: &'s str, name: &str) -> Vec<(&'s str, String)> {
    let mut keys = Vec::new();
    let mut about = String::new();
    let lines = source.lines().map(str::trim).filter(|line| !line.starts_with(['#', '.']));
    let inside = lines.skip_while(|line| *line != format!("pub struct {name} {{")).skip(1);
    for line in inside.take_while(|line| *line != "}") {
        if let Some(comment) = line.strip_prefix("///") {
            about = format!("{about} {}", comment.trim()).trim().to_owned();
        } else if let Some((key, declared)) = line.split_once(':') {
            let about = std::mem::take(&mut about).replace("[`", "`").replace("`]", "`");
            let about = format!("{}{about}", kind(declared.trim()));
            keys.push((key.trim_start_matches("pub ").trim_start_matches("r#"), about));
        }
    }
    keys
}

/// The kind of a declared field, and whether it is required; empty if there is nothing to say.
fn kind(declared: &str) -> String {
    let (of, mark) = declared.split_once(" =").unwrap_or((declared.trim_end_matches(','), ""));
    let of_some = of.strip_prefix("Option<").and_then(|of| of.strip_suffix('>'));
    // A flag is false when absent.
    let is_required = of_some.is_none() && of != "bool" && !mark.contains("> ");
    let of = if mark.contains("validity") { "Duration" } else { of_some.unwrap_or(of) };
    let kind = KINDS.iter().find(|(name, _)| *name == of).map(|(_, kind)| *kind);
    let said: Vec<&str> = kind.into_iter().chain(is_required.then_some("required")).collect();
    if said.is_empty() { String::new() } else { format!("({}) ", said.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_its_kind_and_whether_it_is_required() {
        assert_eq!(kind("Duration = wait,"), "(time, required) ");
        assert_eq!(kind("String,"), "(text, required) ");
        assert_eq!(kind("Vec<String> => optional,"), "(list of texts) ");
        assert_eq!(kind("i32 = count(-1000, 1000) => or(0),"), "(whole number) ");
        assert_eq!(kind("Option<i64> = if_any(validity) => optional,"), "(time) ");
        assert_eq!(kind("PayoutStep,"), "(required) ");
        assert_eq!(kind("Option<AprType>,"), "");
        assert_eq!(kind("bool,"), "(true or false) ");
    }

    #[test]
    fn each_shape_of_the_sources_is_there_with_all_its_keys() {
        for source in [FILE, LIMITS, HTTP] {
            for line in source.lines().filter_map(|line| line.trim().strip_prefix("pub struct ")) {
                let name = line.trim_end_matches(" {");
                // The outermost type has its own headings, and conditions are keyed by attribute paths.
                if ["DeclaredPartner", "Eligibility"].contains(&name) {
                    continue;
                }
                assert!(SHAPES.iter().any(|(_, of, shape)| *of == source && *shape == name), "{name}");
            }
        }
        for (heading, source, name) in SHAPES {
            let keys = keys(source, name);
            assert!(!keys.is_empty(), "{heading}");
            assert!(
                keys.iter().all(|(_, about)| about.len() >= 8 && about.ends_with('.')),
                "{heading}: {keys:?}"
            );
        }
    }
}
