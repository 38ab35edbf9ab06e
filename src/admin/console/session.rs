//! Who is signed in: sessions, and the links, the secret and the password that begin them. All of it in memory, and bounded.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::super::password::Password;

/// Sessions at once; one more ends the oldest.
const SESSIONS: usize = 64;

/// How long a session lasts at most.
pub(super) const LIFE: Duration = Duration::from_secs(12 * 60 * 60);

/// Links that may be open at once; one more ends the oldest.
const LINKS: usize = 16;

/// How long a link may be used.
pub(super) const LINK_LIFE: Duration = Duration::from_secs(10 * 60);

/// Failed attempts within [`ATTEMPTS_SPAN`] from which on no password is looked at. Counted over all clients: what is guessed here
/// is one password. A link and the secret are looked at nonetheless, or whoever guesses would keep out those who need not.
const ATTEMPTS: usize = 10;

/// How far back failed attempts count.
const ATTEMPTS_SPAN: Duration = Duration::from_secs(60);

/// A secret by its digest, so that the time of a look-up reveals nothing of it.
type Hash = [u8; 32];

/// Signs in whoever has a link or the password.
pub(super) struct Sessions {
    /// Whether anybody has to.
    required: bool,
    password: Option<Password>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What was made by us to sign in with, if it was.
    secret: Option<Password>,
    sessions: HashMap<Hash, Arc<Session>>,
    links: HashMap<Hash, Link>,
    failures: VecDeque<Instant>,
}

/// Somebody who is signed in.
#[derive(Debug)]
pub(super) struct Session {
    /// How it was begun, for the audit log: `link of alice (uid 1000)`, `secret`, or `password`.
    pub(super) who: String,
    /// What stands in every form of theirs.
    pub(super) csrf: String,
    hash: Hash,
    since: Instant,
}

/// A link that nobody has used yet.
struct Link {
    /// Who asked for it.
    who: String,
    since: Instant,
}

/// What somebody signs in with.
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
    pub(super) fn new(required: bool, secret: Option<Password>, password: Option<Password>) -> Self {
        Self { required, password, state: Mutex::new(State { secret, ..State::default() }) }
    }

    /// Whether anybody has to sign in.
    pub(super) fn required(&self) -> bool {
        self.required
    }

    /// Whether there is anything that can be typed to sign in with: a password, or the secret.
    pub(super) fn takes_typed(&self) -> bool {
        self.password.is_some() || self.state().secret.is_some()
    }

    /// Takes another secret, and ends all sessions: of the old one nobody knows who has it.
    pub(super) fn replace_secret(&self, secret: Password) {
        let mut state = self.state();
        state.secret = Some(secret);
        state.sessions.clear();
        state.links.clear();
    }

    /// The code of a new link for somebody, good for one use.
    pub(super) fn link(&self, who: String) -> String {
        let code = secret();
        let mut state = self.state();
        state.links.retain(|_, link| link.since.elapsed() < LINK_LIFE);
        if state.links.len() >= LINKS
            && let Some(oldest) = state.links.iter().min_by_key(|(_, link)| link.since).map(|(hash, _)| *hash)
        {
            state.links.remove(&oldest);
        }
        state.links.insert(hash(&code), Link { who, since: Instant::now() });
        code
    }

    /// Begins a session, and gives what its cookie holds.
    pub(super) fn sign_in(&self, proof: &Proof<'_>) -> Result<(String, Arc<Session>), NotSignedIn> {
        let mut state = self.state();
        state.failures.retain(|failure| failure.elapsed() < ATTEMPTS_SPAN);
        let too_many = state.failures.len() >= ATTEMPTS;
        let is = |known: Option<&Password>, given| known.is_some_and(|known| known.is(given));
        let who = match proof {
            Proof::Code(code) => {
                let link = state.links.remove(&hash(code)).filter(|link| link.since.elapsed() < LINK_LIFE);
                link.map(|link| format!("link of {}", link.who))
            }
            Proof::Typed(given) if is(state.secret.as_ref(), given) => Some("secret".to_owned()),
            Proof::Typed(_) if too_many => None,
            Proof::Typed(given) => is(self.password.as_ref(), given).then(|| "password".to_owned()),
        };
        let Some(who) = who else {
            if too_many {
                return Err(NotSignedIn::TooMany);
            }
            state.failures.push_back(Instant::now());
            return Err(NotSignedIn::Wrong);
        };
        state.sessions.retain(|_, session| session.lasts());
        if state.sessions.len() >= SESSIONS
            && let Some(oldest) =
                state.sessions.values().min_by_key(|session| session.since).map(|session| session.hash)
        {
            state.sessions.remove(&oldest);
        }
        let cookie = secret();
        let session = Arc::new(Session { who, csrf: secret(), hash: hash(&cookie), since: Instant::now() });
        state.sessions.insert(session.hash, Arc::clone(&session));
        Ok((cookie, session))
    }

    /// The session of a cookie, while it lasts.
    pub(super) fn of(&self, cookie: &str) -> Option<Arc<Session>> {
        self.state().sessions.get(&hash(cookie)).filter(|session| session.lasts()).cloned()
    }

    /// Whether a session has neither ended nor been ended.
    pub(super) fn holds(&self, session: &Session) -> bool {
        session.lasts() && self.state().sessions.contains_key(&session.hash)
    }

    /// Ends a session.
    pub(super) fn sign_out(&self, session: &Session) {
        self.state().sessions.remove(&session.hash);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Who acts within it, for the audit log.
    pub(super) fn audited(&self) -> String {
        audited(&self.who)
    }

    fn lasts(&self) -> bool {
        self.since.elapsed() < LIFE
    }
}

