//! What was told of persons, and the tokens it was told with: looked for where none of it may be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use memchr::memmem;
use offerd::model::Attribute;
use serde_json::Value;

/// Shortest value that is looked for; a shorter one may stand anywhere by chance.
const SHORTEST: usize = 6;

/// The names of attributes whose values identify a person.
static PERSONAL: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let personal = Attribute::all().iter().filter(|attribute| attribute.personal);
    let names = personal.filter_map(|attribute| attribute.path.rsplit('.').next());
    // Of sections that a lead has several of.
    names.chain(["accountNumber", "ipAddress"]).collect()
});

/// Everything that a daemon was told and must not tell.
#[derive(Debug, Default)]
pub struct Canaries(Mutex<BTreeSet<Vec<u8>>>);

impl Canaries {
    /// Notes what a request says of persons.
    pub fn note(&self, token: &str, body: &[u8]) {
        let mut found = self.0.lock().unwrap();
        if token.len() > 30 {
            found.insert(token.as_bytes().to_vec());
        }
        if let Ok(body) = serde_json::from_slice::<Value>(body) {
            walk(None, &body, &mut found);
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// None of it stands in these files, or in the files of these directories.
    pub fn assert_in_none_of(&self, places: &[PathBuf]) {
        let canaries = self.0.lock().unwrap();
        for file in places.iter().flat_map(|place| files(place)) {
            let bytes = fs::read(&file).unwrap_or_default();
            assert_none_in(&canaries, &bytes, &file.display().to_string());
        }
    }

    /// None of it stands in these bytes.
    pub fn assert_not_in(&self, bytes: &[u8], place: &str) {
        assert_none_in(&self.0.lock().unwrap(), bytes, place);
    }
}

fn assert_none_in(canaries: &BTreeSet<Vec<u8>>, bytes: &[u8], place: &str) {
    if let Some(canary) = canaries.iter().find(|canary| holds(bytes, canary)) {
        panic!("{place} tells `{}`", String::from_utf8_lossy(canary));
    }
}

/// Whether a text stands in bytes.
pub fn holds(bytes: &[u8], text: &[u8]) -> bool {
    memmem::find(bytes, text).is_some()
}

fn walk(name: Option<&str>, value: &Value, found: &mut BTreeSet<Vec<u8>>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| walk(Some(name), value, found)),
        Value::Array(values) => values.iter().for_each(|value| walk(name, value, found)),
        Value::String(text) if name.is_some_and(|name| PERSONAL.contains(name)) => {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            // The ends may be cut off on the way in.
            let forms = [text.trim().to_owned(), digits];
            found.extend(forms.into_iter().filter(|form| form.len() >= SHORTEST).map(String::into_bytes));
        }
        _ => {}
    }
}

/// The files of a store or a log. The run file holds a token by design: it is how commands find a daemon.
fn files(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place) else { return vec![place.to_owned()] };
    let paths = entries.map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.file_name().is_some_and(|name| name != "daemon.json"));
    paths.flat_map(|path| files(&path)).collect()
}
