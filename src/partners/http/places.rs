//! Where the mappings of a partner stand, so that one that fails at run time is found as fast as one that does at load.

use std::collections::BTreeMap;

use super::mapping_error::MappingError;

/// The lines of a partner file on which its mappings stand.
#[derive(Debug, Default)]
pub struct Places {
    file: String,
    lines: BTreeMap<String, usize>,
}

impl Places {
    /// No places of a file yet.
    pub fn of(file: String) -> Self {
        Self { file, lines: BTreeMap::new() }
    }

    /// Notes the line of a mapping.
    pub fn note(&mut self, key: &str, line: Option<usize>) {
        self.lines.extend(line.map(|line| (plain(key), line)));
    }

    /// The line of a mapping.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        self.lines.get(&plain(key)).copied()
    }

    /// A failure with its place: the mapping's key, the file and the line, the cause.
    pub fn locate(&self, error: &MappingError) -> String {
        let MappingError { key, cause, .. } = error;
        let file = &self.file;
        match self.line_of(key) {
            Some(line) => format!("{file}:{line}: `{key}` {cause}"),
            None => format!("{file}: `{key}` {cause}"),
        }
    }
}

/// A key as both sides write it: names of headers are in lower case when they are sent, and need no quotes.
fn plain(key: &str) -> String {
    key.replace('"', "").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_file_and_line_however_its_key_is_written() {
        let mut places = Places::of("far.toml".to_owned());
        places.note("headers.\"X-Key\"", Some(7));
        places.note("answer.offers", None);
        let located = |key: &str| places.locate(&MappingError::new(key, "is no list"));
        assert_eq!(located("headers.x-key"), "far.toml:7: `headers.x-key` is no list");
        assert_eq!(located("answer.offers"), "far.toml: `answer.offers` is no list");
    }
}
