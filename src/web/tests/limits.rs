//! What the gate refuses, and what it admits.

use std::num::NonZeroU32;
use std::time::Duration;

use super::kit::{
    Answer, BODY_CAP_BYTES, CONFIDENTIAL, Client, OF_ANOTHER, PUBLISHABLE, Server, UNISSUED, bind, limits,
    serve, start_behind,
};
use crate::{Gate, GateRules, Limits, Rate};
use offerd_base::load_shedder::ShedderRules;

/// A rate so slow that nothing refills during a test.
fn slow(burst: u32) -> Option<Rate> {
    Some(Rate { burst: NonZeroU32::new(burst).unwrap(), refill: Duration::from_secs(3600) })
}

fn gate(rules: GateRules) -> Gate {
    Gate::new(rules, || Some(Duration::ZERO))
}

/// Opens `requests` requests with new work, all under way.
async fn occupy(server: &Server, requests: usize) -> Vec<Client> {
    let mut under_way = Vec::new();
    for _ in 0..requests {
        let mut client = server.connect().await;
        client.send("POST /gated HTTP/1.1\r\nHost: test\r\nContent-Length: 20\r\n\r\n").await;
        server.app.entered.acquire().await.unwrap().forget();
        under_way.push(client);
    }
    under_way
}

fn loopback() -> Vec<ipnet::IpNet> {
    vec!["127.0.0.0/8".parse().unwrap()]
}

