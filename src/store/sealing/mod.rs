//! Sealing: what is kept of a person can be read with the master key only, and with nothing once the person is erased.
//!
//! ```text
//! master key   outside the store: a file, the environment, a systemd credential
//!   └ keys     the file `keys`: the store's own key, a blinding key, 1024 wrapping keys, the keys of identities
//!       └ data keys    the tree `lead_keys`: one for each lead, sealed by the wrapping key of the lead's slot
//!           └ records  of the trees that are sealed by lead (`TREES`), each with the lead that it is about before it
//!   └ keys     also those of what passes (`passing_key`), which leave no trace in what is kept for longer
//! ```
//!
//! The writer seals and the readers open, so there is no way around it: a record of a sealed tree that is about no lead
//! is refused. A sealed record is bound to its tree and key, so that none can be put in another's place.
//!
//! # Why there are wrapping keys
//! What was removed lies in the files of the store for as long as they do. A data key that is removed, sealed by the master key, could be dug
//! up and opened by whoever has that. So the data keys of a slot are sealed by a key of their own that lies in a small file
//! which is replaced as a whole. To erase a lead, the other data keys of its slot are sealed anew under a fresh wrapping
//! key; when that is on the disk, the old wrapping key is forgotten, and with it whatever the disk still has of the lead's.
//! A crash in between leaves both keys in the file, and the next start finishes it.
//!
//! Exchanging the master key is then no more than replacing that file. A [backup](super::backup) has the keys of the
//! instant that it is of.

pub(super) mod data_key;
mod error;
pub(super) mod identity_key;
pub(super) mod key;
pub(super) mod key_file;
pub(super) mod key_place;
pub(super) mod key_ring;
pub(super) mod key_text;
pub(super) mod master_key;
pub(super) mod passing_key;
pub(super) mod slots;

use std::collections::{BTreeSet, HashMap};

use hmac::{Hmac, KeyInit, Mac};
use parking_lot::{Mutex, RwLock};
use sha2::Sha256;
use uuid::Uuid;

use self::data_key::DataKey;
pub use self::error::{GIVE, SealingError};
use self::identity_key::{IdentityKey, TERMS};
use self::key::{Key, SEAL_LEN};
use self::key_place::KeyPlace;
use self::key_ring::KeyRing;
pub(super) use self::master_key::kept_beside;
pub use self::master_key::{MasterKey, MasterKeyError};
use self::passing_key::PassingKey;
use self::slots::Slots;
use super::commit::Without;
use super::disk::DiskResult;
use super::frame::{OVERHEAD, Reason};
use super::raw::{RawValues, read_clear};
use super::trees::{Seal, Tree};
use super::volume_number::{BASE, Number};

const OWNER_LEN: usize = 16;

const _: () = assert!(OVERHEAD == OWNER_LEN + SEAL_LEN, "a frame has room for what sealing adds");

/// The data key that opened last: records of one lead often lie together.
#[derive(Default)]
pub(super) struct LastKey(Option<(Uuid, Key)>);

/// What tells the store of sealed keys from any other, and is the same in its copies, whoever was erased since.
pub(super) fn id_of(text: &[u8], master: &MasterKey) -> Result<[u8; 32], SealingError> {
    let ring = key_text::opened(std::path::Path::new("keys"), master, text)?;
    Ok(blind(&ring, "store", b"id"))
}

/// Whether an erasure among sealed keys was interrupted, which the next start finishes.
pub(super) fn is_unfinished(text: &[u8], master: &MasterKey) -> Result<bool, SealingError> {
    let ring = key_text::opened(std::path::Path::new("keys"), master, text)?;
    Ok(!ring.unfinished().is_empty())
}

/// A keyed hash.
fn blind(ring: &KeyRing, purpose: &str, text: &[u8]) -> [u8; 32] {
    let mut hmac =
        Hmac::<Sha256>::new_from_slice(ring.blinding.bytes()).expect("HMAC takes a key of any length");
    hmac.update(purpose.as_bytes());
    hmac.update(b"\0");
    hmac.update(text);
    hmac.finalize().into_bytes().into()
}

