//! The console over its socket: what each page holds, and how it is kept safe.

use hyper::Method;
use offerd::telemetry::metrics::METRICS;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::kit::partners::{partner, prompt_partners};
use crate::kit::{Answer, Daemon, sample};

/// A page with what the browser of somebody sends who is signed in.
pub async fn page(daemon: &Daemon, path: &str) -> Answer {
    let cookie = daemon.signed_in().await;
    get(daemon, path, &[("accept", "text/html"), ("cookie", cookie)]).await
}

/// A page with what the browser of a stranger sends.
async fn stranger(daemon: &Daemon, path: &str) -> Answer {
    get(daemon, path, &[("accept", "text/html")]).await
}

async fn get(daemon: &Daemon, path: &str, headers: &[(&str, &str)]) -> Answer {
    daemon.request_with(Method::GET, &format!("{}{path}", daemon.admin), "", headers, "").await
}

/// A page that must be there, as text.
pub async fn html(daemon: &Daemon, path: &str) -> String {
    let answer = page(daemon, path).await;
    assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    String::from_utf8(answer.body.to_vec()).unwrap()
}

/// A form that is sent from a page of the console, by who is signed in.
pub async fn send(daemon: &Daemon, path: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
    let cookie = daemon.signed_in().await;
    let mut all = vec![("cookie", cookie)];
    all.extend_from_slice(headers);
    send_as_stranger(daemon, path, fields, &all).await
}

/// The same with these headers alone.
async fn send_as_stranger(daemon: &Daemon, path: &str, fields: Pairs<'_>, headers: Pairs<'_>) -> Answer {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let mut all = vec![("content-type", "application/x-www-form-urlencoded")];
    all.extend_from_slice(headers);
    daemon.request_with(Method::POST, &format!("{}{path}", daemon.admin), "", &all, body).await
}

/// What stands in the hidden field `csrf` of a page's forms.
pub fn csrf(page: &str) -> String {
    let (_, after) = page.split_once("name=\"csrf\" value=\"").expect("the page has a form");
    after.split_once('"').unwrap().0.to_owned()
}

/// The body of an answer.
fn text(answer: Answer) -> String {
    String::from_utf8(answer.body.to_vec()).unwrap()
}

/// The cookie that an answer sets, without its attributes.
fn cookie(answer: &Answer) -> String {
    answer.header("set-cookie").expect("a cookie").split(';').next().unwrap().to_owned()
}

/// Every page there is on a daemon with the sample partners.
const PAGES: &[(&str, &str)] = &[
    ("/console", "Now"),
    ("/console/alerts", "Alerts"),
    ("/console/partners", "Partners"),
    ("/console/partners?q=bank", "Partners"),
    ("/console/partners/northquill_lending", "Northquill Lending"),
    ("/console/partners/northquill_lending/timeouts", "Timeouts of Northquill Lending"),
    ("/console/rateTables", "Rate tables"),
    ("/console/funnel", "Funnel"),
    ("/console/funnel?leads=test&time=year&product=loan", "Funnel"),
    ("/console/reports", "Reports"),
    ("/console/reports?leads=test&by=partner&by=state&compare=true", "Reports"),
    ("/console/experiments", "Experiments"),
    ("/console/postbacks", "Postbacks"),
    ("/console/persons", "Data requests"),
    ("/console/consents", "Consents"),
    ("/console/catalogue", "Catalog"),
    ("/console/catalogue?q=loan&page=2", "Catalog"),
    ("/console/catalogue/try?product=mortgage", "Try a lead"),
    ("/console/system", "System"),
    ("/console/audit?time=all", "Audit"),
    ("/console/people", "Users"),
    ("/console/handbook", "First hour as an operator"),
    ("/console/handbook/metrics", "What each metric means"),
];

