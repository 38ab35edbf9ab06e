//! The settings: a file, and variables that go over it.

use std::collections::BTreeMap;
use std::path::Path;

use offerd::config::Settings;

/// The name of the file.
const FILE: &str = "offerd.toml";

/// Either settings that, written down as a file, are the same settings; or faults that each say what is wrong where. Behind
/// a zero the variables stand, one a line.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (file, variables) = text.split_once('\0').unwrap_or((text, ""));
    let variables = variables.lines().filter_map(|line| line.split_once('='));
    let variables: Vec<(String, String)> =
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    match Settings::from_layers(Some((Path::new(FILE), file)), variables.clone()) {
        Ok(settings) => is_what_it_describes(&settings),
        Err(faults) => {
            assert!(!faults.is_empty(), "what is refused has a fault");
            // The end of a file is behind its last line.
            let lines = file.lines().count() + 1;
            for fault in faults {
                assert!(
                    !fault.message.is_empty() && !fault.to_string().contains('\n'),
                    "a fault is a line: {fault}"
                );
                let name = fault.file.as_deref().and_then(Path::to_str);
                match name {
                    Some(FILE) => {
                        assert!(fault.line.is_none_or(|line| (1..=lines).contains(&line)), "{fault}")
                    }
                    Some("config/default.toml") | None => {}
                    Some(variable) => assert!(
                        variables.iter().any(|(known, _)| known == variable),
                        "{variable} is neither the file nor a variable"
                    ),
                }
            }
        }
    }
}

fn is_what_it_describes(settings: &Settings) {
    let mut sections: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, value, source) in settings.describe() {
        // Where it is not given it goes with any deadline.
        if key == "matching.second_look_reserve" && source == "default" {
            continue;
        }
        let (section, name) = key.split_once('.').expect("a key stands in a section");
        sections.entry(section).or_default().push(format!("{name} = {value}\n"));
    }
    let file: String =
        sections.into_iter().map(|(section, keys)| format!("[{section}]\n{}", keys.concat())).collect();
    let again = Settings::from_layers(Some((Path::new(FILE), &file)), []);
    let again = again.unwrap_or_else(|faults| panic!("settings that were taken are refused: {faults:?}"));
    let told = |settings: &Settings| -> Vec<(String, String)> {
        settings.describe().iter().map(|(key, value, _)| (key.clone(), value.clone())).collect()
    };
    assert_eq!(told(&again), told(settings));
}
