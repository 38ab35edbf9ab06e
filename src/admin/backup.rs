//! `GET /backup` for `offerd backup`. Streams the file in chunks.
//!
//! One backup runs at a time, on a blocking thread; it ends when the client disconnects.

use std::io;

use bytes::Bytes;

use super::audit::operator;
use super::prelude::*;
use offerd_engine::records::projection::Steps;
use offerd_outbound::alerts;
use offerd_store::backup::{Backup, BackupError};

const RETRY_AFTER_S: u32 = 10;

type RunningBackup = (Backup, Steps, Arc<str>, Arc<AdminState>);

pub(super) async fn backup(context: Context) -> Result<Reply> {
    let who: Arc<str> = operator(&context.request.headers).into();
    let backup = context.app.store.backup().map_err(|refused| match refused {
        BackupError::UnderWay => Failure::overloaded(RETRY_AFTER_S),
        BackupError::InDatabase => Failure::bad_request(BackupError::InDatabase.to_string()),
        error => our_fault("a backup could not start")(error),
    })?;
    context.app.note_if_can(&by(&context), note!("backup")).await;
    log_action("backup.begin", &who, "backup of the whole store begun");
    let under_way = (backup, Steps::new(context.app.yields_to_leads), who, context.app);
    let pieces = stream::unfold(Some(under_way), |under_way| async { go_on(under_way?).await });
    Ok(Reply::stream("application/octet-stream", pieces))
}

async fn go_on(
    (mut backup, mut steps, who, app): RunningBackup,
) -> Option<(io::Result<Bytes>, Option<RunningBackup>)> {
    let stepped = steps.take(move || backup.step().map(|piece| (piece, backup))).await;
    match stepped.map_err(io::Error::other).and_then(|stepped| stepped.map_err(io::Error::other)) {
        Ok((Some(piece), backup)) => Some((Ok(Bytes::from(piece)), Some((backup, steps, who, app)))),
        Ok((None, backup)) => {
            log_action("backup.take", &who, "backup of the whole store taken");
            if let Err(failure) = alerts::note_backup(&app.store, &who, backup.missed()).await {
                error!(%failure, "a backup could not be recorded");
            }
            None
        }
        Err(error) => {
            error!(%error, "a backup failed");
            Some((Err(error), None))
        }
    }
}

/// Logs who took or made a whole store.
pub fn log_action(action: &'static str, who: &str, what: &'static str) {
    audit_by!(who, action, "{what}");
}