#[tokio::test]
async fn every_page_is_whole_and_sealed() {
    let daemon = Daemon::with_sample_partners().start().await;
    assert_eq!(daemon.submit(sample("personal_loan")).await.status, 200);
    for (path, title) in PAGES {
        let answer = page(&daemon, path).await;
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");

        let text = String::from_utf8(answer.body.to_vec()).unwrap();
        assert!(text.contains(&format!("<title>{title} · offerd</title>")), "{path}");
        for landmark in
            ["<html lang=\"en\">", "<main id=\"main\"", "class=\"skip\"", "<nav aria-label=", "<h1"]
        {
            assert!(text.contains(landmark), "{path} has no {landmark}");
        }
        // A chapter of the handbook stands in a navigation of its own too.
        let (places, navigations) =
            (text.matches("aria-current=\"page\"").count(), text.matches("<nav").count());
        assert!((1..=navigations).contains(&places), "{path}");
        assert!(
            !text.contains("style=") && !text.contains("onclick"),
            "{path}: the policy would refuse that"
        );
        let tables = text.matches("<table class=\"data").count();
        assert_eq!(tables, text.matches("<caption").count(), "{path}");
    }
}

/// Whoever may see money sees first what the day has brought, and then what is wrong.
#[tokio::test]
async fn now_begins_with_the_business_and_what_needs_attention() {
    let daemon =
        Daemon::with_sample_partners().setting("alerts.every", "20ms").setting("alerts.backup_age", "1ms");
    let daemon = daemon.start().await;
    let waiting = async {
        loop {
            let text = html(&daemon, "/console").await;
            if text.contains(">BackupOld</a>") && text.contains("Payouts today") {
                return text;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let text = tokio::time::timeout(crate::kit::PATIENCE, waiting).await.expect("the alert is shown");
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(place("Payouts today") < place("Needs attention"));
    assert!(place("Needs attention") < place("Leads accepted"));
    assert!(text.contains("/console/handbook/metrics#the-last-backup-is-old"));
    let alerts = html(&daemon, "/console/alerts").await;
    assert!(
        alerts.contains(">OfferdBackupOld</th>") && alerts.contains("Nobody receives alerts"),
        "{alerts}"
    );
}

#[tokio::test]
async fn every_metric_that_a_page_names_is_one() {
    let daemon = Daemon::with_sample_partners().start().await;
    daemon.submit(sample("personal_loan")).await;
    let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let mut named = 0;
    for (path, _) in PAGES {
        let text = html(&daemon, path).await;
        for word in text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
            // What begins like one and has another beginning is a file or a cookie; what `::` follows is the module of a log line.
            if !word.starts_with("offerd_") || text.contains(&format!("{word}::")) {
                continue;
            }
            named += 1;
            let metric = word.strip_suffix("_count").filter(|metric| known.contains(metric)).unwrap_or(word);
            assert!(known.contains(&metric), "{path} names {word}");
        }
    }
    assert!(named > 20, "only {named} names were found");
}

/// Asks for a page until it holds some words.
async fn until(daemon: &Daemon, path: &str, words: &str) -> String {
    let looking = async {
        loop {
            let page = html(daemon, path).await;
            if page.contains(words) {
                return page;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let found = tokio::time::timeout(std::time::Duration::from_secs(60), looking).await;
    found.unwrap_or_else(|_| panic!("{path} never tells of {words}"))
}

/// A tile of the page *Now*.
fn tile<'p>(page: &'p str, name: &str) -> &'p str {
    let (_, after) = page.split_once(&format!("<h2>{name}</h2>")).unwrap_or_else(|| panic!("{name}: {page}"));
    after.split("</article>").next().unwrap()
}

#[tokio::test]
async fn what_happens_is_on_the_page_a_moment_later() {
    let daemon = Daemon::with_sample_partners().start().await;
    let leads = format!("{}/leads/rateTables", daemon.api);
    for _ in 0..3 {
        let refused = daemon.request(Method::POST, &leads, "no token", "{}").await;
        assert_eq!(refused.status, 401);
    }
    daemon.submit(sample("personal_loan")).await;
    let now = until(&daemon, "/console", "1 in the last minute").await;
    assert!(
        tile(&now, "Leads accepted").contains("1 in the last minute"),
        "who is refused is no lead: {now}"
    );
    assert!(tile(&now, "Answered 4xx").contains("<p class=\"figure\">3<small>"), "{now}");
    assert!(tile(&now, "Answered 5xx").contains("<p class=\"figure\">0<small>"), "{now}");
    assert!(tile(&now, "p99 submit latency").contains("refusals included"), "{now}");
    let partners = html(&daemon, "/console/partners").await;
    assert!(partners.contains("/console/partners/northquill_lending"));
}

/// Reads a page that is kept open until it was sent so often.
pub async fn kept_open(daemon: &Daemon, path: &str, times: usize) -> String {
    let mut stream =
        tokio::net::TcpStream::connect(daemon.admin.trim_start_matches("http://")).await.unwrap();
    let cookie = daemon.signed_in().await;
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\ncookie: {cookie}\r\naccept: text/event-stream\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = String::new();
    let mut chunk = [0; 16_384];
    while received.matches("event: page").count() < times {
        let length = stream.read(&mut chunk).await.unwrap();
        assert_ne!(length, 0, "the stream ended: {received}");
        received.push_str(&String::from_utf8_lossy(&chunk[..length]));
    }
    received
}

#[tokio::test]
async fn every_page_hears_of_the_daemon_and_only_what_changes_is_sent_anew() {
    let daemon = Daemon::with_sample_partners().start().await;
    let handbook = kept_open(&daemon, "/console/handbook", 2).await;
    assert_eq!(handbook.matches("<h1").count(), 1, "a page that never changes is not sent again");
    let (_, second) = handbook.rsplit_once("event: page").unwrap();
    assert!(second.contains("id=\"standing\" data-live") && second.contains("accepting leads"), "{second}");
    let page = html(&daemon, "/console/handbook").await;
    assert!(
        page.contains("data-beat=\"5\"") && page.contains("id=\"contact\" class=\"pill bad\" role=\"alert\"")
    );
    let nowhere = String::from_utf8(self::page(&daemon, "/console/nowhere").await.body.to_vec()).unwrap();
    assert!(!nowhere.contains("data-beat"), "what tells of a failure is not kept open");
}

#[tokio::test]
async fn a_page_that_is_kept_open_is_sent_anew_and_does_not_hold_up_the_end() {
    let daemon = Daemon::with_sample_partners().start().await;
    let received = kept_open(&daemon, "/console", 2).await;
    assert!(received.contains("content-type: text/event-stream") && received.contains("data: <div"));
    let (status, _) = daemon.terminate();
    assert!(status.success());
}

#[tokio::test]
async fn a_partner_is_told_by_its_rates_and_its_last_failures_the_newest_first() {
    let lender = partner("lender").loan("").replaced("timeout = \"10s\"", "timeout = \"500ms\"");
    let daemon = Daemon::with_partners(vec![lender]).start().await;
    for tag in ["offers", "malformed", "timed_out"] {
        let lead = format!(
            r#"{{"productTypes": ["loan"], "loanInformation": {{"loanAmount": 10000}},
                "creditInformation": {{"providedCreditRating": "good"}}, "clientTags": {{"sandbox": ["lender={tag}"]}}}}"#
        );
        assert_eq!(daemon.submit_blocking(&lead).await.status, 200);
    }
    let page = html(&daemon, "/console/partners/lender").await;
    assert!(page.contains("3: 1 with offers, 0 without, 1 failed, 1 timed out"), "{page}");
    assert!(page.contains("33.3 % of asks, 100 % of answers with offers"), "{page}");
    let outcomes = page.split("data-label=\"Outcome\">").skip(1);
    let outcomes: Vec<&str> = outcomes.filter_map(|rest| rest.split('<').next()).collect();
    assert_eq!(outcomes, ["timed out", "bad answer"]);
    let list = html(&daemon, "/console/partners").await;
    assert!(list.contains("data-label=\"Answered\">33.3 %"), "{list}");
}

/// Fields of a form, or headers.
type Pairs<'a> = &'a [(&'a str, &'a str)];

#[tokio::test]
async fn a_partner_is_paused_and_resumed_by_our_own_forms_only() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let list = html(&daemon, "/console/partners").await;
    let (_, after) = list.split_once("href=\"/console/partners/").unwrap();
    let path = format!("/console/partners/{}", after.split_once('"').unwrap().0);
    let token = csrf(&html(&daemon, &path).await);
    let pause = format!("{path}/pause");

    let forged: [(Pairs, Pairs); 4] = [
        (&[], &[]),
        (&[("csrf", "guessed")], &[]),
        (&[("csrf", &token)], &[("origin", "http://evil.example")]),
        (&[("csrf", &token)], &[("sec-fetch-site", "cross-site")]),
    ];
    for (fields, headers) in forged {
        let answer = send(&daemon, &pause, fields, headers).await;
        assert_eq!(answer.status, 403, "{fields:?} {headers:?}");
    }
    assert!(!html(&daemon, &path).await.contains("paused by an operator"));
    let json = daemon.request(Method::POST, &format!("{}{pause}", daemon.admin), "", "{}").await;
    assert_eq!(json.status, 415);

    let origin = daemon.admin.clone();
    let ours = [("origin", origin.as_str()), ("sec-fetch-site", "same-origin")];
    let paused = send(&daemon, &pause, &[("csrf", &token)], &ours).await;
    assert_eq!((paused.status, paused.header("location")), (303, Some(path.as_str())));
    assert!(html(&daemon, &path).await.contains("paused by an operator"));
    let resumed = send(&daemon, &format!("{path}/resume"), &[("csrf", &token)], &ours).await;
    assert_eq!(resumed.status, 303);
    assert!(!html(&daemon, &path).await.contains("paused by an operator"));
    daemon.logged("partner.pause").await;
    daemon.logged("partner.resume").await;
    daemon.logged("who=\"console, link of admin key\"").await;
    let unknown = send(&daemon, &pause, &[("csrf", &token), ("productType", "yacht")], &ours).await;
    assert_eq!(unknown.status, 400);
}

