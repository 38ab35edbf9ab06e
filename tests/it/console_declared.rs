//! Postbacks, experiments, rankings and alert receivers, made, changed and switched in the console. The files stay
//! the truth.

use std::fs;

use serde_json::Value;

use crate::console::{csrf, html, send};
use crate::kit::Daemon;
use crate::kit::partners::prompt_partners;

const SETTINGS: &str = "\
# Ours.
[log]
filter = \"info\"   # enough

[alerts]
every = \"15s\"

# The last.
[reports]
rows = 1000
";

const NETWORK: &str =
    "company = \"Sandbox\"\nkind = \"url\"\nurl = \"https://track.example/pb?txn={eventId}\"\n";

async fn with_settings(text: &str) -> Daemon {
    let plan = Daemon::with_partners(prompt_partners(1));
    plan.write_settings(text);
    plan.start().await
}

fn settings(daemon: &Daemon) -> String {
    fs::read_to_string(daemon.file("offerd.toml")).unwrap()
}

/// What stands in the form of a page.
fn form_of(page: &str) -> (String, String) {
    let between = |begin: &str, end: &str| {
        let (_, after) = page.split_once(begin).unwrap_or_else(|| panic!("{begin}: {page}"));
        after.split_once(end).unwrap().0.to_owned()
    };
    let text = between("autocomplete=\"off\">\n", "</textarea>")
        .replace("&quot;", "\"")
        .replace("&#x2f;", "/")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    (between("name=\"digest\" value=\"", "\""), text)
}

/// Sends the form of a page with an action, and perhaps another text.
async fn act(
    daemon: &Daemon,
    kind: &str,
    page: &str,
    entry: &str,
    action: &str,
    text: Option<&str>,
) -> String {
    let (digest, shown) = form_of(page);
    let (csrf, text) = (csrf(page), text.unwrap_or(&shown).replace('\n', "\r\n"));
    let fields = [("csrf", &*csrf), ("digest", &digest), ("entry", entry), ("text", &text), ("do", action)];
    let answer = send(daemon, &format!("/console/settings/{kind}"), &fields, &[]).await;
    let told = String::from_utf8(answer.body.to_vec()).unwrap();
    assert_eq!(answer.status, 200, "{told}");
    told
}

fn postbacks(daemon: &Daemon) -> Vec<(String, bool)> {
    let output = daemon.command(&["postbacks", "list", "--json"]);
    let listed: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let told = |one: Value| (one["name"].as_str().unwrap().to_owned(), one["paused"].as_bool().unwrap());
    listed.into_iter().map(told).collect()
}

#[tokio::test]
async fn a_postback_is_made_paused_and_removed() {
    let daemon = Daemon::with_partners(prompt_partners(1)).start().await;
    fs::create_dir_all(daemon.file("config")).unwrap();
    fs::create_dir(daemon.file("config/postbacks")).unwrap();
    let file = daemon.file("config/postbacks/network.toml");
    let new = html(&daemon, "/console/settings/postbacks?do=new").await;
    assert!(form_of(&new).1.contains("company = \"Sandbox\"\nkind = \"url\""), "{new}");

    let wrong = "company = \"\"\nkind = \"url\"\nurl = \"track.example\"\nevents = []\n";
    for action in ["check", "save"] {
        let told = act(&daemon, "postbacks", &new, "network", action, Some(wrong)).await;
        for key in ["<code>company</code>", "<code>url</code>", "<code>events</code>"] {
            assert!(told.contains(key), "{key}: {told}");
        }
        assert!(told.contains("Not in force") && !file.exists(), "{told}");
    }
    let checked = act(&daemon, "postbacks", &new, "network", "check", Some(NETWORK)).await;
    assert!(
        checked.contains("no fault") && checked.contains("postbacks network") && !file.exists(),
        "{checked}"
    );
    let saved = act(&daemon, "postbacks", &checked, "network", "save", None).await;
    assert!(saved.contains("saved and in force"), "{saved}");
    assert_eq!(fs::read_to_string(&file).unwrap(), NETWORK);
    assert_eq!(postbacks(&daemon), [("network".to_owned(), false)]);
    let audit = daemon.command(&["audit", "list", "--format", "json"]);
    let audit: Vec<Value> = serde_json::from_slice(&audit.stdout).unwrap();
    let change = audit.iter().find(|record| record["action"] == "settings.change").expect("it is recorded");
    let change = change["object"].as_str().unwrap();
    assert!(change.contains("network.toml, postbacks: ok: postbacks network"), "{change}");

    let off = html(&daemon, "/console/settings/postbacks?do=off&entry=network").await;
    assert!(off.contains("<span class=\"added\">+ paused = true</span>"), "{off}");
    act(&daemon, "postbacks", &off, "network", "save", None).await;
    assert_eq!(postbacks(&daemon), [("network".to_owned(), true)]);
    let gone = act(
        &daemon,
        "postbacks",
        &html(&daemon, "/console/settings/postbacks?entry=network").await,
        "network",
        "save",
        Some(""),
    )
    .await;
    assert!(gone.contains("saved and in force") && !file.exists() && postbacks(&daemon).is_empty(), "{gone}");
    let elsewhere = [("csrf", &*csrf(&gone)), ("entry", "../../offerd"), ("text", NETWORK), ("do", "save")];
    assert_eq!(send(&daemon, "/console/settings/postbacks", &elsewhere, &[]).await.status, 400);
}

