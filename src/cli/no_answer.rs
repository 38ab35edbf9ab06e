//! Why a call got no answer, and what to do next.

use std::error::Error;
use std::{fmt, io};

use super::client::origin;

/// A call that got no answer.
#[derive(Debug)]
pub struct NoAnswer {
    /// Scheme, host and port that were called.
    origin: String,
    why: Why,
}

#[derive(Debug)]
enum Why {
    /// Nobody listens there.
    Refused,
    /// Somebody listens, and says nothing.
    Silent,
    /// The name of the host has no address.
    Unresolved,
    /// The connection was made, TLS was not.
    NoTls(String),
    /// No connection could be made.
    Unreachable(String),
    /// What came is no HTTP.
    NotHttp,
    /// The connection ended before the answer did.
    Broke(String),
    /// What answers in this process could not go on.
    Failed(String),
}

impl NoAnswer {
    /// Of one who accepts connections, and says nothing.
    pub fn silent(url: &str) -> Self {
        Self::because(url, Why::Silent)
    }

    /// Of one whose answer ended before its end.
    pub fn broke(url: &str, cause: String) -> Self {
        Self::because(url, Why::Broke(cause))
    }

    /// Of our own handlers, which could not go on.
    pub fn failed(error: &(dyn Error + 'static)) -> Self {
        Self::because("", Why::Failed(innermost(error)))
    }

    /// What the client says when there is no head.
    pub fn of(url: &str, error: &hyper_util::client::legacy::Error) -> Self {
        let why = if error.is_connect() {
            unconnected(url, error)
        } else if chain(error).any(|one| one.downcast_ref().is_some_and(hyper::Error::is_parse)) {
            Why::NotHttp
        } else {
            Why::Broke(innermost(error))
        };
        Self::because(url, why)
    }

    fn because(url: &str, why: Why) -> Self {
        Self { origin: origin(url).to_owned(), why }
    }
}

/// Why no connection was made. The client's errors of name and TCP differ by their words alone; what is neither is TLS.
fn unconnected(url: &str, error: &(dyn Error + 'static)) -> Why {
    let says = |text: &str| chain(error).any(|one| one.to_string().starts_with(text));
    let refused = |one: &(dyn Error + 'static)| {
        one.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    if chain(error).any(refused) {
        Why::Refused
    } else if says("dns error") {
        Why::Unresolved
    } else if url.starts_with("https:") && !says("tcp ") {
        Why::NoTls(innermost(error))
    } else {
        Why::Unreachable(innermost(error))
    }
}

fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, why } = self;
        match why {
            Why::Refused => write!(
                out,
                "no daemon answers at {origin}; start it with `offerd serve`, or look at the address"
            ),
            Why::Silent => write!(
                out,
                "the daemon at {origin} does not answer; look at its log, and if it hangs, end it (SIGKILL loses nothing \
                 that was acknowledged) and start it again"
            ),
            Why::Unresolved => write!(
                out,
                "the host in {origin} has no address; look at how it is written, or give its number instead of its name"
            ),
            Why::NoTls(cause) => write!(
                out,
                "no TLS with {origin} ({cause}); a listener without `tls` in its section is reached at http://, and one \
                 with a certificate of your own under the settings that name it (`--config FILE`)"
            ),
            Why::Unreachable(cause) => write!(
                out,
                "{origin} cannot be connected to ({cause}); look at the address, and whether this machine may go there"
            ),
            Why::NotHttp => write!(
                out,
                "what answers at {origin} does not speak HTTP; a listener with `tls` in its section is reached at https://"
            ),
            Why::Failed(cause) => out.write_str(cause),
            Why::Broke(cause) => write!(
                out,
                "the daemon at {origin} hung up before it had answered ({cause}); its log tells why"
            ),
        }
    }
}
