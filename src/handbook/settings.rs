//! The list of settings, from `config/default.toml`, where a comment describes each key.

use std::fmt::Write;

use offerd_base::config::DEFAULTS;

#[derive(Debug, PartialEq, Eq)]
struct Setting<'t> {
    section: &'t str,
    key: &'t str,
    default: &'t str,
    about: String,
}

/// All settings with defaults and descriptions, by section, as definition lists.
pub fn markdown() -> String {
    let mut text = String::new();
    let mut section = "";
    for setting in settings() {
        // Writing to a string never fails.
        if setting.section != section {
            section = setting.section;
            let _ = write!(text, "## `[{section}]`\n\n");
        }
        let Setting { key, default, about, .. } = setting;
        let _ = write!(text, "`{section}.{key}` = `{default}`\n: {about}\n\n");
    }
    text
}

/// The settings in file order. A blank line ends the comment about the file itself.
fn settings() -> Vec<Setting<'static>> {
    let mut settings = Vec::new();
    let (mut section, mut about) = ("", String::new());
    for line in DEFAULTS.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix('#') {
            about = format!("{about} {}", comment.trim()).trim().to_owned();
        } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
        } else if let Some((key, default)) = line.split_once(" = ") {
            settings.push(Setting { section, key, default, about: std::mem::take(&mut about) });
        } else {
            about.clear();
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_of_the_file_is_there_with_a_sentence() {
        /// The keys of a section and of its subsections.
        fn keys_of(section: &str, keys: &toml::Table) -> Vec<String> {
            let of_one = |(key, value): (&String, &toml::Value)| {
                let name = format!("{section}.{key}");
                match value.as_table().filter(|_| DEFAULTS.contains(&format!("\n[{name}]\n"))) {
                    Some(within) => keys_of(&name, within),
                    None => vec![name],
                }
            };
            keys.iter().flat_map(of_one).collect()
        }
        let file: toml::Table = DEFAULTS.parse().unwrap();
        let keys: Vec<String> =
            file.iter().flat_map(|(section, keys)| keys_of(section, keys.as_table().unwrap())).collect();
        let settings = settings();
        let mut named: Vec<String> =
            settings.iter().map(|one| format!("{}.{}", one.section, one.key)).collect();
        named.sort();
        let mut keys = keys;
        keys.sort();
        assert_eq!(named, keys);
        for Setting { key, about, .. } in &settings {
            assert!(about.len() > 20 && about.ends_with('.'), "{key}: {about}");
        }
    }
}
