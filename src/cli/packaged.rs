//! The settings file of a packaged offerd, whose commands need no `--config`.

use std::env;
use std::path::{Path, PathBuf};

const PROGRAMS: &str = "/usr/bin";

const SETTINGS: &str = "/etc/offerd/offerd.toml";

/// The settings file, if this is a packaged offerd and the file exists.
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
