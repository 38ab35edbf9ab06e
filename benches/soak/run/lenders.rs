//! The partners, the changing behaviour of one, and the reloads of their files.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::kit::far_side::{Deed, FarSide};
use crate::kit::partners::{PartnerFile, far_lender, partner, prompt_partners};
use crate::kit::{Daemon, Plan, signal};

const DEADLINE: &str = "2s";

/// How often behaviour and files change during the load.
const CHANGES: u32 = 120;

const CHANGE_LEAST: Duration = Duration::from_millis(250);

/// The behaviours of the remote lender, in turn.
fn moods() -> [Deed; 7] {
    let offers = json!({"offers": [{"term": 36, "apr": 9.5}, {"term": 24, "apr": 8.75}]});
    [
        Deed::Json(200, offers.to_string()),
        Deed::Garbage,
        Deed::Json(200, json!({"no": "low_fico"}).to_string()),
        Deed::Drip,
        Deed::Reset,
        Deed::Silence,
        Deed::Json(500, "{}".to_owned()),
    ]
}

/// The partners of the soak.
pub struct Lenders {
    moody: FarSide,
    mood: Arc<AtomicUsize>,
    /// An address that refuses connections.
    dead: String,
}

/// The reloads so far.
#[derive(Debug, Default)]
pub struct Reloads {
    pub taken_in: u64,
    pub refused: u64,
    /// Reloads that the daemon counted differently.
    pub miscounted: Vec<String>,
}

impl Lenders {
    pub async fn start() -> Self {
        let mood = Arc::new(AtomicUsize::new(0));
        let (moods, now) = (moods(), Arc::clone(&mood));
        let moody = FarSide::start(move |_| moods[now.load(Ordering::Relaxed)].clone()).await;
        let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let dead = format!("http://{}/", nobody.local_addr().expect("a bound listener has an address"));
        Self { moody, mood, dead }
    }

    /// The daemon with these partners.
    pub fn plan(&self) -> Plan {
        let late = r#"simulate = { delay = "20ms", delay_max = "200ms" }"#;
        let flaky = r#"simulate = { delay = "5ms", failure_rate = 0.3 }"#;
        let mut partners = prompt_partners(3);
        partners.extend([
            partner("late").loan(late),
            partner("flaky").loan(flaky),
            self.far(&self.moody.url("/")),
        ]);
        Daemon::with_partners(partners)
            .setting("matching.deadline", DEADLINE)
            .setting("matching.second_look_reserve", "10ms")
            .setting("matching.linger", "1s")
            .setting("log.format", "json")
    }

    /// The remote lender, at `url`.
    fn far(&self, url: &str) -> PartnerFile {
        far_lender("far", url, "").replaced("timeout = \"3s\"", "timeout = \"1s\"")
    }

    /// Clears the record of requests to the remote lender.
    pub fn forget(&self) {
        self.moody.forget();
    }

    /// Changes the remote lender's behaviour, and the files, until the load ends: another offer, a dead
    /// lender, a faulty file, and back.
    pub async fn misbehave(
        &self,
        daemon: &Daemon,
        lasting: Duration,
        mut ended: watch::Receiver<bool>,
    ) -> Reloads {
        let every = (lasting / CHANGES).max(CHANGE_LEAST);
        let mut reloads = Reloads::default();
        let mut nth = 0_usize;
        while !*ended.borrow() {
            let _ = tokio::time::timeout(every, ended.changed()).await;
            nth += 1;
            self.mood.store(nth % moods().len(), Ordering::Relaxed);
            let is_faulty = nth % 4 == 3;
            match nth % 4 {
                0 => self.far(&self.moody.url("/")).write(daemon.partners()),
                1 => prompt_partners(1)[0]
                    .clone()
                    .replaced("rate = 4.0", &format!("rate = {}.5", nth % 9))
                    .write(daemon.partners()),
                2 => self.far(&self.dead).write(daemon.partners()),
                _ => self.far("nowhere").write(daemon.partners()),
            }
            signal(daemon.pid(), "HUP");
            *(if is_faulty { &mut reloads.refused } else { &mut reloads.taken_in }) += 1;
            reloads.counted(daemon).await;
        }
        // Back to the first behaviour, for tables that are still pending.
        self.mood.store(0, Ordering::Relaxed);
        reloads
    }
}

impl Reloads {
    /// Waits until the daemon has counted all reloads.
    async fn counted(&mut self, daemon: &Daemon) {
        loop {
            let metrics = daemon.metrics().await;
            let of = |result: &str| count(&metrics, &format!("offerd_reloads_total{{result=\"{result}\"}}"));
            let (taken_in, refused) = (of("ok"), of("refused"));
            if (taken_in, refused) == (self.taken_in, self.refused) {
                return;
            }
            if taken_in + refused + of("failed") >= self.taken_in + self.refused {
                self.miscounted.push(format!("{taken_in} taken in and {refused} refused, wanted {self:?}"));
                (self.taken_in, self.refused) = (taken_in, refused);
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A counter on the metrics page; 0 if it is missing.
fn count(metrics: &str, name: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |value| value.trim().parse().expect("a counter is a number"))
}
