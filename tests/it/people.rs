//! People who use the console: their names, roles, passwords and sessions, and what each role may.

use std::fs;

use hyper::Method;
use offerd::admin::console;
use offerd::store::users::Role;
use serde_json::Value;

use crate::console::csrf;
use crate::kit::partners::prompt_partners;
use crate::kit::{Answer, Daemon, sample};

const PASSWORD: &str = "correct horse battery";

/// Somebody's browser, signed in or not.
pub struct Browser<'d> {
    daemon: &'d Daemon,
    pub cookie: String,
}

impl<'d> Browser<'d> {
    pub fn new(daemon: &'d Daemon) -> Self {
        Self { daemon, cookie: String::new() }
    }

    /// Of somebody who has signed in with name and password.
    pub async fn of(daemon: &'d Daemon, name: &str) -> Self {
        let mut browser = Self::new(daemon);
        let answer = browser.sign_in(&[("name", name), ("password", PASSWORD)]).await;
        assert_eq!(answer.status, 303, "{name}: {}", text(&answer));
        browser
    }

    pub async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: String) -> Answer {
        let mut all = vec![("accept", "text/html"), ("cookie", self.cookie.as_str())];
        all.extend_from_slice(headers);
        self.daemon.request_with(method, &format!("{}{path}", self.daemon.admin), "", &all, body).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], String::new()).await
    }

    /// What stands in the forms of this browser.
    async fn csrf(&self) -> String {
        let page = if self.cookie.is_empty() { "/console/signIn" } else { "/console/account" };
        csrf(&text(&self.get(page).await))
    }

    /// Sends a form that was loaded before.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.post_from(path, fields, &[]).await
    }

    pub async fn post_from(&self, path: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
        let csrf = self.csrf().await;
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("csrf", &csrf)
            .extend_pairs(fields)
            .finish();
        let mut all = vec![("content-type", "application/x-www-form-urlencoded")];
        all.extend_from_slice(headers);
        self.send(Method::POST, path, &all, form).await
    }

    /// Signs in, and keeps the cookie.
    pub async fn sign_in(&mut self, fields: &[(&str, &str)]) -> Answer {
        self.cookie.clear();
        let answer = self.post("/console/signIn", fields).await;
        self.keep(&answer);
        answer
    }

    fn keep(&mut self, answer: &Answer) {
        if let Some(cookie) = answer.header("set-cookie") {
            self.cookie = cookie.split(';').next().unwrap().to_owned();
        }
    }

    async fn is_signed_in(&self) -> bool {
        self.get("/console").await.status == 200
    }
}

pub fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// Adds a user who has a password.
pub fn add(daemon: &Daemon, name: &str, role: &str) {
    fs::write(daemon.file("password"), format!("{PASSWORD}\n")).unwrap();
    let line = format!("exec offerd user add {name} --role {role} --password-stdin < password");
    let added = daemon.shell(&line).output().unwrap();
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
}

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

fn code_of(link: &str) -> String {
    link.split_once("code=").expect("a link").1.trim().to_owned()
}

#[tokio::test]
async fn a_user_is_invited_sets_a_password_and_signs_in_with_it_after_a_restart_too() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let added = daemon.command(&["user", "add", "Alice@example.com", "--role", "analyst"]);
    assert!(added.status.success(), "{}", said(&added));
    let code = code_of(&String::from_utf8(added.stdout).unwrap());
    let mut alice = Browser::new(&daemon);
    assert_eq!(alice.sign_in(&[("code", &code)]).await.header("location"), Some("/console/account"));
    let before = alice.cookie.clone();
    let page = text(&alice.get("/console/account").await);
    assert!(
        page.contains("alice@example.com") && page.contains("analyst") && !page.contains("name=\"current\"")
    );

    let unlike = [("password", PASSWORD), ("again", "another horse")];
    assert_eq!(alice.post("/console/account", &unlike).await.status, 400);
    let short = alice.post("/console/account", &[("password", "short"), ("again", "short")]).await;
    assert!(text(&short).contains("at least 12 characters, got 5"), "{}", text(&short));
    let set = alice.post("/console/account", &[("password", PASSWORD), ("again", PASSWORD)]).await;
    alice.keep(&set);
    assert!(set.status == 303 && alice.is_signed_in().await);
    assert_ne!(alice.cookie, before, "another right, another session");
    let taken_along = Browser { daemon: &daemon, cookie: before };
    assert!(!taken_along.is_signed_in().await);

    let again = [("password", "another horse battery"), ("again", "another horse battery")];
    assert_eq!(
        alice.post("/console/account", &again).await.status,
        400,
        "the password until now is asked for"
    );
    let listed: Value = serde_json::from_slice(&daemon.command(&["user", "list", "--json"]).stdout).unwrap();
    assert_eq!((&listed[0]["name"], &listed[0]["hasPassword"]), (&"alice@example.com".into(), &true.into()));
    assert!(!listed.to_string().contains("argon2"));
    daemon.logged("user.password").await;
    assert!(!daemon.log().contains(PASSWORD) && !daemon.log().contains("argon2"));

    let cookie = alice.cookie.clone();
    let daemon = daemon.terminate().1.start().await;
    assert!(!Browser { daemon: &daemon, cookie }.is_signed_in().await, "a session ends with the daemon");
    assert!(Browser::of(&daemon, "ALICE@example.com").await.is_signed_in().await);
}

