//! The latency of console pages over a large store, and the time to count its funnel.

use std::time::{Duration, Instant};

use hyper::Method;
use tokio::runtime::Runtime;

use crate::kit::Daemon;
use crate::kit::partners::{partner, prompt_partners};
use crate::{discard, judged, stored};

const BAR: Duration = Duration::from_millis(50);
/// Partners with an offer for each lead.
const OFFERING: usize = 3;
const PARTNERS: usize = 200;
const TIMES: usize = 20;
/// The interval of checks whether the funnel has been counted.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

const PAGES: [&str; 18] = [
    "/console",
    "/console/partners",
    "/console/rateTables",
    "",
    "/console/funnel?time=month",
    "/console/funnel?time=year",
    "/console/catalogue?q=savings",
    "/console/catalogue/try",
    "/console/system",
    "/console/reports",
    "/console/persons",
    "/console/consents",
    "/console/alerts",
    "/console/experiments",
    "/console/ranking",
    "/console/postbacks",
    "/console/audit",
    "/console/people",
];

type Measure = fn(&str, &Runtime);

pub const ROWS: [(&str, Measure); 2] = [
    ("console with 100,000 stored leads", |name, runtime| pages(name, runtime, 100_000)),
    ("console with 1,000,000 stored leads", |name, runtime| pages(name, runtime, 1_000_000)),
];

fn pages(name: &str, runtime: &Runtime, leads: u64) {
    let mut partners = prompt_partners(OFFERING);
    partners.extend((OFFERING..PARTNERS).map(|nth| partner(&format!("lender_{nth}")).loan("")));
    let plan = Daemon::with_partners(partners);
    stored::fill(&plan, leads, runtime);
    runtime.block_on(async {
        let daemon = plan.start().await;
        let begun = Instant::now();
        while page(&daemon, "/console/funnel").await.0.contains("Still counting") {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        println!("{name}: the funnel is counted after {:.1?}", begun.elapsed());

        let list = page(&daemon, "/console/rateTables").await.0;
        let table = list.split("href=\"").find(|link| link.starts_with("/console/rateTables/"));
        let table = table.and_then(|link| link.split('"').next()).expect("a table is listed");
        for path in PAGES.map(|path| if path.is_empty() { table } else { path }) {
            let mut took = Vec::with_capacity(TIMES);
            for _ in 0..TIMES {
                took.push(page(&daemon, path).await.1);
            }
            took.sort_unstable();
            let (median, worst) = (took[TIMES / 2], took[TIMES - 1]);
            let bar = (median <= BAR, format!("within {} ms", BAR.as_millis()));
            println!("  {path:<62}{median:>9.2?} median, {worst:>9.2?} worst  {}", judged(Some(&bar)));
        }
        discard(daemon);
    });
}

async fn page(daemon: &Daemon, path: &str) -> (String, Duration) {
    let cookie = daemon.signed_in().await;
    let begun = Instant::now();
    let url = format!("{}{path}", daemon.admin);
    let headers = [("accept", "text/html"), ("cookie", cookie)];
    let answer = daemon.request_with(Method::GET, &url, "", &headers, "").await;
    assert_eq!(answer.status, 200, "{path}");
    (String::from_utf8_lossy(&answer.body).into_owned(), begun.elapsed())
}
