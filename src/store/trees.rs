//! The table of trees: the records of the store, their keys and their values.
//!
//! A tree is logical: one byte before the key, which is part of the format on disk. A new tree takes a new
//! byte, a retired byte is never used again.

use super::arrival::FeedKey;

/// Whether the records of a tree are sealed, and with which key ([`super::sealing`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// Not sealed: ids, times, amounts, and data of ours that may be public.
    Open,
    /// With the store's own key: secrets that concern no lead, and what stays of erased ones.
    Own,
    /// With the data key of the lead they are about: personal data.
    Lead,
    /// With an ephemeral key (`sealing::key_ring`): personal data kept for some minutes.
    Ephemeral,
}

/// Selects the volume of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeSelector {
    /// Always the base.
    Base,
    /// The volume of the lead whose uuid the key begins with.
    WithLead,
    /// The time in the uuid that the key begins with.
    ByTime,
    /// The arrival time in the key of a feed.
    ByArrival,
}

/// One row of the table of trees.
#[derive(Debug, Clone, Copy)]
pub struct TreeRow {
    /// The tree this row is about.
    pub tree: Tree,
    /// The byte before every key of the tree.
    pub prefix: u8,
    /// The name in logs, metrics and reports.
    pub name: &'static str,
    /// Whether it is sealed, and with which key.
    pub seal: Seal,
    /// Selects the volume (`volumes`) of a record.
    pub kept: VolumeSelector,
}

