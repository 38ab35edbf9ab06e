//! Server-sent events, in the format of the HTML standard.

use bytes::Bytes;

/// The media type of an event stream.
pub const EVENT_STREAM: &str = "text/event-stream";

/// Formats one event, with one `data:` line for each of `lines`. A line must not contain a line break.
pub fn event(name: &str, id: Option<u32>, lines: impl IntoIterator<Item: AsRef<[u8]>>) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let mut event = format!("event: {name}\n{id}").into_bytes();
    for line in lines {
        event.extend([b"data: ", line.as_ref(), b"\n"].concat());
    }
    event.push(b'\n');
    event.into()
}