#[tokio::test]
async fn whoever_makes_the_first_start_becomes_the_first_administrator() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let mut first = Browser::new(&daemon);
    let answer = first.sign_in(&[("password", &daemon.console_secret)]).await;
    assert_eq!(answer.status, 303);
    let fields = [("name", "maren"), ("password", PASSWORD), ("again", PASSWORD)];
    let taken = first.post("/console/account", &fields).await;
    first.keep(&taken);
    assert_eq!(taken.status, 303, "{}", text(&taken));
    let page = text(&first.get("/console/account").await);
    assert!(page.contains("maren") && page.contains("administrator"), "{page}");
    assert!(said(&daemon.command(&["user", "list"])).contains("administrator"));
    daemon.logged("who=\"console, secret\"").await;
    assert!(Browser::of(&daemon, "maren").await.is_signed_in().await);
}

#[tokio::test]
async fn what_changes_a_users_right_ends_what_they_have_begun() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    add(&daemon, "robin", "operator");
    add(&daemon, "sam", "viewer");
    let sam = Browser::of(&daemon, "sam").await;
    let changes: [&[&str]; 4] = [
        &["user", "role", "robin", "viewer"],
        &["user", "disable", "robin"],
        &["user", "enable", "robin"],
        &["user", "remove", "robin"],
    ];
    let mut robin = Browser::of(&daemon, "robin").await;
    for (nth, change) in changes.iter().enumerate() {
        let changed = daemon.command(change);
        assert!(changed.status.success(), "{}", said(&changed));
        assert!(!robin.is_signed_in().await, "{change:?}");
        let status = robin.sign_in(&[("name", "robin"), ("password", PASSWORD)]).await.status;
        assert_eq!(status, if nth % 2 == 0 { 303 } else { 403 }, "{change:?}");
    }
    assert!(sam.is_signed_in().await, "nobody else's does");
    for wrong in [["user", "role", "nobody", "viewer"], ["user", "role", "sam", "king"]] {
        assert!(!daemon.command(&wrong).status.success());
    }
    let twice = daemon.command(&["user", "add", "sam", "--role", "viewer"]);
    assert!(said(&twice).contains("user `sam` exists already"), "{}", said(&twice));
}

#[tokio::test]
async fn users_of_a_stopped_daemon_are_seen_to_as_well() {
    let (_, stopped) = Daemon::with_partners(prompt_partners(1)).start().await.terminate();
    let run = |arguments: &[&str]| stopped.plan.command(arguments).output().unwrap();
    let added = run(&["user", "add", "robin", "--role", "viewer"]);
    assert!(
        added.status.success() && said(&added).contains("offerd user password robin"),
        "{}",
        said(&added)
    );
    assert!(run(&["user", "role", "robin", "operator"]).status.success());
    let daemon = stopped.start().await;
    let listed = said(&daemon.command(&["user", "list"]));
    assert!(listed.contains("operator") && listed.contains("no password yet"), "{listed}");
    let link = daemon.command(&["user", "password", "robin"]);
    let code = code_of(&String::from_utf8(link.stdout).unwrap());
    assert_eq!(Browser::new(&daemon).sign_in(&[("code", &code)]).await.status, 303);
}

