//! Content codings: negotiation, compression, and a cache of compressed bodies.

use super::prelude::*;
use offerd_base::worded;
use std::io::Write;
use std::sync::OnceLock;

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::ACCEPT_ENCODING;

use super::list;

/// Smaller bodies are not compressed: with their headers they fit into one packet anyway.
pub(super) const LEAST_BYTES: usize = 1024;

/// Larger bodies take longer than a millisecond or two, and are compressed on a blocking thread.
pub(super) const MOST_BYTES_AT_ONCE: usize = 64 * 1024;

/// The brotli quality that takes about as long as gzip.
const BROTLI_QUALITY: i32 = 5;

/// The brotli window, as a power of two. From 19 on, brotli takes much longer.
const BROTLI_WINDOW_BITS: i32 = 18;

/// The size hint from which brotli uses context modelling: one or two percent shorter.
const BROTLI_MODELS_FROM_BYTES: usize = 1 << 20;

worded! {
    pub(super) enum Coding;

    /// Its name in `Content-Encoding`; empty for none.
    fn name;

    /// Uncompressed.
    Plain "";
    /// gzip, which every client knows.
    Gzip "gzip";
    /// brotli, which browsers ask for over TLS.
    Brotli "br";
}

/// An edition's name and a coding's name; both empty for the body as it was made.
pub type RenditionName = (&'static str, &'static str);

/// A cache of a body's renditions, so that each is made once.
pub trait Renditions: Send + Sync {
    /// A cached rendition.
    fn find(&self, rendition: RenditionName) -> Option<Bytes>;

    /// Caches a rendition.
    fn keep(&self, rendition: RenditionName, bytes: &Bytes);
}

/// The compressed forms of a constant body, each made on first use.
#[derive(Debug, Default)]
pub struct Compressed {
    gzip: OnceLock<Bytes>,
    brotli: OnceLock<Bytes>,
}

impl Compressed {
    fn place(&self, (_, coding): RenditionName) -> &OnceLock<Bytes> {
        if coding == Coding::Brotli.name() { &self.brotli } else { &self.gzip }
    }
}

impl Renditions for Arc<Compressed> {
    fn find(&self, rendition: RenditionName) -> Option<Bytes> {
        self.place(rendition).get().cloned()
    }

    fn keep(&self, rendition: RenditionName, bytes: &Bytes) {
        let _ = self.place(rendition).set(bytes.clone());
    }
}

impl Coding {
    /// Negotiates the coding (RFC 9110, 12.5.3); among equal weights the shortest wins. `*` means gzip, or
    /// brotli where gzip is refused. Malformed items are ignored.
    pub(super) fn asked_for(headers: &HeaderMap) -> Self {
        let (mut brotli, mut gzip, mut plain, mut any) = (None, None, None, None);
        for (name, weight) in list::items(headers, &ACCEPT_ENCODING).filter_map(weighed) {
            match name.to_ascii_lowercase().as_str() {
                "br" => brotli = Some(weight),
                "gzip" | "x-gzip" => gzip = Some(weight),
                "identity" => plain = Some(weight),
                "*" => any = Some(weight),
                _ => {}
            }
        }
        let brotli = brotli.or(any.filter(|_| gzip == Some(0))).unwrap_or(0);
        let (gzip, plain) = (gzip.or(any).unwrap_or(0), plain.unwrap_or(0));
        match brotli.max(gzip) {
            0 => Self::Plain,
            most if most < plain => Self::Plain,
            most if most == brotli => Self::Brotli,
            _ => Self::Gzip,
        }
    }

    pub(super) fn compress(self, body: &Bytes) -> Bytes {
        match self {
            Self::Plain => body.clone(),
            Self::Gzip => gzip(body),
            Self::Brotli => brotli(body),
        }
    }
}

