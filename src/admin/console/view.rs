//! A page on its way to the browser: its fields go through its template, the layout goes around it, and headers see to it
//! that nothing else is loaded, framed or kept.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use minijinja::context;
use minijinja::value::Value;

use super::history;
pub(super) use super::section::Section;
pub(super) use super::templates::fields;
use super::templates::render;
pub(super) use super::visit::Visit;
use offerd_web::{Failure, Reply, our_fault};

/// Longest time between two signs of life of a page that is kept open.
pub(super) const BEAT: Duration = history::EVERY;

/// All that a page may do: be drawn with our style sheet, our script and our images, listen to us, and send forms to us.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page: where it belongs, its template, and how often it is rendered anew for who keeps it open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    section: Section,
    template: &'static str,
    fresh: Option<Duration>,
}

impl Page {
    pub(super) const fn new(section: Section, template: &'static str) -> Self {
        Self { section, template, fresh: None }
    }

    /// The same, rendered anew so often.
    pub(super) const fn fresh(self, every: Duration) -> Self {
        Self { fresh: Some(every), ..self }
    }
}

/// A rendered page, or what is answered instead of one.
#[derive(Default)]
pub(super) struct View {
    title: String,
    section: Option<Section>,
    status: StatusCode,
    /// How often it is rendered anew.
    pub(super) fresh: Option<Duration>,
    /// The inside of `<main>`.
    pub(super) main: String,
    /// A redirection or a file instead of a page.
    pub(super) instead: Option<Reply>,
}

impl Visit {
    /// A page rendered for this visit. Its template is given the fields, `csrf` for its forms, and what its reader `may`.
    ///
    /// # Errors
    /// Our fault.
    pub(super) fn view(&self, page: Page, fields: Value) -> Result<View, Failure> {
        let main = render(page.template, &context! { csrf => self.csrf(), may => self.may(), ..fields })?;
        let title = page.section.title().to_owned();
        Ok(View { title, section: Some(page.section), fresh: page.fresh, main, ..View::default() })
    }

    /// A page outside the sections.
    ///
    /// # Errors
    /// Our fault.
    pub(super) fn bare(&self, title: &str, template: &str, fields: Value) -> Result<View, Failure> {
        let main = render(template, &context! { csrf => self.csrf(), ..fields })?;
        Ok(View { title: title.to_owned(), main, ..View::default() })
    }
}

impl View {
    /// The same under another title than that of its section.
    pub(super) fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// A page that shows a failure.
    pub(super) fn failure(failure: &Failure) -> Result<Self, Failure> {
        let status = failure.status;
        let title = status.canonical_reason().unwrap_or("Failure");
        let fields = context! { status => status.as_u16(), reason => title, message => failure.words() };
        let main = render("failure.html", &fields)?;
        Ok(Self { title: title.to_owned(), status, main, ..Self::default() })
    }

    /// The same with another status.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The same with the status of what failed before it was shown, if anything has.
    pub(super) fn failed(self, failure: Option<&Failure>) -> Self {
        Self { status: failure.map_or(self.status, |failure| failure.status), ..self }
    }

    /// No page, but where there is one: what a form that has done its work answers.
    ///
    /// # Errors
    /// Our fault: a path that is none.
    pub(super) fn at(path: &str) -> Result<Self, Failure> {
        see(path).map(Self::from)
    }

    /// The whole page.
    pub(super) fn reply(self, visit: &Visit) -> Result<Reply, Failure> {
        let Self { title, section, status, fresh, main, instead } = self;
        if let Some(reply) = instead {
            return Ok(reply);
        }
        let is_shared = visit.app.settings().store.database().is_some();
        let is_seen = |seen: Section| {
            visit.app.console.least_role(seen.path()) <= visit.role() && (is_shared || seen != Section::Nodes)
        };
        let fields = context! {
            title,
            sections => visit.role().map(|_| Section::entries(section, is_seen)),
            main => Value::from_safe_string(main),
            // What shows a failure, or asks to sign in, is not kept open.
            beat => section.map(|_| BEAT.as_secs()),
            live => fresh.is_some(),
            standing => Value::from_safe_string(visit.standing()?),
            who => visit.signed_in(),
            user => visit.user(),
            signs_out => visit.session().is_some(),
            // Said on every page: nobody else would be told.
            unguarded => visit.is_unguarded(),
            csrf => visit.csrf(),
            version => env!("CARGO_PKG_VERSION"),
        };
        let page = render("layout.html", &fields)?;
        Ok(sealed(Reply::bytes("text/html; charset=utf-8", page).status(status)))
    }
}

impl From<Reply> for View {
    fn from(reply: Reply) -> Self {
        Self { instead: Some(sealed(reply)), ..Self::default() }
    }
}

/// What came of a form, and why nothing did where it failed.
pub(super) fn outcome<T: Default>(came: Result<T, Failure>) -> (T, Option<Failure>) {
    match came {
        Ok(done) => (done, None),
        Err(failure) => (T::default(), Some(failure)),
    }
}

/// The headers that every answer of the console has.
pub(super) fn sealed(reply: Reply) -> Reply {
    let fixed = HeaderValue::from_static;
    reply
        .header(CONTENT_SECURITY_POLICY, fixed(POLICY))
        .header(X_CONTENT_TYPE_OPTIONS, fixed("nosniff"))
        // Nobody else learns where one was. Without any referrer a browser would not show us either that a form is ours.
        .header(REFERRER_POLICY, fixed("same-origin"))
        .header(CACHE_CONTROL, fixed("no-store"))
        .header(HeaderName::from_static("x-frame-options"), fixed("DENY"))
        .header(HeaderName::from_static("cross-origin-opener-policy"), fixed("same-origin"))
        .header(HeaderName::from_static("cross-origin-resource-policy"), fixed("same-origin"))
}

/// Where to look next.
///
/// # Errors
/// Our fault: a path that is none.
pub(super) fn see(path: &str) -> Result<Reply, Failure> {
    let path = HeaderValue::try_from(path).map_err(our_fault("a path cannot be written in a header"))?;
    Ok(sealed(Reply::empty(StatusCode::SEE_OTHER).header(LOCATION, path)))
}
