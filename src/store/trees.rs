//! The table of trees: what lies in the store, under which key, who writes it and who reads it.
//!
//! A tree is logical: one byte before the key, all together in the record files and the index of each [volume](super::volumes).
//! The prefix bytes are part of the format on disk; a new tree takes a new byte, a retired byte is never used again.

/// One logical tree of the store. [`TREES`] lists what each holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum Tree {
    /// The store's facts about itself.
    Meta,
    /// Supply partners.
    Companies,
    /// Hashed access tokens.
    Tokens,
    /// Keys with which partners report.
    PartnerKeys,
    /// Accepted leads.
    Leads,
    /// Who submitted which identity when, for the duplicate rule.
    Identities,
    /// Submits, by their idempotency keys.
    Repeats,
    /// Rate tables, without their answers.
    RateTables,
    /// One recorded outcome of one ask.
    Answers,
    /// Rate tables that are not complete yet.
    OpenTables,
    /// From a lead to its rate tables that its own record does not name.
    LeadTables,
    /// What was done with a lead since its tables were built.
    LeadActions,
    /// What partners reported, by their own ids of it.
    PartnerEvents,
    /// Offers whose click has earned its payout.
    PaidClicks,
    /// How often offers were opened.
    Clicks,
    /// Who was asked, where the rate table does not say so.
    Asks,
    /// Payouts as they count towards budgets.
    Postings,
    /// Partners that the command line has paused.
    Pauses,
    /// The feed of lead events, by company, in order of arrival.
    LeadEvents,
    /// The feed of payouts, likewise.
    LeadPayouts,
    /// The feed of client tags, likewise.
    LeadClientTags,
    /// Templates that many records share.
    Templates,
    /// Visits to the pages of clients.
    Sessions,
    /// Offers that were seen on the pages of clients.
    OfferDisplays,
    /// What personal data are sealed with.
    LeadKeys,
    /// Leads' data that wait to be taken up, for some minutes.
    Prefills,
    /// Reports of approval probability.
    LoanReports,
    /// How often previews were opened.
    PreviewClicks,
    /// How many displays of offers are kept.
    Displays,
    /// How far the calls of asks had come that take several.
    Calls,
    /// Suppression lists.
    Suppressions,
    /// What partners were sent and answered, where that is kept.
    Transcripts,
    /// How far projections have read the feeds.
    Followers,
    /// How far the feeds are pushed to companies, and what of them is not acknowledged.
    Postbacks,
    /// Who uses the console.
    Users,
    /// Who did what.
    Audit,
    /// What is counted for reports, and how far.
    Reports,
    /// Which offers were clicked on and converted, by day.
    Ranking,
    /// What alerts go by, which fire, and who is still to be told.
    Alerts,
    /// How the figures of the console went lately.
    Charts,
    /// What of the caps of seats is handed out to processes that share the store.
    Caps,
}

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
    /// The layout of a key. Numbers are big-endian, so that keys sort as numbers do.
    pub key: &'static str,
    /// What a value holds.
    pub value: &'static str,
    /// Whether it is sealed.
    pub seal: Seal,
    /// By what the volume (`volumes`) of a record is chosen.
    pub kept: Kept,
}

