//! The subscriptions in force.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::check;
use super::subscription::Subscription;
use serde::{Deserialize, Serialize};

use crate::config::PostbackSettings;
use crate::declaration::{Fault, Source, files_if_any, text_of};

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
        let fault = |file: &Path, key: &str, message: String| Fault {
            file: Some(std::path::absolute(file).unwrap_or_else(|_| file.to_owned())),
            line: None,
            key: key.to_owned(),
            message,
        };
        let unread = |error| format!("cannot be read: {error}");
        let directory = &settings.path;
        let files = files_if_any(directory)
            .map_err(|error| vec![fault(directory, "postbacks.path", unread(error))])?;
        let (mut all, mut faults) = (Vec::new(), Vec::new());
        for file in files {
            let text = text_of(&file).map_err(|error| vec![fault(&file, "", unread(error))]);
            let source = text.and_then(|text| Source::parse(&file, &text).map_err(|fault| vec![fault]));
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            match source.and_then(|source| check::subscription(&name, &source)) {
                Ok(subscription) => all.push(Arc::new(subscription)),
                Err(found) => faults.extend(found),
            }
        }
        if faults.is_empty() { Ok(Self { settings: settings.clone(), all }) } else { Err(faults) }
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

/// Which subscriptions came, went, and are not as they were, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionsDiff {
    /// Those that came.
    pub added: Vec<String>,
    /// Those that went.
    pub removed: Vec<String>,
    /// Those whose files say something else, or whose secrets are others.
    pub changed: Vec<String>,
}

impl SubscriptionsDiff {
    /// What is different in `after`.
    pub fn between(before: &Subscriptions, after: &Subscriptions) -> Self {
        let names = |these: &Subscriptions, fits: &dyn Fn(&Subscription) -> bool| -> Vec<String> {
            these.all.iter().filter(|one| fits(one)).map(|one| one.name.clone()).collect()
        };
        Self {
            added: names(after, &|one| before.named(&one.name).is_none()),
            removed: names(before, &|one| after.named(&one.name).is_none()),
            changed: names(after, &|one| before.named(&one.name).is_some_and(|known| **known != *one)),
        }
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
