//! The settings: raw input, layered, and what is checked of it.
//!
//! Layers: `config/default.toml` (built in, and the only place where defaults stand) < the file given by `--config` <
//! `OFFERD__SECTION__KEY`. All faults are reported at once, each with the file and line or the variable that caused it.

mod alerts;
mod checks;
mod colour;
mod layers;
mod ranking_checks;
mod raw;
mod reload;
mod settings;
#[cfg(test)]
mod tests;
mod values;
mod web_address;

pub use alerts::{AlertSettings, MailSettings, MailTls, SecretPlace, WebhookSettings};
pub use colour::Colour;
pub use layers::DEFAULTS;
pub use reload::{RELOADABLE, SettingChange, SettingsDiff, is_reloadable};
pub use settings::{
    ApiSettings, ApprovalSettings, AuditSettings, BrandSettings, ConsoleSettings, DescribedSetting,
    ExperimentSettings, IntegrationsSettings, LimitSettings, ListenerSettings, LogSettings, MatchingSettings,
    NamedRanking, OfferPageSettings, PathSettings, PostbackSettings, PostgresSettings, PrefillSettings,
    ProxySettings, ROLES, RankingSettings, RateSettings, ReferenceSettings, ReportSettings, Settings,
    ShutdownSettings, SignIn, StoreEngine, StoreSettings, TlsSettings, TokenSettings, TranscriptSettings,
    WireSettings,
};