#[tokio::test]
async fn an_administrator_sees_to_users_in_the_browser() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    add(&daemon, "maren", "administrator");
    let maren = Browser::of(&daemon, "maren").await;
    let added = maren.post("/console/people", &[("name", "Robin"), ("role", "viewer")]).await;
    assert_eq!(added.status, 200, "{}", text(&added));
    let page = text(&added).replace("&#x2f;", "/");
    let (_, link) = page.split_once("href=\"/console/signIn?code=").expect("a link for robin");
    let code = link.split('"').next().unwrap();
    let mut robin = Browser::new(&daemon);
    assert_eq!(robin.sign_in(&[("code", code)]).await.header("location"), Some("/console/account"));
    for (fields, words, signed_in) in [
        (&[("do", "role"), ("role", "operator")][..], "robin has another role", false),
        (&[("do", "disable")], "disabled", false),
        (&[("do", "enable")], "may sign in again", false),
        (&[("do", "remove")], "The user is removed", false),
    ] {
        let changed = text(&maren.post("/console/people/robin", fields).await);
        assert!(changed.contains(words), "{changed}");
        assert_eq!(robin.is_signed_in().await, signed_in);
    }
    for (path, fields, status) in [
        ("/console/people", &[("name", "a b"), ("role", "viewer")][..], 400),
        ("/console/people", &[("name", "maren"), ("role", "viewer")], 400),
        ("/console/people", &[("name", "sam"), ("role", "king")], 400),
        ("/console/people/maren", &[("do", "nothing")], 400),
        ("/console/people/nobody", &[("do", "disable")], 404),
        ("/console/people/maren", &[("do", "disable")], 400),
        ("/console/people/Maren", &[("do", "remove")], 400),
        ("/console/people/maren", &[("do", "role"), ("role", "operator")], 400),
        ("/console/people/maren", &[("do", "role"), ("role", "administrator")], 200),
    ] {
        assert_eq!(maren.post(path, fields).await.status, status, "{path} {fields:?}");
    }
    let maren = Browser::of(&daemon, "maren").await;
    add(&daemon, "olga", "administrator");
    let left = text(&maren.post("/console/people/maren", &[("do", "role"), ("role", "viewer")]).await);
    assert!(left.contains("maren has another role"), "another one is left: {left}");
}

#[tokio::test]
async fn guessing_one_name_is_stopped_and_keeps_no_other_out() {
    let plan = Daemon::with_partners(prompt_partners(1)).setting("console.sign_ins_failed_per_name", "3");
    let daemon = plan.start().await;
    add(&daemon, "robin", "viewer");
    add(&daemon, "sam", "viewer");
    let attempt = async |name: &str, password: &str| {
        Browser::new(&daemon).sign_in(&[("name", name), ("password", password)]).await.status
    };
    for name in ["robin", "nobody"] {
        let statuses = [attempt(name, "a").await, attempt(name, "b").await, attempt(name, "c").await];
        assert_eq!(statuses, [403; 3]);
        assert_eq!(attempt(name, PASSWORD).await, 429, "{name}: as if there were such a user");
    }
    assert_eq!(attempt("sam", PASSWORD).await, 303);
    let refused = r#"offerd_console_sign_ins_refused_total{reason="too_many"} 2"#;
    assert!(daemon.metrics().await.contains(refused));
}

