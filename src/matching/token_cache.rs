//! A token that many need and one fetches.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::partners::http::auth::BearerToken;

/// How long before its end a token is fetched anew.
const MARGIN: Duration = Duration::from_secs(30);

/// The token of a partner's authorization server, until it expires.
#[derive(Debug)]
pub struct TokenCache {
    kept: Mutex<Option<(BearerToken, Instant)>>,
    /// Whose turn it is to fetch.
    turn: Semaphore,
}

impl Default for TokenCache {
    fn default() -> Self {
        Self { kept: Mutex::default(), turn: Semaphore::new(1) }
    }
}

impl TokenCache {
    /// The token: the kept one, or one that is fetched now; who comes meanwhile waits for that one.
    ///
    /// # Errors
    /// Those of `fetch`.
    pub async fn get<E>(
        &self,
        fetch: impl Future<Output = Result<BearerToken, E>>,
    ) -> Result<BearerToken, E> {
        if let Some(token) = self.kept() {
            return Ok(token);
        }
        // The semaphore is never closed.
        let _turn = self.turn.acquire().await;
        if let Some(token) = self.kept() {
            return Ok(token);
        }
        let token = fetch.await?;
        let until = Instant::now() + token.life.saturating_sub(MARGIN);
        *self.kept.lock() = Some((token.clone(), until));
        Ok(token)
    }

    /// Forgets a token that was not taken, so that the next is fetched.
    pub fn forget(&self, refused: &BearerToken) {
        let mut kept = self.kept.lock();
        if kept.as_ref().is_some_and(|(token, _)| token == refused) {
            *kept = None;
        }
    }

    fn kept(&self) -> Option<BearerToken> {
        let kept = self.kept.lock();
        kept.as_ref().filter(|(_, until)| Instant::now() < *until).map(|(token, _)| token.clone())
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
