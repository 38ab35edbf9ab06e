//! Sessions of the console, and what starts them: links, secret, passwords. All in bounded memory.

mod attempts;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use self::attempts::Attempts;
use super::super::password::{PasswordDigest, Passwords};
use offerd_base::config::{ConsoleSettings, Settings};
use offerd_store::users::{Role, UserRecord};

/// Maximum sessions; one more ends the oldest.
const SESSIONS: usize = 256;

/// Maximum unused links; one more removes the oldest.
const LINKS: usize = 64;

/// Lifetime of a sign-in link of the command line.
pub(crate) const LINK_LIFE: Duration = Duration::from_secs(10 * 60);

pub(crate) const INVITATION_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Digest of a secret, so that the timing of a look-up reveals nothing of it.
type Hash = [u8; 32];

pub(crate) struct SessionRules {
    pub(crate) required: bool,
    /// The console's settings at the start: session lifetime and failed attempts.
    pub(crate) at_start: ConsoleSettings,
    pub(crate) passwords: Passwords,
}

impl SessionRules {
    pub(crate) fn of(settings: &Settings, passwords: Passwords) -> Self {
        Self { required: settings.console_asks_to_sign_in(), at_start: settings.console.clone(), passwords }
    }
}

pub(super) struct Sessions {
    pub(super) rules: SessionRules,
    pub(super) attempts: Attempts,
    state: Mutex<SessionState>,
}

#[derive(Default)]
struct SessionState {
    secret: Option<PasswordDigest>,
    sessions: HashMap<Hash, Arc<Session>>,
    links: HashMap<Hash, Link>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConsolePrincipal {
    /// In the audit log: `user alice`, or the credential: `link of alice (uid 1000)`, `secret`, `password`.
    pub(crate) who: String,
    pub(crate) user: Option<String>,
    pub(crate) role: Role,
    /// When the user record last changed as of sign-in, Unix milliseconds; `None` if it is read per request.
    pub(crate) as_of: Option<i64>,
}

impl ConsolePrincipal {
    pub(crate) fn of(user: &UserRecord) -> Self {
        let (who, name) = (format!("user {}", user.name), Some(user.name.clone()));
        Self { who, user: name, role: user.role, as_of: Some(user.changed_at) }
    }

    /// The holder of a credential of the machine itself.
    pub(crate) fn of_machine(who: String) -> Self {
        Self { who, user: None, role: Role::Administrator, as_of: None }
    }

    fn is_as(&self, now: Option<&UserRecord>) -> bool {
        now.is_some_and(|now| !now.disabled && now.role == self.role && self.as_of == Some(now.changed_at))
    }
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) person: ConsolePrincipal,
    pub(super) csrf: String,
    /// Whether it began with an invitation link, so that no current password is required.
    pub(super) invited: bool,
    hash: Hash,
    since: Instant,
    used: Mutex<Instant>,
}

struct Link {
    person: ConsolePrincipal,
    invites: bool,
    life: Duration,
    since: Instant,
}

pub(super) enum Proof<'p> {
    Code(&'p str),
    /// The typed secret or password.
    Typed(&'p str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotSignedIn {
    /// The credential is wrong, or the code has expired.
    Wrong,
    /// Too many recent failures.
    TooMany,
}

impl NotSignedIn {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::TooMany => "too_many",
        }
    }
}

impl Sessions {
    pub(super) fn new(mut rules: SessionRules) -> Self {
        let state = Mutex::new(SessionState { secret: rules.passwords.secret.take(), ..Default::default() });
        Self { attempts: Attempts::new(&rules.at_start), rules, state }
    }

    /// Whether a sign-in without a user name is possible, by password or secret.
    pub(super) fn takes_typed(&self) -> bool {
        self.rules.passwords.password.is_some() || self.state.lock().secret.is_some()
    }

    /// Replaces the secret and ends all sessions and links, since the old secret may have leaked.
    pub(super) fn replace_secret(&self, secret: PasswordDigest) {
        let mut state = self.state.lock();
        state.secret = Some(secret);
        state.sessions.clear();
        state.links.clear();
    }

    pub(super) fn link(&self, person: ConsolePrincipal, invites: bool, life: Duration) -> String {
        let code = secret();
        let mut state = self.state.lock();
        state.links.retain(|_, link| link.since.elapsed() < link.life);
        let link = Link { person, invites, life, since: Instant::now() };
        admit(&mut state.links, LINKS, (hash(&code), link), |link| link.since);
        code
    }