/// Every path of the console, and the least role that may ask; without one it is open to strangers, or for commands only.
#[rustfmt::skip]
const ROLES: &[(&str, &str, Option<Role>)] = &[
    ("GET", "/console", Some(Role::Viewer)),
    ("GET", "/console/", Some(Role::Viewer)),
    ("GET", "/console/account", Some(Role::Viewer)),
    ("GET", "/console/alerts", Some(Role::Viewer)),
    ("GET", "/console/alerts/test", Some(Role::Viewer)),
    ("GET", "/console/assets/{file}", None),
    ("GET", "/console/audit", Some(Role::Administrator)),
    ("GET", "/console/audit/download", Some(Role::Administrator)),
    ("GET", "/console/catalogue", Some(Role::Viewer)),
    ("GET", "/console/catalogue/try", Some(Role::Viewer)),
    ("GET", "/console/consents", Some(Role::Operator)),
    ("GET", "/console/consents/download", Some(Role::Operator)),
    ("GET", "/console/experiments", Some(Role::Analyst)),
    ("GET", "/console/experiments/download", Some(Role::Analyst)),
    ("GET", "/console/funnel", Some(Role::Analyst)),
    ("GET", "/console/handbook", Some(Role::Viewer)),
    ("GET", "/console/handbook/{chapter}", Some(Role::Viewer)),
    ("GET", "/console/nodes", Some(Role::Operator)),
    ("GET", "/console/partners", Some(Role::Viewer)),
    ("GET", "/console/partners/{partner}", Some(Role::Viewer)),
    ("GET", "/console/partners/{partner}/pause", Some(Role::Viewer)),
    ("GET", "/console/partners/{partner}/probe", Some(Role::Viewer)),
    ("GET", "/console/partners/{partner}/resume", Some(Role::Viewer)),
    ("GET", "/console/partners/{partner}/timeouts", Some(Role::Analyst)),
    ("GET", "/console/people", Some(Role::Administrator)),
    ("GET", "/console/people/{name}", Some(Role::Administrator)),
    ("GET", "/console/persons", Some(Role::Operator)),
    ("GET", "/console/persons/erase", Some(Role::Operator)),
    ("GET", "/console/persons/export", Some(Role::Operator)),
    ("GET", "/console/persons/suppress", Some(Role::Operator)),
    ("GET", "/console/persons/unsuppress", Some(Role::Operator)),
    ("GET", "/console/postbacks", Some(Role::Operator)),
    ("GET", "/console/postbacks/{name}/retry", Some(Role::Operator)),
    ("GET", "/console/postbacks/{name}/test", Some(Role::Operator)),
    ("GET", "/console/ranking", Some(Role::Analyst)),
    ("GET", "/console/rateTables", Some(Role::Operator)),
    ("GET", "/console/rateTables/{uuid}", Some(Role::Operator)),
    ("GET", "/console/rateTables/{uuid}/reveal", Some(Role::Operator)),
    ("GET", "/console/rateTables/{uuid}/transcript", Some(Role::Operator)),
    ("GET", "/console/reports", Some(Role::Analyst)),
    ("GET", "/console/reports/download", Some(Role::Analyst)),
    ("GET", "/console/reports/statement", Some(Role::Analyst)),
    ("GET", "/console/settings/{kind}", Some(Role::Administrator)),
    ("GET", "/console/signIn", None),
    ("GET", "/console/signOut", Some(Role::Viewer)),
    ("GET", "/console/system", Some(Role::Operator)),
    ("GET", "/console/system/check", Some(Role::Operator)),
    ("GET", "/console/system/reload", Some(Role::Operator)),
    ("GET", "/console/{page}", Some(Role::Viewer)),
    ("GET", "/console/{page}/{part}", Some(Role::Viewer)),
    ("GET", "/console/{page}/{part}/{more}", Some(Role::Viewer)),
    ("POST", "/console/account", Some(Role::Viewer)),
    ("POST", "/console/alerts/test", Some(Role::Operator)),
    ("POST", "/console/catalogue/try", Some(Role::Viewer)),
    ("POST", "/console/consents", Some(Role::Operator)),
    ("POST", "/console/consents/download", Some(Role::Operator)),
    ("POST", "/console/links", None),
    ("POST", "/console/partners/{partner}/pause", Some(Role::Operator)),
    ("POST", "/console/partners/{partner}/probe", Some(Role::Operator)),
    ("POST", "/console/partners/{partner}/resume", Some(Role::Operator)),
    ("POST", "/console/people", Some(Role::Administrator)),
    ("POST", "/console/people/{name}", Some(Role::Administrator)),
    ("POST", "/console/persons", Some(Role::Operator)),
    ("POST", "/console/persons/erase", Some(Role::Operator)),
    ("POST", "/console/persons/export", Some(Role::Operator)),
    ("POST", "/console/persons/suppress", Some(Role::Operator)),
    ("POST", "/console/persons/unsuppress", Some(Role::Operator)),
    ("POST", "/console/postbacks/{name}/retry", Some(Role::Operator)),
    ("POST", "/console/postbacks/{name}/test", Some(Role::Operator)),
    ("POST", "/console/rateTables/{uuid}/reveal", Some(Role::Operator)),
    ("POST", "/console/rateTables/{uuid}/transcript", Some(Role::Operator)),
    ("POST", "/console/reports/statement", Some(Role::Analyst)),
    ("POST", "/console/secret", None),
    ("POST", "/console/settings/{kind}", Some(Role::Administrator)),
    ("POST", "/console/signIn", None),
    ("POST", "/console/signOut", Some(Role::Viewer)),
    ("POST", "/console/system/check", Some(Role::Operator)),
    ("POST", "/console/system/reload", Some(Role::Operator)),
];