/// The console, and how it was opened, for the audit log.
pub(super) fn audited(how: &str) -> String {
    format!("console, {how}")
}

/// A text that nobody guesses.
fn secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> Sessions {
        let secret = Password::of_secret("made by us");
        Sessions::new(true, Some(secret), Some(Password::new("correct horse battery").unwrap()))
    }

    #[test]
    fn a_link_is_good_for_one_use() {
        let sessions = sessions();
        let code = sessions.link("alice".to_owned());
        let (cookie, session) = sessions.sign_in(&Proof::Code(&code)).unwrap();
        assert_eq!(session.who, "link of alice");
        assert!(sessions.of(&cookie).is_some() && sessions.holds(&session));
        assert_eq!(sessions.sign_in(&Proof::Code(&code)).err(), Some(NotSignedIn::Wrong));
        sessions.sign_out(&session);
        assert!(sessions.of(&cookie).is_none() && !sessions.holds(&session));
    }

    #[test]
    fn guessing_is_bounded() {
        let sessions = sessions();
        assert!(sessions.sign_in(&Proof::Typed("correct horse battery")).is_ok());
        for _ in 0..ATTEMPTS {
            assert_eq!(sessions.sign_in(&Proof::Typed("guess")).err(), Some(NotSignedIn::Wrong));
        }
        let right = sessions.sign_in(&Proof::Typed("correct horse battery"));
        assert_eq!(right.err(), Some(NotSignedIn::TooMany));
        assert_eq!(sessions.sign_in(&Proof::Code("guess")).err(), Some(NotSignedIn::TooMany));
        assert!(sessions.state().failures.len() <= ATTEMPTS, "nor does it cost memory");
    }

    #[test]
    fn who_guesses_keeps_nobody_out_who_has_a_link_or_the_secret() {
        let sessions = sessions();
        for _ in 0..2 * ATTEMPTS {
            assert!(sessions.sign_in(&Proof::Typed("guess")).is_err());
        }
        assert_eq!(sessions.sign_in(&Proof::Typed("made by us")).unwrap().1.who, "secret");
        let code = sessions.link("alice".to_owned());
        assert!(sessions.sign_in(&Proof::Code(&code)).is_ok());
    }

    #[test]
    fn another_secret_ends_all_that_was_begun_before() {
        let sessions = sessions();
        let (cookie, _) = sessions.sign_in(&Proof::Typed("made by us")).unwrap();
        let code = sessions.link("alice".to_owned());
        sessions.replace_secret(Password::of_secret("another"));
        assert!(sessions.of(&cookie).is_none());
        assert!(sessions.sign_in(&Proof::Code(&code)).is_err());
        assert!(sessions.sign_in(&Proof::Typed("made by us")).is_err());
        assert!(sessions.sign_in(&Proof::Typed("another")).is_ok());
    }

    #[test]
    fn sessions_and_links_are_bounded() {
        let sessions = sessions();
        let first = sessions.link("first".to_owned());
        let codes: Vec<String> = (0..LINKS).map(|_| sessions.link("next".to_owned())).collect();
        assert_eq!(sessions.sign_in(&Proof::Code(&first)).err(), Some(NotSignedIn::Wrong));
        let (oldest, _) = sessions.sign_in(&Proof::Code(&codes[0])).unwrap();
        for _ in 0..SESSIONS {
            assert!(sessions.sign_in(&Proof::Typed("correct horse battery")).is_ok());
        }
        assert!(sessions.of(&oldest).is_none());
        assert_eq!(sessions.state().sessions.len(), SESSIONS);
    }

    #[test]
    fn without_a_password_or_a_secret_none_is_right() {
        let sessions = Sessions::new(true, None, None);
        assert_eq!(sessions.sign_in(&Proof::Typed("")).err(), Some(NotSignedIn::Wrong));
    }
}
