//! The shim of `disk.c`: between a program and its files.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use super::skipped;
use crate::kit::Plan;

/// The shim, compiled. There is one for all tests of a run.
#[derive(Debug, Clone)]
pub struct Shim(PathBuf);

/// What the shim and who watches it tell each other.
#[derive(Debug)]
pub struct Control(File, PathBuf);

/// The file that says which syncs of a running daemon hang or fail.
#[derive(Debug, Clone)]
pub struct Syncs(PathBuf);

/// What a disk does to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It fails as a broken disk does.
    Error,
    /// It fails as a full disk does.
    Full,
    /// Half of a write is done.
    Short,
    /// Nothing is heard of it.
    Hang,
}

/// A fault to come.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The change that it comes to, counted from the start of the program.
    pub at: u64,
    pub kind: FaultKind,
    /// A part of a path: only changes of such files are counted, and fail.
    pub only: Option<&'static str>,
    /// Whether all that follow have it too.
    pub for_good: bool,
}

impl Shim {
    /// Compiles it; says that what needs it is skipped where there is no C compiler.
    pub fn compiled(for_what: &str) -> Option<Self> {
        static COMPILED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        match COMPILED.get_or_init(compile) {
            Ok(path) => Some(Self(path.clone())),
            Err(reason) => skipped(for_what, reason),
        }
    }

    /// Puts it before a command that works below `root`.
    pub fn before(&self, command: &mut Command, root: &Path, control: &Control) {
        command.env("LD_PRELOAD", &self.0).env("OFFERD_DISK_ROOT", root.canonicalize().unwrap());
        command.env("OFFERD_DISK_CONTROL", &control.1);
    }

    /// Has it write down every change.
    pub fn recording(&self, command: &mut Command, log: &Path) {
        command.env("OFFERD_DISK_LOG", log);
        _ = self;
    }

    /// Puts it before all programs of a plan, and has them go by a file of rules, which this variable names. There are none yet.
    pub fn by_rules(&self, plan: Plan, variable: &str, rules: &Path) -> Plan {
        std::fs::write(rules, "").unwrap();
        plan.variable("LD_PRELOAD", self.0.to_str().unwrap()).variable(variable, rules.to_str().unwrap())
    }

    /// Sets a command's wall clock ahead.
    pub fn ahead(&self, command: &mut Command, by: Duration) {
        command.env("LD_PRELOAD", &self.0).env("OFFERD_DISK_CLOCK", by.as_secs().to_string());
    }
}

impl Syncs {
    /// Has the programs of a plan go by it; says that a test is skipped where there is no C compiler.
    pub fn of(plan: Plan) -> Option<(Plan, Self)> {
        let shim = Shim::compiled("a disk whose syncs hang or fail")?;
        let rules = plan.directory().join("syncs");
        Some((shim.by_rules(plan, "OFFERD_DISK_SYNCS", &rules), Self(rules)))
    }

    /// Makes all syncs of the store hang.
    pub fn hang(&self) {
        self.rule("/store/ hang");
    }

    /// Makes the syncs of files fail that have this part in their path.
    pub fn fail(&self, part: &str) {
        self.rule(&format!("{part} fail"));
    }

    /// Makes all syncs go on and succeed.
    pub fn go_on(&self) {
        self.rule("");
    }

    /// At no moment the file is empty in between.
    fn rule(&self, rule: &str) {
        let fresh = self.0.with_extension("new");
        std::fs::write(&fresh, rule).unwrap();
        std::fs::rename(&fresh, &self.0).unwrap();
    }
}

impl Fault {
    /// Has it come to a command that has the shim before it.
    pub fn prepare(self, command: &mut Command) {
        let kind = match self.kind {
            FaultKind::Error => "eio",
            FaultKind::Full => "enospc",
            FaultKind::Short => "short",
            FaultKind::Hang => "hang",
        };
        let lasting = if self.for_good { "on" } else { "once" };
        if let Some(only) = self.only {
            command.env("OFFERD_DISK_ONLY", only);
        }
        command.env("OFFERD_DISK_FAULT", format!("{}:{kind}:{lasting}", self.at));
    }
}

impl Control {
    /// Makes its file.
    pub fn new(path: PathBuf) -> Self {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        file.set_len(4096).unwrap();
        Self(file, path)
    }

    /// How many entries the recording has. What a client was answered before is caused by them.
    pub fn entries(&self) -> u64 {
        self.field(0)
    }

    /// Which change the fault came to, once it has.
    pub fn fired(&self) -> Option<String> {
        (self.field(2) == 1).then(|| {
            let mut text = [0; 512];
            self.0.read_exact_at(&mut text, 64).unwrap();
            let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
            String::from_utf8_lossy(&text[..end]).into_owned()
        })
    }

    /// Has every change wait for good. Once this returns, each that was made is in the recording.
    pub fn freeze(&self) {
        self.0.write_all_at(&1_u64.to_ne_bytes(), 32).unwrap();
        while self.field(5) == 1 {
            std::thread::yield_now();
        }
    }

    /// Ends a hang.
    pub fn release(&self) {
        self.0.write_all_at(&1_u64.to_ne_bytes(), 24).unwrap();
    }

    fn field(&self, nth: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, nth * 8).unwrap();
        u64::from_ne_bytes(bytes)
    }
}

fn compile() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/power/disk.c");
    let shim = Path::new(env!("CARGO_TARGET_TMPDIR")).join("disk.so");
    // Another run may be using it, or making it too.
    let made = shim.with_extension(format!("{}.so", std::process::id()));
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(&compiler);
    command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]).arg(&made).arg(&source);
    match command.args(["-ldl", "-lpthread"]).output() {
        Err(error) => Err(format!("there is no C compiler ({}: {error})", compiler.display())),
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            std::fs::rename(&made, &shim).map_err(|error| error.to_string())?;
            Ok(shim)
        }
    }
}
