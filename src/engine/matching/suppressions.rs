//! Suppression lists in memory: before a partner is asked, checks whether the person is on one of its lists.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use metrics::gauge;
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};

use offerd_base::telemetry::metrics::SUPPRESSION_ENTRIES;
use offerd_model::{Lead, SuppressionDigest, SuppressionKind, has_unreadable_name};
use offerd_partners::Seat;
use offerd_store::opt_outs::{EVERYWHERE, MAY_LACK, OptOuts, SuppressionDoubt};
use offerd_store::suppressions::{SuppressionList, SuppressionLists};
use offerd_store::{ReadError, Store};

/// The current lists. Shared by everything that asks.
#[derive(Debug, Default)]
pub struct Suppressions {
    lists: RwLock<Arc<SuppressionSnapshot>>,
    /// Serialises read-then-publish of the lists, so a stale read never overwrites a newer one.
    loading: Mutex<()>,
    /// The file with the suppression key.
    pub key_file: PathBuf,
}

/// A snapshot of the lists.
#[derive(Debug, Default)]
pub struct SuppressionSnapshot {
    named: BTreeMap<String, LoadedList>,
    /// People who opted out of all partners.
    pub opt_outs: OptOuts,
    /// Why the lists could not be read, if so; a sentence.
    pub unread: Option<String>,
    /// Uncertainty that a salvage or restore left about them.
    doubt: Option<SuppressionDoubt>,
    may_lack: bool,
}

#[derive(Debug)]
struct LoadedList {
    about: SuppressionList,
    digests: Vec<SuppressionDigest>,
}

/// Why a partner may not be asked about a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SuppressionReason {
    /// The person is on this list.
    Listed(String),
    /// The partner names this list, but nothing was ever added to it, so its entries are unknown.
    Missing(String),
    /// The person opted out of all partners.
    OptedOut,
    /// Letters of the person's name are lost, so no list of names can be proved to lack it.
    Unreadable,
    /// There are opt-outs, but the key is missing, or damage or a salvage may have lost some; a sentence.
    Locked(String),
}

/// The digests of a lead's person by kind, each computed on first use.
#[derive(Debug)]
pub struct Digests<'l> {
    lead: &'l Lead,
    /// Those of the lead before it grew.
    earlier: &'l [(SuppressionKind, SuppressionDigest)],
    by_kind: [OnceCell<Vec<SuppressionDigest>>; SuppressionKind::ALL.len()],
}

/// The lists that a person is on, and all known lists: the input of a command that checks a lead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListMembership {
    /// The lists with the person.
    pub listed: Vec<String>,
    /// Every list.
    pub known: Vec<String>,
    /// Whether the person opted out of all partners.
    #[serde(default, rename = "leftAlone")]
    pub opted_out: bool,
    /// The lists that may have the person, since letters of their name are lost; [`EVERYWHERE`] for opt-outs.
    #[serde(default)]
    pub uncertain: Vec<String>,
}

impl Suppressions {
    /// The lists of a store. If it cannot be read, no partner is asked until they are [loaded](Self::load).
    pub fn of(store: &Store, key_file: PathBuf) -> Self {
        let suppressions = Self { key_file, ..Self::default() };
        if let Err(failure) = suppressions.load(store) {
            let told = format!(
                "cannot read the suppression lists, so no partner is asked: {failure}; `offerd store check` \
                    names the damage, and `offerd store salvage` recovers what is readable"
            );
            tracing::error!("{told}");
            let opt_outs = OptOuts::Locked(told.clone());
            let unknown = SuppressionSnapshot { opt_outs, unread: Some(told), ..Default::default() };
            *suppressions.lists.write() = Arc::new(unknown);
        }
        suppressions
    }

    /// Whether the key in use, if any, is still in its file.
    pub fn has_key(&self) -> bool {
        self.now().opt_outs.is_known_by(&self.key_file)
    }