#[tokio::test]
async fn an_experiment_is_made_and_ended() {
    let daemon = Daemon::with_partners(prompt_partners(2)).start().await;
    fs::create_dir_all(daemon.file("config/experiments")).unwrap();
    let new = html(&daemon, "/console/settings/experiments?do=new").await;
    let rule = "[[variants]]\nname = \"alone\"\npercent = 50\nwithout_partners = [\"prompt_0\"]\n";
    act(&daemon, "experiments", &new, "alone", "save", Some(rule)).await;
    let page = html(&daemon, "/console/experiments").await;
    assert!(page.contains("running") && page.contains("/console/settings/experiments"), "{page}");
    let off = html(&daemon, "/console/settings/experiments?do=off&entry=alone").await;
    act(&daemon, "experiments", &off, "alone", "save", None).await;
    let text = fs::read_to_string(daemon.file("config/experiments/alone.toml")).unwrap();
    assert!(text.starts_with("ends = 20") && text.ends_with(rule), "{text}");
    assert!(html(&daemon, "/console/experiments").await.contains("ended"));
}

#[tokio::test]
async fn a_ranking_and_a_receiver_are_made_in_the_settings_whose_rest_stays() {
    let daemon = with_settings(SETTINGS).await;
    let new = html(&daemon, "/console/settings/ranking?do=new").await;
    let saved = act(&daemon, "ranking", &new, "", "save", None).await;
    assert!(saved.contains("saved and in force") && saved.contains("ranking.named"), "{saved}");
    let (before, section) = settings(&daemon)
        .split_once("[ranking]")
        .map(|(one, other)| (one.to_owned(), other.to_owned()))
        .unwrap();
    assert_eq!(before, format!("{SETTINGS}\n"));
    assert!(section.contains("[ranking.named.by_value]") && section.contains("companies = [\"Sandbox\"]"));
    assert!(html(&daemon, "/console/ranking").await.contains("by_value"));

    let new = html(&daemon, "/console/settings/alerts?do=new").await;
    let told = act(&daemon, "alerts", &new, "", "save", None).await;
    assert!(told.contains("alerts.webhooks"), "{told}");
    let receiver = "[alerts]\nevery = \"15s\"\n\n[alerts.webhooks.ops]\n";
    let now = settings(&daemon);
    assert!(now.starts_with(SETTINGS.split_once("[alerts]").unwrap().0) && now.contains(receiver), "{now}");
    assert!(now.contains("\n\n# The last.\n[reports]\nrows = 1000\n"), "{now}");
    assert!(html(&daemon, "/console/alerts").await.contains("ops.example"));

    let off = html(&daemon, "/console/settings/alerts?do=off&entry=ops").await;
    act(&daemon, "alerts", &off, "", "save", None).await;
    assert!(html(&daemon, "/console/alerts").await.contains("Nobody receives alerts"));
    let other = act(&daemon, "ranking", &off, "", "save", Some("[log]\nfilter = \"trace\"\n")).await;
    assert!(other.contains("is not of"), "{other}");
}

#[tokio::test]
async fn a_file_that_somebody_else_has_changed_is_not_overwritten() {
    let daemon = with_settings(SETTINGS).await;
    let page = html(&daemon, "/console/settings/ranking?do=new").await;
    let theirs = SETTINGS.replace("rows = 1000", "rows = 999");
    daemon.write_settings(&theirs);
    let told = act(&daemon, "ranking", &page, "", "save", None).await;
    assert!(told.contains("is not as it was") && told.contains("[ranking.named.by_value]"), "{told}");
    assert_eq!(settings(&daemon), theirs);
    let told = act(&daemon, "ranking", &told, "", "save", None).await;
    assert!(told.contains("saved and in force") && settings(&daemon).starts_with(&theirs), "{told}");
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_shown_to_be_saved_by_hand() {
    let daemon = with_settings(SETTINGS).await;
    // Not even root writes here.
    fs::create_dir(daemon.file("offerd.toml.new")).unwrap();
    let page = html(&daemon, "/console/settings/ranking?do=new").await;
    let told = act(&daemon, "ranking", &page, "", "save", None).await;
    assert!(told.contains("cannot write the file") && told.contains("offerd reload"), "{told}");
    let whole = told.split_once("The whole file").expect("it is shown").1;
    assert!(whole.contains("# Ours.") && whole.contains("[ranking.named.by_value]"), "{told}");
    assert_eq!(settings(&daemon), SETTINGS);
}

#[tokio::test]
async fn a_fault_elsewhere_leaves_the_file_as_it_is() {
    let daemon = with_settings(SETTINGS).await;
    fs::write(daemon.partners().join("broken.toml"), "[partner]\nname = 7\n").unwrap();
    let page = html(&daemon, "/console/settings/ranking?do=new").await;
    let told = act(&daemon, "ranking", &page, "", "save", None).await;
    assert!(told.contains("broken.toml") && told.contains("Not in force"), "{told}");
    assert_eq!(settings(&daemon), SETTINGS);
}

/// The console is no way to files of the machine, nor into its network.
#[tokio::test]
async fn what_sends_a_file_or_calls_a_private_address_is_not_begun_in_the_console() {
    let daemon = with_settings(SETTINGS).await;
    let page = html(&daemon, "/console/settings/alerts").await;
    let key = daemon.master_key().display().to_string();
    for more in
        [format!("bearer = {{ file = \"{key}\" }}"), "allow_addresses = [\"169.254.169.254\"]".to_owned()]
    {
        let text = format!("[alerts.webhooks.out]\nurl = \"https://out.example/hook\"\n{more}\n");
        let told = act(&daemon, "alerts", &page, "", "save", Some(&text)).await;
        assert!(told.contains("has what no file of this kind has yet"), "{told}");
    }
    assert_eq!(settings(&daemon), SETTINGS);
}
