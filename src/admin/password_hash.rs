//! Password hashes of users, by argon2id, on blocking threads with limited concurrency.
//!
//! A hash takes about 20 ms of a core and 19 MiB of memory, with the parameters recommended by OWASP.

use std::sync::LazyLock;

use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;

use super::password::PasswordDigest;
use super::prelude::*;

/// Concurrent hashes; more wait. The limit on failed attempts bounds their number.
const AT_ONCE: usize = 2;

const PASSWORD_BYTES: usize = 1024;

/// Hash to verify against for an unknown user, so that it takes as long.
static NOBODYS: LazyLock<Option<String>> = LazyLock::new(|| hashed("nobody has this password"));

static PERMITS: Semaphore = Semaphore::const_new(AT_ONCE);

/// Hashes a new password, as a PHC string. Fails when it is too weak or too long.
pub(super) async fn make(password: &str) -> Result<String> {
    PasswordDigest::new(password).map_err(|fault| Failure::bad_attribute("password", fault))?;
    if password.len() > PASSWORD_BYTES {
        let message = format!("must have at most {PASSWORD_BYTES} bytes, got {}", password.len());
        return Err(Failure::bad_attribute("password", message));
    }
    let password = password.to_owned();
    aside(move || hashed(&password)).await?.ok_or_else(Failure::internal)
}

/// Verifies a password against a hash. Without a hash the result is false, after the same time.
pub(super) async fn fits(hash: Option<String>, password: &str) -> Result<bool> {
    let password: Vec<u8> = password.bytes().take(PASSWORD_BYTES + 1).collect();
    aside(move || {
        let known = hash.is_some();
        let hash = hash.as_deref().or(NOBODYS.as_deref()).unwrap_or_default();
        Argon2::default().verify_password(&password, hash).is_ok() && known
    })
    .await
}

async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let failed = "a password could not be hashed";
    let permit = PERMITS.acquire().await.map_err(our_fault(failed))?;
    let work = move || {
        // Held until the work ends, even if its caller has left.
        let _permit = permit;
        work()
    };
    tokio::task::spawn_blocking(work).await.map_err(our_fault(failed))
}

fn hashed(password: &str) -> Option<String> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    Some(hash.inspect_err(|error| error!(%error, "a password could not be hashed")).ok()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_known_by_its_hash_alone() {
        let hash = make("correct horse battery").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hash, make("correct horse battery").await.unwrap(), "each has a salt of its own");
        assert!(fits(Some(hash.clone()), "correct horse battery").await.unwrap());
        assert!(!fits(Some(hash), "correct horse batterz").await.unwrap());
        assert!(!fits(None, "nobody has this password").await.unwrap());
        assert!(make("short").await.is_err() && make(&"x".repeat(2000)).await.is_err());
    }
}
