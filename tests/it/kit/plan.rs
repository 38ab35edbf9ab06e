//! How a daemon is to be started.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use offerd::run_file::RunFile;
use offerd::store::{Store, StoreOptions};

use super::canaries::Canaries;
use super::daemon::Daemon;
use super::given_sockets::GivenSockets;
use super::partners::PartnerFile;
use super::{PATIENCE, database};

/// Gives what came as standard input and error as the sockets 3 and 4, to this very process, as systemd does.
const ACTIVATE: &str = r#"
    exec 3<&0 4<&2 0</dev/null 2>>"$LOG"
    export LISTEN_FDS=2 LISTEN_FDNAMES="$NAMES" LISTEN_PID=$$
    exec "$0" "$@""#;

/// How a daemon is to be started.
pub struct Plan {
    directory: tempfile::TempDir,
    partners: PathBuf,
    settings: Vec<(String, String)>,
    /// Variables beside the settings.
    variables: Vec<(String, String)>,
    sockets: Option<GivenSockets>,
    /// Soft and hard limit of open files.
    file_limits: Option<(u32, u32)>,
    /// The address of the database that has the records, where the tests run over one.
    database: Option<String>,
    /// What it is told and must not tell: looked for in its store and its log whenever it has ended.
    canaries: Canaries,
}