/// Makes [`Tree`] and [`TREES`] from one list.
macro_rules! trees {
    (
        $count:literal:
        $($(#[$doc:meta])* $tree:ident: $prefix:literal $name:literal $seal:ident $kept:ident;)*
    ) => {
        /// One logical tree of the store. Numbers in keys are big-endian, so that keys sort as numbers do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(usize)]
        pub enum Tree {
            $($(#[$doc])* $tree,)*
        }

        /// Every tree, in the order of [`Tree`].
        pub const TREES: [TreeRow; $count] = [$(TreeRow {
            tree: Tree::$tree,
            prefix: $prefix,
            name: $name,
            seal: Seal::$seal,
            kept: VolumeSelector::$kept,
        }),*];
    };
}

trees! { 44:
    /// The store's facts about itself. Key: name. Value: the last arrival (u64); the watchdog's last write in
    /// ms (u64); with a database under a key with the place of the writing process, also each process's
    /// marker of the last prefill it ended, and the progress of retention.
    Meta: b'm' "meta" Open Base;
    /// Companies, which submit leads. Key: company uuid. Value: company.
    Companies: b'c' "companies" Open Base;
    /// Hashed access tokens. Key: sha-256 of the token. Value: id, company uuid, kind, test.
    Tokens: b't' "tokens" Open Base;
    /// Keys with which partners authenticate their reports. Key: sha-256 of the token, or of a signing key's
    /// id. Value: id, partner key, kind, the key that signatures are made with.
    PartnerKeys: b'u' "partner_keys" Own Base;
    /// Accepted leads. Key: lead uuid. Value: lead as accepted, and its first rate table (JSON).
    Leads: b'l' "leads" Lead WithLead;
    /// Identities for the duplicate rule. Key: company uuid, id of the identity key (u64), hash under it (32
    /// bytes). Value: time of submission in ms (i64), the lead uuid, keyed hash of the identity.
    Identities: b'i' "identities" Lead Base;
    /// Calls about a lead, by their idempotency keys. Key: keyed hash of company uuid and the client's key.
    /// Value: time in ms (i64), keyed hash of the content, uuid of the rate table or lead, or id of a display.
    Repeats: b'k' "repeats" Lead Base;
    /// Rate tables. Key: rate table uuid. Value: the partners asked, and those excluded with the reason.
    RateTables: b'r' "rate_tables" Open ByTime;
    /// Outcomes of partner requests. Key: rate table uuid, sequence (u16). Value: those written together.
    Answers: b'a' "answers" Lead ByTime;
    /// Incomplete rate tables. Key: rate table uuid. Value: deadline in ms (i64), id of the owning process.
    OpenTables: b'o' "open_tables" Open Base;
    /// Rate tables that the lead's own record does not name. Key: lead uuid, rate table uuid. Value: empty.
    LeadTables: b'b' "lead_tables" Open WithLead;
    /// Actions on a lead after its tables were built. Key: lead uuid, action uuid. Value: lead action (JSON).
    LeadActions: b'e' "lead_actions" Lead WithLead;
    /// Partner reports, by the partner's own transaction id. Key: keyed hash of partner key and transaction
    /// id. Value: the report and its receipt (JSON).
    PartnerEvents: b'v' "partner_events" Lead Base;
    /// Partner reports of erased leads. Key: as for partner reports, and when the lead was created in ms (u64).
    /// Value: the report without its lead action, and its receipt (JSON).
    ErasedReports: b'X' "erased_reports" Own Base;
    /// What erased leads are billed and counted by. Key: lead uuid, and rate table uuid or nothing. Value: its
    /// company, times, product types, counted tags and experiments (JSON); of a table the asked seats, offers
    /// and payouts.
    ErasedLeads: b'E' "erased_leads" Own WithLead;
    /// Offers whose click has earned. Key: rate table uuid, with the offer's number at the end. Value: empty.
    PaidClicks: b'q' "paid_clicks" Open Base;
    /// Fundings of offers that were not reversed. Key: as for clicks. Value: count (u64).
    Fundings: b'G' "fundings" Open ByTime;
    /// Clicks on offers. Key: rate table uuid, its last 12 bits the offer's number. Value: count (u64).
    Clicks: b'1' "clicks" Open ByTime;
    /// Decisions after the head of a rate table (the name is of an earlier version). Key: rate table uuid.
    /// Value: start of second look, the partners it asks, those it does not ask with the reason, and those
    /// left unasked.
    LaterDecisions: b'n' "asks" Open ByTime;
    /// Payouts for budgets (the name is of an earlier version). Key: uuid of the report or click. Value:
    /// partner key, product type, ms, cents.
    Postings: b'w' "owed" Open Base;
    /// Paused partners. Key: partner key, zero byte, product type or nothing. Value: the pause (JSON).
    Pauses: b'z' "pauses" Open Base;
    /// Lead events. Key: company uuid, arrival in µs (u64), sequence (u32). Value: list of events.
    LeadEvents: b'h' "lead_events" Open ByArrival;
    /// The feed of payouts. Key: as for lead events. Value: list of payouts.
    LeadPayouts: b'y' "lead_payouts" Own ByArrival;
    /// The feed of client tags. Key: as for lead events. Value: list of tags.
    LeadClientTags: b'g' "lead_client_tags" Lead ByArrival;
    /// Shared templates (the name is of an earlier version). Key: fingerprint (16 bytes). Value: an internal
    /// line, then prepared JSON.
    Templates: b'x' "texts" Open Base;
    /// Visits to the pages of clients. Key: id (u64). Value: the start of a visit.
    Sessions: b's' "sessions" Own Base;
    /// Offers displayed on the pages of clients. Key: id (u64). Value: the display of an offer.
    OfferDisplays: b'd' "offer_displays" Lead Base;
    /// Data keys, which seal personal data. Key: slot (u16), lead uuid. Value: the sealed data key, or the
    /// time of its destruction; the volume of the lead (u32), with a database its time in s.
    LeadKeys: b'j' "lead_keys" Open Base;
    /// Prefills. Key: company uuid, prefill token. Value: data of a lead, expiry, remaining reads (JSON).
    Prefills: b'3' "prefills" Ephemeral Base;
    /// Reports of approval probability. Key: company uuid, report uuid. Value: whether it is a test, and the
    /// report (JSON).
    LoanReports: b'A' "loan_reports" Own Base;
    /// How often previews were opened. Key: day (u32), partner key, zero byte, product type, zero byte, name
    /// of the offer. Value: how often it was opened (u64).
    PreviewClicks: b'P' "preview_clicks" Open Base;
    /// Counts of recorded offer displays. Key: rate table uuid, its last 12 bits the offer's number. Value:
    /// number of its stored displays that were reported by images (u64).
    Displays: b'D' "displays" Open ByTime;
    /// Progress of partner requests that take several calls. Key: rate table uuid, seat (u16). Value:
    /// progress of the calls, the bid, recorded parts of the answers.
    Calls: b'4' "calls" Lead ByTime;
    /// Suppression lists. Key: name of the list, zero byte, id of a part (16 bytes) or nothing. Value:
    /// sha-256s (32 bytes each); the list (JSON).
    Suppressions: b'S' "suppressions" Own Base;
    /// Transcripts of partner calls, where recording is on. Key: rate table uuid, seat (u16), time of writing
    /// in ms (i64). Value: id of a term's key (u64), and the calls of a request, sealed with that key.
    Transcripts: b'T' "transcripts" Lead Base;
    /// Positions of projections in the feeds. Key: name of the projection, company uuid. Value: the arrival
    /// of the first unread record, in us (u64).
    Followers: b'F' "followers" Open Base;
    /// Positions of feed pushes to companies, and their unacknowledged events. Key: name of the subscription,
    /// zero byte, company uuid, kind (a byte), arrival in µs (u64), sequence (u32) and number of the event
    /// (u16), or nothing. Value: the position in the feed; how the last calls ended; of an unacknowledged
    /// event the lead's uuid, its type, attempts and times.
    Postbacks: b'W' "postbacks" Open Base;
    /// Users of the console. Key: name in small letters. Value: role, password hash, whether blocked (JSON).
    Users: b'U' "users" Own Base;
    /// The audit log. Key: 1, number (u64); or 0. Value: actor, action, time and reason, and the hash of the
    /// record before (JSON); number and hash of the last removed record (JSON).
    Audit: b'Y' "audit" Own Base;
    /// Report counts, and the positions they reach to. Key: kind, time zone, zero byte, number of the count
    /// (u32); of names: company uuid, dimension, number of the first (u32); of blocks: company uuid, test,
    /// grain, dimensions, day (u32), part (u32). Value: position of the count; names; blocks of cells.
    Reports: b'R' "reports" Own Base;
    /// Offers clicked and converted, by day. Key: company uuid, test, day (u32). Value: by partner, offer and
    /// rating the fingerprints of the offers that were clicked and of those that converted.
    Ranking: b'C' "ranking" Own Base;
    /// Alert baselines, firing alerts and pending notifications. Key: kind (a byte), then a fingerprint; name
    /// of the receiver, zero byte and number (u64); the hour (u32), with a database the place of the process.
    /// Value: an alert and its times; notifications still due to a receiver; how its last delivery went; rate
    /// tables of an hour; the last backup.
    Alerts: b'L' "alerts" Open Base;
    /// Recent history of the console's figures. Key: the minute (u32), with a database the place of the
    /// process (16 bytes). Value: the metrics of that minute, and the totals of the day so far.
    Charts: b'B' "charts" Open Base;
    /// Cap reservations by process, for processes that share the store. Key: partner key, zero byte, product
    /// type, zero byte, d, w or m, start of the day, week or month in ms (i64). Value: its end, requests of
    /// processes that hold no reservation any more, and by process its reservation and use (JSON).
    Caps: b'Q' "caps" Open Base;
}

impl Tree {
    /// The feeds: trees that are appended to and whose keys are [`FeedKey`]s.
    pub const FEEDS: [Self; 3] = [Self::LeadEvents, Self::LeadPayouts, Self::LeadClientTags];

    /// The row of this tree in [`TREES`].
    pub fn row(self) -> &'static TreeRow {
        &TREES[self as usize]
    }

    /// The name in logs, metrics and reports.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The time in a key, Unix milliseconds; `None` if keys of the tree have none that selects their volume.
    pub(super) fn time_ms(self, key: &[u8]) -> Option<u64> {
        match self.row().kept {
            VolumeSelector::ByTime => Some((u128::from_be_bytes(*key.first_chunk()?) >> 80) as u64),
            VolumeSelector::ByArrival => Some(FeedKey::parse(key)?.arrival_us / 1000),
            VolumeSelector::Base | VolumeSelector::WithLead => None,
        }
    }

    /// The tree whose keys begin with this byte.
    pub(super) fn of_prefix(prefix: u8) -> Option<Self> {
        TREES.iter().find(|row| row.prefix == prefix).map(|row| row.tree)
    }

    /// Splits a key of a volume into its tree and the key in that tree.
    pub(super) fn split(tree_key: &[u8]) -> Option<(Self, &[u8])> {
        let (prefix, key) = tree_key.split_first()?;
        Some((Self::of_prefix(*prefix)?, key))
    }

    /// The key under which a volume holds the record `key` of this tree.
    pub(super) fn tree_key(self, key: &[u8]) -> Vec<u8> {
        [&[self.row().prefix], key].concat()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_enum() {
        for row in &TREES {
            assert_eq!(row.tree.row().name, row.name);
            assert_eq!(Tree::of_prefix(row.prefix), Some(row.tree));
        }
    }

    #[test]
    fn prefixes_and_names_are_unique() {
        let prefixes: HashSet<u8> = TREES.iter().map(|row| row.prefix).collect();
        let names: HashSet<&str> = TREES.iter().map(|row| row.name).collect();
        assert_eq!((prefixes.len(), names.len()), (TREES.len(), TREES.len()));
    }

    /// Update this list when a tree changes its seal, so that no tree is opened unnoticed.
    #[test]
    fn what_may_tell_of_a_person_is_sealed() {
        let sealed =
            |seal| -> Vec<Tree> { TREES.iter().filter(|row| row.seal == seal).map(|row| row.tree).collect() };
        let by_lead = [
            Tree::Leads,
            Tree::Identities,
            Tree::Repeats,
            Tree::Answers,
            Tree::LeadActions,
            Tree::PartnerEvents,
            Tree::LeadClientTags,
            Tree::OfferDisplays,
            Tree::Calls,
            Tree::Transcripts,
        ];
        assert_eq!(sealed(Seal::Lead), by_lead);
        assert_eq!(
            sealed(Seal::Own),
            [
                Tree::PartnerKeys,
                Tree::ErasedReports,
                Tree::ErasedLeads,
                Tree::LeadPayouts,
                Tree::Sessions,
                Tree::LoanReports,
                Tree::Suppressions,
                Tree::Users,
                Tree::Audit,
                Tree::Reports,
                Tree::Ranking
            ]
        );
        assert_eq!(sealed(Seal::Ephemeral), [Tree::Prefills]);
    }
}
