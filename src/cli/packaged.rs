//! Where an offerd that came as a package has its settings, so that its commands need no `--config`.

use std::env;
use std::path::{Path, PathBuf};

/// Where packages put programs.
const PROGRAMS: &str = "/usr/bin";

/// Where their settings are.
const SETTINGS: &str = "/etc/offerd/offerd.toml";

/// The settings file of a packaged offerd, if this is one and there is such a file.
pub fn settings() -> Option<PathBuf> {
    settings_of(&env::current_exe().ok()?).filter(|file| file.exists())
}

fn settings_of(program: &Path) -> Option<PathBuf> {
    (program.parent() == Some(Path::new(PROGRAMS))).then(|| PathBuf::from(SETTINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_packaged_program_has_the_systems_settings() {
        assert_eq!(settings_of(Path::new("/usr/bin/offerd")), Some(PathBuf::from("/etc/offerd/offerd.toml")));
        assert_eq!(settings_of(Path::new("/home/me/offerd/target/debug/offerd")), None);
        assert_eq!(settings_of(Path::new("/usr/local/bin/offerd")), None);
    }
}
