//! The first start: a test company with a token of each kind, told once, and how to go on.

use crate::model::TokenKind;
use crate::run_file::RunFile;
use crate::store::CommitError;
use crate::store::tokens::{NewToken, Tokens};

/// Name of the company that a first start makes.
const COMPANY: &str = "Sandbox";

/// A lead that the sample catalogue has offers for.
const SAMPLE_LEAD: &str = r#"{"productTypes":["loan"],"personalInformation":{"state":"WA"},
         "loanInformation":{"purpose":"debt_consolidation","loanAmount":10000},
         "creditInformation":{"providedCreditRating":"good"}}"#;

/// Makes the first tokens and tells, on standard output, what to do with them.
///
/// # Errors
/// What the store said.
pub async fn welcome(tokens: &Tokens, daemon: &RunFile) -> Result<(), CommitError> {
    let new =
        |kind| NewToken { company: COMPANY.to_owned(), kind, test: true, duplicate_look_back_minutes: None };
    let (publishable, _) = tokens.create(new(TokenKind::Publishable)).await?;
    let (confidential, _) = tokens.create(new(TokenKind::Confidential)).await?;
    let RunFile { api, integrations, admin, .. } = daemon;
    // As it was called, so that the line works when pasted.
    let program = std::env::args().next().unwrap_or_else(|| "offerd".to_owned());
    println!(
        "\
offerd runs for the first time, so here are two test tokens of the company `{COMPANY}`.
They are kept as hashes and shown only now.

  publishable   {publishable}
  confidential  {confidential}

Post a lead and read its rate table:

  curl -s {api}/leads/rateTables \\
    -H 'Authorization: Bearer {publishable}' \\
    -H 'Content-Type: application/json' \\
    -d '{SAMPLE_LEAD}'

or let the command line do it, with a live view of the partners answering:

  export OFFERD_TOKEN={confidential}
  {program} lead submit tests/leads/personal_loan.json

or try it in a browser, on a page that shows the offers arriving:

  {api}/demo#{publishable}

  docs          {api}/docs
  blocking      {integrations}/blocking/leads/rateTables
  console       {admin}/console
"
    );
    Ok(())
}
