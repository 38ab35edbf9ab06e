//! Settings that pass and mean what they say: origins as people write them, and variables of the type of their setting.

use hyper::Method;
use offerd::config::Settings;

use crate::kit::Daemon;
use crate::kit::partners::partner;

/// The settings of some variables, or their faults.
fn of(variables: &[(&str, &str)]) -> Result<Settings, String> {
    let named = |(name, value): &(&str, &str)| (format!("OFFERD__{name}"), (*value).to_owned());
    let told = |faults: Vec<offerd::declaration::Fault>| {
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    Settings::from_layers(None, variables.iter().map(named)).map_err(told)
}

/// An origin as people write it, what browsers send then, and what they do not.
///
/// Seen in the settings of servers in every language: a browser sends small letters and no default port, so an entry with either never
/// matches, without a word; a `*.` is taken for text; a slash at the end, copied from an address bar, is not an origin; and apps in
/// a web view have schemes of their own.
const ORIGINS: [(&str, &[&str], &[&str]); 12] = [
    (
        "https://*.shop.example",
        &["https://www.shop.example", "https://a.b.shop.example"],
        &["https://shop.example", "https://shop.example.evil.example", "http://www.shop.example"],
    ),
    ("HTTPS://Shop.Example", &["https://shop.example"], &["http://shop.example"]),
    ("https://shop.example:443", &["https://shop.example"], &["https://shop.example:8443"]),
    ("http://shop.example:80", &["http://shop.example"], &["https://shop.example"]),
    ("http://shop.example:443", &["http://shop.example:443"], &["http://shop.example"]),
    ("https://*.Shop.example:8443", &["https://a.shop.example:8443"], &["https://a.shop.example"]),
    ("capacitor://localhost", &["capacitor://localhost"], &["http://localhost", "ionic://localhost"]),
    (
        "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
        &["chrome-extension://abcdefghijklmnopabcdefghijklmnop"],
        &[],
    ),
    ("http://[::1]:3000", &["http://[::1]:3000"], &["http://[::1]"]),
    // Addresses in a form that an address bar takes, and no browser sends.
    ("http://[0:0:0:0:0:0:0:1]", &["http://[::1]"], &["http://[0:0:0:0:0:0:0:1]"]),
    ("http://[::FFFF:127.0.0.1]:80", &["http://[::ffff:7f00:1]"], &[]),
    ("http://127.1:3000", &["http://127.0.0.1:3000"], &["http://127.1:3000"]),
];

#[tokio::test]
async fn an_origin_that_passes_matches_what_browsers_send() {
    for (written, sent, others) in ORIGINS {
        let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
        let daemon = plan.setting("api.cors_origins", written).start().await;
        for (origins, allowed) in [(sent, true), (others, false)] {
            for origin in origins {
                let headers = [("origin", *origin), ("access-control-request-method", "POST")];
                let url = format!("{}/leads/rateTables", daemon.api);
                let answer = daemon.request_with(Method::OPTIONS, &url, "", &headers, "").await;
                let echoed = answer.header("access-control-allow-origin");
                assert_eq!(echoed, Some(*origin).filter(|_| allowed), "`{written}` and {origin}");
            }
        }
    }
}

/// What no browser sends, and why in words.
const NO_ORIGINS: [(&str, &str); 14] = [
    ("shop.example", "must be `*` or origins such as `https://shop.example`, got `shop.example`"),
    ("https://shop.example/", "without a path or a slash"),
    ("https://shop.example/offers", "without a path or a slash"),
    ("https://münchen.example", "begins with `xn--`"),
    ("https://shop.example:99999", "a port is from 1 to 65535"),
    ("https://shop.example:*", "a port is from 1 to 65535"),
    ("http://127.0.0.256", "that is not an IPv4 address"),
    ("http://127.0.0.0.1", "that is not an IPv4 address"),
    ("https://shop.1", "that is not an IPv4 address"),
    ("https://*", "got `https://*`"),
    ("https://*.com", "before a domain of the web"),
    ("capacitor://*.localhost", "before a domain of the web"),
    ("https://user@shop.example", "got `https://***@shop.example`"),
    ("null", "got `null`"),
];

#[test]
fn what_no_browser_sends_does_not_pass() {
    for (written, why) in NO_ORIGINS {
        for key in ["API__CORS_ORIGINS", "OFFER_PAGES__FRAME_ANCESTORS"] {
            let told = of(&[(key, written)]).unwrap_err();
            let why = if key.starts_with("API") { why } else { "must be origins such as" };
            assert!(told.contains(why), "{written}: {told}");
        }
    }
    for (written, sent) in [
        ("http://0x7f.1", "http://127.0.0.1"),
        ("http://2130706433", "http://127.0.0.1"),
        ("http://192.168.010.1", "http://192.168.8.1"),
        ("https://shop1.example", "https://shop1.example"),
        ("https://[2001:DB8:0:0:1::1]", "https://[2001:db8::1:0:0:1]"),
    ] {
        assert_eq!(of(&[("API__CORS_ORIGINS", written)]).unwrap().api.cors_origins, [sent]);
    }
    let mixed = of(&[("API__CORS_ORIGINS", "*,https://Shop.example:443")]).unwrap();
    assert_eq!(mixed.api.cors_origins, ["*", "https://shop.example"]);
    // As a file has it, with the quotes that a shell leaves.
    for written in
        ["[\"*\", 'https://Shop.example:443']", " [*,https://shop.example] ", "\"*\",https://shop.example,"]
    {
        let listed = of(&[("API__CORS_ORIGINS", written)]).unwrap();
        assert_eq!(listed.api.cors_origins, mixed.api.cors_origins, "{written}");
    }
}

/// A variable and its text, and the value of the setting in TOML, or what is said of it.
///
/// Seen with every reader of settings that guesses a type from the text: a name of digits becomes a number and is refused, a hash or a
/// password such as `12e45678` becomes infinity, `0123` loses its zero, `no` and `null` become something else.
const VARIABLES: [(&str, &str, Result<&str, &str>); 22] = [
    ("STORE__POSTGRES__NODE_NAME", "1", Ok("1")),
    ("STORE__POSTGRES__NODE_NAME", "12e45678", Ok("12e45678")),
    ("STORE__POSTGRES__NODE_NAME", "0123", Ok("0123")),
    ("STORE__POSTGRES__NODE_NAME", "true", Ok("true")),
    ("API__VENDOR", "2026", Ok("2026")),
    ("STORE__PATH", "7", Ok("7")),
    ("REPORTS__TAGS", "1", Ok("1")),
    ("STORE__POSTGRES__CONNECTIONS", "7", Ok("7")),
    ("TOKENS__BOOTSTRAP", "FALSE", Ok("false")),
    ("API__MAX_CONNECTIONS", "12e45678", Err("`api.max_connections`")),
    ("API__MAX_CONNECTIONS", "0", Err("`api.max_connections` must be from 1 to 1000000, got 0")),
    ("API__MAX_CONNECTIONS", "many", Err("`api.max_connections`")),
    ("TOKENS__BOOTSTRAP", "1", Err("`tokens.bootstrap`")),
    ("API__BASE_URL", "5", Err("`api.base_url` must be an http or https URL")),
    (
        "API__HEADER_TIMEOUT",
        "30",
        Err("`api.header_timeout` must be a duration such as `15s` or `50ms`, got `30`"),
    ),
    ("API__HEADER_TIMEOUT", "-5s", Err("`api.header_timeout` must not be negative, got `-5s`")),
    (
        "API__HEADER_TIMEOUT",
        "99999999999999y",
        Err("`api.header_timeout` must not be so long a duration, got `99999999999999y`"),
    ),
    ("LIMITS__TRUSTED_PROXIES", "10", Err("must be networks such as `10.0.0.0/8`, got `10`")),
    // What does not fit beside a default is the variable's fault.
    ("STORE__ENGINE", "postgres", Err("`store.postgres.url` must be the address of the database")),
    ("RANKING__LEAST", "0.95", Err("`ranking.most` must be from 0.95 to 1, got 0.9")),
    (
        "MATCHING__DEADLINE",
        "55ms",
        Err(
            "`matching.response_margin` and `matching.least_budget` together must fit into `matching.deadline`",
        ),
    ),
    ("TRACING__SAMPLED_PERCENT", "inf", Err("`tracing.sampled_percent`")),
];

#[test]
fn the_type_of_a_setting_decides_how_its_variable_is_read() {
    for (name, text, wanted) in VARIABLES {
        match (of(&[(name, text)]), wanted) {
            (Ok(settings), Ok(wanted)) => {
                let [section, key] = [0, 1].map(|nth| name.splitn(2, "__").nth(nth).unwrap().to_lowercase());
                let table = key.split("__").next().unwrap();
                let rows = settings.describe().iter();
                let row =
                    rows.into_iter().find(|(known, ..)| *known == format!("{section}.{table}")).unwrap();
                assert!(row.1.contains(wanted), "{name}={text}: {}", row.1);
            }
            (Err(told), Err(wanted)) => {
                assert!(told.contains(&format!("OFFERD__{name}")), "{name}={text}: {told}");
                assert!(told.contains(wanted), "{name}={text}: {told}");
            }
            (found, _) => panic!("{name}={text}: {:?}", found.map(|_| "is taken")),
        }
    }
    let variables = [
        ("STORE__POSTGRES__URL", "postgres://db.example/offerd"),
        ("STORE__POSTGRES__NODE_NAME", "12e45678"),
        ("STORE__POSTGRES__CONNECTIONS", "7"),
    ];
    let database = of(&variables).unwrap().store.postgres.expect("it has an address");
    assert_eq!((database.node_name.as_deref(), database.connections), (Some("12e45678"), 7));
}

/// As a unit file leaves it that has `Environment=OFFERD_CONFIG=`.
#[test]
fn an_empty_name_of_the_settings_file_is_told_as_that() {
    let plan = Daemon::with_partners(vec![partner("bank").savings("")]);
    for command in [&["check"][..], &["token", "list"]] {
        let output = plan.command(command).env("OFFERD_CONFIG", "").output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{command:?}: {told}");
        assert!(
            told.contains("names no file") && told.contains("leave out `--config` and OFFERD_CONFIG"),
            "{told}"
        );
    }
}
