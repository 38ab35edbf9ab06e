//! The handbook and the README say what is so.

mod reader;

use std::collections::BTreeSet;
use std::path::Path;

use hyper::Method;
use offerd::handbook::{CHAPTERS, chapter};
use offerd::http::routes::{API, INTEGRATIONS};
use offerd::model::{ApiError, ErrorType};
use offerd::store::TREES;
use offerd::web::Failure;
use uuid::Uuid;

use self::reader::{Reader, Step, steps};
use crate::kit::Daemon;

fn clone(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

fn text(name: &str) -> String {
    chapter(name).unwrap().markdown()
}

/// Does all that a chapter says.
async fn read(name: &str) {
    let (steps, _) = steps(&text(name));
    assert!(steps.iter().any(|step| matches!(step, Step::Command(_))), "{name} has commands");
    let mut reader = Reader::new();
    for step in &steps {
        reader.follow(step).await;
    }
}

macro_rules! chapters_can_be_followed {
    ($($test:ident: $name:literal),+ $(,)?) => {
        $(#[tokio::test]
        async fn $test() {
            read($name).await;
        })+

        #[test]
        fn every_chapter_with_commands_is_followed() {
            let followed = BTreeSet::from([$($name),+]);
            let with_commands = CHAPTERS.iter().filter(|one| !steps(&one.markdown()).0.is_empty());
            assert_eq!(with_commands.map(|one| one.name).collect::<BTreeSet<_>>(), followed);
        }
    };
}

chapters_can_be_followed! {
    the_first_hour_of_an_operator_can_be_followed: "operator",
    the_first_hour_of_a_client_developer_can_be_followed: "client",
    moving_here_can_be_followed: "moving",
    the_first_hour_of_a_partner_can_be_followed: "partner",
    tuning_can_be_followed: "tuning",
    the_check_of_a_store_can_be_followed: "durability",
    the_restore_drill_can_be_followed: "backup",
    the_chapter_on_personal_data_can_be_followed: "privacy",
    the_runbook_can_be_followed: "metrics",
    the_upgrade_can_be_followed: "upgrade",
    the_chapter_on_growing_can_be_followed: "growing",
    the_chapter_on_sizing_can_be_followed: "sizing",
    the_chapter_on_settings_can_be_followed: "settings",
    the_chapter_on_partner_files_can_be_followed: "partner-file",
}

#[tokio::test]
async fn the_first_lead_of_who_moves_here_has_offers() {
    let moving = text("moving");
    let body =
        moving.split(" -d '").nth(1).and_then(|rest| rest.split("'    #").next()).expect("a lead").to_owned();
    let daemon = Daemon::with_sample_partners().start().await;
    let url = format!("{}/leads/rateTables", daemon.api);
    let v1 = [("accept", "application/vnd.acme.v1+json")];
    let table = daemon.request_with(Method::POST, &url, &daemon.publishable, &v1, body).await.json();
    for array in ["loanOffers", "creditCardOffers", "savingsOffers"] {
        assert!(table[array].as_array().is_some_and(|offers| !offers.is_empty()), "{array}: {table}");
    }
}

#[test]
fn what_is_not_typed_is_no_command_of_ours() {
    for one in CHAPTERS {
        let (_, not_typed) = steps(&one.markdown());
        for line in not_typed {
            assert!(!line.contains("offerd ") || line.contains("systemctl"), "{}: {line}", one.name);
        }
    }
}

/// A reader who takes a real file for the one that a chapter makes would delete it with that chapter's last command.
#[test]
fn what_a_chapter_deletes_stands_for_no_other_file() {
    for one in CHAPTERS {
        let markdown = one.markdown();
        for step in steps(&markdown).0 {
            let Step::Command(command) = step else { continue };
            for file in command.strip_prefix("rm ").into_iter().flat_map(str::split_whitespace) {
                assert!(!markdown.contains(&format!(" for `{file}`")), "{}: {command}", one.name);
            }
        }
    }
}

#[test]
fn it_divides_the_table_and_the_trees_that_there_are() {
    let (chapter, statements) = (text("growing"), clone("src/store/postgres/statements.rs"));
    let made =
        chapter.split("CREATE TABLE offerd_records ").nth(1).and_then(|rest| rest.split(" PARTITION").next());
    let columns = made.expect("the table is made");
    assert!(
        statements.contains(&format!("CREATE TABLE IF NOT EXISTS offerd_records {columns}\"")),
        "{columns}"
    );
    for name in ["leads", "rate_tables", "answers", "lead_events", "lead_keys"] {
        let row = TREES.iter().find(|row| row.name == name).unwrap();
        assert!(chapter.contains(&format!("`{}` {name}", char::from(row.prefix))), "{name}");
    }
}

#[test]
fn it_lists_every_path_and_no_other() {
    let client = text("client");
    let listed: Vec<&str> =
        client.lines().filter(|line| line.starts_with("| `") && line.contains(" /")).collect();
    let routes: Vec<String> = API
        .iter()
        .chain(INTEGRATIONS)
        .map(|route| format!("| `{} {}` | {} |", route.method, route.path, route.about))
        .collect();
    assert_eq!(listed, routes);
}

/// What people open in a browser, and what partners call, which has a chapter of its own.
const NOT_CALLED_BY_CLIENTS: &[&str] = &[
    "/",
    "/docs",
    "/docs/{file}",
    "/demo",
    "/demo/{file}",
    "/offers/{page}",
    "/offers/{page}/embed",
    "/offers/{page}/events",
    "/offers/{page}/{offer}/seen.gif",
    "/samples/{partner}/{name}",
    "/openapi-all.json",
    "/openapi.yaml",
    "/handbook/{chapter}",
    "/llms.txt",
    "/partnerEvents",
    "/callbacks/{id}",
];

#[test]
fn it_calls_every_path_of_a_client() {
    let (steps, _) = steps(&text("client"));
    let calls: Vec<(String, String)> = steps.iter().filter_map(called).collect();
    for route in API.iter().chain(INTEGRATIONS).filter(|route| !NOT_CALLED_BY_CLIENTS.contains(&route.path)) {
        let is_of = |path: &str| {
            let fits = |(wanted, found): (&str, &str)| wanted == found || wanted.starts_with('{');
            route.path.split('/').count() == path.split('/').count()
                && route.path.split('/').zip(path.split('/')).all(fits)
        };
        let is_called = calls.iter().any(|(method, path)| method == route.method.as_str() && is_of(path));
        assert!(is_called, "src/handbook/client.md shows no call of {} {}", route.method, route.path);
    }
}

/// The method and the path of a `curl`.
fn called(step: &Step) -> Option<(String, String)> {
    let Step::Command(command) = step else { return None };
    let (_, call) = command.split_once("curl ")?;
    let path = ["$API", "$INTEGRATIONS"].iter().find_map(|base| call.split_once(base))?.1;
    let path = path.split([' ', '?', '"', ')', '\n']).next()?;
    let method = match call.split_once("-X ") {
        Some((_, method)) => method.split(' ').next()?,
        None if call.contains(" -d ") => "POST",
        None => "GET",
    };
    Some((method.to_owned(), path.to_owned()))
}

#[test]
fn its_partner_files_are_good() {
    let chapter = text("partner-file");
    let blocks = |fence: &'static str| {
        chapter
            .split("```")
            .skip(1)
            .step_by(2)
            .filter_map(move |block| block.strip_prefix(fence))
            .collect::<Vec<_>>()
    };
    let whole = blocks("toml partners/alderbrook_savings.toml\n")[0];
    let (identity, _) = whole.split_once("[products").expect("it is whole");
    let over_http = blocks("toml\n").into_iter().find(|file| file.contains("[products.loan.http]"));
    let over_http = over_http.expect("one is asked over HTTP");
    let conditions =
        blocks("toml\n").into_iter().find(|part| part.starts_with("[products.savings.eligibility]"));
    let conditions = whole.replace(whole.lines().find(|line| line.starts_with("eligibility")).unwrap(), "")
        + conditions.expect("conditions are shown");
    let limits = text("partner");
    let limits = limits.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let limited = whole
        .replace("[products.savings]\n", &format!("{}\n", limits.split("\n\n").next().unwrap()))
        + limits.split_once("\n\n").unwrap().1;
    for file in [whole.to_owned(), format!("{identity}{over_http}"), conditions, limited] {
        let plan = Daemon::with_partners(Vec::new());
        std::fs::write(plan.partners().join("alderbrook.toml"), &file).unwrap();
        let output = plan.command(&["check"]).env("LENDER_API_KEY", "secret").output().unwrap();
        assert!(output.status.success(), "{file}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_figures_come_from_benches_that_exist() {
    let manifest = clone("Cargo.toml");
    for told in [text("figures"), clone("README.md")] {
        let named: Vec<&str> = told
            .split("cargo bench --bench ")
            .skip(1)
            .filter_map(|rest| rest.split(['`', ' ']).next())
            .collect();
        assert!(!named.is_empty());
        for bench in named {
            assert!(manifest.contains(&format!("name = \"{bench}\"")), "{bench}");
        }
    }
}

/// The names of the failures: each is a function, or a row of `failures!`. `fault` is given its type.
fn failures_of(source: &str) -> BTreeSet<&str> {
    let is_of_name = |letter: char| letter == '_' || letter.is_ascii_lowercase();
    let functions = source.lines().filter_map(|line| line.strip_prefix("    pub fn "));
    let functions = functions.filter(|rest| !rest.contains("self") && rest.contains("-> Self"));
    let rows = source.split("    failures! {\n").nth(1).and_then(|rest| rest.split("\n    }").next());
    let rows = rows.expect("there are rows").lines().map(str::trim_start);
    let names = functions.chain(rows).filter_map(|rest| rest.split_once('(').map(|(name, _)| name));
    names.filter(|name| name.chars().all(is_of_name) && *name != "fault").collect()
}

/// Each failure that a client can be answered with has a row, by status and type, and by its message where it has one of its
/// own.
#[test]
fn it_says_what_each_failure_means() {
    let uuid = Uuid::nil();
    let malformed = || ApiError::new(ErrorType::Malformed, "told by the request");
    let of_its_own = true;
    let failures = [
        ("bad_request", Failure::bad_request(""), !of_its_own),
        ("not_json", Failure::not_json(malformed()), !of_its_own),
        ("bad_attribute", Failure::bad_attribute("a", ""), !of_its_own),
        ("invalid", Failure::invalid(vec![malformed()]), !of_its_own),
        ("unauthorized", Failure::unauthorized(""), !of_its_own),
        ("fetched_ahead", Failure::fetched_ahead(), of_its_own),
        ("unknown_uuid", Failure::unknown_uuid("RateTable", uuid), of_its_own),
        ("not_found_path", Failure::not_found_path(), of_its_own),
        ("path_mistaken", Failure::path_mistaken("/originator/rateTables/{uuid}"), of_its_own),
        ("path_elsewhere", Failure::path_elsewhere("integrations", "/blocking/leads/rateTables"), of_its_own),
        ("unknown", Failure::unknown(""), !of_its_own),
        ("gone", Failure::gone(""), !of_its_own),
        ("method_not_allowed", Failure::method_not_allowed("GET".parse().unwrap()), of_its_own),
        ("timeout", Failure::timeout(), of_its_own),
        ("conflict", Failure::conflict(uuid), of_its_own),
        ("under_way", Failure::under_way(), of_its_own),
        ("led_elsewhere", Failure::led_elsewhere(String::new()), !of_its_own),
        ("too_large", Failure::too_large(7), of_its_own),
        ("lead_too_large", Failure::lead_too_large(7), of_its_own),
        ("unsupported_media", Failure::unsupported_media(), of_its_own),
        ("unsupported_form", Failure::unsupported_form(), of_its_own),
        ("unsupported_coding", Failure::unsupported_coding(), of_its_own),
        ("unmet_expectation", Failure::unmet_expectation(), of_its_own),
        ("head_malformed", Failure::head_malformed(), of_its_own),
        ("head_too_large", Failure::head_too_large(7), of_its_own),
        ("forbidden", Failure::forbidden(""), !of_its_own),
        ("unsupported_edition", Failure::unsupported_edition(), of_its_own),
        ("too_many_requests", Failure::too_many_requests(1), of_its_own),
        ("too_many_connections", Failure::too_many_connections(1), of_its_own),
        ("internal", Failure::internal(), of_its_own),
        ("overloaded", Failure::overloaded(1), of_its_own),
        ("unreadable", Failure::unreadable(1), of_its_own),
        ("out_of_reach", Failure::out_of_reach(1), of_its_own),
        ("unwritable", Failure::unwritable(1), of_its_own),
    ];
    let source = clone("src/web/failure.rs");
    assert_eq!(failures_of(&source), failures.iter().map(|(name, ..)| *name).collect());

    let chapter = text("errors");
    let rows: Vec<Vec<&str>> = chapter
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim_matches([' ', '`'])).collect())
        .collect();
    for (name, Failure { status, errors, .. }, of_its_own) in failures {
        let error = serde_json::to_value(&errors[0]).unwrap();
        let kind = error["type"].as_str().unwrap_or_default();
        let message = error["message"].as_str().unwrap_or_default();
        // What differs from request to request.
        let message = message.replace(&uuid.to_string(), "…").replace('7', "…");
        let told = |row: &Vec<&str>| {
            row[0] == status.as_str() && row[1] == kind && (!of_its_own || row[2] == message)
        };
        assert!(rows.iter().any(told), "{name}: {status} `{kind}` {message}");
    }
}

