//! Sealing: personal data can be read only with the master key, and not at all once the person is erased.
//!
//! ```text
//! master key   outside the store: a file, the environment, a systemd credential
//!   └ keys     the file `keys`: the store's own key, a blinding key, 1024 wrapping keys, the identity keys
//!       └ data keys    the tree `lead_keys`: one per lead, sealed by the wrapping key of its slot
//!           └ records  of the trees that are sealed by lead (`TREES`), each preceded by its lead
//!       └ keys     also the keys of ephemeral records (`key_ring`), which backups leave out
//! ```
//!
//! The writer seals and the readers open, so nothing bypasses it: a record of a sealed tree without a lead is
//! refused. A sealed record is bound to its tree and key, so it cannot be moved to another place.
//!
//! # Why there are wrapping keys
//! A removed record stays in the files of the store until they are dropped. If the master key sealed data
//! keys directly, it could still open a removed one. So a wrapping key per slot does, which lives in a small
//! file that is replaced as a whole. To erase a lead, the other data keys of its slot are resealed under a
//! fresh wrapping key; then the old one is destroyed. After a crash in between, the next start finishes.
//!
//! Rotating the master key only replaces that file. A [backup](super::backup) has the keys of its instant.

pub(super) mod data_key;
mod error;
pub(super) mod identity_key;
pub(super) mod key;
pub(super) mod key_file;
pub(super) mod key_place;
pub(super) mod key_ring;
pub(super) mod key_text;
pub(super) mod master_key;
pub(super) mod slots;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use parking_lot::{Mutex, RwLock};
use sha2::Sha256;
use uuid::Uuid;

use self::data_key::DataKey;
pub use self::error::{GIVE, SealingError};
use self::identity_key::{IdentityKey, TERMS};
use self::key::{SEAL_LEN, SealKey};
use self::key_place::KeyPlace;
use self::key_ring::{EphemeralKey, KeyRing};
pub(super) use self::master_key::kept_beside;
pub use self::master_key::{MasterKey, MasterKeyError, OtherMasterKey};
use self::slots::Slots;
use super::commit::KeyDestruction;
use super::frame::OVERHEAD;
use super::raw::{RawRecord, RawValues, read_clear};
use crate::{BASE, BrokenReason, BrokenRecord, DiskResult, Seal, Tree, VolumeNumber};

const OWNER_LEN: usize = 16;

const _: () = assert!(OVERHEAD == OWNER_LEN + SEAL_LEN, "a frame has room for what sealing adds");

/// The data key that opened the previous record: records of one lead often lie together.
pub(super) type LastKey = Option<(Uuid, SealKey)>;

/// The identity of a store with sealed keys. Its copies share it, and erasures do not change it.
pub(super) fn id_of(text: &[u8], master: &MasterKey) -> Result<[u8; 32], SealingError> {
    let ring = key_text::opened(Path::new("keys"), master, text)?;
    Ok(blind(&ring, "store", b"id"))
}

/// Whether an erasure was interrupted; the next start finishes it.
pub(super) fn is_unfinished(text: &[u8], master: &MasterKey) -> Result<bool, SealingError> {
    let ring = key_text::opened(Path::new("keys"), master, text)?;
    Ok(!ring.unfinished().is_empty())
}

fn blind(ring: &KeyRing, purpose: &str, text: &[u8]) -> [u8; 32] {
    let mut hmac =
        Hmac::<Sha256>::new_from_slice(ring.blinding.bytes()).expect("HMAC takes a key of any length");
    hmac.update(purpose.as_bytes());
    hmac.update(b"\0");
    hmac.update(text);
    hmac.finalize().into_bytes().into()
}

/// What opening a record gives; the outer error is the disk's.
type Unsealed<T> = DiskResult<Result<Option<T>, BrokenReason>>;

pub(super) struct Sealing {
    place: Box<dyn KeyPlace>,
    pub(super) slots: Slots,
    ring: RwLock<KeyRing>,
    /// Also serialises replacements of the file.
    master: Mutex<MasterKey>,
}

