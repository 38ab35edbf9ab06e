//! The cursor to the next page, as `nextUrl` carries it.
//!
//! In the specification's form it is a time. In the newer form it is an opaque token with the whole request
//! of the next page. The access token alone decides which company's records are served.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::arrival_time::ArrivalTime;
use super::event_types::EventTypes;
use super::feed::Feed;
use super::page_request::{Form, PageRequest};
use offerd_model::{ApiError, ErrorType};
use offerd_store::codec;

/// The name of the query parameter.
pub const PAGINATION_TOKEN: &str = "paginationToken";

/// Changes with the layout of the payload.
const VERSION: u8 = 1;

const CHECKSUM: usize = 4;

/// The query parameter that asks for the next page of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageCursor {
    feed: u8,
    next: PageRequest,
}

type CursorPayload = (u8, ArrivalTime, Option<ArrivalTime>, EventTypes);

impl PageCursor {
    /// The cursor to a feed's next page.
    pub fn to<F: Feed>(next: PageRequest) -> Self {
        Self { feed: F::TREE.row().prefix, next }
    }

    /// Reads a token for a feed.
    ///
    /// # Errors
    /// The token is not ours, or belongs to another feed.
    pub fn read<F: Feed>(token: &str) -> Result<PageRequest, ApiError> {
        let malformed = |message| ApiError::at(PAGINATION_TOKEN, ErrorType::Malformed, message);
        let unreadable = || malformed("paginationToken must be copied unchanged from a nextUrl");
        let (feed, start, until, event_types) = open(token).ok_or_else(unreadable)?;
        if feed != F::TREE.row().prefix {
            let foreign = "paginationToken must come from a nextUrl of this feed, but is from another one";
            return Err(malformed(foreign));
        }
        Ok(PageRequest { form: Form::Prompt, start, until, event_types })
    }

    fn token(&self) -> String {
        let PageRequest { start, until, event_types, .. } = self.next;
        let payload: CursorPayload = (self.feed, start, until, event_types);
        let content = [&[VERSION][..], &codec::encode(&payload)].concat();
        let checksum = crc32fast::hash(&content).to_be_bytes();
        URL_SAFE_NO_PAD.encode([&content[..], &checksum].concat())
    }
}

impl fmt::Display for PageCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.next.form {
            Form::Hourly => write!(f, "timestamp={}", self.next.start),
            Form::Prompt => write!(f, "{PAGINATION_TOKEN}={}", self.token()),
        }
    }
}

fn open(token: &str) -> Option<CursorPayload> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
    let (content, checksum) = bytes.split_last_chunk::<CHECKSUM>()?;
    let (version, payload) = content.split_first()?;
    let sound = *version == VERSION && u32::from_be_bytes(*checksum) == crc32fast::hash(content);
    let read: CursorPayload = if sound { codec::decode(payload).ok()? } else { return None };
    // Postcard also accepts overlong encodings of a number, and ignores trailing bytes.
    (codec::encode(&read) == payload).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::super::feed::{Events, Payouts};
    use super::*;
    use offerd_model::EventType;
    use proptest::prelude::*;

    fn token(next: PageRequest) -> String {
        let cursor = PageCursor::to::<Events>(next).to_string();
        cursor.strip_prefix("paginationToken=").unwrap().to_owned()
    }

    #[test]
    fn the_form_of_the_specification_carries_a_time() {
        let cursor = PageCursor::to::<Events>(PageRequest::hourly(ArrivalTime::FIRST));
        assert_eq!(cursor.to_string(), "timestamp=2020-08-01T00:00:00.000000Z");
    }

    #[test]
    fn a_token_is_of_one_feed() {
        let token = token(PageRequest::prompt(ArrivalTime::FIRST));
        let error = PageCursor::read::<Payouts>(&token).unwrap_err();
        assert_eq!(error.attribute.as_deref(), Some(PAGINATION_TOKEN));
        assert!(error.message.unwrap().contains("another"));
    }

    #[test]
    fn what_is_no_token_of_ours_is_malformed() {
        let token = token(PageRequest::prompt(ArrivalTime::FIRST));
        let mut newer = URL_SAFE_NO_PAD.decode(&token).unwrap();
        newer.truncate(newer.len() - CHECKSUM);
        newer[0] += 1;
        newer.extend(crc32fast::hash(&newer).to_be_bytes());
        let mut longer = URL_SAFE_NO_PAD.decode(&token).unwrap();
        longer.truncate(longer.len() - CHECKSUM);
        longer.push(0);
        longer.extend(crc32fast::hash(&longer).to_be_bytes());
        let [newer, longer] = [newer, longer].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        let others = [String::new(), "?".to_owned(), format!("{token}="), newer, longer];
        for other in others.iter().chain([&token[1..].to_owned(), &token[..token.len() - 2].to_owned()]) {
            let error = PageCursor::read::<Events>(other).unwrap_err();
            assert_eq!(error.error_type, Some(ErrorType::Malformed), "{other}");
        }
    }

    proptest! {
        #[test]
        fn tokens_round_trip_and_no_byte_of_one_may_change(
            start in any::<u64>(),
            until in any::<Option<u64>>(),
            wanted in prop::sample::subsequence(EventType::ALL, 0..=EventType::ALL.len()),
            (at, change) in (any::<prop::sample::Index>(), 1_u8..),
        ) {
            let event_types = wanted.into_iter().collect();
            let start = PageRequest::prompt(ArrivalTime(start));
            let request = PageRequest { until: until.map(ArrivalTime), event_types, ..start };
            let token = token(request);
            prop_assert_eq!(PageCursor::read::<Events>(&token), Ok(request));
            let mut bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= change;
            prop_assert!(PageCursor::read::<Events>(&URL_SAFE_NO_PAD.encode(bytes)).is_err());
        }

        /// Of all encodings of a request, only the one that is given out is accepted.
        #[test]
        fn a_token_that_is_read_is_the_one_given_out(
            payload in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..24),
                // Overlong numbers, after the feed's own byte.
                prop::collection::vec(prop::sample::select(vec![0, 1, 0x80, 0xff]), 0..16)
                    .prop_map(|rest| [vec![Events::TREE.row().prefix], rest].concat()),
            ],
        ) {
            let mut bytes = [vec![VERSION], payload].concat();
            bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
            let spelt = URL_SAFE_NO_PAD.encode(bytes);
            if let Ok(request) = PageCursor::read::<Events>(&spelt) {
                prop_assert_eq!(token(request), spelt);
            }
        }
    }
}
