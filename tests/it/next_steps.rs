//! Next steps: each error says in one sentence what to do.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Output;

use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Daemon, sample};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn each_failure_is_one_sentence_with_the_next_step() {
    let plan = Daemon::with_partners(prompt_partners(1));
    let file = |name: &str, text: &str| fs::write(plan.directory().join(name), text).unwrap();
    file("there", "");
    file("one.json", "{\n  \"partner\": \"prompt_0\"\n}\n");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    file("lead.json", &sample("personal_loan"));
    let failures: [(&[&str], &str); 21] = [
        (&["explain", "abc"], "`abc` is neither a file nor a uuid; give a JSON file as for"),
        (&["lead", "erase", "abc"], "must be a uuid such as 01a1"),
        (&["token", "revoke", "abc"], "must be a uuid such as 01a1"),
        (&["partners", "timing", "--since", "yesterday"], "such as 7d"),
        (&["replay", "--since", "yesterday"], "such as 7d"),
        (
            &["backup", "store/copy"],
            "is in the directory of the store and would be lost with it; give another",
        ),
        (&["backup", "there"], "there exists already, and a backup is never overwritten; give another"),
        (
            &["backup", "/no-such/x"],
            "/no-such/x cannot be made: the directory /no-such does not exist; make it",
        ),
        (&["key", "create", "there"], "there exists already, and is never overwritten; give another name"),
        (&["key", "create", "/no-such/x"], "the directory /no-such does not exist; make it"),
        (
            &["restore", "--check", "one.json"],
            "not a backup of offerd, or its first line is damaged; give a file made by",
        ),
        (&["manual", "/proc/x"], "/proc/x cannot be written: "),
        (&["init", "/proc/x"], "/proc/x/partners cannot be written: "),
        (&["sandbox", "--cases", "/no-such"], "`--cases` says where the cases are"),
        (
            &["sandbox", "--listen", &taken, "--cases", SAMPLE_CASES],
            "is taken (`ss -ltnp` shows by whom); give another",
        ),
        (&["reload"], "nothing to reload; `offerd serve` starts one"),
        (&["console", "--at", "foo"], "such as http://127.0.0.1:8080"),
        (&["console", "--at", "http://x.example/?a"], "without a query"),
        (&["events", "import", "one.json"], "one.json: it is one JSON document"),
        (&["partners", "try", "nope", "lead.json"], "there is no partner `nope`; there are: prompt_0"),
        (
            &["lead", "submit", "lead.json", "--token", "a", "--url", "ftp://a"],
            "such as http://127.0.0.1:8080",
        ),
    ];
    for (command, wanted) in failures {
        let output = plan.command(command).output().unwrap();
        let told = stderr(&output);
        assert!(!output.status.success() && told.contains(wanted), "{command:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{command:?}: {told}");
    }
    let told = stderr(&plan.command(&["--config", "nofile.toml", "check"]).output().unwrap());
    assert!(told.contains("nofile.toml: cannot be read") && told.contains("or omit both"), "{told}");
}

const SAMPLE_CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/partners");

#[tokio::test]
async fn an_address_that_takes_no_lead_is_told_from_one_where_nobody_is() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let file = daemon.file("lead.json");
    fs::write(&file, sample("personal_loan")).unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let told = |url: &str| {
        let submit = ["lead", "submit", file.to_str().unwrap(), "--token", &daemon.publishable, "--url", url];
        let output = daemon.command(&submit);
        let told = stderr(&output);
        assert!(!output.status.success() && told.lines().count() == 1, "{url}: {told}");
        told
    };
    let says = |url: &str, wanted: &str| assert!(told(url).contains(wanted), "{url}: {}", told(url));
    says(&daemon.api.replace("http:", "https:"), "TLS with https://");
    says("http://offerd.invalid:8080", "has no address; check its spelling");
    says(&daemon.admin, "accepts no leads: it is not the api listener");
    says(&format!("http://{gone}"), "no daemon answers at");
}

#[tokio::test]
async fn a_lead_that_was_taken_before_the_daemon_died_is_told_as_taken() {
    let slow = partner("slow").loan(r#"simulate = { delay = "300ms" }"#);
    let daemon = Daemon::with_partners(vec![slow]).start().await;
    let pending = daemon.submit(sample("personal_loan")).await;
    let uuid = pending.json()["uuid"].as_str().unwrap().to_owned();

    // Answers as a daemon does that then dies.
    let dying = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", dying.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = dying.accept().unwrap();
        drop(dying);
        assert!(stream.read(&mut [0; 16 * 1024]).unwrap() > 0);
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", pending.body.len());
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&pending.body).unwrap();
    });
    let file = daemon.file("lead.json");
    fs::write(&file, sample("personal_loan")).unwrap();
    let output = daemon.command(&["lead", "submit", file.to_str().unwrap(), "--token", "a", "--url", &url]);
    answering.join().unwrap();
    let told = stderr(&output);
    assert!(
        told.contains("the lead was accepted") && told.contains(&format!("`offerd explain {uuid}`")),
        "{told}"
    );
}

#[tokio::test]
async fn what_a_daemon_refuses_is_one_sentence() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let told = stderr(&daemon.command(&["partners", "pause", "nope"]));
    assert_eq!(told, "offerd: the daemon refused: there is no partner `nope`; there are: prompt_0\n");
    let nobody = daemon.command(&["partners", "timing", "--since", "1h"]);
    assert_eq!(
        String::from_utf8(nobody.stdout).unwrap(),
        "no partner was asked in the last 1h; `--since` looks further back\n"
    );
}
