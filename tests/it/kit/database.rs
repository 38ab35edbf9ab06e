//! A schema of its own in a database, for a test that runs over one: where `OFFERD_TEST_POSTGRES` has its address.

use std::thread;
use std::time::Duration;

use offerd::config::PostgresSettings;
use tokio_postgres::NoTls;

/// The variable with the address of a database in which every test makes a schema.
const VARIABLE: &str = "OFFERD_TEST_POSTGRES";

/// The address of a schema that was just made; nothing where no database is named.
pub fn schema() -> Option<String> {
    let url = std::env::var(VARIABLE).ok()?;
    let name = format!("it_{}", uuid::Uuid::new_v4().simple());
    execute(&url, &format!("CREATE SCHEMA {name}"));
    let separator = if url.contains('?') { '&' } else { '?' };
    Some(format!("{url}{separator}options=-c%20search_path%3D{name}"))
}

/// Says a statement to a database.
pub fn execute(url: &str, statement: &str) {
    let statement = statement.to_owned();
    ask(url, async move |client| client.batch_execute(&statement).await.expect("a statement"));
}

/// All that the database has of records, keys and values, and of what nodes told.
pub fn records(url: &str) -> Vec<u8> {
    ask(url, async |client| {
        let rows = client.query("SELECT key, value FROM offerd_records ORDER BY key", &[]).await;
        let rows = rows.unwrap_or_default();
        rows.iter().flat_map(|row| [row.get::<_, Vec<u8>>(0), row.get(1)].concat()).collect()
    })
}

/// How many records the database has, and how many bytes their keys and their values are.
pub fn weigh(url: &str) -> [i64; 3] {
    const WEIGH: &str =
        "SELECT count(*), sum(length(key))::int8, sum(length(value))::int8 FROM offerd_records";
    ask(url, async |client| {
        let row = client.query_one(WEIGH, &[]).await.expect("the tables are there");
        [0, 1, 2].map(|column| row.get(column))
    })
}

fn ask<T: Send + 'static>(
    url: &str,
    asked: impl AsyncFnOnce(tokio_postgres::Client) -> T + Send + 'static,
) -> T {
    let url = url.to_owned();
    // Tests have runtimes of their own, in which nothing may block.
    let asking = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("a database");
            tokio::spawn(connection);
            asked(client).await
        })
    });
    asking.join().unwrap()
}

/// How a test itself opens the store there, while no daemon has it.
pub fn options(url: &str) -> PostgresSettings {
    PostgresSettings {
        url: url.to_owned(),
        password_file: None,
        ca_file: None,
        connections: 4,
        answer_within: Duration::from_secs(20),
        lease: Duration::from_secs(2),
        node_name: None,
    }
}