#[tokio::test]
async fn a_button_changes_with_what_it_does() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let act = |page: &str| {
        let (_, after) = page.split_once("<div id=\"act\" data-live>").expect("it is kept fresh");
        after.split("</div>").next().unwrap().to_owned()
    };
    let path = "/console/partners/prompt_0";
    assert!(act(&html(&daemon, path).await).contains("Pause all of it"));
    assert!(daemon.command(&["partners", "pause", "prompt_0"]).status.success());
    assert!(act(&html(&daemon, path).await).contains("Resume all of it"));
}

#[tokio::test]
async fn a_console_without_sign_in_is_opened_by_the_names_of_loopback_only() {
    let daemon = Daemon::with_sample_partners().setting("console.sign_in", "remote").start().await;
    let url = format!("{}/console", daemon.admin);
    let as_host =
        async |host: &str| daemon.request_with(Method::GET, &url, "", &[("host", host)], "").await.status;
    assert_eq!(as_host("localhost:8082").await, 200);
    assert_eq!(as_host("rebound.example").await, 403);
    assert!(daemon.console_secret.is_empty(), "where nobody is asked there is no secret");
}

#[tokio::test]
async fn a_fault_is_a_page_too() {
    let daemon = Daemon::with_sample_partners().start().await;
    let answer = page(&daemon, "/console/partners/nobody").await;
    assert_eq!((answer.status, answer.header("content-type")), (404, Some("text/html; charset=utf-8")));
    assert!(String::from_utf8_lossy(&answer.body).contains("There is no such partner"));
    for (file, kind) in
        [("console.css", "text/css"), ("console.js", "text/javascript"), ("icon.svg", "image/svg+xml")]
    {
        let asset = page(&daemon, &format!("/console/assets/{file}")).await;
        assert!(asset.status == 200 && asset.header("content-type").unwrap().starts_with(kind));
    }
    for path in ["/console/foo", "/console/system/foo", "/console/rateTables/a/b"] {
        let answer = page(&daemon, path).await;
        assert_eq!((answer.status, answer.header("content-type")), (404, Some("text/html; charset=utf-8")));
        assert!(String::from_utf8_lossy(&answer.body).contains("There is no such page"), "{path}");
    }
    assert_eq!(page(&daemon, "/console/assets/none").await.status, 404);
}

