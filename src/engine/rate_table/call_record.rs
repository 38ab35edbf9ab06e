//! What the store keeps of an ask that takes several calls: how far they had come, so that a call that may be made but once is not
//! made again after a restart, and what was learnt before it is not asked for again.

use serde::{Deserialize, Serialize};

use super::cause::Cause;
use offerd_partners::http::Progress;

/// By rate table and seat. An ask that needs none has none. It holds what partners have answered, so it is not `Debug`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// When, Unix milliseconds.
    pub at: i64,
    /// The step whose call was to be made.
    pub step: u8,
    /// Whether that call was about to be sent; else it was only the next.
    pub sent: bool,
    /// What the partner has bid for the lead, dollars.
    pub bid: Option<f64>,
    /// What was kept of the partner's answers before, a JSON object.
    pub kept: String,
    /// What the partner has called us with.
    pub heard: Option<Heard>,
    /// What came of it when the ask had ended.
    pub later: Option<Later>,
}

impl CallRecord {
    /// How far the calls were.
    pub fn progress(&self) -> Progress {
        Progress { step: self.step, kept: self.kept.clone(), bid: self.bid }
    }
}

/// What came of an ask when it had ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Later {
    /// When, Unix milliseconds.
    pub at: i64,
    /// What.
    pub end: LaterEnd,
}

/// What came of an ask when it had ended. Stored by position: a new one goes behind the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LaterEnd {
    /// An answer came with so many offers, which were shown to nobody.
    Offers(u16),
    /// An answer came that has nothing for the lead.
    Declined,
    /// What came could not be read, or was an error.
    Failed,
    /// Its offers were shown, it was sent the lead, and took it.
    Taken,
    /// The same, and it did not take it.
    NotTaken,
    /// The same, and whether it took it is not known.
    Unclear(Cause),
}

impl LaterEnd {
    /// The same for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::Offers(offers) => format!("its answer came too late, with {offers} offers"),
            Self::Declined => "its answer came too late, and had nothing for this lead".to_owned(),
            Self::Failed => "its answer came too late, and could not be read or was an error".to_owned(),
            Self::Taken => "its offers were shown, and it took the lead".to_owned(),
            Self::NotTaken => "its offers were shown, and it did not take the lead".to_owned(),
            Self::Unclear(cause) => {
                format!("its offers were shown, and whether it took the lead is not known: {cause}")
            }
        }
    }
}

/// A call of a partner's, a person's data.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}
