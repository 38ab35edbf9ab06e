//! One look at the console: who looks, at what, and what their form says.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper::header::{ACCEPT, COOKIE, HOST, HeaderName, ORIGIN};
use hyper::{HeaderMap, Method, StatusCode};
use minijinja::context;
use minijinja::value::Value;
use tracing::error;
use uuid::Uuid;

use super::super::App;
use super::super::audit::{Actor, Note};
use super::super::transcripts::reason_to_reveal;
use super::session::{Person, Session};
use super::templates::render;
use super::view::{Page, View, fields, sealed, see};
use super::{live, proxy, sign_in};
use crate::model::Attribute;
use crate::store::users::Role;
use crate::web::{Context, Failure, Params, Reply};

/// Longest body of a form.
const FORM_BYTES: usize = 64 * 1024;

/// Longest time that its arrival may take.
const FORM_TIMEOUT: Duration = Duration::from_secs(10);

/// What browsers say of where a request comes from.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The cookie that holds a session.
pub(super) const COOKIE_NAME: &str = "offerd_console";

/// Shows a page; `page!` makes one of an `async fn`.
pub(super) type Show = fn(Arc<Visit>) -> BoxFuture<'static, Result<View, Failure>>;

/// Does what a form says; `act!` makes one of an `async fn`.
pub(super) type Act = fn(Arc<Visit>) -> BoxFuture<'static, Result<Reply, Failure>>;

/// Puts an `async fn(Arc<Visit>) -> Result<View, Failure>` into the route table, for those who have at least a role.
macro_rules! page {
    ($least:ident, $show:path) => {
        (Some($crate::store::users::Role::$least), |context| {
            let show: $crate::admin::console::visit::Show = |visit| ::std::boxed::Box::pin($show(visit));
            let least = $crate::store::users::Role::$least;
            ::std::boxed::Box::pin($crate::admin::console::visit::showing(context, least, show))
        })
    };
}

/// Puts an `async fn(Arc<Visit>) -> Result<Reply, Failure>` into the route table, for those who have at least a role.
macro_rules! act {
    ($least:ident, $act:path) => {
        (Some($crate::store::users::Role::$least), |context| {
            let act: $crate::admin::console::visit::Act = |visit| ::std::boxed::Box::pin($act(visit));
            let least = $crate::store::users::Role::$least;
            ::std::boxed::Box::pin($crate::admin::console::visit::acting(context, least, act))
        })
    };
}

pub(super) use {act, page};

/// A look at the console.
pub(super) struct Visit {
    /// The application.
    pub(super) app: Arc<App>,
    /// The decoded query parameters in their order.
    pub(super) query: Vec<(String, String)>,
    /// The values of the path parameters.
    pub(super) params: Params,
    /// The fields of the form that was sent; nothing where none was.
    form: Option<Vec<(String, String)>>,
    /// Who is signed in.
    session: Option<Arc<Session>>,
    /// Whom a proxy has signed in.
    proxied: Option<Proxied>,
    /// From which address they look, where that is known.
    address: Option<IpAddr>,
}

/// Somebody whom a proxy has signed in, and what stands in every form of theirs.
struct Proxied {
    person: Person,
    csrf: String,
}

impl Visit {
    /// A page rendered for this visit.
    ///
    /// # Errors
    /// Our fault.
    pub(super) fn view(&self, page: Page, fields: Value) -> Result<View, Failure> {
        View::of(self, page, fields)
    }

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
        !self.app.console.sessions.required()
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
        let note = Note::of("personal_data.reveal").about(format!("{attributes} of lead {lead}"));
        self.app.note(&self.actor(), note.because(reason)).await?;
        for attribute in &named {
            audit!(self, "personal_data.reveal", %lead, attribute, reason, "personal data revealed");
        }
        Ok(named.into_iter().collect())
    }

    /// Runs on a thread that may block: what reads records.
    ///
    /// # Errors
    /// Our fault: it panicked.
    pub(super) async fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&App) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let app = Arc::clone(&self.app);
        tokio::task::spawn_blocking(move || read(&app)).await.map_err(|error| {
            error!(%error, "a page could not be read");
            Failure::internal()
        })
    }
}