impl Plan {
    pub(super) fn new(partners: PathBuf) -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
            partners,
            settings: Vec::new(),
            variables: Vec::new(),
            sockets: None,
            file_limits: None,
            database: database::schema(),
            canaries: Canaries::default(),
        }
    }

    /// One with these partners only.
    pub(super) fn of(partners: Vec<PartnerFile>) -> Self {
        let plan = Self::new(PathBuf::new());
        let directory = plan.directory().join("partners");
        std::fs::create_dir(&directory).unwrap();
        partners.iter().for_each(|partner| partner.write(&directory));
        Self { partners: directory, ..plan }
    }

    /// Another node on the database of a daemon, with its partners, settings and keys; nothing where the tests run over files.
    pub fn beside(node: &Daemon) -> Option<Self> {
        let Self { partners, settings, database, .. } = &node.plan;
        let plan = Self::new(partners.clone());
        let plan = Self { settings: settings.clone(), database: Some(database.clone()?), ..plan };
        Some(plan.setting("store.master_key_file", &node.plan.master_key().display().to_string()))
    }

    /// The address of the database, where the tests run over one.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// Sets a key, as `section.key`.
    #[must_use]
    pub fn setting(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.to_owned(), value.to_owned()));
        self
    }

    /// With the records in files, whatever the tests run over.
    #[must_use]
    pub fn in_files(self) -> Self {
        Self { database: None, ..self }
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Gives sockets to every start, as systemd does.
    #[must_use]
    pub fn given(self, sockets: GivenSockets) -> Self {
        Self { sockets: Some(sockets), ..self }
    }

    /// Starts with these limits of open files, a soft and a hard one.
    #[must_use]
    pub fn file_limits(self, soft: u32, hard: u32) -> Self {
        Self { file_limits: Some((soft, hard)), ..self }
    }

    /// Writes the settings file, which goes below the keys that are set one by one.
    pub fn write_settings(&self, text: &str) {
        std::fs::write(self.settings_file(), text).unwrap();
    }

    fn settings_file(&self) -> PathBuf {
        self.directory.path().join("offerd.toml")
    }

    pub fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    /// The store, while no daemon has it.
    pub fn open_store(&self) -> Store {
        Store::open_inline_with(&self.store_options()).unwrap()
    }

    /// How a test opens it.
    pub fn store_options(&self) -> StoreOptions {
        let database = self.database.as_deref().map(database::options);
        StoreOptions { database, ..StoreOptions::new(self.store()) }
    }

    pub fn partners(&self) -> &Path {
        &self.partners
    }

    /// Neither the store nor the log tells what the daemon was told of persons, nor a token.
    pub(super) fn assert_silent(&self) {
        self.canaries.assert_in_none_of(&[self.store(), self.directory.path().join("log")]);
        if let Some(url) = &self.database {
            self.canaries.assert_not_in(&database::records(url), "the database");
        }
    }

    pub fn canaries(&self) -> &Canaries {
        &self.canaries
    }

    /// Where a first start puts the master key when none is given.
    pub fn master_key(&self) -> PathBuf {
        self.directory.path().join("store.key")
    }

    /// Starts the daemon for the first time, and waits until it is ready.
    pub async fn start(self) -> Daemon {
        self.start_anew(true).0
    }

    /// Starts a daemon on a store that was restored from the backup of another, whose tokens it has.
    pub async fn start_restored(self, of: &Daemon) -> Daemon {
        let mut daemon = self.start_anew(false).0;
        daemon.publishable.clone_from(&of.publishable);
        daemon.confidential.clone_from(&of.confidential);
        daemon
    }

    /// Starts a daemon on the database of another, whose tokens it has.
    pub async fn start_beside(self, node: &Daemon) -> Daemon {
        self.start_restored(node).await
    }

    /// Starts a daemon on a store that has this confidential token already.
    pub async fn start_with_token(self, confidential: String) -> Daemon {
        let mut daemon = self.start_anew(false).0;
        daemon.confidential = confidential;
        daemon
    }

    /// Like [`start`](Self::start), and gives what else the daemon tells the service manager.
    pub async fn start_watched(self) -> (Daemon, UnixDatagram) {
        self.start_anew(true)
    }

    /// A command of the binary under these settings.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_offerd"));
        command.args(arguments).stdin(Stdio::null());
        self.dress(command)
    }

    /// The command that runs the daemon, within its limits of open files.
    fn serving(&self) -> Command {
        let Some((soft, hard)) = self.file_limits else { return self.command(&["serve"]) };
        let mut command = Command::new("sh");
        let line = format!("ulimit -Sn {soft}; ulimit -Hn {hard}; exec \"$0\" serve");
        command.arg("-c").arg(&line).arg(env!("CARGO_BIN_EXE_offerd")).stdin(Stdio::null());
        self.dress(command)
    }

    /// Like [`command`](Self::command), with the sockets that were [given](Self::given); standard error is the log.
    pub fn command_with_sockets(&self, arguments: &[&str]) -> Command {
        let given = self.sockets.as_ref().expect("sockets are given");
        let mut command = Command::new("sh");
        command.args(["-c", ACTIVATE, env!("CARGO_BIN_EXE_offerd")]).args(arguments);
        command.env("NAMES", &given.names).env("LOG", self.directory.path().join("log"));
        command.stdin(given.stdio(0)).stderr(given.stdio(1));
        self.dress(command)
    }

    /// Puts the settings of this plan into the environment of a command.
    fn dress(&self, mut command: Command) -> Command {
        command.current_dir(self.directory.path());
        command.env("OFFERD__STORE__PATH", self.store()).env("OFFERD__PARTNERS__PATH", &self.partners);
        if self.settings_file().exists() {
            command.env("OFFERD_CONFIG", self.settings_file());
        }
        if let Some(url) = &self.database {
            command.env("OFFERD__STORE__ENGINE", "postgres").env("OFFERD__STORE__POSTGRES__URL", url);
            command.env("OFFERD__STORE__POSTGRES__LEASE", "2s");
        }
        for listener in ["API", "INTEGRATIONS", "ADMIN"] {
            command.env(format!("OFFERD__{listener}__LISTEN"), "127.0.0.1:0");
        }
        if !self.settings.iter().any(|(key, _)| key == "matching.deadline") {
            // Who answers at once has then answered, however busy the machine is.
            command.env("OFFERD__MATCHING__SUBMIT_WAIT", "10s");
        }
        // However busy the machine is, only tests of it turn leads away for that.
        command.env("OFFERD__LIMITS__QUEUEING_TARGET", "0ms");
        // Nor is its disk taken for one that hangs.
        command.env("OFFERD__STORE__STALL_AFTER", "60s");
        for (key, value) in &self.settings {
            command.env(format!("OFFERD__{}", key.to_uppercase().replace('.', "__")), value);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The directory of everything of the test, gone with it.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A line of shell under these settings, where `offerd` is the binary.
    pub fn shell(&self, line: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_offerd")).parent().expect("a file is in a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        let as_the_binary = self.command(&[]);
        let settings = as_the_binary.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.directory.path()).stdin(Stdio::null()).envs(settings);
        shell.env("PATH", format!("{}:{path}", binary.display()));
        shell
    }

    pub(super) fn start_anew(self, first: bool) -> (Daemon, UnixDatagram) {
        // The daemon says that it is ready as it does to systemd, so nobody has to ask again and again.
        let path = self.directory.path().join("notify");
        let _ = std::fs::remove_file(&path);
        let notifications = UnixDatagram::bind(&path).expect("a socket for notifications");
        notifications.set_read_timeout(Some(PATIENCE)).expect("a socket has a timeout");

        let mut command = if self.sockets.is_some() {
            self.command_with_sockets(&["serve"])
        } else {
            let mut command = self.serving();
            let log =
                std::fs::OpenOptions::new().create(true).append(true).open(self.directory.path().join("log"));
            command.stderr(log.expect("a file for the log"));
            command
        };
        command.env("NOTIFY_SOCKET", &path).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");

        let stdout = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let words = if first { first_words(stdout) } else { Default::default() };
        let log = || std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        assert!(!first || !words[1].is_empty(), "a first start prints its tokens, and not: {}", log());
        let mut message = [0; 256];
        let ready = notifications.recv(&mut message);
        assert!(ready.is_ok_and(|length| message[..length].starts_with(b"READY=1")), "not ready: {}", log());

        let run = RunFile::read(&self.store()).expect("it is the daemon's user's own");
        let run = run.expect("a ready daemon has a run file");
        (Daemon::of(self, child, run, words), notifications)
    }

    /// What the daemon has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

/// The tokens that a first start prints, and the console's secret if it makes one.
fn first_words(mut stdout: BufReader<impl std::io::Read>) -> [String; 3] {
    let mut found = [const { String::new() }; 3];
    let mut line = String::new();
    while stdout.read_line(&mut line).is_ok_and(|length| length > 0) {
        note(&line, &mut found);
        if line.trim_start().starts_with("console ") {
            break;
        }
        line.clear();
    }
    // All is said at once, so what goes on behind the console's address has come with it.
    String::from_utf8_lossy(stdout.buffer()).lines().for_each(|line| note(line, &mut found));
    found
}

fn note(line: &str, found: &mut [String; 3]) {
    let names = ["publishable", "confidential", "secret"];
    if let [name, value] = line.split_whitespace().collect::<Vec<_>>()[..]
        && let Some(nth) = names.iter().position(|known| *known == name)
    {
        found[nth] = value.to_owned();
    }
}