    /// Reloads all lists from the store; a second for some millions of entries.
    ///
    /// # Errors
    /// [`ReadError`] when the store cannot be read; the current lists stay in force.
    pub fn load(&self, store: &Store) -> Result<(), ReadError> {
        let _loading = self.loading.lock();
        let read = SuppressionLists::of(store.clone()).read()?.into_iter();
        let named = read.map(|(name, (about, digests))| (name, LoadedList { about, digests })).collect();
        let (opt_outs, doubt) = (OptOuts::read(store, &self.key_file)?, SuppressionDoubt::read(store)?);
        let may_lack = store.is_base_damaged();
        let loaded = SuppressionSnapshot { named, opt_outs, doubt, may_lack, unread: None };
        for (name, list) in &loaded.named {
            gauge!(SUPPRESSION_ENTRIES, "list" => name.clone()).set(list.digests.len() as f64);
        }
        let opt_outs: usize = loaded.opt_outs.all().map(|(_, count)| count).sum();
        gauge!(SUPPRESSION_ENTRIES, "list" => EVERYWHERE).set(opt_outs as f64);
        if let Some(told) = loaded.locked()
            && self.now().locked() != Some(told)
        {
            tracing::error!("{told}");
        }
        let mut now = self.lists.write();
        for name in now.named.keys().filter(|name| !loaded.named.contains_key(*name)) {
            gauge!(SUPPRESSION_ENTRIES, "list" => name.clone()).set(0.0);
        }
        *now = Arc::new(loaded);
        Ok(())
    }

    /// Why no partner is asked about anyone, if opt-outs are unreadable or may be lost; a sentence.
    pub fn locked(&self) -> Option<String> {
        self.now().locked().map(str::to_owned)
    }

    /// A caveat about lists that are in force nevertheless; a sentence.
    pub fn remark(&self) -> Option<String> {
        match &self.now().doubt {
            Some(SuppressionDoubt::OfBackup(told)) => Some(told.clone()),
            Some(SuppressionDoubt::MayBeLost(_) | SuppressionDoubt::Restored(_)) | None => None,
        }
    }

    /// The current lists. A holder keeps this version across changes.
    pub fn now(&self) -> Arc<SuppressionSnapshot> {
        Arc::clone(&self.lists.read())
    }
}

impl SuppressionSnapshot {
    fn locked(&self) -> Option<&str> {
        match (&self.opt_outs, &self.doubt) {
            (OptOuts::Locked(told), _)
            | (_, Some(SuppressionDoubt::MayBeLost(told) | SuppressionDoubt::Restored(told))) => Some(told),
            (OptOuts::Nobody | OptOuts::Known(..), Some(SuppressionDoubt::OfBackup(_)) | None) => None,
        }
    }

    /// What keeps every partner from being asked about a person.
    pub fn against_all(&self, digests: &Digests) -> Option<SuppressionReason> {
        if let Some(told) = self.locked() {
            return Some(SuppressionReason::Locked(told.to_owned()));
        }
        let asked =
            |(list, _): (&SuppressionList, usize)| self.opt_outs.has_any(list.kind, digests.of(list.kind));
        let may_have = |(list, _): (&SuppressionList, usize)| digests.may_be_on(list);
        match self.opt_outs.all().any(asked) {
            true => Some(SuppressionReason::OptedOut),
            false => self.opt_outs.all().any(may_have).then_some(SuppressionReason::Unreadable),
        }
    }

    /// What keeps this partner from being asked about a person.
    pub fn against(&self, seat: &Seat, digests: &Digests) -> Option<SuppressionReason> {
        if self.may_lack && !seat.identity.suppress.is_empty() {
            return Some(SuppressionReason::Locked(MAY_LACK.to_owned()));
        }
        let by = SuppressionReason::by(seat, |name| {
            self.named.get(name).map(|list| list.has_any(digests.of(list.about.kind)))
        });
        let may_have = |name: &String| digests.may_be_on(&self.named[name].about);
        by.or_else(|| seat.identity.suppress.iter().any(may_have).then_some(SuppressionReason::Unreadable))
    }

