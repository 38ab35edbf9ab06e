//! Settings, partner files and the list of cars, read and checked together, so that all their faults are reported at once.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use metrics::gauge;

use crate::admin::password::Password;
use crate::alerts;
use crate::config::{Settings, StoreSettings};
use crate::declaration::Fault;
use crate::experiments::Rules as Experiments;
use crate::http::identities::Identities;
use crate::matching::partner_clients::PartnerClients;
use crate::partners::Book;
use crate::postbacks::Subscriptions;
use crate::reference::Vehicles;
use crate::store::{MasterKey, Store};
use crate::telemetry::metrics::CERTIFICATE_ENDS;

/// What a start and a reload read.
#[derive(Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// The book of the partner files that they name.
    pub book: Book,
    /// Which events are pushed to whom.
    pub subscriptions: Subscriptions,
    /// The experiments.
    pub experiments: Experiments,
    /// The cars of the file that they name.
    pub vehicles: Vehicles,
}

/// Settings, and the files that they name.
///
/// # Errors
/// Every fault of all.
pub fn load(config: Option<&Path>) -> Result<Loaded, Vec<Fault>> {
    let (settings, mut faults) = Settings::inspect(config);
    let Some(settings) = settings else { return Err(faults) };
    faults.extend(wrong_master_key(&settings));
    faults.extend(database_fault(&settings));
    faults.extend(password_fault(&settings));
    faults.extend(alert_faults(&settings));
    faults.extend(certificate_faults(&settings, Identities::read(&settings)));
    let vehicles = vehicles(&settings).unwrap_or_else(|found| {
        faults.extend(found);
        Vehicles::default()
    });
    let subscriptions = Subscriptions::load(&settings.postbacks).unwrap_or_else(|found| {
        faults.extend(found);
        Subscriptions::none(&settings.postbacks)
    });
    let book = Book::load(&settings.partners.path);
    let experiments = Experiments::load(&settings, book.as_ref().ok()).unwrap_or_else(|found| {
        faults.extend(found);
        Experiments::default()
    });
    match book {
        Ok(book) => {
            let closed = PartnerClients::new(settings.wire).opened(&book).err().into_iter().flatten();
            let whole = |file: PathBuf| settings.partners.path.join(file);
            faults.extend(closed.map(|fault| Fault { file: fault.file.map(whole), ..fault }));
            if faults.is_empty() {
                Ok(Loaded { settings, book, subscriptions, experiments, vehicles })
            } else {
                Err(faults)
            }
        }
        Err(of_partners) => {
            faults.extend(of_partners);
            Err(faults)
        }
    }
}

/// The cars that are looked up.
///
/// # Errors
/// Every fault of the file.
pub fn vehicles(settings: &Settings) -> Result<Vehicles, Vec<Fault>> {
    Vehicles::load(settings.reference.vehicles.as_deref())
}

/// How many days the certificate of each listener that speaks TLS stays in force.
///
/// # Errors
/// Every fault of the certificates.
pub fn certificate_days(settings: &Settings) -> Result<Vec<(&'static str, u64)>, Vec<Fault>> {
    let identities = Identities::read(settings);
    let days = identities.map(|identities| {
        let days = identities.shown().map(|(listener, identity)| match identity.days_left() {
            Ok(days) => Ok((listener, days)),
            Err(fault) => Err((format!("{listener}.tls"), fault)),
        });
        days.collect::<Result<Vec<_>, _>>().map_err(|fault| vec![fault])
    });
    match days {
        Ok(Ok(days)) => Ok(days),
        Ok(Err(faults)) | Err(faults) => Err(certificate_faults::<()>(settings, Err(faults))),
    }
}

/// Tells the metrics until when the certificates are good that are shown from now on.
pub(super) fn note_certificates(shown: &Identities) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    for (listener, identity) in shown.shown() {
        // One that cannot be read was refused before.
        if let Ok(days) = identity.days_left() {
            let ends = now + Duration::from_secs(days * 24 * 3600);
            gauge!(CERTIFICATE_ENDS, "listener" => listener).set(ends.as_secs_f64());
        }
    }
}

/// What is wrong with the certificates of the listeners.
pub(super) fn certificate_faults<T>(
    settings: &Settings,
    read: Result<T, Vec<(String, String)>>,
) -> Vec<Fault> {
    let faults = read.err().unwrap_or_default();
    faults.into_iter().map(|(key, message)| settings.fault(&key, message)).collect()
}

/// What is wrong with how alerts are told.
fn alert_faults(settings: &Settings) -> impl Iterator<Item = Fault> {
    let found = alerts::faults(&settings.alerts).into_iter();
    found.map(|(key, message)| settings.fault(&key, message))
}

/// What is wrong with the console's password, if one is given.
fn password_fault(settings: &Settings) -> Option<Fault> {
    let message = Password::find(settings.console.password_file.as_deref()).err()?;
    Some(settings.fault("console.password_file", message))
}

/// What is wrong with the master key that is given, if one is, for who needs it. Whether it is the store's is seen when that is
/// opened.
pub fn master_key_fault(settings: &Settings) -> Option<Fault> {
    let StoreSettings { path, master_key_file, .. } = &settings.store;
    let error = MasterKey::find(master_key_file.as_deref(), path).err()?;
    let source = settings.describe().iter().find(|(key, ..)| key == "store.master_key_file");
    let file = source.filter(|_| master_key_file.is_some()).map(|(_, _, source)| PathBuf::from(source));
    let next = if error.is_forbidden() { "; go on as the user that the daemon runs as" } else { "" };
    Some(Fault { file, line: None, key: String::new(), message: format!("{error}{next}") })
}

/// What is wrong with how the database is named, if one is. Whether it answers is seen when it is opened.
pub fn database_fault(settings: &Settings) -> Option<Fault> {
    let database = settings.store.database()?;
    let (key, message) = Store::database_fault(database)?;
    Some(settings.fault(key, message))
}

/// The same, for who needs none: that another user's cannot be read is no fault then.
pub fn wrong_master_key(settings: &Settings) -> Option<Fault> {
    let StoreSettings { path, master_key_file, .. } = &settings.store;
    let error = MasterKey::find(master_key_file.as_deref(), path).err()?;
    if error.is_forbidden() { None } else { master_key_fault(settings) }
}
