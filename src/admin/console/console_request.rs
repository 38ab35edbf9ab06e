//! A request to the console: visitor, path and form.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use minijinja::context;
use minijinja::value::Value;
use uuid::Uuid;

use super::super::AdminState;
use super::super::audit::{AuditActor, audit_by, note};
use super::super::command::Result;
use super::super::reasons::reason_about;
use super::proxy;
use super::session::{ConsolePrincipal, Session};
use super::templates::{fields, render};
use offerd_model::Attribute;
use offerd_store::users::Role;
use offerd_web::{Failure, Params};

pub(super) struct ConsoleRequest {
    pub(super) app: Arc<AdminState>,
    pub(super) query: Vec<(String, String)>,
    pub(super) params: Params,
    pub(super) form: Option<Vec<(String, String)>>,
    pub(super) session: Option<Arc<Session>>,
    pub(super) proxied: Option<Proxied>,
    pub(super) address: Option<IpAddr>,
    pub(super) streams: bool,
}

/// A visitor that a proxy has signed in, with the CSRF token of their forms.
pub(super) struct Proxied {
    person: ConsolePrincipal,
    csrf: String,
}

impl ConsoleRequest {
    pub(super) fn query_value(&self, name: &str) -> Option<&str> {
        value_of(&self.query, name)
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        value_of(self.form.as_deref()?, name)
    }

    /// Whether leads are accepted, as shown at the top of every page.
    pub(super) fn standing(&self) -> Result<String> {
        let ready = self.app.ready();
        render("standing.html", &context! { ready => ready.is_ok(), trouble => ready.err() })
    }

    pub(super) fn csrf(&self) -> &str {
        let proxied = self.proxied.as_ref().map(|proxied| &proxied.csrf);
        proxied.or(self.session.as_ref().map(|session| &session.csrf)).unwrap_or(&self.app.console.csrf)
    }

    /// The visitor's name in the audit log; `None` without a sign-in.
    pub(super) fn signed_in(&self) -> Option<&str> {
        self.person().map(|person| person.who.as_str())
    }

    pub(super) fn person(&self) -> Option<&ConsolePrincipal> {
        self.proxied.as_ref().map(|proxied| &proxied.person).or(self.session().map(|session| &session.person))
    }

    pub(super) fn user(&self) -> Option<&str> {
        self.person()?.user.as_deref()
    }

    /// Operator when no sign-in is required; none for a visitor who must sign in and has not.
    pub(super) fn role(&self) -> Option<Role> {
        let unguarded = self.is_unguarded().then_some(Role::Operator);
        self.person().map(|person| person.role).or(unguarded)
    }

    pub(super) fn may(&self) -> Value {
        let is = |least| self.role() >= Some(least);
        let [analyst, operator, administrator] = [Role::Analyst, Role::Operator, Role::Administrator].map(is);
        fields! { analyst, operator, administrator }
    }

    pub(super) fn is_unguarded(&self) -> bool {
        !self.app.console.sessions.rules.required
    }

    pub(super) fn session(&self) -> Option<&Session> {
        self.session.as_deref()
    }

    pub(super) fn is_secure(&self) -> bool {
        self.app.run_file.admin.starts_with("https:")
    }

    /// The actor's name for the audit log: the console and the credential.
    pub(super) fn who(&self) -> String {
        audited(self.signed_in().unwrap_or("open on loopback"))
    }

    pub(super) fn actor(&self) -> AuditActor {
        AuditActor { who: self.who(), role: self.role(), from: self.from() }
    }

    /// An unknown actor, of whom only the address is known.
    pub(super) fn stranger(&self) -> AuditActor {
        AuditActor { who: "nobody".to_owned(), role: None, from: self.from() }
    }

    pub(super) fn from(&self) -> String {
        self.address.map_or_else(|| "console".to_owned(), |address| format!("console {address}"))
    }

    pub(super) fn may_stay(&self) -> bool {
        match &self.proxied {
            Some(proxied) => proxy::holds(&self.app, &proxied.person),
            None => self.session().is_none_or(|session| self.app.console.sessions.holds(session)),
        }
    }

    /// Reveals the masked attributes of a lead that the `reveal` fields of a form name. Each reveal and its
    /// reason is durable in the audit when this returns, since a form may be forged. Fails without a reason.
    pub(super) async fn reveal(&self, lead: Uuid) -> Result<Vec<&'static str>> {
        let wrong = || Failure::bad_request("`reveal` must name a masked attribute");
        let fields = self.form.iter().flatten().filter(|(name, _)| name == "reveal");
        let masked = |path: &str| Attribute::named(path).filter(|attribute| attribute.is_masked());
        let named = fields.map(|(_, path)| masked(path).map(|attribute| attribute.path).ok_or_else(wrong));
        let named = named.collect::<Result<BTreeSet<_>, _>>()?;
        if named.is_empty() {
            return Err(wrong());
        }
        let reason = reason_about(&self.app, lead, self.field("reason").unwrap_or_default()).await?;
        let attributes = named.iter().copied().collect::<Vec<_>>().join(", ");
        let note = note!("personal_data.reveal").about(format!("{attributes} of lead {lead}"));
        self.app.note(&self.actor(), note.because(reason)).await?;
        for attribute in &named {
            audit_by!(self.who(), "personal_data.reveal", %lead, attribute, reason, "personal data revealed");
        }
        Ok(named.into_iter().collect())
    }

    pub(super) fn has_csrf(&self) -> bool {
        use sha2::{Digest, Sha256};
        // Compared by digest, so that the timing reveals nothing of it.
        self.field("csrf").is_some_and(|csrf| Sha256::digest(csrf) == Sha256::digest(self.csrf()))
    }
    /// Runs `read` on a blocking thread, for access to records. Fails when it panics.
    pub(super) async fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&AdminState) -> T + Send + 'static,
    ) -> Result<T> {
        self.app.reading("a page could not be read", read).await
    }
}

impl Proxied {
    /// No session stores a CSRF token for proxied visitors, so it is derived from our secret and the name.
    pub(super) fn of(app: &AdminState, person: ConsolePrincipal) -> Self {
        use sha2::{Digest, Sha256};
        let digest = Sha256::digest(format!("{} {}", app.console.csrf, person.who));
        Self { person, csrf: const_hex::encode(digest) }
    }
}

pub(super) fn audited(how: &str) -> String {
    format!("console, {how}")
}

fn value_of<'v>(values: &'v [(String, String)], name: &str) -> Option<&'v str> {
    let value = values.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    value.filter(|value| !value.is_empty())
}
