//! Every statement that is sent to the database. A test holds them to what PostgreSQL, CockroachDB and YugabyteDB all take: no
//! advisory locks, no LISTEN, no extensions, no server-side code.

/// The version of the tables, as the first start made them.
pub(super) const VERSION: &str = "SELECT version FROM offerd_schema";

/// Makes the tables. Two nodes may do so at once.
pub(super) const MAKE: [&str; 8] = [
    "CREATE TABLE IF NOT EXISTS offerd_records (key bytea PRIMARY KEY, value bytea NOT NULL)",
    "CREATE TABLE IF NOT EXISTS offerd_keys (id smallint PRIMARY KEY, version bigint NOT NULL, sealed bytea NOT NULL)",
    "CREATE TABLE IF NOT EXISTS offerd_nodes (id bytea PRIMARY KEY, place bytea NOT NULL, since timestamptz NOT NULL, \
     until timestamptz NOT NULL, ended timestamptz, told text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS offerd_leader (id smallint PRIMARY KEY, node bytea NOT NULL)",
    "INSERT INTO offerd_leader (id, node) VALUES (1, '') ON CONFLICT (id) DO NOTHING",
    "CREATE TABLE IF NOT EXISTS offerd_topics (topic smallint PRIMARY KEY, changed bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS offerd_schema (id smallint PRIMARY KEY, version integer NOT NULL)",
    "INSERT INTO offerd_schema (id, version) VALUES (1, 1) ON CONFLICT (id) DO NOTHING",
];

/// Ends a transaction in which nothing has been said for so long, in ms, so that nobody waits for the locks of who hangs or is cut off.
pub(super) fn end_hung_transactions_after(ms: u128) -> String {
    format!("SET idle_in_transaction_session_timeout = {ms}")
}

/// After how long that is, as the session has it.
pub(super) const HUNG_TRANSACTIONS: &str = "SHOW idle_in_transaction_session_timeout";

/// One record.
pub(super) const GET: &str = "SELECT value FROM offerd_records WHERE key = $1";

/// Some records from one key on up to another, in their order.
pub(super) const WALK: &str =
    "SELECT key, value FROM offerd_records WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3";

/// How many records there are from one key on up to another.
pub(super) const COUNT: &str = "SELECT count(*) FROM offerd_records WHERE key >= $1 AND key < $2";

/// The same, but only how long each is.
pub(super) const SIZES: &str =
    "SELECT key, length(value) FROM offerd_records WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3";

/// Those of some keys that are there.
pub(super) const GET_MANY: &str = "SELECT key, value FROM offerd_records WHERE key = ANY($1)";

/// Begins what is done together.
pub(super) const BEGIN: &str = "BEGIN";

/// The records that a group goes by, which nobody changes until it ends.
pub(super) const GET_FOR_UPDATE: &str =
    "SELECT key, value FROM offerd_records WHERE key = ANY($1) ORDER BY key FOR UPDATE";

/// Records that must not be there yet.
pub(super) const INSERT: &str =
    "INSERT INTO offerd_records (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[])";

/// Records, whether they are there or not.
pub(super) const PUT: &str = "INSERT INTO offerd_records (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value";

/// Records that are to be there no more.
pub(super) const REMOVE: &str = "DELETE FROM offerd_records WHERE key = ANY($1)";

/// Ends what was done together, and makes it durable.
pub(super) const COMMIT: &str = "COMMIT";

/// Ends it as if nothing had been done.
pub(super) const ROLLBACK: &str = "ROLLBACK";

/// Ends the node that ran in a place before.
pub(super) const VANISHED: &str = "UPDATE offerd_nodes SET ended = now() WHERE place = $1 AND ended IS NULL";

/// A node that begins, and is alive for so many seconds.
pub(super) const JOIN: &str = "INSERT INTO offerd_nodes (id, place, since, until, told) \
     VALUES ($1, $2, now(), now() + $3::float8 * interval '1 second', $4)";

/// The same for one that is there; no row where it has ended.
pub(super) const RENEW: &str = "UPDATE offerd_nodes SET until = now() + $2::float8 * interval '1 second', told = $3 \
     WHERE id = $1 AND ended IS NULL";

/// Ends the nodes that have not renewed their leases.
pub(super) const END_LAPSED: &str = "UPDATE offerd_nodes SET ended = now() WHERE id IN \
     (SELECT id FROM offerd_nodes WHERE ended IS NULL AND until < now() FOR UPDATE SKIP LOCKED)";

