//! `GET` and `POST /console/signIn`, `POST /console/signOut`, and `POST /console/links` for `offerd console`.

use hyper::header::SET_COOKIE;
use metrics::counter;
use tracing::info;

use super::super::audit::{Note, operator};
use super::super::{password_hash, users};
use super::console_request::audited;
use super::enter::COOKIE_NAME;
use super::links::{HOME, SIGN_IN, link_of};
use super::prelude::*;
use super::session::{ConsolePrincipal, LINK_LIFE, NotSignedIn, Proof, Session};
use offerd_base::telemetry::logging::AUDIT;
use offerd_base::telemetry::metrics::CONSOLE_SIGN_INS_REFUSED;

const ACCOUNT: &str = "/console/account";

type SignInResult = Result<(String, Arc<Session>), NotSignedIn>;

/// The sign-in page; a link's code is already in its form.
pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    form(request, StatusCode::OK, None)
}

pub(super) async fn sign_in(request: &ConsoleRequest) -> Result<View> {
    match begun(request).await? {
        Ok((cookie, session)) => {
            let ConsolePrincipal { who, role, .. } = &session.person;
            let actor = AuditActor { who: audited(who), role: Some(*role), from: request.from() };
            request.app.note_if_can(&actor, note!("console.sign_in", "signed in to the console")).await;
            let next = request.field("next").filter(|next| is_within(next));
            // An invited user sets a password first.
            let next = if session.invited { ACCOUNT } else { next.unwrap_or(HOME) };
            signed_in(request, &cookie, next)
        }
        Err(refused) => refuse(request, refused).await,
    }
}

async fn begun(request: &ConsoleRequest) -> Result<SignInResult> {
    let sessions = &request.app.console.sessions;
    let typed = request.field("password").unwrap_or_default();
    match (request.field("code"), request.field("name").map(str::trim)) {
        (Some(code), _) => Ok(sessions.sign_in(&Proof::Code(code))),
        (None, None) => Ok(sessions.sign_in(&Proof::Typed(typed))),
        (None, Some(name)) => of_user(request, name, typed).await,
    }
}

/// Starts a session with a user name and password. A failure takes as long for an unknown user.
async fn of_user(request: &ConsoleRequest, name: &str, password: &str) -> Result<SignInResult> {
    let sessions = &request.app.console.sessions;
    let attempt = match sessions.attempts.begin(name) {
        Ok(attempt) => attempt,
        Err(too_many) => return Ok(Err(too_many)),
    };
    let found = users::find(&request.app, name)?;
    let hash = found.as_ref().and_then(|user| user.password.clone());
    let is_right = password_hash::fits(hash, password).await?;
    let Some(user) = found.filter(|user| is_right && !user.disabled) else {
        return Ok(Err(NotSignedIn::Wrong));
    };
    sessions.attempts.succeeded(attempt);
    let begun = sessions.begin(ConsolePrincipal::of(&user), false);
    // A concurrent change of the user has either ended this session, or is detected here.
    if users::find(&request.app, name)?.as_ref() != Some(&user) {
        sessions.sign_out(&begun.1);
        return Ok(Err(NotSignedIn::Wrong));
    }
    Ok(Ok(begun))
}

pub(super) fn signed_in(request: &ConsoleRequest, cookie: &str, next: &str) -> Result<View> {
    let seconds = request.app.console.sessions.rules.at_start.session_life.as_secs();
    Ok(see(next)?.header(SET_COOKIE, cookie_of(cookie, seconds, request.is_secure())?).into())
}

async fn refuse(request: &ConsoleRequest, refused: NotSignedIn) -> Result<View> {
    counter!(CONSOLE_SIGN_INS_REFUSED, "reason" => refused.reason()).increment(1);
    let (status, trouble) = match refused {
        NotSignedIn::Wrong => (
            StatusCode::FORBIDDEN,
            "This sign-in is wrong, used or expired. A restart ends links; `offerd console` makes a new one.",
        ),
        NotSignedIn::TooMany => {
            (StatusCode::TOO_MANY_REQUESTS, "Too many attempts have failed. Wait a minute, then try again.")
        }
    };
    // Attempts beyond the limit are only counted, so that guessing cannot fill the log.
    if refused == NotSignedIn::Wrong {
        let note = note!("console.sign_in_refused");
        request
            .app
            .note_if_can(&request.stranger(), tried(request).into_iter().fold(note, Note::about))
            .await;
        info!(target: AUDIT, action = "console.sign_in_refused", "sign-in to the console failed");
    }
    form(request, status, Some(trouble))
}

/// The tried name, if it is a user's; another text may be a misplaced password.
fn tried(request: &ConsoleRequest) -> Option<String> {
    Some(format!("as {}", users::find(&request.app, request.field("name")?.trim()).ok()??.name))
}

pub(super) async fn sign_out(request: &ConsoleRequest) -> Result<View> {
    if let Some(session) = request.session() {
        request.app.console.sessions.sign_out(session);
        request
            .app
            .note_if_can(&request.actor(), note!("console.sign_out", "signed out of the console"))
            .await;
    }
    Ok(see(SIGN_IN)?.header(SET_COOKIE, cookie_of("", 0, request.is_secure())?).into())
}

pub(super) async fn link(context: Context) -> Result<Reply> {
    let person = ConsolePrincipal::of_machine(format!("link of {}", operator(&context.request.headers)));
    let link = link_of(&context.app, person, false, LINK_LIFE);
    if link.sign_in {
        context.app.note_if_can(&by(&context), note!("console.link", "link to the console made")).await;
    }
    Reply::json(&link)
}

fn form(request: &ConsoleRequest, status: StatusCode, trouble: Option<&str>) -> Result<View> {
    let next = request.query_value("next").or_else(|| request.field("next")).filter(|next| is_within(next));
    let fields = fields! {
        code => request.query_value("code"), name => request.field("name"), next,
        users => Users::of(request.app.store.clone()).are_any().unwrap_or(true),
        typed => request.app.console.sessions.takes_typed(),
        required => request.app.console.sessions.rules.required,
        trouble,
    };
    request.bare("Sign in", "sign_in.html", fields)?.with_status(status).reply(request).map(View::from)
}

fn is_within(path: &str) -> bool {
    path.strip_prefix(HOME).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
        && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

fn cookie_of(value: &str, seconds: u64, secure: bool) -> Result<HeaderValue> {
    let secure = if secure { "; Secure" } else { "" };
    let cookie =
        format!("{COOKIE_NAME}={value}; Path=/console; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::try_from(cookie).map_err(our_fault("a cookie cannot be written in a header"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_sent_on_within_the_console_only() {
        for path in ["/console", "/console/partners", "/console?q=1", "/console/rateTables?q=a%20b"] {
            assert!(is_within(path), "{path}");
        }
        for path in [
            "/console?x=\r\nSet-Cookie:a=b",
            "/console?x=\0",
            "/console?x=a b",
            "/console?x=\u{fc}",
            "/",
            "//evil.example",
            "https://evil.example/console",
            "/consoles",
            "/console\\@evil",
            "",
        ] {
            assert!(!is_within(path), "{path}");
        }
    }
}
