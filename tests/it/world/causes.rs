//! Failures that many programs put into one sentence, each with its own cause and remedy.

use crate::kit::Daemon;

/// An address of a database, where it was seen, and what `check` says of it.
const ADDRESSES: [(&str, &str, &str); 8] = [
    (
        "sslmode=verify-full",
        "what every cloud's console offers to copy",
        "write `require`, which checks the certificate",
    ),
    (
        "sslmode=verify-ca",
        "older chapters of the same consoles",
        "write `require`, which checks the certificate",
    ),
    ("sslmode=on", "a guess", "`disable`, `prefer` or `require`"),
    ("sslrootcert=/etc/ca.pem", "psql's option", "name the file in `store.postgres.ca_file`"),
    ("sslkey=/etc/key.pem", "psql's option", "no client certificate"),
    ("pgbouncer=true", "an ORM's option for poolers", "pool_mode = session"),
    ("schema=offers", "an ORM's option", "search_path"),
    ("connect_timeout=soon", "a guess", "`connect_timeout` that cannot be read"),
];

fn check(url: &str) -> String {
    let plan = Daemon::with_sample_partners()
        .in_files()
        .setting("store.engine", "postgres")
        .setting("store.postgres.url", url);
    let output = plan.command(&["check"]).output().unwrap();
    assert!(!output.status.success(), "{url} passes");
    let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("s3cret"), "{said}");
    said
}

#[test]
fn an_address_of_a_database_says_what_of_it_is_not_read() {
    for (option, seen, wanted) in ADDRESSES {
        let said = check(&format!("postgres://offerd:s3cret@db.example/offerd?{option}"));
        assert!(said.contains(wanted) && !said.contains("%25"), "{option} ({seen}): {said}");
    }
    // What is not known may be a part of the password, and is not shown.
    let said = check("postgres://offerd@db.example/offerd?s3cret=1");
    assert!(said.contains("must be an address as `postgres://"), "{said}");
}
