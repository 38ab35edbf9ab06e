//! What becomes of a store that was cut, when it is checked and started.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::acknowledged::{Acknowledged, Missing};
use super::shim::Shim;
use super::subject::Subject;

/// How far ahead the clock of a daemon is that is asked what it has kept: its feeds hold an hour back.
pub const AHEAD: Duration = Duration::from_secs(7_200);

/// What was found.
#[derive(Debug)]
pub struct Verdict {
    /// Leads that were acknowledged before the cut.
    pub acknowledged: usize,
    /// What `offerd store check` made of it: sound leads, or what it said.
    pub checked: Result<usize, String>,
    /// How long a start took, or what was said instead.
    pub opened: Result<Duration, String>,
    pub missing: Missing,
}

impl Verdict {
    /// Checks a copy of a store and starts another one. The state below `checked` and `started` is the same.
    pub async fn of(
        subject: &Subject,
        checked: &Path,
        started: &Path,
        acknowledged: &Acknowledged,
        shim: Option<&Shim>,
    ) -> Self {
        let (home, leads) = (started.with_extension("home"), acknowledged.leads().len());
        let checked = {
            let subject = subject.elsewhere(&home, checked);
            tokio::task::spawn_blocking(move || check(&subject)).await.unwrap()
        };
        let begun = Instant::now();
        let subject = subject.elsewhere(&home, started);
        let shim = shim.cloned();
        let dress = move |command: &mut Command| {
            if let Some(shim) = shim {
                shim.ahead(command, AHEAD);
            }
        };
        let daemon = tokio::task::spawn_blocking(move || subject.start(dress)).await.unwrap();
        let (opened, missing) = match daemon {
            Err(not_ready) => (Err(last_line(&not_ready.said, not_ready.status)), Missing::default()),
            Ok(daemon) => (Ok(begun.elapsed()), acknowledged.missing_in(&daemon).await),
        };
        Self { acknowledged: leads, checked, opened, missing }
    }

    /// Whether every promise was kept.
    pub fn is_kept(&self) -> bool {
        self.checked.as_ref().is_ok_and(|sound| *sound >= self.acknowledged)
            && self.opened.is_ok()
            && self.missing.is_nothing()
    }
}

/// The sound leads of a whole store that nobody has open, or why it is not whole.
fn check(subject: &Subject) -> Result<usize, String> {
    let output = subject.run(&["store", "check"]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // A cut while a store was being made.
    if text(&output.stderr).contains("there is no store at") {
        return Ok(0);
    }
    if !output.status.success() {
        let last = last_line(&(text(&output.stdout) + &text(&output.stderr)), Some(output.status));
        return Err(format!("{last}; it has told: {}{}", text(&output.stdout), text(&output.stderr)));
    }
    let told = text(&output.stdout);
    leads(&told).ok_or_else(|| format!("no table `tree SOUND BROKEN` in: {told}"))
}

/// The sound leads that a check counted. A tree without records has no line.
pub fn leads(told: &str) -> Option<usize> {
    let mut trees = told.lines().map(str::trim).skip_while(|line| !line.starts_with("tree "));
    trees.next()?;
    let Some(counts) = trees.find_map(|line| line.strip_prefix("leads ")) else { return Some(0) };
    counts.split_whitespace().next()?.parse().ok()
}

fn last_line(said: &str, status: Option<std::process::ExitStatus>) -> String {
    let panicked = said.lines().find(|line| line.contains("panicked"));
    let line = panicked.or(said.lines().rfind(|line| !line.trim().is_empty())).unwrap_or("it said nothing");
    let ended = status.map_or_else(|| "it hung".to_owned(), |status| status.to_string());
    format!("{ended}: {}", line.trim())
}
