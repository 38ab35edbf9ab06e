//! Callbacks to the daemon, as made by partners that answer later.

use std::collections::BTreeMap;

use http_body_util::Full;
use hyper::{Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use super::cases::SimulatedCallback;

/// Part of every callback address.
const PATH: &str = "/callbacks/";

/// The callback address in a request body, plain or form-encoded.
pub fn address(body: &str) -> Option<String> {
    let decoded = || {
        form_urlencoded::parse(body.as_bytes())
            .map(|(_, value)| value.into_owned())
            .find(|value| value.contains(PATH))
    };
    found(body).or_else(|| found(&decoded()?))
}

fn found(text: &str) -> Option<String> {
    let at = text.find(PATH)?;
    let start = text[..at].rfind("http")?;
    let is_of_url = |letter: char| letter.is_ascii_alphanumeric() || "-._~:/[]".contains(letter);
    let url: String = text[start..].chars().take_while(|letter| is_of_url(*letter)).collect();
    url.contains(PATH).then_some(url)
}

/// Makes a callback after its delay; returns the result in a word.
pub async fn call(callback: &SimulatedCallback, secrets: &BTreeMap<String, String>, url: &str) -> String {
    tokio::time::sleep(callback.after).await;
    let (headers, body) = match callback.signed(secrets) {
        Ok(signed) => signed,
        Err(fault) => return format!("not made: {fault}"),
    };
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.headers_mut() = headers;
    let Ok(uri) = url.parse() else { return "nowhere".to_owned() };
    *request.uri_mut() = uri;
    let client = Client::builder(TokioExecutor::new()).build_http();
    match client.request(request).await {
        Ok(answer) => answer.status().as_u16().to_string(),
        Err(_) => "unreached".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_bodies_of_all_kinds() {
        let url = "http://127.0.0.1:8081/callbacks/0198c1f2-7d5e-8a11-9f3c-2b7d4e6a8c04";
        for body in [
            format!(r#"{{"a":"http://x.example","reply_to":"{url}"}}"#),
            format!("<Reply>{url}</Reply>"),
            form_urlencoded::Serializer::new(String::new()).append_pair("to", url).finish(),
        ] {
            assert_eq!(address(&body).as_deref(), Some(url), "{body}");
        }
        assert_eq!(address(r#"{"reply_to": "/elsewhere"}"#), None);
    }
}