#[test]
fn each_path_of_the_console_stands_in_the_table_of_roles() {
    let mut routes: Vec<(String, &str, Option<Role>)> =
        console::roles().map(|(method, path, role)| (method.to_string(), path, role)).collect();
    routes.sort();
    let stated: Vec<(String, &str, Option<Role>)> =
        ROLES.iter().map(|(method, path, role)| ((*method).to_owned(), *path, *role)).collect();
    assert_eq!(routes, stated);
}

fn filled(path: &str, table: &str) -> String {
    let filled = path
        .replace("{uuid}", table)
        .replace("{partner}", "prompt_0")
        .replace("{chapter}", "metrics")
        .replace("{kind}", "ranking")
        .replace("{name}", "none");
    filled
        .replace("{file}", "console.css")
        .replace("{page}", "no")
        .replace("{part}", "no")
        .replace("{more}", "no")
}

/// The least role for the page behind a link.
fn least_role(link: &str) -> Option<Role> {
    let fits = |path: &str| {
        let parts = || path.split('/').zip(link.split('/'));
        path.split('/').count() == link.split('/').count()
            && parts().all(|(path, part)| path == part || path.starts_with('{'))
    };
    let mut all = ROLES.iter().filter(|(method, ..)| *method == "GET");
    all.find(|(_, path, _)| fits(path)).and_then(|(.., least)| *least)
}

/// The pages of the console that a page links to.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split(['"', '?', '#']).next());
    links.filter(|link| link.starts_with("/console"))
}

/// What pages say of money, which viewers do not see.
const MONEY: [&str; 4] = ["Payout", "Conversion", ">Score<", "arned"];

/// What a page of the console says that is for others.
const NOT_FOR: &str = "role, and yours is ";

#[tokio::test]
async fn each_role_gets_what_the_table_says_and_no_more() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let table = daemon.submit(sample("personal_loan")).await.json()["uuid"].as_str().unwrap().to_owned();
    for role in Role::ALL {
        add(&daemon, role.word(), role.word());
        let mut browser = Browser::of(&daemon, role.word()).await;
        for (method, path, least) in ROLES {
            let is_post = *method == "POST";
            let path = &filled(path, &table);
            let answer = if is_post { browser.post(path, &[]).await } else { browser.get(path).await };
            let (status, told) = (answer.status, text(&answer));
            match least {
                Some(least) if role >= *least => {
                    assert!(
                        !told.contains(NOT_FOR) && status < 500 && status != 401,
                        "{role:?} {path}: {status}"
                    );
                    let closed = links(&told).find(|link| least_role(link) > Some(role));
                    assert_eq!(closed, None, "{role:?} {path} links to a page for others");
                    let shown = MONEY.iter().find(|word| told.contains(**word));
                    assert!(
                        role > Role::Viewer || path.contains("handbook") || shown.is_none(),
                        "{path} shows a viewer money: {shown:?}"
                    );
                    assert!(
                        status != 303 || !answer.header("location").unwrap().contains("signIn?"),
                        "{path}"
                    );
                }
                Some(least) => {
                    assert_eq!(status, 403, "{role:?} {method} {path}: {told}");
                    assert!(told.contains(NOT_FOR) && told.contains(least.word()), "{told}");
                }
                None if path.contains("links") || path.contains("secret") => {
                    assert_eq!(status, 401, "{path}")
                }
                None => assert!(status < 500 && status != 401, "{path}: {status}"),
            }
            if is_post && path == "/console/signOut" {
                assert!(!browser.is_signed_in().await);
                browser = Browser::of(&daemon, role.word()).await;
            }
        }
        // What a role may not see is not in its menu.
        let menu = text(&browser.get("/console").await);
        for (section, least) in [
            ("Funnel", Role::Analyst),
            ("Rate tables", Role::Operator),
            ("Data requests", Role::Operator),
            ("System", Role::Operator),
            ("Audit", Role::Administrator),
        ] {
            assert_eq!(menu.contains(&format!(">{section}</a>")), role >= least, "{role:?} {section}");
        }
        let partner = text(&browser.get("/console/partners/prompt_0").await);
        assert_eq!(partner.contains("/pause\""), role >= Role::Operator, "{role:?}");
    }
}

#[tokio::test]
async fn a_cookie_opens_none_of_the_commands() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    add(&daemon, "maren", "administrator");
    let maren = Browser::of(&daemon, "maren").await;
    let open = ["/", "/livez", "/readyz", "/metrics"];
    for (method, path) in offerd::admin::paths().filter(|(_, path)| !path.starts_with("/console")) {
        let answer = maren.send(method.clone(), path, &[], String::new()).await;
        assert_eq!(answer.status == 401, !open.contains(&path), "{method} {path}");
    }
}

