//! Which settings a reload takes in, and what it changes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::checks::checked;
use super::raw::Raw;
use super::settings::{DescribedSetting, Settings};
use crate::declaration::{Fault, Reading, read_table};

/// The keys that change while the daemon runs. All others wait for a restart: they are bound, opened or sized at the start.
pub const RELOADABLE: &[&str] = &[
    "alerts.backup_age",
    "alerts.certificate_left",
    "alerts.console_url",
    "alerts.every",
    "alerts.first_backoff",
    "alerts.give_up_after",
    "alerts.kept",
    "alerts.leads_missing",
    "alerts.longest_backoff",
    "alerts.mail",
    "alerts.off",
    "alerts.outstanding",
    "alerts.waits",
    "alerts.webhooks",
    "api.cors_origins",
    "api.vendor",
    "approval.reports_kept",
    "approval.reports_per_company",
    "console.tables_looked_at",
    "console.tables_read",
    "experiments.compared_leads",
    "experiments.path",
    "experiments.variants_per_rule",
    "limits.bytes_per_lead",
    "limits.clicks_kept_per_offer",
    "limits.consents_kept_per_lead",
    "limits.displays_kept_per_offer",
    "limits.leads_erased_at_once",
    "log.filter",
    "matching.deadline",
    "matching.gather_answers",
    "matching.least_budget",
    "matching.linger",
    "matching.live_tables",
    "matching.live_tables_per_company",
    "matching.offers_per_partner",
    "matching.partners_per_lead",
    "matching.response_margin",
    "matching.second_look_reserve",
    "matching.submit_wait",
    "partners.path",
    "postbacks.concurrency",
    "postbacks.dead_letters",
    "postbacks.dead_letters_kept",
    "postbacks.first_backoff",
    "postbacks.longest_backoff",
    "postbacks.outstanding",
    "postbacks.path",
    "postbacks.vanished_kept",
    "ranking.cohorts",
    "ranking.default",
    "ranking.half_life",
    "ranking.least",
    "ranking.matures_after",
    "ranking.most",
    "ranking.named",
    "ranking.prior_rate",
    "ranking.prior_strength",
    "ranking.refresh",
    "ranking.unrated",
    "ranking.window",
    "reference.vehicles",
    "transcripts.call_bytes",
    "transcripts.kept",
    "wire.max_ejected_percent",
    "wire.simulate_only",
];

/// A setting that says something else than before, in TOML. No setting is a secret: those stand outside, in the
/// environment or in files that partner files name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// The key, as `section.key`.
    pub key: String,
    /// The value that the daemon has run with.
    pub before: String,
    /// The value that is set now.
    pub after: String,
    /// Where it is set: a file with its line, a variable, or the default.
    pub source: String,
}

/// What the settings say now and did not say before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingsDiff {
    /// In force from now on.
    pub changed: Vec<SettingChange>,
    /// Not in force before the daemon is started anew.
    pub waiting_for_restart: Vec<SettingChange>,
}

impl SettingsDiff {
    /// What is different in `after`; both list every key, in the same order.
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

/// Whether a key changes while the daemon runs.
pub fn is_reloadable(key: &str) -> bool {
    RELOADABLE.contains(&key)
}

impl Settings {
    /// These settings with what a reload takes in of `later` ones, and what that changes.
    ///
    /// # Errors
    /// What does not fit together: a reloadable setting with one that stays as it is until a restart.
    pub fn reloaded(&self, later: &Self) -> Result<(Self, SettingsDiff), Vec<Fault>> {
        let diff = SettingsDiff::between(&self.described, &later.described);
        let waits = |key: &str| diff.waiting_for_restart.iter().any(|change| change.key == key);
        let mut table = later.table.clone();
        for (section, keys) in &mut table {
            for (key, value) in keys.as_table_mut().into_iter().flatten() {
                if waits(&format!("{section}.{key}")) {
                    value.clone_from(&self.table[section][key]);
                }
            }
        }
        let rows = self.described.iter().zip(&later.described);
        let described = rows.map(|(old, new)| if waits(&old.0) { old } else { new }).cloned().collect();

        let Reading { value, faults: mut found, .. } = read_table::<Raw>(table.clone(), &toml::Table::new());
        let settings = value.map(|raw| checked(raw, described, table, Arc::clone(&later.places), &mut found));
        match settings {
            Some(settings) if found.is_empty() => Ok((settings, diff)),
            _ => Err(found.into_iter().map(|(key, message)| unfit(key, &message)).collect()),
        }
    }
}

fn unfit(key: String, message: &str) -> Fault {
    let message = format!("{message}, since what waits for a restart counts as it is running");
    Fault { file: None, line: None, key, message }
}
