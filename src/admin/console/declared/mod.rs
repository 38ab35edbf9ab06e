//! `GET`, `POST /console/settings/{kind}`: makes, changes and switches postbacks, experiments, rankings and
//! alert receivers. The file stays the truth: this writes it and reloads.

mod diff;
mod draft;
mod kind;

use self::draft::Draft;
use self::kind::Kind;
use super::super::reload::reload_files;
use super::prelude::*;
use crate::command::{blocking, seen_through};
use crate::reload_report::ReloadOutcome;
use offerd_base::config::has_password;
use offerd_base::declaration::FileEdit;

/// The result of a form: nothing yet for a draft.
#[derive(Default)]
struct Attempt {
    faults: Vec<String>,
    /// What changes, or has changed.
    changes: Option<Vec<String>>,
    remarks: Vec<String>,
    /// Whether the file is not as it was shown.
    stale: bool,
    saved: bool,
    /// Why the file could not be written.
    unwritten: Option<String>,
}

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    let kind = Kind::named(&request.params)?;
    let (entry, change) = (request.query_value("entry"), request.query_value("do").unwrap_or_default());
    let (entry, change) = (entry.map(str::to_owned), change.to_owned());
    let draft = request.reading(move |app| Draft::begin(app, kind, entry.as_deref(), &change)).await??;
    page(request, draft, Attempt::default()).await
}

pub(super) async fn act(request: &ConsoleRequest) -> Result<View> {
    let kind = Kind::named(&request.params)?;
    let given = |name| request.field(name).unwrap_or_default().to_owned();
    // Browsers end the lines of a form with both.
    let (entry, text, seen) = (given("entry"), given("text").replace("\r\n", "\n"), given("digest"));
    let draft = request.reading(move |app| Draft::given(app, kind, &entry, text)).await??;
    let attempt = attempt(request, &draft, &seen, request.field("do") == Some("save")).await?;
    let draft = if attempt.saved { draft.written() } else { draft };
    page(request, draft, attempt).await
}

async fn attempt(request: &ConsoleRequest, draft: &Draft, seen: &str, saves: bool) -> Result<Attempt> {
    let edit = match draft.edit() {
        Ok(edit) => edit,
        Err(faults) => return Ok(Attempt { faults, ..Attempt::default() }),
    };
    let tried = request.app.reloader.try_with(edit.clone()).await.ok_or_else(|| Failure::overloaded(1))?;
    let attempt = Attempt { stale: seen != draft.digest(), ..Attempt::of(&tried) };
    if attempt.stale || !saves || attempt.changes.is_none() {
        return Ok(attempt);
    }
    let (actor, before) = (request.actor(), draft.before.clone());
    let about = format!("{}, {}: {}", edit.file.display(), draft.kind.name, tried.summary());
    seen_through(&request.app, "settings could not be saved", |app| save(app, actor, edit, before, about))
        .await
}

/// Saves a file, as one of the console's at a time.
async fn save(
    app: Arc<AdminState>,
    actor: AuditActor,
    edit: FileEdit,
    before: Option<String>,
    about: String,
) -> Result<Attempt> {
    let _one_at_a_time = app.console.edits.acquire().await.map_err(our_fault("settings cannot be saved"))?;
    let reloading = async {
        app.note(&actor, note!("settings.change", about, "settings changed").about(&about)).await?;
        reload_files(&app, &actor).await
    };
    let attempt = take_in(edit, before, reloading).await?;
    if !attempt.faults.is_empty() {
        // What is in force is what the files have again.
        reload_files(&app, &actor).await?;
    }
    Ok(attempt)
}