/// The tag, without quotes, of the uncompressed bytes.
pub(super) fn without_coding(tag: &str) -> &str {
    let codings = [Coding::Gzip, Coding::Brotli].map(Coding::name);
    codings.into_iter().find_map(|coding| tag.strip_suffix(coding)?.strip_suffix('-')).unwrap_or(tag)
}

fn brotli(body: &[u8]) -> Bytes {
    let how = BrotliEncoderParams {
        quality: BROTLI_QUALITY,
        lgwin: BROTLI_WINDOW_BITS,
        size_hint: body.len().max(BROTLI_MODELS_FROM_BYTES),
        ..BrotliEncoderParams::default()
    };
    let mut compressed = Vec::with_capacity(body.len() / 4);
    brotli::BrotliCompress(&mut &*body, &mut compressed, &how).expect("writing to memory does not fail");
    compressed.into()
}

fn gzip(body: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::default());
    encoder.write_all(body).expect("writing to memory does not fail");
    encoder.finish().expect("writing to memory does not fail").into()
}

fn weighed(item: &str) -> Option<(&str, u16)> {
    let Some((name, parameter)) = item.split_once(';') else { return Some((item.trim(), 1000)) };
    Some((name.trim(), (list::weight(parameter)? * 1000.0) as u16))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use hyper::header::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn asked_for(lists: &[&str]) -> Coding {
        let mut headers = HeaderMap::new();
        for list in lists {
            headers.append(ACCEPT_ENCODING, HeaderValue::from_str(list).unwrap());
        }
        Coding::asked_for(&headers)
    }

    #[test]
    fn a_client_gets_the_coding_that_it_would_rather_have() {
        for lists in [
            &["gzip, deflate, br, zstd"][..],
            &["br"],
            &["br, gzip;q=0.5"],
            &["BR;q=0.2", "*;q=0.1"],
            &["br, zstd, deflate"],
            &["gzip;q=0, br;q=0.1"],
            &["gzip;q=0, *"],
            &["*;q=0.3, x-gzip;q=0"],
        ] {
            assert_eq!(asked_for(lists), Coding::Brotli, "{lists:?}");
        }
        for lists in [
            &["gzip"][..],
            &["br;q=0.4, gzip;q=0.5"],
            &["br;q=0, *"],
            &["zstd, gzip"],
            &["identity;q=0.5, GZIP;q=0.5"],
            &["zstd", "x-gzip ; Q=0.001"],
            &["*"],
            &["*;q=0, gzip"],
            &["deflate;q=high, gzip, ;"],
        ] {
            assert_eq!(asked_for(lists), Coding::Gzip, "{lists:?}");
        }
        for lists in [
            &[][..],
            &[""],
            &["identity"],
            &["zstd, deflate"],
            &["br;q=0.3, identity;q=0.4"],
            &["gzip;q=0"],
            &["gzip;q=0, br;q=0, *"],
            &["gzip;q=0, *;q=0"],
            &["gzip;q=0, *;q=0.5, identity"],
            &["gzip;q=0.4, identity"],
            &["*;q=0"],
            &["gzip;q=1.1"],
            &["gzip;q="],
            &["gzip;level=9"],
            &["gzipped"],
        ] {
            assert_eq!(asked_for(lists), Coding::Plain, "{lists:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_compressed_reads_the_same(body: Vec<u8>) {
            let body = Bytes::from(body);
            let (mut gunzipped, mut read) = (Vec::new(), Vec::new());
            GzDecoder::new(&*Coding::Gzip.compress(&body)).read_to_end(&mut gunzipped).unwrap();
            prop_assert_eq!(&gunzipped, &body);
            brotli::BrotliDecompress(&mut &*Coding::Brotli.compress(&body), &mut read).unwrap();
            prop_assert_eq!(&read, &body);
        }

        #[test]
        fn no_list_is_too_strange(list in "\\PC*") {
            let mut headers = HeaderMap::new();
            if let Ok(value) = HeaderValue::from_str(&list) {
                headers.insert(ACCEPT_ENCODING, value);
            }
            Coding::asked_for(&headers);
        }
    }
}
