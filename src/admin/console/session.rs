//! Who is signed in: sessions, and the links, the secret and the passwords that begin them. All of it in memory, and bounded: a
//! session ends with the daemon at the latest.

mod attempts;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use self::attempts::Attempts;
use super::super::password::{Password, Passwords};
use offerd_base::config::{ConsoleSettings, Settings};
use offerd_store::users::{Role, UserRecord};

/// Sessions at once; one more ends the oldest.
const SESSIONS: usize = 256;

/// Links that may be open at once; one more ends the oldest.
const LINKS: usize = 64;

/// How long a link may be used that the command line makes for itself.
pub(crate) const LINK_LIFE: Duration = Duration::from_secs(10 * 60);

/// How long one may be used that invites a user.
pub(crate) const INVITATION_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// A secret by its digest, so that the time of a look-up reveals nothing of it.
type Hash = [u8; 32];

/// By what people sign in, and for how long.
pub(crate) struct SessionRules {
    /// Whether anybody has to.
    pub(crate) required: bool,
    /// The settings of the console at the start: how long a session lasts, and how many attempts may fail.
    pub(crate) at_start: ConsoleSettings,
    /// What is typed to sign in without a name.
    pub(crate) passwords: Passwords,
}

impl SessionRules {
    /// Those of the settings.
    pub(crate) fn of(settings: &Settings, passwords: Passwords) -> Self {
        let required = settings.console_asks_to_sign_in();
        Self { required, at_start: settings.console.clone(), passwords }
    }
}

/// Signs in whoever has a link or a password.
pub(super) struct Sessions {
    pub(super) rules: SessionRules,
    pub(super) attempts: Attempts,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    secret: Option<Password>,
    sessions: HashMap<Hash, Arc<Session>>,
    links: HashMap<Hash, Link>,
}

/// Somebody who may look at the console, and in what right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    /// For the audit: `user alice`, or how it was begun: `link of alice (uid 1000)`, `secret`, `password`.
    pub(crate) who: String,
    /// The user's name, where it is a user.
    pub(crate) user: Option<String>,
    /// What they may.
    pub(crate) role: Role,
    /// When the user was changed last by what was read of them, Unix milliseconds; nothing where they are read each time.
    pub(crate) as_of: Option<i64>,
}

impl Person {
    /// A user.
    pub(crate) fn of(user: &UserRecord) -> Self {
        let (who, name) = (format!("user {}", user.name), Some(user.name.clone()));
        Self { who, user: name, role: user.role, as_of: Some(user.changed_at) }
    }

    /// Whoever has what opens the machine itself.
    pub(crate) fn of_machine(who: String) -> Self {
        Self { who, user: None, role: Role::Administrator, as_of: None }
    }

    /// Whether a user is still as they were.
    fn is_as(&self, now: Option<&UserRecord>) -> bool {
        now.is_some_and(|now| !now.disabled && now.role == self.role && self.as_of == Some(now.changed_at))
    }
}

/// Somebody who is signed in.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) person: Person,
    /// What stands in every form of theirs.
    pub(super) csrf: String,
    /// Whether they came with a link that invites them to set a password, so that none is asked for.
    pub(super) invited: bool,
    hash: Hash,
    since: Instant,
    used: Mutex<Instant>,
}

/// A link that nobody has used yet.
struct Link {
    person: Person,
    invites: bool,
    life: Duration,
    since: Instant,
}

/// What somebody signs in with who names nobody.
pub(super) enum Proof<'p> {
    /// The code of a link.
    Code(&'p str),
    /// The secret or the password.
    Typed(&'p str),
}

/// Why somebody is not signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotSignedIn {
    /// What was given is wrong, or the code is too old.
    Wrong,
    /// Too many were wrong lately.
    TooMany,
}

impl NotSignedIn {
    /// As metrics say it.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::TooMany => "too_many",
        }
    }
}

impl Sessions {
    /// Nobody is signed in yet.
    pub(super) fn new(mut rules: SessionRules) -> Self {
        let state = Mutex::new(State { secret: rules.passwords.secret.take(), ..State::default() });
        Self { attempts: Attempts::new(&rules.at_start), rules, state }
    }

    /// Whether there is anything that can be typed without a name: a password, or the secret.
    pub(super) fn takes_typed(&self) -> bool {
        self.rules.passwords.password.is_some() || self.state.lock().secret.is_some()
    }

    /// Takes another secret, and ends all sessions: of the old one nobody knows who has it.
    pub(super) fn replace_secret(&self, secret: Password) {
        let mut state = self.state.lock();
        state.secret = Some(secret);
        state.sessions.clear();
        state.links.clear();
    }

