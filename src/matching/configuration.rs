//! What a rate table is computed under: everything that a reload swaps, in one piece.
//!
//! A table takes one configuration when its lead comes in and keeps it to its end, so that it never mixes an old book with
//! new limits, or asks a partner of one book over the client of another.

use std::sync::Arc;
use std::time::Duration;

use super::budget::TimeRules;
use super::partner_clients::PartnerClients;
use super::preview_ids::PreviewIds;
use crate::config::{LimitSettings, Settings, TranscriptSettings};
use crate::experiments::Rules as Experiments;
use crate::partners::Book;
use crate::records::loan_reports::Kept;
use crate::records::public_ids::PublicIds;

/// The panel and the rules of the day.
#[derive(Debug)]
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
    pub fn new(book: Arc<Book>, clients: PartnerClients, rules: Rules, ids: &PublicIds) -> Self {
        let mut sources = book.seats().iter().filter_map(|seat| seat.http.as_ref());
        let posts_when_shown = sources.any(|source| source.post.when_shown());
        let experiments = Experiments::default();
        Self { previews: PreviewIds::of(&book, ids), posts_when_shown, book, clients, rules, experiments }
    }

    /// The same with experiments.
    #[must_use]
    pub fn experimenting(self, experiments: Experiments) -> Self {
        Self { experiments, ..self }
    }
}

/// The limits and times of matching; `matching.*` in the settings.
#[derive(Debug, Clone)]
pub struct Rules {
    /// How a lead's time is divided.
    pub time: TimeRules,
    /// How long a submit waits for the partners that answer at once.
    pub submit_wait: Duration,
    /// How long answers that nobody can see yet are gathered for one write.
    pub gather_answers: Duration,
    /// How long a complete table stays in memory for those who poll it.
    pub linger: Duration,
    /// Most tables that are built at once.
    pub live_tables: usize,
    /// Most of one company; 0 sets no limit.
    pub live_tables_per_company: usize,
    /// Most seats asked about one lead.
    pub partners_per_lead: usize,
    /// Most offers one answer may have.
    pub offers_per_partner: usize,
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
        let LimitSettings {
            clicks_kept_per_offer,
            displays_kept_per_offer,
            consents_kept_per_lead,
            bytes_per_lead,
            ..
        } = settings.limits;
        let approval = settings.approval;
        let loan_reports = Kept { time: approval.reports_kept, per_company: approval.reports_per_company };
        let transcripts = settings.transcripts;
        let settings = &settings.matching;
        Self {
            time: TimeRules {
                deadline: settings.deadline,
                response_margin: settings.response_margin,
                least_budget: settings.least_budget,
                second_look_reserve: settings.second_look_reserve,
            },
            submit_wait: settings.submit_wait,
            gather_answers: settings.gather_answers,
            linger: settings.linger,
            live_tables: settings.live_tables,
            live_tables_per_company: settings.live_tables_per_company,
            partners_per_lead: settings.partners_per_lead,
            offers_per_partner: settings.offers_per_partner,
            clicks_kept_per_offer,
            displays_kept_per_offer,
            consents_kept_per_lead,
            bytes_per_lead,
            loan_reports,
            transcripts,
        }
    }
}
