//! The table of trees: what lies in the store, under which key, who writes it and who reads it.
//!
//! A tree is logical: one byte before the key, all together in the record files and the index of each [volume](super::volumes).
//! The prefix bytes are part of the format on disk; a new tree takes a new byte, a retired byte is never used again.

/// Whether the records of a tree are sealed, and with what ([`super::sealing`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// Not at all: ids, times, amounts, and what is ours to publish.
    Open,
    /// With the store's own key: what is secret and of no lead.
    Own,
    /// With the data key of the lead that they are about: what may tell of a person.
    Lead,
    /// With a passing key (`sealing::passing_key`): what may tell of a person, and is kept for some minutes.
    Passing,
}

/// By what the volume of a record is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// By nothing: it lies in the base.
    Base,
    /// By the volume of the lead whose uuid the key begins with.
    WithLead,
    /// By the time in the uuid that the key begins with.
    ByTime,
    /// By the time of arrival in a key of a feed.
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
    /// Whether it is sealed.
    pub seal: Seal,
    /// By what the volume (`volumes`) of a record is chosen.
    pub kept: Kept,
}

/// Makes [`Tree`] and [`TREES`] of one list.
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
            kept: Kept::$kept,
        }),*];
    };
}

trees! { 41:
    /// The store's facts about itself.
    ///
    /// Key: name.
    /// Value: the last arrival (u64), the watchdog's last write in ms (u64); in a database with the place of the process
    /// that wrote, and what it wrote last of the prefills that ended by it; how far what is too old is removed there.
    Meta: b'm' "meta" Open Base;
    /// Supply partners.
    ///
    /// Key: company uuid.
    /// Value: company.
    Companies: b'c' "companies" Open Base;
    /// Hashed access tokens.
    ///
    /// Key: sha-256 of the token.
    /// Value: id, company uuid, kind, test.
    Tokens: b't' "tokens" Open Base;
    /// Keys with which partners report.
    ///
    /// Key: sha-256 of the token, or of a signing key's id.
    /// Value: id, partner key, kind, what signatures are made with.
    PartnerKeys: b'u' "partner_keys" Own Base;
    /// Accepted leads.
    ///
    /// Key: lead uuid.
    /// Value: lead as accepted, and its first rate table (JSON).
    Leads: b'l' "leads" Lead WithLead;
    /// Who submitted which identity when, for the duplicate rule.
    ///
    /// Key: company uuid, id of the identity key (u64), hash under it (32 bytes).
    /// Value: time of submission in ms (i64), the lead uuid, keyed hash of the identity.
    Identities: b'i' "identities" Lead Base;
    /// Submits, by their idempotency keys.
    ///
    /// Key: keyed hash of company uuid and the client's key.
    /// Value: time in ms (i64), keyed hash of the body, rate table uuid.
    Repeats: b'k' "repeats" Lead Base;
    /// Rate tables, without their answers.
    ///
    /// Key: rate table uuid.
    /// Value: rate table without its answers: who is asked, who was kept out and by what.
    RateTables: b'r' "rate_tables" Open ByTime;
    /// One recorded outcome of one ask.
    ///
    /// Key: rate table uuid, sequence (u16).
    /// Value: outcomes of asks that were written together.
    Answers: b'a' "answers" Lead ByTime;
    /// Rate tables that are not complete yet.
    ///
    /// Key: rate table uuid.
    /// Value: the deadline in ms (i64), the id of the process that sees to it.
    OpenTables: b'o' "open_tables" Open Base;
    /// From a lead to its rate tables that its own record does not name.
    ///
    /// Key: lead uuid, rate table uuid.
    /// Value: nothing: the key says it.
    LeadTables: b'b' "lead_tables" Open WithLead;
    /// What was done with a lead since its tables were built.
    ///
    /// Key: lead uuid, action uuid.
    /// Value: lead action (JSON).
    LeadActions: b'e' "lead_actions" Lead WithLead;
    /// What partners reported, by their own ids of it.
    ///
    /// Key: keyed hash of partner key and transaction id.
    /// Value: the report and its receipt (JSON).
    PartnerEvents: b'v' "partner_events" Lead Base;
    /// Offers whose click has earned its payout.
    ///
    /// Key: rate table uuid, its last 12 bits the offer's number.
    /// Value: nothing: the key says it.
    PaidClicks: b'q' "paid_clicks" Open Base;
    /// How often offers were opened.
    ///
    /// Key: rate table uuid, its last 12 bits the offer's number.
    /// Value: how often it was opened (u64).
    Clicks: b'1' "clicks" Open ByTime;
    /// Who was asked, where the rate table does not say so.
    ///
    /// Key: rate table uuid.
    /// Value: when second look began, whom it asks, whom not and why, who was not asked after all.
    Asks: b'n' "asks" Open ByTime;
    /// Payouts as they count towards budgets.
    ///
    /// Key: uuid of the report or click.
    /// Value: partner key, product type, time in ms, cents.
    Postings: b'w' "owed" Open Base;
    /// Partners that the command line has paused.
    ///
    /// Key: partner key, zero byte, product type or nothing.
    /// Value: the pause (JSON).
    Pauses: b'z' "pauses" Open Base;
    /// The feed of lead events, by company, in order of arrival.
    ///
    /// Key: company uuid, arrival in µs (u64), sequence (u32).
    /// Value: list of happenings.
    LeadEvents: b'h' "lead_events" Open ByArrival;
    /// The feed of payouts, likewise.
    ///
    /// Key: company uuid, arrival in µs (u64), sequence (u32).
    /// Value: list of payouts.
    LeadPayouts: b'y' "lead_payouts" Open ByArrival;
    /// The feed of client tags, likewise.
    ///
    /// Key: company uuid, arrival in µs (u64), sequence (u32).
    /// Value: list of tags.
    LeadClientTags: b'g' "lead_client_tags" Lead ByArrival;
    /// Templates that many records share.
    ///
    /// Key: fingerprint (16 bytes).
    /// Value: a line for ourselves, then prepared JSON.
    Templates: b'x' "texts" Open Base;
    /// Visits to the pages of clients.
    ///
    /// Key: id (u64).
    /// Value: the start of a visit.
    Sessions: b's' "sessions" Own Base;
    /// Offers that were seen on the pages of clients.
    ///
    /// Key: id (u64).
    /// Value: the display of an offer.
    OfferDisplays: b'd' "offer_displays" Lead Base;
    /// What personal data are sealed with.
    ///
    /// Key: slot (u16), lead uuid.
    /// Value: the sealed data key, or when it was destroyed; the volume of the lead (u32), in a database when it came in s.
    LeadKeys: b'j' "lead_keys" Open Base;
    /// Leads' data that wait to be taken up, for some minutes.
    ///
    /// Key: company uuid, prefill token.
    /// Value: the data of a lead, until when, how often they may still be read (JSON).
    Prefills: b'3' "prefills" Passing Base;
    /// Reports of approval probability.
    ///
    /// Key: company uuid, report uuid.
    /// Value: whether it is of a test, and the report (JSON).
    LoanReports: b'A' "loan_reports" Own Base;
    /// How often previews were opened.
    ///
    /// Key: day (u32), partner key, zero byte, product type, zero byte, name of the offer.
    /// Value: how often it was opened (u64).
    PreviewClicks: b'P' "preview_clicks" Open Base;
    /// How many displays of offers are kept.
    ///
    /// Key: rate table uuid, its last 12 bits the offer's number.
    /// Value: how many of its displays that images told of are kept (u64).
    Displays: b'D' "displays" Open ByTime;
    /// How far the calls of asks had come that take several.
    ///
    /// Key: rate table uuid, seat (u16).
    /// Value: how far the calls of an ask had come, the bid, what was kept of answers.
    Calls: b'4' "calls" Lead ByTime;
    /// Suppression lists.
    ///
    /// Key: name of the list, zero byte, id of a part (16 bytes) or nothing.
    /// Value: sha-256s (32 bytes each); the list (JSON).
    Suppressions: b'S' "suppressions" Own Base;
    /// What partners were sent and answered, where that is kept.
    ///
    /// Key: rate table uuid, seat (u16), when it was written in ms (i64).
    /// Value: id of a term's key (u64), and sealed with that the calls of an ask.
    Transcripts: b'T' "transcripts" Lead Base;
    /// How far projections have read the feeds.
    ///
    /// Key: name of the projection, company uuid.
    /// Value: the arrival of the first record that is not read, in us (u64).
    Followers: b'F' "followers" Open Base;
    /// How far the feeds are pushed to companies, and what of them is not acknowledged.
    ///
    /// Key: name of the subscription, zero byte, company uuid, what it is (a byte), arrival in µs (u64), sequence (u32) and
    /// which event (u16), or nothing.
    /// Value: how far the feed is taken in; how calls ended last; of an event that is not acknowledged the lead's uuid, its
    /// type, attempts and times.
    Postbacks: b'W' "postbacks" Open Base;
    /// Who uses the console.
    ///
    /// Key: name in small letters.
    /// Value: role, hash of the password, whether they are kept out (JSON).
    Users: b'U' "users" Own Base;
    /// Who did what.
    ///
    /// Key: 1, number (u64); or 0.
    /// Value: who did what, when and why, and the hash of the record before (JSON); number and hash of the last that went
    /// (JSON).
    Audit: b'Y' "audit" Own Base;
    /// What is counted for reports, and how far.
    ///
    /// Key: what it is, time zone, zero byte, which count of it (u32); of names: company uuid, dimension, number of the
    /// first (u32); of blocks: company uuid, test, grain, dimensions, day (u32), part (u32).
    /// Value: how far is counted; names; blocks of cells.
    Reports: b'R' "reports" Own Base;
    /// Which offers were clicked on and converted, by day.
    ///
    /// Key: company uuid, test, day (u32).
    /// Value: by partner, offer and rating the fingerprints of offers that were clicked on, and of those that converted.
    Ranking: b'C' "ranking" Own Base;
    /// What alerts go by, which fire, and who is still to be told.
    ///
    /// Key: what it is (a byte), then a fingerprint; name of the receiver, zero byte and number (u64); the hour (u32), in a
    /// database the place of the process.
    /// Value: an alert and its times; what a receiver is still to be told; how it took the last; rate tables of an hour;
    /// the last backup.
    Alerts: b'L' "alerts" Open Base;
    /// How the figures of the console went lately.
    ///
    /// Key: the minute (u32), in a database the place of the process (16 bytes).
    /// Value: what the metrics said in it, and what the day had brought by then.
    Charts: b'B' "charts" Open Base;
    /// What of the caps of seats is handed out to processes that share the store.
    ///
    /// Key: partner key, zero byte, product type, zero byte, d, w or m, when the day, week or month begins in ms (i64).
    /// Value: when it ends, asks of processes that hold nothing any more, and by process what it may ask and has (JSON).
    Caps: b'Q' "caps" Open Base;
}

