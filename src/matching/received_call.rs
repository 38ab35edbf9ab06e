//! What becomes of a partner's call: taken by the ask that waits for it, told when it cannot be read, or late.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::Instant;
use uuid::Uuid;

use super::afterwards::Afterwards;
use super::callbacks::{Called, Delivery};
use super::calls::{heard, reply};
use super::engine::Engine;
use super::failure_log::Failed;
use super::late_asks::AnswerReader;
use super::late_callback;
use super::question::Question;
use crate::partners::Seat;
use crate::partners::http::{Exchange, Progress};
use crate::rate_table::call_record::CallRecord;
use crate::rate_table::cause::Cause;
use crate::rate_table::record::{Answer, Ask};
use crate::records::{Records, Unavailable, reading};

/// The word of the log for a call that cannot be read.
const UNREADABLE: &str = "unreadable_callback";

/// What became of a call.
#[derive(Debug)]
pub enum Received {
    /// It was taken in.
    Taken,
    /// It cannot be read, and the partner may call again: what is wrong with it, without what it says.
    Unreadable(String),
    /// It is not signed as the partner's file wants it.
    Unsigned,
    /// One was taken before.
    Again,
    /// Its ask has ended.
    Late,
    /// No ask ever had its address.
    Unknown,
}

/// Gives a call to the ask that its address is of. Once it is taken it is on the disk.
///
/// # Errors
/// [`Unavailable`], once reported, when it cannot be read whose address it was.
pub async fn receive(engine: &Engine, id: Uuid, called: Called) -> Result<Received, Unavailable> {
    Ok(match engine.callbacks.deliver(id, called.clone()).await {
        Delivery::Taken => Received::Taken,
        Delivery::Unsigned => Received::Unsigned,
        Delivery::Again => Received::Again,
        Delivery::Unreadable { seat, told, located } => {
            engine.statistics.failures.note(&Failed {
                partner: &seat.identity.key,
                product_type: seat.product_type,
                rate_table: reading::table_of_callback(&engine.records, id)?.unwrap_or_default(),
                word: UNREADABLE,
                cause: Some(&Cause::new(located)),
            });
            Received::Unreadable(told)
        }
        Delivery::Nobody => match reading::table_of_callback(&engine.records, id)? {
            Some(table) => {
                late_callback::note(engine, table, id, &called).await?;
                keep_late(engine, id, table, called).await?
            }
            None => Received::Unknown,
        },
    })
}

/// Keeps what a call says that comes when its ask has ended without an answer.
async fn keep_late(engine: &Engine, id: Uuid, table: Uuid, called: Called) -> Result<Received, Unavailable> {
    let Some(late) = LateCall::of(engine, id, table)? else { return Ok(Received::Late) };
    let LateCall { seat, position, mut exchange, reader } = late;
    let Some(source) = &seat.http else { return Ok(Received::Late) };
    if !source.is_signed(&called.headers, &called.body) {
        return Ok(Received::Unsigned);
    }
    let is_event = source.late_is_event;
    let reply = reply(heard(called));
    let read = spawn_blocking(move || (reader.late(&mut exchange, &reply), exchange.progress()));
    if let Ok((Some(outcome), progress)) = read.await {
        let records = engine.records.clone();
        Afterwards { records, table, seat: position, is_event }.came_late(outcome, progress).await;
    }
    Ok(Received::Late)
}

/// An ask that ended without an answer, and what reads one that comes later.
struct LateCall {
    seat: Arc<Seat>,
    position: u16,
    exchange: Exchange,
    reader: AnswerReader,
}

impl LateCall {
    /// Of the ask that had an address; `None` where it was answered, or nothing can be read any more.
    fn of(engine: &Engine, id: Uuid, table: Uuid) -> Result<Option<Self>, Unavailable> {
        let Records { store, templates } = &engine.records;
        let Some(table) = reading::table(&engine.records, table)? else { return Ok(None) };
        let head = table.head();
        let mut positions = 0..table.seats().len() as u16;
        let is_it = |position: &u16| templates.ids.callback(head.uuid, *position) == id;
        let Some(position) = positions.find(is_it) else { return Ok(None) };
        let mut ended_without = false;
        for record in reading::answer_records(store, head.uuid) {
            let failed =
                |(answer, _): (Answer, Option<Ask>)| answer.seat == position && answer.outcome.is_failure();
            ended_without |= record?.each().any(failed);
        }
        let text = &table.seats()[usize::from(position)];
        let book = engine.book();
        let seat = book.seat_of(&text.key, text.product_type);
        let call = reading::calls(store, head.uuid)?.remove(&position);
        let (Some(seat), Some(call), true) = (seat, call, ended_without) else { return Ok(None) };
        let CallRecord { step, kept, bid, .. } = call;
        let exchange = seat.http.as_ref().and_then(|source| source.taken_up(&Progress { step, kept, bid }));
        let (Some(exchange), Some(lead)) = (exchange, reading::lead(store, head.lead)?) else {
            return Ok(None);
        };
        let question = Arc::new(Question::of(head, Arc::new(lead.lead), lead.bands));
        // Which of them fitted then is not known any more; an offer is told apart by its key.
        let offers: Vec<usize> = (0..seat.offers.len()).collect();
        let reader = AnswerReader::new(seat, &offers, &question, Instant::now(), None);
        Ok(Some(Self { seat: Arc::clone(seat), position, exchange, reader }))
    }
}
