//! What stands in front of us: how proxies note whom they forward for, and what they hold back or close.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::kit::Daemon;
use crate::kit::partners::{far_lender, partner};

/// One client as proxies note it each time, and another one.
///
/// Seen with Azure's Application Gateway and App Service (the port of the client with it, another each time), IIS with Application Request
/// Routing and Fortigate (IPv6 in brackets, with a port or without), and with proxies that write IPv4 in IPv6. Services behind them counted all
/// of their users as the gateway, and limited all of them together.
const NOTED: [([&str; 3], &str); 6] = [
    (["203.0.113.9:51544", "203.0.113.9:51545", "203.0.113.9"], "203.0.113.10:51544"),
    (["[2001:db8:1::1]:443", "[2001:db8:1::1]:444", "[2001:db8:1::1]"], "[2001:db8:2::1]:443"),
    (["2001:db8:3::1", "[2001:db8:3::1]:1", "\"[2001:db8:3::1]:2\""], "2001:db8:4::1"),
    (["[::ffff:203.0.113.11]:80", "203.0.113.11:81", "::ffff:203.0.113.11"], "[::ffff:203.0.113.12]:80"),
    // By two proxies of ours: the second notes the first, with its port.
    (
        ["203.0.113.13:1, 127.0.0.2:2", "203.0.113.13:3, 127.0.0.2", "203.0.113.13"],
        "203.0.113.14:1, 127.0.0.2:2",
    ),
    // What the client wrote itself, left of what the proxy noted, proves nothing.
    (
        ["198.51.100.1:1, 203.0.113.15:2", "198.51.100.2, 203.0.113.15:3", "203.0.113.15:4"],
        "203.0.113.15:1, 203.0.113.16:2",
    ),
];

#[tokio::test]
async fn a_client_is_known_however_a_proxy_notes_it() {
    let plan = Daemon::with_partners(vec![partner("lender").loan("")]);
    let plan = plan.setting("limits.trusted_proxies", "127.0.0.0/8");
    let daemon = plan.setting("limits.burst_clicks_per_offer", "3").start().await;
    let url = daemon.get("/offerPreview/loanOffers").await.json()[0]["url"].as_str().unwrap().to_owned();
    for (one, other) in NOTED {
        let mut statuses = Vec::new();
        for noted in one.into_iter().cycle().take(21) {
            let headers = [("x-forwarded-for", noted)];
            let click = daemon.request_with(hyper::Method::GET, &url, "", &headers, "").await;
            statuses.push(click.status);
        }
        assert_eq!(statuses[..3], [302; 3], "{one:?}");
        assert!(statuses.contains(&429), "{one:?} are one client: {statuses:?}");
        let headers = [("x-forwarded-for", other)];
        let click = daemon.request_with(hyper::Method::GET, &url, "", &headers, "").await;
        assert_eq!(click.status, 302, "{other} is another client than {one:?}");
    }
}

/// Seen with nginx and others that buffer an answer until it ends: a page shows nothing until the last event, then all at once.
#[tokio::test]
async fn event_streams_ask_not_to_be_held_back() {
    let daemon = Daemon::with_partners(vec![partner("lender").loan("")]).start().await;
    let table = daemon.submit(r#"{"productTypes":["loan"]}"#).await.json();
    let path = format!("/originator/rateTables/{}/events", table["uuid"].as_str().unwrap());
    let stream = daemon.get(&path).await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    let whole = daemon.rate_table(table["uuid"].as_str().unwrap()).await;
    assert_eq!(whole.header("x-accel-buffering"), None);
}

/// Balancers keep a connection for 60 s and more (ALB, Azure and HAProxy's defaults among them), and answer 502 where a service closes first.
#[tokio::test]
async fn silence_has_a_time_of_its_own_that_is_longer_than_that_of_balancers() {
    let settings = offerd::config::Settings::from_layers(None, []).unwrap();
    assert!(settings.api.idle_timeout > std::time::Duration::from_secs(60));
    assert!(settings.api.header_timeout < settings.api.idle_timeout);
}

/// Variables that are no UTF-8, of every command's environment, and whether it concerns us.
///
/// Seen where a shell of another locale, a CI runner or a desktop leaves such a variable: every command of a program that reads all
/// variables as text ends in a panic, whatever it was asked.
const VARIABLES: [(&[u8], &[u8], Option<&str>); 6] = [
    (b"LS_COLORS", b"\xff\xfe", None),
    (b"NAME_\xff", b"value", None),
    (b"USER", b"J\xf6rg", None),
    (b"NO_COLOR", b"\xff", None),
    (b"OFFERD__LOG__FILTER", b"info\xff", Some("OFFERD__LOG__FILTER")),
    (b"OFFERD__LOG__\xff", b"info", Some("must be UTF-8 text")),
];

#[tokio::test]
async fn a_variable_that_is_no_text_ends_no_command_in_a_panic() {
    let plan = Daemon::with_partners(vec![partner("lender").loan("")]);
    for (name, value, named) in VARIABLES {
        for command in [&["check"][..], &["doctor"], &["--version"], &["store", "check"], &["token", "list"]]
        {
            let mut run = plan.command(command);
            let output = run.env(OsStr::from_bytes(name), OsStr::from_bytes(value)).output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_ne!(output.status.code(), Some(101), "{command:?}: {told}");
            assert!(!told.contains("panicked"), "{command:?}: {told}");
            if command == ["check"] {
                assert_eq!(output.status.code(), Some(if named.is_some() { 64 } else { 0 }), "{told}");
                assert!(told.contains(named.unwrap_or_default()), "{told}");
            }
        }
    }
}

#[test]
fn a_secret_in_a_variable_that_is_no_text_is_told_from_one_that_is_not_set() {
    let secret = "[products.loan.http.secrets]\nkey = { env = \"LENDER_KEY\" }\n";
    let plan = Daemon::with_partners(vec![far_lender("far", "https://lender.example/", secret)]);
    let unset = plan.command(&["check"]).output().unwrap();
    let mut run = plan.command(&["check"]);
    let no_text = run.env("LENDER_KEY", OsStr::from_bytes(b"k\xff")).output().unwrap();
    for (output, said) in [(unset, "LENDER_KEY is not set"), (no_text, "LENDER_KEY is not UTF-8 text")] {
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert!(told.contains(said), "{told}");
    }
}
