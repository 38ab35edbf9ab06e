//! Behaviour of each partner: as the command line sets it, or as its file `<cases>/<key>/sandbox.toml` does.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::Deserialize;

use super::chance::{Chance, Latency, Rates};
use offerd_base::declaration::{self, Source};

pub const FILE: &str = "sandbox.toml";

/// The behaviour of all partners.
#[derive(Debug)]
pub struct Behaviours {
    cases: PathBuf,
    usual: Behaviour,
    seed: u64,
    /// Behaviours from partners' own files, with the files' modification times.
    own: Mutex<HashMap<String, (SystemTime, Behaviour)>>,
}

/// The behaviour of one partner.
#[derive(Debug, Clone)]
pub struct Behaviour {
    /// Draws latency and failures.
    pub chance: Arc<Chance>,
    /// Signing secrets, by name.
    pub secrets: Arc<BTreeMap<String, String>>,
}

const LATENCY: &str = "200ms..1500ms";

/// The content of `sandbox.toml`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeclaredBehaviour {
    latency: Option<String>,
    errors: Option<f64>,
    garbage: Option<f64>,
    drip: Option<f64>,
    reset: Option<f64>,
    /// Values of `secret.<name>` for signing the partner's callbacks. They are used by the sandbox only.
    pub secrets: BTreeMap<String, String>,
}

/// Reads the file in a partner's folder; the default if it does not exist. The error is every fault.
pub fn read(folder: &Path) -> Result<DeclaredBehaviour, String> {
    let path = folder.join(FILE);
    if !path.exists() {
        return Ok(DeclaredBehaviour::default());
    }
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let source = Source::parse(&path, &text).map_err(|fault| fault.to_string())?;
    let reading = declaration::read::<DeclaredBehaviour>(&source);
    let mut faults = reading.faults;
    let declared = reading.value.unwrap_or_default();
    faults.extend(declared.latency().err().map(|fault| source.fault("latency", fault)));
    if !declared.rates().are_possible() {
        faults
            .push(source.fault("errors", "and the other shares must be from 0 to 1, and at most 1 together"));
    }
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    if told.is_empty() { Ok(declared) } else { Err(told.join("; ")) }
}

impl DeclaredBehaviour {
    fn latency(&self) -> Result<Latency, String> {
        self.latency.as_deref().unwrap_or(LATENCY).parse()
    }

    fn rates(&self) -> Rates {
        let [errors, garbage, drip, reset] =
            [self.errors, self.garbage, self.drip, self.reset].map(Option::unwrap_or_default);
        Rates { errors, garbage, drip, reset }
    }

    fn is_of_its_own(&self) -> bool {
        self.latency.is_some()
            || [self.errors, self.garbage, self.drip, self.reset].iter().any(Option::is_some)
    }
}

impl Behaviours {
    /// Behaviours for the partners in a directory of cases: `usual` for those without a file of their own.
    pub fn of(cases: &Path, seed: u64, usual: Chance) -> Self {
        let usual = Behaviour { chance: Arc::new(usual), secrets: Arc::default() };
        Self { cases: cases.to_owned(), usual, seed, own: Mutex::default() }
    }

    /// The current behaviour of a partner, with the fault of its file, which then changes nothing.
    pub fn now(&self, key: &str) -> (Behaviour, Option<String>) {
        let folder = self.cases.join(key);
        let Ok(written) = fs::metadata(folder.join(FILE)).and_then(|metadata| metadata.modified()) else {
            return (self.usual.clone(), None);
        };
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let known = own.get(key);
        if let Some((_, behaviour)) = known.filter(|(known, _)| *known == written) {
            return (behaviour.clone(), None);
        }
        match self.declared(&folder) {
            Ok(behaviour) => {
                own.insert(key.to_owned(), (written, behaviour.clone()));
                (behaviour, None)
            }
            Err(fault) => {
                let before = known.map_or(&self.usual, |(_, behaviour)| behaviour);
                (before.clone(), Some(format!("{fault}; the previous behaviour stays in force")))
            }
        }
    }

    fn declared(&self, folder: &Path) -> Result<Behaviour, String> {
        let declared = read(folder)?;
        let chance = match declared.is_of_its_own() {
            true => Arc::new(Chance::new(self.seed, declared.latency()?, declared.rates())),
            false => Arc::clone(&self.usual.chance),
        };
        Ok(Behaviour { chance, secrets: Arc::new(declared.secrets) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::chance::Fate;
    use super::*;

    #[test]
    fn a_partner_behaves_as_its_own_file_says_from_when_it_is_there() {
        let cases = tempfile::tempdir().unwrap();
        let none = Rates { errors: 0.0, garbage: 0.0, drip: 0.0, reset: 0.0 };
        let usual = Chance::new(1, "0ms".parse().unwrap(), none);
        let behaviours = Behaviours::of(cases.path(), 1, usual);
        let folder = cases.path().join("lender");
        fs::create_dir(&folder).unwrap();
        let drawn = || behaviours.now("lender").0.chance.draw();
        assert_eq!(drawn(), (Fate::Answered, Duration::ZERO));
        let write = |text: &str, second: u64| {
            let path = folder.join(FILE);
            fs::write(&path, text).unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
        };
        write("latency = \"7ms\"\nerrors = 1.0\n", 1);
        assert_eq!(drawn(), (Fate::Error, Duration::from_millis(7)));
        write("errors = 3.0\n", 2);
        let (behaviour, fault) = behaviours.now("lender");
        assert_eq!(behaviour.chance.draw().0, Fate::Error);
        assert!(fault.is_some_and(|fault| fault.contains("at most 1 together")));
        assert_eq!(behaviours.now("other").0.chance.draw(), (Fate::Answered, Duration::ZERO));
    }
}