    /// The first list that a partner names and that is missing.
    pub fn missing<'s>(&self, seat: &'s Seat) -> Option<&'s str> {
        seat.identity.suppress.iter().find(|name| !self.named.contains_key(*name)).map(String::as_str)
    }

    /// The lists that a person is on, and all known lists.
    pub fn naming(&self, digests: &Digests) -> ListMembership {
        let is_on = |list: &LoadedList| list.has_any(digests.of(list.about.kind));
        let listed = self.named.iter().filter(|(_, list)| is_on(list)).map(|(name, _)| name.clone());
        let against_all = self.against_all(digests);
        let uncertain = self.named.values().filter(|list| digests.may_be_on(&list.about));
        let uncertain = uncertain.map(|list| list.about.name.clone());
        let everywhere = (against_all == Some(SuppressionReason::Unreadable)).then(|| EVERYWHERE.to_owned());
        ListMembership {
            listed: listed.collect(),
            known: self.named.keys().cloned().collect(),
            opted_out: against_all == Some(SuppressionReason::OptedOut),
            uncertain: uncertain.chain(everywhere).collect(),
        }
    }

    /// Every list with its number of entries.
    pub fn all(&self) -> impl Iterator<Item = (&SuppressionList, usize)> {
        self.named.values().map(|list| (&list.about, list.digests.len()))
    }

    /// The number of entries of a list.
    pub fn entries(&self, name: &str) -> usize {
        self.named.get(name).map_or(0, |list| list.digests.len())
    }
}

impl LoadedList {
    fn has_any(&self, digests: &[SuppressionDigest]) -> bool {
        digests.iter().any(|digest| self.digests.binary_search(digest).is_ok())
    }
}

impl<'l> Digests<'l> {
    /// The digests of a lead's person.
    pub fn new(lead: &'l Lead) -> Self {
        Self::with_earlier(lead, &[])
    }

    /// The digests of a lead's people, also of those that it named before it grew.
    pub fn with_earlier(lead: &'l Lead, earlier: &'l [(SuppressionKind, SuppressionDigest)]) -> Self {
        Self { lead, earlier, by_kind: Default::default() }
    }

    fn of(&self, kind: SuppressionKind) -> &[SuppressionDigest] {
        let earlier = self.earlier.iter().filter(|(of, _)| *of == kind).map(|(_, digest)| *digest);
        self.by_kind[kind as usize]
            .get_or_init(|| kind.of_lead(self.lead).into_iter().chain(earlier).collect())
    }

    /// Whether a list may have somebody of the lead although no digest is on it.
    fn may_be_on(&self, list: &SuppressionList) -> bool {
        list.kind == SuppressionKind::Person && has_unreadable_name(self.lead)
    }
}

impl ListMembership {
    /// What keeps a partner from being asked.
    pub fn against(&self, seat: &Seat) -> Option<SuppressionReason> {
        if self.opted_out {
            return Some(SuppressionReason::OptedOut);
        }
        let by =
            SuppressionReason::by(seat, |name| self.known.contains(name).then(|| self.listed.contains(name)));
        let named = || seat.identity.suppress.iter().map(String::as_str).chain([EVERYWHERE]);
        let is_uncertain = |name: &str| self.uncertain.iter().any(|list| list == name);
        by.or_else(|| named().any(is_uncertain).then_some(SuppressionReason::Unreadable))
    }
}

impl SuppressionReason {
    /// Checks the lists that a partner names; `is_on` returns `None` for a missing list.
    fn by(seat: &Seat, is_on: impl Fn(&String) -> Option<bool>) -> Option<Self> {
        seat.identity.suppress.iter().find_map(|name| match is_on(name) {
            None => Some(Self::Missing(name.clone())),
            Some(is_on) => is_on.then(|| Self::Listed(name.clone())),
        })
    }

    /// What was wanted, and what was found instead.
    pub fn wanted_and_found(&self) -> (&'static str, String) {
        match self {
            Self::Listed(name) => {
                ("a person on none of its suppression lists", format!("one who is on `{name}`"))
            }
            Self::OptedOut => ("a person who has not opted out", "one who opted out".to_owned()),
            Self::Unreadable => (
                "a name that can be compared with suppression lists",
                "one that has lost letters (`?`, `\u{fffd}`) or has an escape in their place".to_owned(),
            ),
            Self::Locked(told) => ("the opt-out list and its key", told.clone()),
            Self::Missing(name) => (
                "every suppression list of its file",
                format!("no list `{name}`; add it with `offerd suppressions add {name} FILE --kind KIND`"),
            ),
        }
    }
}
