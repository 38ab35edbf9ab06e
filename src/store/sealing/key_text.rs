//! The stored form of sealed keys.
//!
//! ```text
//! "offerd keys 1\n"  id of the master key (8 hexadecimal digits)  "\n"  sealed key ring
//! ```

use std::path::Path;

use zeroize::Zeroizing;

use super::error::SealingError;
use super::key_ring::KeyRing;
use super::master_key::MasterKey;

const HEADING: &[u8] = b"offerd keys 1\n";
/// The start of the heading in any format version.
const NAME: &[u8] = b"offerd keys ";
const ID: usize = 8;
#[cfg(test)]
pub(super) const HEADING_LEN: usize = HEADING.len() + ID;

pub(crate) fn text(master: &MasterKey, ring: &KeyRing) -> Vec<u8> {
    let sealed = master.key.seal(HEADING, &ring.to_bytes());
    [HEADING, master.id().as_bytes(), b"\n", &sealed].concat()
}

pub(crate) fn opened(path: &Path, master: &MasterKey, text: &[u8]) -> Result<KeyRing, SealingError> {
    let (id, sealed) = parts(path, text)?;
    let ring = master.key.open(HEADING, sealed).map(Zeroizing::new);
    let Some(ring) = ring else {
        return Err(match id == master.id() {
            true => SealingError::Damaged(path.to_owned()),
            false => SealingError::WrongMasterKey(path.to_owned(), master.instead_of(id)),
        });
    };
    KeyRing::of_bytes(&ring).ok_or_else(|| SealingError::Damaged(path.to_owned()))
}

pub(crate) fn sealed_with(path: &Path, text: &[u8]) -> Result<String, SealingError> {
    parts(path, text).map(|(id, _)| id)
}

fn parts<'a>(path: &Path, bytes: &'a [u8]) -> Result<(String, &'a [u8]), SealingError> {
    let damaged = || SealingError::Damaged(path.to_owned());
    let other = || {
        let behind = bytes.strip_prefix(NAME)?;
        let found = behind.split_at_checked(behind.iter().position(|byte| *byte == b'\n')?)?.0;
        let found = std::str::from_utf8(found).ok()?.parse().ok()?;
        Some(SealingError::Format { path: path.to_owned(), found })
    };
    let rest = bytes.strip_prefix(HEADING).ok_or_else(|| other().unwrap_or_else(damaged))?;
    let (id, rest) = rest.split_at_checked(ID).ok_or_else(damaged)?;
    let id = std::str::from_utf8(id).map_err(|_| damaged())?;
    Ok((id.to_owned(), rest.strip_prefix(b"\n").ok_or_else(damaged)?))
}
