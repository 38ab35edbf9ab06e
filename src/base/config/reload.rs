//! Reloadable settings, and the changes that a reload makes.

use serde::{Deserialize, Serialize};

use super::settings::{DescribedSetting, Origin, Settings};
use crate::declaration::{DeclaredTable, Fault, Reload};

/// A changed setting, in TOML. Settings hold no secrets: those are in the environment or in other files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// The key, as `section.key`.
    pub key: String,
    /// The value that the daemon has been running with.
    pub before: String,
    /// The new value.
    pub after: String,
    /// The source: a file with its line, a variable, or the default.
    pub source: String,
}

/// The settings that changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingsDiff {
    /// In force from now on.
    pub changed: Vec<SettingChange>,
    /// In force after the next restart.
    pub waiting_for_restart: Vec<SettingChange>,
}

impl SettingsDiff {
    /// The differences in `after`; both list every key, in the same order.
    pub fn between(before: &[DescribedSetting], after: &[DescribedSetting]) -> Self {
        let changes = before.iter().zip(after).filter(|((_, old, _), (_, new, _))| old != new);
        let changes = changes.map(|((key, old, _), (_, new, source))| SettingChange {
            key: key.clone(),
            before: old.clone(),
            after: new.clone(),
            source: source.clone(),
        });
        let (changed, waiting_for_restart) = changes.partition(|change| is_reloadable(&change.key));
        Self { changed, waiting_for_restart }
    }
}

/// Whether a reload applies a key.
pub fn is_reloadable(key: &str) -> bool {
    let (section, key) = key.split_once('.').unwrap_or_default();
    let of_section = Settings::KEYS.iter().find(|(name, _)| *name == section);
    matches!(of_section, Some((_, Reload::Of(keys))) if keys.contains(&(key, Reload::Always)))
}

impl Settings {
    /// These settings with the reloadable changes of `later`, and all changes.
    ///
    /// # Errors
    /// If a changed reloadable setting does not fit one that stays in force until a restart.
    pub fn reloaded(&self, later: &Self) -> Result<(Self, SettingsDiff), Vec<Fault>> {
        let diff = SettingsDiff::between(&self.origin.described, &later.origin.described);
        let waits = |key: &str| diff.waiting_for_restart.iter().any(|change| change.key == key);
        let mut table = later.origin.table.clone();
        for (section, keys) in &mut table {
            for (key, value) in keys.as_table_mut().into_iter().flatten() {
                if waits(&format!("{section}.{key}")) {
                    value.clone_from(&self.origin.table[section][key]);
                }
            }
        }
        let rows = self.origin.described.iter().zip(&later.origin.described);
        let described = rows.map(|(old, new)| if waits(&old.0) { old } else { new }).cloned().collect();

        let origin = Origin { described, table, sources: later.origin.sources.clone() };
        match Self::read(origin, &toml::Table::new()) {
            (Some(settings), found) if found.is_empty() => Ok((settings, diff)),
            (_, found) => Err(found.into_iter().map(|(key, message)| unfit(key, &message)).collect()),
        }
    }
}

fn unfit(key: String, message: &str) -> Fault {
    let message = format!("{message}; settings that wait for a restart count with their running values");
    Fault::new(None, key, message)
}