/// Ends a node that leaves.
pub(super) const END_NODE: &str = "UPDATE offerd_nodes SET ended = now() WHERE id = $1 AND ended IS NULL";

/// Forgets nodes that have ended long ago.
pub(super) const FORGET_NODES: &str = "DELETE FROM offerd_nodes WHERE ended < now() - interval '1 day'";

/// The nodes that are alive.
pub(super) const ALIVE: &str = "SELECT id FROM offerd_nodes WHERE ended IS NULL";

/// Looks whether a node is alive, and has it stay so until the transaction ends.
pub(super) const HELD: &str = "SELECT id FROM offerd_nodes WHERE id = $1 AND ended IS NULL FOR SHARE";

/// All nodes that are known, with what each told last; times in milliseconds.
pub(super) const NODES: &str = "SELECT id, (extract(epoch FROM since) * 1000)::int8, (extract(epoch FROM until - now()) * 1000)::int8, \
     (extract(epoch FROM ended) * 1000)::int8, id = (SELECT node FROM offerd_leader WHERE id = 1), told \
     FROM offerd_nodes ORDER BY since";

/// Who leads.
pub(super) const LEADER: &str = "SELECT node FROM offerd_leader WHERE id = 1";

/// Leads in the place of one that has ended.
pub(super) const FOLLOW: &str = "UPDATE offerd_leader SET node = $1 WHERE id = 1 AND node = $2";

/// How often something of each topic was changed.
pub(super) const TOPICS_CHANGED: &str = "SELECT topic, changed FROM offerd_topics";

/// Something of these topics was changed.
pub(super) const CHANGE_TOPICS: &str = "INSERT INTO offerd_topics (topic, changed) SELECT topic, 1 FROM unnest($1::int2[]) AS topic \
     ON CONFLICT (topic) DO UPDATE SET changed = offerd_topics.changed + 1";

/// What the database's clock shows, in Unix milliseconds.
pub(super) const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8";

/// The sealed keys.
pub(super) const KEYS: &str = "SELECT version, sealed FROM offerd_keys WHERE id = 1";

/// How often they were replaced.
pub(super) const KEYS_VERSION: &str = "SELECT version FROM offerd_keys WHERE id = 1";

/// The same, and nobody replaces them until the transaction ends.
pub(super) const HOLD_KEYS: &str = "SELECT version FROM offerd_keys WHERE id = 1 FOR SHARE";

/// The first.
pub(super) const FIRST_KEYS: &str =
    "INSERT INTO offerd_keys (id, version, sealed) VALUES (1, 1, $1) ON CONFLICT (id) DO NOTHING";

/// Replaces them; no row where others have, since they had this version.
pub(super) const PUT_KEYS: &str =
    "UPDATE offerd_keys SET version = version + 1, sealed = $1 WHERE id = 1 AND version = $2";

#[cfg(test)]
mod tests {
    /// What one of the databases does not take, or what holds the others back.
    const REFUSED: [&str; 14] = [
        "advisory",
        "listen",
        "notify",
        "create extension",
        "create function",
        "create trigger",
        " do $",
        "lock table",
        "serial",
        "generated",
        "ctid",
        "xmin",
        "pg_",
        "partition by",
    ];

    #[test]
    fn statements_are_what_every_database_of_the_protocol_takes() {
        let text = include_str!("statements.rs");
        let statements = text.split("#[cfg(test)]").next().expect("the part before").to_lowercase();
        let statements: String =
            statements.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for refused in REFUSED {
            assert!(!statements.contains(refused), "`{refused}` stands in a statement");
        }
    }

    #[test]
    fn every_statement_stands_in_this_file() {
        let room = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("postgres");
        for file in std::fs::read_dir(room).expect("the room").map(|entry| entry.expect("a file").path()) {
            let text = std::fs::read_to_string(&file).expect("a text").to_uppercase();
            let code: String = text.split("#[CFG(TEST)]").next().unwrap_or_default().to_owned();
            let is_here = file.ends_with("statements.rs") || file.ends_with("tests.rs");
            for word in
                ["\"SELECT ", "\"INSERT ", "\"UPDATE ", "\"DELETE ", "\"CREATE ", "\"ALTER ", "\"DROP "]
            {
                assert!(is_here || !code.contains(word), "{} has a statement", file.display());
            }
        }
    }
}
