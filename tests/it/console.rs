//! The console over its socket: what each page holds, and how it is kept safe.

use hyper::Method;

use crate::kit::{Answer, Daemon, PartnerFile, sample};

/// A page with what a browser sends.
async fn page(daemon: &Daemon, path: &str) -> Answer {
    let url = format!("{}{path}", daemon.admin);
    daemon.request_with(Method::GET, &url, "", &[("accept", "text/html")], "").await
}

/// A page that must be there, as text.
async fn html(daemon: &Daemon, path: &str) -> String {
    let answer = page(daemon, path).await;
    assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    String::from_utf8(answer.body.to_vec()).unwrap()
}

/// A form that is sent from a page of the console.
async fn send(daemon: &Daemon, path: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let mut all = vec![("content-type", "application/x-www-form-urlencoded")];
    all.extend_from_slice(headers);
    daemon.request_with(Method::POST, &format!("{}{path}", daemon.admin), "", &all, body).await
}

#[tokio::test]
async fn every_page_is_whole_and_sealed() {
    let daemon = Daemon::with_sample_partners().start().await;
    assert_eq!(daemon.submit(sample("personal_loan")).await.status, 200);
    for (path, title) in [("/console", "Now")] {
        let answer = page(&daemon, path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");

        let text = String::from_utf8(answer.body.to_vec()).unwrap();
        assert!(text.contains(&format!("<title>{title} · offerd</title>")), "{path}");
        for landmark in
            ["<html lang=\"en\">", "<main id=\"main\"", "class=\"skip\"", "<nav aria-label=", "<h1>"]
        {
            assert!(text.contains(landmark), "{path} has no {landmark}");
        }
        assert_eq!(text.matches("aria-current=\"page\"").count(), 1, "{path}");
        assert!(
            !text.contains("style=") && !text.contains("onclick"),
            "{path}: the policy would refuse that"
        );
    }
}
