//! `GET` and `POST /console/signIn`, `POST /console/signOut`, and `POST /console/links`, which is for `offerd console`.

use hyper::StatusCode;
use hyper::header::{HeaderValue, SET_COOKIE};
use metrics::counter;
use minijinja::context;
use serde::{Deserialize, Serialize};
use tracing::{error, info};

use super::super::App;
use super::super::audit::{audit, operator};
use super::session::{LIFE, LINK_LIFE, NotSignedIn, Proof};
use super::view::{View, see};
use super::visit::{COOKIE_NAME, Visit, enter_unasked};
use crate::telemetry::logging::AUDIT;
use crate::telemetry::metrics::CONSOLE_SIGN_INS_REFUSED;
use crate::web::{Context, Failure, Reply};

/// Where the console begins.
const HOME: &str = "/console";

/// Where to sign in.
pub(super) const PATH: &str = "/console/signIn";

/// What `offerd console` is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleLink {
    /// Where to look.
    pub url: String,
    /// Whether one has to sign in there, which the link does.
    pub sign_in: bool,
    /// How long the link may be used, seconds; nothing where there is no need to sign in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<u64>,
}

/// The page to sign in on; the code of a link stands in its form already.
pub(super) async fn show(context: Context<App>) -> Result<Reply, Failure> {
    let visit = match enter_unasked(context).await {
        Ok(visit) => visit,
        Err(turned_away) => return turned_away,
    };
    form(&visit, StatusCode::OK, None)
}

/// Signs in.
pub(super) async fn sign_in(context: Context<App>) -> Result<Reply, Failure> {
    let visit = match enter_unasked(context).await {
        Ok(visit) => visit,
        Err(turned_away) => return turned_away,
    };
    let proof = match (visit.field("code"), visit.field("password")) {
        (Some(code), _) => Proof::Code(code),
        (None, typed) => Proof::Typed(typed.unwrap_or_default()),
    };
    match visit.app.console.sessions.sign_in(&proof) {
        Ok((cookie, session)) => {
            info!(target: AUDIT, who = session.audited(), action = "console.sign_in", "signed in to the console");
            let next = visit.field("next").filter(|next| is_within(next)).unwrap_or(HOME);
            Ok(see(next)?.header(SET_COOKIE, cookie_of(&cookie, LIFE.as_secs(), visit.is_secure())?))
        }
        Err(refused) => {
            counter!(CONSOLE_SIGN_INS_REFUSED, "reason" => refused.reason()).increment(1);
            match refused {
                NotSignedIn::Wrong => {
                    // Those that are too many are only counted: nobody is to fill the log by guessing.
                    info!(target: AUDIT, action = "console.sign_in_refused", "nobody was signed in to the console");
                    form(
                        &visit,
                        StatusCode::FORBIDDEN,
                        Some("That is wrong, was used before, or is too old."),
                    )
                }
                NotSignedIn::TooMany => form(
                    &visit,
                    StatusCode::TOO_MANY_REQUESTS,
                    Some("Too many attempts have failed. Wait a minute, then try again."),
                ),
            }
        }
    }
}

/// Signs out.
pub(super) async fn sign_out(visit: std::sync::Arc<Visit>) -> Result<Reply, Failure> {
    if let Some(session) = visit.session() {
        visit.app.console.sessions.sign_out(session);
        info!(target: AUDIT, who = session.audited(), action = "console.sign_out", "signed out of the console");
    }
    Ok(see(PATH)?.header(SET_COOKIE, cookie_of("", 0, visit.is_secure())?))
}

/// Answers where the console is, with a link to sign in where that is asked for.
pub(super) async fn link(context: Context<App>) -> Result<Reply, Failure> {
    let link = link_of(&context.app, operator(&context.request.headers));
    if link.sign_in {
        audit!(context, "console.link", "link to the console made");
    }
    Reply::json(&link)
}

/// Where the console is, with a link to sign in once where that is asked for.
pub(in crate::admin) fn link_of(app: &App, who: String) -> ConsoleLink {
    let base = &app.run_file.admin;
    if !app.console.sessions.required() {
        return ConsoleLink { url: format!("{base}{HOME}"), sign_in: false, expires_in_s: None };
    }
    let code = app.console.sessions.link(who);
    ConsoleLink {
        url: format!("{base}{PATH}?code={code}"),
        sign_in: true,
        expires_in_s: Some(LINK_LIFE.as_secs()),
    }
}

fn form(visit: &Visit, status: StatusCode, trouble: Option<&str>) -> Result<Reply, Failure> {
    let next = visit.query_value("next").or_else(|| visit.field("next")).filter(|next| is_within(next));
    let fields = context! {
        csrf => visit.csrf(),
        code => visit.query_value("code"),
        next,
        typed => visit.app.console.sessions.takes_typed(),
        required => visit.app.console.sessions.required(),
        trouble,
    };
    View::bare("Sign in", "sign_in.html", status, &fields)?.reply(visit)
}

/// Whether a path leads to a page of ours, and nowhere else.
fn is_within(path: &str) -> bool {
    path.strip_prefix(HOME).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
        && !path.contains('\\')
}

fn cookie_of(value: &str, seconds: u64, secure: bool) -> Result<HeaderValue, Failure> {
    let secure = if secure { "; Secure" } else { "" };
    let cookie =
        format!("{COOKIE_NAME}={value}; Path=/console; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(cookie).map_err(|_| {
        error!("a cookie cannot be written in a header");
        Failure::internal()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_sent_on_within_the_console_only() {
        for path in ["/console", "/console/partners", "/console?q=1", "/console/rateTables?q=a%20b"] {
            assert!(is_within(path), "{path}");
        }
        for path in
            ["/", "//evil.example", "https://evil.example/console", "/consoles", "/console\\@evil", ""]
        {
            assert!(!is_within(path), "{path}");
        }
    }
}