#[tokio::test]
async fn who_is_not_signed_in_gets_nothing() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let table = daemon.submit(sample("personal_loan")).await.json()["uuid"].as_str().unwrap().to_owned();
    add(&daemon, "maren", "administrator");
    let maren = Browser::of(&daemon, "maren").await;
    let stolen = Browser { daemon: &daemon, cookie: maren.cookie.clone() };
    let csrf = maren.csrf().await;
    assert_eq!(maren.post("/console/signOut", &[]).await.status, 303);
    let guessed = Browser { daemon: &daemon, cookie: format!("offerd_console={}", "0".repeat(64)) };
    let nobody = Browser::new(&daemon);
    for browser in [&stolen, &guessed, &nobody] {
        for (_, path, least) in ROLES.iter().filter(|(method, _, least)| *method == "GET" && least.is_some())
        {
            let path = &filled(path, &table);
            let answer = browser.get(path).await;
            assert_eq!(answer.status, 303, "{path} {least:?}");
            assert!(answer.header("location").unwrap().starts_with("/console/signIn?next="), "{path}");
            assert!(answer.body.is_empty(), "{path}");
            let stream = [("accept", "text/event-stream"), ("cookie", &browser.cookie)];
            let url = format!("{}{path}", daemon.admin);
            let kept_open = daemon.request_with(Method::GET, &url, "", &stream, "").await;
            assert!(kept_open.body.is_empty(), "{path}: {}", text(&kept_open));
        }
    }
    // Nor is a form that was loaded before worth anything.
    for (_, path, _) in ROLES.iter().filter(|(method, _, least)| *method == "POST" && least.is_some()) {
        for csrf in ["guessed", &csrf] {
            let fields = [("content-type", "application/x-www-form-urlencoded")];
            let form = format!("csrf={csrf}");
            let answer = stolen.send(Method::POST, &filled(path, &table), &fields, form).await;
            assert_eq!(answer.status, 403, "{path}");
        }
    }
}

#[tokio::test]
async fn a_guessed_name_or_uuid_gives_nothing_and_does_nothing() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let submitted = daemon.submit(sample("personal_loan")).await.json();
    let [table, lead] = ["uuid", "leadUuid"].map(|name| submitted[name].as_str().unwrap().to_owned());
    add(&daemon, "maren", "administrator");
    let maren = Browser::of(&daemon, "maren").await;
    let count = || {
        let listed = daemon.command(&["audit", "list", "--format", "json"]);
        let records: Vec<Value> = serde_json::from_slice(&listed.stdout).unwrap();
        records.iter().filter(|record| record["from"] != "command").count()
    };
    let before = count();
    // The uuid of a lead names no table, and another one nothing at all.
    let guesses = [lead.as_str(), "0193a7b2-1c7e-7d5a-9c11-2f6c5a0e4b77", "none", "..%2f..", "%00"];
    for (method, path, least) in ROLES.iter().filter(|(_, path, _)| path.contains('{')) {
        let (start, end) = (path.find('{').unwrap(), path.find('}').unwrap());
        let kind = &path[start..=end];
        for guess in guesses {
            let guessed = filled(&path.replace(kind, guess), &table);
            let fields = [("reason", "a guess"), ("partner", guess), ("do", "remove"), ("reveal", "x")];
            let answer = match *method {
                "POST" => maren.post(&guessed, &fields).await,
                _ => maren.get(&guessed).await,
            };
            // The pause of a partner whose file is gone may be ended; here there is none.
            let is_resume = path.ends_with("/resume");
            let is_back = (*method == "GET" || is_resume) && answer.status == 303;
            let is_refused = (400..500).contains(&answer.status);
            assert!(is_back || is_refused, "{method} {guessed} {least:?}: {}", answer.status);
            let told = text(&answer);
            assert!(!told.contains("•••••") && !told.contains("Tolliver"), "{method} {guessed}: {told}");
        }
    }
    for query in ["experiments?rule=", "experiments/download?rule=", "rateTables?find=", "funnel?company="] {
        for guess in guesses.iter().skip(1) {
            let answer = maren.get(&format!("/console/{query}{guess}")).await;
            let told = text(&answer);
            assert!(answer.status < 500 && !told.contains(&table) && !told.contains(&lead), "{query}{guess}");
        }
    }
    assert_eq!(count(), before, "nothing was done");
}

