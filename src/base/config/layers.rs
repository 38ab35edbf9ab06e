//! Merges the layers of the settings, and records the source of each key.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use config::{Config, Environment, File, FileFormat};

use crate::declaration::{Fault, Source, parent};

/// `config/default.toml`, built in.
pub const DEFAULTS: &str = include_str!("../../../config/default.toml");

const DEFAULTS_FILE: &str = "config/default.toml";

const PREFIX: &str = "OFFERD__";

/// Prefix of other variables, and of settings with one underscore.
const OTHERS: &str = "OFFERD_";

/// The variables that are no settings.
const KNOWN: [&str; 3] = ["OFFERD_CONFIG", "OFFERD_MASTER_KEY", "OFFERD_TOKEN"];

/// Most letters that a misspelt name of a variable has more, fewer or other than the right one.
const MISSPELT: usize = 2;

pub(super) struct Layers {
    pub(super) merged: toml::Table,
    pub(super) sources: KeySources,
    /// Variables that name no setting; they have no effect.
    pub(super) misnamed: Vec<Fault>,
}

#[derive(Clone, Default)]
pub(super) struct KeySources {
    pub(super) defaults: Source,
    file: Option<Source>,
    variables: HashMap<String, String>,
    /// Keys whose default does not fit beside another key, which is to blame.
    pub(super) blamed: HashMap<String, String>,
    /// Keys that variables set to a whole number of more digits than any setting takes.
    too_long: HashSet<String>,
}

/// Prints nothing: only the settings may show values.
impl fmt::Debug for KeySources {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeySources").finish_non_exhaustive()
    }
}

impl Layers {
    pub(super) fn merge(
        file: Option<(&Path, &str)>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Vec<Fault>> {
        let defaults = Source::parse(Path::new(DEFAULTS_FILE), DEFAULTS).map_err(|fault| vec![fault])?;
        let source =
            file.map(|(path, text)| Source::parse(path, text)).transpose().map_err(|fault| vec![fault])?;
        let mut ours: HashMap<String, String> =
            environment.into_iter().filter(|(name, _)| is_ours(name)).collect();
        let (mut variables, mut twice) = (HashMap::new(), Vec::new());
        let mut names: Vec<&String> = ours.keys().collect();
        names.sort();
        for name in names {
            let Some(key) = key_of(name) else { continue };
            if let Some(other) = variables.insert(key.clone(), name.clone()) {
                let message = format!("is set twice: by `{other}` and `{name}`; keep `{}`", variable(&key));
                twice.push(Fault::new(Some(PathBuf::from(name)), &key, message));
            }
        }
        let too_long = |(name, text): (&String, &String)| Some(key_of(name)?).filter(|_| is_too_long(text));
        let too_long = ours.iter().filter_map(too_long).collect();
        let mut sources = KeySources { defaults, file: source, variables, blamed: HashMap::new(), too_long };
        let mut misnamed = sources.misnamed(ours.keys());
        let is_misnamed =
            |name: &str| misnamed.iter().any(|fault| fault.file.as_deref() == Some(Path::new(name)));
        ours.retain(|name, _| name.starts_with(PREFIX) && !is_misnamed(name));
        sources.variables.retain(|_, name| ours.contains_key(name));
        misnamed.append(&mut twice);

        let mut builder = Config::builder().add_source(File::from_str(DEFAULTS, FileFormat::Toml));
        if let Some((_, text)) = file {
            builder = builder.add_source(File::from_str(text, FileFormat::Toml));
        }
        let environment = Environment::with_prefix("OFFERD").prefix_separator("__").separator("__");
        builder = builder.add_source(environment.source(Some(ours)));
        let merged = builder
            .build()
            .and_then(Config::try_deserialize::<toml::Table>)
            .map_err(|error| vec![Fault::new(None, "", format!("the settings do not merge: {error}"))])?;
        Ok(Self { merged, sources, misnamed })
    }

    /// Converts variables to the types of their settings. A refused text becomes the number or boolean it
    /// spells, unless the setting wants a text. `refused` returns the refused keys of a table.
    pub(super) fn typed(mut self, refused: impl Fn(&toml::Table) -> Vec<String>) -> Self {
        let mut figures: HashMap<String, (toml::Value, toml::Value)> = HashMap::new();
        for key in self.sources.variables.keys() {
            if let Some(text) = value_at(&mut self.merged, key).cloned()
                && let Some(figure) = text.as_str().and_then(figure)
            {
                figures.insert(key.clone(), (text, figure));
            }
        }
        if figures.is_empty() {
            return self;
        }
        let mut defaults = self.sources.defaults.table().clone();
        for key in refused(&self.merged) {
            self.put(&key, figures.get(&key).map(|(_, figure)| figure));
        }
        for key in refused(&self.merged) {
            let is_figure =
                |default: &mut toml::Value| default.is_integer() || default.is_float() || default.is_bool();
            let wants_text = value_at(&mut defaults, &key).is_none_or(|default| !is_figure(default));
            self.put(&key, figures.get(&key).map(|(text, _)| text).filter(|_| wants_text));
        }
        self
    }

    fn put(&mut self, key: &str, value: Option<&toml::Value>) {
        if let (Some(place), Some(value)) = (value_at(&mut self.merged, key), value) {
            *place = value.clone();
        }
    }
}

fn is_too_long(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.bytes().all(|digit| digit.is_ascii_digit()) && !digits.is_empty() && text.parse::<i64>().is_err()
}

fn figure(text: &str) -> Option<toml::Value> {
    let truth = || text.to_ascii_lowercase().parse().map(toml::Value::Boolean);
    let number = || text.parse().ok().filter(|number: &f64| number.is_finite()).map(toml::Value::Float);
    text.parse().map(toml::Value::Integer).or_else(|_| truth()).ok().or_else(number)
}

fn value_at<'t>(table: &'t mut toml::Table, key: &str) -> Option<&'t mut toml::Value> {
    match key.split_once('.') {
        Some((first, rest)) => value_at(table.get_mut(first)?.as_table_mut()?, rest),
        None => table.get_mut(key),
    }
}

