//! Name resolution that drops forbidden addresses.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower_service::Service;

use super::address::AddressRules;
use super::error::CallError;

/// The system's resolver, filtered by the address rules. Connections use exactly these addresses.
#[derive(Debug, Clone)]
pub(super) struct GuardedResolver {
    system: GaiResolver,
    rules: Arc<AddressRules>,
}

impl GuardedResolver {
    pub(super) fn new(rules: Arc<AddressRules>) -> Self {
        Self { system: GaiResolver::new(), rules }
    }
}

impl Service<Name> for GuardedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = CallError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, CallError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let rules = Arc::clone(&self.rules);
        let host = name.as_str().to_owned();
        let resolving = self.system.call(name);
        Box::pin(async move {
            let found = resolving.await.map_err(|_| CallError::Unresolved)?;
            passed(&rules, &host, found).map(Vec::into_iter)
        })
    }
}

fn passed(
    rules: &AddressRules,
    host: &str,
    found: impl Iterator<Item = SocketAddr>,
) -> Result<Vec<SocketAddr>, CallError> {
    let found: Vec<SocketAddr> = found.collect();
    if found.is_empty() {
        return Err(CallError::Unresolved);
    }
    let passed: Vec<SocketAddr> = found.into_iter().filter(|at| rules.allow(host, at.ip())).collect();
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
        assert_eq!(passed(&rules, "lender.example", mixed.into_iter()), Ok(vec![at("1.1.1.1:0")]));
        let inward = [at("10.0.0.1:0"), at("[::ffff:10.0.0.1]:0")];
        assert_eq!(passed(&rules, "lender.example", inward.into_iter()), Err(CallError::ForbiddenAddress));
        assert_eq!(passed(&rules, "lender.example", std::iter::empty()), Err(CallError::Unresolved));
    }
}