#[tokio::test]
async fn where_a_form_is_sent_to_leads_back_to_its_page() {
    let daemon = Daemon::with_sample_partners().start().await;
    for (path, back) in [
        ("/console/", "/console"),
        ("/console/signOut", "/console"),
        ("/console/system/reload", "/console/system"),
        ("/console/system/check", "/console/system"),
        ("/console/partners/northquill_lending/pause", "/console/partners/northquill_lending"),
        ("/console/partners/northquill_lending/resume", "/console/partners/northquill_lending"),
    ] {
        let answer = page(&daemon, path).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some(back)), "{path}");
    }
}

#[tokio::test]
async fn a_refused_reload_is_told_at_once_and_only_until_the_next() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let token = csrf(&html(&daemon, "/console/system").await);
    let reload = async || {
        let answer = send(&daemon, "/console/system/reload", &[("csrf", &token)], &[]).await;
        assert_eq!(answer.status, 200);
        String::from_utf8(answer.body.to_vec()).unwrap()
    };
    let broken = daemon.partners().join("broken.toml");
    std::fs::write(&broken, "[partner]\nname = 7\n").unwrap();
    let refused = reload().await;
    assert!(refused.contains("Not applied") && refused.contains(">1 since the start"), "{refused}");
    assert!(html(&daemon, "/console").await.contains("last reload rejected"));
    std::fs::remove_file(broken).unwrap();
    let taken = reload().await;
    assert!(taken.contains("nothing has changed") && taken.contains(">1 since the start"), "{taken}");
    let now = html(&daemon, "/console").await;
    assert!(
        !now.contains("last reload rejected") && now.contains("reloads rejected since the start: 1"),
        "{now}"
    );
    assert!(now.contains("none active") && now.contains("0 of 0 subscriptions active"), "{now}");
}

