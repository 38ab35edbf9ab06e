//! The binary as an outsider has it: a store's directory, an environment, signals and sockets.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use offerd::run_file::RunFile;

use super::caller::Caller;
use crate::kit::partners::partner;

/// Longest wait for a daemon to be ready. Only one that hangs reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The same key for every start, so that no state lacks it.
const MASTER_KEY: &str = "5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed";

/// Where offers' addresses lead, whatever the port.
pub const BASE_URL: &str = "http://offers.example";

/// Where stores and states lie: in memory, so that campaigns wear no disk and wait for none.
pub fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a directory for states")
}

/// The binary under test: of `OFFERD_BINARY`, or this build's.
pub fn binary() -> PathBuf {
    std::env::var_os("OFFERD_BINARY").map_or_else(|| env!("CARGO_BIN_EXE_offerd").into(), PathBuf::from)
}

/// Partners that answer at once, and one that takes its time.
pub fn write_partners(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    partner("prompt").loan("").savings("").write(directory);
    partner("soon").loan(r#"simulate = { delay = "40ms" }"#).write(directory);
}

/// How the binary is run on one store.
#[derive(Debug, Clone)]
pub struct Subject {
    /// For its log and its socket; the store need not lie in it.
    home: PathBuf,
    store: PathBuf,
    partners: PathBuf,
    settings: Vec<(String, String)>,
}

/// A daemon that is ready.
#[derive(Debug)]
pub struct Running {
    child: Child,
    log: PathBuf,
    pub caller: Caller,
}

/// What became of a start.
#[derive(Debug)]
pub enum Started {
    Ready(Running),
    Ended(NotReady),
    /// It is neither ready nor has it ended.
    Starting(Running),
}

/// Why there is no daemon that is ready.
#[derive(Debug)]
pub struct NotReady {
    /// What it ended with, unless it hung.
    pub status: Option<ExitStatus>,
    /// What it logged.
    pub said: String,
}

impl Subject {
    /// On this store, which need not be there. `home` is made.
    pub fn new(home: &Path, store: &Path, partners: &Path) -> Self {
        fs::create_dir_all(home).unwrap();
        let (home, store, partners) = (home.to_owned(), store.to_owned(), partners.to_owned());
        Self { home, store, partners, settings: Vec::new() }
    }

    #[must_use]
    pub fn setting(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.to_owned(), value.to_owned()));
        self
    }

    pub fn store(&self) -> &Path {
        &self.store
    }

    /// The same with its store, and all it writes, elsewhere.
    #[must_use]
    pub fn elsewhere(&self, home: &Path, store: &Path) -> Self {
        Self { settings: self.settings.clone(), ..Self::new(home, store, &self.partners) }
    }

    /// A command of the binary.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(arguments).stdin(Stdio::null()).current_dir(&self.home);
        command.env("OFFERD__STORE__PATH", &self.store).env("OFFERD__PARTNERS__PATH", &self.partners);
        command.env("OFFERD_MASTER_KEY", MASTER_KEY).env("OFFERD__API__BASE_URL", BASE_URL);
        for listener in ["API", "INTEGRATIONS", "ADMIN"] {
            command.env(format!("OFFERD__{listener}__LISTEN"), "127.0.0.1:0");
        }
        // Load is what a campaign is for; only the store may refuse it.
        command.env("OFFERD__LIMITS__QUEUEING_TARGET", "0ms");
        command.env("OFFERD__MATCHING__SUBMIT_WAIT", "5ms");
        // States are many and lie in memory.
        command.env("OFFERD__STORE__RESERVE_BYTES", "0").env("OFFERD__STORE__CACHE_BYTES", "33554432");
        for (key, value) in &self.settings {
            command.env(format!("OFFERD__{}", key.to_uppercase().replace('.', "__")), value);
        }
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary runs")
    }

    /// Starts the daemon, and waits until it is ready or has given up. `dress` adds to its environment.
    pub fn start(&self, dress: impl FnOnce(&mut Command)) -> Result<Running, NotReady> {
        let begun = Instant::now();
        match self.start_until(|| begun.elapsed() > PATIENCE, dress) {
            Started::Ready(running) => Ok(running),
            Started::Ended(not_ready) => Err(not_ready),
            Started::Starting(running) => Err(NotReady { status: None, said: running.log() }),
        }
    }

    /// Starts the daemon, and waits for it to be ready until one has waited long enough.
    pub fn start_until(
        &self,
        mut is_enough: impl FnMut() -> bool,
        dress: impl FnOnce(&mut Command),
    ) -> Started {
        let socket = self.home.join("notify");
        let _ = fs::remove_file(&socket);
        let notifications = UnixDatagram::bind(&socket).expect("a socket for notifications");
        notifications.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let log = self.home.join("log");
        let mut command = self.command(&["serve"]);
        command.stdout(File::create(self.home.join("out")).unwrap()).stderr(File::create(&log).unwrap());
        command.env("NOTIFY_SOCKET", &socket);
        dress(&mut command);
        let child = command.spawn().expect("the binary starts");
        let mut running = Running { child, log, caller: Caller::nobody() };
        loop {
            let mut message = [0; 256];
            let told = notifications.recv(&mut message);
            if told.is_ok_and(|length| message[..length].starts_with(b"READY=1")) {
                running.caller = Caller::new(
                    RunFile::read(&self.store).ok().flatten().expect("a ready daemon has a run file"),
                );
                return Started::Ready(running);
            }
            if let Some(status) = running.ended() {
                return Started::Ended(NotReady { status: Some(status), said: running.log() });
            }
            if is_enough() {
                return Started::Starting(running);
            }
        }
    }

    /// Makes a token of a live company, through the running daemon.
    pub fn token(&self, kind: &str) -> String {
        let output = self.run(&["token", "create", "--company", "Live", "--kind", kind]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn signal(&self, name: &str) {
        crate::kit::signal(self.pid(), name);
    }

    /// What it ended with, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be asked for")
    }

    /// Waits for its end.
    pub async fn ends_within(&mut self, bound: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        loop {
            let ended = self.ended();
            if ended.is_some() || begun.elapsed() > bound {
                return ended;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// How much of the memory it has, in bytes.
    pub fn memory(&self) -> Option<u64> {
        let status = File::open(format!("/proc/{}/status", self.pid())).ok()?;
        let mut lines = BufReader::new(status).lines().map_while(io::Result::ok);
        let line = lines.find(|line| line.starts_with("VmRSS:"))?;
        let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kilobytes * 1024)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
