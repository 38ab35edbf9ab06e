//! Sockets that are there before a daemon is.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::Stdio;

/// Two sockets that listen already, as systemd holds them open for a service.
pub struct GivenSockets {
    pub(super) names: String,
    sockets: [TcpListener; 2],
}

impl GivenSockets {
    /// Sockets under these two names, `one:other`.
    pub fn named(names: &str) -> Self {
        let sockets = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        Self { names: names.to_owned(), sockets }
    }

    /// Where one of them is reached.
    pub fn url(&self, position: usize) -> String {
        format!("http://{}", self.sockets[position].local_addr().expect("a bound socket"))
    }

    /// For standard input or output of a process.
    pub(super) fn stdio(&self, position: usize) -> Stdio {
        OwnedFd::from(self.sockets[position].try_clone().expect("a free descriptor")).into()
    }
}
