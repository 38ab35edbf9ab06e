//! Locations of mappings in their file, so that run-time errors have file and line as load-time faults do.

use std::collections::BTreeMap;

use super::mapping_error::MappingError;

/// The lines of a partner file at which its mappings are.
#[derive(Debug, Default)]
pub struct MappingLines {
    pub(super) file: String,
    pub(super) lines: BTreeMap<String, usize>,
}

impl MappingLines {
    /// Records the line of a mapping.
    pub fn note(&mut self, key: &str, line: Option<usize>) {
        self.lines.extend(line.map(|line| (plain(key), line)));
    }

    /// The line of a mapping.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        self.lines.get(&plain(key)).copied()
    }

    /// Formats an error with its location: file, line, key and cause.
    pub fn locate(&self, error: &MappingError) -> String {
        let MappingError { key, cause, .. } = error;
        let line = self.line_of(key).map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line}: `{key}` {cause}", self.file)
    }
}

/// A normalised key: without quotes, and in lower case, as header names are sent.
fn plain(key: &str) -> String {
    key.replace('"', "").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_file_and_line_however_its_key_is_written() {
        let mut lines = MappingLines { file: "far.toml".to_owned(), ..MappingLines::default() };
        lines.note("headers.\"X-Key\"", Some(7));
        lines.note("answer.offers", None);
        let located = |key: &str| lines.locate(&MappingError::new(key, "is no list"));
        assert_eq!(located("headers.x-key"), "far.toml:7: `headers.x-key` is no list");
        assert_eq!(located("answer.offers"), "far.toml: `answer.offers` is no list");
    }
}
