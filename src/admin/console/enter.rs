//! Entry of every console request: identifies the visitor, and checks the role and that a form is ours.

use std::net::IpAddr;

use hyper::header::{ACCEPT, COOKIE, HOST, HeaderName, ORIGIN};
use hyper::{HeaderMap, Method, StatusCode};

use super::console_request::Proxied;
use super::links::SIGN_IN;
use super::live::{PageRenderer, stream};
use super::prelude::*;
use super::{proxy, statement};

const FORM_BYTES: usize = 64 * 1024;

/// Longest form with a partner's statement, of some 50,000 lines.
const STATEMENT_BYTES: usize = 4 * 1024 * 1024;

const FORM_TIMEOUT: Duration = Duration::from_secs(10);

/// Fetch metadata header: where the browser says a request originates.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

pub(super) const COOKIE_NAME: &str = "offerd_console";

/// Puts an `async fn(&Visit) -> Result<View>` into the route table, for a least role, or for `all`.
macro_rules! page {
    (all, $show:path) => {
        page!(@ None, console_request => $show(console_request))
    };
    ($least:ident, $show:path) => {
        page!(@ Some(::offerd_store::users::Role::$least), console_request => $show(console_request))
    };
    (@ $least:expr, $console_request:pat => $view:expr) => {
        ($least, |context| {
            ::std::boxed::Box::pin($crate::console::enter::showing(context, $least, |$console_request| {
                ::std::boxed::Box::pin($view)
            }))
        })
    };
}

/// Redirects the target of a form, opened as an address, to the form's page.
macro_rules! back {
    ($least:ident, $path:literal) => {
        page!(@ Some(::offerd_store::users::Role::$least), _ => async {
            $crate::console::view::View::at($path)
        })
    };
}

pub(super) use {back, page};

/// Answers with a page, with a stream of its updates if requested, or with the reason for a refusal.
pub(super) async fn showing(context: Context, least: Option<Role>, show: PageRenderer) -> Result<Reply> {
    let console_request = match enter(context, least).await {
        Ok(console_request) => Arc::new(console_request),
        Err(turned_away) => return turned_away,
    };
    let shown = match console_request.streams {
        true => stream(Arc::clone(&console_request), show).await,
        false => show(&console_request).await.and_then(|view| view.reply(&console_request)),
    };
    shown.or_else(|failure| View::failure(&failure)?.reply(&console_request))
}

/// Admits a request, or returns the answer to give instead: a redirect to sign in, or the role it takes.
async fn enter(mut context: Context, least: Option<Role>) -> Result<ConsoleRequest, Result<Reply>> {
    let (mut form, mut readable) = (None, Ok(()));
    if context.request.method == Method::POST {
        let has_statement = context.request.uri.path() == statement::PATH;
        let most = if has_statement { STATEMENT_BYTES } else { FORM_BYTES };
        match context.request.read_form(most, FORM_TIMEOUT).await {
            Ok(read) => form = Some(read),
            Err(failure) => readable = Err(failure),
        }
    }
    let Context { app, mut request, params, .. } = context;
    let headers = &request.headers;
    let accepts = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let streams = request.method == Method::GET && accepts == Some("text/event-stream");
    let mut session = cookie(headers).and_then(|cookie| app.console.sessions.of(cookie));
    // A page's own refresh does not count as activity.
    if let Some(session) = session.as_ref().filter(|_| !streams) {
        session.touch();
    }
    let address = request.client(&app.settings().limits.trusted_proxies);
    let named = proxy::named(&app, &request);
    let query = std::mem::take(&mut request.query);
    let (proxied, believed) = match named {
        Ok(person) => (person.map(|person| Proxied::of(&app, person)), Ok(())),
        Err(failure) => {
            session = None;
            (None, Err(failure))
        }
    };
    let console_request = ConsoleRequest { app, query, params, form, session, proxied, address, streams };
    let checked = believed.and(readable).and_then(|()| is_genuine(&console_request, &request.headers));
    match checked.and_then(|()| may_enter(&console_request, least)) {
        Ok(true) => Ok(console_request),
        // A client that reads a stream does not follow redirects.
        Ok(false) if console_request.streams => Err(Ok(sealed(Reply::empty(StatusCode::NO_CONTENT)))),
        Ok(false) => {
            let next: String = form_urlencoded::byte_serialize(request.uri.path().as_bytes()).collect();
            Err(see(&format!("{SIGN_IN}?next={next}")))
        }
        Err(failure) => Err(View::failure(&failure).and_then(|view| view.reply(&console_request))),
    }
}

/// Whether the visitor may enter; false if a sign-in is required first.
fn may_enter(console_request: &ConsoleRequest, least: Option<Role>) -> Result<bool> {
    let Some(least) = least else { return Ok(true) };
    match console_request.role() {
        None => Ok(false),
        Some(role) if role >= least => Ok(true),
        Some(role) => Err(not_for(role, least)),
    }
}

fn not_for(role: Role, least: Role) -> Failure {
    let (is, wanted) = (role.word(), least.word());
    Failure::forbidden(&format!(
        "you need the {wanted} role, and yours is {is}; an administrator can change your role"
    ))
}

fn is_genuine(console_request: &ConsoleRequest, headers: &HeaderMap) -> Result<()> {
    if console_request.is_unguarded() && console_request.proxied.is_none() && !is_local(headers) {
        return Err(Failure::forbidden(
            "without sign-in, the console answers only under loopback names; for another name set \
                `console.sign_in` to \"always\"",
        ));
    }
    if console_request.form.is_some() && !(is_ours(headers) && console_request.has_csrf()) {
        return Err(Failure::forbidden("this form is not from the console, or has expired; reload the page"));
    }
    Ok(())
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let mut cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.find_map(|cookies| {
        let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value)
    })
}

/// Another name could be a foreign domain that resolves to loopback (DNS rebinding).
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST) else { return true };
    let host = host.to_str().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(address, _)| address),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.parse::<IpAddr>().is_ok() || name == "localhost" || name.ends_with(".localhost")
}

/// Whether the browser states that a form is ours. Without these headers only the CSRF token protects it.
fn is_ours(headers: &HeaderMap) -> bool {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let site = text(&SEC_FETCH_SITE).is_none_or(|site| site == "same-origin");
    let origin = text(&ORIGIN).is_none_or(|origin| {
        let host = origin.split_once("://").map(|(_, host)| host);
        text(&HOST).is_none_or(|own| host == Some(own))
    });
    site && origin
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