#[test]
fn it_says_how_each_ask_ends() {
    let source = clone("src/engine/rate_table/reason.rs");
    let of_outcomes =
        source.split("impl From<&Outcome> for Reason").nth(1).unwrap().split("\n}\n").next().unwrap();
    let word = |row: &str| {
        let (reason, rest) = row.trim().split_once(" \"")?;
        of_outcomes.contains(&format!("Self::{reason},")).then(|| rest.split('"').next().unwrap().to_owned())
    };
    let words: Vec<String> = source.lines().filter_map(word).collect();
    assert!(words.len() > 10);
    let chapter = text("errors");
    for word in words {
        assert!(chapter.contains(&format!("\n| `{word}` | ")), "{word}");
    }
}

#[tokio::test]
async fn the_readmes_partner_answers_the_readmes_lead() {
    let readme = clone("README.md");
    let between = |begin: &str, end: &str| {
        readme
            .split(begin)
            .nth(1)
            .and_then(|rest| rest.split(end).next())
            .expect("it stands there")
            .to_owned()
    };
    let plan = Daemon::with_partners(Vec::new());
    let file = between("```toml partners/alderbrook.toml\n", "```");
    std::fs::write(plan.partners().join("alderbrook.toml"), file).unwrap();
    let daemon = plan.start().await;
    let table = daemon.submit(between(" -d '", "'\n")).await.json();
    assert_eq!(table["loanOffers"][0]["originator"]["key"], "alderbrook", "{table}");
}

