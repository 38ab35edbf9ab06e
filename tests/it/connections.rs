//! Connections that are idle or abused: others go on, the store keeps its files, operators get in.

use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;

use crate::kit::partners::partner;
use crate::kit::{Daemon, GivenSockets, sample};

/// Idle sockets that a stranger opens, more than any limit in these tests.
const SOCKETS: usize = 1_000;

/// Longest wait for an answer; only a starved daemon reaches it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A new connection to a listener, from an address of loopback.
fn connect(url: &str) -> TcpStream {
    let stream = TcpStream::connect(url.trim_start_matches("http://")).expect("the listener accepts");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has a timeout");
    stream
}

/// Opens connections and says on each so much and no more, until all are accepted: they are in the order in which they come. One
/// that is closed meanwhile is one.
fn strangers(url: &str, said: &str) -> Vec<TcpStream> {
    let one = |_| {
        let mut stream = connect(url);
        let _ = stream.write_all(said.as_bytes());
        stream
    };
    let opened = (0..SOCKETS).map(one).collect();
    assert!(!ask(url, "/").is_empty());
    opened
}

/// Asks on a connection of its own, as a health check does; gives the status.
fn ask(url: &str, path: &str) -> String {
    let mut stream = connect(url);
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it may ask");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is answered");
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

/// What all the samples of a metric add up to that carry some text.
async fn sum(daemon: &Daemon, metric: &str, labels: &str) -> f64 {
    let page = daemon.metrics().await;
    let samples = page.lines().filter(|line| line.starts_with(metric) && line.contains(labels));
    samples.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

/// Everything works: health, a lead that is stored, and what the command line asks of the daemon.
async fn assert_serving(daemon: &Daemon) {
    for _ in 0..20 {
        assert_eq!(ask(&daemon.api, "/openapi.json"), "200");
        assert_eq!(ask(&daemon.admin, "/readyz"), "200");
    }
    let submitted = daemon.submit(sample("personal_loan")).await;
    assert_eq!(submitted.status, 200, "{}", daemon.log());
    let table = daemon.complete(submitted.json()["uuid"].as_str().unwrap()).await;
    assert_eq!(table["loanOffers"].as_array().map(Vec::len), Some(1));
    let listed = daemon.command(&["token", "list"]);
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    assert!(!daemon.log().contains("accepting connections fails"), "{}", daemon.log());
}

#[tokio::test]
async fn a_thousand_idle_sockets_leave_a_daemon_of_few_descriptors_serving_and_storing() {
    let daemon = Daemon::with_partners(vec![partner("one").loan("")]).file_limits(128, 256).start().await;
    assert_eq!(sum(&daemon, "offerd_descriptors_max", "").await, 256.0, "the soft limit is raised");
    let silent = strangers(&daemon.api, "");
    let half_said = strangers(&daemon.integrations, "GET /a HTTP/1.1\r\nHo");
    let at_the_console = strangers(&daemon.admin, "GET /");
    assert_serving(&daemon).await;
    assert!(sum(&daemon, "offerd_http_connections{", "api").await <= 128.0);
    assert!(sum(&daemon, "offerd_http_connections_closed_total", "descriptors").await >= 1_500.0);
    assert_eq!(sum(&daemon, "offerd_http_connections_refused_total", "").await, 0.0);
    drop((silent, half_said, at_the_console));
    let daemon = daemon.kill().start().await;
    assert_serving(&daemon).await;
}

/// None of them reaches the limit of an address, and none ever ends its head.
#[tokio::test]
async fn slow_heads_from_many_addresses_keep_nobody_out() {
    let plan = Daemon::with_partners(vec![partner("one").loan("")]).setting("api.max_connections", "100");
    let daemon = plan.start().await;
    let api = daemon.api.trim_start_matches("http://").parse().unwrap();
    let mut strangers = Vec::new();
    for nth in 0..SOCKETS {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("127.0.{}.{}:0", 1 + nth / 250, 1 + nth % 250).parse().unwrap()).unwrap();
        let mut stranger = socket.connect(api).await.unwrap();
        // It may have had to go already.
        let _ = stranger.write_all(b"POST /leads/rateTables HTTP/1.1\r\nX-Slow: ").await;
        strangers.push(stranger);
    }
    assert_serving(&daemon).await;
    assert!(sum(&daemon, "offerd_http_connections{", "api").await <= 100.0);
    assert!(sum(&daemon, "offerd_http_connections_closed_total", r#"reason="listener""#).await >= 900.0);
    assert_eq!(sum(&daemon, "offerd_http_connections_refused_total", "").await, 0.0);
    // Those that go on dribbling meanwhile.
    for stranger in &mut strangers {
        let _ = stranger.write_all(b"x").await;
    }
    assert_serving(&daemon).await;
}

#[tokio::test]
async fn one_address_has_its_share_of_connections_though_it_is_loopback() {
    let plan =
        Daemon::with_partners(vec![partner("one").loan("")]).setting("limits.connections_per_address", "50");
    let daemon = plan.start().await;
    let _sockets = strangers(&daemon.api, "");
    let open = sum(&daemon, "offerd_http_connections{", "api").await;
    assert!(open <= 50.0, "{open} are open");
    assert!(sum(&daemon, "offerd_http_connections_closed_total", r#"reason="address""#).await >= 950.0);
    assert_serving(&daemon).await;
}

#[tokio::test]
async fn a_trusted_proxy_may_have_any_number() {
    let plan = Daemon::with_partners(vec![partner("one").loan("")])
        .setting("limits.connections_per_address", "50")
        .setting("limits.trusted_proxies", "127.0.0.0/8");
    let daemon = plan.start().await;
    let sockets = strangers(&daemon.api, "");
    assert_serving(&daemon).await;
    assert!(sum(&daemon, "offerd_http_connections{", "api").await >= sockets.len() as f64);
    assert_eq!(sum(&daemon, "offerd_http_connections_closed_total", "").await, 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_few_connections_are_spread_evenly_over_the_threads_also_from_an_inherited_socket() {
    let sockets = GivenSockets::named("api:integrations");
    for plan in [Daemon::with_sample_partners(), Daemon::with_sample_partners().given(sockets)] {
        let daemon = plan.setting("engine.threads", "2").start().await;
        assert_eq!(sum(&daemon, "offerd_engine_connections", "").await, 0.0);
        let mut clients: Vec<TcpStream> = (0..4).map(|_| connect(&daemon.api)).collect();
        // Who has an answer has a thread.
        for client in &mut clients {
            client.write_all(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            client.read_exact(&mut [0; 12]).unwrap();
        }
        for thread in ["thread=\"0\"", "thread=\"1\""] {
            assert_eq!(sum(&daemon, "offerd_engine_connections", thread).await, 2.0);
        }
    }
}
