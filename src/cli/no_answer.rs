//! Why a request got no answer, with the origin that was called and advice.

use std::error::Error;
use std::io;

/// The connection was accepted, but no answer came.
pub fn silent(url: &str) -> String {
    format!(
        "the daemon at {} does not answer; see its log, and if it hangs, kill it (SIGKILL loses nothing acknowledged) and restart it",
        origin(url)
    )
}

/// The connection closed before the answer ended.
pub fn broke(url: &str, cause: &str) -> String {
    format!(
        "the daemon at {} hung up before answering ({cause}): what was asked may be done all the same, so keep all files, \
         see its log, and run the command again",
        origin(url)
    )
}

/// The client's error, when no response head arrived.
pub fn of(url: &str, error: &hyper_util::client::legacy::Error) -> String {
    if error.is_connect() {
        unconnected(url, error)
    } else if chain(error).any(|one| one.downcast_ref().is_some_and(hyper::Error::is_parse)) {
        format!(
            "the service at {} does not speak HTTP; use https:// for a listener with `tls` in its section",
            origin(url)
        )
    } else {
        broke(url, &innermost(error))
    }
}

/// Why no connection was made. The client's DNS and TCP errors differ only by their text; any other is TLS.
fn unconnected(url: &str, error: &(dyn Error + 'static)) -> String {
    let says = |text: &str| chain(error).any(|one| one.to_string().starts_with(text));
    let refused = |one: &(dyn Error + 'static)| {
        one.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    let (origin, cause) = (origin(url), innermost(error));
    if chain(error).any(refused) {
        format!("no daemon answers at {origin}; start it with `offerd serve`, or check the address")
    } else if says("dns error") {
        format!("the host in {origin} has no address; check its spelling, or give its IP address")
    } else if url.starts_with("https:") && !says("tcp ") {
        format!(
            "TLS with {origin} failed ({cause}); use http:// for a listener without `tls`, and `--config FILE` for one with your own certificate"
        )
    } else {
        format!("cannot connect to {origin} ({cause}); check the address and this machine's network access")
    }
}

fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |scheme| scheme + 3);
    url[host..].find('/').map_or(url, |path| &url[..host + path])
}

fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// The root cause of an error.
pub fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_ends_before_the_path() {
        assert_eq!(origin("https://offers.example:8080/leads?a=b"), "https://offers.example:8080");
        assert_eq!(origin("http://offers.example"), "http://offers.example");
    }
}
