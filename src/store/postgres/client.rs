//! The database client: a connection pool on a runtime of its own, and blocking calls into it.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod,
    Runtime as PoolRuntime,
};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, NoTls, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::statements::{BEGIN, COMMIT, ROLLBACK, end_hung_transactions_after};
use crate::{DiskError, StoreError};
use offerd_base::config::PostgresSettings;
use offerd_base::regular_file::{self, PEM_BYTES_MAX, SECRET_BYTES_MAX};
use offerd_wire::CallError;

const THREADS: usize = 2;

type StatementValues<'a> = &'a [&'a (dyn ToSql + Sync)];

pub(crate) struct Client {
    pub(super) pool: Pool,
    runtime: Option<Runtime>,
    longest: Duration,
    /// Set while an answer is late, so that other callers fail at once instead of waiting as long.
    pub(super) is_hung: Arc<AtomicBool>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DatabaseFailure {
    /// A concurrent change of the same records: the caller retries.
    #[error("another node changed the same records at the same time")]
    Conflict,
    /// A concurrent change of the keys: the caller reloads them and retries.
    #[error("another node changed the keys of the store at the same time")]
    OtherKeys,
    /// Another process has ended this node.
    #[error(
        "this node did not renew its lease in time, or was restarted elsewhere; other nodes continue its \
            rate tables"
    )]
    Lost,
    /// The SQLSTATE, if there is one, and the message. Never includes what was sent.
    #[error("{}", match .0 {
        Some(state) => format!("the database says: {} (SQLSTATE {state})", .1),
        None => format!("cannot query the database: {}", .1),
    })]
    Said(Option<String>, String),
}

pub(crate) type DatabaseResult<T> = Result<T, DatabaseFailure>;

impl DatabaseFailure {
    /// A failure that the database itself has not reported.
    pub(super) fn of(message: impl ToString) -> Self {
        Self::Said(None, message.to_string())
    }

    pub(super) fn is_no_table(&self) -> bool {
        matches!(self, Self::Said(Some(state), _) if *state == *SqlState::UNDEFINED_TABLE.code())
    }
}

impl From<tokio_postgres::Error> for DatabaseFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        let conflicts = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::UNIQUE_VIOLATION,
        ];
        match error.as_db_error() {
            Some(said) if conflicts.contains(said.code()) => Self::Conflict,
            // Only the message: the details name keys.
            Some(said) => Self::Said(Some(said.code().code().to_owned()), said.message().to_owned()),
            // An error of the system is the cause; an error of the driver itself has none.
            None => Self::of(match (offerd_wire::cause(&error), error.source()) {
                (Some(tls @ CallError::Tls(_)), _) => tls.to_string(),
                (_, Some(cause)) => format!("{error}: {cause}"),
                (_, None) => error.to_string(),
            }),
        }
    }
}

impl From<PoolError> for DatabaseFailure {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => error.into(),
            error => Self::of(error),
        }
    }
}

impl From<DatabaseFailure> for DiskError {
    fn from(failure: DatabaseFailure) -> Self {
        Self(failure.to_string())
    }
}

impl From<DatabaseFailure> for StoreError {
    fn from(failure: DatabaseFailure) -> Self {
        Self::Database(failure.to_string())
    }
}

pub(crate) struct Connection(Object);

impl Connection {
    pub(super) async fn rows(&self, sql: &str, values: StatementValues<'_>) -> DatabaseResult<Vec<Row>> {
        let prepared = self.0.prepare_cached(sql).await?;
        Ok(self.0.query(&prepared, values).await?)
    }

    pub(super) async fn row(&self, sql: &str, values: StatementValues<'_>) -> DatabaseResult<Option<Row>> {
        let prepared = self.0.prepare_cached(sql).await?;
        Ok(self.0.query_opt(&prepared, values).await?)
    }

    pub(super) async fn one(&self, sql: &str, values: StatementValues<'_>) -> DatabaseResult<Row> {
        let prepared = self.0.prepare_cached(sql).await?;
        Ok(self.0.query_one(&prepared, values).await?)
    }

