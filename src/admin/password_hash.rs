//! The passwords of users: hashed and compared with argon2id, on threads that may block, few at a time.
//!
//! One takes some 20 ms of a core and 19 MiB of memory, by the parameters that OWASP recommends, which stand in each hash.

use std::sync::LazyLock;

use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;

use super::password::Password;
use super::prelude::*;

/// Passwords that are hashed at once; more wait. How many wait is bounded by how many attempts may fail.
const AT_ONCE: usize = 2;

/// Longest password, bytes.
const PASSWORD_BYTES: usize = 1024;

/// What a password is compared with that is of no user, so that it takes as long as if it were.
static NOBODYS: LazyLock<Option<String>> = LazyLock::new(|| hashed("nobody has this password"));

/// One permit for each that is hashed.
static PERMITS: Semaphore = Semaphore::const_new(AT_ONCE);

/// The hash of a new password, as a PHC string.
///
/// # Errors
/// Why it is too easily guessed, or too long.
pub(super) async fn make(password: &str) -> Result<String, Failure> {
    Password::new(password).map_err(|fault| Failure::bad_attribute("password", fault))?;
    if password.len() > PASSWORD_BYTES {
        let message = format!("must have at most {PASSWORD_BYTES} bytes, got {}", password.len());
        return Err(Failure::bad_attribute("password", message));
    }
    let password = password.to_owned();
    let made = aside(move || hashed(&password)).await?;
    made.ok_or_else(Failure::internal)
}

/// Whether a password is the one of a hash. Without a hash it is not, and takes as long.
///
/// # Errors
/// Our fault: it could not be compared.
pub(super) async fn fits(hash: Option<String>, password: &str) -> Result<bool, Failure> {
    let password: Vec<u8> = password.bytes().take(PASSWORD_BYTES + 1).collect();
    aside(move || {
        let known = hash.is_some();
        let hash = hash.as_deref().or(NOBODYS.as_deref()).unwrap_or_default();
        Argon2::default().verify_password(&password, hash).is_ok() && known
    })
    .await
}

async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let failed = "a password could not be hashed";
    let permit = PERMITS.acquire().await.map_err(our_fault(failed))?;
    let work = move || {
        // Held until the work is done, also where nobody waits for it any more.
        let _permit = permit;
        work()
    };
    tokio::task::spawn_blocking(work).await.map_err(our_fault(failed))
}

fn hashed(password: &str) -> Option<String> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.inspect_err(|error| error!(%error, "a password could not be hashed"))
        .ok()
        .map(|hash| hash.to_string())
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
