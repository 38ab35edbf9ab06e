//! `offerd partners cases [KEY]`: tests the mappings of partners against their case files.

use super::known;
use crate::cli::prelude::*;
use offerd_partners::case::CaseFile;

/// `partners cases`.
#[derive(Debug, Args)]
pub struct CasesArguments {
    /// Only the cases of this partner, by its file name
    #[arg(value_name = "KEY")]
    partner: Option<String>,
    /// Directory of case files, `KEY/CASE.json`
    #[arg(long, value_name = "DIR", default_value = "tests/partners")]
    cases: PathBuf,
    /// Directory of the leads that cases name; default: `leads` beside the directory of cases
    #[arg(long, value_name = "DIR")]
    leads: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Result of a case.
#[derive(Serialize)]
struct CaseResult {
    partner: String,
    case: String,
    passed: bool,
    differences: Vec<String>,
}

/// Runs the cases, and shows their differences. The error counts the failed cases, or says why there are none.
pub fn run(book: &Book, arguments: &CasesArguments) -> Result<(), String> {
    arguments.partner.as_ref().map_or(Ok(()), |key| known(book, key))?;
    let files = CaseFile::all(&arguments.cases, arguments.partner.as_deref())
        .map_err(|fault| format!("{fault}; `--cases` says where the cases are, files `KEY/CASE.json` as offerd-partner(5) describes"))?;
    if files.is_empty() {
        let whose = arguments.partner.as_ref().map_or_else(String::new, |key| format!(" of `{key}`"));
        let (cases, key) = (arguments.cases.display(), arguments.partner.as_deref().unwrap_or("KEY"));
        return Err(format!(
            "{cases} has no cases{whose}; write one as {cases}/{key}/CASE.json, with a lead, the partner's \
             `response` and what to `expect`: see offerd-partner(5)"
        ));
    }
    let leads = arguments.leads.clone().unwrap_or_else(|| arguments.cases.with_file_name("leads"));
    let ran: Vec<CaseResult> = files
        .into_iter()
        .map(|file| {
            let differences = file.differences(book, &leads);
            CaseResult { passed: differences.is_empty(), partner: file.partner, case: file.name, differences }
        })
        .collect();
    page::show(&ran, arguments.json, || ran.iter().for_each(show))?;
    let (failed, of) = (ran.iter().filter(|one| !one.passed).count(), page::counted(ran.len(), "case"));
    match failed {
        0 if arguments.json => Ok(()),
        0 => {
            page::print(format_args!("{of}, all as expected"));
            Ok(())
        }
        failed => Err(format!("{failed} of {of} failed")),
    }
}

fn show(ran: &CaseResult) {
    let mark = if ran.passed { "ok  " } else { "FAIL" };
    page::print(format_args!("{mark} {}/{}", ran.partner, ran.case));
    for line in ran.differences.iter().flat_map(|difference| difference.lines()) {
        page::print(format_args!("       {line}"));
    }
}
