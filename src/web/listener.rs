//! The accept loop: warp filters on hyper connections, with limits and a drain.

use std::future::Future;
use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use super::connections::{ConnectionRules, ConnectionScope, Connections, OpenConnection};
use super::prelude::*;
use super::protocols::Protocols;
use super::refusal::ConnectionRefusal;
use super::service::HttpService;
use super::threads::Threads;
use super::tls::TlsIdentity;
use offerd_base::telemetry::metrics::HTTP_ACCEPT_ERRORS;

const BACKLOG: u32 = 1024;

/// The pause in accepting when the process is out of file descriptors, so that the loop does not spin.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// The limits of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Open connections of the listener; beyond it an idle one is closed, or the new one refused.
    pub connections: usize,
    /// How long a request's head may take from its first byte; also the limit for a TLS handshake.
    pub header_timeout: Duration,
    /// How long a client may be idle before its first request, and between two.
    pub idle_timeout: Duration,
    /// How long a client may leave an answer unread before its connection is cut.
    pub write_timeout: Duration,
    /// The longest head, in bytes.
    pub head_bytes: usize,
    /// How long in-flight requests may take once shutdown has begun.
    pub drain: Duration,
}

/// A bound socket that does not serve yet.
#[derive(Debug)]
#[must_use]
pub struct Listener {
    /// Its name in logs and metrics.
    pub name: &'static str,
    socket: std::net::TcpListener,
    pub(super) local_addr: SocketAddr,
    limits: Limits,
    connections: Arc<Connections>,
    identity: Option<TlsIdentity>,
    threads: Option<Threads>,
}

/// How a listener ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were still busy at the drain deadline, and were cut.
    pub cut: usize,
}

impl Listener {
    /// Binds `addr`; port 0 takes a free port. Call it within a tokio runtime.
    pub fn bind(name: &'static str, addr: SocketAddr, limits: Limits) -> io::Result<Self> {
        let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(addr)?;
        Self::from_std(name, socket.listen(BACKLOG)?.into_std()?, limits)
    }

    /// Takes over a listening socket, such as one inherited from systemd.
    pub fn from_std(name: &'static str, socket: std::net::TcpListener, limits: Limits) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let local_addr = socket.local_addr()?;
        let connections = Connections::new(ConnectionRules::default());
        Ok(Self { name, socket, local_addr, limits, connections, identity: None, threads: None })
    }

    /// Speaks TLS with this identity; `None` means plain text.
    pub fn with_identity(self, identity: Option<TlsIdentity>) -> Self {
        Self { identity, ..self }
    }

    /// Counts its connections in `connections`, which other listeners may share.
    pub fn among(self, connections: Arc<Connections>) -> Self {
        Self { connections, ..self }
    }

    /// Serves on these threads, instead of the runtime that calls [`serve`](Self::serve).
    pub fn on(self, threads: Threads) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// The listener's URL, without a path.
    pub fn url(&self) -> String {
        let scheme = if self.identity.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.local_addr)
    }

    /// Serves until `stop`, then drains: new connections are refused, idle ones closed, in-flight
    /// requests answered until the drain deadline, and the rest cut.
    pub async fn serve(self, service: HttpService, stop: impl Future<Output = ()>) -> io::Result<Drained> {
        let Self { name, socket, local_addr, limits, connections, identity, threads } = self;
        let tls = identity.map(|identity| identity.acceptor()).transpose().map_err(io::Error::other)?;
        let listener = TcpListener::from_std(socket)?;
        tracing::info!(listener = name, address = %local_addr, tls = tls.is_some(), "listening");
        let (drain, draining) = watch::channel(false);
        let protocols = Protocols::new(limits, tls);
        let refusal = ConnectionRefusal::new(name, protocols.in_the_clear(), connections.refusals());
        let mut acceptor = Acceptor {
            name,
            limits,
            service,
            protocols,
            open: connections,
            refusal,
            threads,
            draining,
            connections: JoinSet::new(),
            failing: false,
        };

        // Phase 1: accept until told to stop.
        tokio::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                Some(_) = acceptor.connections.join_next() => {}
                accepted = listener.accept() => acceptor.admit(accepted).await,
            }
        }

        // Phase 2: refuse new connections, finish the open ones.
        drop(listener);
        drain.send_replace(true);
        let drained = acceptor.drain().await;
        tracing::info!(listener = name, cut = drained.cut, "drained");
        Ok(drained)
    }
}

struct Acceptor {
    name: &'static str,
    limits: Limits,
    service: HttpService,
    protocols: Protocols,
    open: Arc<Connections>,
    refusal: ConnectionRefusal,
    threads: Option<Threads>,
    draining: watch::Receiver<bool>,
    connections: JoinSet<()>,
    failing: bool,
}

impl Acceptor {
    async fn admit(&mut self, accepted: io::Result<(TcpStream, SocketAddr)>) {
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => return self.rest(error).await,
        };
        self.failing = false;
        let _ = stream.set_nodelay(true);
        match self.open.admit(self.name, self.limits.connections, Peer(peer)).await {
            Ok(open) => self.start(stream, Peer(peer), open),
            Err(full) => self.refusal.answer(stream, full),
        }
    }

    fn start(&mut self, stream: TcpStream, peer: Peer, open: OpenConnection) {
        let (protocols, service) = (self.protocols.clone(), self.service.clone());
        let draining = self.draining.clone();
        let serve = async move |stream| {
            tokio::select! {
                biased;
                () = protocols.serve(stream, peer, service, open.activity(), draining) => {}
                () = open.until_displaced() => {}
            }
        };
        let Some(threads) = &self.threads else {
            self.connections.spawn(async move { serve(stream).await });
            return;
        };
        // A socket is bound to the runtime that reads it.
        let Ok(stream) = stream.into_std() else { return };
        let (mut serving, served) = oneshot::channel::<()>();
        threads.run(async move {
            let Ok(stream) = TcpStream::from_std(stream) else { return };
            tokio::select! {
                biased;
                () = serving.closed() => {}
                () = serve(stream) => {}
            }
        });
        // This task waits for the connection to end; aborting it cuts the connection.
        self.connections.spawn(async move { drop(served.await) });
    }

    /// Handles an accept error. Out of descriptors, an idle connection is closed, or accepting pauses.
    async fn rest(&mut self, error: io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted) {
            return;
        }
        metrics::counter!(HTTP_ACCEPT_ERRORS, "listener" => self.name).increment(1);
        if !self.failing {
            tracing::error!(listener = self.name, %error, "accepting connections fails, retrying");
            self.failing = true;
        }
        if !self.open.close_one(ConnectionScope::Descriptors).await {
            tokio::time::sleep(ACCEPT_REST).await;
        }
    }

    async fn drain(mut self) -> Drained {
        let finished = async { while self.connections.join_next().await.is_some() {} };
        if tokio::time::timeout(self.limits.drain, finished).await.is_ok() {
            return Drained { cut: 0 };
        }
        let cut = self.connections.len();
        self.connections.shutdown().await;
        Drained { cut }
    }
}