/// Writes one line of the audit log: `audit!(visit, "partner.pause", partner = key, "partner paused")`.
macro_rules! audit {
    ($visit:expr, $action:literal, $($fields:tt)+) => {
        ::tracing::info!(
            target: $crate::telemetry::logging::AUDIT,
            who = $visit.who(),
            action = $action,
            $($fields)+
        )
    };
}

pub(super) use audit;

/// The console, and how it was opened, for the audit.
pub(super) fn audited(how: &str) -> String {
    format!("console, {how}")
}

/// Answers with a page or, where it is asked for, with the page anew every few seconds.
pub(super) async fn showing(context: Context<App>, least: Role, show: Show) -> Result<Reply, Failure> {
    let wants_stream = wants_stream(&context.request.method, &context.request.headers);
    let visit = match enter(context, least).await {
        Ok(visit) => Arc::new(visit),
        Err(turned_away) => return turned_away,
    };
    if wants_stream {
        return live::stream(visit, show).await;
    }
    match show(Arc::clone(&visit)).await {
        Ok(view) => view.reply(&visit),
        Err(failure) => View::failure(None, &failure)?.reply(&visit),
    }
}

/// Does what a form says.
pub(super) async fn acting(context: Context<App>, least: Role, act: Act) -> Result<Reply, Failure> {
    let visit = match enter(context, least).await {
        Ok(visit) => Arc::new(visit),
        Err(turned_away) => return turned_away,
    };
    match act(Arc::clone(&visit)).await {
        Ok(reply) => Ok(reply),
        Err(failure) => View::failure(None, &failure)?.reply(&visit),
    }
}

/// Lets a request in, or gives what it is answered instead: who has to sign in is sent to where that is done, who has too little
/// a role is told which one is wanted.
async fn enter(context: Context<App>, least: Role) -> Result<Visit, Result<Reply, Failure>> {
    let wanted = context.request.uri.path().to_owned();
    let wants_stream = wants_stream(&context.request.method, &context.request.headers);
    let visit = enter_unasked(context).await?;
    match visit.role() {
        Some(role) if role >= least => return Ok(visit),
        Some(role) => {
            let failure = not_for(role, least);
            return Err(View::failure(None, &failure).and_then(|view| view.reply(&visit)));
        }
        None => {}
    }
    if wants_stream {
        // A redirection would not reach who reads a stream.
        return Err(Ok(sealed(Reply::empty(StatusCode::NO_CONTENT))));
    }
    let next: String = form_urlencoded::byte_serialize(wanted.as_bytes()).collect();
    Err(see(&format!("{}?next={next}", sign_in::PATH)))
}

fn not_for(role: Role, least: Role) -> Failure {
    let (is, wanted) = (role.word(), least.word());
    let more = if least < Role::Administrator { " or one who may more" } else { "" };
    let article = |word: &str| if word.starts_with(['a', 'o']) { "an" } else { "a" };
    Failure::forbidden(&format!(
        "this is for {} {wanted}{more}, and you are signed in as {} {is}; an administrator can change your role",
        article(wanted),
        article(is)
    ))
}

/// Like [`enter`], for pages that nobody has to sign in for.
pub(super) async fn enter_unasked(mut context: Context<App>) -> Result<Visit, Result<Reply, Failure>> {
    let mut form = None;
    if context.request.method == Method::POST {
        let fields = context.request.read_form(FORM_BYTES, FORM_TIMEOUT).await;
        form = Some(fields.map_err(Err)?);
    }
    let Context { app, mut request, params, .. } = context;
    let session = cookie(&request.headers).and_then(|cookie| app.console.sessions.of(cookie));
    // A page that refreshes itself is nobody who does something.
    if let Some(session) = session.as_ref().filter(|_| !wants_stream(&request.method, &request.headers)) {
        session.touch();
    }
    let query = std::mem::take(&mut request.query);
    let address = request.client(&app.settings().limits.trusted_proxies);
    let named = proxy::named(&app, &request);
    let mut visit = Visit { app, query, params, form, session, proxied: None, address };
    match named {
        Ok(person) => visit.proxied = person.map(|person| Proxied::of(&visit.app, person)),
        Err(failure) => {
            visit.session = None;
            return Err(View::failure(None, &failure).and_then(|view| view.reply(&visit)));
        }
    }
    if visit.is_unguarded() && visit.proxied.is_none() && !is_local(&request.headers) {
        let failure = Failure::forbidden(
            "the console is open on loopback only by the names of loopback; \
             for another name set `console.sign_in` to \"always\"",
        );
        return Err(View::failure(None, &failure).and_then(|view| view.reply(&visit)));
    }
    if visit.form.is_some() && !(is_ours(&request.headers) && visit.has_csrf()) {
        let failure =
            Failure::forbidden("this form was not sent from the console, or is too old; load the page again");
        return Err(View::failure(None, &failure).and_then(|view| view.reply(&visit)));
    }
    Ok(visit)
}

