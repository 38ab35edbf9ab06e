//! Why a call got no answer, and what to do next.

use std::error::Error;
use std::io;

use super::client::origin;

/// Why a call got no answer, with the scheme, host and port that were called, and what to do next.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoAnswer(String);

impl NoAnswer {
    /// Somebody accepts connections there, and says nothing.
    pub fn silent(url: &str) -> Self {
        Self(format!(
            "the daemon at {} does not answer; look at its log, and if it hangs, end it (SIGKILL loses nothing that was \
             acknowledged) and start it again",
            origin(url)
        ))
    }

    /// The connection ended before the answer did.
    pub fn broke(url: &str, cause: String) -> Self {
        let origin = origin(url);
        Self(format!("the daemon at {origin} hung up before it had answered ({cause}); its log tells why"))
    }

    /// Our own handlers could not go on.
    pub fn failed(error: &(dyn Error + 'static)) -> Self {
        Self(innermost(error))
    }

    /// What the client says when there is no head.
    pub fn of(url: &str, error: &hyper_util::client::legacy::Error) -> Self {
        if error.is_connect() {
            unconnected(url, error)
        } else if chain(error).any(|one| one.downcast_ref().is_some_and(hyper::Error::is_parse)) {
            Self(format!(
                "what answers at {} does not speak HTTP; a listener with `tls` in its section is reached at https://",
                origin(url)
            ))
        } else {
            Self::broke(url, innermost(error))
        }
    }
}

/// Why no connection was made. The client's errors of name and TCP differ by their words alone; what is neither is TLS.
fn unconnected(url: &str, error: &(dyn Error + 'static)) -> NoAnswer {
    let says = |text: &str| chain(error).any(|one| one.to_string().starts_with(text));
    let refused = |one: &(dyn Error + 'static)| {
        one.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    let (origin, cause) = (origin(url), innermost(error));
    NoAnswer(if chain(error).any(refused) {
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
    })
}

fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}