    /// The code of a new link for somebody, good for one use.
    pub(super) fn link(&self, person: Person, invites: bool, life: Duration) -> String {
        let code = secret();
        let mut state = self.state.lock();
        state.links.retain(|_, link| link.since.elapsed() < link.life);
        let link = Link { person, invites, life, since: Instant::now() };
        admit(&mut state.links, LINKS, (hash(&code), link), |link| link.since);
        code
    }

    /// Begins a session of somebody who names nobody, and gives what its cookie holds.
    pub(super) fn sign_in(&self, proof: &Proof<'_>) -> Result<(String, Arc<Session>), NotSignedIn> {
        // A link and the secret are looked at however many have failed: whoever guesses keeps nobody out who has one.
        let attempt = self.attempts.begin("");
        let Some((person, invited)) = self.proved(proof, attempt.is_ok()) else {
            return Err(attempt.err().unwrap_or(NotSignedIn::Wrong));
        };
        if let Ok(attempt) = attempt {
            self.attempts.succeeded(attempt);
        }
        Ok(self.begin(person, invited))
    }

    fn proved(&self, proof: &Proof<'_>, passwords_too: bool) -> Option<(Person, bool)> {
        let mut state = self.state.lock();
        let is = |known: Option<&Password>, given| known.is_some_and(|known| known.is(given));
        match proof {
            Proof::Code(code) => {
                let link = state.links.remove(&hash(code)).filter(|link| link.since.elapsed() < link.life)?;
                Some((link.person, link.invites))
            }
            Proof::Typed(given) if is(state.secret.as_ref(), given) => {
                Some((Person::of_machine("secret".to_owned()), false))
            }
            Proof::Typed(given) => (passwords_too && is(self.rules.passwords.password.as_ref(), given))
                .then(|| (Person::of_machine("password".to_owned()), false)),
        }
    }

    /// Begins a session, and gives what its cookie holds.
    pub(super) fn begin(&self, person: Person, invited: bool) -> (String, Arc<Session>) {
        let cookie = secret();
        let (hash, since) = (hash(&cookie), Instant::now());
        let session =
            Arc::new(Session { person, csrf: secret(), invited, hash, since, used: Mutex::new(since) });
        let mut state = self.state.lock();
        state.sessions.retain(|_, session| self.lasts(session));
        admit(&mut state.sessions, SESSIONS, (hash, Arc::clone(&session)), |session| session.since);
        (cookie, session)
    }

    /// The session of a cookie, while it lasts.
    pub(super) fn of(&self, cookie: &str) -> Option<Arc<Session>> {
        self.state.lock().sessions.get(&hash(cookie)).filter(|session| self.lasts(session)).cloned()
    }

    /// Whether a session has neither ended nor been ended.
    pub(super) fn holds(&self, session: &Session) -> bool {
        self.lasts(session) && self.state.lock().sessions.contains_key(&session.hash)
    }

    /// Ends a session.
    pub(super) fn sign_out(&self, session: &Session) {
        self.state.lock().sessions.remove(&session.hash);
    }

    /// Ends all sessions and links of a user, whose right has changed.
    pub(super) fn end_of(&self, user: &str) {
        self.retain(|person| person.user.as_deref() != Some(user));
    }

    /// The users who have begun something.
    pub(super) fn users(&self) -> BTreeSet<String> {
        let state = self.state.lock();
        let in_sessions = state.sessions.values().map(|session| &session.person);
        let persons = in_sessions.chain(state.links.values().map(|link| &link.person));
        persons.filter_map(|person| person.user.clone()).collect()
    }

    /// Ends what users have begun who are not as they were then; those of whom nothing was read go on.
    pub(super) fn end_outdated(&self, now: &BTreeMap<String, Option<UserRecord>>) {
        self.retain(|person| match person.user.as_ref().and_then(|user| now.get(user)) {
            Some(user) => person.is_as(user.as_ref()),
            None => true,
        });
    }

    fn retain(&self, goes_on: impl Fn(&Person) -> bool) {
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
    /// Notes that something is done in it.
    pub(super) fn touch(&self) {
        *self.used.lock() = Instant::now();
    }
}

/// Adds an entry; where there are `most` of them already, the oldest goes.
fn admit<T>(all: &mut HashMap<Hash, T>, most: usize, (hash, one): (Hash, T), since: impl Fn(&T) -> Instant) {
    let oldest = all.iter().min_by_key(|(_, one)| since(one)).map(|(hash, _)| *hash);
    if let Some(oldest) = oldest.filter(|_| all.len() >= most) {
        all.remove(&oldest);
    }
    all.insert(hash, one);
}

/// A text that nobody guesses.
fn secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests;