impl Sealing {
    /// Opens the keys, or creates them for a `new` store. Without `master`, one is created beside the store.
    pub(super) fn open(
        place: Box<dyn KeyPlace>,
        master: Option<MasterKey>,
        store: &Path,
        new: bool,
    ) -> Result<Self, SealingError> {
        let is_there = place.exists()?;
        let master = match master {
            _ if !is_there && !new => return Err(SealingError::NoKeys(place.path().to_owned())),
            Some(master) => master,
            None if is_there => {
                let sealed_with = place.sealed_with()?;
                return Err(SealingError::NoMasterKey { path: place.path().to_owned(), sealed_with });
            }
            None => MasterKey::create_beside(store).map_err(SealingError::MasterKey)?,
        };
        let ring = if is_there { place.open(&master) } else { place.create(&master) }?;
        let slots = ring.slots.clone();
        Ok(Self { place, slots, ring: RwLock::new(ring), master: Mutex::new(master) })
    }

    pub(super) fn blind(&self, purpose: &str, text: &[u8]) -> [u8; 32] {
        blind(&self.ring.read(), purpose, text)
    }

    /// Reads one record, and opens it if it is sealed. The outer error is the engine's.
    pub(super) fn read(&self, from: &impl RawValues, tree: Tree, key: &[u8]) -> DiskResult<RawRecord> {
        match read_clear(from, tree, key)? {
            Ok(Some(payload)) => {
                let opened = self.opened(from, tree, key, &payload, &mut LastKey::default())?;
                Ok(opened.map_err(|reason| BrokenRecord::new(tree, key, reason)))
            }
            other => Ok(other),
        }
    }

    /// The plain payload of a stored one; `None` if its lead is erased. The outer error is the disk's.
    pub(super) fn opened(
        &self,
        from: &(impl RawValues + ?Sized),
        tree: Tree,
        key: &[u8],
        stored: &[u8],
        last: &mut LastKey,
    ) -> Unsealed<Vec<u8>> {
        let seal = tree.row().seal;
        if seal == Seal::Open {
            return Ok(Ok(Some(stored.to_vec())));
        }
        let Some((owner, sealed)) = stored.split_first_chunk::<OWNER_LEN>() else {
            return Ok(Err(BrokenReason::Short));
        };
        let owner = Uuid::from_bytes(*owner);
        let opened = |with: &SealKey| {
            with.open(&context(tree, owner, key), sealed).map(Some).ok_or(BrokenReason::Seal)
        };
        match seal {
            Seal::Own => return Ok(opened(&self.ring.read().own)),
            // A destroyed key means that the record is gone, as with an erased lead.
            Seal::Ephemeral => return Ok(self.ephemeral(owner).map_or(Ok(None), |with| opened(&with.key))),
            Seal::Open | Seal::Lead => {}
        }
        if let Some((_, data_key)) = last.as_ref().filter(|(of, _)| *of == owner) {
            return Ok(opened(data_key));
        }
        Ok(match self.data_key(from, owner)? {
            Ok(Some(DataKey::Kept(data_key))) => opened(&last.insert((owner, data_key)).1),
            Ok(Some(DataKey::Destroyed)) => Ok(None),
            Ok(None) | Err(_) => Err(BrokenReason::DataKey),
        })
    }

    /// The data key of a lead; `None` if there never was one. The outer error is the disk's.
    pub(super) fn data_key(&self, from: &(impl RawValues + ?Sized), lead: Uuid) -> Unsealed<DataKey> {
        let place = self.slots.key_of(lead);
        let (mut read, mut is_settled) = (None, false);
        loop {
            let kept = match read_clear(from, Tree::LeadKeys, &place)? {
                Ok(Some(kept)) => kept,
                Ok(None) => return Ok(Ok(None)),
                Err(broken) => return Ok(Err(broken.reason)),
            };
            if let Some(data_key) = data_key::unwrap(&self.ring.read(), lead, &kept) {
                return Ok(Ok(Some(data_key)));
            }
            // The data key may have been resealed since it was read, and the new keys loaded just before they
            // were asked for: one more try.
            let is_same = read.as_ref() == Some(&kept) && !self.are_others();
            if is_same && is_settled {
                return Ok(Err(BrokenReason::DataKey));
            }
            (read, is_settled) = (Some(kept), is_same);
        }
    }

    pub(super) fn identity_keys(&self, company: Uuid, since_ms: i64) -> Vec<IdentityKey> {
        let ring = self.ring.read();
        let keys = ring.identities.iter();
        keys.filter(|key| key.company == company && key.ends_ms > since_ms).cloned().collect()
    }

    pub(super) fn all_identity_keys(&self) -> Vec<IdentityKey> {
        self.ring.read().identities.clone()
    }

