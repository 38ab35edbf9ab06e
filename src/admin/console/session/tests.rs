use super::*;
use offerd_base::config::SignInPolicy;

const PER_NAME: usize = 10;
const IN_ALL: usize = 30;

fn sessions_lasting(life: Duration, idle: Duration) -> Sessions {
    Sessions::new(SessionRules {
        required: true,
        at_start: ConsoleSettings {
            sign_in: SignInPolicy::Always,
            password_file: None,
            session_life: life,
            session_idle: idle,
            sign_ins_failed_per_name: PER_NAME,
            sign_ins_failed: IN_ALL,
            tables_looked_at: 100,
            tables_read: 20,
            history_kept: life,
            proxy: None,
        },
        passwords: Passwords {
            secret: Some(PasswordDigest::of_secret("made by us")),
            password: Some(PasswordDigest::new("correct horse battery").unwrap()),
        },
    })
}

fn sessions() -> Sessions {
    sessions_lasting(Duration::from_secs(3600), Duration::from_secs(3600))
}

fn link(sessions: &Sessions, who: &str) -> String {
    sessions.link(ConsolePrincipal::of_machine(format!("link of {who}")), false, LINK_LIFE)
}

fn alice() -> ConsolePrincipal {
    ConsolePrincipal::of(&UserRecord::new("alice", Role::Analyst, None))
}

#[test]
fn a_link_is_good_for_one_use() {
    let sessions = sessions();
    let code = link(&sessions, "alice");
    let (cookie, session) = sessions.sign_in(&Proof::Code(&code)).unwrap();
    assert_eq!((session.person.who.as_str(), session.person.role), ("link of alice", Role::Administrator));
    assert!(sessions.of(&cookie).is_some() && sessions.holds(&session));
    assert_eq!(sessions.sign_in(&Proof::Code(&code)).err(), Some(NotSignedIn::Wrong));
    sessions.sign_out(&session);
    assert!(sessions.of(&cookie).is_none() && !sessions.holds(&session));
}

#[test]
fn guessing_is_bounded() {
    let sessions = sessions();
    assert!(sessions.sign_in(&Proof::Typed("correct horse battery")).is_ok());
    for _ in 0..PER_NAME {
        assert_eq!(sessions.sign_in(&Proof::Typed("guess")).err(), Some(NotSignedIn::Wrong));
    }
    let right = sessions.sign_in(&Proof::Typed("correct horse battery"));
    assert_eq!(right.err(), Some(NotSignedIn::TooMany));
    assert_eq!(sessions.sign_in(&Proof::Code("guess")).err(), Some(NotSignedIn::TooMany));
    assert_eq!(sessions.attempts.kept(), PER_NAME, "nor does it cost memory");
}

#[test]
fn who_guesses_one_name_keeps_no_other_out_and_many_names_do_not_help() {
    let sessions = sessions();
    let attempts_at_once: Vec<_> = (0..PER_NAME).map(|_| sessions.attempts.begin("alice")).collect();
    assert!(attempts_at_once.iter().all(Result::is_ok));
    assert!(sessions.attempts.begin("Alice").is_err() && sessions.attempts.begin("bob").is_ok());
    let others = (0..IN_ALL).filter(|nth| sessions.attempts.begin(&format!("guess {nth}")).is_ok()).count();
    assert_eq!(others, IN_ALL - PER_NAME - 1);
    assert!(sessions.attempts.begin("carol").is_err());
    assert_eq!(sessions.attempts.kept(), IN_ALL);
}

#[test]
fn who_is_right_has_not_failed() {
    let sessions = sessions();
    for _ in 0..2 * PER_NAME {
        let attempt = sessions.attempts.begin("alice").expect("none has failed");
        sessions.attempts.succeeded(attempt);
    }
    assert_eq!(sessions.attempts.kept(), 0);
}

#[test]
fn who_guesses_keeps_nobody_out_who_has_a_link_or_the_secret() {
    let sessions = sessions();
    for _ in 0..2 * IN_ALL {
        assert!(sessions.sign_in(&Proof::Typed("guess")).is_err());
    }
    assert_eq!(sessions.sign_in(&Proof::Typed("made by us")).unwrap().1.person.who, "secret");
    let code = link(&sessions, "alice");
    assert!(sessions.sign_in(&Proof::Code(&code)).is_ok());
}

