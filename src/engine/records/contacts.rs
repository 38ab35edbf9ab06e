//! The contacts by which a lead is found: its mail addresses and telephone numbers.

use super::writing;
use offerd_model::{Lead, SuppressionDigest, SuppressionKind};
use offerd_store::contacts::LeadContacts;
use offerd_store::entities::LeadRecord;
use offerd_store::{Commit, Store};

/// The kinds of contacts.
pub const KINDS: [SuppressionKind; 2] = [SuppressionKind::Email, SuppressionKind::Phone];

/// A contact in the index: a [keyed hash](Store::blind) of its kind and the digest of its normal form.
pub fn contact(store: &Store, kind: SuppressionKind, digest: &SuppressionDigest) -> [u8; 32] {
    store.blind("contact", &[kind.word().as_bytes(), b"\0", digest].concat())
}

/// The contacts of a lead.
pub fn contacts(store: &Store, lead: &Lead) -> Vec<[u8; 32]> {
    let of_kind = |kind: SuppressionKind| {
        kind.normal_of_lead(lead).into_iter().map(move |digest| contact(store, kind, &digest))
    };
    KINDS.into_iter().flat_map(of_kind).collect()
}

/// The commit that indexes a new lead by its contacts; `None` where it has none.
pub fn found_by(store: &Store, record: &LeadRecord) -> Option<Commit> {
    let contacts = contacts(store, &record.lead);
    let found_by = |commit: Commit, contact: &[u8; 32]| commit.found_by(*contact, record.created_at);
    (!contacts.is_empty()).then(|| contacts.iter().fold(Commit::new().about(record.uuid), found_by))
}

/// A merged lead, keeping the digests that name its people as it gave them before, so that no merge
/// undoes an opt-out.
#[must_use]
pub fn kept(earlier: &LeadRecord, merged: LeadRecord) -> LeadRecord {
    let digests = |lead: &Lead| -> Vec<(SuppressionKind, SuppressionDigest)> {
        let of_kind =
            |kind: SuppressionKind| kind.of_lead(lead).into_iter().map(move |digest| (kind, digest));
        SuppressionKind::ALL.into_iter().flat_map(of_kind).collect()
    };
    let now = digests(&merged.lead);
    let mut earlier_digests = digests(&earlier.lead);
    earlier_digests.extend_from_slice(&earlier.earlier_digests);
    earlier_digests.retain(|digest| !now.contains(digest));
    LeadRecord { earlier_digests, ..merged }
}

/// The commit of a merged lead, which also indexes its contacts: the new ones, and the earlier ones, which
/// the index may not have reached yet and which the merged lead no longer has.
pub fn merged(store: &Store, (earlier, merged): (&LeadRecord, &LeadRecord)) -> Commit {
    let known = contacts(store, &earlier.lead);
    let new = contacts(store, &merged.lead).into_iter().filter(|contact| !known.contains(contact));
    let new = new.map(|contact| (contact, merged.updated_at)).collect::<Vec<_>>();
    let earlier_ones = known.into_iter().map(|contact| (contact, earlier.created_at));
    let found_by = |commit: Commit, (contact, at_ms)| commit.found_by(contact, at_ms);
    earlier_ones.chain(new).fold(writing::merged_lead(earlier, merged), found_by)
}

/// The contacts to remove when the lead is erased.
pub fn contacts_of(store: &Store, record: &LeadRecord) -> LeadContacts {
    let (from_ms, until_ms) = (record.created_at, record.updated_at);
    LeadContacts { lead: record.uuid, contacts: contacts(store, &record.lead), from_ms, until_ms }
}
