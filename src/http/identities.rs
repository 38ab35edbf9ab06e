//! Who the listeners say they are, by the settings.

use crate::config::{Settings, TlsSettings};
use crate::web::Identity;

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

    /// Reads them again, for the connections to come, and tells what came of it. One with a fault stays as it was.
    pub fn reload(&self) {
        let all = [("api", &self.api), ("integrations", &self.integrations), ("admin", &self.admin)];
        for (listener, identity) in all {
            match identity.as_ref().map(Identity::reload) {
                None => {}
                Some(Ok(())) => tracing::info!(listener, "certificate reloaded"),
                Some(Err(fault)) => {
                    tracing::error!(listener, fault, "certificate not reloaded; it stays as it was");
                }
            }
        }
    }
}
