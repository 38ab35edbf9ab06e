//! Every SQL statement. A test holds them to the common ground of PostgreSQL, CockroachDB and YugabyteDB.

pub(super) const VERSION: &str = "SELECT version FROM offerd_schema";

/// Creates the tables. Safe to run from two nodes at once.
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

/// Ends a transaction that has been idle for `ms` milliseconds, to release the locks of a hung node.
pub(super) fn end_hung_transactions_after(ms: u128) -> String {
    format!("SET idle_in_transaction_session_timeout = {ms}")
}

pub(super) const HUNG_TRANSACTIONS: &str = "SHOW idle_in_transaction_session_timeout";

pub(super) const GET: &str = "SELECT value FROM offerd_records WHERE key = $1";

pub(super) const WALK: &str =
    "SELECT key, value FROM offerd_records WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3";

pub(super) const COUNT: &str = "SELECT count(*) FROM offerd_records WHERE key >= $1 AND key < $2";

/// Like [`WALK`], with the length of each value instead of the value.
pub(super) const SIZES: &str =
    "SELECT key, length(value) FROM offerd_records WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3";

pub(super) const GET_MANY: &str = "SELECT key, value FROM offerd_records WHERE key = ANY($1)";

pub(super) const BEGIN: &str = "BEGIN";

pub(super) const GET_FOR_UPDATE: &str =
    "SELECT key, value FROM offerd_records WHERE key = ANY($1) ORDER BY key FOR UPDATE";

pub(super) const INSERT: &str =
    "INSERT INTO offerd_records (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[])";

pub(super) const PUT: &str = "INSERT INTO offerd_records (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value";

pub(super) const REMOVE: &str = "DELETE FROM offerd_records WHERE key = ANY($1)";

pub(super) const COMMIT: &str = "COMMIT";

pub(super) const ROLLBACK: &str = "ROLLBACK";

pub(super) const VANISHED: &str = "UPDATE offerd_nodes SET ended = now() WHERE place = $1 AND ended IS NULL";

pub(super) const JOIN: &str = "INSERT INTO offerd_nodes (id, place, since, until, told) \
     VALUES ($1, $2, now(), now() + $3::float8 * interval '1 second', $4)";

/// Renews the lease of a node; no row if the node has ended.
pub(super) const RENEW: &str = "UPDATE offerd_nodes SET until = now() + $2::float8 * interval '1 second', told = $3 \
     WHERE id = $1 AND ended IS NULL";

pub(super) const END_LAPSED: &str = "UPDATE offerd_nodes SET ended = now() WHERE id IN \
     (SELECT id FROM offerd_nodes WHERE ended IS NULL AND until < now() FOR UPDATE SKIP LOCKED)";

pub(super) const END_NODE: &str = "UPDATE offerd_nodes SET ended = now() WHERE id = $1 AND ended IS NULL";

pub(super) const FORGET_NODES: &str = "DELETE FROM offerd_nodes WHERE ended < now() - interval '1 day'";

pub(super) const ALIVE: &str = "SELECT id FROM offerd_nodes WHERE ended IS NULL";

/// Checks that a node is alive, and keeps it so until the transaction ends.
pub(super) const HELD: &str = "SELECT id FROM offerd_nodes WHERE id = $1 AND ended IS NULL FOR SHARE";

pub(super) const NODES: &str = "SELECT id, (extract(epoch FROM since) * 1000)::int8, (extract(epoch FROM until - coalesce(ended, now())) * 1000)::int8, \
     (extract(epoch FROM ended) * 1000)::int8, id = (SELECT node FROM offerd_leader WHERE id = 1), told \
     FROM offerd_nodes ORDER BY since";

pub(super) const LEADER: &str = "SELECT node FROM offerd_leader WHERE id = 1";

/// Takes the lead over from a node that has ended.
pub(super) const FOLLOW: &str = "UPDATE offerd_leader SET node = $1 WHERE id = 1 AND node = $2";

pub(super) const TOPICS_CHANGED: &str = "SELECT topic, changed FROM offerd_topics";

pub(super) const CHANGE_TOPICS: &str = "INSERT INTO offerd_topics (topic, changed) SELECT topic, 1 FROM unnest($1::int2[]) AS topic \
     ON CONFLICT (topic) DO UPDATE SET changed = offerd_topics.changed + 1";

pub(super) const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8";

pub(super) const KEYS: &str = "SELECT version, sealed FROM offerd_keys WHERE id = 1";

pub(super) const KEYS_VERSION: &str = "SELECT version FROM offerd_keys WHERE id = 1";

/// The version of the keys, locked against replacement until the transaction ends.
pub(super) const HOLD_KEYS: &str = "SELECT version FROM offerd_keys WHERE id = 1 FOR SHARE";

pub(super) const FIRST_KEYS: &str =
    "INSERT INTO offerd_keys (id, version, sealed) VALUES (1, 1, $1) ON CONFLICT (id) DO NOTHING";

pub(super) const PUT_KEYS: &str =
    "UPDATE offerd_keys SET version = version + 1, sealed = $1 WHERE id = 1 AND version = $2";

#[cfg(test)]
mod tests {
    /// Syntax that one of the databases refuses, or that blocks other sessions.
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