impl Tree {
    /// The trees that are appended to, and whose keys are [`FeedKey`](super::FeedKey)s.
    pub const FEEDS: [Self; 3] = [Self::LeadEvents, Self::LeadPayouts, Self::LeadClientTags];

    /// The row of this tree in [`TREES`].
    pub fn row(self) -> &'static TreeRow {
        &TREES[self as usize]
    }

    /// The name in logs, metrics and reports.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The tree whose keys begin with this byte.
    pub(super) fn of_prefix(prefix: u8) -> Option<Self> {
        TREES.iter().find(|row| row.prefix == prefix).map(|row| row.tree)
    }

    /// The tree that a key of a volume is of, and the key in it.
    pub(super) fn split(sled_key: &[u8]) -> Option<(Self, &[u8])> {
        let (prefix, key) = sled_key.split_first()?;
        Some((Self::of_prefix(*prefix)?, key))
    }

    /// The key under which a volume holds the record `key` of this tree.
    pub(super) fn sled_key(self, key: &[u8]) -> Vec<u8> {
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

    /// A tree that is made open, by whatever change, has to be taken out here too.
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
                Tree::Sessions,
                Tree::LoanReports,
                Tree::Suppressions,
                Tree::Users,
                Tree::Audit,
                Tree::Reports,
                Tree::Ranking
            ]
        );
        assert_eq!(sealed(Seal::Passing), [Tree::Prefills]);
    }
}
