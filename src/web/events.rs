//! Server-sent events, as the HTML standard writes them.

use bytes::Bytes;

/// The type of a stream of events.
pub const EVENT_STREAM: &str = "text/event-stream";

/// One event, with its data line by line; no line may have a line break of its own.
pub fn event(name: &str, id: Option<u32>, lines: impl IntoIterator<Item: AsRef<[u8]>>) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let mut event = format!("event: {name}\n{id}").into_bytes();
    for line in lines {
        event.extend([b"data: ", line.as_ref(), b"\n"].concat());
    }
    event.push(b'\n');
    event.into()
}