#[test]
fn the_readme_is_a_page_and_names_what_is_there() {
    let readme = clone("README.md");
    let (lines, words) = (readme.lines().count(), readme.split_whitespace().count());
    assert!(lines <= 80 && words <= 800, "{lines} lines, {words} words: longer text goes into the handbook");
    let links = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let paths = readme.split('`').skip(1).step_by(2).filter(|code| {
        ["src/", "tests/", ".ci/"].iter().any(|root| code.starts_with(root)) && !code.contains(' ')
    });
    for path in links.chain(paths) {
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists(), "{path}");
    }
    for one in CHAPTERS.iter().filter(|one| one.name != "settings") {
        assert!(readme.contains(&format!("src/handbook/{}.md", one.name)), "{}", one.name);
    }
}

#[test]
fn man_pages_and_completions_are_written_for_every_command() {
    let plan = Daemon::with_partners(Vec::new());
    let output = plan.command(&["manual", "out"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |file: &str| std::fs::read_to_string(plan.directory().join("out").join(file)).unwrap();
    for (page, says) in [
        ("man/offerd.8", ".SH \"BACK UP AND RESTORE\""),
        ("man/offerd.toml.5", "matching.deadline"),
        ("man/offerd-partner.5", "[products.savings]"),
        ("man/offerd-partners-timing.8", ".SH EXAMPLES"),
        ("completions/offerd.bash", "complete -F"),
        ("completions/_offerd", "#compdef offerd"),
        ("completions/offerd.fish", "complete -c offerd"),
    ] {
        assert!(read(page).contains(says), "{page}");
    }
}
