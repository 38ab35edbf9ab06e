//! The text of a form, and the file that it would become.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::super::prelude::*;
use super::kind::{Kind, Place};
use crate::settings_file;
use offerd_base::config::{SectionText, has_password, with_key};
use offerd_base::declaration::{Fault, FileEdit, KEY_CHARS, Source, is_key, text_of};

/// Keys that make the daemon send the content of a file or call private addresses. The console may use what
/// files already have there, and nothing else: it is no way into the machine.
const GUARDED: [&str; 4] = ["bearer", "password", "url_from", "allow_addresses"];

/// A text that may become an entry or a section of a file.
pub(super) struct Draft {
    pub(super) kind: Kind,
    /// The name of a file of a directory; `None` before it is chosen.
    pub(super) entry: Option<String>,
    /// The file; `None` if there is none to write.
    pub(super) file: Option<PathBuf>,
    /// The text of that file; `None` if it does not exist.
    pub(super) before: Option<String>,
    /// The text in the form.
    pub(super) text: String,
    /// What the files of this kind have at guarded keys.
    known: BTreeSet<(&'static str, String)>,
}

impl Draft {
    /// What the files have, changed as a button says.
    pub(super) fn begin(app: &AdminState, kind: Kind, entry: Option<&str>, change: &str) -> Result<Self> {
        let in_directory = entry.filter(|_| kind.is_directory());
        let draft = Self::given(app, kind, in_directory.unwrap_or_default(), String::new())?;
        let before = draft.before.as_deref().unwrap_or_default();
        let text = match (kind.place, entry, change) {
            (Place::Directory(_), None, _) => Ok(kind.example_for(app)),
            (Place::Directory(_), ..) if draft.before.is_none() => {
                return Err(Failure::unknown("There is no such file any longer."));
            }
            (Place::Directory(_), Some(_), "off" | "on") if kind.name == "postbacks" => {
                with_key(before, "paused", if change == "off" { "true" } else { "false" })
            }
            (Place::Directory(_), Some(_), "off") => {
                with_key(before, "ends", &Utc::now().format("%Y-%m-%dT%H:%M:%SZ").to_string())
            }
            (Place::Directory(_), ..) => Ok(before.to_owned()),
            (Place::Section { name, table, head, .. }, ..) => {
                SectionText::find(before, &[name]).and_then(|found| match (entry, change) {
                    (_, "new") => Ok(with_one_more(&found.shown(), table, head, &kind.example_for(app))),
                    (Some(entry), "off") => {
                        let shown = found.shown();
                        let entry = SectionText::find(&shown, &[name, table, entry])?;
                        Ok(entry.replaced("").trim_end().to_owned())
                    }
                    _ => Ok(found.shown()),
                })
            }
        };
        let text = text.map_err(|fault| Failure::bad_request(format!("{}: {fault}", draft.place())))?;
        if has_password(&text) {
            let message = format!("{} has an address with a password: change it in the file", draft.place());
            return Err(Failure::bad_request(message));
        }
        Ok(Self { text, ..draft })
    }

    /// A text for an entry, as a form has it.
    pub(super) fn given(app: &AdminState, kind: Kind, entry: &str, text: String) -> Result<Self> {
        let settings = app.settings();
        let entry = Some(entry.trim().to_owned()).filter(|entry| !entry.is_empty());
        let file = match (kind.place, &entry) {
            (Place::Section { .. }, _) => settings_file(&app.run_file),
            (Place::Directory(_), None) => None,
            (Place::Directory(path), Some(name)) => {
                let there = kind.files(&settings).into_iter().find(|(known, _)| known == name);
                let new = || is_key(name).then(|| path(&settings).join(format!("{name}.toml")));
                let file = there.map(|(_, file)| file).or_else(new);
                let wrong = || Failure::bad_request(format!("The name must be {KEY_CHARS}."));
                Some(
                    std::path::absolute(file.ok_or_else(wrong)?)
                        .map_err(our_fault("no working directory"))?,
                )
            }
        };
        let before = file.as_deref().map_or(Ok(None), read).map_err(Failure::bad_request)?;
        let texts = match kind.is_directory() {
            true => kind.files(&settings).iter().filter_map(|(_, file)| text_of(file).ok()).collect(),
            false => Vec::from_iter(before.clone()),
        };
        let tables = texts.iter().filter_map(|text| text.parse::<toml::Table>().ok());
        let known = tables.flat_map(|table| guarded(&table)).collect();
        Ok(Self { kind, entry, file, before, text, known })
    }

    /// The same, of a file that has been written.
    pub(super) fn written(self) -> Self {
        let before = self.file.as_deref().and_then(|file| read(file).ok().flatten());
        Self { before, ..self }
    }

    /// What proves that a form has been made from this file.
    pub(super) fn digest(&self) -> String {
        self.before.as_ref().map_or_else(|| "none".to_owned(), |text| const_hex::encode(Sha256::digest(text)))
    }

