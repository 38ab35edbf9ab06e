//! What an operator is told when something that they asked for could not be written.

use std::fmt::Display;

use tracing::error;

use crate::web::Failure;

/// Seconds after which it may be tried again.
const RETRY_AFTER_S: u32 = 10;

/// What the system says of a full disk.
const FULL: &str = "(os error 28)";

/// The answer, with the cause, which names nobody; the cause is logged too.
pub(super) fn unwritten(what: &str, cause: &impl Display) -> Failure {
    error!(%cause, what, "what an operator asked for could not be written");
    let mut failure = Failure::overloaded(RETRY_AFTER_S);
    let cause = cause.to_string();
    failure.errors[0].message = match cause.contains(FULL) {
        true => format!(
            "{what} was not written: the disk is full; make room on the disk of `store.path`, and do it again"
        )
        .into(),
        false => format!("{what} was not written: {cause}").into(),
    };
    failure
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_full_disk_is_told_as_that_with_what_was_not_written_and_what_to_do() {
        let told = |code| {
            let error = io::Error::from_raw_os_error(code);
            unwritten("the token", &error).errors[0].message.clone().unwrap()
        };
        let full = "the token was not written: the disk is full; make room on the disk of `store.path`, and do it again";
        assert_eq!(told(28), full);
        assert_eq!(told(5), "the token was not written: Input/output error (os error 5)");
    }
}
