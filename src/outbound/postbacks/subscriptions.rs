//! The subscriptions in force.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::check;
use super::subscription::Subscription;
use offerd_base::config::PostbackSettings;
use offerd_base::declaration::{DeclarationsDiff, Fault, Source, declared_in};

/// Every subscription, by name, and the limits that hold for each.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscriptions {
    /// What they keep to.
    pub settings: PostbackSettings,
    all: Vec<Arc<Subscription>>,
}

impl Subscriptions {
    /// None.
    pub fn none(settings: &PostbackSettings) -> Self {
        Self { settings: settings.clone(), all: Vec::new() }
    }

    /// Reads every `*.toml` of `postbacks.path`. A directory that is not there has none.
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn load(settings: &PostbackSettings) -> Result<Self, Vec<Fault>> {
        let read = |name: &str, source: &Source| check::subscription(name, source).map(Arc::new);
        let (all, faults) = declared_in(&settings.path, "postbacks.path", read);
        if faults.is_empty() { Ok(Self { settings: settings.clone(), all }) } else { Err(faults) }
    }

    /// What is different in `after`; also other secrets are.
    pub fn diff(&self, after: &Self) -> DeclarationsDiff {
        DeclarationsDiff::between(&self.all, &after.all, |subscription| &subscription.name)
    }

    /// What they say, wherever their files are and whatever their secrets: the same for the same subscriptions.
    pub fn text(&self) -> String {
        let all = self.all.iter().map(|one| Subscription { file: PathBuf::new(), ..one.as_ref().clone() });
        format!("{:?}", all.collect::<Vec<_>>())
    }

    /// All of them.
    pub fn all(&self) -> &[Arc<Subscription>] {
        &self.all
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Option<&Arc<Subscription>> {
        self.all.iter().find(|subscription| subscription.name == name)
    }

    /// Those that something is sent for.
    pub fn active(&self) -> impl Iterator<Item = &Arc<Subscription>> {
        self.all.iter().filter(|subscription| !subscription.paused)
    }

    /// Files that name a company which has no token, a sentence each: nothing will be sent by them.
    pub fn without_token(&self, holders: &BTreeSet<String>) -> Vec<String> {
        let strange = self.active().filter(|subscription| !holders.contains(&subscription.company));
        let told = strange.map(|subscription| {
            let Subscription { file, company, .. } = &**subscription;
            format!("{}: `company` names `{company}`, which has no token", file.display())
        });
        told.collect()
    }
}