impl Proxied {
    /// There is no session that could hold what stands in their forms, so it is made of a secret of ours and the name.
    fn of(app: &App, person: Person) -> Self {
        use sha2::{Digest, Sha256};
        let digest = Sha256::digest(format!("{} {}", app.console.csrf, person.who));
        Self { person, csrf: const_hex::encode(digest) }
    }
}

impl Visit {
    /// Whether the form holds what only our own pages know.
    fn has_csrf(&self) -> bool {
        use sha2::{Digest, Sha256};
        // By digest, so that the time reveals nothing of it.
        self.field("csrf").is_some_and(|csrf| Sha256::digest(csrf) == Sha256::digest(self.csrf()))
    }
}

/// The cookie of a session, if one was sent.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let mut cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.find_map(|cookies| {
        let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value)
    })
}

/// Whether a request names us as loopback is named. A name that somebody else owns and has pointed at loopback would make their
/// page one of ours.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST) else { return true };
    let host = host.to_str().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(address, _)| address),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.parse::<IpAddr>().is_ok() || name == "localhost" || name.ends_with(".localhost")
}

/// Whether a browser says that a form was sent by a page of ours. One that says nothing has only the form itself to show.
fn is_ours(headers: &HeaderMap) -> bool {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let site = text(&SEC_FETCH_SITE).is_none_or(|site| site == "same-origin");
    let origin = text(&ORIGIN).is_none_or(|origin| {
        let host = origin.split_once("://").map(|(_, host)| host);
        text(&HOST).is_none_or(|own| host == Some(own))
    });
    site && origin
}

fn wants_stream(method: &Method, headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    *method == Method::GET && accept == Some("text/event-stream")
}

fn value_of<'v>(values: &'v [(String, String)], name: &str) -> Option<&'v str> {
    let value = values.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    value.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn a_name_that_anybody_may_own_is_not_loopback() {
        let local = |host: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            is_local(&headers)
        };
        for host in
            ["127.0.0.1:8082", "localhost:8082", "localhost", "[::1]:8082", "offerd.localhost:1", "10.0.0.7"]
        {
            assert!(local(host), "{host}");
        }
        for host in ["evil.example:8082", "localhost.evil.example", "127.0.0.1.evil.example:8082", "", "[::1"]
        {
            assert!(!local(host), "{host}");
        }
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("a=1; xofferd_console=2; offerd_console=3"));
        assert_eq!(cookie(&headers), Some("3"));
        assert_eq!(cookie(&HeaderMap::new()), None);
    }

    #[test]
    fn a_form_of_another_site_is_told_from_ours() {
        let ours = |pairs: &[(HeaderName, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(name, HeaderValue::from_static(value));
            }
            is_ours(&headers)
        };
        let host = (HOST, "localhost:8082");
        assert!(ours(std::slice::from_ref(&host)));
        assert!(ours(&[host.clone(), (ORIGIN, "http://localhost:8082"), (SEC_FETCH_SITE, "same-origin")]));
        assert!(!ours(&[host.clone(), (ORIGIN, "http://localhost:8083")]));
        assert!(!ours(&[host.clone(), (ORIGIN, "null")]));
        for site in ["same-site", "cross-site", "none"] {
            assert!(!ours(&[host.clone(), (SEC_FETCH_SITE, site)]), "{site}");
        }
    }
}