    pub(super) fn sign_in(&self, proof: &Proof<'_>) -> Result<(String, Arc<Session>), NotSignedIn> {
        // Links and the secret are checked despite failures: guessing must not lock out their holders.
        let attempt = self.attempts.begin("");
        let Some((person, invited)) = self.proved(proof, attempt.is_ok()) else {
            return Err(attempt.err().unwrap_or(NotSignedIn::Wrong));
        };
        if let Ok(attempt) = attempt {
            self.attempts.succeeded(attempt);
        }
        Ok(self.begin(person, invited))
    }

    fn proved(&self, proof: &Proof<'_>, passwords_too: bool) -> Option<(ConsolePrincipal, bool)> {
        let mut state = self.state.lock();
        let is = |known: Option<&PasswordDigest>, given| known.is_some_and(|known| known.is(given));
        match proof {
            Proof::Code(code) => {
                let link = state.links.remove(&hash(code)).filter(|link| link.since.elapsed() < link.life)?;
                Some((link.person, link.invites))
            }
            Proof::Typed(given) if is(state.secret.as_ref(), given) => {
                Some((ConsolePrincipal::of_machine("secret".to_owned()), false))
            }
            Proof::Typed(given) => (passwords_too && is(self.rules.passwords.password.as_ref(), given))
                .then(|| (ConsolePrincipal::of_machine("password".to_owned()), false)),
        }
    }

    pub(super) fn begin(&self, person: ConsolePrincipal, invited: bool) -> (String, Arc<Session>) {
        let cookie = secret();
        let (hash, since) = (hash(&cookie), Instant::now());
        let session =
            Arc::new(Session { person, csrf: secret(), invited, hash, since, used: Mutex::new(since) });
        let mut state = self.state.lock();
        state.sessions.retain(|_, session| self.lasts(session));
        admit(&mut state.sessions, SESSIONS, (hash, Arc::clone(&session)), |session| session.since);
        (cookie, session)
    }

    pub(super) fn of(&self, cookie: &str) -> Option<Arc<Session>> {
        self.state.lock().sessions.get(&hash(cookie)).filter(|session| self.lasts(session)).cloned()
    }

    pub(super) fn holds(&self, session: &Session) -> bool {
        self.lasts(session) && self.state.lock().sessions.contains_key(&session.hash)
    }

    pub(super) fn sign_out(&self, session: &Session) {
        self.state.lock().sessions.remove(&session.hash);
    }

    pub(super) fn end_of(&self, user: &str) {
        self.retain(|person| person.user.as_deref() != Some(user));
    }

    pub(super) fn users(&self) -> BTreeSet<String> {
        let state = self.state.lock();
        let in_sessions = state.sessions.values().map(|session| &session.person);
        let persons = in_sessions.chain(state.links.values().map(|link| &link.person));
        persons.filter_map(|person| person.user.clone()).collect()
    }

    /// Ends the sessions and links of users whose record has changed; users missing from `now` are kept.
    pub(super) fn end_outdated(&self, now: &BTreeMap<String, Option<UserRecord>>) {
        self.retain(|person| match person.user.as_ref().and_then(|user| now.get(user)) {
            Some(user) => person.is_as(user.as_ref()),
            None => true,
        });
    }

    fn retain(&self, goes_on: impl Fn(&ConsolePrincipal) -> bool) {
        let mut state = self.state.lock();
        state.sessions.retain(|_, session| goes_on(&session.person));
        state.links.retain(|_, link| goes_on(&link.person));
    }

    fn lasts(&self, session: &Session) -> bool {
        let settings = &self.rules.at_start;
        session.since.elapsed() < settings.session_life
            && session.used.lock().elapsed() < settings.session_idle
    }
}

impl Session {
    pub(super) fn touch(&self) {
        *self.used.lock() = Instant::now();
    }
}

/// Adds an entry; at `most` entries, removes the oldest first.
fn admit<T>(all: &mut HashMap<Hash, T>, most: usize, (hash, one): (Hash, T), since: impl Fn(&T) -> Instant) {
    let oldest = all.iter().min_by_key(|(_, one)| since(one)).map(|(hash, _)| *hash);
    if let Some(oldest) = oldest.filter(|_| all.len() >= most) {
        all.remove(&oldest);
    }
    all.insert(hash, one);
}

fn secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests;
