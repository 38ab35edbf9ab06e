//! Every statement that is sent to the database. A test holds them to what PostgreSQL, CockroachDB and YugabyteDB all take: no
//! advisory locks, no LISTEN, no extensions, no server-side code.

/// The version of the tables, as the first start made them or `offerd store migrate` left them.
pub(super) const VERSION: &str = "SELECT version FROM offerd_schema";

/// Makes the tables. Two nodes may do so at once.
pub(super) const MAKE: [&str; 5] = [
    "CREATE TABLE IF NOT EXISTS offerd_records (key bytea PRIMARY KEY, value bytea NOT NULL)",
    "CREATE TABLE IF NOT EXISTS offerd_keys (id smallint PRIMARY KEY, sealed bytea NOT NULL)",
    "CREATE TABLE IF NOT EXISTS offerd_leases (id smallint PRIMARY KEY, holder bytea NOT NULL, until timestamptz NOT NULL)",
    "CREATE TABLE IF NOT EXISTS offerd_schema (id smallint PRIMARY KEY, version integer NOT NULL)",
    "INSERT INTO offerd_schema (id, version) VALUES (1, 1) ON CONFLICT (id) DO NOTHING",
];

/// One record.
pub(super) const GET: &str = "SELECT value FROM offerd_records WHERE key = $1";

/// Some records from one key on up to another, in their order.
pub(super) const WALK: &str =
    "SELECT key, value FROM offerd_records WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3";

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

/// Takes the lease for so many seconds, or renews it; no row where another has it.
pub(super) const TAKE_LEASE: &str = "INSERT INTO offerd_leases (id, holder, until) \
     VALUES (1, $1, now() + $2::float8 * interval '1 second') ON CONFLICT (id) \
     DO UPDATE SET holder = excluded.holder, until = excluded.until \
     WHERE offerd_leases.holder = excluded.holder OR offerd_leases.until < now()";

/// Looks whether the lease is held, and has it stay so until the transaction ends.
pub(super) const HOLD_LEASE: &str =
    "SELECT id FROM offerd_leases WHERE id = 1 AND holder = $1 AND until > now() FOR SHARE";

/// Gives the lease up.
pub(super) const END_LEASE: &str = "UPDATE offerd_leases SET until = now() WHERE id = 1 AND holder = $1";

/// What the database's clock shows, in Unix milliseconds.
pub(super) const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8";

/// The sealed keys.
pub(super) const KEYS: &str = "SELECT sealed FROM offerd_keys WHERE id = 1";

/// Replaces them.
pub(super) const PUT_KEYS: &str = "INSERT INTO offerd_keys (id, sealed) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed";

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
        let room = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/postgres");
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
