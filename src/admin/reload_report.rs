//! Requests and results of a reload: the caller has a [`Reloader`]; the daemon serves the [`Requests`].

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use offerd_base::config::SettingsDiff;
use offerd_base::declaration::{DeclarationsDiff, Fault};
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
}

impl Report {
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
pub struct Reloader(mpsc::Sender<oneshot::Sender<ReloadOutcome>>);

/// The requested reloads in order, each with the sender of its outcome.
pub type Requests = mpsc::Receiver<oneshot::Sender<ReloadOutcome>>;

/// A reloader, and the queue that the daemon serves.
pub fn channel() -> (Reloader, Requests) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Reloader(sender), receiver)
}

impl Reloader {
    /// Reloads, after earlier requests; `None` when the daemon is stopping.
    pub async fn reload(&self) -> Option<ReloadOutcome> {
        let (answer, answered) = oneshot::channel();
        self.0.send(answer).await.ok()?;
        answered.await.ok()
    }
}