/// The keys of an open store.
pub(super) struct Sealing {
    place: Box<dyn KeyPlace>,
    pub(super) slots: Slots,
    ring: RwLock<KeyRing>,
    /// Held while the file is replaced.
    master: Mutex<MasterKey>,
}

impl Sealing {
    /// Opens the keys in a place, or makes them for a `new` store; a master key that is not given is made beside where the store is.
    pub(super) fn open(
        place: Box<dyn KeyPlace>,
        master: Option<MasterKey>,
        store: &std::path::Path,
        new: bool,
    ) -> Result<Self, SealingError> {
        let (master, ring) = match (master, place.exists()?) {
            (Some(master), true) => {
                let ring = place.open(&master)?;
                (master, ring)
            }
            (None, true) => {
                let sealed_with = place.sealed_with()?;
                return Err(SealingError::NoMasterKey { path: place.path().to_owned(), sealed_with });
            }
            (_, false) if !new => return Err(SealingError::NoKeys(place.path().to_owned())),
            (given, false) => {
                let made = || MasterKey::create_beside(store).map_err(SealingError::MasterKey);
                let master = given.map_or_else(made, Ok)?;
                let ring = place.create(&master)?;
                (master, ring)
            }
        };
        let slots = ring.slots.clone();
        Ok(Self { place, slots, ring: RwLock::new(ring), master: Mutex::new(master) })
    }

    /// A keyed hash: the same for the same text, and not to be guessed from the store alone.
    pub(super) fn blind(&self, purpose: &str, text: &[u8]) -> [u8; 32] {
        blind(&self.ring.read(), purpose, text)
    }

    /// A payload as it was before it went to the disk; `None` when the lead that it is about is erased. The outer error
    /// is the disk's.
    pub(super) fn opened(
        &self,
        from: &(impl RawValues + ?Sized),
        tree: Tree,
        key: &[u8],
        stored: &[u8],
        last: &mut LastKey,
    ) -> DiskResult<Result<Option<Vec<u8>>, Reason>> {
        let seal = tree.row().seal;
        if seal == Seal::Open {
            return Ok(Ok(Some(stored.to_vec())));
        }
        let Some((owner, sealed)) = stored.split_first_chunk::<OWNER_LEN>() else {
            return Ok(Err(Reason::Short));
        };
        let owner = Uuid::from_bytes(*owner);
        let opened = |with: &Key| with.open(&context(tree, owner, key), sealed).map(Some).ok_or(Reason::Seal);
        match seal {
            Seal::Own => return Ok(opened(&self.ring.read().own)),
            // One whose key was destroyed is gone, as one of an erased lead is.
            Seal::Passing => return Ok(self.passing(owner).map_or(Ok(None), |with| opened(&with.key))),
            Seal::Open | Seal::Lead => {}
        }
        if let Some((_, data_key)) = last.0.as_ref().filter(|(of, _)| *of == owner) {
            return Ok(opened(data_key));
        }
        Ok(match self.data_key(from, owner)? {
            Ok(Some(DataKey::Kept(data_key))) => opened(&last.0.insert((owner, data_key)).1),
            Ok(Some(DataKey::Destroyed)) => Ok(None),
            Ok(None) | Err(_) => Err(Reason::DataKey),
        })
    }

