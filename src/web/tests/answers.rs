//! Which answer a request gets, and what every answer carries.

use uuid::Uuid;

use super::kit::{CONFIDENTIAL, PARTNER, PUBLISHABLE, UNISSUED, limits, start, start_with};

const LEAD: &str = "GET /leads/6f2c1d3a-98b1-4c55-9d4e-0a1b2c3d4e5f";

#[tokio::test]
async fn every_answer_has_an_id_and_is_not_stored() {
    let server = start();
    for request_line in ["GET /hello", "GET /nowhere", "DELETE /hello", "GET /panic", LEAD] {
        let answer = server.ask(request_line, &[]).await;
        let id: Uuid = answer.header("request-id").unwrap().parse().unwrap();
        assert_eq!(id.get_version_num(), 4, "{request_line}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{request_line}");
        assert_eq!(answer.header("vary"), Some("origin"), "{request_line}");
    }
}

#[tokio::test]
async fn requests_are_counted_by_template_never_by_path() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let _local = metrics::set_default_local_recorder(&recorder);
    let server = start();
    for path in ["/leads/secret", "/nowhere/secret", "/hello"] {
        server.ask(&format!("GET {path}"), &[]).await;
    }
    let rendered = recorder.handle().render();
    for labels in [
        r#"route="/leads/{uuid}",status="401""#,
        r#"route="unknown",status="404""#,
        r#"route="/hello",status="200""#,
    ] {
        let line = format!(r#"offerd_http_requests_total{{listener="test",{labels}}} 1"#);
        assert!(rendered.contains(&line), "{line} is missing in:\n{rendered}");
    }
    assert!(rendered.contains("offerd_http_request_seconds"));
    assert!(rendered.contains(r#"offerd_http_connections{listener="test"}"#));
    assert!(!rendered.contains("secret"));
}

#[tokio::test]
async fn an_unknown_path_is_404_and_a_wrong_method_405_with_allow() {
    let server = start();
    for path in ["/nowhere", "/hello//", "/leads", "/"] {
        let answer = server.ask(&format!("GET {path}"), &[]).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.fault().0, "unsupported");
    }
    let answer = server.ask("DELETE /hello", &[]).await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD, OPTIONS")));
    assert_eq!(answer.fault().0, "unsupported");
}

#[tokio::test]
async fn a_target_without_a_path_is_404() {
    let server = start();
    for target in ["GET *", "GET offers.example", "POST offers.example:80", "CONNECT offers.example:443"] {
        assert_eq!(server.ask(target, &[]).await.status, 404, "{target}");
    }
}

#[tokio::test]
async fn broken_percent_encoding_is_400_in_path_and_query() {
    let server = start();
    for request_line in ["GET /nowhere/%zz", "GET /nowhere/%ff", "GET /query?name=%f", "GET /query?%ff=1"] {
        let answer = server.ask(request_line, &[]).await;
        assert_eq!(answer.status, 400, "{request_line}");
        assert_eq!(answer.fault().0, "malformed");
    }
    let answer = server.ask("GET /query?other=1&name=a+b%2Bc", &[]).await;
    assert_eq!((answer.status, &*answer.body), (200, "\"a b+c\""));
    assert_eq!(server.ask("GET /query", &[]).await.body, "null");
}

#[tokio::test]
async fn a_path_parameter_that_is_no_uuid_is_400_with_its_name() {
    let server = start();
    let answer = server.ask("GET /leads/seven", &[("Authorization", CONFIDENTIAL)]).await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.starts_with(r#"[{"attribute":"uuid","message":"#), "{}", answer.body);
    let nil = format!("GET /leads/{}", Uuid::nil());
    let answer = server.ask(&nil, &[("Authorization", CONFIDENTIAL)]).await;
    assert_eq!((answer.status, &*answer.fault().0), (404, "invalidUuidReference"));
}

#[tokio::test]
async fn a_caller_without_the_right_token_gets_401() {
    let server = start();
    let cases = [
        (&[][..], "Access token is missing"),
        (&[("Authorization", "Bearer x")], "Access token is invalid"),
        (&[("Authorization", UNISSUED)], "Access token is invalid"),
        (&[("Authorization", PUBLISHABLE)], "Access token must be a confidential one"),
        (&[("Authorization", PARTNER)], "Access token must not be a partner's"),
        (&[("Authorization", CONFIDENTIAL), ("Authorization", CONFIDENTIAL)], "Access token is invalid"),
    ];
    for (headers, message) in cases {
        let answer = server.ask(LEAD, headers).await;
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{message}");
        assert_eq!(answer.fault(), ("unauthorized".to_owned(), message.to_owned()));
    }
    let in_doubt = server.ask(LEAD, &[("Authorization", &UNISSUED.replacen('3', "6", 1))]).await;
    assert_eq!((in_doubt.status, in_doubt.header("retry-after")), (503, Some("5")), "nor refused");
    assert_eq!(server.ask(LEAD, &[("authorization", CONFIDENTIAL)]).await.status, 200);
    for token in [PUBLISHABLE, CONFIDENTIAL] {
        let answer = server.ask("POST /leads/rateTables", &[("Authorization", token)]).await;
        assert_eq!((answer.status, &*answer.body), (200, "\"Acme\""));
    }
}

#[tokio::test]
async fn the_v1_type_is_answered_where_v1_has_the_path_and_415_elsewhere() {
    let server = start();
    let v1 = ("Accept", "text/plain, application/vnd.offerd.v1+json;q=0.9");
    let answer = server.ask("POST /leads/rateTables", &[v1, ("Authorization", PUBLISHABLE)]).await;
    assert_eq!(answer.status, 201);
    let answer = server.ask("GET /hello", &[v1]).await;
    assert_eq!((answer.status, &*answer.fault().0), (415, "unsupported"));
    let refused = ("Accept", "application/vnd.offerd.v1+json;q=0, */*");
    let answer = server.ask("POST /leads/rateTables", &[refused, ("Authorization", PUBLISHABLE)]).await;
    assert_eq!(answer.status, 200, "weight zero is what a client will not have");
}

#[tokio::test]
async fn a_panic_is_an_opaque_500_and_the_connection_lives_on() {
    let server = start();
    let mut client = server.connect().await;
    let answer = client.ask("GET /panic", &[("Origin", "https://a.example")], "").await;
    assert_eq!((answer.status, &*answer.body), (500, r#"[{"message":"Internal error"}]"#));
    assert!(answer.header("request-id").is_some());
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://a.example"));
    assert_eq!(client.ask("GET /hello", &[], "").await.status, 200);
}

#[tokio::test]
async fn a_preflight_is_answered_for_any_path_without_a_token() {
    let server = start();
    for path in ["/leads/rateTables", "/nowhere"] {
        let asked = [
            ("Origin", "https://a.example"),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "authorization, x-vendor"),
        ];
        let answer = server.ask(&format!("OPTIONS {path}"), &asked).await;
        assert_eq!((answer.status, &*answer.body), (204, ""));
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://a.example"));
        assert_eq!(answer.header("access-control-allow-credentials"), Some("true"));
        assert_eq!(answer.header("access-control-allow-methods"), Some("POST"));
        assert_eq!(answer.header("access-control-allow-headers"), Some("authorization, x-vendor"));
        assert_eq!(answer.header("access-control-max-age"), Some("600"));
    }
}

#[tokio::test]
async fn only_an_allowed_origin_is_echoed() {
    let server = start_with(limits(), limits().drain, &["https://a.example"]);
    let allowed = server.ask("GET /nowhere", &[("Origin", "https://a.example")]).await;
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://a.example"));
    let exposed = allowed.header("access-control-expose-headers");
    assert_eq!(
        exposed,
        Some(
            "ETag, Retry-After, RateLimit, RateLimit-Policy, Request-Id, Location, Table-Deadline, Unknown-Keys"
        )
    );
    let preflight = [("Origin", "https://b.example"), ("Access-Control-Request-Method", "GET")];
    for (request_line, headers) in [("GET /hello", &preflight[..1]), ("OPTIONS /hello", &preflight[..])] {
        let answer = server.ask(request_line, headers).await;
        assert_eq!(answer.header("access-control-allow-origin"), None);
        assert_eq!(answer.header("access-control-allow-methods"), None);
        assert_eq!(answer.header("vary"), Some("origin"));
    }
}

#[tokio::test]
async fn who_expects_what_nobody_does_is_told_so() {
    let server = start();
    for expected in ["200-ok", "", "100-continue, foo"] {
        let answer = server.ask("GET /hello", &[("Expect", expected)]).await;
        assert_eq!((answer.status, &*answer.fault().0), (417, "unsupported"), "{expected}");
    }
    assert_eq!(server.ask("GET /hello", &[("Expect", "100-Continue")]).await.status, 200);
}

#[tokio::test]
async fn plain_options_tells_the_methods_of_a_known_path() {
    let server = start();
    let answer = server.ask("OPTIONS /echo", &[]).await;
    assert_eq!((answer.status, answer.header("allow")), (204, Some("OPTIONS, POST")));
    assert_eq!(server.ask("OPTIONS /nowhere", &[]).await.status, 404);
}

#[tokio::test]
async fn a_held_etag_gives_304_without_a_body() {
    let server = start();
    let mut client = server.connect().await;
    let fresh = client.ask("GET /hello", &[], "").await;
    assert_eq!((fresh.status, fresh.header("etag"), &*fresh.body), (200, Some("\"v1\""), "[\"hello\"]"));
    for held in ["\"v1\"", "\"v0\", W/\"v1\"", "*"] {
        let answer = client.ask("GET /hello", &[("If-None-Match", held)], "").await;
        assert_eq!((answer.status, answer.header("etag")), (304, Some("\"v1\"")), "{held}");
        assert_eq!((answer.header("content-type"), answer.header("content-length")), (None, None));
    }
    let answer = client.ask("GET /hello", &[("If-None-Match", "\"v2\"")], "").await;
    assert_eq!((answer.status, &*answer.body), (200, "[\"hello\"]"));
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let server = start();
    let mut client = server.connect().await;
    let answer = client.ask("HEAD /hello", &[], "").await;
    assert_eq!((answer.status, answer.header("content-length")), (200, Some("9")));
    assert_eq!(client.ask("GET /hello", &[], "").await.body, "[\"hello\"]", "nothing was left on the wire");
}

#[tokio::test]
async fn a_stream_is_written_in_chunks() {
    let server = start();
    let mut client = server.connect().await;
    client.send("GET /stream HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").await;
    let written = client.until_closed().await;
    assert!(written.ends_with("4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n"), "{written}");
}
