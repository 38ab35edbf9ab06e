//! How each partner behaves: as the command line says, or as its own file `<cases>/<key>/sandbox.toml` does, which is read again when it
//! has changed.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::Deserialize;

use super::chance::{Chance, Latency, Rates};

/// The name of the file.
pub const FILE: &str = "sandbox.toml";

/// How partners behave.
#[derive(Debug)]
pub struct Behaviours {
    cases: PathBuf,
    usual: Arc<Chance>,
    seed: u64,
    own: Mutex<HashMap<String, Own>>,
}

/// What a partner's own file said, and when it was written.
#[derive(Debug, Clone)]
struct Own {
    written: SystemTime,
    chance: Arc<Chance>,
}

/// `sandbox.toml`
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Declared {
    latency: String,
    errors: f64,
    garbage: f64,
    drip: f64,
    reset: f64,
}

impl Default for Declared {
    fn default() -> Self {
        Self { latency: "200ms..1500ms".to_owned(), errors: 0.0, garbage: 0.0, drip: 0.0, reset: 0.0 }
    }
}

impl Behaviours {
    /// Of the partners whose cases stand in a directory: as `usual`, where they have no file of their own.
    pub fn of(cases: &Path, seed: u64, usual: Chance) -> Self {
        Self { cases: cases.to_owned(), usual: Arc::new(usual), seed, own: Mutex::default() }
    }

    /// How a partner behaves now. A file that cannot be read changes nothing, and is told.
    ///
    /// # Errors
    /// What is wrong with its file, beside how it behaves all the same.
    pub fn chance(&self, key: &str) -> (Arc<Chance>, Option<String>) {
        let path = self.cases.join(key).join(FILE);
        let Ok(written) = fs::metadata(&path).and_then(|metadata| metadata.modified()) else {
            return (Arc::clone(&self.usual), None);
        };
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let known = own.get(key).cloned();
        if let Some(Own { chance, .. }) = known.as_ref().filter(|known| known.written == written) {
            return (Arc::clone(chance), None);
        }
        match self.read(&path) {
            Ok(chance) => {
                own.insert(key.to_owned(), Own { written, chance: Arc::clone(&chance) });
                (chance, None)
            }
            Err(fault) => {
                let before = known.map_or_else(|| Arc::clone(&self.usual), |known| known.chance);
                (before, Some(format!("{}: {fault}; it behaves as before", path.display())))
            }
        }
    }

    fn read(&self, path: &Path) -> Result<Arc<Chance>, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let declared: Declared = toml::from_str(&text).map_err(|error| error.message().to_owned())?;
        let Declared { latency, errors, garbage, drip, reset } = declared;
        let latency: Latency = latency.parse().map_err(|fault| format!("`latency`: {fault}"))?;
        let rates = Rates { errors, garbage, drip, reset };
        if !rates.are_possible() {
            return Err("the shares must be from 0 to 1, and at most 1 together".to_owned());
        }
        Ok(Arc::new(Chance::new(self.seed, latency, rates)))
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
        let drawn = || behaviours.chance("lender").0.draw();
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
        let (chance, fault) = behaviours.chance("lender");
        assert_eq!(chance.draw().0, Fate::Error);
        assert!(fault.is_some_and(|fault| fault.contains("at most 1 together")));
        assert_eq!(behaviours.chance("other").0.draw(), (Fate::Answered, Duration::ZERO));
    }
}
