//! systemd: sockets that outlive a restart, the watchdog, and low memory.

use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use crate::kit::{Daemon, GivenSockets};

const LEAD: &str = r#"{"productTypes":["savings"]}"#;

/// Leads that are taken in before a restart, and again after it.
const STEADY: usize = 30;

/// Clients at once.
const CLIENTS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn no_connection_is_refused_over_a_restart() {
    let sockets = GivenSockets::named("api:integrations");
    let (api, integrations) = (sockets.url(0), sockets.url(1));
    let daemon = Daemon::with_sample_partners().given(sockets).start().await;
    assert_eq!((&daemon.api, &daemon.integrations), (&api, &integrations));
    let log = daemon.log();
    assert!(log.contains("the service manager's socket overrides the address in the settings"), "{log}");

    let (taken_in, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (taken_in, over) = (Arc::clone(&taken_in), Arc::clone(&over));
            let (url, token) = (format!("{api}/leads/rateTables"), daemon.publishable.clone());
            tokio::spawn(async move {
                while !over.load(Ordering::SeqCst) {
                    assert_eq!(submit_anew(&url, &token).await, Ok(200));
                    taken_in.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let until = async |count: usize| {
        while taken_in.load(Ordering::SeqCst) < count && !clients.iter().any(|client| client.is_finished()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };

    until(STEADY).await;
    let (status, stopped) = tokio::task::spawn_blocking(|| daemon.terminate()).await.unwrap();
    assert!(status.success(), "drained");
    let before = taken_in.load(Ordering::SeqCst);
    let daemon = stopped.start().await;
    assert_eq!(daemon.api, api);
    until(before + STEADY).await;
    over.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.expect("every lead was taken in");
    }
}

/// Submits a lead over a connection of its own.
async fn submit_anew(url: &str, token: &str) -> Result<u16, String> {
    let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http();
    let request = Request::post(url)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(LEAD.as_bytes())))
        .unwrap();
    client.request(request).await.map(|answer| answer.status().as_u16()).map_err(|error| format!("{error:?}"))
}

#[tokio::test]
async fn a_check_tells_which_sockets_override_the_settings() {
    let sockets = GivenSockets::named("admin:api");
    let admin = sockets.url(0).replace("http://", "");
    let plan = Daemon::with_sample_partners().given(sockets);
    let checked = plan.command_with_sockets(&["check"]).output().unwrap();
    assert!(checked.status.success());
    let told = plan.log();
    assert!(
        told.contains(&format!(
            "offerd: warning: the service manager's socket {admin} overrides `admin.listen` (127.0.0.1:0)"
        )),
        "{told}"
    );
}

#[tokio::test]
async fn a_check_tells_scripts_of_sockets_too() {
    let sockets = GivenSockets::named("admin:api");
    let plan = Daemon::with_sample_partners().given(sockets);
    let checked = plan.command_with_sockets(&["check", "--json"]).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(told["remarks"].as_array().unwrap().len(), 2, "{told}");

    let plan = Daemon::with_sample_partners().given(GivenSockets::named("api:offerd.socket"));
    let checked = plan.command_with_sockets(&["check", "--json"]).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert!(told["faults"][0]["message"].as_str().unwrap().contains("`offerd.socket`"), "{told}");
    assert_eq!(checked.status.code(), Some(64));
}

#[tokio::test]
async fn a_socket_of_no_listener_is_refused() {
    let plan = Daemon::with_sample_partners().given(GivenSockets::named("api:offerd.socket"));
    let checked = plan.command_with_sockets(&["check"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(64));
    let told = plan.log();
    assert!(told.contains("passed a socket named `offerd.socket`; set `FileDescriptorName=`"), "{told}");
}

/// A descriptor that is meant for another process is left alone.
#[test]
fn sockets_are_for_the_process_that_they_are_named_for() {
    let plan = Daemon::with_sample_partners().variable("LISTEN_PID", "1").variable("LISTEN_FDS", "1");
    let checked = plan.command(&["check"]).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watchdog_is_told_of_life_after_each_write() {
    let within = Duration::from_millis(300).as_micros().to_string();
    let plan = Daemon::with_sample_partners().variable("WATCHDOG_USEC", &within);
    let (daemon, manager) = plan.start_watched().await;
    for _ in 0..3 {
        assert_eq!(heard(&manager), "WATCHDOG=1");
    }
    drop(daemon);
}

fn heard(manager: &UnixDatagram) -> String {
    let mut message = [0; 256];
    let length = manager.recv(&mut message).expect("the daemon tells in time");
    String::from_utf8_lossy(&message[..length]).trim_end().to_owned()
}

/// With huge pages the daemon at rest would hold 111 MiB instead of 52.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_daemon_uses_no_huge_pages() {
    let daemon = Daemon::with_sample_partners().start().await;
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    assert!(status.lines().any(|line| line == "THP_enabled:\t0"), "{status}");
}
