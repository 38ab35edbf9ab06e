//! Requests and results of a reload: the caller has a [`Reloader`]; the daemon serves the [`Requests`].

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use offerd_base::config::SettingsDiff;
use offerd_base::declaration::{DeclarationsDiff, Fault, FileEdit};
use offerd_partners::Book;
use offerd_partners::diff::BookDiff;

/// Outcome of a reload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum ReloadOutcome {
    /// The files are loaded and in use.
    Reloaded(Box<Report>),
    /// The files have faults; nothing changed.
    Refused {
        /// All faults.
        faults: Vec<Fault>,
    },
    /// The files are valid, but could not be applied; nothing changed.
    Failed {
        /// The cause.
        cause: String,
    },
}

/// Changes made by a reload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The book now in use.
    pub book: BookFigures,
    /// Changes of the partner files.
    pub partners: BookDiff,
    /// Changes of the postback subscriptions.
    #[serde(default)]
    pub subscriptions: DeclarationsDiff,
    /// Changes of the experiments.
    #[serde(default)]
    pub experiments: DeclarationsDiff,
    /// Changes of the settings.
    pub settings: SettingsDiff,
    /// Remarks: not faults, but perhaps not intended; one sentence each.
    #[serde(default)]
    pub remarks: Vec<String>,
}

/// Size and fingerprint of a book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookFigures {
    /// Number of partners.
    pub partners: usize,
    /// Number of offers, one per set of terms.
    pub offers: usize,
    /// Fingerprint of the partner files, twelve digits.
    pub fingerprint: String,
}

impl ReloadOutcome {
    /// The label in metrics.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Reloaded(_) => "ok",
            Self::Refused { .. } => "refused",
            Self::Failed { .. } => "failed",
        }
    }

    /// The outcome and what changed, or the faults, for the audit.
    pub fn summary(&self) -> String {
        let mut parts = match self {
            Self::Reloaded(report) => report.changes(),
            Self::Refused { faults } => faults.iter().map(ToString::to_string).collect(),
            Self::Failed { cause } => vec![cause.clone()],
        };
        let more = parts.len().saturating_sub(FAULTS_RECORDED);
        if more > 0 && matches!(self, Self::Refused { .. }) {
            parts.truncate(FAULTS_RECORDED);
            parts.push(format!("and {more} more"));
        }
        let all = if parts.is_empty() { "nothing changed".to_owned() } else { parts.join("; ") };
        format!("{}: {all}", self.word())
    }
}

/// The most faults that the audit has of one reload.
const FAULTS_RECORDED: usize = 10;

impl Report {
    /// Everything that changed, by name.
    pub(crate) fn changes(&self) -> Vec<String> {
        let Self { partners, subscriptions, experiments, settings, .. } = self;
        let added = partners.added.iter().map(|one| format!("partner {} added", one.partner));
        let removed = partners.removed.iter().map(|one| format!("partner {} removed", one.partner));
        let changed = partners.changed.iter().map(|one| format!("partner {}", one.partner));
        let declared = [("postbacks", subscriptions), ("experiment", experiments)].into_iter();
        let declared = declared.flat_map(|(what, diff)| {
            let names = [&diff.added, &diff.removed, &diff.changed].into_iter().flatten();
            names.map(move |name| format!("{what} {name}"))
        });
        let set = settings.changed.iter().map(|one| one.key.clone());
        let waiting = settings.waiting_for_restart.iter();
        let waiting = waiting.map(|one| format!("{} at the next restart", one.key));
        added.chain(removed).chain(changed).chain(declared).chain(set).chain(waiting).collect()
    }

    /// Whether the reload changed nothing.
    pub fn changes_nothing(&self) -> bool {
        self.partners.is_empty()
            && self.subscriptions.is_empty()
            && self.experiments.is_empty()
            && self.settings.changed.is_empty()
    }
}

impl From<&Book> for BookFigures {
    fn from(book: &Book) -> Self {
        let fingerprint = format!("{:012x}", book.fingerprint.figure());
        Self { partners: book.partners().len(), offers: book.offers(), fingerprint }
    }
}

const WAITING: usize = 16;

/// Requests reloads of the daemon. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Reloader(mpsc::Sender<ReloadRequest>);

/// A requested reload.
#[derive(Debug)]
pub struct ReloadRequest {
    /// A changed file, with which a reload is only tried: it changes nothing.
    pub tried: Option<FileEdit>,
    /// Takes the outcome.
    pub answer: oneshot::Sender<ReloadOutcome>,
}

/// The requested reloads in order.
pub type Requests = mpsc::Receiver<ReloadRequest>;

/// A reloader, and the queue that the daemon serves.
pub fn channel() -> (Reloader, Requests) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Reloader(sender), receiver)
}

impl Reloader {
    /// Reloads, after earlier requests; `None` when the daemon is stopping.
    pub async fn reload(&self) -> Option<ReloadOutcome> {
        self.request(None).await
    }

    /// The outcome that a reload with a changed file would have; `None` when the daemon is stopping.
    pub async fn try_with(&self, edit: FileEdit) -> Option<ReloadOutcome> {
        self.request(Some(edit)).await
    }

    async fn request(&self, tried: Option<FileEdit>) -> Option<ReloadOutcome> {
        let (answer, answered) = oneshot::channel();
        self.0.send(ReloadRequest { tried, answer }).await.ok()?;
        answered.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_base::config::SettingChange;

    #[test]
    fn the_audit_has_what_a_reload_changed_or_why_it_was_refused() {
        let change = |key: &str| SettingChange {
            key: key.to_owned(),
            before: "1".to_owned(),
            after: "2".to_owned(),
            source: "offerd.toml:3".to_owned(),
        };
        let reloaded = |changed: &[&str], waiting: &[&str], experiments: &[&str]| {
            let of = |keys: &[&str]| keys.iter().map(|key| change(key)).collect();
            let added = experiments.iter().map(|name| (*name).to_owned()).collect();
            ReloadOutcome::Reloaded(Box::new(Report {
                book: BookFigures::from(&Book::of(Vec::new())),
                partners: BookDiff::default(),
                subscriptions: DeclarationsDiff::default(),
                experiments: DeclarationsDiff { added, ..DeclarationsDiff::default() },
                settings: SettingsDiff { changed: of(changed), waiting_for_restart: of(waiting) },
                remarks: Vec::new(),
            }))
        };
        let fault = |nth: usize| Fault::new(None, "", format!("fault {nth}"));
        let refused = |count| ReloadOutcome::Refused { faults: (0..count).map(fault).collect() };
        let twelve = refused(12).summary();
        let cases = [
            (reloaded(&[], &[], &[]).summary(), "ok: nothing changed"),
            (
                reloaded(&["log.filter"], &["api.listen"], &["floor"]).summary(),
                "ok: experiment floor; log.filter; api.listen at the next restart",
            ),
            (ReloadOutcome::Failed { cause: "x".to_owned() }.summary(), "failed: x"),
        ];
        cases.iter().for_each(|(told, wanted)| assert_eq!(told, wanted));
        assert!(twelve.starts_with("refused: ") && twelve.contains("fault 9"), "{twelve}");
        assert!(twelve.ends_with("; and 2 more") && !twelve.contains("fault 10"), "{twelve}");
    }
}
