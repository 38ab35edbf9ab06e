//! What a rate table is computed under: everything that a reload swaps, in one piece.
//!
//! A table takes one configuration when its lead comes in and keeps it to its end, so that it never mixes an old book with
//! new limits, or asks a partner of one book over the client of another.

use std::sync::Arc;

use super::partner_clients::PartnerClients;
use super::preview_ids::PreviewIds;
use crate::experiments::Rules as Experiments;
use crate::records::loan_reports::Kept;
use crate::records::public_ids::PublicIds;
use offerd_base::config::{MatchingSettings, Settings, TranscriptSettings};
use offerd_partners::Book;

/// The panel and the rules of the day.
pub struct Configuration {
    /// The panel.
    pub book: Arc<Book>,
    /// The lines to those of its partners that live elsewhere.
    pub clients: PartnerClients,
    /// Limits and times.
    pub rules: Rules,
    /// The experiments of the day.
    pub experiments: Experiments,
    /// What the panel shows in previews.
    pub previews: PreviewIds,
    /// Whether anybody is posted when its offers are shown.
    pub posts_when_shown: bool,
}

impl Configuration {
    /// A configuration, whose previews have the ids of a store.
    pub fn new(
        book: Arc<Book>,
        clients: PartnerClients,
        rules: Rules,
        experiments: Experiments,
        ids: &PublicIds,
    ) -> Self {
        let mut sources = book.seats().iter().filter_map(|seat| seat.http.as_ref());
        let posts_when_shown = sources.any(|source| source.post.when_shown());
        Self { previews: PreviewIds::of(&book, ids), posts_when_shown, book, clients, rules, experiments }
    }
}

/// The limits and times of matching.
#[derive(Debug, Clone)]
pub struct Rules {
    /// `matching.*` in the settings.
    pub matching: MatchingSettings,
    /// Most clicks on one offer that are kept.
    pub clicks_kept_per_offer: u64,
    /// Most displays of one offer that are kept where images tell of them.
    pub displays_kept_per_offer: u64,
    /// Most statements of a lead's consents that are kept beside the latest.
    pub consents_kept_per_lead: usize,
    /// Bytes of a stored lead, beyond which nothing is merged into it.
    pub bytes_per_lead: usize,
    /// Reports of approval probability that are kept.
    pub loan_reports: Kept,
    /// How much of what partners are sent and answer is kept, and how long.
    pub transcripts: TranscriptSettings,
}

impl From<&Settings> for Rules {
    fn from(settings: &Settings) -> Self {
        let (limits, approval) = (&settings.limits, settings.approval);
        Self {
            matching: settings.matching,
            clicks_kept_per_offer: limits.clicks_kept_per_offer,
            displays_kept_per_offer: limits.displays_kept_per_offer,
            consents_kept_per_lead: limits.consents_kept_per_lead,
            bytes_per_lead: limits.bytes_per_lead,
            loan_reports: Kept { time: approval.reports_kept, per_company: approval.reports_per_company },
            transcripts: settings.transcripts,
        }
    }
}
