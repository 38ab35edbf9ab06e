//! Where a connection comes from.

use std::net::SocketAddr;

/// The address at the other end of the connection. A listener puts it into every request as an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);
