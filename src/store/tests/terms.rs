//! Payloads with a TTL: readable until it has passed, and lost for good afterwards.

use super::*;

const HOUR_MS: i64 = 3_600_000;

#[tokio::test]
async fn what_is_kept_for_a_day_is_read_by_nobody_two_days_later() {
    let directory = directory();
    let store = inline(&directory);
    let now_ms = store.now_ms();
    let [brief, long] = [24, 240].map(|hours| store.seal_for(hours * HOUR_MS, b"told").unwrap());
    let store = {
        drop(store);
        inline(&directory)
    };
    assert_eq!(store.open_in_time(&brief).as_deref(), Some(&b"told"[..]));
    // A payload stays as long as the longest TTL that shares its key.
    assert_eq!(store.forget_passed_identities(now_ms + 48 * HOUR_MS).await.unwrap(), 0);
    assert_eq!(store.open_in_time(&long).as_deref(), Some(&b"told"[..]));
    assert_eq!(store.forget_passed_identities(now_ms + 24 * 12 * HOUR_MS).await.unwrap(), 1);
    for sealed in [&brief, &long] {
        assert_eq!(store.open_in_time(sealed), None);
    }
    let anew = store.seal_for(24 * HOUR_MS, b"told").unwrap();
    assert_eq!(store.open_in_time(&anew).as_deref(), Some(&b"told"[..]));
    assert_eq!(store.open_in_time(&brief), None, "another key of the same number opens nothing of before");
    assert_eq!((store.open_in_time(b"short"), store.open_in_time(&[0; 80])), (None, None));
}

#[tokio::test]
async fn what_is_older_is_removed_in_the_order_of_its_time() {
    let directory = directory();
    let store = inline(&directory);
    let key = |ms: u64| [offerd_base::ids::timed_at(ms).as_bytes(), &[0, 1][..]].concat();
    let lead = Uuid::from_u128(7);
    for ms in [1000, 2000, 3000] {
        store.commit_now(Commit::new().about(lead).put(Tree::Transcripts, key(ms), [1; 40])).unwrap();
    }
    assert_eq!(store.remove_before(Tree::Transcripts, 2500).await.unwrap(), 2);
    assert_eq!(store.scan(Tree::Transcripts, []).count(), 1);
    assert_eq!(store.remove_before(Tree::Transcripts, 2500).await.unwrap(), 0);
}