/// Every tree, in the order of [`Tree`].
#[rustfmt::skip]
pub const TREES: [TreeRow; 41] = [
    TreeRow { tree: Tree::Meta, prefix: b'm', name: "meta", seal: Seal::Open, kept: Kept::Base,
        key: "name", value: "the last arrival (u64), the watchdog's last write in ms (u64); in a database with the place of the process that wrote, and what it wrote last of the prefills that ended by it; how far what is too old is removed there" },
    TreeRow { tree: Tree::Companies, prefix: b'c', name: "companies", seal: Seal::Open, kept: Kept::Base,
        key: "company uuid", value: "company" },
    TreeRow { tree: Tree::Tokens, prefix: b't', name: "tokens", seal: Seal::Open, kept: Kept::Base,
        key: "sha-256 of the token", value: "id, company uuid, kind, test" },
    TreeRow { tree: Tree::PartnerKeys, prefix: b'u', name: "partner_keys", seal: Seal::Own, kept: Kept::Base,
        key: "sha-256 of the token, or of a signing key's id", value: "id, partner key, kind, what signatures are made with" },
    TreeRow { tree: Tree::Leads, prefix: b'l', name: "leads", seal: Seal::Lead, kept: Kept::WithLead,
        key: "lead uuid", value: "lead as accepted, and its first rate table (JSON)" },
    TreeRow { tree: Tree::Identities, prefix: b'i', name: "identities", seal: Seal::Lead, kept: Kept::Base,
        key: "company uuid, id of the identity key (u64), hash under it (32 bytes)", value: "time of submission in ms (i64), the lead uuid, keyed hash of the identity" },
    TreeRow { tree: Tree::Repeats, prefix: b'k', name: "repeats", seal: Seal::Lead, kept: Kept::Base,
        key: "keyed hash of company uuid and the client's key", value: "time in ms (i64), keyed hash of the body, rate table uuid" },
    TreeRow { tree: Tree::RateTables, prefix: b'r', name: "rate_tables", seal: Seal::Open, kept: Kept::ByTime,
        key: "rate table uuid", value: "rate table without its answers: who is asked, who was kept out and by what" },
    TreeRow { tree: Tree::Answers, prefix: b'a', name: "answers", seal: Seal::Lead, kept: Kept::ByTime,
        key: "rate table uuid, sequence (u16)", value: "outcomes of asks that were written together" },
    TreeRow { tree: Tree::OpenTables, prefix: b'o', name: "open_tables", seal: Seal::Open, kept: Kept::Base,
        key: "rate table uuid", value: "the deadline in ms (i64), the id of the process that sees to it" },
    TreeRow { tree: Tree::LeadTables, prefix: b'b', name: "lead_tables", seal: Seal::Open, kept: Kept::WithLead,
        key: "lead uuid, rate table uuid", value: "nothing: the key says it" },
    TreeRow { tree: Tree::LeadActions, prefix: b'e', name: "lead_actions", seal: Seal::Lead, kept: Kept::WithLead,
        key: "lead uuid, action uuid", value: "lead action (JSON)" },
    TreeRow { tree: Tree::PartnerEvents, prefix: b'v', name: "partner_events", seal: Seal::Lead, kept: Kept::Base,
        key: "keyed hash of partner key and transaction id", value: "the report and its receipt (JSON)" },
    TreeRow { tree: Tree::PaidClicks, prefix: b'q', name: "paid_clicks", seal: Seal::Open, kept: Kept::Base,
        key: "rate table uuid, its last 12 bits the offer's number", value: "nothing: the key says it" },
    TreeRow { tree: Tree::Clicks, prefix: b'1', name: "clicks", seal: Seal::Open, kept: Kept::ByTime,
        key: "rate table uuid, its last 12 bits the offer's number", value: "how often it was opened (u64)" },
    TreeRow { tree: Tree::Asks, prefix: b'n', name: "asks", seal: Seal::Open, kept: Kept::ByTime,
        key: "rate table uuid", value: "when second look began, whom it asks, whom not and why, who was not asked after all" },
    TreeRow { tree: Tree::Postings, prefix: b'w', name: "owed", seal: Seal::Open, kept: Kept::Base,
        key: "uuid of the report or click", value: "partner key, product type, time in ms, cents" },
    TreeRow { tree: Tree::Pauses, prefix: b'z', name: "pauses", seal: Seal::Open, kept: Kept::Base,
        key: "partner key, zero byte, product type or nothing", value: "the pause (JSON)" },
    TreeRow { tree: Tree::LeadEvents, prefix: b'h', name: "lead_events", seal: Seal::Open, kept: Kept::ByArrival,
        key: "company uuid, arrival in µs (u64), sequence (u32)", value: "list of happenings" },
    TreeRow { tree: Tree::LeadPayouts, prefix: b'y', name: "lead_payouts", seal: Seal::Open, kept: Kept::ByArrival,
        key: "company uuid, arrival in µs (u64), sequence (u32)", value: "list of payouts" },
    TreeRow { tree: Tree::LeadClientTags, prefix: b'g', name: "lead_client_tags", seal: Seal::Lead, kept: Kept::ByArrival,
        key: "company uuid, arrival in µs (u64), sequence (u32)", value: "list of tags" },
    TreeRow { tree: Tree::Templates, prefix: b'x', name: "texts", seal: Seal::Open, kept: Kept::Base,
        key: "fingerprint (16 bytes)", value: "a line for ourselves, then prepared JSON" },
    TreeRow { tree: Tree::Sessions, prefix: b's', name: "sessions", seal: Seal::Own, kept: Kept::Base,
        key: "id (u64)", value: "the start of a visit" },
    TreeRow { tree: Tree::OfferDisplays, prefix: b'd', name: "offer_displays", seal: Seal::Lead, kept: Kept::Base,
        key: "id (u64)", value: "the display of an offer" },
    TreeRow { tree: Tree::LeadKeys, prefix: b'j', name: "lead_keys", seal: Seal::Open, kept: Kept::Base,
        key: "slot (u16), lead uuid", value: "the sealed data key, or when it was destroyed; the volume of the lead (u32), in a database when it came in s" },
    TreeRow { tree: Tree::Prefills, prefix: b'3', name: "prefills", seal: Seal::Passing, kept: Kept::Base,
        key: "company uuid, prefill token", value: "the data of a lead, until when, how often they may still be read (JSON)" },
    TreeRow { tree: Tree::LoanReports, prefix: b'A', name: "loan_reports", seal: Seal::Own, kept: Kept::Base,
        key: "company uuid, report uuid", value: "whether it is of a test, and the report (JSON)" },
    TreeRow { tree: Tree::PreviewClicks, prefix: b'P', name: "preview_clicks", seal: Seal::Open, kept: Kept::Base,
        key: "day (u32), partner key, zero byte, product type, zero byte, name of the offer", value: "how often it was opened (u64)" },
    TreeRow { tree: Tree::Displays, prefix: b'D', name: "displays", seal: Seal::Open, kept: Kept::ByTime,
        key: "rate table uuid, its last 12 bits the offer's number", value: "how many of its displays that images told of are kept (u64)" },
    TreeRow { tree: Tree::Calls, prefix: b'4', name: "calls", seal: Seal::Lead, kept: Kept::ByTime,
        key: "rate table uuid, seat (u16)", value: "how far the calls of an ask had come, the bid, what was kept of answers" },
    TreeRow { tree: Tree::Suppressions, prefix: b'S', name: "suppressions", seal: Seal::Own, kept: Kept::Base,
        key: "name of the list, zero byte, id of a part (16 bytes) or nothing", value: "sha-256s (32 bytes each); the list (JSON)" },
    TreeRow { tree: Tree::Transcripts, prefix: b'T', name: "transcripts", seal: Seal::Lead, kept: Kept::Base,
        key: "rate table uuid, seat (u16), when it was written in ms (i64)", value: "id of a term's key (u64), and sealed with that the calls of an ask" },
    TreeRow { tree: Tree::Followers, prefix: b'F', name: "followers", seal: Seal::Open, kept: Kept::Base,
        key: "name of the projection, company uuid", value: "the arrival of the first record that is not read, in us (u64)" },
    TreeRow { tree: Tree::Postbacks, prefix: b'W', name: "postbacks", seal: Seal::Open, kept: Kept::Base,
        key: "name of the subscription, zero byte, company uuid, what it is (a byte), arrival in µs (u64), sequence (u32) and which event (u16), or nothing",
        value: "how far the feed is taken in; how calls ended last; of an event that is not acknowledged the lead's uuid, its type, attempts and times" },
    TreeRow { tree: Tree::Users, prefix: b'U', name: "users", seal: Seal::Own, kept: Kept::Base,
        key: "name in small letters", value: "role, hash of the password, whether they are kept out (JSON)" },
    TreeRow { tree: Tree::Audit, prefix: b'Y', name: "audit", seal: Seal::Own, kept: Kept::Base,
        key: "1, number (u64); or 0", value: "who did what, when and why, and the hash of the record before (JSON); number and hash of the last that went (JSON)" },
    TreeRow { tree: Tree::Reports, prefix: b'R', name: "reports", seal: Seal::Own, kept: Kept::Base,
        key: "what it is, time zone, zero byte, which count of it (u32); of names: company uuid, dimension, number of the first (u32); of blocks: company uuid, test, grain, dimensions, day (u32), part (u32)",
        value: "how far is counted; names; blocks of cells" },
    TreeRow { tree: Tree::Ranking, prefix: b'C', name: "ranking", seal: Seal::Own, kept: Kept::Base,
        key: "company uuid, test, day (u32)",
        value: "by partner, offer and rating the fingerprints of offers that were clicked on, and of those that converted" },
    TreeRow { tree: Tree::Alerts, prefix: b'L', name: "alerts", seal: Seal::Open, kept: Kept::Base,
        key: "what it is (a byte), then a fingerprint; name of the receiver, zero byte and number (u64); the hour (u32), in a database the place of the process",
        value: "an alert and its times; what a receiver is still to be told; how it took the last; rate tables of an hour; the last backup" },
    TreeRow { tree: Tree::Charts, prefix: b'B', name: "charts", seal: Seal::Open, kept: Kept::Base,
        key: "the minute (u32), in a database the place of the process (16 bytes)", value: "what the metrics said in it, and what the day had brought by then" },
    TreeRow { tree: Tree::Caps, prefix: b'Q', name: "caps", seal: Seal::Open, kept: Kept::Base,
        key: "partner key, zero byte, product type, zero byte, d, w or m, when the day, week or month begins in ms (i64)",
        value: "when it ends, asks of processes that hold nothing any more, and by process what it may ask and has (JSON)" },
];

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

    /// The key under which a volume holds the record `key` of this tree.
    pub(super) fn sled_key(self, key: &[u8]) -> Vec<u8> {
        let mut sled_key = Vec::with_capacity(1 + key.len());
        sled_key.push(self.row().prefix);
        sled_key.extend_from_slice(key);
        sled_key
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
