//! Sign-in by a proxy: the user of its header, its trusted addresses, and the user's role.

use metrics::counter;

use super::super::command::Result;
use super::super::{AdminState, users};
use super::session::ConsolePrincipal;
use offerd_base::config::ProxySettings;
use offerd_base::telemetry::metrics::CONSOLE_SIGN_INS_REFUSED;
use offerd_store::users::{Role, UserRecord, Users};
use offerd_web::{Failure, Request};

/// The user that the proxy names, if a proxy is configured; an error if it is not trusted.
pub(super) fn named(app: &AdminState, request: &Request) -> Result<Option<ConsolePrincipal>> {
    let settings = app.settings();
    let Some(proxy) = &settings.console.proxy else { return Ok(None) };
    let mut values = request.headers.get_all(proxy.header.as_str()).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let address = request.peer.map(|peer| peer.0.ip().to_canonical());
    if !address.is_some_and(|address| proxy.from.iter().any(|network| network.contains(&address))) {
        return Err(refused("untrusted", "only the proxy of `console.proxy` may name a user"));
    }
    let name = value.to_str().ok().filter(|name| Users::fault(name).is_none());
    match (name, values.next()) {
        (Some(name), None) => of(app, proxy, name).map(Some),
        _ => Err(refused("unknown", "the proxy must name exactly one valid user")),
    }
}

pub(super) fn holds(app: &AdminState, person: &ConsolePrincipal) -> bool {
    let settings = app.settings();
    let Some((proxy, name)) = settings.console.proxy.as_ref().zip(person.user.as_deref()) else {
        return true;
    };
    of(app, proxy, name).is_ok_and(|now| now == *person)
}

fn of(app: &AdminState, proxy: &ProxySettings, name: &str) -> Result<ConsolePrincipal> {
    let by_proxy = |user: &UserRecord| {
        let person = ConsolePrincipal::of(user);
        ConsolePrincipal { who: format!("{} by proxy", person.who), as_of: None, ..person }
    };
    match (users::find_also_removed(app, name)?, proxy.role.as_deref().and_then(Role::named)) {
        (Some(user), _) if user.removed => Err(refused(
            "unknown",
            "this user was removed; an administrator adds them again with `offerd user add`",
        )),
        (Some(user), _) if user.disabled => Err(refused("unknown", "this user is disabled")),
        (Some(user), _) => Ok(by_proxy(&user)),
        (None, Some(role)) => {
            let unknown = by_proxy(&UserRecord::new(name, role, None));
            Ok(ConsolePrincipal { user: None, ..unknown })
        }
        (None, None) => Err(refused(
            "unknown",
            "this user has no account; an administrator adds one with `offerd user add`",
        )),
    }
}

/// Only counted, so that nobody can fill the log with names.
fn refused(reason: &'static str, message: &str) -> Failure {
    counter!(CONSOLE_SIGN_INS_REFUSED, "reason" => reason).increment(1);
    Failure::forbidden(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_know_every_role() {
        assert_eq!(Role::ALL.map(Role::word), offerd_base::config::ROLES);
    }
}
