//! The configuration of a rate table: all that a reload replaces. A table keeps the one in force when it is
//! started; one that is resumed takes that of its resumption.

use std::sync::Arc;

use super::partner_clients::PartnerClients;
use super::preview_ids::PreviewIds;
use crate::experiments::ExperimentRules as Experiments;
use crate::records::public_ids::PublicIds;
use offerd_base::config::{ApprovalSettings, MatchingSettings, Settings, TranscriptSettings};
use offerd_partners::Book;

/// A configuration: the book and its rules.
pub struct Configuration {
    /// The book.
    pub book: Arc<Book>,
    /// The clients of its remote partners.
    pub clients: PartnerClients,
    /// Limits and timeouts.
    pub rules: MatchingRules,
    /// The experiments.
    pub experiments: Experiments,
    /// The offers of previews.
    pub previews: PreviewIds,
    /// Whether any partner is posted the lead when its offers are shown.
    pub posts_when_shown: bool,
}

impl Configuration {
    /// A configuration, whose preview ids are derived from a store's key.
    pub fn new(
        book: Arc<Book>,
        clients: PartnerClients,
        rules: MatchingRules,
        experiments: Experiments,
        ids: &PublicIds,
    ) -> Self {
        let mut sources = book.seats().iter().filter_map(|seat| seat.http.as_ref());
        let posts_when_shown = sources.any(|http| http.post.when_shown());
        Self { previews: PreviewIds::of(&book, ids), posts_when_shown, book, clients, rules, experiments }
    }
}

/// The limits and times of matching.
#[derive(Debug, Clone)]
pub struct MatchingRules {
    /// `matching.*` in the settings.
    pub matching: MatchingSettings,
    /// Most clicks stored per offer.
    pub clicks_kept_per_offer: u64,
    /// Factor between a reported payout or amount and the usual one, beyond which the report is flagged.
    pub report_factor: u32,
    /// Most displays stored per offer, as reported by tracking images.
    pub displays_kept_per_offer: u64,
    /// Most earlier consent statements kept per lead.
    pub consents_kept_per_lead: usize,
    /// Size in bytes beyond which nothing is merged into a lead.
    pub bytes_per_lead: usize,
    /// Retention of reports of approval probability.
    pub loan_reports: ApprovalSettings,
    /// Size limits and retention of transcripts.
    pub transcripts: TranscriptSettings,
}

impl From<&Settings> for MatchingRules {
    fn from(settings: &Settings) -> Self {
        let limits = &settings.limits;
        Self {
            matching: settings.matching,
            clicks_kept_per_offer: limits.clicks_kept_per_offer,
            report_factor: limits.report_factor,
            displays_kept_per_offer: limits.displays_kept_per_offer,
            consents_kept_per_lead: limits.consents_kept_per_lead,
            bytes_per_lead: limits.bytes_per_lead,
            loan_reports: settings.approval,
            transcripts: settings.transcripts,
        }
    }
}
