//! A lead through the whole service, over a socket, durable: `cargo bench --bench submit`.
//!
//! Runs the real binary on a store of its own with 20 catalog partners that answer at once, and posts leads over one
//! kept-alive connection; for comparison reads the complete rate table back, whole and with `If-None-Match`.

#[path = "../tests/it/kit/mod.rs"]
mod kit;

use criterion::{Criterion, criterion_group, criterion_main};
use kit::Daemon;
use kit::partners::prompt_partners;

fn submit(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let daemon = runtime.block_on(Daemon::with_partners(prompt_partners(20)).start());
    let lead = r#"{"productTypes":["savings"],"personalInformation":{"zipcode":"98101"},"savingsInformation":{"minDepositAmount":5000}}"#;
    let table = runtime.block_on(daemon.submit(lead)).json();
    let path = format!("/originator/rateTables/{}", table["uuid"].as_str().expect("a table has a uuid"));
    let etag = runtime.block_on(daemon.get(&path)).header("etag").expect("a table has a tag").to_owned();

    let mut group = criterion.benchmark_group("service");
    group.sample_size(50);
    group.bench_function("submit/20_partners", |bencher| {
        bencher.iter(|| assert_eq!(runtime.block_on(daemon.submit(lead)).status, 200));
    });
    group.bench_function("poll/complete", |bencher| {
        bencher.iter(|| assert_eq!(runtime.block_on(daemon.get(&path)).status, 200));
    });
    group.bench_function("poll/unchanged", |bencher| {
        bencher.iter(|| assert_eq!(runtime.block_on(daemon.get_if_none_match(&path, &etag)).status, 304));
    });
    group.finish();
}

criterion_group!(benches, submit);
criterion_main!(benches);
