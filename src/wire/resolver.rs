//! Name resolution that drops forbidden addresses.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::address::AddressRules;
use super::error::CallError;
use super::lookups::Lookups;

/// The look-ups of a wire, filtered by the address rules of a pool. Connections use exactly these addresses.
#[derive(Clone)]
pub(super) struct GuardedResolver {
    pub(super) lookups: Arc<Lookups>,
    pub(super) rules: Arc<AddressRules>,
}

impl GuardedResolver {
    pub(super) fn new(lookups: Arc<Lookups>, rules: Arc<AddressRules>) -> Self {
        Self { lookups, rules }
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