    /// The changed file, or the faults that the daemon would not find.
    pub(super) fn edit(&self) -> Result<FileEdit, Vec<String>> {
        let file = self.file.clone().ok_or_else(|| match self.kind.is_directory() {
            true => vec!["The file needs a name.".to_owned()],
            false => vec!["offerd has no settings file: start it with `--config FILE`.".to_owned()],
        })?;
        let only = |fault: Fault| vec![fault.to_string()];
        let source = Source::parse(Path::new("text"), &self.text).map_err(only)?;
        let before = self.before.as_deref().unwrap_or_default();
        let text = match self.kind.place {
            Place::Directory(_) => Some(self.text.clone()).filter(|text| !text.trim().is_empty()),
            Place::Section { name, .. } => {
                if let Some(other) = source.table().keys().find(|key| *key != name) {
                    return Err(vec![format!("`{other}` is not of `[{name}]`: only that is changed here.")]);
                }
                Some(SectionText::find(before, &[name]).map_err(only)?.replaced(&self.text))
            }
        };
        let strange: Vec<_> = guarded(source.table()).difference(&self.known).cloned().collect();
        match strange.is_empty() {
            true => Ok(FileEdit { file, text }),
            false => Err(strange.into_iter().map(unknown).collect()),
        }
    }

    fn place(&self) -> String {
        self.file.as_ref().map_or_else(|| "the file".to_owned(), |file| file.display().to_string())
    }
}

fn read(file: &Path) -> Result<Option<String>, String> {
    match text_of(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {error}", file.display())),
    }
}

/// A section with one more entry, of a name that is free. An empty table of entries makes room for it.
fn with_one_more(section: &str, table: &str, head: &str, example: &str) -> String {
    let is_empty = |line: &str| {
        line.split_once('=').is_some_and(|(key, value)| key.trim() == table && value.trim() == "{}")
    };
    let lines: String = section.split_inclusive('\n').filter(|line| !is_empty(line)).collect();
    let before = if lines.is_empty() { head } else { &lines };
    let between = if before.is_empty() { "" } else { "\n" };
    let entry = |name: &str| format!("{table}.{name}]");
    let name = example.split([']', '.']).nth(2).unwrap_or_default();
    let mut names = std::iter::once(name.to_owned()).chain((2_usize..).map(|nth| format!("{name}_{nth}")));
    let free = names.find(|name| !section.contains(&entry(name))).unwrap_or_default();
    [before, between, &example.replacen(&entry(name), &entry(&free), 1)].concat()
}

/// The guarded keys of a table and what they have, one text at a time.
fn guarded(table: &toml::Table) -> BTreeSet<(&'static str, String)> {
    table
        .iter()
        .flat_map(|(key, value)| match GUARDED.into_iter().find(|guarded| guarded == key) {
            Some(key) => texts(value).into_iter().map(|text| (key, text)).collect(),
            None => tables(value).into_iter().flat_map(guarded).collect::<BTreeSet<_>>(),
        })
        .collect()
}

fn tables(value: &toml::Value) -> Vec<&toml::Table> {
    match value {
        toml::Value::Table(table) => vec![table],
        toml::Value::Array(values) => values.iter().flat_map(tables).collect(),
        _ => Vec::new(),
    }
}

fn texts(value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::Array(values) => values.iter().flat_map(texts).collect(),
        toml::Value::Table(table) => table.iter().map(|(key, value)| format!("{key} {value}")).collect(),
        toml::Value::String(text) if text.is_empty() => Vec::new(),
        value => vec![value.to_string()],
    }
}

fn unknown((key, _): (&str, String)) -> String {
    format!(
        "`{key}` has what no file of this kind has yet: whoever may write the files adds it there once, since \
         offerd would send a file's content, or call a private address."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sends_a_file_or_opens_a_private_address_is_seen_wherever_it_is() {
        let of = |text: &str| {
            guarded(&text.parse().unwrap())
                .into_iter()
                .map(|(key, text)| format!("{key}: {text}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of(
                "[alerts.webhooks.a]\nbearer = { file = \"/x\" }\nallow_addresses = [\"10.0.0.7\", \"10.0.0.8\"]"
            ),
            ["allow_addresses: \"10.0.0.7\"", "allow_addresses: \"10.0.0.8\"", "bearer: file \"/x\"",]
        );
        assert_eq!(
            of("[[all]]\n[all.alerts]\nmail = { password = { credential = \"p\" } }"),
            ["password: credential \"p\""]
        );
        assert!(
            of("[alerts]\nmail = { password = {}, user = \"\" }\n[b]\nsecret = { file = \"/x\" }").is_empty()
        );
    }

    #[test]
    fn one_more_entry_takes_the_place_of_none() {
        let more = |section: &str| with_one_more(section, "named", "[ranking]\n", "[ranking.named.a]\n");
        assert_eq!(more(""), "[ranking]\n\n[ranking.named.a]\n");
        assert!(more("[ranking.named.a]\nleast = 0.1\n").ends_with("\n\n[ranking.named.a_2]\n"));
        assert_eq!(
            more("[ranking]\nnamed = {}\nleast = 0.1\n"),
            "[ranking]\nleast = 0.1\n\n[ranking.named.a]\n"
        );
    }
}
