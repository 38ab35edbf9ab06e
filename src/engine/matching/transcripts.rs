//! Records transcripts for partners whose file asks for it, and writes them in the background.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use hyper::{HeaderMap, Method};
use metrics::counter;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::warn;
use uuid::Uuid;

use super::ask_error::AskError;
use super::question::LeadQuestion;
use crate::rate_table::record::TableHead;
use crate::rate_table::transcript::{CallEnd, CallInitiator, HttpMessage, TranscribedCall, Transcript};
use crate::records::transcripts;
use offerd_base::config::TranscriptSettings;
use offerd_base::telemetry::metrics::TRANSCRIPTS;
use offerd_partners::http::withheld::{SecretRedaction, kept_headers};
use offerd_partners::http::{AskProgress, HttpPartner, HttpRequest};
use offerd_store::{Commit, CommitError, Store};
use offerd_wire::CallReply;

const CALLS_MAX: usize = 256;

/// Size limit of an ask's calls together, as a multiple of `transcripts.call_bytes`.
const ASK_SHARE: usize = 8;

/// Bytes beyond the kept part of a body that are searched for secrets, so that none is kept in part.
const SLACK: usize = 8 * 1024;

/// Longest wait for the disk at shutdown.
const PATIENCE: Duration = Duration::from_secs(1);

const URL_BYTES: usize = 4096;

/// Writes transcripts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Transcripts {
    store: Store,
    pending: Arc<watch::Sender<usize>>,
}

/// The calls of one ask. Written on drop, even on a panic.
pub struct Recorder {
    transcripts: Transcripts,
    lead: Uuid,
    place: (Uuid, u16),
    settings: TranscriptSettings,
    withheld: SecretRedaction,
    drafts: Vec<DraftCall>,
    left_out: u32,
    room: usize,
}

/// A call with its secrets still in it, and the kept length of its bodies.
struct DraftCall {
    call: TranscribedCall,
    limits: [usize; 2],
}

impl Transcripts {
    /// Transcripts in a store.
    pub fn of(store: Store) -> Self {
        Self { store, pending: Arc::new(watch::channel(0).0) }
    }

    /// A recorder for an ask of a seat about a lead.
    pub fn record(
        &self,
        head: &TableHead,
        seat: u16,
        http: &HttpPartner,
        settings: TranscriptSettings,
    ) -> Recorder {
        Recorder {
            transcripts: self.clone(),
            lead: head.lead,
            place: (head.uuid, seat),
            settings,
            withheld: http.withheld(),
            drafts: Vec::new(),
            left_out: 0,
            room: settings.call_bytes.saturating_mul(ASK_SHARE),
        }
    }

    /// Waits for the writes in flight, unless the disk takes too long.
    pub async fn finish_writes(&self) {
        let mut pending = self.pending.subscribe();
        let _ = timeout(PATIENCE, pending.wait_for(|pending| *pending == 0)).await;
    }

    async fn write(&self, commit: Result<(Commit, bool), String>) {
        let written = match commit {
            Ok((commit, is_cut)) => match self.store.commit(commit).await {
                Ok(()) => Ok(is_cut),
                // The person's data is erased.
                Err(CommitError::Erased) => return,
                Err(error) => Err(error.to_string()),
            },
            Err(error) => Err(error),
        };
        match written {
            Ok(is_cut) => {
                counter!(TRANSCRIPTS, "event" => "kept").increment(1);
                counter!(TRANSCRIPTS, "event" => "cut").increment(u64::from(is_cut));
            }
            Err(error) => {
                counter!(TRANSCRIPTS, "event" => "lost").increment(1);
                warn!(%error, "could not store a transcript");
            }
        }
    }
}

impl Recorder {
    /// Records our call, with its duration and result.
    pub(super) fn made(
        &mut self,
        http: &HttpPartner,
        progress: &AskProgress,
        question: &LeadQuestion,
        (sent, took): (HttpRequest, Duration),
        reply: &Result<CallReply, AskError>,
    ) {
        if !self.has_room() {
            return;
        }
        let kept = http.kept_request(&sent, progress, question.given(), &mut self.withheld);
        let limit = self.settings.call_bytes;
        let (mut message, of_request) = self.message(kept.headers, &kept.body, limit);
        // A body whose secrets cannot be located is not kept at all.
        message.cut |= kept.body.is_empty() && !sent.body.is_empty();
        message.bytes = sent.body.len() as u64;
        let (end, of_answer) = match reply {
            Ok(reply) => {
                let headers = kept_headers(&reply.headers);
                let (came, of_answer) = self.message(headers, &reply.body, limit.saturating_sub(of_request));
                (CallEnd::Answered { status: reply.status.as_u16(), came }, of_answer)
            }
            Err(error) => (CallEnd::Failed(error.to_string()), 0),
        };
        let took_ms = u32::try_from(took.as_millis()).unwrap_or(u32::MAX);
        let step = http.step_key(progress).map(str::to_owned);
        let call = TranscribedCall {
            at: self.transcripts.store.now_ms() - i64::from(took_ms),
            took_ms,
            by: CallInitiator::Offerd,
            step,
            method: sent.method.to_string(),
            url: kept.url,
            sent: message,
            end,
        };
        self.drafts.push(DraftCall { call, limits: [of_request, of_answer] });
    }

