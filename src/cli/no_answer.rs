//! Why a request got no answer, with the origin that was called and advice.

use std::error::Error;
use std::io;

/// The connection was accepted, but no answer came.
pub fn silent(url: &str) -> String {
    format!(
        "the daemon at {} does not answer; look at its log, and if it hangs, end it (SIGKILL loses nothing that was \
         acknowledged) and start it again",
        origin(url)
    )
}

/// The connection closed before the answer ended.
pub fn broke(url: &str, cause: &str) -> String {
    format!("the daemon at {} hung up before it had answered ({cause}); its log tells why", origin(url))
}

/// The client's error, when no response head arrived.
pub fn of(url: &str, error: &hyper_util::client::legacy::Error) -> String {
    if error.is_connect() {
        unconnected(url, error)
    } else if chain(error).any(|one| one.downcast_ref().is_some_and(hyper::Error::is_parse)) {
        format!(
            "what answers at {} does not speak HTTP; a listener with `tls` in its section is reached at https://",
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
        format!("no daemon answers at {origin}; start it with `offerd serve`, or look at the address")
    } else if says("dns error") {
        format!(
            "the host in {origin} has no address; look at how it is written, or give its number instead of its name"
        )
    } else if url.starts_with("https:") && !says("tcp ") {
        format!(
            "no TLS with {origin} ({cause}); a listener without `tls` in its section is reached at http://, and one \
             with a certificate of your own under the settings that name it (`--config FILE`)"
        )
    } else {
        format!(
            "{origin} cannot be connected to ({cause}); look at the address, and whether this machine may go there"
        )
    }
}

/// Scheme, host and port of a URL.
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
