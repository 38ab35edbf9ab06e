//! The first start: creates and prints a test company with a token of each kind and the console's secret.

use std::io::{self, Write};
use std::path::PathBuf;

use offerd_base::run_file::RunFile;
use offerd_model::TokenKind;
use offerd_store::CommitError;
use offerd_store::tokens::{NewToken, Tokens};

/// The name of the company that a first start creates.
const COMPANY: &str = "Sandbox";

/// A lead for which the sample catalog has offers.
const SAMPLE_LEAD: &str = r#"{"productTypes":["loan","credit_card","savings"],"personalInformation":{"state":"WA"},
         "loanInformation":{"purpose":"debt_consolidation","loanAmount":10000},
         "creditInformation":{"providedCreditRating":"good"}}"#;

/// The operator's first access to the console.
pub struct FirstSignIn {
    /// The console's secret, just created.
    pub secret: String,
    /// A link that signs in once.
    pub link: String,
}

/// Creates the first tokens and prints them, with the next steps, to standard output; returns whether it did.
/// Of processes that start on one store at the same time, only one creates them.
///
/// # Errors
/// The error of the store.
pub async fn welcome(
    tokens: &Tokens,
    daemon: &RunFile,
    sign_in: Option<&FirstSignIn>,
) -> Result<bool, CommitError> {
    let new =
        |kind| NewToken { company: COMPANY.to_owned(), kind, test: true, duplicate_look_back_minutes: None };
    let publishable = match tokens.create_first(new(TokenKind::Publishable)).await {
        Ok((publishable, _)) => publishable,
        Err(CommitError::Guard { .. }) => return Ok(false),
        Err(failure) => return Err(failure),
    };
    let (confidential, _) = tokens.create(new(TokenKind::Confidential)).await?;
    let welcome = format!(
        include_str!("bootstrap/welcome.txt"),
        company = COMPANY,
        lead = SAMPLE_LEAD,
        publishable = publishable,
        confidential = confidential,
        program = program(),
        api = daemon.api,
        integrations = daemon.integrations,
        admin = daemon.admin
    );
    say(&format!("{welcome}\n{}", sign_in.map(of_operators).unwrap_or_default()));
    Ok(true)
}

/// Prints only the console's secret, for a store that was first started by a version without one.
pub fn show_secret(daemon: &RunFile, sign_in: &FirstSignIn) {
    let (admin, sign_in) = (&daemon.admin, of_operators(sign_in));
    say(&format!("  console       {admin}/console\n\n{sign_in}"));
}

fn of_operators(FirstSignIn { secret, link }: &FirstSignIn) -> String {
    format!(include_str!("bootstrap/sign_in.txt"), program = program(), secret = secret, link = link) + "\n"
}

/// The program as it was invoked, so that a printed line works when pasted, in any directory.
fn program() -> String {
    let name = PathBuf::from(std::env::args_os().next().unwrap_or_else(|| "offerd".into()));
    let is_path = name.components().count() > 1;
    let name = if is_path { std::path::absolute(&name).unwrap_or(name) } else { name };
    name.display().to_string()
}

/// Prints everything at once. It is no error if the reader closes the pipe early.
fn say(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_store::Store;

    #[tokio::test]
    async fn of_two_first_starts_one_makes_tokens() {
        let directory = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(Store::open_inline(directory.path()).unwrap());
        let nowhere = String::new;
        let daemon = RunFile {
            api: nowhere(),
            integrations: nowhere(),
            admin: nowhere(),
            admin_key: nowhere(),
            settings_files: None,
        };
        assert_eq!(welcome(&tokens, &daemon, None).await, Ok(true));
        assert_eq!(welcome(&tokens, &daemon, None).await, Ok(false));
        assert_eq!(tokens.list().unwrap().len(), 2);
    }
}
