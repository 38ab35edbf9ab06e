//! The settings: layered, each declared once with its requirements, and checked.
//!
//! Layers: `config/default.toml` (built in, and the only place with defaults) < the file given by `--config`
//! < `OFFERD__SECTION__KEY`. All faults are reported at once, each with the file and line or the variable
//! that caused it. `sections`, `alerts` and `ranking` declare the keys; `rules` constrains them.

mod alerts;
mod colour;
mod cross_key_checks;
mod layers;
mod origin;
mod ranking;
mod reload;
mod section_text;
mod sections;
mod settings;
#[cfg(test)]
mod tests;
mod values;
mod web_address;

pub use alerts::{AlertSettings, MailServer, MailSettings, MailTls, SecretPlace, WebhookSettings};
pub use colour::Colour;
pub use layers::DEFAULTS;
pub use ranking::{NamedRanking, RankingSettings};
pub use reload::{SettingChange, SettingsDiff, is_reloadable};
pub use section_text::{SectionText, has_password, with_key};
pub use sections::{
    ApiSettings, ApprovalSettings, AuditSettings, BrandSettings, ConsoleSettings, ExperimentSettings,
    IntegrationsSettings, LimitSettings, ListenerSettings, LogSettings, MatchingSettings, OfferPageSettings,
    PathSettings, PostbackSettings, PostgresSettings, ProxySettings, ROLES, RateSettings, ReferenceSettings,
    ReportSettings, ShutdownSettings, SignInPolicy, StoreEngine, StoreSettings, TlsSettings, TokenSettings,
    TranscriptSettings, WireSettings,
};
pub use settings::{DescribedSetting, Settings};
pub use web_address::{
    faults as address_faults, in_small_letters as plain_address, shown as shown_address, split_scheme,
};