    /// The key that hashes identities of a company at `at_ms`; begun if needed. The key is durable.
    pub(super) fn identity_key(
        &self,
        company: Uuid,
        at_ms: i64,
        look_back_ms: i64,
    ) -> Result<IdentityKey, SealingError> {
        self.found_or_begun(
            |ring| ring.identity_key(company, at_ms, look_back_ms).cloned(),
            |ring| ring.begin_identities(company, at_ms, look_back_ms),
        )
    }

    /// Finds a key, or begins one. The returned key is durable.
    fn found_or_begun<T>(
        &self,
        find: impl Fn(&KeyRing) -> Option<T>,
        begin: impl Fn(&mut KeyRing),
    ) -> Result<T, SealingError> {
        if let Some(key) = find(&self.ring.read()) {
            return Ok(key);
        }
        self.change(|ring| {
            // Another thread or process may have begun it.
            if find(ring).is_none() {
                begin(ring);
            }
        })?;
        Ok(find(&self.ring.read()).expect("it was just begun"))
    }

    /// Finds a key, reloading the keys if another process may have begun it.
    fn found<T>(&self, find: impl Fn(&KeyRing) -> Option<T>) -> Option<T> {
        let known = || find(&self.ring.read());
        known().or_else(|| self.are_others().then(known).flatten())
    }

    /// The key of payloads with a TTL, by its id; `None` once the TTL has passed.
    pub(super) fn term_key(&self, id: u64) -> Option<SealKey> {
        let is_it = |key: &&IdentityKey| key.company == TERMS && key.id == id;
        self.found(|ring| ring.identities.iter().find(is_it).map(|key| key.key.clone()))
    }

    fn ephemeral(&self, id: Uuid) -> Option<EphemeralKey> {
        self.found(|ring| ring.ephemeral(Some(id)).cloned())
    }

    pub(super) fn has_ephemeral(&self) -> bool {
        self.ring.read().ephemeral(None).is_some()
    }

    /// The current key of ephemeral records; begun if needed. The key is durable.
    pub(super) fn ephemeral_key(&self) -> Result<EphemeralKey, SealingError> {
        self.found_or_begun(|ring| ring.ephemeral(None).cloned(), KeyRing::begin_ephemeral)
    }

    pub(super) fn begin_ephemeral(&self) -> Result<EphemeralKey, SealingError> {
        self.change(KeyRing::begin_ephemeral)?;
        Ok(self.ring.read().ephemeral(None).expect("it was just begun").clone())
    }

    /// Adds a new wrapping key to each slot, in memory and in the file; at most one write for all slots.
    pub(super) fn renew(&self, slots: &BTreeSet<u16>) -> Result<(), SealingError> {
        // A slot in the middle of a renewal already has its new key.
        if slots.iter().all(|slot| self.ring.read().is_unfinished(*slot)) {
            return Ok(());
        }
        self.change(|ring| {
            for slot in slots {
                if !ring.is_unfinished(*slot) {
                    ring.renew(*slot);
                }
            }
        })
    }

    pub(super) fn kept(&self, lead: Uuid, key: &SealKey, volume: VolumeNumber) -> Vec<u8> {
        data_key::wrap(&self.ring.read(), lead, key, volume)
    }

    pub(super) fn generation(&self, lead: Uuid) -> u32 {
        self.ring.read().current(self.slots.slot_of(lead)).generation
    }

    /// The data keys of a slot: resealed, destroyed, or removed (`None`). Unreadable ones stay as they are.
    pub(super) fn rewrapped(
        &self,
        kept: HashMap<Uuid, Vec<u8>>,
        without: &KeyDestruction,
    ) -> Vec<(Uuid, Option<Vec<u8>>)> {
        let ring = self.ring.read();
        let rewrap = |(lead, kept): (Uuid, Vec<u8>)| {
            let volume = match without {
                KeyDestruction::Before(expiry) => {
                    data_key::came_s(lead, &kept).unwrap_or_else(|| expiry.at_s())
                }
                _ => data_key::volume_of(&kept),
            };
            let destroyed_now = match (without, data_key::destroyed_at(&kept)) {
                (KeyDestruction::Volume(dropped, _), Some(_)) if (BASE + 1..*dropped).contains(&volume) => {
                    return Some((lead, None));
                }
                (KeyDestruction::Before(expiry), Some(at_ms)) if at_ms < expiry.forgotten_ms => {
                    return Some((lead, None));
                }
                (KeyDestruction::Leads(erased, at_ms), _) if erased.contains(&lead) => Some(*at_ms),
                (KeyDestruction::Volume(dropped, at_ms), _) if volume == *dropped => Some(*at_ms),
                (KeyDestruction::Before(expiry), None) if volume < expiry.before => Some(expiry.at_ms),
                _ => None,
            };
            let kept = match (destroyed_now, data_key::unwrap(&ring, lead, &kept)) {
                (Some(at_ms), _) => data_key::destroyed(at_ms, volume),
                (None, Some(DataKey::Kept(key))) => data_key::wrap(&ring, lead, &key, volume),
                (None, Some(DataKey::Destroyed) | None) => return None,
            };
            Some((lead, Some(kept)))
        };
        kept.into_iter().filter_map(rewrap).collect()
    }

