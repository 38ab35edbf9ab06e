//! A reload, as it is asked for and answered: what has changed, or what is wrong.
//!
//! Whoever asks holds a [`Reloader`]; the daemon, which alone knows how to, serves the [`Requests`] one after the other.

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use offerd_base::config::SettingsDiff;
use offerd_base::declaration::{DeclarationsDiff, Fault};
use offerd_partners::Book;
use offerd_partners::diff::BookDiff;

/// How a reload ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum Outcome {
    /// What the files say is in force.
    Reloaded(Box<Report>),
    /// Something in the files is wrong, so nothing has changed.
    Refused {
        /// All that is wrong.
        faults: Vec<Fault>,
    },
    /// The files are good, but could not be taken in; nothing has changed.
    Failed {
        /// Why.
        cause: String,
    },
}

/// What a reload has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The book in force.
    pub book: BookFigures,
    /// In the partner files.
    pub partners: BookDiff,
    /// In what is pushed to companies.
    #[serde(default)]
    pub subscriptions: DeclarationsDiff,
    /// In the experiments.
    #[serde(default)]
    pub experiments: DeclarationsDiff,
    /// In the settings.
    pub settings: SettingsDiff,
    /// What is no fault, but may not be what was meant, a sentence each.
    #[serde(default)]
    pub remarks: Vec<String>,
}

/// A book in figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookFigures {
    /// Partners.
    pub partners: usize,
    /// Offers, terms counted.
    pub offers: usize,
    /// Twelve digits that are the same for the same partner files.
    pub fingerprint: String,
}

impl Outcome {
    /// One word for metrics.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Reloaded(_) => "ok",
            Self::Refused { .. } => "refused",
            Self::Failed { .. } => "failed",
        }
    }
}

impl Report {
    /// Whether nothing is in force that was not before.
    pub fn changes_nothing(&self) -> bool {
        self.partners.is_empty()
            && self.subscriptions.is_empty()
            && self.experiments.is_empty()
            && self.settings.changed.is_empty()
    }
}

impl From<&Book> for BookFigures {
    fn from(book: &Book) -> Self {
        Self {
            partners: book.partners().len(),
            offers: book.offers(),
            fingerprint: format!("{:012x}", book.fingerprint.figure()),
        }
    }
}

/// Reloads that wait their turn; one more waits to be asked for.
const WAITING: usize = 16;

/// Asks the daemon to reload. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Reloader(mpsc::Sender<oneshot::Sender<Outcome>>);

/// The reloads that are asked for, in their order: of each where its outcome is sent.
pub type Requests = mpsc::Receiver<oneshot::Sender<Outcome>>;

/// Both ends of the way to the daemon.
pub fn channel() -> (Reloader, Requests) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Reloader(sender), receiver)
}

impl Reloader {
    /// Reloads, after those who asked before; `None` when the daemon is stopping.
    pub async fn reload(&self) -> Option<Outcome> {
        let (answer, answered) = oneshot::channel();
        self.0.send(answer).await.ok()?;
        answered.await.ok()
    }
}