#[tokio::test]
async fn an_address_that_asks_too_often_is_told_when_to_come_again() {
    let server = start_behind(gate(GateRules { per_address: slow(3), ..GateRules::default() }));
    let mut client = server.connect().await;
    let first = client.ask("GET /hello", &[("Origin", "https://shop.example")], "").await;
    assert_eq!(first.status, 200);
    assert_eq!(first.header("ratelimit-policy"), Some(r#""address";q=3;w=3600"#));
    assert_eq!(first.header("ratelimit"), Some(r#""address";r=2;t=1200"#));
    let exposed = first.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("RateLimit, RateLimit-Policy"), "{exposed}");

    for _ in 0..2 {
        assert_eq!(client.ask("GET /hello", &[], "").await.status, 200);
    }
    let refused = client.ask("GET /hello", &[], "").await;
    assert_eq!((refused.status, refused.fault().0.as_str()), (429, "unavailable"));
    let wait_s = refused.header("retry-after").unwrap();
    assert!((1..=1200).contains(&wait_s.parse::<u32>().unwrap()), "{wait_s}");
    assert_eq!(refused.header("ratelimit"), Some(format!(r#""address";r=0;t={wait_s}"#).as_str()));
    assert!(refused.header("request-id").is_some());
}

/// Guessing tokens counts against the rate, too.
#[tokio::test]
async fn what_is_refused_later_counts_as_well() {
    let server = start_behind(gate(GateRules { per_address: slow(3), ..GateRules::default() }));
    let mut client = server.connect().await;
    for (line, headers, status) in [
        ("GET /nowhere", &[][..], 404),
        ("GET /held", &[("Authorization", UNISSUED)][..], 401),
        ("DELETE /hello", &[][..], 405),
    ] {
        let answer = client.ask(line, headers, "").await;
        assert_eq!(answer.status, status);
        assert!(answer.header("ratelimit").is_some(), "{line}");
    }
}

#[tokio::test]
async fn a_company_has_one_allowance_for_all_its_tokens() {
    let server = start_behind(gate(GateRules { per_company: slow(2), ..GateRules::default() }));
    let mut client = server.connect().await;
    let mut submit =
        async |token| client.ask("POST /leads/rateTables", &[("Authorization", token)], "{}").await;
    let first = submit(PUBLISHABLE).await;
    assert_eq!((first.status, first.header("ratelimit")), (200, Some(r#""company";r=1;t=1800"#)));
    assert_eq!(submit(CONFIDENTIAL).await.status, 200);
    assert_eq!(submit(PUBLISHABLE).await.status, 429);
    let open = server.ask("GET /hello", &[]).await;
    assert_eq!((open.status, open.header("ratelimit")), (200, None), "who shows no token is no company");
}

#[tokio::test]
async fn exempt_networks_have_no_rate() {
    let rules =
        GateRules { per_address: slow(1), per_company: slow(1), exempt: loopback(), ..GateRules::default() };
    let server = start_behind(gate(rules));
    for _ in 0..3 {
        let answer = server.ask("POST /leads/rateTables", &[("Authorization", PUBLISHABLE)]).await;
        assert_eq!((answer.status, answer.header("ratelimit")), (200, None));
    }
}

#[tokio::test]
async fn forwarded_addresses_count_only_behind_a_trusted_proxy() {
    let asking = async |trusted_proxies: Vec<ipnet::IpNet>| {
        let rules = GateRules { per_address: slow(1), trusted_proxies, ..GateRules::default() };
        let server = start_behind(gate(rules));
        let mut statuses = Vec::new();
        for from in ["192.0.2.1", "192.0.2.2", "192.0.2.2"] {
            statuses.push(server.ask("GET /hello", &[("X-Forwarded-For", from)]).await.status);
        }
        statuses
    };
    assert_eq!(asking(Vec::new()).await, [200, 429, 429]);
    assert_eq!(asking(loopback()).await, [200, 200, 429]);
}

#[tokio::test]
async fn a_company_has_so_much_under_way_and_no_more() {
    let server = start_behind(gate(GateRules { requests_per_company: 1, ..GateRules::default() }));
    let token = [("Authorization", PUBLISHABLE)];
    let mut busy = server.connect().await;
    busy.send(&format!("GET /held HTTP/1.1\r\nHost: test\r\nAuthorization: {PUBLISHABLE}\r\n\r\n")).await;
    server.app.entered.acquire().await.unwrap().forget();
    let refused = server.ask("GET /held", &token).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert_eq!(server.ask("GET /hello", &[]).await.status, 200, "others go on");

    server.app.gate.add_permits(2);
    assert_eq!(busy.answer(false).await.status, 200);
    assert_eq!(server.ask("GET /held", &token).await.status, 200, "the place is given back");
}

#[tokio::test]
async fn requests_beyond_the_cap_are_503_while_those_within_finish() {
    let server = start_behind(gate(GateRules { requests: 1, ..GateRules::default() }));
    let mut busy = server.connect().await;
    busy.send("GET /gated HTTP/1.1\r\nHost: test\r\n\r\n").await;
    server.app.entered.acquire().await.unwrap().forget();
    let refused = server.ask("GET /hello", &[]).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    server.app.gate.add_permits(1);
    assert_eq!(busy.answer(false).await.status, 200);
    assert_eq!(server.ask("GET /hello", &[]).await.status, 200);
}

#[tokio::test]
async fn a_stream_is_under_way_until_its_end() {
    let server = start_behind(gate(GateRules { requests: 1, ..GateRules::default() }));
    let mut reader = server.connect().await;
    reader.send("GET /endless HTTP/1.1\r\nHost: test\r\n\r\n").await;
    server.app.entered.acquire().await.unwrap().forget();
    assert_eq!(reader.answer(false).await.status, 200);
    assert_eq!(server.ask("GET /hello", &[]).await.status, 503);
    drop(reader);
    while server.ask("GET /hello", &[]).await.status != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_body_without_room_is_refused_and_one_with_room_arrives() {
    let server = start_behind(gate(GateRules { body_bytes: BODY_CAP_BYTES, ..GateRules::default() }));
    let mut slow = server.connect().await;
    slow.send(&format!("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: {BODY_CAP_BYTES}\r\n\r\n["))
        .await;
    // The first holds its reservation once a second one is refused.
    while server.connect().await.ask("POST /echo", &[], "[]").await.status != 503 {
        tokio::task::yield_now().await;
    }
    slow.send(&format!("{}]", " ".repeat(BODY_CAP_BYTES - 2))).await;
    assert_eq!(slow.answer(false).await.status, 201);
    assert_eq!(server.connect().await.ask("POST /echo", &[], "[]").await.status, 201);
}

#[tokio::test]
async fn a_company_has_a_part_of_the_room_for_bodies_and_leaves_the_rest_to_others() {
    let rules = GateRules { body_bytes_per_company: BODY_CAP_BYTES, ..GateRules::default() };
    let server = start_behind(gate(rules));
    let mut slow = server.connect().await;
    slow.send(&format!(
        "POST /told HTTP/1.1\r\nHost: test\r\nAuthorization: {PUBLISHABLE}\r\n\
         Content-Length: {BODY_CAP_BYTES}\r\n\r\n["
    ))
    .await;
    let ask = async |token| server.connect().await.ask("POST /told", &[("Authorization", token)], "[]").await;
    // The first holds its reservation once a second one is refused.
    let refused = loop {
        match ask(PUBLISHABLE).await {
            refused if refused.status == 429 => break refused,
            _ => tokio::task::yield_now().await,
        }
    };
    assert_eq!((refused.fault().0.as_str(), refused.header("retry-after")), ("unavailable", Some("1")));
    assert_eq!(server.connect().await.ask("POST /echo", &[], "[]").await.status, 201, "others go on");
    slow.send(&format!("{}]", " ".repeat(BODY_CAP_BYTES - 2))).await;
    assert_eq!(slow.answer(false).await.status, 201);
    assert_eq!(ask(PUBLISHABLE).await.status, 201, "the room is given back");
}

/// At most two requests with new work in flight, and one in the queue.
fn two_and_one() -> GateRules {
    let rules = ShedderRules {
        queueing_target: Duration::from_millis(5),
        most: 2,
        queue: 1,
        queue_wait: limits().drain,
    };
    GateRules { new_work: Some(rules), ..GateRules::default() }
}

const NEW_WORK: &str = "POST /gated HTTP/1.1\r\nHost: test\r\nContent-Length: 20\r\n\r\n";

/// Runs the server until its metrics contain `figure`.
async fn until(recorder: &metrics_exporter_prometheus::PrometheusRecorder, figure: &str) {
    while !recorder.handle().render().contains(figure) {
        tokio::task::yield_now().await;
    }
}

/// Sends new work on two connections while two are in flight; returns the one that queues, and the answer to
/// the other.
async fn one_waits(server: &Server) -> (Client, Answer) {
    let mut clients = [server.connect().await, server.connect().await];
    for client in &mut clients {
        client.send(NEW_WORK).await;
    }
    let [mut one, mut other] = clients;
    let refused = tokio::select! {
        answer = one.answer(false) => Err(answer),
        answer = other.answer(false) => Ok(answer),
    };
    match refused {
        Ok(answer) => (one, answer),
        Err(answer) => (other, answer),
    }
}

/// The answer arrives although the body never does, so the body is not read first.
#[tokio::test]
async fn new_work_beyond_the_line_is_refused_unread_while_polls_go_on() {
    let server = start_behind(gate(two_and_one()));
    let in_flight = occupy(&server, 2).await;
    let (mut waiting, refused) = one_waits(&server).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(refused.fault().0, "unavailable");
    assert_eq!(server.ask("GET /hello", &[]).await.status, 200);

    server.app.gate.add_permits(3);
    for mut client in in_flight {
        assert_eq!(client.answer(false).await.status, 200, "those that were let in finish");
    }
    assert_eq!(waiting.answer(false).await.status, 200, "and let in who waits");
    server.app.gate.add_permits(1);
    assert_eq!(server.ask("POST /gated", &[]).await.status, 200, "their places are given back");
}

#[tokio::test]
async fn a_company_has_a_place_in_a_line_that_others_fill() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let _local = metrics::set_default_local_recorder(&recorder);
    let mut rules = two_and_one();
    rules.new_work.as_mut().unwrap().queue = 2;
    let server = start_behind(gate(rules));
    let in_flight = occupy(&server, 2).await;
    let mut others = [server.connect().await, server.connect().await];
    for other in &mut others {
        other.send(NEW_WORK).await;
    }
    until(&recorder, "offerd_new_work_waiting 2").await;
    assert_eq!(server.ask("POST /gated", &[]).await.status, 503, "who fills the queue has no more of it");

    let mut company = server.connect().await;
    let head =
        format!("POST /told HTTP/1.1\r\nHost: test\r\nAuthorization: {OF_ANOTHER}\r\nContent-Length: 2");
    company.send(&format!("{head}\r\n\r\n[]")).await;
    let [one, other] = &mut others;
    let displaced = tokio::select! {
        answer = one.answer(false) => answer,
        answer = other.answer(false) => answer,
    };
    assert_eq!((displaced.status, displaced.header("retry-after")), (503, Some("1")));
    drop(in_flight);
    server.app.gate.add_permits(3);
    assert_eq!(company.answer(false).await.status, 201);
}

#[tokio::test]
async fn who_waits_too_long_is_refused() {
    let mut rules = two_and_one();
    rules.new_work.as_mut().unwrap().queue_wait = Duration::from_millis(1);
    let server = start_behind(gate(rules));
    let _in_flight = occupy(&server, 2).await;
    let refused = server.ask("POST /gated", &[]).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
}

/// hyper notices a disconnected client only while it reads, and it reads nothing of a queued request.
#[tokio::test]
async fn a_client_that_hangs_up_in_line_keeps_its_place_no_longer_than_the_wait() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let _local = metrics::set_default_local_recorder(&recorder);
    let rules = ShedderRules { queue_wait: Duration::from_millis(500), ..two_and_one().new_work.unwrap() };
    let server = start_behind(gate(GateRules { new_work: Some(rules), ..GateRules::default() }));
    let _in_flight = occupy(&server, 2).await;
    let mut leaves = server.connect().await;
    leaves.send(NEW_WORK).await;
    until(&recorder, "offerd_new_work_waiting 1").await;
    drop(leaves);
    until(&recorder, "offerd_new_work_waiting 0").await;
}

#[tokio::test]
async fn who_sends_a_body_slowly_keeps_nobody_waiting() {
    let server = start_behind(gate(two_and_one()));
    let mut slow = [server.connect().await, server.connect().await];
    for client in &mut slow {
        client.send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n[").await;
    }
    for _ in 0..4 {
        assert_eq!(server.connect().await.ask("POST /echo", &[], "[]").await.status, 201);
    }
    for client in &mut slow {
        client.send("]").await;
        assert_eq!(client.answer(false).await.status, 201);
    }
}

#[tokio::test]
async fn what_is_turned_away_at_the_door_counts_and_is_finished_as_every_request_is() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let _local = metrics::set_default_local_recorder(&recorder);
    let rules = GateRules { per_address: slow(4 + 4), ..two_and_one() };
    let server = serve(bind(Limits { connections: 64, ..limits() }), gate(rules), limits().drain, &["*"]);
    let _in_flight = occupy(&server, 2).await;
    let (_waiting, _) = one_waits(&server).await;

    let mut client = server.connect().await;
    assert_eq!(client.ask("POST /nowhere", &[], "").await.status, 404, "which is no new work");
    assert_eq!(client.ask("DELETE /gated", &[], "").await.status, 405, "nor is this");
    let preflight = [("Origin", "https://shop.example"), ("Access-Control-Request-Method", "POST")];
    assert_eq!(client.ask("OPTIONS /gated", &preflight, "").await.status, 204, "which does not even count");
    for left in [1, 0] {
        let refused = client.ask("POST /gated", &[("Origin", "https://shop.example")], "").await;
        assert_eq!((refused.status, refused.fault().0.as_str()), (503, "unavailable"));
        let standing = refused.header("ratelimit").unwrap();
        assert!(standing.starts_with(&format!(r#""address";r={left};t="#)), "{standing}");
        assert!(refused.header("request-id").is_some());
        assert_eq!(refused.header("cache-control"), Some("no-store"));
        assert_eq!(refused.header("access-control-allow-origin"), Some("https://shop.example"));
    }
    assert_eq!(client.ask("POST /gated", &[], "").await.status, 429, "a flood is told that it is one");

    let rendered = recorder.handle().render();
    for line in [
        r#"offerd_http_requests_total{listener="test",route="/gated",status="503"} 3"#,
        r#"offerd_http_requests_total{listener="test",route="/gated",status="429"} 1"#,
        r#"offerd_http_requests_refused_total{reason="queue"} 3"#,
    ] {
        assert!(rendered.contains(line), "{line} is missing in:\n{rendered}");
    }
}