#[tokio::test]
async fn forms_of_other_sites_and_cookies_of_other_people_are_worth_nothing() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    let table = daemon.submit(sample("personal_loan")).await.json()["uuid"].as_str().unwrap().to_owned();
    add(&daemon, "maren", "administrator");
    let maren = Browser::of(&daemon, "maren").await;
    for (_, path, _) in ROLES.iter().filter(|(method, _, least)| *method == "POST" && least.is_some()) {
        for foreign in
            [("origin", "http://evil.example"), ("sec-fetch-site", "cross-site"), ("origin", "null")]
        {
            let answer = maren.post_from(&filled(path, &table), &[], &[foreign]).await;
            assert_eq!(answer.status, 403, "{path} {foreign:?}");
        }
    }
    assert!(maren.is_signed_in().await, "none of them has signed her out");
    // A cookie that somebody has planted before is not the one of the session.
    let planted = format!("offerd_console={}", "1".repeat(64));
    let mut victim = Browser::new(&daemon);
    let form = csrf(&text(&victim.get("/console/signIn").await));
    victim.cookie = planted.clone();
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("csrf", form.as_str()), ("name", "maren"), ("password", PASSWORD)])
        .finish();
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let answer = victim.send(Method::POST, "/console/signIn", &headers, body).await;
    victim.keep(&answer);
    assert!(victim.is_signed_in().await && victim.cookie != planted);
    assert!(!Browser { daemon: &daemon, cookie: planted }.is_signed_in().await);
}

#[tokio::test]
async fn a_console_that_nobody_signs_in_to_says_so_on_every_page_and_gives_no_more_than_an_operator_may() {
    let plan = Daemon::with_partners(prompt_partners(1)).setting("console.sign_in", "remote");
    let daemon = plan.start().await;
    let nobody = Browser::new(&daemon);
    for path in ["/console", "/console/partners", "/console/rateTables", "/console/handbook", "/console/none"]
    {
        assert!(text(&nobody.get(path).await).contains("Sign-in is off"), "{path}");
    }
    let guarded = Daemon::with_partners(prompt_partners(1)).start().await;
    let page = crate::console::html(&guarded, "/console").await;
    assert!(!page.contains("Sign-in is off"));
}

/// A look by a proxy that names somebody.
async fn by_proxy(daemon: &Daemon, path: &str, names: &[&str]) -> Answer {
    let headers: Vec<(&str, &str)> = names.iter().map(|name| ("x-forwarded-user", *name)).collect();
    Browser::new(daemon).send(Method::GET, path, &headers, String::new()).await
}

/// A daemon that such a proxy stands in front of.
async fn behind_a_proxy(from: &str, role: &str) -> Daemon {
    let plan = Daemon::with_partners(prompt_partners(1)).setting("console.proxy.header", "X-Forwarded-User");
    plan.setting("console.proxy.from", from).setting("console.proxy.role", role).start().await
}