#[tokio::test]
async fn who_has_to_sign_in_does_so_by_a_link_once() {
    let daemon = Daemon::with_sample_partners().start().await;
    for (path, _) in PAGES {
        let answer = stranger(&daemon, path).await;
        assert_eq!(answer.status, 303, "{path}");
        assert!(answer.header("location").unwrap().starts_with("/console/signIn?next=%2Fconsole"), "{path}");
    }
    let url = format!("{}/console", daemon.admin);
    let stream = daemon.request_with(Method::GET, &url, "", &[("accept", "text/event-stream")], "").await;
    assert_eq!((stream.status, stream.body.len()), (204, 0));
    let sign_in = text(stranger(&daemon, "/console/signIn").await);
    assert!(sign_in.contains("offerd console") && sign_in.contains("type=\"password\""));

    let told = daemon.command(&["console", "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    let link = told["url"].as_str().unwrap().strip_prefix(&daemon.admin).unwrap().to_owned();
    assert_eq!((&told["signIn"], &told["expiresInS"]), (&true.into(), &600.into()));
    let form = text(stranger(&daemon, &link).await);
    let (_, code) = link.split_once("code=").unwrap();
    let token = csrf(&form);
    let fields = [("csrf", token.as_str()), ("code", code), ("next", "/console/system")];
    let signed_in = send_as_stranger(&daemon, "/console/signIn", &fields, &[]).await;
    assert_eq!((signed_in.status, signed_in.header("location")), (303, Some("/console/system")));
    let attributes = signed_in.header("set-cookie").unwrap();
    assert!(attributes.contains("HttpOnly; SameSite=Lax") && attributes.contains("Path=/console"));
    let cookie = cookie(&signed_in);
    let again = send_as_stranger(&daemon, "/console/signIn", &fields, &[]).await;
    assert_eq!(again.status, 403, "a link is good for one use");

    let signed = [("cookie", cookie.as_str())];
    let answer = daemon.request_with(Method::GET, &url, "", &signed, "").await;
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    assert_eq!(answer.status, 200);
    let own = csrf(&text);
    assert_ne!(own, token, "a session has its own");
    assert_eq!(send_as_stranger(&daemon, "/console/signOut", &[("csrf", &token)], &signed).await.status, 403);
    assert_eq!(send_as_stranger(&daemon, "/console/signOut", &[("csrf", &own)], &signed).await.status, 303);
    assert_eq!(daemon.request_with(Method::GET, &url, "", &signed, "").await.status, 303);
    daemon.logged("console.sign_in").await;
    let log = daemon.log();
    assert!(log.contains("who=\"console, link of ") && log.contains("(uid "), "{log}");
    assert!(!daemon.log().contains(code), "the log does not tell the code");
}

#[tokio::test]
async fn a_password_signs_in_and_cannot_be_guessed_for_long() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("password");
    std::fs::write(&file, "correct horse battery\n").unwrap();
    let plan = Daemon::with_sample_partners();
    let daemon = plan.setting("console.password_file", file.to_str().unwrap()).start().await;
    assert!(daemon.console_secret.is_empty(), "who has set a password needs no secret");
    let token = csrf(&text(stranger(&daemon, "/console/signIn").await));
    let attempt = async |password: &str, next: &str| {
        let fields = [("csrf", token.as_str()), ("password", password), ("next", next)];
        send_as_stranger(&daemon, "/console/signIn", &fields, &[]).await
    };
    let elsewhere = attempt("correct horse battery", "https://evil.example/").await;
    assert_eq!((elsewhere.status, elsewhere.header("location")), (303, Some("/console")));
    let mut refused = 0;
    while attempt("a guess", "").await.status == 403 {
        refused += 1;
        assert!(refused < 100, "guessing is never stopped");
    }
    assert!(refused >= 1);
    assert_eq!(attempt("correct horse battery", "").await.status, 429);
    let log = daemon.log();
    assert!(!log.contains("battery") && !log.contains("a guess"));
}

#[tokio::test]
async fn a_password_that_is_too_short_is_told_before_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("password");
    std::fs::write(&file, "short").unwrap();
    let plan = Daemon::with_sample_partners().setting("console.password_file", file.to_str().unwrap());
    let checked = plan.command(&["check"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(64));
    let told = String::from_utf8_lossy(&checked.stderr);
    assert!(
        told.contains("console.password_file") && told.contains("at least 12 characters, got 5"),
        "{told}"
    );
}

#[tokio::test]
async fn the_system_page_tells_of_settings_store_and_log() {
    let daemon = Daemon::with_sample_partners().setting("matching.linger", "7s").start().await;
    daemon.submit(sample("personal_loan")).await;
    let text = html(&daemon, "/console/system").await;
    assert!(text.contains("OFFERD__MATCHING__LINGER") && text.contains("matching.linger"));
    assert!(text.contains("ready api="), "the log's last lines are there");
    assert!(!text.contains(&daemon.confidential) && !text.contains(&daemon.publishable));
    let token = csrf(&text);
    assert_eq!(send(&daemon, "/console/system/check", &[("csrf", &token)], &[]).await.status, 303);
    let checked = async {
        while !html(&daemon, "/console/system").await.contains("all records are intact") {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), checked).await.expect("the check ends");
    let reloaded = send(&daemon, "/console/system/reload", &[("csrf", &token)], &[]).await;
    assert_eq!(reloaded.status, 200);
    assert!(String::from_utf8_lossy(&reloaded.body).contains("nothing has changed"));
    let backup = daemon.file("backup");
    assert!(daemon.command(&["backup", backup.to_str().unwrap()]).status.success());
    let system = html(&daemon, "/console/system").await;
    assert!(!system.contains("takes one"), "the last backup is told");
    assert!(system.contains(">by ") && system.contains("(uid "), "and who took it: {system}");
    assert!(system.contains("Records at the last check"), "{system}");
}

#[tokio::test]
async fn every_chapter_of_the_handbook_is_a_page_that_its_links_lead_to() {
    let daemon = Daemon::with_partners(Vec::new()).start().await;
    for chapter in offerd::handbook::CHAPTERS {
        let page = html(&daemon, &format!("/console/handbook/{}", chapter.name)).await;
        assert!(page.contains(&format!("<h1>{}</h1>", chapter.title)), "{}", chapter.name);
        assert!(page.contains("aria-current=\"page\"") && !page.contains("style="), "{}", chapter.name);
        let links =
            page.split("href=\"/console/handbook/").skip(1).filter_map(|rest| rest.split(['"', '#']).next());
        for link in links {
            assert!(offerd::handbook::chapter(link).is_some(), "{}: {link}", chapter.name);
        }
    }
    assert_eq!(self::page(&daemon, "/console/handbook/nothing").await.status, 404);
}