#[test]
fn another_secret_ends_all_that_was_begun_before() {
    let sessions = sessions();
    let (cookie, _) = sessions.sign_in(&Proof::Typed("made by us")).unwrap();
    let code = link(&sessions, "alice");
    sessions.replace_secret(PasswordDigest::of_secret("another"));
    assert!(sessions.of(&cookie).is_none());
    assert!(sessions.sign_in(&Proof::Code(&code)).is_err());
    assert!(sessions.sign_in(&Proof::Typed("made by us")).is_err());
    assert!(sessions.sign_in(&Proof::Typed("another")).is_ok());
}

#[test]
fn sessions_and_links_are_bounded() {
    let sessions = sessions();
    let first = link(&sessions, "first");
    let codes: Vec<String> = (0..LINKS).map(|_| link(&sessions, "next")).collect();
    assert_eq!(sessions.sign_in(&Proof::Code(&first)).err(), Some(NotSignedIn::Wrong));
    let (oldest, _) = sessions.sign_in(&Proof::Code(&codes[0])).unwrap();
    for _ in 0..SESSIONS {
        assert!(sessions.sign_in(&Proof::Typed("correct horse battery")).is_ok());
    }
    assert!(sessions.of(&oldest).is_none());
    assert_eq!(sessions.state.lock().sessions.len(), SESSIONS);
}

#[test]
fn without_a_password_or_a_secret_none_is_right() {
    let mut none = sessions();
    none.rules.passwords.password = None;
    none.state.lock().secret = None;
    assert_eq!(none.sign_in(&Proof::Typed("")).err(), Some(NotSignedIn::Wrong));
}

#[test]
fn a_user_whose_right_has_changed_is_signed_out_and_nobody_else() {
    let sessions = sessions();
    let (theirs, _) = sessions.begin(alice(), false);
    let invitation = sessions.link(alice(), true, INVITATION_LIFE);
    let (others, _) =
        sessions.begin(ConsolePrincipal::of(&UserRecord::new("bob", Role::Viewer, None)), false);
    sessions.end_of("alice");
    assert!(sessions.of(&theirs).is_none() && sessions.of(&others).is_some());
    assert!(sessions.sign_in(&Proof::Code(&invitation)).is_err());
}

#[test]
fn what_another_process_has_changed_of_a_user_ends_what_they_have_begun() {
    let [alice, bob] = ["alice", "bob"]
        .map(|name| UserRecord { changed_at: 7, ..UserRecord::new(name, Role::Analyst, None) });
    let changes: [(&str, Option<UserRecord>); 4] = [
        ("removed", None),
        ("kept out", Some(UserRecord { disabled: true, ..alice.clone() })),
        ("demoted", Some(UserRecord { role: Role::Viewer, ..alice.clone() })),
        ("given another password", Some(UserRecord { changed_at: 8, ..alice.clone() })),
    ];
    for (what, now) in changes {
        let sessions = sessions();
        let (theirs, _) = sessions.begin(ConsolePrincipal::of(&alice), false);
        let (others, _) = sessions.begin(ConsolePrincipal::of(&bob), false);
        let (of_nobody, _) = sessions.begin(ConsolePrincipal::of_machine("secret".to_owned()), false);
        let invitation = sessions.link(ConsolePrincipal::of(&alice), true, INVITATION_LIFE);
        assert_eq!(sessions.users().into_iter().collect::<Vec<_>>(), ["alice", "bob"]);
        let read = |alice| [("alice".to_owned(), alice), ("bob".to_owned(), Some(bob.clone()))].into();
        sessions.end_outdated(&read(Some(alice.clone())));
        assert!(sessions.of(&theirs).is_some(), "nothing was changed");
        sessions.end_outdated(&read(now));
        assert!(sessions.of(&theirs).is_none(), "{what}");
        assert!(sessions.sign_in(&Proof::Code(&invitation)).is_err(), "{what}");
        assert!(sessions.of(&others).is_some() && sessions.of(&of_nobody).is_some());
    }
}

#[test]
fn a_session_ends_with_its_time_and_when_nothing_is_done_in_it() {
    let long = Duration::from_secs(3600);
    for (life, idle) in [(Duration::ZERO, long), (long, Duration::ZERO)] {
        let sessions = sessions_lasting(life, idle);
        let (cookie, session) = sessions.begin(alice(), false);
        session.touch();
        assert!(sessions.of(&cookie).is_none() && !sessions.holds(&session));
    }
}
