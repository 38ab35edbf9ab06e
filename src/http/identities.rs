//! Who the listeners say they are, by the settings.

use offerd_base::config::Settings;
use offerd_web::{Identity, Renewal};

/// The identities of the listeners that speak TLS, by their names.
#[derive(Debug, Clone)]
pub struct Identities(Vec<(&'static str, Identity)>);

/// What was read again for each listener and is good, to be shown from some moment on.
pub type Renewals = Vec<(&'static str, Renewal)>;

impl Identities {
    /// Reads the certificates and keys that the settings name.
    ///
    /// # Errors
    /// A key of the settings and a sentence that names the file, for each listener with a fault.
    pub fn read(settings: &Settings) -> Result<Self, Vec<(String, String)>> {
        let Settings { api, integrations, admin, .. } = settings;
        let listeners = [("api", &api.tls), ("integrations", &integrations.tls), ("admin", &admin.tls)];
        let of_tls = listeners.into_iter().filter_map(|(listener, tls)| Some((listener, tls.as_ref()?)));
        all(of_tls.map(|(listener, tls)| (listener, Identity::read(&tls.certificate, &tls.key)))).map(Self)
    }

    /// That of a listener, if it speaks TLS.
    pub fn of(&self, listener: &str) -> Option<&Identity> {
        self.shown().find(|(name, _)| *name == listener).map(|(_, identity)| identity)
    }

    /// All of them, with the names of their listeners.
    pub fn shown(&self) -> impl Iterator<Item = (&'static str, &Identity)> {
        self.0.iter().map(|(listener, identity)| (*listener, identity))
    }

    /// Reads them again, and leaves what is shown as it is until each is told to [`show`](Renewal::show).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_again(&self) -> Result<Renewals, Faults> {
        all(self.shown().map(|(listener, identity)| (listener, identity.read_again())))
    }
}

/// What cannot be read, each with its key of the settings.
type Faults = Vec<(String, String)>;

/// What was read for each listener, or every fault.
fn all<T>(
    read: impl Iterator<Item = (&'static str, Result<T, String>)>,
) -> Result<Vec<(&'static str, T)>, Faults> {
    let (mut good, mut faults) = (Vec::new(), Vec::new());
    for (listener, read) in read {
        match read {
            Ok(read) => good.push((listener, read)),
            Err(fault) => faults.push((format!("{listener}.tls"), fault)),
        }
    }
    if faults.is_empty() { Ok(good) } else { Err(faults) }
}