fn key_of(name: &str) -> Option<String> {
    Some(name.strip_prefix(PREFIX)?.to_lowercase().replace("__", "."))
}

fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase().replace('.', "__"))
}

fn with_single_underscores(name: &str) -> String {
    name.to_uppercase().split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

/// Whether a variable has one of our prefixes, in capitals or not.
fn is_ours(name: &str) -> bool {
    name.get(..OTHERS.len()).is_some_and(|start| start.eq_ignore_ascii_case(OTHERS))
}

/// The known variable, or those of settings, that a variable beyond [`PREFIX`] is a misspelling of.
fn meant_by(name: &str, defaults: &Source) -> Vec<String> {
    let bare = |name: &str| name.to_uppercase().replace('_', "");
    let (upper, short) = (name.to_uppercase(), bare(name));
    let is_near = |known: &&&str| {
        let rest = short.strip_prefix(&bare(known));
        rest == Some("FILE") || strsim::levenshtein(&short, &bare(known)) <= MISSPELT
    };
    let last = upper.strip_prefix(OTHERS).unwrap_or_default().to_lowercase();
    let keys = defaults.keys().filter(|key| key.rsplit_once('.').is_some_and(|(_, rest)| rest == last));
    let keys: BTreeSet<String> = keys.map(variable).collect();
    match KNOWN.contains(&name) || !keys.is_empty() {
        true => keys.into_iter().collect(),
        false => KNOWN.iter().find(is_near).map(|known| (*known).to_owned()).into_iter().collect(),
    }
}

/// The variables with one of our prefixes. Other variables may have any name and value.
pub(super) fn environment(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<(String, String)>, Vec<Fault>> {
    let ours = variables.filter(|(name, _)| {
        let is_other = name.to_str().is_some_and(is_ours);
        is_other || name.to_string_lossy().starts_with(PREFIX)
    });
    let read = |(name, value): (OsString, OsString)| match (name.to_str(), value.into_string()) {
        (Some(name), _) if !name.starts_with(PREFIX) => Ok((name.to_owned(), String::new())),
        (Some(name), Ok(value)) => Ok((name.to_owned(), value)),
        _ => {
            let message = "the name and the value of this variable must be UTF-8 text, got other bytes";
            Err(vec![Fault::new(Some(PathBuf::from(&name)), "", message)])
        }
    };
    ours.map(read).collect()
}

impl KeySources {
    /// The variables that name no setting, each with the right name. A name with one underscore is a fault
    /// only if it otherwise matches a setting: other programs have names of their own.
    fn misnamed<'n>(&self, names: impl Iterator<Item = &'n String>) -> Vec<Fault> {
        let keys = self.defaults.keys().filter(|key| key.contains('.'));
        let right: HashMap<String, &str> =
            keys.map(|key| (with_single_underscores(&variable(key)), key)).collect();
        let fault = |name: &String| {
            let key = key_of(name).unwrap_or_default();
            let meant = right.get(&with_single_underscores(name)).filter(|_| !self.defaults.has(&key));
            let message = if let Some(meant) = meant {
                format!(
                    "has no effect: set `{meant}` with `{}`, in capitals and with two underscores before \
                        each part",
                    variable(meant)
                )
            } else if !name.starts_with(PREFIX) {
                let meant = meant_by(name, &self.defaults);
                if meant.is_empty() && !name.to_uppercase().starts_with(PREFIX) {
                    return None;
                }
                let meant = if meant.is_empty() { vec![name.to_uppercase()] } else { meant };
                format!("has no effect: did you mean `{}`?", meant.join("` or `"))
            } else if key.split('.').any(str::is_empty) {
                format!(
                    "matches no setting: wanted `{PREFIX}SECTION__KEY`, such as `{}`",
                    variable("api.listen")
                )
            } else {
                let value =
                    std::iter::successors(parent(&key), |at| parent(at)).find(|at| self.is_value(at))?;
                format!(
                    "matches no setting: `{value}` has one value and no keys; set it with `{}`",
                    variable(value)
                )
            };
            Some(Fault::new(Some(PathBuf::from(name)), "", message))
        };
        names.filter_map(fault).collect()
    }

    fn is_value(&self, key: &str) -> bool {
        let tables = [Some(&self.defaults), self.file.as_ref()].into_iter().flatten().map(Source::table);
        let mut in_tables =
            tables.filter_map(|table| value_at(&mut table.clone(), key).map(|value| !value.is_table()));
        in_tables.next().unwrap_or_else(|| self.variables.contains_key(key))
    }

    /// A fault at a key, at the place where it or the key to blame was last set, or else where its parent is;
    /// without a place for a default, which is built in.
    pub(super) fn fault(&self, key: &str, message: String) -> Fault {
        let message = match self.too_long.contains(key) {
            true => format!("must be a whole number of at most {} digits, got more", i64::MAX.ilog10()),
            false => message,
        };
        if let Some(other) = self.blamed.get(key) {
            return Fault { key: key.to_owned(), ..self.fault(other, message) };
        }
        for at in std::iter::successors(Some(key), |at| parent(at)) {
            if let Some(variable) = self.variable_of(at) {
                return Fault::new(Some(PathBuf::from(variable)), key, message);
            }
            // A key missing from a section has a default; one missing from a table inside a section has none.
            let is_section = at != key && !at.contains('.');
            let has_default = is_section && self.defaults.has(key);
            if let Some(file) = self.file.as_ref().filter(|file| file.has(at) && !has_default) {
                return file.fault(key, message);
            }
        }
        Fault::new(None, key, message)
    }

    /// The variable that sets a key, or one below a key that no other layer has.
    fn variable_of(&self, key: &str) -> Option<&String> {
        let stands = self.defaults.has(key) || self.file.as_ref().is_some_and(|file| file.has(key));
        let below = |set: &String| {
            set.strip_prefix(key).is_some_and(|rest| rest.is_empty() || (rest.starts_with('.') && !stands))
        };
        self.variables.iter().filter(|(set, _)| below(set)).map(|(_, name)| name).min()
    }

    pub(super) fn source_of(&self, key: &str) -> String {
        let fault = self.fault(key, String::new());
        match (self.variables.get(key), &self.file, fault.line) {
            (Some(variable), _, _) => variable.clone(),
            (None, Some(file), Some(line)) if file.has(key) => format!("{}:{line}", file.file().display()),
            _ => "default".to_owned(),
        }
    }
}