    pub(super) async fn change(&self, sql: &str, values: StatementValues<'_>) -> DatabaseResult<u64> {
        let prepared = self.0.prepare_cached(sql).await?;
        Ok(self.0.execute(&prepared, values).await?)
    }

    pub(crate) async fn say(&self, sql: &str) -> DatabaseResult<()> {
        Ok(self.0.batch_execute(sql).await?)
    }

    /// Runs `work` in a transaction, which is rolled back if it fails.
    pub(super) async fn together<T, F>(&self, work: F) -> DatabaseResult<T>
    where
        F: Future<Output = DatabaseResult<T>>,
    {
        self.say(BEGIN).await?;
        let done = work.await;
        self.say(if done.is_ok() { COMMIT } else { ROLLBACK }).await?;
        done
    }

    pub(super) async fn prepare(&self, statements: &[&str]) -> DatabaseResult<()> {
        for statement in statements {
            self.0.prepare_cached(statement).await?;
        }
        Ok(())
    }

    pub(super) fn close(self) {
        drop(Object::take(self.0));
    }
}

impl Client {
    /// A pool for a database. Does not connect yet.
    pub(crate) fn of(options: &PostgresSettings) -> Result<Self, String> {
        let mut config = config(options)?;
        config.connect_timeout(options.answer_within).application_name("offerd");
        // TCP drops a dead connection when an answer would be late; keepalives count in whole seconds.
        let idle = options.answer_within.max(Duration::from_secs(1));
        config.tcp_user_timeout(options.answer_within).keepalives_idle(idle);
        let first_words = end_hung_transactions_after((options.lease / 2).as_millis());
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match is_here(&config) {
            true => Manager::from_config(config, NoTls, recycling),
            false => {
                config.ssl_mode(tokio_postgres::config::SslMode::Require);
                let tls = offerd_wire::trusting(roots(options)?.as_deref())?;
                Manager::from_config(config, MakeRustlsConnect::new(tls), recycling)
            }
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("store-database")
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start threads for the database: {error}"))?;
        let longest = Some(options.answer_within);
        let pool = Pool::builder(manager)
            .max_size(options.connections)
            .post_create(Hook::async_fn(move |client: &mut ClientWrapper, _| {
                let first_words = first_words.clone();
                Box::pin(async move { client.batch_execute(&first_words).await.map_err(HookError::Backend) })
            }))
            .runtime(PoolRuntime::Tokio1)
            .timeouts(deadpool_postgres::Timeouts { wait: longest, create: longest, recycle: longest })
            .build()
            .map_err(|error| format!("cannot manage connections to the database: {error}"))?;
        Ok(Self { pool, runtime: Some(runtime), longest: options.answer_within, is_hung: Arc::default() })
    }

    pub(super) async fn connection(pool: &Pool) -> DatabaseResult<Connection> {
        Ok(Connection(pool.get().await?))
    }

    pub(crate) fn ask<T, F>(&self, asked: impl FnOnce(Connection) -> F + Send + 'static) -> DatabaseResult<T>
    where
        T: Send + 'static,
        F: Future<Output = DatabaseResult<T>> + Send + 'static,
    {
        let pool = self.pool.clone();
        self.wait_for(async move { asked(Self::connection(&pool).await?).await })
    }

    pub(super) fn wait_for<T: Send + 'static>(
        &self,
        asked: impl Future<Output = DatabaseResult<T>> + Send + 'static,
    ) -> DatabaseResult<T> {
        let (longest, is_hung) = (self.longest, Arc::clone(&self.is_hung));
        if is_hung.load(Ordering::Acquire) {
            return Err(DatabaseFailure::of("it did not answer in time, and has not since"));
        }
        let (answer, answered) = mpsc::sync_channel(1);
        let runtime = self.runtime.as_ref().ok_or_else(|| DatabaseFailure::of("it is closed"))?;
        runtime.spawn(async move {
            let outcome = timeout(longest, asked).await.unwrap_or_else(|_| {
                is_hung.store(true, Ordering::Release);
                Err(DatabaseFailure::of(format!("it has not answered for {longest:?}")))
            });
            // The caller waits for it.
            let _ = answer.send(outcome);
        });
        answered.recv().unwrap_or_else(|_| Err(DatabaseFailure::of("it is no longer in use")))
    }

    pub(super) fn meanwhile(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            drop(runtime.spawn(work));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Dropping a runtime inside another one panics.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A fault in the settings of a database, found without connecting: the key of the setting, and the fault.
pub(crate) fn fault(options: &PostgresSettings) -> Option<(&'static str, String)> {
    let read = config(options).map(drop).map_err(|error| ("store.postgres.url", error));
    let read = read
        .and_then(|()| password(options).map(drop).map_err(|error| ("store.postgres.password_file", error)));
    let trusted = roots(options).and_then(|roots| offerd_wire::trusting(roots.as_deref()));
    read.and_then(|()| trusted.map(drop).map_err(|error| ("store.postgres.ca_file", error))).err()
}

fn config(options: &PostgresSettings) -> Result<Config, String> {
    let mut config: Config = options.url.parse().map_err(|error| unreadable(&error))?;
    if let Some(password) = password(options)? {
        config.password(password);
    }
    Ok(config)
}

/// Options that other clients take in an address, with the equivalent here.
const FOREIGN_OPTIONS: [(&str, &str); 6] = [
    ("sslrootcert", "name the file in `store.postgres.ca_file`"),
    ("sslcert", "offerd shows no client certificate to a database; leave it out"),
    ("sslkey", "offerd shows no client certificate to a database; leave it out"),
    ("sslpassword", "offerd shows no client certificate to a database; leave it out"),
    (
        "pgbouncer",
        "leave it out; the pooler must give a connection to one client until it ends (`pool_mode = session`)",
    ),
    ("schema", "write `options=-csearch_path%3DNAME`"),
];

/// Why an address cannot be parsed. The parser's error is not passed on: it may quote the password.
fn unreadable(error: &tokio_postgres::Error) -> String {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    let named = |words: &str| -> Option<String> {
        cause.strip_prefix(words)?.trim_start().strip_prefix('`')?.strip_suffix('`').map(str::to_owned)
    };
    let foreign =
        named("unknown option").and_then(|option| FOREIGN_OPTIONS.iter().find(|(name, _)| *name == option));
    match (named("invalid value for option").as_deref(), foreign) {
        (Some("sslmode"), _) => {
            "has an `sslmode` that is not `disable`, `prefer` or `require`; write `require`, which checks the certificate and the host name as `verify-full` does elsewhere".to_owned()
        }
        (Some(option), _) => format!("has a value of `{option}` that cannot be read; correct it or leave it out"),
        (None, Some((option, remedy))) => {
            format!("has the unknown option `{option}`; {remedy}")
        }
        _ => "must be an address such as `postgres://USER@HOST:PORT/DATABASE`; characters of the password \
            such as `%`, `@`, `/` and `?` are written `%25`, `%40`, `%2F` and `%3F`, and options such as \
            `sslmode` follow one `?`".to_owned(),
    }
}

fn password(options: &PostgresSettings) -> Result<Option<String>, String> {
    let Some(file) = &options.password_file else { return Ok(None) };
    let text = regular_file::text_of(file, SECRET_BYTES_MAX).map_err(|error| {
        format!("must name a file with the password; {} cannot be read: {error}", file.display())
    })?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

fn roots(options: &PostgresSettings) -> Result<Option<Vec<u8>>, String> {
    let Some(file) = &options.ca_file else { return Ok(None) };
    let read = regular_file::bytes_of(file, PEM_BYTES_MAX);
    let cannot =
        |error| format!("must name a file with certificates; {} cannot be read: {error}", file.display());
    read.map(Some).map_err(cannot)
}

/// Whether every address of the database is on this machine.
fn is_here(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
        Host::Unix(_) => true,
    })
}