    /// The data key of a lead; `None` when there never was one. The outer error is the disk's.
    pub(super) fn data_key(
        &self,
        from: &(impl RawValues + ?Sized),
        lead: Uuid,
    ) -> DiskResult<Result<Option<DataKey>, Reason>> {
        let place = self.slots.place(lead);
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
            // An erasure may have sealed it anew, and forgotten the key before, since it was read; also one of another process. Somebody else
            // here may have taken the other keys in just before they were asked for, so they are tried once more.
            let is_same = read.as_ref() == Some(&kept) && !self.are_others();
            if is_same && is_settled {
                return Ok(Err(Reason::DataKey));
            }
            (read, is_settled) = (Some(kept), is_same);
        }
    }

    /// The keys with which identities of a company were hashed at some time since.
    pub(super) fn identity_keys(&self, company: Uuid, since_ms: i64) -> Vec<IdentityKey> {
        let ring = self.ring.read();
        let keys = ring.identities.iter();
        keys.filter(|key| key.company == company && key.ends_ms > since_ms).cloned().collect()
    }

    /// Every key with which identities were hashed.
    pub(super) fn all_identity_keys(&self) -> Vec<IdentityKey> {
        self.ring.read().identities.clone()
    }

    /// The key with which identities of a company are hashed at a time, begun where there is none. Once this returns it, it survives
    /// a power cut.
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

    /// A key, begun where there is none. Once this returns it, it survives a power cut.
    fn found_or_begun<T>(
        &self,
        find: impl Fn(&KeyRing) -> Option<T>,
        begin: impl Fn(&mut KeyRing),
    ) -> Result<T, SealingError> {
        if let Some(key) = find(&self.ring.read()) {
            return Ok(key);
        }
        self.change(|ring| {
            // Others may have begun it.
            if find(ring).is_none() {
                begin(ring);
            }
        })?;
        Ok(find(&self.ring.read()).expect("it was just begun"))
    }

    /// A key, also one that others have begun.
    fn found<T>(&self, find: impl Fn(&KeyRing) -> Option<T>) -> Option<T> {
        let known = || find(&self.ring.read());
        known().or_else(|| self.are_others().then(known).flatten())
    }

    /// The key that seals what is kept until a term, by its id; `None` when the term has passed.
    pub(super) fn term_key(&self, id: u64) -> Option<Key> {
        let is_it = |key: &&IdentityKey| key.company == TERMS && key.id == id;
        self.found(|ring| ring.identities.iter().find(is_it).map(|key| key.key.clone()))
    }

    /// A key of what passes, by its id.
    fn passing(&self, id: Uuid) -> Option<PassingKey> {
        self.found(|ring| ring.passing(Some(id)).cloned())
    }

    /// Whether there is a key of what passes.
    pub(super) fn has_passing(&self) -> bool {
        self.ring.read().passing(None).is_some()
    }

    /// The key that what passes is sealed with, begun where there is none. Once this returns it, it survives a power cut.
    pub(super) fn passing_key(&self) -> Result<PassingKey, SealingError> {
        self.found_or_begun(|ring| ring.passing(None).cloned(), KeyRing::begin_passing)
    }

    /// Begins another key that what passes is sealed with from now on.
    pub(super) fn begin_passing(&self) -> Result<PassingKey, SealingError> {
        self.change(KeyRing::begin_passing)?;
        Ok(self.ring.read().passing(None).expect("it was just begun").clone())
    }

    /// Gives slots a new wrapping key each, in memory and in the file, beside the one they have. The file is written once for all of
    /// them, and not where there is none to be made.
    pub(super) fn renew(&self, slots: &BTreeSet<u16>) -> Result<(), SealingError> {
        // A slot that is in the middle of it has its new key already.
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

    /// What is to be kept of a data key that there is, sealed by the wrapping key of now.
    pub(super) fn kept(&self, lead: Uuid, key: &Key, volume: Number) -> Vec<u8> {
        data_key::wrap(&self.ring.read(), lead, key, volume)
    }

    /// How many wrapping keys the slot of a lead had before the one of now.
    pub(super) fn generation(&self, lead: Uuid) -> u32 {
        self.ring.read().current(self.slots.slot_of(lead)).generation
    }

    /// What is kept of the data keys of a slot, sealed anew, or destroyed, or nothing any more. Those that cannot be read
    /// stay as they are.
    pub(super) fn rewrapped(
        &self,
        kept: HashMap<Uuid, Vec<u8>>,
        without: &Without,
    ) -> Vec<(Uuid, Option<Vec<u8>>)> {
        let ring = self.ring.read();
        let rewrap = |(lead, kept): (Uuid, Vec<u8>)| {
            let volume = match without {
                Without::Before(expiry) => data_key::came_s(lead, &kept).unwrap_or_else(|| expiry.at_s()),
                _ => data_key::volume_of(&kept),
            };
            let destroyed_ms = data_key::destroyed_at(&kept);
            let is_forgotten = match without {
                Without::Volume(dropped, _) => {
                    destroyed_ms.is_some() && (BASE + 1..*dropped).contains(&volume)
                }
                Without::Before(expiry) => destroyed_ms.is_some_and(|at_ms| at_ms < expiry.forgotten_ms),
                Without::Nothing | Without::Leads(..) => false,
            };
            if is_forgotten {
                return Some((lead, None));
            }
            let destroyed_now = match without {
                Without::Leads(erased, at_ms) if erased.contains(&lead) => Some(*at_ms),
                Without::Volume(dropped, at_ms) if volume == *dropped => Some(*at_ms),
                Without::Before(expiry) if destroyed_ms.is_none() && volume < expiry.before => {
                    Some(expiry.at_ms)
                }
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

    /// The slots that a crash has left in the middle of being sealed anew.
    pub(super) fn unfinished(&self) -> Vec<u16> {
        self.ring.read().unfinished()
    }

    /// Forgets the wrapping keys of slots that seal no more, in memory and in the file. Once this returns, what only they had
    /// sealed is lost for good.
    pub(super) fn forget(&self, slots: &BTreeSet<u16>) -> Result<(), SealingError> {
        self.change(|ring| slots.iter().for_each(|slot| ring.forget(*slot)))
    }

    /// Seals the keys with another master key. Once this returns, the one before opens nothing any more, and after a
    /// crash before it one of the two opens everything.
    pub(super) fn exchange_master_key(&self, new: MasterKey) -> Result<(), SealingError> {
        let mut master = self.master.lock();
        self.take_in(&master)?;
        self.place.write(&new, &self.ring.read())?;
        *master = new;
        Ok(())
    }

    /// The master key.
    pub(super) fn master_key(&self) -> MasterKey {
        self.master.lock().clone()
    }

    /// What the file of the keys would hold if they were sealed by this master key; without those of what passes, which a backup
    /// would outlive.
    pub(super) fn key_file_text(&self, master: &MasterKey) -> Vec<u8> {
        key_text::text(master, &self.ring.read().without_passing())
    }

    /// The store's own key.
    pub(super) fn own(&self) -> Key {
        self.ring.read().own.clone()
    }

    /// Takes the keys in that others have begun or forgotten since, where the store is shared; whether there were any.
    pub(super) fn refresh(&self) -> Result<bool, SealingError> {
        self.take_in(&self.master.lock())
    }

    /// Whether the keys are others by now, where it cannot be said without asking: only who finds nothing under those that are known
    /// asks, and has then the others.
    fn are_others(&self) -> bool {
        self.refresh().unwrap_or_else(|error| {
            tracing::warn!(%error, "it cannot be seen whether the keys of the store are others by now");
            false
        })
    }

    fn take_in(&self, master: &MasterKey) -> Result<bool, SealingError> {
        let Some(ring) = self.place.replaced(master)? else { return Ok(false) };
        *self.ring.write() = ring;
        Ok(true)
    }

    /// Changes the keys, in memory and where they are kept; again where others have changed them meanwhile. Once this returns, what only a
    /// forgotten key had sealed or hashed is lost for good.
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

/// A payload as it goes to the disk, sealed with the key of its owner: a lead, or nobody where it is the store's own.
pub(super) fn sealed(owner: Uuid, with: &Key, tree: Tree, key: &[u8], payload: &[u8]) -> Vec<u8> {
    [owner.as_bytes(), &with.seal(&context(tree, owner, key), payload)[..]].concat()
}

/// The lead that a sealed payload is about, read without opening it.
pub(super) fn owner(stored: &[u8]) -> Option<Uuid> {
    stored.first_chunk::<OWNER_LEN>().map(|owner| Uuid::from_bytes(*owner))
}

/// What a sealed record is bound to.
fn context(tree: Tree, owner: Uuid, key: &[u8]) -> Vec<u8> {
    [&[tree.row().prefix], &owner.as_bytes()[..], key].concat()
}
