//! TLS identities of the listeners, from the settings.

use std::path::Path;

use offerd_base::config::Settings;
use offerd_web::{Renewal, TlsIdentity};

/// TLS identities by listener name.
#[derive(Debug, Clone)]
pub struct TlsIdentities(Vec<(&'static str, TlsIdentity)>);

/// Valid identities that were read again, per listener, to be put in use later.
pub type Renewals = Vec<(&'static str, Renewal)>;

impl TlsIdentities {
    /// Reads the certificates and keys of the settings. Each error has a key of the settings.
    pub fn read(settings: &Settings) -> Result<Self, Vec<(String, String)>> {
        let Settings { api, integrations, admin, .. } = settings;
        let listeners = [("api", &api.tls), ("integrations", &integrations.tls), ("admin", &admin.tls)];
        let of_tls = listeners.into_iter().filter_map(|(listener, tls)| Some((listener, tls.as_ref()?)));
        // The checks of the settings report a missing name.
        let is_named = |path: &Path| !path.as_os_str().is_empty();
        let of_tls = of_tls.filter(|(_, tls)| is_named(&tls.certificate) && is_named(&tls.key));
        all(of_tls.map(|(listener, tls)| (listener, TlsIdentity::read(&tls.certificate, &tls.key)))).map(Self)
    }

    /// The identity of a listener, if it uses TLS.
    pub fn of(&self, listener: &str) -> Option<&TlsIdentity> {
        self.iter().find(|(name, _)| *name == listener).map(|(_, identity)| identity)
    }

    /// All identities, with the names of their listeners.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &TlsIdentity)> {
        self.0.iter().map(|(listener, identity)| (*listener, identity))
    }

    /// Reads the files again; the identities in use stay until [`show`](Renewal::show) is called.
    pub fn read_again(&self) -> Result<Renewals, IdentityFaults> {
        all(self.iter().map(|(listener, identity)| (listener, identity.read_again())))
    }
}

type IdentityFaults = Vec<(String, String)>;

fn all<T>(
    read: impl Iterator<Item = (&'static str, Result<T, String>)>,
) -> Result<Vec<(&'static str, T)>, IdentityFaults> {
    let (mut good, mut faults) = (Vec::new(), Vec::new());
    for (listener, read) in read {
        match read {
            Ok(read) => good.push((listener, read)),
            Err(fault) => faults.push((format!("{listener}.tls"), fault)),
        }
    }
    if faults.is_empty() { Ok(good) } else { Err(faults) }
}
