//! Renders a page: its fields go through its template, and the layout surrounds it.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use minijinja::context;
use minijinja::value::Value;

use super::super::command::Result;
pub(super) use super::console_request::ConsoleRequest;
use super::history;
pub(super) use super::templates::fields;
use super::templates::render;
use offerd_web::{Failure, Reply, our_fault};

/// Heartbeat interval of an open page stream.
pub(super) const BEAT: Duration = history::EVERY;

/// Only our style sheet, script and images, connections and forms.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[derive(Debug, Clone, Copy)]
pub(super) struct ConsolePage {
    section: Section,
    template: &'static str,
    fresh: Option<Duration>,
}

impl ConsolePage {
    pub(super) const fn new(section: Section, template: &'static str) -> Self {
        Self { section, template, fresh: None }
    }

    pub(super) const fn fresh(self, every: Duration) -> Self {
        Self { fresh: Some(every), ..self }
    }
}

#[derive(Default)]
pub(super) struct View {
    title: String,
    section: Option<Section>,
    status: StatusCode,
    pub(super) fresh: Option<Duration>,
    pub(super) main: String,
    /// A redirect or a file in place of a page.
    pub(super) instead: Option<Reply>,
}

impl ConsoleRequest {
    /// Its template gets the fields, `csrf` for its forms, and the visitor's permissions as `may`.
    pub(super) fn view(&self, page: ConsolePage, fields: Value) -> Result<View> {
        let main = render(page.template, &context! { csrf => self.csrf(), may => self.may(), ..fields })?;
        let title = page.section.title().to_owned();
        Ok(View { title, section: Some(page.section), fresh: page.fresh, main, ..View::default() })
    }

    pub(super) fn bare(&self, title: &str, template: &str, fields: Value) -> Result<View> {
        let main = render(template, &context! { csrf => self.csrf(), ..fields })?;
        Ok(View { title: title.to_owned(), main, ..View::default() })
    }
}

impl View {
    pub(super) fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    pub(super) fn failure(failure: &Failure) -> Result<Self> {
        let status = failure.status;
        let title = status.canonical_reason().unwrap_or("Failure");
        let fields = context! { status => status.as_u16(), reason => title, message => failure.words() };
        let main = render("failure.html", &fields)?;
        Ok(Self { title: title.to_owned(), status, main, ..Self::default() })
    }

    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(super) fn failed(self, failure: Option<&Failure>) -> Self {
        Self { status: failure.map_or(self.status, |failure| failure.status), ..self }
    }

    /// A redirect to a page, the answer of a successful form. Fails when the path is invalid.
    pub(super) fn at(path: &str) -> Result<Self> {
        see(path).map(Self::from)
    }

    pub(super) fn reply(self, request: &ConsoleRequest) -> Result<Reply> {
        let Self { title, section, status, fresh, main, instead } = self;
        if let Some(reply) = instead {
            return Ok(reply);
        }
        let is_shared = request.app.settings().store.database().is_some();
        let is_seen = |seen: Section| {
            request.app.console.least_role(seen.path()) <= request.role()
                && (is_shared || seen != Section::Nodes)
        };
        let fields = context! {
            title,
            sections => request.role().map(|_| Section::entries(section, is_seen)),
            main => Value::from_safe_string(main),
            // Failure and sign-in pages are not kept open.
            beat => section.map(|_| BEAT.as_secs()),
            live => fresh.is_some(),
            standing => Value::from_safe_string(request.standing()?),
            who => request.signed_in(), user => request.user(), signs_out => request.session().is_some(),
            // Shown on every page, as the only notice of it.
            unguarded => request.is_unguarded(),
            key_fault => request.role().and_then(|_| request.app.readiness.key_fault()),
            csrf => request.csrf(), version => env!("CARGO_PKG_VERSION"),
        };
        Ok(sealed(Reply::bytes("text/html; charset=utf-8", render("layout.html", &fields)?).status(status)))
    }
}

impl From<Reply> for View {
    fn from(reply: Reply) -> Self {
        Self { instead: Some(sealed(reply)), ..Self::default() }
    }
}

/// The result of a form's action, with its failure if it failed.
pub(super) fn outcome<T: Default>(came: Result<T>) -> (T, Option<Failure>) {
    match came {
        Ok(done) => (done, None),
        Err(failure) => (T::default(), Some(failure)),
    }
}

pub(super) fn sealed(reply: Reply) -> Reply {
    let fixed = HeaderValue::from_static;
    reply
        .header(CONTENT_SECURITY_POLICY, fixed(POLICY))
        .header(X_CONTENT_TYPE_OPTIONS, fixed("nosniff"))
        // Hides the path from other sites. Without any referrer, browsers would also hide a form's origin.
        .header(REFERRER_POLICY, fixed("same-origin"))
        .header(CACHE_CONTROL, fixed("no-store"))
        .header(HeaderName::from_static("x-frame-options"), fixed("DENY"))
        .header(HeaderName::from_static("cross-origin-opener-policy"), fixed("same-origin"))
        .header(HeaderName::from_static("cross-origin-resource-policy"), fixed("same-origin"))
}

pub(super) fn see(path: &str) -> Result<Reply> {
    let path = HeaderValue::try_from(path).map_err(our_fault("a path cannot be written in a header"))?;
    Ok(sealed(Reply::empty(StatusCode::SEE_OTHER).header(LOCATION, path)))
}

/// Declares [`Section`] from a list of titles and paths.
macro_rules! sections {
    ($($section:ident $title:literal $path:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Section {
            $($section,)+
        }

        const SECTIONS: &[(Section, &str, &str)] = &[$((Section::$section, $title, $path)),+];
    };
}

sections! {
    Now "Now" "/console";
    Alerts "Alerts" "/console/alerts";
    Partners "Partners" "/console/partners";
    RateTables "Rate tables" "/console/rateTables";
    Funnel "Funnel" "/console/funnel";
    Reports "Reports" "/console/reports";
    Experiments "Experiments" "/console/experiments";
    Postbacks "Postbacks" "/console/postbacks";
    Persons "Data requests" "/console/persons";
    Catalogue "Catalog" "/console/catalogue";
    Nodes "Nodes" "/console/nodes";
    System "System" "/console/system";
    People "Users" "/console/people";
    Audit "Audit" "/console/audit";
    Handbook "Handbook" "/console/handbook";
}

impl Section {
    pub(super) fn title(self) -> &'static str {
        SECTIONS[self as usize].1
    }

    pub(super) fn path(self) -> &'static str {
        SECTIONS[self as usize].2
    }

    /// The navigation of a current section, if any, limited to the sections that `is_seen` accepts.
    pub(super) fn entries(current: Option<Self>, is_seen: impl Fn(Self) -> bool) -> Vec<Value> {
        let seen = SECTIONS.iter().filter(|(section, ..)| is_seen(*section));
        let entry = |(section, title, path): &(Self, _, _)| {
            fields! { title, path, current => Some(*section) == current }
        };
        seen.map(entry).collect()
    }
}
