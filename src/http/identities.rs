//! Who the listeners say they are, by the settings.

use crate::config::{Settings, TlsSettings};
use crate::web::{Identity, Renewal};

/// The identity of each listener that speaks TLS.
#[derive(Debug, Clone)]
pub struct Identities {
    /// Of the api listener.
    pub api: Option<Identity>,
    /// Of the integrations listener.
    pub integrations: Option<Identity>,
    /// Of the admin listener.
    pub admin: Option<Identity>,
}

/// What was read again and is good, to be shown from some moment on.
pub struct Renewals(Vec<Renewal>);

impl Renewals {
    /// Shows all of it, to the connections to come.
    pub fn show(self) {
        self.0.into_iter().for_each(Renewal::show);
    }
}

impl Identities {
    /// Reads the certificates and keys that the settings name.
    ///
    /// # Errors
    /// A key of the settings and a sentence that names the file, for each listener with a fault.
    pub fn read(settings: &Settings) -> Result<Self, Vec<(String, String)>> {
        let mut faults = Vec::new();
        let mut of = |listener: &str, tls: Option<&TlsSettings>| {
            let read = tls.map(|tls| Identity::read(&tls.certificate, &tls.key)).transpose();
            read.unwrap_or_else(|fault| {
                faults.push((format!("{listener}.tls"), fault));
                None
            })
        };
        let identities = Self {
            api: of("api", settings.api.tls.as_ref()),
            integrations: of("integrations", settings.integrations.tls.as_ref()),
            admin: of("admin", settings.admin.tls.as_ref()),
        };
        if faults.is_empty() { Ok(identities) } else { Err(faults) }
    }

    /// Those there are, with the names of their listeners.
    pub fn shown(&self) -> impl Iterator<Item = (&'static str, &Identity)> {
        let all = [("api", &self.api), ("integrations", &self.integrations), ("admin", &self.admin)];
        all.into_iter().filter_map(|(listener, identity)| Some((listener, identity.as_ref()?)))
    }

    /// Reads them again, and leaves what is shown as it is until [`Renewals::show`].
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_again(&self) -> Result<Renewals, Vec<(String, String)>> {
        let (mut renewals, mut faults) = (Vec::new(), Vec::new());
        for (listener, identity) in self.shown() {
            match identity.read_again() {
                Ok(renewal) => renewals.push(renewal),
                Err(fault) => faults.push((format!("{listener}.tls"), fault)),
            }
        }
        if faults.is_empty() { Ok(Renewals(renewals)) } else { Err(faults) }
    }
}
