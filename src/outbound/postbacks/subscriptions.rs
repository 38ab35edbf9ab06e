//! The subscriptions in force.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::check;
use super::subscription::Subscription;
use offerd_base::config::PostbackSettings;
use offerd_base::declaration::{DeclarationsDiff, Fault, Source, declared_in};

/// All subscriptions, by name, with their common limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscriptions {
    /// The common limits.
    pub settings: PostbackSettings,
    all: Vec<Arc<Subscription>>,
}

impl Subscriptions {
    /// No subscriptions.
    pub fn none(settings: &PostbackSettings) -> Self {
        Self { settings: settings.clone(), all: Vec::new() }
    }

    /// Loads every `*.toml` of `postbacks.path`. A missing directory is an empty one.
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn load(settings: &PostbackSettings) -> Result<Self, Vec<Fault>> {
        let read = |name: &str, source: &Source| check::subscription(name, source).map(Arc::new);
        let (all, faults) = declared_in(&settings.path, "postbacks.path", read);
        if faults.is_empty() { Ok(Self { settings: settings.clone(), all }) } else { Err(faults) }
    }

    /// The changes in `after`, including changed secrets.
    pub fn diff(&self, after: &Self) -> DeclarationsDiff {
        DeclarationsDiff::between(&self.all, &after.all, |subscription| &subscription.name)
    }

    /// A text that is equal for equal subscriptions, independent of file paths; secrets are hidden.
    pub fn text(&self) -> String {
        let all = self.all.iter().map(|one| Subscription { file: PathBuf::new(), ..one.as_ref().clone() });
        format!("{:?}", all.collect::<Vec<_>>())
    }

    /// All subscriptions.
    pub fn all(&self) -> &[Arc<Subscription>] {
        &self.all
    }

    /// Finds a subscription by name.
    pub fn named(&self, name: &str) -> Option<&Arc<Subscription>> {
        self.all.iter().find(|subscription| subscription.name == name)
    }

    /// The subscriptions that are not paused.
    pub fn active(&self) -> impl Iterator<Item = &Arc<Subscription>> {
        self.all.iter().filter(|subscription| !subscription.paused)
    }

    /// Warnings for files whose company has no token, a sentence each: they will send nothing.
    pub fn without_token(&self, holders: &BTreeSet<String>) -> Vec<String> {
        let strange = self.active().filter(|subscription| !holders.contains(&subscription.company));
        let told = strange.map(|subscription| {
            let Subscription { file, company, .. } = &**subscription;
            format!("{}: `company` names `{company}`, which has no token", file.display())
        });
        told.collect()
    }
}
