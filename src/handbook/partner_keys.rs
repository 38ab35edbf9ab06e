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
    ("wire", HTTP, "Wire"),
];

/// All keys with their descriptions, by type, as definition lists.
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
        } else if let Some((key, _)) = line.split_once(':') {
            let about = std::mem::take(&mut about).replace("[`", "`").replace("`]", "`");
            keys.push((key.trim_start_matches("pub ").trim_start_matches("r#"), about));
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

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
