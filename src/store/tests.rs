use super::*;
#[test]
fn probe() {
    for limit in [60*1024, 16*1024, 8*1024, 7000, 6*1024, 4*1024] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_inline(dir.path()).unwrap();
        let mut most = 0;
        let mut x = 1u64;
        for i in 0..6000u32 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let id = Uuid::from_u128(((x >> 33) as u128 % 700) << 90);
            let c = if i % 3 == 2 { Commit::new().remove(Tree::Leads, id) } else { Commit::new().put(Tree::Leads, id, vec![i as u8; limit]) };
            for _ in 0..1 { let _ = store.shared.queue.submit(c).ready(); break; }
            if i % 100 == 0 { most = most.max(std::fs::read_dir(dir.path().join("blobs")).unwrap().count()); }
        }
        println!("limit {limit}: blobs {most}");
    }
}
use uuid::Uuid;
