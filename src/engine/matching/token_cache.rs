//! A shared token: many callers need it, one fetches it.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use offerd_partners::http::auth::BearerToken;

/// How long before its expiry a token is refreshed, at most.
const MARGIN_MAX: Duration = Duration::from_secs(30);

const MARGIN_OF: u32 = 2;

/// The token of a partner's authorization server, until it expires.
#[derive(Debug)]
pub struct TokenCache {
    kept: Mutex<Option<CachedToken>>,
    turn: Semaphore,
}

#[derive(Debug)]
struct CachedToken {
    token: BearerToken,
    since: Instant,
    until: Instant,
}

impl Default for TokenCache {
    fn default() -> Self {
        Self { kept: Mutex::default(), turn: Semaphore::new(1) }
    }
}

impl TokenCache {
    /// The cached token, or the one of `fetch`; concurrent callers share one fetch.
    pub async fn get<E>(
        &self,
        fetch: impl Future<Output = Result<BearerToken, E>>,
    ) -> Result<BearerToken, E> {
        let came = Instant::now();
        if let Some(token) = self.kept(came) {
            return Ok(token);
        }
        // The semaphore is never closed.
        let _turn = self.turn.acquire().await;
        if let Some(token) = self.kept(came) {
            return Ok(token);
        }
        let asked = Instant::now();
        let token = fetch.await?;
        let since = Instant::now();
        let until = asked + token.life.saturating_sub(MARGIN_MAX.min(token.life / MARGIN_OF));
        *self.kept.lock() = Some(CachedToken { token: token.clone(), since, until });
        Ok(token)
    }

    /// Drops a rejected token, so that the next call fetches one.
    pub fn forget(&self, refused: &BearerToken) {
        let mut kept = self.kept.lock();
        if kept.as_ref().is_some_and(|kept| kept.token == *refused) {
            *kept = None;
        }
    }

    /// The token, if it is valid, or if it was fetched after the caller `came`, however short-lived.
    fn kept(&self, came: Instant) -> Option<BearerToken> {
        let kept = self.kept.lock();
        let kept = kept.as_ref().filter(|kept| Instant::now() < kept.until || came <= kept.since);
        kept.map(|kept| kept.token.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use hyper::StatusCode;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_token_is_fetched_by_one_and_again_when_it_has_expired() {
        let (cache, fetched) = (TokenCache::default(), AtomicUsize::new(0));
        let get = || {
            cache.get(async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                fetched.fetch_add(1, Ordering::Relaxed);
                BearerToken::read(StatusCode::OK, br#"{"access_token":"t","expires_in":60}"#)
            })
        };
        assert!(join_all((0..5).map(|_| get())).await.iter().all(Result::is_ok));
        assert_eq!(fetched.load(Ordering::Relaxed), 1);
        tokio::time::advance(Duration::from_secs(31)).await;
        assert!(get().await.is_ok());
        assert_eq!(fetched.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_lives_shortly_is_kept_for_half_its_life_and_shared_by_those_who_wait() {
        for (life, fetched_again) in [(0, 2), (10, 1)] {
            let (cache, fetched) = (TokenCache::default(), AtomicUsize::new(0));
            let get = || {
                cache.get(async {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    fetched.fetch_add(1, Ordering::Relaxed);
                    let body = format!(r#"{{"access_token":"t","expires_in":"{life}"}}"#);
                    BearerToken::read(StatusCode::OK, body.as_bytes())
                })
            };
            assert!(join_all((0..5).map(|_| get())).await.iter().all(Result::is_ok));
            assert_eq!(fetched.load(Ordering::Relaxed), 1, "{life}");
            tokio::time::advance(Duration::from_secs(2)).await;
            assert!(get().await.is_ok());
            assert_eq!(fetched.load(Ordering::Relaxed), fetched_again, "{life}");
        }
    }

    #[tokio::test]
    async fn one_that_lives_longer_than_clocks_count_is_kept_for_a_while() {
        for life in ["9223372036854775807", "1e19", "1e300", "-1"] {
            let body = format!(r#"{{"access_token":"t","expires_in":{life}}}"#);
            let token = BearerToken::read(StatusCode::OK, body.as_bytes());
            assert!(TokenCache::default().get(async { token }).await.is_ok(), "{life}");
        }
    }

    #[tokio::test]
    async fn a_token_that_was_refused_is_forgotten_and_no_other() {
        let cache = TokenCache::default();
        let token = |body: &'static str| async move { BearerToken::read(StatusCode::OK, body.as_bytes()) };
        let first = cache.get(token(r#"{"access_token":"a"}"#)).await.unwrap();
        cache.forget(&first);
        let second = cache.get(token(r#"{"access_token":"b"}"#)).await.unwrap();
        cache.forget(&first);
        assert!(cache.get(token(r#"{"access_token":"c"}"#)).await.is_ok_and(|kept| kept == second));
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let cache = TokenCache::default();
        assert!(cache.get(async { BearerToken::read(StatusCode::BAD_REQUEST, b"") }).await.is_err());
        let good = async { BearerToken::read(StatusCode::OK, br#"{"access_token":"t"}"#) };
        assert!(cache.get(good).await.is_ok());
    }
}
