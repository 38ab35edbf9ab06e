//! Server-sent events, in the format of the HTML standard.

use bytes::Bytes;

/// The media type of an event stream.
pub const EVENT_STREAM: &str = "text/event-stream";

/// One event in parts, so that all streams share the bytes of its one line.
pub fn shared_event(name: &str, id: u32, line: Bytes) -> [Bytes; 3] {
    [format!("event: {name}\nid: {id}\ndata: ").into(), line, Bytes::from_static(b"\n\n")]
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_in_parts_is_the_event_and_holds_no_copy_of_its_line() {
        let line = Bytes::from(vec![b'x'; 9]);
        let parts = shared_event("rateTable", 7, line.clone());
        assert_eq!(parts.concat(), event("rateTable", Some(7), [&line]));
        assert_eq!(parts[1].as_ptr(), line.as_ptr());
    }
}