    /// Records a callback, as the answer or after the ask ended.
    pub fn heard(&mut self, by: CallInitiator, step: Option<&str>, headers: &HeaderMap, body: &[u8]) {
        if !self.has_room() {
            return;
        }
        let (sent, limit) = self.message(kept_headers(headers), body, self.settings.call_bytes);
        let call = TranscribedCall {
            at: self.transcripts.store.now_ms(),
            took_ms: 0,
            by,
            step: step.map(str::to_owned),
            method: Method::POST.to_string(),
            // The full address would authorise further calls.
            url: "/callbacks/".to_owned(),
            sent,
            end: CallEnd::Taken,
        };
        self.drafts.push(DraftCall { call, limits: [limit, 0] });
    }

    fn has_room(&mut self) -> bool {
        let has_room = self.drafts.len() < CALLS_MAX;
        self.left_out += u32::from(!has_room);
        has_room
    }

    fn message(
        &mut self,
        mut headers: Vec<(String, Option<String>)>,
        body: &[u8],
        limit: usize,
    ) -> (HttpMessage, usize) {
        let of_headers: usize =
            headers.iter().map(|(name, value)| name.len() + value.as_ref().map_or(0, String::len)).sum();
        if of_headers > self.room {
            headers.clear();
        }
        self.room = self.room.saturating_sub(of_headers);
        let limit = limit.min(self.room).min(body.len());
        self.room -= limit;
        let looked_at = limit.saturating_add(SLACK).min(body.len());
        let (bytes, cut) = (body.len() as u64, limit < body.len());
        (HttpMessage { headers, body: body[..looked_at].to_vec(), bytes, cut }, limit)
    }

    /// Writes the transcript. Once this returns, it is on the disk or counted as lost.
    pub async fn write(mut self) {
        if let Some(writing) = self.take() {
            writing.await;
        }
    }

    fn take(&mut self) -> Option<impl Future<Output = ()> + Send + use<>> {
        if self.drafts.is_empty() {
            return None;
        }
        let (drafts, left_out) = (mem::take(&mut self.drafts), self.left_out);
        let withheld = mem::take(&mut self.withheld);
        let (transcripts, lead, place) = (self.transcripts.clone(), self.lead, self.place);
        let keep_ms = i64::try_from(self.settings.kept.as_millis()).unwrap_or(i64::MAX);
        let pending = Pending::one_more(&transcripts.pending);
        Some(async move {
            let store = transcripts.store.clone();
            let commit = spawn_blocking(move || {
                let transcript = finished(withheld, drafts, left_out, keep_ms);
                let commit = transcripts::written(&store, lead, place, &transcript);
                commit.map(|commit| (commit, transcript.is_cut())).map_err(|error| error.to_string())
            });
            let commit = commit.await.map_err(|error| error.to_string()).and_then(|commit| commit);
            transcripts.write(commit).await;
            drop(pending);
        })
    }
}

fn finished(
    mut secrets: SecretRedaction,
    mut drafts: Vec<DraftCall>,
    left_out: u32,
    keep_ms: i64,
) -> Transcript {
    for DraftCall { call, .. } in &mut drafts {
        messages(call).for_each(|message| secrets.learn(&message.body));
    }
    for DraftCall { call, limits } in &mut drafts {
        call.url = secrets.out_of(&call.url);
        if let Some((end, _)) = call.url.char_indices().find(|(at, _)| *at >= URL_BYTES) {
            call.url.truncate(end);
        }
        for (message, limit) in messages(call).zip(*limits) {
            for value in message.headers.iter_mut().filter_map(|(_, value)| value.as_mut()) {
                *value = secrets.out_of(value);
            }
            message.body = secrets.out_of_body(&message.body);
            message.body.truncate(limit);
        }
    }
    Transcript { keep_ms, calls: drafts.into_iter().map(|draft| draft.call).collect(), left_out }
}

fn messages(call: &mut TranscribedCall) -> impl Iterator<Item = &mut HttpMessage> {
    let came = if let CallEnd::Answered { came, .. } = &mut call.end { Some(came) } else { None };
    [Some(&mut call.sent), came].into_iter().flatten()
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let (Ok(runtime), Some(writing)) = (Handle::try_current(), self.take()) {
            runtime.spawn(writing);
        }
    }
}

struct Pending(Arc<watch::Sender<usize>>);

impl Pending {
    fn one_more(pending: &Arc<watch::Sender<usize>>) -> Self {
        pending.send_modify(|pending| *pending += 1);
        Self(Arc::clone(pending))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.send_modify(|pending| *pending -= 1);
    }
}
