//! Log lines of requests, and their fields.

use std::fs::OpenOptions;
use std::io::Read;
use std::process::Command;

use hyper::Method;

use crate::kit::partners::prompt_partners;
use crate::kit::{Answer, Daemon};

/// The line that tells of an answer.
const ANSWERED: &str = "request answered";

async fn daemon(filter: &str, format: &str) -> Daemon {
    let plan = Daemon::with_partners(prompt_partners(1));
    plan.setting("log.filter", filter).setting("log.format", format).start().await
}

async fn answered(daemon: &Daemon, listener: &str) -> Answer {
    daemon.request(Method::GET, &format!("{listener}/nowhere"), "", "").await
}

fn id(answer: &Answer) -> &str {
    answer.header("request-id").expect("each answer has an id")
}

#[tokio::test]
async fn a_line_names_the_request_that_it_is_of_by_the_id_that_its_answer_has() {
    let daemon = daemon("info,offerd_web::exchange=debug", "text").await;
    let answers = [answered(&daemon, &daemon.api).await, answered(&daemon, &daemon.admin).await];
    let log = daemon.log();
    for (answer, listener) in answers.iter().zip(["api", "admin"]) {
        let span = format!("request{{request_id={} listener=\"{listener}\"}}: ", id(answer));
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(id(answer))).collect();
        assert_eq!(lines.len(), 1, "{log}");
        assert!(lines[0].contains(&span) && lines[0].contains(ANSWERED), "{}", lines[0]);
    }
    let ready = log.lines().find(|line| line.contains(" ready ")).expect("a daemon tells that it is ready");
    assert!(!ready.contains("request_id"), "{ready}");
}

#[tokio::test]
async fn machines_read_it_as_a_span() {
    let daemon = daemon("info,offerd_web::exchange=debug", "json").await;
    let answer = answered(&daemon, &daemon.api).await;
    let log = daemon.log();
    let line = log.lines().find(|line| line.contains(id(&answer))).expect("the answer is logged");
    let line: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
    assert_eq!(line["message"], ANSWERED);
    assert_eq!(
        line["span"],
        serde_json::json!({"name": "request", "request_id": id(&answer), "listener": "api"})
    );
}

#[tokio::test]
async fn a_filter_may_go_by_requests() {
    let daemon = daemon("info,[request{listener=api}]=debug", "text").await;
    let wanted = answered(&daemon, &daemon.api).await;
    let other = answered(&daemon, &daemon.admin).await;
    let log = daemon.log();
    assert!(log.lines().any(|line| line.contains(id(&wanted)) && line.contains(ANSWERED)), "{log}");
    assert!(!log.contains(id(&other)), "{log}");
}

/// A pipe that is full and that nobody reads: the daemon answers all the same, counts what it drops, and says so when there is room again.
#[tokio::test]
async fn a_reader_that_hangs_stops_the_log_and_not_the_daemon() {
    const REQUESTS: usize = 600;
    let plan =
        Daemon::with_partners(prompt_partners(1)).setting("log.filter", "info,offerd_web::exchange=debug");
    let log = plan.directory().join("log");
    assert!(Command::new("mkfifo").arg(&log).status().unwrap().success());
    let mut pipe = OpenOptions::new().read(true).write(true).open(&log).unwrap();
    let daemon = plan.start().await;
    for _ in 0..REQUESTS {
        assert_eq!(answered(&daemon, &daemon.api).await.status, 404);
    }
    let lost_of = |metrics: &str| -> usize {
        let line = metrics.lines().find_map(|line| line.strip_prefix("offerd_log_lines_lost_total "));
        line.expect("lost lines are counted").parse().unwrap()
    };
    let lost = lost_of(&daemon.metrics().await);
    assert!((1..REQUESTS + 50).contains(&lost), "{lost}");

    let mut read = vec![0; 1 << 20];
    let length = pipe.read(&mut read).unwrap();
    assert_eq!(answered(&daemon, &daemon.api).await.status, 404);
    let more = pipe.read(&mut read[length..]).unwrap();
    let read = String::from_utf8_lossy(&read[..length + more]);
    let reported = read.lines().find_map(|line| line.split_once("log lines were lost").map(|(_, rest)| rest));
    let (_, reported) =
        reported.and_then(|rest| rest.split_once("lines=")).expect("what is lost is reported");
    assert!(reported.parse::<usize>().unwrap() >= lost, "{reported}, {lost}");

    // A reader that is gone is no better.
    drop(pipe);
    assert_eq!(answered(&daemon, &daemon.api).await.status, 404);
    let (before, now) = (lost, lost_of(&daemon.metrics().await));
    assert!(now > before, "{now}");

    // A file stands in for the pipe, since the log is looked through when the daemon has ended.
    std::fs::remove_file(&log).unwrap();
    std::fs::write(&log, read.as_bytes()).unwrap();
}

#[tokio::test]
async fn the_access_log_has_who_asked_for_what_and_nothing_of_a_person() {
    let path = "/leads/maria@example.com?email=maria%40example.com";
    for (access, lines) in [("true", 1), ("false", 0)] {
        let plan = Daemon::with_partners(prompt_partners(1)).setting("log.filter", "error");
        let daemon = plan.setting("log.access", access).setting("log.format", "json").start().await;
        let answer = daemon.get(path).await;
        let log = daemon.log();
        let found: Vec<&str> = log.lines().filter(|line| line.contains(id(&answer))).collect();
        assert_eq!(found.len(), lines, "{log}");
        assert!(!log.contains("maria"), "{log}");
        let Some(line) = found.first() else { continue };
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        assert_eq!((field("target"), field("path")), ("access".to_owned(), "/leads/{uuid}".to_owned()));
        assert_eq!((field("method"), field("address")), ("GET".to_owned(), "127.0.0.1".to_owned()));
        assert_eq!((&line["status"], field("request_id").as_str()), (&answer.status.into(), id(&answer)));
        assert!(!field("company").is_empty() && line["elapsed_ms"].is_f64(), "{line}");

        let uuid = "01a22273-ab36-7fae-8442-e60d91702d3f";
        let uuid_path = format!("/leads/{uuid}");
        let unknown = "/people/maria";
        for (path, shown) in [(uuid_path.as_str(), uuid_path.as_str()), (unknown, "unknown")] {
            let answer = daemon.get(path).await;
            let log = daemon.log();
            let line = log.lines().find(|line| line.contains(id(&answer))).unwrap();
            assert!(line.contains(&format!("\"path\":\"{shown}\"")) && !log.contains("maria"), "{log}");
        }

        let prefill = daemon.get("/originator/prefills/a-secret-token").await;
        let log = daemon.log();
        let line = log.lines().find(|line| line.contains(id(&prefill))).unwrap();
        assert!(line.contains("{prefillToken}") && !log.contains("a-secret-token"), "{log}");
    }
}
