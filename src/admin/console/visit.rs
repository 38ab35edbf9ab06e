//! One look at the console: who looks, at what, and what their form says.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use minijinja::context;
use minijinja::value::Value;
use uuid::Uuid;

use super::super::App;
use super::super::audit::{Actor, audit_by, note};
use super::super::transcripts::reason_to_reveal;
use super::proxy;
use super::session::{Person, Session};
use super::templates::{fields, render};
use offerd_model::Attribute;
use offerd_store::users::Role;
use offerd_web::{Failure, Params};

/// A look at the console.
pub(super) struct Visit {
    /// The application.
    pub(super) app: Arc<App>,
    /// The decoded query parameters in their order.
    pub(super) query: Vec<(String, String)>,
    /// The values of the path parameters.
    pub(super) params: Params,
    /// The fields of the form that was sent; nothing where none was.
    pub(super) form: Option<Vec<(String, String)>>,
    /// Who is signed in.
    pub(super) session: Option<Arc<Session>>,
    /// Whom a proxy has signed in.
    pub(super) proxied: Option<Proxied>,
    /// From which address they look, where that is known.
    pub(super) address: Option<IpAddr>,
    /// Whether the page is asked for anew every few seconds.
    pub(super) streams: bool,
}

/// Somebody whom a proxy has signed in, and what stands in every form of theirs.
pub(super) struct Proxied {
    person: Person,
    csrf: String,
}

impl Visit {
    /// The first query parameter of this name, unless it is empty.
    pub(super) fn query_value(&self, name: &str) -> Option<&str> {
        value_of(&self.query, name)
    }

    /// The first field of this name in the form that was sent, unless it is empty.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        value_of(self.form.as_deref()?, name)
    }

    /// Whether leads are taken, as every page shows it at its top.
    ///
    /// # Errors
    /// Our fault.
    pub(super) fn standing(&self) -> Result<String, Failure> {
        let ready = self.app.ready();
        render("standing.html", &context! { ready => ready.is_ok(), trouble => ready.err() })
    }

    /// What stands in every form as the field `csrf`.
    pub(super) fn csrf(&self) -> &str {
        let proxied = self.proxied.as_ref().map(|proxied| &proxied.csrf);
        proxied.or(self.session.as_ref().map(|session| &session.csrf)).unwrap_or(&self.app.console.csrf)
    }

    /// By what right somebody is signed in; nobody where nobody has to.
    pub(super) fn signed_in(&self) -> Option<&str> {
        self.person().map(|person| person.who.as_str())
    }

    /// Who is signed in.
    pub(super) fn person(&self) -> Option<&Person> {
        let proxied = self.proxied.as_ref().map(|proxied| &proxied.person);
        proxied.or(self.session().map(|session| &session.person))
    }

    /// The user who is signed in, by name.
    pub(super) fn user(&self) -> Option<&str> {
        self.person()?.user.as_deref()
    }

    /// What they may. Where nobody has to sign in everybody is an operator; nothing may who has to and has not.
    pub(super) fn role(&self) -> Option<Role> {
        let unguarded = self.is_unguarded().then_some(Role::Operator);
        self.person().map(|person| person.role).or(unguarded)
    }

    /// What that is, for templates.
    pub(super) fn may(&self) -> Value {
        let may = |least| self.role() >= Some(least);
        let [analyst, operator, administrator] =
            [Role::Analyst, Role::Operator, Role::Administrator].map(may);
        fields! { analyst, operator, administrator }
    }

    /// Whether nobody has to sign in.
    pub(super) fn is_unguarded(&self) -> bool {
        !self.app.console.sessions.rules.required
    }

    /// The session that this is part of.
    pub(super) fn session(&self) -> Option<&Session> {
        self.session.as_deref()
    }

    /// Whether what is sent is encrypted on its way.
    pub(super) fn is_secure(&self) -> bool {
        self.app.run_file.admin.starts_with("https:")
    }

    /// Who acts, for the audit: the console, and how it was opened.
    pub(super) fn who(&self) -> String {
        audited(self.signed_in().unwrap_or("open on loopback"))
    }

    /// The same with all that the audit keeps of it.
    pub(super) fn actor(&self) -> Actor {
        Actor { who: self.who(), role: self.role(), from: self.from() }
    }

    /// Somebody of whom nothing is known but where they look from.
    pub(super) fn stranger(&self) -> Actor {
        Actor { who: "nobody".to_owned(), role: None, from: self.from() }
    }

    /// Where they look from, for the audit.
    pub(super) fn from(&self) -> String {
        self.address.map_or_else(|| "console".to_owned(), |address| format!("console {address}"))
    }

    /// Whether a page that is kept open may still be shown.
    pub(super) fn may_stay(&self) -> bool {
        match &self.proxied {
            Some(proxied) => proxy::holds(&self.app, &proxied.person),
            None => self.session().is_none_or(|session| self.app.console.sessions.holds(session)),
        }
    }

    /// The masked attributes of a lead that are to be shown, which the fields `reveal` of a form name: the one that was asked
    /// for, and those that were shown before. That each is shown, and why, is on the disk when this returns; again too, since a form
    /// may be forged.
    ///
    /// # Errors
    /// That none is named, or one that is not masked, that no reason is given, or that it could not be recorded.
    pub(super) async fn reveal(&self, lead: Uuid) -> Result<Vec<&'static str>, Failure> {
        let wrong = || Failure::bad_request("`reveal` must name a masked attribute");
        let fields = self.form.iter().flatten().filter(|(name, _)| name == "reveal");
        let masked = |path: &str| Attribute::named(path).filter(|attribute| attribute.is_masked());
        let named = fields.map(|(_, path)| masked(path).map(|attribute| attribute.path).ok_or_else(wrong));
        let named = named.collect::<Result<BTreeSet<_>, _>>()?;
        if named.is_empty() {
            return Err(wrong());
        }
        let reason = reason_to_reveal(&self.app, lead, self.field("reason").unwrap_or_default()).await?;
        let attributes = named.iter().copied().collect::<Vec<_>>().join(", ");
        let note = note!("personal_data.reveal").about(format!("{attributes} of lead {lead}"));
        self.app.note(&self.actor(), note.because(reason)).await?;
        for attribute in &named {
            audit_by!(self.who(), "personal_data.reveal", %lead, attribute, reason, "personal data revealed");
        }
        Ok(named.into_iter().collect())
    }

    /// Whether the form holds what only our own pages know.
    pub(super) fn has_csrf(&self) -> bool {
        use sha2::{Digest, Sha256};
        // By digest, so that the time reveals nothing of it.
        self.field("csrf").is_some_and(|csrf| Sha256::digest(csrf) == Sha256::digest(self.csrf()))
    }
    /// Runs on a thread that may block: what reads records.
    ///
    /// # Errors
    /// Our fault: it panicked.
    pub(super) async fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&App) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        self.app.reading("a page could not be read", read).await
    }
}

impl Proxied {
    /// There is no session that could hold what stands in their forms, so it is made of a secret of ours and the name.
    pub(super) fn of(app: &App, person: Person) -> Self {
        use sha2::{Digest, Sha256};
        let digest = Sha256::digest(format!("{} {}", app.console.csrf, person.who));
        Self { person, csrf: const_hex::encode(digest) }
    }
}

/// The console, and how it was opened, for the audit.
pub(super) fn audited(how: &str) -> String {
    format!("console, {how}")
}

fn value_of<'v>(values: &'v [(String, String)], name: &str) -> Option<&'v str> {
    let value = values.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    value.filter(|value| !value.is_empty())
}
