//! A reader of the handbook: someone who has a clone of the repository and types what a chapter says.
//!
//! What is run, and how:
//!
//! - Of a chapter every block fenced as `console` is typed, command by command, in its order, in a directory with the sample
//!   partners, the tests' leads and cases, and the settings of the chapter's own daemon, which starts at `offerd serve &`.
//! - A command goes on as long as a line ends in `\` or a quote is open. It must end well, or as a comment behind it says:
//!   `# exit code 1`, of `curl` also `# status 422`.
//! - `NAME=…` stands for what the reader has been shown: `OFFERD_TOKEN` by the first start, `TABLE` and `LEAD` by the
//!   command before, whose answer must have it.
//! - `NAME=$(curl … | jq -r .PATH)` keeps what the answer has there, `NAME=$(curl … -w '%header{NAME}' …)` a header of it.
//! - The default addresses stand for those of the daemon and of the simulator, which take free ports; `data.key` for the
//!   master key that the first start has made.
//! - `curl` is understood as far as the handbook uses it (`-s`, `-N`, `-X`, `-H`, `-d`, `-o`, `-w`, a URL), and so is `jq`, so that
//!   the tests need neither. What is asked with `If-None-Match` may be answered with 304.
//! - A block fenced as a language and a name, as in `toml partners/x.toml`, is written to that file.
//! - A block fenced as `sh` is not typed: it needs a package, systemd or a build. No command of offerd's stands there.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::kit::{Daemon, Plan};

/// One step of a chapter.
#[derive(Debug)]
pub enum Step {
    /// To be typed.
    Command(String),
    /// To be written to a file.
    File(String, String),
}

/// The steps of a chapter, and the lines of those blocks that are not typed.
pub fn steps(markdown: &str) -> (Vec<Step>, Vec<String>) {
    let (mut steps, mut not_typed) = (Vec::new(), Vec::new());
    let mut lines = markdown.lines();
    while let Some(line) = lines.next() {
        let Some(fence) = line.strip_prefix("```") else { continue };
        let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match fence.split_once(' ') {
            None if fence == "console" => steps.extend(commands(&inside)),
            None if fence == "sh" => not_typed.extend(inside.into_iter().map(str::to_owned)),
            None => {}
            Some((_, file)) => steps.push(Step::File(file.to_owned(), inside.join("\n") + "\n")),
        }
    }
    (steps, not_typed)
}

fn commands(lines: &[&str]) -> Vec<Step> {
    let mut commands: Vec<String> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push(command.to_owned()),
            (None, Some(before)) if goes_on(before) => *before = format!("{before}\n{line}"),
            (None, _) => panic!("`{line}` is no command: what a command answers is told in words"),
        }
    }
    commands.into_iter().map(Step::Command).collect()
}

fn goes_on(command: &str) -> bool {
    command.ends_with('\\') || !command.matches('\'').count().is_multiple_of(2)
}

/// Someone who types.
pub struct Reader {
    /// Until the daemon starts, which takes it.
    plan: Option<Plan>,
    daemon: Option<Daemon>,
    variables: BTreeMap<String, String>,
    /// What the last command answered.
    answer: Option<Value>,
    /// Address of the simulator, once it runs.
    sandbox: String,
    running: Vec<Child>,
}

impl Reader {
    /// A reader in front of an empty store.
    pub fn new() -> Self {
        let plan = Daemon::with_partners(Vec::new());
        let clone = Path::new(env!("CARGO_MANIFEST_DIR"));
        let here = plan.directory();
        for file in std::fs::read_dir(clone.join("partners")).unwrap().map(Result::unwrap) {
            std::fs::copy(file.path(), plan.partners().join(file.file_name())).unwrap();
        }
        std::os::unix::fs::symlink(clone.join("tests"), here.join("tests")).unwrap();
        // A reader writes into it.
        let copied = Command::new("cp").arg("-r").args([clone.join("config"), here.join("config")]).status();
        assert!(copied.unwrap().success());
        std::os::unix::fs::symlink(plan.master_key(), here.join("data.key")).unwrap();
        Self {
            plan: Some(plan),
            daemon: None,
            variables: BTreeMap::new(),
            answer: None,
            sandbox: "127.0.0.1:8090".to_owned(),
            running: Vec::new(),
        }
    }

    /// Does what a chapter says.
    pub async fn follow(&mut self, step: &Step) {
        match step {
            Step::File(name, text) => self.write(name, text),
            Step::Command(command) => self.type_in(command).await,
        }
    }

    fn write(&self, name: &str, text: &str) {
        let here = match (&self.plan, &self.daemon) {
            (Some(plan), _) => plan.directory().join(name),
            (None, Some(daemon)) => daemon.file(name),
            (None, None) => unreachable!("there is a plan or a daemon"),
        };
        std::fs::write(here, text).unwrap();
    }

    async fn type_in(&mut self, command: &str) {
        let exported = command.strip_prefix("export ").unwrap_or(command);
        if command.split("    # ").next() == Some("offerd serve &") {
            let plan = self.plan.take().expect("a chapter starts one daemon");
            let plan = self.variables.iter().fold(plan, |plan, (name, value)| plan.variable(name, value));
            self.daemon = Some(plan.start().await);
        } else if let Some((name, call)) = capture(command) {
            let value = self.captured(call).await;
            self.variables.insert(name.to_owned(), value);
        } else if let Some((name, value)) = assignment(exported) {
            let value = if value == "…" { self.shown(name) } else { self.expanded(value) };
            self.variables.insert(name.to_owned(), value);
        } else if let Some(program) = command.strip_suffix(" &") {
            self.begin(program);
        } else if command.starts_with("curl ") {
            self.call(command).await;
        } else {
            let output = self.run(command);
            self.answer = serde_json::from_slice(&output.stdout).ok();
        }
    }

