//! The settings as the daemon uses them.

use std::path::Path;
use std::sync::Arc;

use super::alerts::AlertSettings;
use super::layers::{self, KeySources, Layers};
use super::ranking::RankingSettings;
use super::sections::*;
use super::web_address;
use crate::declaration::{Fault, FileEdit, TableReading, read_table};
use crate::table;

/// A setting in force: key, value and source.
pub type DescribedSetting = (String, String, String);

table! {
    /// All settings. `config/default.toml` documents each key.
    #[derive(Debug, Clone)]
    pub struct Settings {
        /// `[api]`; its limits apply to every listener.
        api: ApiSettings => section,
        /// `[offer_pages]`
        offer_pages: OfferPageSettings => section,
        /// `[integrations]`
        integrations: IntegrationsSettings => section,
        /// `[admin]`
        admin: ListenerSettings => section,
        /// `[console]`
        console: ConsoleSettings => section,
        /// `[audit]`
        audit: AuditSettings => section,
        /// `[matching]`
        matching: MatchingSettings => section,
        /// `[limits]`
        limits: LimitSettings => section,
        /// `[engine]`
        engine: EngineSettings => section,
        /// `[analytics]`
        analytics: AnalyticsSettings => section,
        /// `[reports]`
        reports: ReportSettings => section,
        /// `[ranking]`
        ranking: RankingSettings => section,
        /// `[wire]`
        wire: WireSettings => section,
        /// `[store]`
        store: StoreSettings => section,
        /// `[partners]`
        partners: PathSettings => section,
        /// `[reference]`
        reference: ReferenceSettings => section,
        /// `[approval]`
        approval: ApprovalSettings => section,
        /// `[transcripts]`
        transcripts: TranscriptSettings => section,
        /// `[postbacks]`
        postbacks: PostbackSettings => section,
        /// `[experiments]`
        experiments: ExperimentSettings => section,
        /// `[alerts]`
        alerts: AlertSettings => section,
        /// `[tokens]`
        tokens: TokenSettings => section,
        /// `[shutdown]`
        shutdown: ShutdownSettings => section,
        /// `[log]`
        log: LogSettings => section,
        /// `[tracing]`
        tracing: TracingSettings => section,
        .. pub(super) origin: Origin
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Origin {
    pub(super) described: Vec<DescribedSetting>,
    pub(super) table: toml::Table,
    pub(super) sources: Arc<KeySources>,
}

impl Settings {
    /// Whether visitors must sign in to the console.
    pub fn console_asks_to_sign_in(&self) -> bool {
        self.console.sign_in == SignInPolicy::Always || !self.admin.listen.ip().is_loopback()
    }

    /// Loads the settings of this process: defaults, `file` if any, environment.
    pub fn load(file: Option<&Path>) -> Result<Self, Vec<Fault>> {
        whole(Self::inspect(file, None))
    }

    /// Like [`load`](Self::load), but also returns settings despite faults where possible, with defaults in
    /// place of faulty values, for callers that continue checking. `edit` changes a file, if any.
    pub fn inspect(file: Option<&Path>, edit: Option<&FileEdit>) -> (Option<Self>, Vec<Fault>) {
        let environment = match layers::environment(std::env::vars_os()) {
            Ok(environment) => environment,
            Err(faults) => return (None, faults),
        };
        let Some(path) = file else { return Self::of_layers(None, environment) };
        match FileEdit::text_under(edit, path) {
            Ok(text) => Self::of_layers(Some((path, &text)), environment),
            Err(error) => {
                let message = format!(
                    "cannot be read: {error}; name the settings file with `--config` or OFFERD_CONFIG, or \
                        omit both for the built-in settings"
                );
                (None, vec![Fault::new(Some(path.to_owned()), "", message)])
            }
        }
    }

    /// Reads the settings from a file, as path and text, and environment variables.
    pub fn from_layers(
        file: Option<(&Path, &str)>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Vec<Fault>> {
        whole(Self::of_layers(file, environment))
    }

    fn of_layers(
        file: Option<(&Path, &str)>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> (Option<Self>, Vec<Fault>) {
        let layers = match Layers::merge(file, environment) {
            Ok(layers) => layers.typed(refused),
            Err(faults) => return (None, faults),
        };
        let described = describe(&layers);
        let Layers { merged, sources, misnamed } = layers;
        let sources = Arc::new(sources);
        let origin = Origin { described, table: merged, sources: Arc::clone(&sources) };
        let (settings, found) = Self::read(origin, sources.defaults.table());
        let sources = settings.as_ref().map_or(sources, |settings| Arc::clone(&settings.origin.sources));
        let found = found.into_iter().map(|(key, message)| sources.fault(&key, message));
        let mut faults: Vec<Fault> = misnamed.into_iter().chain(found).collect();
        faults.sort_by(|one, two| (&one.file, one.line).cmp(&(&two.file, two.line)));
        (settings, faults)
    }

    /// Reads the settings from a table, with `defaults` in place of faulty values, and every fault.
    pub(super) fn read(origin: Origin, defaults: &toml::Table) -> (Option<Self>, Vec<(String, String)>) {
        let TableReading { value, faults: mut found, .. } =
            read_table::<Self>(origin.table.clone(), defaults);
        let settings = value.map(|settings| Self { origin, ..settings }.fit(&mut found));
        (settings, found)
    }

    /// A fault of a setting that is found later, at the place where the key was last set.
    pub fn fault(&self, key: &str, message: String) -> Fault {
        self.origin.sources.fault(key, message)
    }

    /// Every setting in force: key, value and source.
    pub fn describe(&self) -> &[DescribedSetting] {
        &self.origin.described
    }
}

/// The keys of a table that the settings refuse.
fn refused(table: &toml::Table) -> Vec<String> {
    let reading = read_table::<Settings>(table.clone(), &toml::Table::new());
    reading.faults.into_iter().map(|(key, _)| key).collect()
}

fn whole((settings, faults): (Option<Settings>, Vec<Fault>)) -> Result<Settings, Vec<Fault>> {
    settings.filter(|_| faults.is_empty()).ok_or(faults)
}

/// The one section with a URL whose parameters may contain a password.
const DATABASE: &str = "store.postgres";

fn describe(layers: &Layers) -> Vec<DescribedSetting> {
    let keys = layers.merged.iter().filter_map(|(section, keys)| keys.as_table().map(|keys| (section, keys)));
    let row = |section: &str, key: &str, value: &toml::Value| {
        let key = format!("{section}.{key}");
        let source = layers.sources.source_of(&key);
        let shown = if key == DATABASE { web_address::shown_whole } else { web_address::shown };
        (key, web_address::without_passwords(value, shown).to_string(), source)
    };
    keys.flat_map(|(section, keys)| keys.iter().map(move |(key, value)| row(section, key, value))).collect()
}