/// Writes a file and reloads; a reload that is refused puts the old file back.
async fn take_in(
    edit: FileEdit,
    before: Option<String>,
    reloading: impl Future<Output = Result<ReloadOutcome>>,
) -> Result<Attempt> {
    let old = FileEdit { text: before, ..edit.clone() };
    let expected = old.clone();
    let write = move || match expected.is_in_place()? {
        true => edit.write().map(|()| true),
        false => Ok(false),
    };
    match blocking("a settings file could not be written", write).await? {
        Ok(true) => {}
        Ok(false) => return Ok(Attempt { stale: true, ..Attempt::default() }),
        Err(error) => return Ok(Attempt { unwritten: Some(error.to_string()), ..Attempt::default() }),
    }
    let outcome = reloading.await;
    if let Ok(outcome @ ReloadOutcome::Reloaded(_)) = &outcome {
        return Ok(Attempt { saved: true, ..Attempt::of(outcome) });
    }
    let put_back = blocking("a settings file could not be put back", move || old.write()).await?;
    let left = put_back.err().map(|error| format!("The old file could not be put back: {error}"));
    let attempt = Attempt::of(&outcome?);
    Ok(Attempt { faults: attempt.faults.into_iter().chain(left).collect(), ..attempt })
}

impl Attempt {
    fn of(outcome: &ReloadOutcome) -> Self {
        match outcome {
            ReloadOutcome::Reloaded(report) => {
                let (changes, remarks) = (Some(report.changes()), report.remarks.clone());
                Self { changes, remarks, ..Self::default() }
            }
            ReloadOutcome::Refused { faults } => {
                Self { faults: faults.iter().map(ToString::to_string).collect(), ..Self::default() }
            }
            ReloadOutcome::Failed { cause } => Self { faults: vec![cause.clone()], ..Self::default() },
        }
    }
}

async fn page(request: &ConsoleRequest, draft: Draft, attempt: Attempt) -> Result<View> {
    let kind = draft.kind;
    let entries = request.reading(move |app| kind.entries(app)).await?;
    let Attempt { faults, changes, remarks, stale, saved, unwritten } = attempt;
    let edited = draft.edit().ok().map(|edit| edit.text.unwrap_or_default());
    let before = draft.before.as_deref().unwrap_or_default();
    let difference = edited.as_deref().map(|after| diff::lines(before, after)).unwrap_or_default();
    let to_save = edited.filter(|_| unwritten.is_some());
    let is_secret = to_save.as_deref().is_some_and(has_password);
    let fields = fields! {
        kind => kind.name, title => kind.title(), back => kind.section_path, one => kind.one,
        is_directory => kind.is_directory(), off => kind.off, entries,
        entry => draft.entry, is_new => draft.entry.is_none() || draft.before.is_none(),
        file => draft.file.as_ref().map(|file| file.display().to_string()),
        text => draft.text, digest => draft.digest(), difference, faults, changes, remarks, stale, saved,
        unwritten, is_secret, to_save => to_save.filter(|_| !is_secret),
    };
    let page = ConsolePage::new(kind.section, "declared.html");
    Ok(request.view(page, fields)?.titled(kind.title()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use offerd_base::declaration::Fault;
    use std::fs;

    #[tokio::test]
    async fn a_reload_that_is_refused_or_not_recorded_puts_the_old_file_back() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("offerd.toml");
        fs::write(&file, "old").unwrap();
        let save = async |before: &str, outcome: Result<ReloadOutcome>| {
            let edit = FileEdit { file: file.clone(), text: Some("new".to_owned()) };
            let before = Some(before.to_owned());
            take_in(edit, before, async {
                assert_eq!(fs::read_to_string(&file).unwrap(), "new", "it is there when it is read");
                outcome
            })
            .await
        };
        let refused = ReloadOutcome::Refused { faults: vec![Fault::new(None, "a.b", "is wrong")] };
        let told = save("old", Ok(refused)).await.unwrap();
        assert!(!told.saved && told.faults[0].contains("is wrong"), "{:?}", told.faults);
        assert!(save("old", Err(Failure::overloaded(1))).await.is_err());
        assert!(save("older", Err(Failure::overloaded(1))).await.unwrap().stale);
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    }
}
