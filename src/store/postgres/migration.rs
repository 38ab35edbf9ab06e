//! Bringing the tables to the version of this build, when an operator asks for it: step by step, each in one transaction under a lock
//! on the row that has the version, so that of two who try one does it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use uuid::Uuid;

use super::client::{Client, Connection, Failure};
use super::lost;
use super::schema::{self, STEPS, Step};
use super::statements::{BEGIN, COMMIT, END_LAPSED, LIVE_NODES, LOCK_VERSION, PUT_VERSION, ROLLBACK};
use crate::config::PostgresSettings;
use crate::store::error::StoreError;

/// How long a step may take at least: it may write a table anew.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The tables, and what is to be done, or was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version that was found; nothing where there are no tables, which the first start makes.
    pub found: Option<i32>,
    /// The one of this build.
    pub known: i32,
    /// Whether nodes of another version may go on beside all that is to be done.
    pub is_compatible: bool,
}

impl Migrated {
    /// How many versions lie between.
    pub fn steps(&self) -> i32 {
        self.found.map_or(0, |found| self.known - found)
    }
}

/// Why the tables were not, or not all, brought to this build's version.
#[derive(Debug)]
pub enum MigrationError {
    /// The database cannot be used, or its tables are of a newer build.
    Store(StoreError),
    /// Nodes of another version are alive: their ids, and the versions that they told.
    Alive(Vec<(Uuid, Option<String>)>),
}

/// Says what is to be done, without doing it.
pub(in crate::store) fn look(options: &PostgresSettings) -> Result<Migrated, MigrationError> {
    let client = Client::of(options).map_err(StoreError::Database)?;
    looked(&client, schema::KNOWN, STEPS)
}

/// Does it. Once this returns, the tables are of this build's version, and stay so.
pub(in crate::store) fn migrate(options: &PostgresSettings) -> Result<Migrated, MigrationError> {
    let client = Client::of(options).map_err(StoreError::Database)?;
    // One that does not answer at all is told within the time that is set for it.
    let planned = looked(&client, schema::KNOWN, STEPS)?;
    let answer_within = options.answer_within.max(LONGEST);
    let client =
        Client::of(&PostgresSettings { answer_within, ..options.clone() }).map_err(StoreError::Database)?;
    go(&client, STEPS)?;
    Ok(planned)
}

fn looked(client: &Client, known: i32, steps: &[Step]) -> Result<Migrated, MigrationError> {
    let found = schema::version(client).map_err(|failure| lost(&failure))?;
    if let Some(found) = found.filter(|found| *found > known) {
        return Err(StoreError::Tables { found, known }.into());
    }
    let ahead = |step: &&Step| found.is_some_and(|found| step.to > found);
    Ok(Migrated { found, known, is_compatible: steps.iter().filter(ahead).all(|step| step.is_compatible) })
}

fn go(client: &Client, steps: &'static [Step]) -> Result<(), MigrationError> {
    for step in steps {
        let done = client.ask(|pool| async move {
            let connection = Client::connection(&pool).await?;
            connection.say(BEGIN).await?;
            let done = take(&connection, step).await;
            let is_whole = matches!(&done, Ok(alive) if alive.is_empty());
            connection.say(if is_whole { COMMIT } else { ROLLBACK }).await?;
            done
        });
        let alive = done.map_err(|failure| lost(&failure))?;
        if !alive.is_empty() {
            return Err(MigrationError::Alive(alive));
        }
    }
    Ok(())
}

/// Takes a step, unless somebody has; or gives the nodes that it would harm.
async fn take(connection: &Connection, step: &Step) -> Result<Vec<(Uuid, Option<String>)>, Failure> {
    let version: i32 = connection.one(LOCK_VERSION, &[]).await?.get(0);
    if version >= step.to {
        return Ok(Vec::new());
    }
    connection.change(END_LAPSED, &[]).await?;
    if !step.is_compatible {
        let others = others(connection).await?;
        if !others.is_empty() {
            return Ok(others);
        }
    }
    for statement in step.statements {
        connection.say(statement).await?;
    }
    connection.change(PUT_VERSION, &[&step.to]).await?;
    Ok(Vec::new())
}

/// The nodes that are alive and of another build, or have not told of which.
async fn others(connection: &Connection) -> Result<Vec<(Uuid, Option<String>)>, Failure> {
    let rows = connection.rows(LIVE_NODES, &[]).await?;
    let nodes = rows.into_iter().map(|row| {
        let told: serde_json::Value = serde_json::from_str(row.get(1)).unwrap_or_default();
        let version = told.get("version").and_then(|version| version.as_str()).map(str::to_owned);
        (Uuid::from_slice(row.get(0)).unwrap_or_default(), version)
    });
    Ok(nodes.filter(|(_, version)| version.as_deref() != Some(env!("CARGO_PKG_VERSION"))).collect())
}

impl fmt::Display for MigrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Alive(nodes) => {
                let told = |(id, version): &(Uuid, Option<String>)| match version {
                    Some(version) => format!("{id} of version {version}"),
                    None => format!("{id}, which has not told its version"),
                };
                let nodes: Vec<String> = nodes.iter().map(told).collect();
                write!(
                    f,
                    "nodes of another version are alive, and could not go on with the new tables: {}; stop them, or begin this \
                     version on them, and run it again",
                    nodes.join(", ")
                )
            }
        }
    }
}

impl Error for MigrationError {}

impl From<StoreError> for MigrationError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::store::options::StoreOptions;

    const ADDS: Step = Step {
        to: 2,
        statements: &["ALTER TABLE offerd_records ADD COLUMN IF NOT EXISTS more bytea"],
        is_compatible: false,
    };

    const FAILS: Step = Step {
        to: 3,
        statements: &["CREATE TABLE offerd_new (id int)", "SELECT 1 / 0"],
        is_compatible: true,
    };

    #[test]
    fn a_step_is_taken_whole_or_not_at_all_and_never_under_nodes_of_another_version() {
        let Some(database) = crate::store::postgres::tests::database() else {
            eprintln!("SKIPPED: OFFERD_TEST_POSTGRES names no database");
            return;
        };
        let directory = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            database: Some(database.clone()),
            ..StoreOptions::new(directory.path().join("node"))
        };
        let client = Client::of(&database).unwrap();
        assert_eq!(looked(&client, 1, STEPS).unwrap().found, None);
        let node = Store::open_inline_with(&options).unwrap();
        assert_eq!(look(&database).unwrap().steps(), 0);
        assert!(
            matches!(go(&client, &[ADDS]), Err(MigrationError::Alive(alive)) if alive == [(node.node(), None)])
        );
        assert_eq!(schema::version(&client).unwrap(), Some(1));
        node.close().unwrap();
        go(&client, &[ADDS]).unwrap();
        go(&client, &[ADDS]).unwrap();
        assert_eq!(schema::version(&client).unwrap(), Some(2));
        assert!(go(&client, &[ADDS, FAILS]).is_err());
        assert_eq!(schema::version(&client).unwrap(), Some(2), "and nothing of the step is left");
        // A build that knows less says so, and one that knows more says what to do.
        let told = Store::open_inline_with(&options).unwrap_err().to_string();
        assert!(told.contains("a newer one"), "{told}");
        let older = StoreError::Tables { found: 1, known: 2 }.to_string();
        assert!(older.contains("offerd store migrate"), "{older}");
    }
}
