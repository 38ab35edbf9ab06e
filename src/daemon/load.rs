//! Reads and checks settings, partner files and the list of cars, and reports all faults at once.

use std::collections::BTreeSet;
use std::path::Path;

use super::prelude::*;
use offerd_admin::password::PasswordDigest;
use offerd_base::config::StoreSettings;
use offerd_base::declaration::FileEdit;
use offerd_base::telemetry::metrics::CERTIFICATE_ENDS;
use offerd_outbound::alerts;
use offerd_store::MasterKey;

/// The result of reading all configuration, at a start or a reload.
#[derive(Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// The book made from the partner files that the settings name.
    pub book: Book,
    /// The event subscriptions for postbacks.
    pub subscriptions: Subscriptions,
    /// The experiments.
    pub experiments: Experiments,
    /// The cars of the reference file, for look-ups.
    pub vehicles: Vehicles,
}

/// Reads the settings and the files that they name, or returns all faults found.
pub fn load(config: Option<&Path>) -> Result<Loaded, Vec<Fault>> {
    load_with(config, None)
}

/// Like [`load`], with a changed file, if any.
pub(super) fn load_with(config: Option<&Path>, edit: Option<&FileEdit>) -> Result<Loaded, Vec<Fault>> {
    let (settings, mut faults) = Settings::inspect(config, edit);
    let Some(settings) = settings else { return Err(faults) };
    faults.extend(wrong_master_key(&settings));
    faults.extend(database_fault(&settings));
    faults.extend(password_fault(&settings));
    faults.extend(placed(&settings, alerts::faults(&settings.alerts)));
    faults.extend(placed(&settings, TlsIdentities::read(&settings).err().unwrap_or_default()));
    let vehicles = vehicles(&settings);
    let subscriptions = Subscriptions::load(&settings.postbacks, edit);
    let (book, of_book) = Book::inspect(&settings.partners.path);
    let experiments = Experiments::load(&settings, of_book.is_empty().then_some(&book), edit);
    let found = [vehicles.as_ref().err(), subscriptions.as_ref().err(), experiments.as_ref().err()];
    faults.extend(found.into_iter().flatten().flatten().cloned());
    faults.extend(of_book);
    let closed = PartnerClients::new(settings.wire).opened(&book).err().into_iter().flatten();
    let whole = |file: PathBuf| settings.partners.path.join(file);
    faults.extend(closed.map(|fault| Fault { file: fault.file.map(whole), ..fault }));
    match (subscriptions, experiments, vehicles) {
        (Ok(subscriptions), Ok(experiments), Ok(vehicles)) if faults.is_empty() => {
            Ok(Loaded { settings, book, subscriptions, experiments, vehicles })
        }
        _ => Err(faults),
    }
}

/// Names of companies in settings, subscriptions and experiments that are not among the `holders` of tokens, a
/// sentence each.
pub fn without_token(
    settings: &Settings,
    subscriptions: &Subscriptions,
    experiments: &Experiments,
    holders: &BTreeSet<String>,
) -> Vec<String> {
    [
        settings.offer_pages.without_token(holders),
        settings.ranking.without_token(holders),
        subscriptions.without_token(holders),
        experiments.without_token(holders),
    ]
    .concat()
}

/// Reads the reference list of cars.
fn vehicles(settings: &Settings) -> Result<Vehicles, Vec<Fault>> {
    Vehicles::load(settings.reference.vehicles.as_deref())
}

/// The remaining days of each TLS listener's certificate.
pub fn certificate_days(settings: &Settings) -> Result<Vec<(&'static str, u64)>, Vec<Fault>> {
    let days = TlsIdentities::read(settings).and_then(|identities| {
        let days = identities.iter().map(|(listener, identity)| {
            Ok((listener, identity.days_left().map_err(|fault| vec![(format!("{listener}.tls"), fault)])?))
        });
        days.collect()
    });
    days.map_err(|found| placed(settings, found))
}

pub(super) fn note_certificates(tls: &TlsIdentities) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    for (listener, identity) in tls.iter() {
        if let Ok(days) = identity.days_left() {
            let ends = now + Duration::from_secs(days * 24 * 3600);
            gauge!(CERTIFICATE_ENDS, "listener" => listener).set(ends.as_secs_f64());
        }
    }
}

/// Turns messages for keys into faults, each at the place where its key was last set.
pub(super) fn placed(settings: &Settings, found: Vec<(String, String)>) -> Vec<Fault> {
    found.into_iter().map(|(key, message)| settings.fault(&key, message)).collect()
}

fn password_fault(settings: &Settings) -> Option<Fault> {
    let message = PasswordDigest::find(settings.console.password_file.as_deref()).err()?;
    Some(settings.fault("console.password_file", message))
}

/// The fault of a configured master key. Whether it fits the store shows when the store is opened.
pub fn master_key_fault(settings: &Settings) -> Option<Fault> {
    let StoreSettings { path, master_key_file, .. } = &settings.store;
    let error = MasterKey::find(master_key_file.as_deref(), path).err()?;
    let source = settings.describe().iter().find(|(key, ..)| key == "store.master_key_file");
    let file = source.filter(|_| master_key_file.is_some()).map(|(_, _, source)| PathBuf::from(source));
    let next = if error.is_forbidden() { "; run this as the user that the daemon runs as" } else { "" };
    Some(Fault::new(file, "", format!("{error}{next}")))
}

/// The fault in how the database is configured, if one is. Whether it answers shows when it is opened.
pub fn database_fault(settings: &Settings) -> Option<Fault> {
    let (key, message) = Store::database_fault(settings.store.database()?)?;
    Some(settings.fault(key, message))
}

/// Like [`master_key_fault`], except for a key that only another user can read.
pub fn wrong_master_key(settings: &Settings) -> Option<Fault> {
    let StoreSettings { path, master_key_file, .. } = &settings.store;
    let error = MasterKey::find(master_key_file.as_deref(), path).err()?;
    if error.is_forbidden() { None } else { master_key_fault(settings) }
}