    pub(super) fn unfinished(&self) -> Vec<u16> {
        self.ring.read().unfinished()
    }

    /// Destroys the old wrapping keys of slots, in memory and in the file. Once this returns, everything that
    /// only they sealed is lost for good.
    pub(super) fn forget(&self, slots: &BTreeSet<u16>) -> Result<(), SealingError> {
        self.change(|ring| slots.iter().for_each(|slot| ring.forget(*slot)))
    }

    /// Rotates the master key. Once this returns, the old one opens nothing; after a crash before that, one
    /// of the two opens everything.
    pub(super) fn exchange_master_key(&self, new: MasterKey) -> Result<(), SealingError> {
        let mut master = self.master.lock();
        self.take_in(&master)?;
        self.place.write(&new, &self.ring.read())?;
        *master = new;
        Ok(())
    }

    /// Writes the files of the keys again where they are missing or damaged, and names them.
    pub(super) fn rewrite(&self) -> Result<Vec<&'static str>, SealingError> {
        let master = self.master.lock();
        self.place.rewrite(&master, &self.ring.read())
    }

    pub(super) fn master_key(&self) -> MasterKey {
        self.master.lock().clone()
    }

    /// The file of the keys, sealed by `master`. Leaves out the keys of ephemeral records.
    pub(super) fn key_file_text(&self, master: &MasterKey) -> Vec<u8> {
        key_text::text(master, &self.ring.read().without_ephemeral())
    }

    pub(super) fn own(&self) -> SealKey {
        self.ring.read().own.clone()
    }

    /// Reloads the keys of a shared store if another process has changed them. Returns whether it had.
    pub(super) fn refresh(&self) -> Result<bool, SealingError> {
        self.take_in(&self.master.lock())
    }

    /// Whether the keys have changed, after reloading them. Only called when a key was not found.
    fn are_others(&self) -> bool {
        self.refresh().unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot check whether another node changed the keys of the store");
            false
        })
    }

    fn take_in(&self, master: &MasterKey) -> Result<bool, SealingError> {
        let Some(ring) = self.place.replaced(master)? else { return Ok(false) };
        *self.ring.write() = ring;
        Ok(true)
    }

    /// Changes the keys, in memory and in their place, and retries if another process has changed them
    /// meanwhile. Once this returns, everything that only a destroyed key sealed or hashed is lost for good.
    pub(super) fn change(&self, change: impl Fn(&mut KeyRing)) -> Result<(), SealingError> {
        let master = self.master.lock();
        loop {
            let mut ring = self.ring.read().clone();
            change(&mut ring);
            match self.place.write(&master, &ring) {
                Err(SealingError::Replaced) => drop(self.take_in(&master)?),
                Err(error) => return Err(error),
                Ok(()) => {
                    *self.ring.write() = ring;
                    return Ok(());
                }
            }
        }
    }
}

/// Seals a payload with the key of its owner: a lead, or the nil uuid for the store's own key.
pub(super) fn sealed(owner: Uuid, with: &SealKey, tree: Tree, key: &[u8], payload: &[u8]) -> Vec<u8> {
    [owner.as_bytes(), &with.seal(&context(tree, owner, key), payload)[..]].concat()
}

pub(super) fn owner(stored: &[u8]) -> Option<Uuid> {
    stored.first_chunk::<OWNER_LEN>().map(|owner| Uuid::from_bytes(*owner))
}

fn context(tree: Tree, owner: Uuid, key: &[u8]) -> Vec<u8> {
    [&[tree.row().prefix], &owner.as_bytes()[..], key].concat()
}