    /// What a reader would copy from what was shown before.
    fn shown(&self, name: &str) -> String {
        let of_answer = |key: &str| {
            let answer =
                self.answer.as_ref().unwrap_or_else(|| panic!("nothing was answered that has {key}"));
            answer[key].as_str().unwrap_or_else(|| panic!("no {key} in {answer}")).to_owned()
        };
        match name {
            // That of the test company which may do everything.
            "OFFERD_TOKEN" => self.daemon.as_ref().expect("a daemon has shown it").confidential.clone(),
            "TABLE" => of_answer("uuid"),
            "LEAD" => of_answer("leadUuid"),
            other => panic!("nothing shows {other}"),
        }
    }

    fn expanded(&self, value: &str) -> String {
        let output = self.run(&format!("value={value}; printf %s \"$value\""));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Begins what runs until it is stopped, and learns its address from its first line.
    fn begin(&mut self, program: &str) {
        let program = program.replace("127.0.0.1:8090", "127.0.0.1:0");
        let mut child = self.shell(&format!("exec {program}")).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let address = first.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        self.sandbox = address.unwrap_or_else(|| panic!("{program} tells no address: {first}")).to_owned();
        self.running.push(child);
    }

    fn run(&self, command: &str) -> Output {
        let output = self.shell(&self.placed(command)).output().unwrap();
        let wanted = comment(command, "# exit code ").unwrap_or(0);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(wanted), "{command}\n{told}");
        output
    }

    /// What is picked out of an answer.
    async fn captured(&mut self, call: &str) -> String {
        let Some((command, path)) = call.split_once(" | jq -r ") else {
            return self.call(call).await.expect("`-w` names a header that the answer has");
        };
        if command.starts_with("curl ") {
            self.call(command).await;
        } else {
            self.answer = serde_json::from_slice(&self.run(command).stdout).ok();
        }
        let answer = self.answer.as_ref().expect("JSON is answered");
        let pointer = path.trim_matches('\'').replace(['.', '['], "/").replace(']', "");
        let picked = answer.pointer(&pointer).and_then(Value::as_str);
        picked.unwrap_or_else(|| panic!("no {path} in {answer}")).to_owned()
    }

    /// Sends what `curl` would, and tells the header that `-w` names.
    async fn call(&mut self, command: &str) -> Option<String> {
        let words = self.shell(&format!("printf '%s\\0' {}", self.placed(command))).output().unwrap().stdout;
        let words = String::from_utf8(words).unwrap();
        let mut words = words.split_terminator('\0').skip(1);
        let (mut url, mut method, mut body, mut headers, mut told) = (None, None, None, Vec::new(), None);
        while let Some(word) = words.next() {
            match word {
                "-s" | "-N" => {}
                "-o" => drop(words.next()),
                "-w" => told = words.next().and_then(|form| form.strip_prefix("%header{")?.strip_suffix('}')),
                "-X" => method = words.next(),
                "-H" => headers.push(words.next().and_then(|header| header.split_once(": ")).unwrap()),
                "-d" => body = words.next(),
                other if other.starts_with("http://") => url = Some(other),
                other => panic!("curl {other} is not understood: {command}"),
            }
        }
        let method = method.unwrap_or(if body.is_some() { "POST" } else { "GET" }).parse().unwrap();
        let conditional = headers.iter().any(|(name, _)| *name == "If-None-Match");
        let daemon = self.daemon.as_ref().expect("a daemon runs");
        let body = body.unwrap_or_default().to_owned();
        let answer = daemon.request_with(method, url.expect("a URL"), "", &headers, body).await;
        let as_wanted = match comment(command, "# status ") {
            Some(status) => i32::from(answer.status) == status,
            None => (200..300).contains(&answer.status) || conditional && answer.status == 304,
        };
        assert!(as_wanted, "{command}\n{} {}", answer.status, String::from_utf8_lossy(&answer.body));
        self.answer = serde_json::from_slice(&answer.body).ok().or(self.answer.take());
        answer.header(told?).map(str::to_owned)
    }

    fn shell(&self, line: &str) -> std::process::Command {
        let mut shell = match (&self.plan, &self.daemon) {
            (Some(plan), _) => plan.shell(line),
            (None, Some(daemon)) => daemon.shell(line),
            (None, None) => unreachable!("there is a plan or a daemon"),
        };
        shell.envs(&self.variables);
        shell
    }

    /// With the real addresses in place of the default ones.
    fn placed(&self, command: &str) -> String {
        let mut placed = command.replace("127.0.0.1:8090", &self.sandbox);
        if let Some(daemon) = &self.daemon {
            for (default, real) in
                [("8080", &daemon.api), ("8081", &daemon.integrations), ("8082", &daemon.admin)]
            {
                placed = placed.replace(&format!("http://127.0.0.1:{default}"), real);
            }
        }
        placed
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// `NAME=$(curl …)`, or `NAME=$(offerd … | jq -r …)`.
fn capture(command: &str) -> Option<(&str, &str)> {
    let (name, call) = command.split_once("=$(")?;
    let is_read = |call: &&str| call.starts_with("curl ") || call.contains(" | jq -r ");
    call.strip_suffix(')').filter(is_read).map(|call| (name, call))
}

/// `NAME=value` as a line of its own.
fn assignment(command: &str) -> Option<(&str, &str)> {
    let (name, value) = command.split_once('=')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let alone = !value.contains(' ') || value.starts_with("$(");
    (is_name && !name.is_empty() && alone).then_some((name, value))
}

/// The number that a comment behind a command tells.
fn comment(command: &str, what: &str) -> Option<i32> {
    command.rsplit_once(what).map(|(_, number)| number.trim().parse().unwrap())
}
