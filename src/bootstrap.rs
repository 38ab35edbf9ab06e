//! The first start: a test company with a token of each kind and the console's secret, told once, and how to go on.

use std::io::{self, Write};

use offerd_base::run_file::RunFile;
use offerd_model::TokenKind;
use offerd_store::CommitError;
use offerd_store::tokens::{NewToken, Tokens};

/// Name of the company that a first start makes.
const COMPANY: &str = "Sandbox";

/// A lead that the sample catalogue has offers for.
const SAMPLE_LEAD: &str = r#"{"productTypes":["loan"],"personalInformation":{"state":"WA"},
         "loanInformation":{"purpose":"debt_consolidation","loanAmount":10000},
         "creditInformation":{"providedCreditRating":"good"}}"#;

/// How an operator gets in to the console for the first time.
pub struct SignIn {
    /// The console's secret, which was just made.
    pub secret: String,
    /// A link that signs in once.
    pub link: String,
}

/// Makes the first tokens and tells, on standard output, what to do with them; whether it has. Of processes that begin at one time on
/// one store one makes them.
///
/// # Errors
/// What the store said.
pub async fn welcome(
    tokens: &Tokens,
    daemon: &RunFile,
    sign_in: Option<&SignIn>,
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

/// Tells the console's secret alone: of a store that had its first start before there was one.
pub fn show_secret(daemon: &RunFile, sign_in: &SignIn) {
    let (admin, sign_in) = (&daemon.admin, of_operators(sign_in));
    say(&format!("  console       {admin}/console\n\n{sign_in}"));
}

fn of_operators(SignIn { secret, link }: &SignIn) -> String {
    format!(include_str!("bootstrap/sign_in.txt"), program = program(), secret = secret, link = link) + "\n"
}

/// As it was called, so that a line works when pasted.
fn program() -> String {
    std::env::args_os().next().map_or_else(|| "offerd".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Says all of it at once. Whoever reads the first lines and goes away is no reason to fail.
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
