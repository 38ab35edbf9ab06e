//! Where a client goes on in a feed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use offerd::analytics::{ArrivalTime, ClientTagFeed, Events, Feed, PAGINATION_TOKEN, PageCursor, Payouts};

/// A token that is read is the one that is given out for what it says; so is a time. The bytes are tried as they are, and
/// as what stands between the version and the checksum of a token.
pub fn holds(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        of_every_feed(text);
        is_told_as_it_is_read(text);
    }
    let mut token = vec![1];
    token.extend_from_slice(bytes);
    token.extend(crc32fast::hash(&token).to_be_bytes());
    of_every_feed(&URL_SAFE_NO_PAD.encode(token));
}

fn of_every_feed(token: &str) {
    let feeds =
        [is_given_out::<Events>(token), is_given_out::<Payouts>(token), is_given_out::<ClientTagFeed>(token)];
    assert!(feeds.iter().filter(|read| **read).count() <= 1, "a token is of one feed: {token}");
}

fn is_given_out<F: Feed>(token: &str) -> bool {
    match PageCursor::read::<F>(token) {
        Ok(request) => {
            let given_out = PageCursor::to::<F>(request).to_string();
            assert_eq!(given_out, format!("{PAGINATION_TOKEN}={token}"));
            true
        }
        Err(error) => {
            assert_eq!(error.attribute.as_deref(), Some(PAGINATION_TOKEN));
            false
        }
    }
}

fn is_told_as_it_is_read(text: &str) {
    if let Some(time) = ArrivalTime::parse(text) {
        assert_eq!(ArrivalTime::parse(&time.to_string()), Some(time), "{text}");
    }
}
