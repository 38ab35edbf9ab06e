//! Makes connections: name resolution, address check, TCP and TLS, all within the connect timeout.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioIo;
use metrics::Counter;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use super::address::AddressRules;
use super::error::{CallError, Phase};
use super::first_bytes::FirstBytes;
use super::lookups::Lookups;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
pub(super) struct Connector {
    inner: HttpsConnector<HttpConnector<GuardedResolver>>,
    resolver: GuardedResolver,
    timeout: Duration,
    made: Counter,
}

impl Connector {
    pub(super) fn new(
        tls: ClientConfig,
        http2: bool,
        resolver: GuardedResolver,
        timeout: Duration,
        made: Counter,
    ) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(resolver.clone());
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        // Several addresses share the timeout; a single one may use all of it.
        tcp.set_connect_timeout(Some(timeout));
        let schemes = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
        let inner = if http2 {
            schemes.enable_all_versions().wrap_connector(tcp)
        } else {
            schemes.enable_http1().wrap_connector(tcp)
        };
        Self { inner, resolver, timeout, made }
    }

    /// Why a call whose time ran out has no connection.
    pub(super) fn timed_out(&self, uri: &Uri, after: Duration) -> CallError {
        let awaited = self.resolver.lookups.awaited(uri.host().unwrap_or_default(), after);
        awaited.unwrap_or(CallError::TimedOut { during: Phase::Connect })
    }
}

impl Service<Uri> for Connector {
    type Response = FirstBytes<MaybeHttpsStream<TokioIo<TcpStream>>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        // A host that is a literal address is never resolved.
        if forbidden(&self.resolver.rules, &uri).is_some() {
            return Box::pin(std::future::ready(Err(CallError::ForbiddenAddress.into())));
        }
        let connecting = tokio::time::timeout(self.timeout, self.inner.call(uri.clone()));
        let connector = self.clone();
        Box::pin(async move {
            let connection = connecting.await.map_err(|_| connector.timed_out(&uri, connector.timeout))??;
            connector.made.increment(1);
            Ok(FirstBytes { connection, seen: false })
        })
    }
}

/// The address in a URL without a host name, if the rules forbid it.
pub(super) fn forbidden(rules: &AddressRules, uri: &Uri) -> Option<IpAddr> {
    let host = uri.host().unwrap_or_default();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let address = bare.parse::<IpAddr>().ok()?;
    (!rules.allow(&address.to_string(), address)).then_some(address)
}

/// The look-ups of a wire, filtered by the address rules of a pool. Connections use exactly these addresses.
#[derive(Clone)]
pub(super) struct GuardedResolver {
    pub(super) lookups: Arc<Lookups>,
    pub(super) rules: Arc<AddressRules>,
}

impl Service<Name> for GuardedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = CallError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, CallError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let Self { lookups, rules } = self.clone();
        Box::pin(async move {
            let found = lookups.find(name.as_str()).await?;
            passed(&rules, name.as_str(), &found).map(Vec::into_iter)
        })
    }
}

/// The addresses of a host that may be connected to.
fn passed(rules: &AddressRules, host: &str, found: &[SocketAddr]) -> Result<Vec<SocketAddr>, CallError> {
    let passed: Vec<SocketAddr> = found.iter().copied().filter(|at| rules.allow(host, at.ip())).collect();
    if passed.is_empty() { Err(CallError::ForbiddenAddress) } else { Ok(passed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_addresses_are_left_out() {
        let rules = AddressRules::default();
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let mixed = [at("127.0.0.1:0"), at("1.1.1.1:0"), at("[::1]:0")];
        assert_eq!(passed(&rules, "lender.example", &mixed), Ok(vec![at("1.1.1.1:0")]));
        let inward = [at("10.0.0.1:0"), at("[::ffff:10.0.0.1]:0")];
        assert_eq!(passed(&rules, "lender.example", &inward), Err(CallError::ForbiddenAddress));
    }
}
