//! The settings as they are written.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::alerts::RawAlerts;
use super::settings::{SignIn, StoreEngine};
use super::values::OneOrMany;
use crate::declaration::HumanDuration;
use crate::telemetry::logging::LogFormat;

/// Every section. Nothing is optional, since every key has a default in `config/default.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    pub api: RawApi,
    pub offer_pages: RawOfferPages,
    pub integrations: RawIntegrations,
    pub admin: RawListener,
    pub console: RawConsole,
    pub audit: RawAudit,
    pub matching: RawMatching,
    pub limits: RawLimits,
    pub engine: RawEngine,
    pub analytics: RawAnalytics,
    pub reports: RawReports,
    pub ranking: RawRanking,
    pub wire: RawWire,
    pub store: RawStore,
    pub partners: RawPath,
    pub reference: RawReference,
    pub approval: RawApproval,
    pub transcripts: RawTranscripts,
    pub postbacks: RawPostbacks,
    pub experiments: RawExperiments,
    pub alerts: RawAlerts,
    pub tokens: RawTokens,
    pub shutdown: RawShutdown,
    pub log: RawLog,
    pub tracing: RawTracing,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawApi {
    pub listen: String,
    pub base_url: String,
    pub vendor: OneOrMany,
    pub cors_origins: OneOrMany,
    pub max_connections: i64,
    pub max_head_bytes: i64,
    pub max_body_bytes: i64,
    pub header_timeout: HumanDuration,
    pub request_timeout: HumanDuration,
    pub write_timeout: HumanDuration,
    pub demo: bool,
    pub tls: RawTls,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOfferPages {
    pub open_for: HumanDuration,
    pub frame_ancestors: OneOrMany,
    pub colour: String,
    pub dark_colour: String,
    pub companies: BTreeMap<String, RawBrand>,
}

/// What a company has otherwise; an empty text is not given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBrand {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub colour: String,
    #[serde(default)]
    pub dark_colour: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTls {
    pub certificate: String,
    pub key: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawIntegrations {
    pub listen: String,
    pub base_url: String,
    pub tls: RawTls,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawListener {
    pub listen: String,
    pub tls: RawTls,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConsole {
    pub sign_in: SignIn,
    pub password_file: String,
    pub session_life: HumanDuration,
    pub session_idle: HumanDuration,
    pub sign_ins_failed_per_name: i64,
    pub sign_ins_failed: i64,
    pub tables_looked_at: i64,
    pub tables_read: i64,
    pub history_kept: HumanDuration,
    pub proxy: RawProxy,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProxy {
    pub header: String,
    pub from: OneOrMany,
    pub role: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAudit {
    pub keep: HumanDuration,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    pub requests_per_second_per_company: i64,
    pub burst_per_company: i64,
    pub requests_per_second_per_address: i64,
    pub burst_per_address: i64,
    pub clicks_per_second_per_offer: i64,
    pub burst_clicks_per_offer: i64,
    pub clicks_kept_per_offer: i64,
    pub displays_kept_per_offer: i64,
    pub consents_kept_per_lead: i64,
    pub bytes_per_lead: i64,
    pub leads_erased_at_once: i64,
    pub publishable_merge: HumanDuration,
    pub prefill_lifetime: HumanDuration,
    pub prefill_reads: i64,
    pub prefills_per_company: i64,
    pub connections_per_address: i64,
    pub reserved_descriptors: i64,
    pub exempt: OneOrMany,
    pub trusted_proxies: OneOrMany,
    pub requests: i64,
    pub requests_per_company: i64,
    pub body_bytes: i64,
    pub body_bytes_per_company: i64,
    pub shown_bytes: i64,
    pub queueing_target: HumanDuration,
    pub queue: i64,
    pub queue_wait: HumanDuration,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMatching {
    pub deadline: HumanDuration,
    pub submit_wait: HumanDuration,
    pub response_margin: HumanDuration,
    pub least_budget: HumanDuration,
    pub second_look_reserve: HumanDuration,
    pub live_tables: i64,
    pub live_tables_per_company: i64,
    pub gather_answers: HumanDuration,
    pub linger: HumanDuration,
    pub partners_per_lead: i64,
    pub offers_per_partner: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEngine {
    pub threads: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWire {
    pub max_ejected_percent: i64,
    pub simulate_only: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReports {
    pub zones: OneOrMany,
    pub tags: OneOrMany,
    pub tag_values: i64,
    pub cells_in_memory: i64,
    pub write_every: HumanDuration,
    pub groups: i64,
    pub rows: i64,
    pub at_once: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRanking {
    pub default: String,
    pub named: BTreeMap<String, RawNamedRanking>,
    pub prior_rate: f64,
    pub prior_strength: f64,
    pub least: f64,
    pub most: f64,
    pub unrated: f64,
    pub matures_after: HumanDuration,
    pub half_life: HumanDuration,
    pub window: HumanDuration,
    pub refresh: HumanDuration,
    pub cohorts: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNamedRanking {
    pub interest: f64,
    pub conversion: f64,
    pub payout: f64,
    pub consumer_rating: f64,
    #[serde(default)]
    pub companies: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAnalytics {
    pub page_records_max: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStore {
    pub engine: StoreEngine,
    pub path: String,
    pub postgres: RawPostgres,
    pub master_key_file: String,
    pub suppression_key_file: String,
    pub queue: i64,
    pub changes_per_record: i64,
    pub group: i64,
    pub cache_bytes: i64,
    pub reserve_bytes: i64,
    pub stall_after: HumanDuration,
    pub scrub_interval: HumanDuration,
    pub scrub_rate: i64,
    pub volume_bytes: i64,
    pub volume_age: HumanDuration,
    pub retention: HumanDuration,
    pub clock_jump: HumanDuration,
    pub clock_hold: HumanDuration,
    pub clock_gap: HumanDuration,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPostgres {
    pub url: String,
    pub password_file: String,
    pub ca_file: String,
    pub connections: i64,
    pub answer_within: HumanDuration,
    pub lease: HumanDuration,
    pub node_name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPath {
    pub path: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReference {
    pub vehicles: String,
    pub vehicles_per_answer: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawApproval {
    pub reports_kept: HumanDuration,
    pub reports_per_company: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTranscripts {
    pub kept: HumanDuration,
    pub call_bytes: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExperiments {
    pub path: String,
    pub compared_leads: i64,
    pub variants_per_rule: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPostbacks {
    pub path: String,
    pub concurrency: i64,
    pub outstanding: i64,
    pub first_backoff: HumanDuration,
    pub longest_backoff: HumanDuration,
    pub dead_letters: i64,
    pub dead_letters_kept: HumanDuration,
    pub vanished_kept: HumanDuration,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTokens {
    pub bootstrap: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawShutdown {
    pub drain: HumanDuration,
    pub announce: HumanDuration,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLog {
    pub filter: String,
    pub format: LogFormat,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTracing {
    pub otlp_endpoint: String,
    pub sampled_percent: i64,
}
