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
            groups => request.role().map(|_| Section::groups(section, is_seen)),
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

/// Declares [`Section`] from the groups of the navigation, with the title and the path of each section.
macro_rules! sections {
    ($($group:literal { $($section:ident $title:literal $path:literal;)+ })+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Section {
            $($($section,)+)+
        }

        /// Each section with its title, its path and its group.
        const SECTIONS: &[(Section, &str, &str, &str)] = &[$($((Section::$section, $title, $path, $group)),+),+];
    };
}

sections! {
    "Overview" {
        Now "Now" "/console";
        Alerts "Alerts" "/console/alerts";
    }
    "Business" {
        Reports "Reports" "/console/reports";
        Funnel "Funnel" "/console/funnel";
        Experiments "Experiments" "/console/experiments";
        Postbacks "Postbacks" "/console/postbacks";
    }
    "Leads" {
        RateTables "Rate tables" "/console/rateTables";
        Persons "Data requests" "/console/persons";
    }
    "Partners" {
        Partners "Partners" "/console/partners";
        Catalogue "Catalog" "/console/catalogue";
    }
    "Operations" {
        System "System" "/console/system";
        Nodes "Nodes" "/console/nodes";
        People "Users" "/console/people";
        Audit "Audit" "/console/audit";
        Handbook "Handbook" "/console/handbook";
    }
}

impl Section {
    pub(super) fn title(self) -> &'static str {
        SECTIONS[self as usize].1
    }

    pub(super) fn path(self) -> &'static str {
        SECTIONS[self as usize].2
    }

    /// The navigation of a current section, if any: the groups, limited to the sections that `is_seen` accepts.
    pub(super) fn groups(current: Option<Self>, is_seen: impl Fn(Self) -> bool) -> Vec<Value> {
        let seen: Vec<_> = SECTIONS.iter().filter(|(section, ..)| is_seen(*section)).collect();
        let entry = |(section, title, path, _): &(Self, &str, &str, &str)| {
            fields! { title, path, current => Some(*section) == current }
        };
        let group = |sections: &[&(Self, &str, &str, &str)]| {
            fields! {
                title => sections[0].3,
                current => sections.iter().any(|(section, ..)| Some(*section) == current),
                sections => sections.iter().map(|section| entry(section)).collect::<Vec<_>>(),
            }
        };
        seen.chunk_by(|one, other| one.3 == other.3).map(group).collect()
    }
}