#[tokio::test]
async fn whom_a_trusted_proxy_names_is_let_in_with_their_role_while_they_are_a_user() {
    let daemon = behind_a_proxy("127.0.0.1", "").await;
    add(&daemon, "ana", "analyst");
    add(&daemon, "olga", "operator");
    let page = by_proxy(&daemon, "/console/funnel", &["Ana"]).await;
    assert_eq!(page.status, 200, "{}", text(&page));
    assert!(text(&page).contains("user ana by proxy") && !text(&page).contains("/console/signOut"));
    assert_eq!(by_proxy(&daemon, "/console/rateTables", &["ana"]).await.status, 403);
    for names in [&["nobody"][..], &["ana", "olga"], &["ana\" x"], &[""]] {
        assert_eq!(by_proxy(&daemon, "/console", names).await.status, 403, "{names:?}");
    }
    assert_eq!(by_proxy(&daemon, "/console", &[]).await.status, 303, "who is not named signs in");

    // Forms work, each with what its own page holds.
    let own = csrf(&text(&by_proxy(&daemon, "/console/partners/prompt_0", &["olga"]).await));
    let foreign = csrf(&text(&by_proxy(&daemon, "/console/account", &["ana"]).await));
    let pause = async |csrf: &str| {
        let headers = [("content-type", "application/x-www-form-urlencoded"), ("x-forwarded-user", "olga")];
        let path = "/console/partners/prompt_0/pause";
        Browser::new(&daemon).send(Method::POST, path, &headers, format!("csrf={csrf}")).await.status
    };
    assert_eq!([pause(&foreign).await, pause("guessed").await, pause(&own).await], [403, 403, 303]);
    daemon.logged("who=\"console, user olga by proxy\"").await;

    assert!(daemon.command(&["user", "disable", "olga"]).status.success());
    assert_eq!(by_proxy(&daemon, "/console", &["olga"]).await.status, 403);
    assert!(daemon.metrics().await.contains(r#"offerd_console_sign_ins_refused_total{reason="unknown"} "#));
}

#[tokio::test]
async fn a_header_that_names_somebody_is_refused_from_any_other_address() {
    let daemon = behind_a_proxy("10.0.0.5", "administrator").await;
    add(&daemon, "maren", "administrator");
    for path in ["/console", "/console/signIn", "/console/audit", "/console/none"] {
        let answer = by_proxy(&daemon, path, &["maren"]).await;
        assert_eq!(answer.status, 403, "{path}");
        assert!(text(&answer).contains("console.proxy") && !text(&answer).contains("Sections"), "{path}");
    }
    let maren = Browser::of(&daemon, "maren").await;
    let forged = maren.send(Method::GET, "/console", &[("x-forwarded-user", "maren")], String::new()).await;
    assert_eq!(forged.status, 403, "not even to who has signed in");
    assert!(
        daemon.metrics().await.contains(r#"offerd_console_sign_ins_refused_total{reason="untrusted"} 5"#)
    );
}

#[tokio::test]
async fn who_is_no_user_has_the_role_that_the_settings_say() {
    let daemon = behind_a_proxy("10.0.0.0/8, 127.0.0.0/8", "viewer").await;
    assert_eq!(by_proxy(&daemon, "/console", &["somebody@example.com"]).await.status, 200);
    assert_eq!(by_proxy(&daemon, "/console/funnel", &["somebody@example.com"]).await.status, 403);
}

#[tokio::test]
async fn who_was_removed_is_kept_out_where_strangers_are_let_in_and_nobody_sets_a_password_by_a_proxy_alone()
{
    let daemon = behind_a_proxy("127.0.0.1", "viewer").await;
    add(&daemon, "rita", "administrator");
    assert!(daemon.command(&["user", "remove", "rita"]).status.success());
    let refused = by_proxy(&daemon, "/console", &["Rita"]).await;
    assert!(refused.status == 403 && text(&refused).contains("was removed"), "{}", text(&refused));
    assert_eq!(by_proxy(&daemon, "/console", &["somebody"]).await.status, 200);
    let listed = daemon.command(&["user", "list"]);
    assert!(!String::from_utf8_lossy(&listed.stdout).contains("rita"));

    // Added again they are a user as any other, who has no password yet.
    assert!(daemon.command(&["user", "add", "rita", "--role", "operator"]).status.success());
    let page = text(&by_proxy(&daemon, "/console/account", &["rita"]).await);
    assert!(page.contains("invitation") && !page.contains("name=\"password\""), "{page}");
    let own = csrf(&text(&by_proxy(&daemon, "/console/partners/prompt_0", &["rita"]).await));
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("x-forwarded-user", "rita")];
    let form = format!("csrf={own}&password=a+long+password&again=a+long+password");
    let set = Browser::new(&daemon).send(Method::POST, "/console/account", &headers, form).await;
    assert!(set.status == 403 && text(&set).contains("invitation"), "{}", text(&set));
}

#[test]
fn a_proxy_that_anybody_could_play_is_no_setting() {
    for (proxy, told) in [
        (r#"{ header = "x-user", from = [] }"#, "`from` must list"),
        (r#"{ header = "cookie", from = ["10.0.0.5"] }"#, "`header` must be one"),
        (r#"{ header = "connection", from = ["10.0.0.5"] }"#, "`header` must be one"),
        (r#"{ header = "x-user", from = ["0.0.0.0/0", "::/0"] }"#, "no network wider than /8"),
        (
            r#"{ header = "x-user", from = ["here"], role = "king" }"#,
            "`role` must be empty, or one of viewer",
        ),
    ] {
        let plan = Daemon::with_partners(prompt_partners(1));
        plan.write_settings(&format!("[console]\nproxy = {proxy}\n"));
        let checked = plan.command(&["check"]).output().unwrap();
        assert!(checked.status.code() == Some(64) && said(&checked).contains(told), "{}", said(&checked));
    }
}
